import asyncio
import zlib
from collections.abc import Iterator

import pytest

from broker_core.errors import UsageError
from broker_core.protocol.message.sys_flag import COMPRESSED
from broker_core.worker.embedded import messages as messages_module
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, ListMembers, Members
from broker_core.worker.questions.lifecycle import Shutdown
from broker_core.worker.questions.stored_messages import BrowseQueue, BrowseTopic, MessageBody, MessagePage, ReadBody, TopicPage
from tests.support.engine import Engine


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    made = Queries(engine, console=engine, shut_down=lambda: None)
    yield made
    made.close()


def test_a_page_begins_within_the_queue_whatever_was_asked(engine: Engine, queries: Queries):
    for number in range(10):
        engine.put("orders", 0, b"%d" % number)

    def page(start: int) -> MessagePage:
        answer = asyncio.run(queries.answer(BrowseQueue("orders", 0, start, 4)))
        assert isinstance(answer, MessagePage)
        return answer

    assert page(-100).queue_offset == [0, 1, 2, 3]
    assert page(8).queue_offset == [8, 9]
    assert page(1_000).queue_offset == []
    assert page(1_000).next_offset == 10


def test_an_empty_topic_has_an_empty_page(engine: Engine, queries: Queries):
    engine.add_topic("orders", 2)
    for queue_id in (0, -1):
        page = asyncio.run(queries.answer(BrowseQueue("orders", queue_id, 0, 10)))
        assert isinstance(page, MessagePage)
        assert page.queue_offset == []


def test_the_whole_body_is_read_as_it_was_sent(engine: Engine, queries: Queries):
    body = b"hello " * 100_000
    place = engine.put("orders", 0, zlib.compress(body), sys_flag=COMPRESSED)
    assert asyncio.run(queries.answer(ReadBody(place))) == MessageBody(body)
    with pytest.raises(UsageError, match="there is no message at"):
        asyncio.run(queries.answer(ReadBody(place + 1)))


def test_a_body_that_does_not_decompress_is_read_as_stored_with_the_reason(engine: Engine, queries: Queries):
    place = engine.put("orders", 0, b"not zlib", sys_flag=COMPRESSED)
    answer = asyncio.run(queries.answer(ReadBody(place)))
    assert answer.body == b"not zlib"
    assert "does not decompress" in answer.notice


def test_a_request_that_is_given_up_ends_at_the_next_batch(engine: Engine, queries: Queries, monkeypatch: pytest.MonkeyPatch):
    for number in range(300):
        engine.put("orders", 0, b"%d" % number)
    batches = []
    read_batch = messages_module.read_batch

    async def ask() -> None:
        task = asyncio.create_task(queries.answer(BrowseQueue("orders", 0, 0, 300)))
        loop = asyncio.get_running_loop()

        def cancelling(*arguments: object) -> object:
            batches.append(arguments)
            loop.call_soon_threadsafe(task.cancel)
            return read_batch(*arguments)  # type: ignore[arg-type]  passed on

        monkeypatch.setattr(messages_module, "read_batch", cancelling)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
    assert len(batches) < 300 // messages_module.BATCH_MESSAGES


def test_members_are_listed_with_the_groups_subscription(engine: Engine, queries: Queries):
    engine.join("billing", "client@1", ["orders"])
    engine.join("billing", "client@2", ["orders"])
    members = asyncio.run(queries.answer(ListMembers("billing")))
    assert isinstance(members, Members)
    assert members.client_id == ["client@1", "client@2"]
    assert members.version == ["V4_9_8"] * 2
    assert members.subscriptions == [{"orders": "*"}] * 2


def test_shutdown_asks_for_the_end(engine: Engine):
    asked = []
    made = Queries(engine, console=engine, shut_down=lambda: asked.append(True))
    asyncio.run(made.answer(Shutdown()))
    made.close()
    assert asked == [True]


def test_a_request_of_administration_reaches_whom_it_is_for(queries: Queries):
    def ask(*, name_server: bool) -> BrokerAnswer:
        answer = asyncio.run(queries.answer(AskBroker(21, {"topic": "orders"}, name_server=name_server)))
        assert isinstance(answer, BrokerAnswer)
        return answer

    assert ask(name_server=False) == BrokerAnswer({"topic": "orders"}, b"broker")
    assert ask(name_server=True).body == b"name server"


def test_all_queues_are_paged_by_time_into_both_directions(engine: Engine, queries: Queries):
    for number in range(30):
        engine.put("orders", number % 3, b"%d" % number)
        engine.clock.advance(10)

    def page(**edge) -> TopicPage:
        answer = asyncio.run(queries.answer(BrowseTopic("orders", 10, **edge)))
        assert isinstance(answer, TopicPage)
        return answer

    def bodies(found: TopicPage) -> set[int]:
        return {int(body) for body in found.page.body_start}

    newest = page()
    assert bodies(newest) == set(range(20, 30))
    assert newest.end == [10, 10, 10]
    older = page(edge_queue=newest.queue, edge_offset=newest.first)
    assert bodies(older) == set(range(10, 20))
    assert older.end == newest.first
    assert page(edge_queue=older.queue, edge_offset=older.end, newer=True).page == newest.page
    oldest = page(newer=True)
    assert (bodies(oldest), oldest.first) == (set(range(10)), [0, 0, 0])
    assert bodies(page(edge_queue=oldest.queue, edge_offset=oldest.first)) == set()
    at_ms = newest.page.store_ms[-1]
    assert min(page(at_ms=at_ms).page.store_ms, default=at_ms) >= at_ms
    with pytest.raises(UsageError, match="there is no topic"):
        asyncio.run(queries.answer(BrowseTopic("nowhere", 10)))
    with pytest.raises(UsageError, match="a page has 1 to"):
        asyncio.run(queries.answer(BrowseTopic("orders", 0)))

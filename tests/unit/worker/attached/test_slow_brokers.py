"""One of two brokers answers late, answers some questions and then stops, or stops in the midst of an answer.

Requests may wait for ten minutes here, so what ends is ended by the limit of the page, by a cancel, or because nobody waits for
the broker that is slow; else the test runs into its own deadline.
"""

import asyncio
import contextlib
import functools
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.config import RemotingLimits
from broker_core.errors import NetworkError, UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.attached import lifelines
from broker_core.worker.attached.lifelines import ClusterLifelines
from broker_core.worker.questions.administration import AskBroker, CreateTopic, ListConnections, ListMembers
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.searches import ContinueFollow, ContinueSearch, EndSearch, StartFollow, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, FindOffset, ReadFields, ReadLifeline, ReadMessage
from broker_core.worker.questions.transactions import ListTransactions
from tests.support.attached import QUICK, asking, attached
from tests.support.fake_cluster import FakeBroker, FakeCluster, Stopping
from tests.support.remoting_peer import eventually

NEVER_MS = 600_000
DEADLINE_S = 60
PATIENT = replace(QUICK, timeout_ms=NEVER_MS, page_ms=NEVER_MS)
IN_TIME = replace(PATIENT, page_ms=250)
SLOW, QUICK_ONE = "a", "b"
HELD = 40
"""Messages in each of two queues."""


def deadlined(scenario):
    """A test of its own loop that fails after a time."""

    @functools.wraps(scenario)
    def test(**arguments):
        async def in_time():
            async with asyncio.timeout(DEADLINE_S):
                await scenario(**arguments)

        asyncio.run(in_time())

    return test


@asynccontextmanager
async def scene(settings, *, limits=None):
    """Both brokers, known and quick so far."""

    def broker(name):
        topics = {"orders": 2, SCHEDULE_TOPIC: 18}
        return FakeBroker(name, topics, {"orders": HELD, SCHEDULE_TOPIC: 2}, ["g"], {"orders@g": {0: 1, 1: 1}})

    async with FakeCluster([broker(SLOW), broker(QUICK_ONE)]) as cluster, attached(cluster.name_server, settings) as watched:
        # No connection to a broker was made yet.
        watched.link._instance._pool._limits = limits or RemotingLimits(request_timeout_ms=NEVER_MS)
        await watched.sampling.once()
        async with asking(watched) as queries:
            yield cluster, watched, queries


async def asked_until(queries, query, slow, way, is_good):
    """The first answer that is good; each comes in time, but a machine that is busy may be late with what is quick."""
    while True:
        slow.manner = manner = way()
        try:
            answer = await queries.answer(query)
        except NetworkError:
            continue
        # With as many answers as the page needs there is nothing to tell.
        assert not manner.held or f"broker {SLOW} is slow" in answer.notice
        if is_good(answer):
            return answer


def only_slow_is_missing(answer):
    return f"broker {QUICK_ONE} is slow" not in answer.notice


PAGES = {
    "newest messages": (BrowseQueue("orders", -1, 0, 50), lambda page: len(page.keys) >= HELD),
    "members": (ListMembers("g"), only_slow_is_missing),
    "clients": (ListConnections(), only_slow_is_missing),
    "delayed": (ListDelayed(1, 0, 10), lambda page: len(page.keys) >= 2),
    "transactions": (ListTransactions(0, 10), only_slow_is_missing),
}
WAYS = {
    "silent": lambda: Stopping(0),
    "stops after one": lambda: Stopping(1),
    "stops after three": lambda: Stopping(3),
    "half an answer": lambda: Stopping(0, half=True),
    "half of the third": lambda: Stopping(2, half=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("page", PAGES)
@deadlined
async def test_a_page_is_there_in_time_and_says_what_is_missing(page, way):
    query, is_there = PAGES[page]
    async with scene(IN_TIME) as (cluster, _watched, queries):
        slow = cluster.brokers[0]
        before = slow.asked.total()
        await asked_until(queries, query, slow, WAYS[way], is_there)
        assert slow.asked.total() > before


@pytest.mark.parametrize("query", [query for query, _is_there in PAGES.values()], ids=list(PAGES))
@deadlined
async def test_a_page_that_no_broker_gives_fails_in_time(query):
    async with scene(IN_TIME) as (cluster, _watched, queries):
        for broker in cluster.brokers:
            broker.manner = Stopping()
        with pytest.raises(NetworkError, match="is slow: not all that it was asked for came within 250 ms"):
            await queries.answer(query)


@deadlined
async def test_a_page_of_one_queue_ends_where_its_broker_stopped():
    async with scene(IN_TIME) as (cluster, _watched, queries):
        query, slow = BrowseQueue("orders", 0, 0, HELD), cluster.brokers[0]
        # Both bounds, and a first pull of 32.
        page = await asked_until(queries, query, slow, lambda: Stopping(3), lambda page: page.keys)
        assert (len(page.keys), page.next_offset) == (32, 32)
        assert "this page ends before offset 32" in page.notice
        with pytest.raises(NetworkError, match="broker a is slow"):
            await queries.answer(replace(query, start_offset=32))
        rest = await asked_until(
            queries, replace(query, start_offset=32), slow, lambda: Stopping(99), lambda page: not page.notice
        )
        assert (len(rest.keys), rest.next_offset) == (HELD - 32, HELD)


@deadlined
async def test_a_page_of_delayed_messages_goes_on_where_its_broker_stopped():
    async with scene(IN_TIME) as (cluster, _watched, queries):
        slow = cluster.brokers[0]
        slow.held[SCHEDULE_TOPIC] = HELD
        page = await asked_until(queries, ListDelayed(1, 0, 100), slow, lambda: Stopping(3), lambda page: len(page.keys) == 32)
        assert page.next_offset < page.max_offset
        query = ListDelayed(1, page.next_offset, 100)
        rest = await asked_until(queries, query, slow, lambda: Stopping(99), lambda page: not page.notice)
        assert (len(rest.keys), rest.next_offset == rest.max_offset) == (HELD - 32 + 2, True)


@deadlined
async def test_a_life_line_ends_in_time(monkeypatch):
    monkeypatch.setattr(lifelines, "LIFE_SECONDS", 0.25)
    async with scene(PATIENT) as (cluster, watched, queries):
        cluster.brokers[0].properties = b"UNIQ_KEY\x01U1"
        page = await queries.answer(BrowseQueue("orders", 0, 0, 1))
        cluster.brokers[0].manner = manner = Stopping(1)
        told = await ClusterLifelines(watched.link, watched.figures, None).read(ReadLifeline(page.physical_offset[0]))
        assert "stored" in told.kind
        assert manner.held
        assert any("a: it was asked no more" in text for text in told.missing)


@pytest.mark.parametrize("way", WAYS)
@deadlined
async def test_columns_are_filled_in_time_and_what_a_slow_broker_owes_is_named(way):
    async with scene(IN_TIME) as (cluster, watched, queries):
        slow = cluster.brokers[0]
        query = ReadFields([shown(watched, SLOW, 0), shown(watched, QUICK_ONE, 1), shown(watched, SLOW, 2)], ["body"])
        values = await asked_until(queries, query, slow, WAYS[way], lambda values: 1 not in values.unread)
        assert slow.manner.held or not values.unread
        assert values.texts[0][1] == "b orders 0 1"
        assert all((values.texts[0][number] == "") == (number in values.unread) for number in (0, 2))
        assert f"broker {SLOW} is slow" in values.notice or not values.unread
        values = await asked_until(queries, query, slow, lambda: Stopping(99), lambda values: not values.unread)
        assert (values.texts, values.notice) == ([["a orders 0 0", "b orders 0 1", "a orders 0 2"]], "")


@deadlined
async def test_columns_of_which_nothing_comes_fail_in_time():
    async with scene(IN_TIME) as (cluster, watched, queries):
        cluster.brokers[0].manner = Stopping()
        with pytest.raises(NetworkError, match="broker a is slow: not all that it was asked for came within 250 ms"):
            await queries.answer(ReadFields([shown(watched, SLOW, 0)], ["body"]))


@deadlined
async def test_a_message_is_in_the_queue_under_which_it_is_listed():
    async with scene(PATIENT) as (_cluster, _watched, queries):
        page = await queries.answer(BrowseQueue("orders", 10_000, 0, 1))
        detail = await queries.answer(ReadMessage(page.physical_offset[0]))
        assert (detail.queue_id, detail.body) == (10_000, b"b orders 0 0")


def shown(watched, broker, offset):
    """The place of a message of the first queue, as the window knows it."""
    return watched.link.numbers.shown_place(broker, offset * 500)


WAITING = {
    **{name: query for name, (query, _is_there) in PAGES.items()},
    "one queue": BrowseQueue("orders", 0, 0, 5),
    "offset of a time": FindOffset("orders", 0, 1),
    "message": ReadMessage(0),
    "life line": ReadLifeline(0),
    "columns": ReadFields([0, 500], ["body"]),
    "table": AskBroker(RequestCode.GET_CONSUME_STATS, {"topic": "orders", "consumerGroup": "g"}),
    "config": AskBroker(RequestCode.GET_BROKER_CONFIG, {}, broker_name=SLOW),
    "reset": AskBroker(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "orders", "group": "g", "timestamp": "1"}),
    "new topic": CreateTopic("T", 1, 1),
    "search": StartSearch('topic = "orders"'),
    "tail": StartFollow(["orders"]),
}


@pytest.mark.parametrize("query", WAITING.values(), ids=list(WAITING))
@deadlined
async def test_what_waits_for_a_broker_is_given_up_at_once_and_the_rest_is_live_meanwhile(query):
    async with scene(PATIENT) as (cluster, watched, queries):
        slow, quick = cluster.brokers
        slow.manner = manner = Stopping()
        waiting = asyncio.create_task(queries.answer(query))
        await eventually(lambda: manner.held)
        page = await queries.answer(BrowseQueue("orders", 10_000, 0, 5))
        assert len(page.keys) == 5
        watched.sampling.start()
        quick.held["orders"] = HELD + 9
        await eventually(lambda: watched.figures.of(QUICK_ONE).offsets["orders"][0].max_offset == HELD + 9)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        for rest in (ContinueSearch(1), ContinueFollow(1)):
            with pytest.raises(UsageError):
                await queries.answer(rest)


@deadlined
async def test_a_search_reads_the_others_while_one_is_silent_and_ends_when_it_is_told():
    async with scene(PATIENT) as (cluster, _watched, queries):
        slow = cluster.brokers[0]
        slow.held["orders"] = 1_000
        started = await queries.answer(StartSearch('topic = "orders"'))
        slow.manner = manner = Stopping()
        found = []
        while len(found) < 2 * HELD:
            hits = await queries.answer(ContinueSearch(started.search_id))
            found += hits.body_start
        assert all(body.startswith(b"b orders ") for body in found)
        # Nothing comes, and each question is answered all the same.
        for _turn in range(2):
            hits = await queries.answer(ContinueSearch(started.search_id))
            assert (hits.body_start, hits.is_over) == ([], False)
        assert manner.held
        assert await queries.answer(EndSearch(started.search_id)) == Done()
        with pytest.raises(UsageError):
            await queries.answer(ContinueSearch(started.search_id))


@pytest.mark.parametrize(
    ("text", "answers"), [('topic = "orders"', 0), ('topic = "orders"', 1), ('topic = "orders"', 2), ('key = "k"', 0)]
)
@deadlined
async def test_a_search_that_is_cancelled_waits_for_nobody_and_is_partial(text, answers):
    async with scene(PATIENT) as (cluster, watched, _queries):
        search = ClusterSearch(watched.link, parse_filter(text, now_ms=0))
        cluster.brokers[0].manner = manner = Stopping(answers)

        async def searched():
            await search.prepare()
            return [hit async for step in search.steps() for hit in step.hits]

        searching = asyncio.create_task(searched())
        await eventually(lambda: manner.held)
        search.cancel()
        await searching
        assert search.outcome.reasons[0] == "it was cancelled"


@deadlined
async def test_a_tail_tells_what_the_others_got_and_what_the_slow_one_got_later_once():
    async with scene(PATIENT) as (cluster, _watched, queries):
        slow, quick = cluster.brokers
        followed = await queries.answer(StartFollow(["orders"]))
        slow.manner = manner = Stopping()
        shown = []

        async def until(count):
            while len(shown) < count:
                told = await queries.answer(ContinueFollow(followed.follow_id))
                assert told.left_out == 0
                shown.extend(told.body_start)

        for end in (HELD + 3, HELD + 5):
            quick.held["orders"] = end
            await until(2 * (end - HELD))
        assert manner.held
        slow.held["orders"] = HELD + 2
        # A question that is given up takes nothing with it.
        given_up = asyncio.create_task(queries.answer(ContinueFollow(followed.follow_id)))
        await asyncio.sleep(0)
        manner.go_on()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        await until(2 * 5 + 2 * 2)
        expected = [f"{name} orders {queue} {offset}" for name, end in (("a", 2), ("b", 5)) for queue in (0, 1)
                    for offset in range(HELD, HELD + end)]  # fmt: skip
        assert sorted(body.decode() for body in shown) == sorted(expected)


@deadlined
async def test_a_tail_begins_in_time_and_a_slow_broker_tells_what_comes_after():
    async with scene(IN_TIME) as (cluster, _watched, queries):
        slow = cluster.brokers[0]
        slow.manner = manner = Stopping()
        followed = None
        while followed is None:
            with contextlib.suppress(NetworkError):  # the machine is busy
                followed = await queries.answer(StartFollow(["orders"]))
        manner.go_on()
        opened = queries._follows._open[followed.follow_id]
        while opened.unheard:
            assert (await queries.answer(ContinueFollow(followed.follow_id))).body_start == []
        slow.held["orders"] = HELD + 1
        shown = []
        while len(shown) < 2:
            shown += (await queries.answer(ContinueFollow(followed.follow_id))).body_start
        assert sorted(shown) == [b"a orders %d %d" % (queue, HELD) for queue in (0, 1)]


@pytest.mark.parametrize("half", [False, True])
@deadlined
async def test_a_broker_whose_connection_died_without_a_word_is_connected_to_anew(half):
    limits = RemotingLimits(request_timeout_ms=150, silence_ms=100)
    async with scene(replace(QUICK, timeout_ms=150), limits=limits) as (cluster, watched, _queries):
        slow = cluster.brokers[0]
        watched.sampling.start()
        # Whatever comes on the connections of now is never answered, as where a firewall forgot them.
        dead = {connection for connection in slow.server.connections if not connection.is_closed}
        torn = Stopping(half=half)
        slow.manner = lambda connection, response: (
            torn(connection, response) if connection in dead else connection.send(response) and None
        )
        await eventually(lambda: watched.figures.of(SLOW).is_lost)
        await eventually(lambda: not watched.figures.faults())
        assert torn.held

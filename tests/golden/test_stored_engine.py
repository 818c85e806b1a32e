"""Store directories of real brokers, opened without one: topics, positions, what waits, and not a byte changed."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.errors import ForeignStoreError, ReadOnlyConnectionError, UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.embedded.stored_engine import NOT_CLOSED, StoredEngine
from broker_core.worker.questions.administration import AskBroker, CreateTopic
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.searches import ContinueSearch, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, SendMessage
from broker_core.worker.questions.transactions import ListTransactions
from broker_core.worker.transactions import transaction_totals
from tests.support.golden import GOLDEN_NAMES, contents, golden_store


def config_of(root):
    return BrokerConfig(store=StoreConfig(root=root))


def with_engine(root, work):
    """What ``work`` gives for the engine of a directory, and the engine."""

    async def run():
        engine = StoredEngine(config_of(root))
        await engine.start()
        queries = Queries(engine, console=None, shut_down=lambda: None, read_only=True)
        try:
            return await work(engine, queries), engine
        finally:
            queries.close()
            await engine.stop()

    return asyncio.run(run())


@pytest.fixture(params=GOLDEN_NAMES)
def store(request, tmp_path):
    golden = golden_store(request.param)
    root = golden.unpack(tmp_path)
    before = contents(root)
    yield golden, root
    assert contents(root) == before


def test_each_queue_is_browsed_as_its_broker_served_it(store):
    golden, root = store
    expected = {}
    for message in golden.messages():
        key = message.topic, message.queue_id
        expected.setdefault(key, []).append((message.columns["queueOffset"], message.columns["physicalOffset"]))

    async def browse(_engine, queries):
        found = {}
        for topic, queue_id in expected:
            offset = 0
            while True:
                page = await queries.answer(BrowseQueue(topic, queue_id, offset, 1_000))
                pairs = zip(page.queue_offset, page.physical_offset, strict=True)
                found.setdefault((topic, queue_id), []).extend(pairs)
                if page.next_offset >= page.max_offset:
                    break
                offset = page.next_offset
        return found

    found, _engine = with_engine(root, browse)
    assert found == expected


def test_a_search_finds_everything_and_names_what_is_damaged(store):
    golden, root = store
    expected = {message.columns["physicalOffset"] for message in golden.messages() if not message.topic.startswith("%LMQ%")}

    async def search(_engine, queries):
        started = await queries.answer(StartSearch("size > 0", body_starts=False))
        parts = [await queries.answer(ContinueSearch(started.search_id))]
        while not parts[-1].is_over:
            parts.append(await queries.answer(ContinueSearch(started.search_id)))
        return parts

    parts, _engine = with_engine(root, search)
    assert {place for part in parts for place in part.physical_offset} == expected
    assert not any(part.body_start for part in parts)
    assert bool(parts[-1].reasons) == (golden.name == "torn")


@pytest.mark.parametrize(("name", "is_said"), [("normal", False), ("crash", True)])
def test_a_store_whose_broker_did_not_end_in_good_order_is_told_of(tmp_path, name, is_said):
    async def notice(engine, _queries):
        return engine.notice

    text, _engine = with_engine(golden_store(name).unpack(tmp_path), notice)
    assert text == (NOT_CLOSED if is_said else "")


def test_delay_levels_stand_as_they_stood(tmp_path):
    root = golden_store("delay").unpack(tmp_path)

    async def look(engine, queries):
        figures = {one.level: one.pending for one in engine.delays.figures() if one.pending}
        pages = {level: await queries.answer(ListDelayed(level, 0, 100)) for level in figures}
        return figures, {level: len(page.queue_offset) for level, page in pages.items()}

    (figures, listed), _engine = with_engine(root, look)
    assert figures == listed == {4: 2, 5: 3, 6: 1, 18: 3}


def test_undecided_transactions_stand_as_they_stood(tmp_path):
    root = golden_store("transaction").unpack(tmp_path)

    async def look(_engine, queries):
        return await queries.answer(ListTransactions(0, 100))

    page, _engine = with_engine(root, look)
    assert page.total == len(page.origin) == 6
    assert set(page.topic) == {"ShopTrade"}
    assert page.producers == [-1] * 6, "nobody can connect, which is no want of producers"
    assert set(page.state) <= {"prepared", "checking"}


def test_nothing_is_late_and_no_producer_lacks_where_no_broker_runs(tmp_path):
    async def look(engine, _queries):
        overdue = {one.overdue_ms for one in engine.delays.figures()} if engine.delays else set()
        return overdue, transaction_totals(engine.transactions)["transactions_waiting"]

    delays, _engine = with_engine(golden_store("delay").unpack(tmp_path / "d"), look)
    transactions, _engine = with_engine(golden_store("transaction").unpack(tmp_path / "t"), look)
    assert (delays, transactions) == (({-1}, 0), ({-1}, 0))


def test_nothing_can_be_done_to_it(tmp_path):
    root = golden_store("normal").unpack(tmp_path)
    before = contents(root)
    send, topic = SendMessage("ShopOrders", 0, b"x", {}), CreateTopic("new", 1, 1)

    async def act(_engine, queries):
        for query in (send, topic, AskBroker(17)):
            with pytest.raises(ReadOnlyConnectionError):
                await queries.answer(query)
        with pytest.raises(UsageError, match="no broker runs here"):
            await queries.answer(AskBroker(RequestCode.GET_ROUTEINFO_BY_TOPIC))

    with_engine(root, act)
    assert contents(root) == before


def test_its_figures_are_taken_and_no_refusal_is_announced(tmp_path):
    root = golden_store("consume").unpack(tmp_path)

    async def sample(engine, _queries):
        sampler = Sampler(engine, clock=lambda: 1_795_227_302_640)
        return sampler.catalog(), sampler.snapshot(), sampler.events()

    (catalog, snapshot, events), _engine = with_engine(root, sample)
    assert len(catalog.topics) > 1
    assert catalog.position_group
    assert snapshot.totals["commit_log_max"] > 0
    assert events == []


def test_a_directory_without_a_log_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")

    async def nothing(_engine, _queries):
        return None

    with pytest.raises(ForeignStoreError):
        with_engine(tmp_path, nothing)

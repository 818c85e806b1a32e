"""Delay levels over the worker's channel: figures, pages and actions of a real service."""

import asyncio
from array import array

import pytest

from broker_core.engine.schedule.delay_service import DelayService
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import UsageError
from broker_core.worker.channel.codec import decode_window_message, decode_worker_message, encode_message
from broker_core.worker.channel.schema import Reply, Request
from broker_core.worker.delay_views import delay_columns, lateness_columns
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.questions.delays import ActOnDelayed, DelayedActed, DelayedMessages, ListDelayed
from tests.support.schedule_bench import ManualTimers

FRAME_HEAD_BYTES = 4


@pytest.fixture
def delays(engine):
    """A service over the engine's store, on the test's time."""
    config = engine.store.config.root / "config"
    timers = ManualTimers(engine.clock)
    journal = ActionJournal(config, clock=engine.clock)
    service = DelayService(
        engine.store, ConfigFiles(config), journal, clock=engine.clock, timers=timers, save_interval_ms=1 << 40
    )
    engine.delays = service.console
    service.start()
    timers.advance(0)
    yield timers
    service.delivery.stop()


@pytest.fixture
def ask(engine):
    queries = Queries(engine, console=None, shut_down=lambda: None)

    def answer(query):
        assert decode_window_message(encode_message(Request(1, query))[FRAME_HEAD_BYTES:]).body == query
        body = asyncio.run(queries.answer(query))
        assert decode_worker_message(encode_message(Reply(1, body))[FRAME_HEAD_BYTES:]).body == body
        return body

    yield answer
    queries.close()


def put(engine, name, **more):
    properties = {"DELAY": "3", "REAL_TOPIC": "T", "REAL_QID": "1", "TAGS": "a", "KEYS": "k", "UNIQ_KEY": "U"} | more
    return engine.put("SCHEDULE_TOPIC_XXXX", 2, name, **properties)


def test_levels_are_in_every_snapshot(engine, delays):
    put(engine, b"one")
    columns = Sampler(engine, clock=engine.clock).snapshot().delays
    ints = {name: array("q", data).tolist() for name, data in columns.items() if not name.startswith("late")}
    assert ints["level"] == list(range(1, 19))
    assert (ints["delay_ms"][2], ints["pending"][2], ints["next_due_ms"][2]) == (10_000, 1, engine.clock() + 10_000)
    delays.advance(10_000)
    columns = Sampler(engine, clock=engine.clock).snapshot().delays
    assert array("q", columns["delivered"])[2] == 1
    assert array("d", columns["late_p99_ms"])[2] == 0.0


def test_the_lateness_of_deliveries_is_in_every_snapshot(engine, delays):
    sampler = Sampler(engine, clock=engine.clock)
    put(engine, b"one")
    lateness = {name: array("q", data).tolist() for name, data in sampler.snapshot().lateness.items()}
    assert (sum(lateness["levels"]), lateness["timers"], lateness["counted_s"]) == (0, [], [0])
    delays.advance(10_000)
    lateness = {name: array("q", data).tolist() for name, data in sampler.snapshot().lateness.items()}
    assert lateness["levels"] == [1] + [0] * (len(lateness["from_ms"]) - 1)
    assert (lateness["from_ms"][0], lateness["counted_s"]) == (0, [10])


def test_without_levels_the_columns_are_empty():
    assert lateness_columns(None, None) == {}
    assert set(delay_columns([]).values()) == {b""}


def test_waiting_messages_are_listed_and_acted_on(engine, delays, ask):
    offsets = [put(engine, name) for name in (b"one", b"two", b"three")]
    page = ask(ListDelayed(3, 0, 10))
    due_ms, now_ms = engine.clock() + 10_000, engine.clock()
    assert page == DelayedMessages(
        3,
        [0, 1, 2],
        offsets,
        [due_ms] * 3,
        [now_ms] * 3,
        ["T"] * 3,
        [1] * 3,
        ["a"] * 3,
        ["k"] * 3,
        ["U"] * 3,
        [3, 3, 5],
        [0] * 3,
        3,
        3,
    )
    assert ask(ActOnDelayed("deliver", 3, [0], offsets[:1])) == DelayedActed(1, [])
    assert ask(ActOnDelayed("cancel", 3, [0, 1], offsets[:2])) == DelayedActed(1, [0])
    assert ask(ActOnDelayed("move", 3, [2], offsets[2:], now_ms + 2_000)) == DelayedActed(1, [])
    assert engine.store.max_offset("T", 1) == 1
    delays.advance(2_000)
    assert engine.store.max_offset("T", 1) == 2
    delays.advance(20_000)
    assert engine.store.max_offset("T", 1) == 2


def test_unknown_actions_and_brokers_without_levels_are_refused(engine, delays, ask):
    with pytest.raises(UsageError, match="deliver, cancel and move"):
        ask(ActOnDelayed("shred", 3, [0], [0]))
    engine.delays = None
    with pytest.raises(UsageError, match="at the moment"):
        ask(ListDelayed(3, 0, 10))

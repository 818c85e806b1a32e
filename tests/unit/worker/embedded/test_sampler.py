import asyncio
import math
from array import array

import pytest

from broker_core.engine.store.disk import Disk
from broker_core.engine.store.results import PutStatus
from broker_core.engine.tables.set_aside import dead_letter_of
from broker_core.errors import StoreError
from broker_core.worker.embedded import sampler as sampler_module
from broker_core.worker.embedded.sampler import Sampler
from broker_core.worker.questions.figures import Catalog, Snapshot
from monitoring.collector import Collector
from monitoring.series import History
from tests.support.engine import Engine


def sampled(engine: Engine) -> Sampler:
    return Sampler(engine, clock=engine.clock, monotonic=lambda: 100.0)


def column(columns: dict[str, bytes], name: str) -> list[int]:
    return array("q", columns[name]).tolist()


def next_figures(sampler: Sampler, engine: Engine) -> tuple[Catalog | None, Snapshot]:
    engine.clock.advance(1_000)
    return sampler.catalog(), sampler.snapshot()


def test_a_catalog_is_told_once_until_something_comes_or_goes(engine: Engine):
    engine.add_topic("orders", 1)
    sampler = sampled(engine)
    first, _ = next_figures(sampler, engine)
    again, _ = next_figures(sampler, engine)
    engine.put("orders", 0, b"x")
    after_put, _ = next_figures(sampler, engine)
    engine.add_topic("payments", 1)
    after_topic, snapshot = next_figures(sampler, engine)
    assert first is not None
    assert again is None
    assert after_put is None
    assert after_topic is not None
    assert "payments" in after_topic.topics
    assert snapshot.revision == after_topic.revision > first.revision


def test_what_is_put_shows_in_the_next_snapshot(engine: Engine):
    engine.add_topic("orders", 2)
    sampler = sampled(engine)
    next_figures(sampler, engine)
    for _ in range(3):
        engine.put("orders", 1, b"x")
    _, snapshot = next_figures(sampler, engine)
    assert column(snapshot.queues, "max_offset") == [0, 3]
    assert column(snapshot.queues, "last_store_ms") == [-1, engine.clock() - 1_000]
    assert snapshot.totals["put_messages"] == 3
    assert snapshot.totals["commit_log_max"] == engine.store.commit_log_max_offset


def test_changes_that_no_counter_tells_show_after_a_turn(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler_module, "QUEUES_IN_TURN", 2)
    engine.add_topic("orders", 5)
    sampler = sampled(engine)
    next_figures(sampler, engine)
    for queue_id in range(5):
        engine.put("orders", queue_id, b"x")
    engine.counters.forget_topic("orders")
    for _ in range(3):
        _, snapshot = next_figures(sampler, engine)
    assert column(snapshot.queues, "max_offset") == [1] * 5


def test_a_position_tells_its_offset_the_next_messages_time_and_its_owner(engine: Engine):
    engine.add_topic("orders", 2)
    stored_ms = []
    for _ in range(3):
        engine.clock.advance(10)
        stored_ms.append(engine.clock())
        engine.put("orders", 0, b"x")
    engine.join("billing", "client@1", ["orders"])
    engine.consumers.pulled("client@1", "billing", "orders", 0)
    engine.offsets.commit("billing", "orders", 0, 1)
    sampler = sampled(engine)
    _, snapshot = next_figures(sampler, engine)
    assert column(snapshot.positions, "offset") == [1, -1]
    assert column(snapshot.positions, "next_store_ms") == [stored_ms[1], -1]
    assert column(snapshot.positions, "owner") == [0, -1]
    assert snapshot.owners == ["client@1"]
    assert column(snapshot.groups, "members") == [1]
    engine.offsets.commit("billing", "orders", 0, 3)
    _, snapshot = next_figures(sampler, engine)
    assert column(snapshot.positions, "offset") == [3, -1]
    assert column(snapshot.positions, "next_store_ms") == [-1, -1]


def test_times_of_next_messages_are_looked_up_in_turns(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler_module, "STORE_TIMES_IN_TURN", 2)
    engine.add_topic("orders", 5)
    for queue_id in range(5):
        engine.put("orders", queue_id, b"x")
        engine.offsets.commit("billing", "orders", queue_id, 0)
    sampler = sampled(engine)
    known = []
    for _ in range(3):
        _, snapshot = next_figures(sampler, engine)
        known.append(sum(value >= 0 for value in column(snapshot.positions, "next_store_ms")))
    assert known == [2, 4, 5]


def test_an_owner_that_left_owns_nothing(engine: Engine):
    engine.add_topic("orders", 1)
    engine.join("billing", "a", ["orders"])
    engine.join("billing", "b", ["orders"])
    engine.consumers.pulled("a", "billing", "orders", 0)
    engine.consumers.pulled("stranger", "billing", "orders", 0)
    sampler = sampled(engine)
    assert next_figures(sampler, engine)[1].owners == ["a"]
    engine.consumers.connection_lost("a")
    assert next_figures(sampler, engine)[1].owners == []


def test_an_offline_group_has_unknown_members(engine: Engine):
    engine.add_topic("orders", 1)
    engine.offsets.commit("billing", "orders", 0, 0)
    _, snapshot = next_figures(sampled(engine), engine)
    assert column(snapshot.groups, "members") == [-1]


def test_topics_and_members_that_come_and_go_are_told(engine: Engine):
    sampler = sampled(engine)
    next_figures(sampler, engine)
    engine.add_topic("orders", 1)
    engine.join("billing", "client@1", ["orders"])
    next_figures(sampler, engine)
    assert [(event.kind, event.subject) for event in sampler.events()] == [
        ("members_changed", "billing"),
        ("topic_created", "orders"),
    ]
    engine.topics.remove("orders")
    engine.consumers.connection_lost("client@1")
    next_figures(sampler, engine)
    assert [(event.kind, event.subject) for event in sampler.events()] == [
        ("members_changed", "billing"),
        ("topic_deleted", "orders"),
    ]
    assert sampler.events() == []


def test_subscriptions_are_one_object_until_one_changes(engine: Engine):
    sampler = sampled(engine)
    next_figures(sampler, engine)
    engine.join("billing", "client@1", ["orders"])
    next_figures(sampler, engine)
    wanted = sampler.subscriptions()
    assert wanted == {"billing": {"orders": ("TAG", "*")}}
    engine.add_topic("payments", 1)
    next_figures(sampler, engine)
    assert sampler.subscriptions() is wanted
    engine.join("billing", "client@1", ["orders"], expression="a || b", version=2)
    next_figures(sampler, engine)
    assert sampler.subscriptions() == {"billing": {"orders": ("TAG", "a || b")}}
    engine.consumers.connection_lost("client@1")
    next_figures(sampler, engine)
    assert sampler.subscriptions() == {}


def test_a_disk_that_cannot_be_asked_makes_its_figures_unknown(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    def refuse() -> None:
        raise StoreError("the disk cannot be asked")

    sampler = sampled(engine)
    next_figures(sampler, engine)
    monkeypatch.setattr(engine.store, "stats", refuse)
    _, snapshot = next_figures(sampler, engine)
    assert "disk_used_bytes" not in snapshot.totals
    assert snapshot.totals["put_messages"] == 0


def test_what_was_damaged_at_the_start_is_an_event(engine: Engine):
    engine.reports.append("config/topics.json is missing")
    sampler = sampled(engine)
    assert [(event.kind, event.text) for event in sampler.events()] == [("config_damaged", "config/topics.json is missing")]
    assert sampler.events() == []


def test_a_refusal_of_writes_is_told_when_it_comes_and_when_it_goes(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    sampler = sampled(engine)
    next_figures(sampler, engine)
    monkeypatch.setattr(Disk, "usage", lambda _disk, _path: (99, 100))
    engine.store.clean()
    refusal = engine.store.write_refusal
    next_figures(sampler, engine)
    next_figures(sampler, engine)
    monkeypatch.setattr(Disk, "usage", lambda _disk, _path: (1, 100))
    engine.store.clean()
    next_figures(sampler, engine)
    assert [(event.kind, event.text) for event in sampler.events()] == [
        ("writes_refused", refusal),
        ("writes_accepted", "The broker takes messages again"),
    ]
    assert "99 % full" in refusal


def test_a_message_that_was_set_aside_is_told_once(engine: Engine):
    sampler = sampled(engine)
    engine.set_aside.note(4_711, "%RETRY%g", PutStatus.PROPERTIES_SIZE_EXCEEDED, dead_letter_of("g"))
    (event,) = sampler.events()
    assert (event.kind, event.subject) == ("message_set_aside", "%RETRY%g")
    assert event.text == (
        "The message at 4711 of the commit log cannot be copied to %RETRY%g: "
        "its properties would be longer than 32,767 bytes; it is a dead letter of g now"
    )
    assert sampler.events() == []


def test_the_collector_understands_what_is_sampled(engine: Engine):
    engine.add_topic("orders", 1)
    for _ in range(5):
        engine.put("orders", 0, b"x")
    engine.offsets.commit("billing", "orders", 0, 2)
    sampler = sampled(engine)
    collector = Collector(History())
    catalog, snapshot = next_figures(sampler, engine)
    assert catalog is not None
    collector.catalog_changed(catalog)
    state = collector.snapshot_taken(snapshot)
    assert state is not None
    assert state.group_lag_messages.tolist() == [3]
    assert state.group_behind_ms.tolist() == [1_000]
    assert math.isnan(state.totals["put_rate"])


def test_what_a_person_does_is_an_event(engine: Engine):
    sampler = sampled(engine)
    asyncio.run(engine.journal.record("topic.delete", "orders", count=2, remark=""))
    sampler.snapshot()
    (event,) = sampler.events()
    assert (event.kind, event.subject, event.text) == ("action", "orders", "topic.delete: orders (count=2)")
    assert sampler.events() == []

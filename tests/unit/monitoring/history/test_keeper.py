"""The history as the worker uses it: a thread, snapshots in, answers out."""

import contextlib
import dataclasses
import sqlite3
import threading

import numpy as np
import pytest

from broker_core.api import OrbitError, StoreError, WorkerError
from broker_core.worker.questions.alerts import PutAlertRules, ReadAlerts
from broker_core.worker.questions.figures import HistorySample, Occurred
from broker_core.worker.questions.history import ReadEvents, ReadHistory
from monitoring.alert_rules import AlertRule, rules_to_json
from monitoring.history.database import FILE_NAME
from monitoring.history.keeper import WAITING_MAX, HistoryKeeper, open_history
from monitoring.history.recorder import Recorder
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.monitoring.test_collector import CATALOG, snapshot

BEGIN_MS = 1_700_000_000_000


@pytest.fixture
def keepers():
    made = []
    yield made
    for keeper in made:
        keeper.close()


@pytest.fixture
def start(tmp_path, keepers):
    def start():
        keepers.append(open_history(tmp_path, clock=lambda: BEGIN_MS))
        return keepers[-1]

    return start


def sample(second: int, *, catalog=None, events=(), **changes):
    return HistorySample(catalog, snapshot(BEGIN_MS + second * 1_000, **changes), list(events))


def lags(keeper, seconds: int = 10_000) -> list[float]:
    query = ReadHistory(["group:billing.lag_messages"], BEGIN_MS, BEGIN_MS + seconds * 1_000, 10_000)
    return np.frombuffer(keeper.answer(query).last[0], "<f8").tolist()


def feed(keeper, first: int, count: int) -> None:
    keeper.take(sample(first, catalog=CATALOG))
    for second in range(first + 1, first + count):
        keeper.take(sample(second))


def test_what_is_taken_is_answered_and_still_there_after_a_restart(start):
    keeper = start()
    feed(keeper, 0, 20)
    wait_until(lambda: len(lags(keeper)) == 20)
    keeper.close()
    with pytest.raises(WorkerError, match="not any more"):
        lags(keeper)
    assert lags(start()) == [10.0] * 20


def test_starts_ends_and_events_are_written_down(start, keepers):
    keeper = start()
    keeper.take(sample(0, catalog=CATALOG, events=[Occurred("topic_created", "Topic orders was created", 5, "orders")]))
    keeper.close()
    again = start()
    page = again.answer(ReadEvents(0, BEGIN_MS + 1))
    assert page.kind == ["broker_started", "broker_stopped", "broker_started", "topic_created"]
    assert page.text[0] == page.text[2] == "The broker started"


def test_what_groups_subscribe_is_written_when_it_changes_and_at_each_start(start, tmp_path):
    wanted = {"billing": {"orders": ("TAG", "*")}}
    for _ in range(2):
        keeper = start()
        keeper.take(dataclasses.replace(sample(0, catalog=CATALOG), subscriptions={}))
        for second in (1, 2):
            keeper.take(dataclasses.replace(sample(second), subscriptions=wanted))
        keeper.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "orbit" / FILE_NAME)) as database:
        rows = database.execute("SELECT (at_ms - ?) / 1000, grp FROM subscriptions ORDER BY id", (BEGIN_MS,)).fetchall()
    assert rows == [(0, ""), (1, "billing")] * 2


def test_an_unexpected_end_is_told_at_the_next_start(start, tmp_path):
    start().close()
    database = sqlite3.connect(tmp_path / "orbit" / FILE_NAME)
    database.execute("UPDATE meta SET value=1 WHERE name='open'")
    database.commit()
    database.close()
    assert "ended unexpectedly" in start().answer(ReadEvents(0, BEGIN_MS + 1, kinds=["broker_started"])).text[0]


def test_of_a_connection_the_recording_begins_and_ends_and_no_broker(tmp_path, keepers):
    for _run in range(2):
        keepers.append(open_history(tmp_path, clock=lambda: BEGIN_MS, of_connection=True))
        page = keepers[-1].answer(ReadEvents(0, BEGIN_MS + 1))
        keepers[-1].close()
    assert page.kind == ["recording_began", "recording_ended", "recording_began"]
    assert page.text[0] == "The recording of this connection began"


def test_a_damaged_file_is_kept_aside_and_a_new_history_begins(start, tmp_path):
    folder = tmp_path / "orbit"
    folder.mkdir()
    (folder / FILE_NAME).write_bytes(b"this is no database" * 1_000)
    keeper = start()
    feed(keeper, 0, 3)
    wait_until(lambda: len(lags(keeper)) == 3)
    (aside,) = folder.glob("*.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")


def test_a_file_of_a_newer_orbit_is_left_alone(start, tmp_path):
    folder = tmp_path / "orbit"
    folder.mkdir()
    database = sqlite3.connect(folder / FILE_NAME)
    database.execute("PRAGMA user_version=99")
    database.close()
    keeper = start()
    with pytest.raises(StoreError, match="format 99; this Orbit knows 1"):
        lags(keeper)
    for second in range(WAITING_MAX + 5):
        keeper.take(sample(second))  # nobody takes them out, and nobody waits


def test_a_snapshot_that_cannot_be_understood_costs_only_itself(start):
    keeper = start()
    keeper.take(sample(0, catalog=CATALOG))
    keeper.take(sample(1, queues={}))
    keeper.take(sample(2))
    wait_until(lambda: len(lags(keeper)) == 2)


def test_a_catalog_that_did_not_fit_the_queue_comes_with_the_next_sample(start, monkeypatch):
    keeper = start()
    keeper.take(sample(0, catalog=CATALOG))
    wait_until(lambda: len(lags(keeper)) == 1)
    writes, go_on, add = threading.Event(), threading.Event(), Recorder.add

    def held(recorder, state) -> None:
        writes.set()
        assert go_on.wait(DEADLINE_S)
        add(recorder, state)

    monkeypatch.setattr(Recorder, "add", held)
    keeper.take(sample(1))
    assert writes.wait(DEADLINE_S)
    for second in range(2, WAITING_MAX + 2):
        keeper.take(sample(second))
    keeper.take(HistorySample(dataclasses.replace(CATALOG, revision=2), snapshot(BEGIN_MS + 100_000, revision=2), []))
    go_on.set()
    wait_until(lambda: len(lags(keeper)) == WAITING_MAX + 2, "the last sample found no room")
    keeper.take(sample(101, revision=2))
    wait_until(lambda: len(lags(keeper)) > WAITING_MAX + 2 and lags(keeper)[-1:] == [10.0])


def test_a_file_that_turns_out_damaged_later_is_replaced_while_running(start, tmp_path, monkeypatch):
    keeper = start()
    feed(keeper, 0, 3)
    wait_until(lambda: len(lags(keeper)) == 3)

    def broken(_recorder, _state) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "add", broken)
        keeper.take(sample(3))
        wait_until(lambda: list((tmp_path / "orbit").glob("*.damaged-*")))
    keeper.take(sample(4))
    wait_until(lambda: recorded(keeper) == [10.0])
    assert len(list((tmp_path / "orbit").glob("*.damaged-*"))) == 1


def recorded(keeper: HistoryKeeper) -> list[float]:
    """The lags; none while the history is not open."""
    try:
        return lags(keeper)
    except OrbitError:
        return []


def test_samples_are_judged_by_the_alert_rules(start):
    keeper = start()
    lag = AlertRule("lag of billing", "Lag", "group:billing.lag_messages", above=True, threshold=5, for_ms=0)
    keeper.answer(PutAlertRules(rules_to_json([lag])))
    feed(keeper, 0, 2)

    def events() -> list[tuple[str, str]]:
        page = keeper.answer(ReadEvents(0, BEGIN_MS + 10_000, kinds=["alert", "action"]))
        return [(kind, text) for kind, text in zip(page.kind, page.text, strict=True) if "Lag" in text]

    expected = [
        ("alert", "Lag: billing: 10 messages, above 5"),
        ("action", "alert.added: Lag (group:billing.lag_messages > 5 for 0 s)"),
    ]
    wait_until(lambda: events() == expected)


def test_alerts_that_cannot_be_kept_leave_the_history(start, tmp_path):
    (tmp_path / "orbit" / "alerts.db").mkdir(parents=True)
    keeper = start()
    with pytest.raises(StoreError, match="alerts"):
        keeper.answer(ReadAlerts())
    feed(keeper, 0, 3)
    wait_until(lambda: len(lags(keeper)) == 3)

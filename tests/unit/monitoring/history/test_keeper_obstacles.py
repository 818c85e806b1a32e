"""A history that cannot be opened for a while: it says why, loses only that while, and goes on by itself."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading

import numpy as np
import pytest

from broker_core.api import OrbitError, StoreError
from broker_core.worker.questions.alerts import PutAlertRules, ReadAlerts
from broker_core.worker.questions.figures import HistorySample, Occurred
from broker_core.worker.questions.history import ReadEvents, ReadHistory
from monitoring.alert_rules import AlertRule, rules_to_json
from monitoring.history import keeper as keeper_module
from monitoring.history.database import FILE_NAME, open_database
from monitoring.history.keeper import WAITING_MAX, HistoryKeeper, open_history
from monitoring.history.recorder import Recorder
from tests.support.waiting import wait_until
from tests.unit.monitoring.test_collector import CATALOG, snapshot

BEGIN_MS = 1_700_000_000_000


@pytest.fixture
def start(tmp_path):
    made: list[HistoryKeeper] = []

    def start() -> HistoryKeeper:
        made.append(open_history(tmp_path, clock=lambda: BEGIN_MS))
        wait_until(made[-1]._opened.is_set, "the first attempt has not ended")
        return made[-1]

    yield start
    for keeper in made:
        keeper.close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr("monitoring.history.retry_pause.FIRST_SECONDS", 0.05)
    monkeypatch.setattr("monitoring.history.retry_pause.LONGEST_SECONDS", 0.2)
    monkeypatch.setattr("monitoring.database_file.OPEN_SECONDS", 0.2)


@pytest.fixture
def lock(tmp_path):
    """Holds the database for writing, as another program may."""
    (tmp_path / "orbit").mkdir()
    open_database(tmp_path / "orbit" / FILE_NAME).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "orbit" / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def sample(second: int, *, events=(), **changes) -> HistorySample:
    return HistorySample(CATALOG if second == 0 else None, snapshot(BEGIN_MS + second * 1_000, **changes), list(events))


def seconds(keeper: HistoryKeeper) -> list[int]:
    query = ReadHistory(["group:billing.lag_messages"], BEGIN_MS, BEGIN_MS + 10_000_000, 10_000)
    answer = keeper.answer(query)
    known = ~np.isnan(np.frombuffer(answer.last[0], "<f8"))
    return ((np.frombuffer(answer.times_ms[0], "<i8")[known] - BEGIN_MS) // 1_000).tolist()


def refusal(keeper: HistoryKeeper) -> str:
    with pytest.raises(OrbitError) as caught:
        seconds(keeper)
    return caught.value.message


def is_open(keeper: HistoryKeeper) -> bool:
    try:
        return seconds(keeper) is not None
    except OrbitError:
        return False


def keeps_alerts(keeper: HistoryKeeper) -> bool:
    try:
        return keeper.answer(ReadAlerts()) is not None
    except OrbitError:
        return False


def test_a_locked_file_is_tried_again_and_says_so_meanwhile(start, lock, caplog):
    keeper = start()
    text = refusal(keeper)
    assert "database is locked" in text
    assert "it is tried again" in text
    for second in range(3 * WAITING_MAX):
        keeper.take(sample(second))
        wait_until(lambda: keeper._samples.qsize() < WAITING_MAX // 2)
    lock.execute("ROLLBACK")
    wait_until(lambda: is_open(keeper))
    for second in range(500, 503):
        keeper.take(sample(second))
    # Samples that were queued during the last attempt are recorded, too.
    wait_until(lambda: seconds(keeper)[-3:] == [500, 501, 502])
    assert seconds(keeper)[0] > WAITING_MAX
    told = [record for record in caplog.records if "database is locked" in record.getMessage()]
    assert len(told) == 1


def test_what_came_meanwhile_is_known_afterwards(start, lock):
    keeper = start()
    refusal(keeper)
    keeper.take(sample(0, events=[Occurred("topic_created", "Topic orders was created", BEGIN_MS, "orders")]))
    wait_until(keeper._samples.empty)
    lock.execute("ROLLBACK")
    wait_until(lambda: is_open(keeper))
    keeper.take(sample(1))
    wait_until(lambda: seconds(keeper) == [1])
    page = keeper.answer(ReadEvents(0, BEGIN_MS + 10_000))
    assert sorted(page.kind) == ["broker_started", "topic_created"]


def test_rules_are_judged_while_the_history_cannot_be_written(start, lock, caplog):
    keeper = start()
    refusal(keeper)
    rule = AlertRule("lag of billing", "Lag", "group:billing.lag_messages", above=True, threshold=5, for_ms=0)
    keeper.answer(PutAlertRules(rules_to_json([rule])))
    for second in range(2):
        keeper.take(sample(second))
    wait_until(lambda: any("Lag: billing: 10 messages, above 5" in record.getMessage() for record in caplog.records))


def test_stopping_does_not_wait_for_the_next_try(start, lock, monkeypatch):
    monkeypatch.setattr("monitoring.history.retry_pause.FIRST_SECONDS", 10_000.0)
    monkeypatch.setattr("monitoring.history.retry_pause.LONGEST_SECONDS", 10_000.0)
    keeper = start()
    refusal(keeper)
    keeper.close()
    assert "history" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("error", ["database or disk is full", "unable to open database file", "disk I/O error"])
def test_whatever_keeps_it_from_beginning_is_overcome(start, monkeypatch, error):
    obstacle = threading.Event()
    obstacle.set()

    class Hampered(Recorder):
        def __init__(self, *args, **kwargs) -> None:
            if obstacle.is_set():
                raise sqlite3.OperationalError(error)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(keeper_module, "Recorder", Hampered)
    keeper = start()
    assert error in refusal(keeper)
    keeper.take(sample(0))
    obstacle.clear()
    wait_until(lambda: is_open(keeper))
    keeper.take(sample(1))
    wait_until(lambda: seconds(keeper)[-1:] == [1])


def test_a_folder_that_cannot_be_made_is_tried_again(start, tmp_path):
    (tmp_path / "orbit").write_text("in the way")
    keeper = start()
    refusal(keeper)
    (tmp_path / "orbit").unlink()
    wait_until(lambda: is_open(keeper))
    keeper.take(sample(0))
    wait_until(lambda: seconds(keeper) == [0])
    wait_until(lambda: keeps_alerts(keeper))


def test_a_file_of_a_newer_orbit_that_is_moved_away_makes_room(start, tmp_path):
    (tmp_path / "orbit").mkdir()
    path = tmp_path / "orbit" / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version=99")
    keeper = start()
    assert "format 99; this Orbit knows 1" in refusal(keeper)
    path.rename(path.with_name("newer.db"))
    wait_until(lambda: is_open(keeper))


def test_alerts_that_cannot_be_opened_at_first_are_kept_later(start, tmp_path):
    in_the_way = tmp_path / "orbit" / "alerts.db"
    in_the_way.mkdir(parents=True)
    keeper = start()
    with pytest.raises(StoreError, match="alerts"):
        keeper.answer(ReadAlerts())
    in_the_way.rmdir()
    keeper.take(sample(0))
    tries = iter(range(1, 1_000_000))

    def kept() -> bool:
        keeper.take(sample(next(tries)))
        return keeps_alerts(keeper)

    wait_until(kept)


def test_an_own_mistake_costs_a_gap_and_not_the_run(start, caplog, monkeypatch):
    keeper = start()
    keeper.take(sample(0))
    wait_until(lambda: seconds(keeper) == [0])

    def broken(_recorder, _state) -> None:
        raise ValueError("no such bytes")

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "add", broken)
        keeper.take(sample(1))
        wait_until(lambda: "the history has a gap" in caplog.text)
    wait_until(lambda: is_open(keeper))
    keeper.take(sample(20))
    wait_until(lambda: seconds(keeper)[-1:] == [20])
    page = keeper.answer(ReadEvents(0, BEGIN_MS + 100_000, kinds=["broker_started"]))
    assert page.text == ["The broker started"]
    assert any(record.levelno == logging.ERROR and "no such bytes" in record.getMessage() for record in caplog.records)


def test_a_disk_that_stays_full_is_told_once(start, caplog, monkeypatch):
    keeper = start()
    keeper.take(sample(0))
    wait_until(lambda: seconds(keeper) == [0])

    def full(_recorder) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Recorder, "_write_journal", full)
    for second in range(1, 31):
        keeper.take(sample(second))
    wait_until(keeper._samples.empty)
    keeper.close()
    assert len([record for record in caplog.records if "disk is full" in record.getMessage()]) == 1

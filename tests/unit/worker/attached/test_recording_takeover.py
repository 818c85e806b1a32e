"""A guest beside a process that records takes over when that one ends; the lock of the folder decides."""

from __future__ import annotations

import threading

import pytest

from broker_core.api import StoreError
from broker_core.engine.store.ownership import StoreOwnership
from broker_core.engine.store.paths import StorePaths
from broker_core.worker.attached.recording import Succession, open_recording
from broker_core.worker.questions.alerts import MuteAlert, ReadAlerts
from broker_core.worker.questions.figures import HistorySample
from tests.support.waiting import wait_until
from tests.unit.monitoring.test_collector import CATALOG, snapshot

QUICKLY = 0.01


class Keeper:
    """Remembers what it was given; fails once it is closed."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.samples: list[HistorySample] = []
        self.is_closed = False

    def take(self, sample: HistorySample) -> None:
        self.samples.append(sample)

    def answer(self, _query: object) -> str:
        if self.is_closed:
            raise StoreError(f"{self.name} is closed")
        return self.name

    def close(self) -> None:
        self.is_closed = True


class Begun:
    """What was begun with a keeper."""

    def __init__(self, history: Keeper) -> None:
        self.history = history
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True
        self.history.close()


def sample(second: int, catalog=None) -> HistorySample:
    return HistorySample(catalog, snapshot(second * 1_000), [])


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "connection"
    made.mkdir()
    return made


def test_the_successor_begins_with_the_catalog_that_the_guest_had_no_use_for():
    guest, successor, free = Keeper("guest"), Begun(Keeper("successor")), threading.Event()
    told: list[bool] = []
    history = Succession(
        guest, lambda: successor if free.is_set() else None, taken_over=lambda: told.append(True), look_seconds=QUICKLY
    )
    history.take(sample(1, CATALOG))
    history.take(sample(2))
    assert history.answer(ReadAlerts()) == "guest"
    free.set()
    wait_until(lambda: guest.is_closed)
    assert told == [True]
    assert history.answer(ReadAlerts()) == "successor"
    history.take(sample(3))
    history.take(sample(4))
    assert [one.catalog for one in successor.history.samples] == [CATALOG, None]
    history.close()
    assert successor.is_closed


def test_a_question_that_meets_the_change_is_asked_again():
    successor = Begun(Keeper("successor"))
    changed = threading.Event()

    class Leaving(Keeper):
        def answer(self, _query: object) -> str:
            free.set()
            changed.wait()
            raise StoreError("closed meanwhile")

    free = threading.Event()
    history = Succession(Leaving(), lambda: successor if free.is_set() else None, taken_over=changed.set, look_seconds=QUICKLY)
    assert history.answer(MuteAlert("lag", 0)) == "successor"
    history.close()


def test_a_refusal_of_the_guest_is_its_answer():
    guest = Keeper("guest")
    guest.is_closed = True
    history = Succession(guest, lambda: None, taken_over=lambda: None, look_seconds=QUICKLY)
    with pytest.raises(StoreError, match="guest is closed"):
        history.answer(ReadAlerts())
    history.close()


def test_a_folder_that_cannot_be_locked_any_more_is_left_to_the_guest():
    guest, tried = Keeper("guest"), threading.Event()

    def refuse() -> None:
        tried.set()
        raise StoreError("the lock cannot be taken")

    history = Succession(guest, refuse, taken_over=lambda: None, look_seconds=QUICKLY)
    assert tried.wait(60)
    for thread in threading.enumerate():
        if thread.name == "await-recording":
            thread.join(60)
            assert not thread.is_alive()
    assert history.answer(ReadAlerts()) == "guest"
    history.close()
    assert guest.is_closed


def test_one_process_records_at_a_time_and_the_lock_decides(folder):
    opened: list[str] = []

    def opener(name: str):
        def open_history(_store, _started_ms, *, cluster="", of_connection=False):
            opened.append(f"{name} {cluster} {of_connection}")
            return Keeper(name)

        return open_history

    other = StoreOwnership(StorePaths(folder))
    taken_over = threading.Event()
    recording = open_recording(folder, opener("owner"), cluster="ns", open_as_guest=opener("guest"), taken_over=taken_over.set)
    assert "Another Orbit process records" in recording.notice
    assert recording.history.answer(ReadAlerts()) == "guest"
    assert opened == ["guest ns False"]
    other.release()
    assert taken_over.wait(60)
    assert recording.history.answer(ReadAlerts()) == "owner"
    second = open_recording(folder, opener("owner"), open_as_guest=opener("guest"))
    assert second.history.answer(ReadAlerts()) == "guest"
    second.close()
    recording.close()
    StoreOwnership(StorePaths(folder)).release()
    assert opened == ["guest ns False", "owner ns True", "guest  False"]


def test_whoever_waits_for_nothing_goes_without(folder):
    other = StoreOwnership(StorePaths(folder))
    recording = open_recording(folder, lambda *_, **_named: Keeper())
    assert recording.history is None
    assert "already" in recording.notice
    other.release()

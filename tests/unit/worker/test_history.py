"""Who gets which figures when, and the history over the real worker's channel."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from broker_core.api import StoreError, UsageError
from broker_core.worker.history import UNOPENED_MAX, FigureFeed, LateHistory
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.figures import Catalog, HistorySample, Occurred, Snapshot, Subscriptions
from broker_core.worker.questions.history import EventPage, HistoryLines, ReadEvents, ReadHistory
from broker_core.worker.questions.letter_notes import NoteLetters, ReadLetterNotes
from tests.support.worker_driver import DEADLINE_S, WorkerDriver
from tests.unit.monitoring.test_collector import CATALOG, snapshot


class Figures:
    """Gives the catalog once, then snapshots, with one event each."""

    def __init__(self) -> None:
        self.taken = 0
        self.new: Catalog | None = CATALOG

    def catalog(self) -> Catalog | None:
        new, self.new = self.new, None
        return new

    def snapshot(self) -> Snapshot:
        self.taken += 1
        return snapshot(self.taken)

    def events(self) -> list[Occurred]:
        return [Occurred("event", str(self.taken), self.taken)]

    def subscriptions(self) -> Subscriptions:
        return {"billing": {"orders": ("TAG", "*")}}


class Recorded:
    def __init__(self) -> None:
        self.samples: list[HistorySample] = []

    def take(self, sample: HistorySample) -> None:
        self.samples.append(sample)

    def answer(self, query: ReadHistory | ReadEvents) -> HistoryLines | EventPage:
        raise UsageError(f"not asked here: {query}")

    def close(self) -> None: ...


class Bench:
    def __init__(self) -> None:
        self.now_ms = 5_000
        self.figures, self.history = Figures(), Recorded()
        self.told: list[object] = []
        self.feed = FigureFeed(self.figures, send=self.told.append, history=self.history, clock=lambda: self.now_ms)

    def turn(self, now_ms: int, *, window_reads: bool) -> bool:
        self.now_ms = now_ms
        return self.feed.pass_on(window_reads=window_reads)

    def kinds(self) -> list[str]:
        return [type(message).__name__ for message in self.told]


def test_the_window_gets_every_turn_and_the_history_every_second():
    bench = Bench()
    for now_ms in range(5_000, 7_000, 100):
        assert bench.turn(now_ms, window_reads=True)
    assert bench.kinds() == ["Catalog", *["Snapshot", "Occurred"] * 20]
    assert [sample.snapshot.taken_ms for sample in bench.history.samples] == [1, 11]
    assert [len(sample.events) for sample in bench.history.samples] == [1, 10]
    assert [sample.catalog for sample in bench.history.samples] == [CATALOG, None]


def test_a_window_that_does_not_read_costs_the_history_nothing():
    bench = Bench()
    turns = [bench.turn(now_ms, window_reads=False) for now_ms in range(5_000, 8_000, 100)]
    assert sum(turns) == len(bench.history.samples) == 3
    assert bench.told == []
    bench.turn(8_000, window_reads=True)
    assert bench.kinds() == ["Catalog", "Snapshot", *["Occurred"] * 4]


def test_without_a_history_only_the_window_is_served():
    bench = Bench()
    bench.feed = FigureFeed(bench.figures, send=bench.told.append, history=None, clock=lambda: 0)
    assert not bench.turn(0, window_reads=False)
    assert bench.turn(0, window_reads=True)


def test_the_worker_keeps_its_history_over_a_kill(tmp_path: Path):
    begin_ms = time.time_ns() // 1_000_000

    def max_offsets(worker: WorkerDriver) -> list[float]:
        query = ReadHistory(["queue:orders/0.max_offset"], begin_ms, begin_ms + 3_600_000, 3_600)
        answer = worker.ask(query)
        assert isinstance(answer, HistoryLines)
        return np.frombuffer(answer.last[0], "<f8").tolist()

    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        worker.ask(CreateTopic("orders", 1, 1))
        worker.ask(NoteLetters(["A"], "warehouse 7 is closed"))
        # What is older than the journal's five seconds is on the disk.
        deadline = time.monotonic() + DEADLINE_S
        while len(max_offsets(worker)) < 7:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        worker.process.kill()
        worker.process.wait()
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        assert len(max_offsets(worker)) >= 1
        events = worker.ask(ReadEvents(0, begin_ms + 3_600_000))
        assert isinstance(events, EventPage)
        assert events.kind.count("broker_started") == 2
        assert worker.ask(ReadLetterNotes(["A"])).text == ["warehouse 7 is closed"]
        assert events.kind[-1] == "broker_started"
        assert ("topic_created", "orders") in zip(events.kind, events.subject, strict=True)
        assert "ended unexpectedly" in events.text[events.kind.index("broker_started")]
        with pytest.raises(UsageError, match="names no series"):
            worker.ask(ReadHistory(["x"], 0, 1))
        assert worker.end_input() == 0


# ---- a history that opens later ----------------------------------------------------------------------------------------


def sample(at_ms: int) -> HistorySample:
    return HistorySample(None, snapshot(at_ms), [])


def test_what_is_sampled_before_the_history_is_open_waits_for_it(tmp_path):
    keeper, may_open = Recorded(), threading.Event()

    def open_history(_store: Path, _started_ms: int, *, cluster: str = "") -> Recorded:
        assert may_open.wait(DEADLINE_S)
        return keeper

    history = LateHistory(open_history, tmp_path, started_ms=0, delay_seconds=0)
    history.take(sample(1))
    assert keeper.samples == []
    may_open.set()
    history.take(sample(2))
    history.close()
    assert [one.snapshot.taken_ms for one in keeper.samples] == [1, 2]


def test_a_question_opens_the_history_at_once(tmp_path):
    history = LateHistory(
        lambda _store, _started_ms, **_named: Recorded(), tmp_path, started_ms=0, delay_seconds=10 * DEADLINE_S
    )
    with pytest.raises(UsageError, match="not asked here"):
        history.answer(ReadEvents(0, 1))
    history.close()


def test_a_history_that_cannot_be_opened_says_why_at_each_question(tmp_path):
    def open_history(_store: Path, _started_ms: int, *, cluster: str = "") -> Recorded:
        raise StoreError("the disk is full")

    history = LateHistory(open_history, tmp_path, started_ms=0, delay_seconds=0)
    for _ in range(2):
        with pytest.raises(StoreError, match="disk is full"):
            history.answer(ReadEvents(0, 1))
    history.take(sample(1))
    history.close()


def test_of_a_history_that_opens_late_no_catalog_and_no_event_is_lost(tmp_path):
    keeper, may_open = Recorded(), threading.Event()

    def open_history(_store: Path, _started_ms: int, *, cluster: str = "") -> Recorded:
        assert may_open.wait(DEADLINE_S)
        return keeper

    history = LateHistory(open_history, tmp_path, started_ms=0, delay_seconds=0)
    for number in range(UNOPENED_MAX + 3):
        event = Occurred("event", str(number), number)
        history.take(HistorySample(CATALOG if number == 0 else None, snapshot(number), [event]))
    may_open.set()
    history.close()

    assert [one.snapshot.taken_ms for one in keeper.samples] == list(range(3, UNOPENED_MAX + 3))
    assert [one.catalog for one in keeper.samples] == [CATALOG] + [None] * (UNOPENED_MAX - 1)
    assert [event.at_ms for one in keeper.samples for event in one.events] == list(range(UNOPENED_MAX + 3))

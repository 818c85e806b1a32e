"""Lines of charts from the window's record and the worker's history together."""

from __future__ import annotations

import time

import numpy as np
import pytest
from PySide6.QtCore import QObject

from broker_core.api import WorkerError
from broker_core.worker.questions.history import EventPage, ReadEvents, ReadHistory
from broker_core.worker.questions.history import HistoryLines as Answer
from gui.operations.history import EVENTS_STEP_MS, ChartHistory, EventMarks, RecordBegin
from gui.plots.event_marks import chart_marks
from monitoring.series import History
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import FakeSource

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
NAME = "totals.put_rate"


def recorded(seconds: int, value: float = 5.0) -> History:
    """One sample a second up to now."""
    history = History()
    for time_ms in range(NOW_MS - (seconds - 1) * 1_000, NOW_MS + 1, 1_000):
        history.record(time_ms, [NAME], [value])
    return history


class Source(FakeSource):
    """Answers every question about the history with one point an hour."""

    def made_answers(self):
        """Those with points."""
        return super().made_answers() | {ReadHistory: self.points}

    def points(self, query: ReadHistory):
        """One an hour."""
        times = np.arange(query.from_ms, query.to_ms, HOUR_MS, dtype=np.int64)
        low, high = np.full(len(times), 1.0), np.full(len(times), 3.0)
        count = len(query.names)
        return Answer(
            HOUR_MS, query.from_ms, [times.tobytes()] * count, [low.tobytes()] * count, [high.tobytes()] * count, [b""] * count
        )


@pytest.fixture
def owner(qapp):
    made = QObject()
    yield made
    made.deleteLater()


def asked(source: FakeSource) -> list[ReadHistory]:
    return source.asked_for(ReadHistory)


def test_what_the_window_recorded_itself_is_not_asked_for(owner):
    source = Source()
    lines = ChartHistory(source, recorded(601), owner)

    x, y = lines.lines([NAME], NOW_MS - 600_000, NOW_MS)[NAME]

    assert len(x) == 601
    assert set(y) == {5.0}
    assert asked(source) == []


def test_what_lies_before_comes_from_the_history_with_both_extremes(owner):
    source = Source()
    lines = ChartHistory(source, recorded(601), owner)
    drawn = []
    lines.arrived.connect(lambda: drawn.append(1))

    lines.lines([NAME], NOW_MS - 6 * HOUR_MS, NOW_MS)
    x, y = lines.lines([NAME], NOW_MS - 6 * HOUR_MS, NOW_MS)[NAME]

    assert drawn == [1]
    assert [query.points for query in asked(source)] == [600]
    assert (np.diff(x) >= 0).all()
    assert list(y[:4]) == [1.0, 3.0, 1.0, 3.0]
    assert x[0] == NOW_MS / 1_000 - 6 * 3_600
    assert y[x >= NOW_MS / 1_000 - 600] == pytest.approx(5.0)


def test_an_earlier_range_of_the_same_length_is_asked_for(owner):
    source, history = Source(), History(samples_max=600)
    for time_ms in range(NOW_MS - 599_000, NOW_MS + 1, 1_000):
        history.record(time_ms, [NAME], [5.0])
    lines = ChartHistory(source, history, owner)

    lines.lines([NAME], NOW_MS - 6 * HOUR_MS, NOW_MS)
    for _ in range(2):
        lines.lines([NAME], NOW_MS - 30 * HOUR_MS, NOW_MS - 24 * HOUR_MS)
    assert len(asked(source)) == 2


def test_it_is_asked_again_for_another_range_and_when_the_record_has_moved_on(owner):
    source, history = Source(), History(samples_max=600)
    for time_ms in range(NOW_MS - 599_000, NOW_MS + 1, 1_000):
        history.record(time_ms, [NAME], [5.0])
    lines = ChartHistory(source, history, owner)

    for to_ms in (NOW_MS, NOW_MS + 1_000):
        lines.lines([NAME], to_ms - 6 * HOUR_MS, to_ms)
    assert len(asked(source)) == 1
    lines.lines([NAME], NOW_MS - 24 * HOUR_MS, NOW_MS)
    assert len(asked(source)) == 2
    for time_ms in range(NOW_MS + 1_000, NOW_MS + 610_000, 1_000):
        history.record(time_ms, [NAME], [5.0])
    lines.lines([NAME], NOW_MS + 609_000 - 24 * HOUR_MS, NOW_MS + 609_000)
    assert len(asked(source)) == 3


def test_a_record_that_gets_longer_is_waited_for_and_not_asked_for_with_every_figure(owner):
    source = Source()
    source.hold = True
    lines = ChartHistory(source, recorded(61), owner)
    began_ms = NOW_MS - 10 * 60_000
    for second in range(30):
        lines.lines([NAME], began_ms, NOW_MS + second * 1_000)
    assert len(asked(source)) == 1
    source.held[0].release()
    x, _y = lines.lines([NAME], began_ms, NOW_MS + 30_000)[NAME]
    assert x[0] == began_ms / 1_000
    lines.lines([NAME], began_ms, NOW_MS - 5 * 60_000)
    assert len(asked(source)) == 2, "a part of it is shown finer"


def test_other_series_do_not_show_the_old_ones(owner):
    source = Source()
    lines = ChartHistory(source, recorded(61), owner)
    lines.lines([NAME], NOW_MS - 6 * HOUR_MS, NOW_MS)
    source.hold = True

    x, _y = lines.lines(["group:billing.lag_messages"], NOW_MS - 6 * HOUR_MS, NOW_MS)["group:billing.lag_messages"]

    assert len(x) == 0


def test_what_was_refused_is_told_once_and_until_it_is_read(owner):
    source = Source()
    source.fail_with = WorkerError("the record is locked")
    lines = ChartHistory(source, recorded(61), owner)
    told = []

    def draw():
        told.append(lines.fault)
        lines.lines([NAME], NOW_MS - 6 * HOUR_MS, NOW_MS)

    lines.arrived.connect(draw)
    for _ in range(3):
        draw()
    assert len(told) == 4, "a reason that was told is not drawn again at once"
    assert told[-1].startswith("The history was not read: ")
    assert "the record is locked" in told[-1]
    source.fail_with = None
    draw()
    assert lines.fault == ""

    source.fail_with = WorkerError("the record is locked")
    lines.lines([NAME], NOW_MS - 12 * HOUR_MS, NOW_MS)
    assert lines.fault
    lines.lines([NAME], NOW_MS - 60_000, NOW_MS)
    assert lines.fault == "", "the window has all of this range itself"


def test_events_that_were_refused_are_told_and_asked_for_again_after_a_while(owner, monkeypatch):
    source = FakeSource()
    source.fail_with = WorkerError("the record is locked")
    marks = EventMarks(source, ["restart"], owner)
    drawn = []
    marks.arrived.connect(lambda: drawn.append(marks.fault))
    for _ in range(3):
        marks.events(NOW_MS - HOUR_MS, NOW_MS)
    assert [type(question) for question in source.asked] == [ReadEvents]
    assert ["The events were not read" in fault for fault in drawn] == [True]
    source.fail_with = None
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + EVENTS_STEP_MS / 1_000 + 1)
    marks.events(NOW_MS - HOUR_MS, NOW_MS)
    assert ([type(question) for question in source.asked], marks.fault) == ([ReadEvents] * 2, "")


def test_without_a_broker_or_after_an_error_the_windows_own_record_is_shown(owner):
    for source in (FakeSource(status=SourceStatus.LOST), FakeSource()):
        source.fail_with = WorkerError("no history")
        lines = ChartHistory(source, recorded(61), owner)
        x, _y = lines.lines([NAME], NOW_MS - 6 * HOUR_MS, NOW_MS)[NAME]
        assert x[0] == NOW_MS / 1_000 - 60


def test_the_begin_of_the_record_is_told_once(qtbot, owner):
    begin = RecordBegin(Source(), owner)
    found = []
    begin.found.connect(found.append)
    with qtbot.waitSignal(begin.destroyed):
        begin.ask(NOW_MS)
    assert found == [NOW_MS - 2_000]


def marks_of(source: FakeSource, owner: QObject) -> EventMarks:
    return EventMarks(source, ("members_changed", "broker_started"), owner)


class EventSource(FakeSource):
    """Tells a rebalance of two groups and a restart."""

    def made_answers(self):
        """Those with events."""
        return super().made_answers() | {ReadEvents: self.events}

    def events(self, _query: ReadEvents):
        """A rebalance of two groups and a restart."""
        times = [NOW_MS - 1_000, NOW_MS - 2_000, NOW_MS - 3_000]
        return EventPage(3, times, ["members_changed", "broker_started", "members_changed"], ["b", "", "a"], ["x", "y", "z"])


def test_events_come_oldest_first_with_restarts_for_every_group(owner):
    marks = marks_of(EventSource(), owner)
    assert [event[2] for event in marks.events(NOW_MS - 60_000, NOW_MS, "a")] == ["z", "y"]
    assert [event[2] for event in marks.events(NOW_MS - 60_000, NOW_MS)] == ["z", "y", "x"]
    assert [event[2] for event in marks.events(NOW_MS - 2_500, NOW_MS)] == ["y", "x"]


def test_events_are_asked_for_again_after_a_while(owner):
    source = EventSource()
    marks = marks_of(source, owner)
    for to_ms in (NOW_MS, NOW_MS + 9_000, NOW_MS + 11_000):
        marks.events(to_ms - 60_000, to_ms)
    assert len(source.asked) == 2


def test_events_of_a_record_that_gets_longer_are_not_asked_for_with_every_figure(owner):
    source = EventSource()
    marks = marks_of(source, owner)
    for second in range(9):
        marks.events(NOW_MS - 60_000, NOW_MS + second * 1_000)
    assert len(source.asked) == 1
    marks.events(NOW_MS - 61_000, NOW_MS + 9_000)
    assert len(source.asked) == 2, "an earlier begin was not asked for"


def test_close_events_are_one_mark_and_many_have_no_words():
    few = [(NOW_MS, "members_changed", ""), (NOW_MS + 1, "members_changed", ""), (NOW_MS + 50_000, "broker_started", "")]
    assert [mark.text for mark in chart_marks(few, NOW_MS, NOW_MS + 60_000)] == ["Rebalance (2)", "Broker started"], (
        "a first start is no restart"
    )
    many = [(NOW_MS + second * 5_000, "broker_started", "") for second in range(10)]
    assert {mark.text for mark in chart_marks(many, NOW_MS, NOW_MS + 60_000)} == {""}
    assert chart_marks([(NOW_MS, "topic_created", "")], NOW_MS, NOW_MS + 1) == []

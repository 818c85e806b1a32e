"""The chart of a topic by tag: what it asks, what it draws, what it says."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import Qt

from broker_core.api import WorkerError
from broker_core.worker.questions.stored_messages import BrowseQueue, FindOffset
from gui.operations.tag_looks import QUEUES_A_PART
from gui.views.topics.queues_panel import TAGS, TRAFFIC
from gui.views.topics.topic_view import TopicView
from tests.support.drags import drag_over
from tests.support.fake_source import TAKEN_MS, FakeSource
from tests.support.shown_parts import segment

STEP_MS = 60_000


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def make_view(show_page, source):
    return partial(show_page, TopicView, source)


def by_tag(view):
    view.open({"topic": "orders"})
    segment(view.queues.switch, "In by tag").click()
    return view.queues.tags.make()


def test_the_chart_asks_nothing_before_it_is_wanted(make_view, source):
    view = make_view()
    view.open({"topic": "orders"})
    assert view.queues.switch.current == TRAFFIC
    assert source.asked_for(FindOffset) == []


def test_tags_are_drawn_with_the_rate_of_the_topic(make_view, source, qtbot):
    chart = by_tag(make_view())
    qtbot.waitUntil(lambda: bool(chart.looks.looks) and not chart.looks.is_busy)
    assert {layer.tag for layer in chart.layers} <= {"CREATED", "PAID", "CANCELLED"}
    assert chart.legend.isVisible()
    assert [name for name, _rate in chart.legend.entries] == [layer.tag for layer in chart.layers]
    assert chart.note.whole_text().startswith("Estimated from the first 100 messages of up to 3 queues")
    queues = {one.queue_id for one in source.asked_for(BrowseQueue)}
    assert len(queues) > QUEUES_A_PART, "other queues have their turn in other parts"


def test_a_part_that_is_over_is_looked_at_once(make_view, source, qtbot):
    view = make_view()
    chart = by_tag(view)
    qtbot.waitUntil(lambda: bool(chart.looks.looks) and not chart.looks.is_busy)
    before = len(source.asked_for(BrowseQueue))
    source.push_later(1_000)
    view.state_changed(source.state)
    qtbot.waitUntil(lambda: not chart.looks.is_busy)
    assert len(source.asked_for(BrowseQueue)) == before
    source.push_later(2 * STEP_MS)
    view.state_changed(source.state)
    qtbot.waitUntil(lambda: len(source.asked_for(BrowseQueue)) > before and not chart.looks.is_busy)
    new = {one.timestamp_ms for one in source.asked_for(FindOffset)[before:]}
    assert new
    assert min(new) >= TAKEN_MS - STEP_MS


def test_another_topic_is_looked_at_by_itself(make_view, source, qtbot):
    view = make_view()
    chart = by_tag(view)
    qtbot.waitUntil(lambda: bool(chart.looks.looks) and not chart.looks.is_busy)
    source.hold = True
    view.open({"topic": "payments"})
    assert chart.looks.looks == {}
    assert source.asked_for(FindOffset)[-1].topic == "payments"


def test_what_cannot_be_read_says_why_and_is_asked_for_again(make_view, source, qtbot):
    source.fail_with = WorkerError("the queue is being cleaned")
    view = make_view()
    chart = by_tag(view)
    assert "the queue is being cleaned" in chart.note.whole_text()
    source.fail_with = None
    source.push_later(11_000)
    view.state_changed(source.state)
    qtbot.waitUntil(lambda: bool(chart.looks.looks))
    assert "cleaned" not in chart.note.whole_text()


def test_the_choice_is_remembered_and_a_drag_chooses_a_time(make_view, source, qtbot):
    view = make_view()
    chart = by_tag(view)
    drag_over(chart.bars, 0.25, 0.75)
    qtbot.keyClick(chart.bars, Qt.Key.Key_Return)
    between = view.context.time_range.between
    assert between is not None
    from_s, to_s = view.queues.link.shown.whole_s()
    assert between[1] - between[0] == pytest.approx((to_s - from_s) * 500, rel=0.1)
    view.context.time_range.zoom_out()
    assert make_view().queues.switch.current == TAGS

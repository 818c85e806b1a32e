"""The Events page over a fake broker."""

from __future__ import annotations

import json
from functools import partial

import pytest

from broker_core.api import StoreError
from broker_core.worker.questions.history import NoteEvent, ReadEvents
from gui.views.events.view import ASK_MS, EventsView
from gui.views.events.words import ACTION_NAMES, text_of
from monitoring.admin.events import EventRow
from tests.support.fake_operations import TAKEN_MS
from tests.support.fake_source import FakeSource
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import segment


@pytest.fixture
def make_view(show_page):
    return partial(show_page, EventsView)


@pytest.fixture
def source():
    return FakeSource()


def texts(view):
    return [text_of(one) for one in view.model.shown_rows]


def test_events_of_the_time_range_are_listed_newest_first(make_view, source):
    view = make_view(source)
    hold_to_rules(view.model)

    assert view.header.facts == "Last 15 min: 7 events"
    assert texts(view)[1] == "Offsets reset: payment-settle (topic=payments)"
    assert [one.at_ms for one in view.model.shown_rows] == sorted((one.at_ms for one in view.model.rows), reverse=True)


def test_an_action_that_failed_says_so(make_view, source):
    view = make_view(source)
    assert "Not done: Topic deleted: orders (remark=the topic is in use)" in texts(view)


def test_filters_by_kind_and_words(make_view, source):
    view = make_view(source)
    view.open({"show": "action"})
    assert len(texts(view)) == 2
    view.open({"subject": "orders"})
    assert len(texts(view)) == 1
    view.search.searched.emit("comet")
    assert view.grid.placeholder.text == "No event matches this filter."


def test_another_time_range_asks_again(make_view, source):
    view = make_view(source)
    view.context.time_range.set_length(6 * 3_600_000)
    query = source.asked_for(ReadEvents)[-1]
    assert query.to_ms - query.from_ms == 6 * 3_600_000 + 1
    assert texts(view)[-1] == "The broker started"
    view.context.time_range.set_length(15 * 60_000)


def test_events_are_asked_for_every_two_seconds_at_most(make_view, source):
    view = make_view(source)
    source.listeners.append(_Follower(view))
    assert reads(source) == 1
    source.push_later(ASK_MS - 1)
    assert reads(source) == 1
    source.push_later(1)
    assert reads(source) == 2


def reads(source):
    return len(source.asked_for(ReadEvents))


class _Follower:
    def __init__(self, view):
        self.state_changed = view.state_changed


def test_what_passes_the_filter_is_exported(make_view, window, tmp_path, qtbot):
    view = make_view(FakeSource())
    view.open({"show": "action"})
    for number, suffix in enumerate(("csv", "jsonl"), start=1):
        view.export(tmp_path / f"events.{suffix}")
        qtbot.waitUntil(lambda number=number: len(window.notices) == number)

    assert len((tmp_path / "events.csv").read_text().splitlines()) == 3
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["action", "action"]
    assert window.notices[1][0].startswith("2 events written to events.jsonl")


def test_an_export_that_fails_says_why_and_leaves_nothing(make_view, source, window, tmp_path, qtbot):
    view = make_view(source)
    view.export(tmp_path / "missing" / "events.csv")
    qtbot.waitUntil(lambda: bool(window.notices))
    assert "No such file or directory" in window.notices[0][0]
    assert list(tmp_path.glob("missing*")) == []


def test_a_note_needs_words(make_view, source):
    view = make_view(source)
    dialog = view.ask_note()
    field = dialog.extra.itemAt(0).widget()
    assert not dialog.go.isEnabled()
    field.setText(" deployed 2.4 ")
    dialog.go.click()
    assert NoteEvent("note", "", "deployed 2.4") in source.asked


def test_an_event_leads_to_its_topic_or_group(make_view, source, window):
    view = make_view(source)
    rows = {one.kind: one for one in view.model.rows}
    view.grid.activated.emit(rows["members_changed"])
    view.grid.activated.emit(rows["topic_created"])
    view.grid.activated.emit(EventRow(TAKEN_MS, 0, "topic_deleted", "gone", ""))
    assert window.opened == [("consumers", {"group": "payment-settle"}), ("topics", {"topic": "coupon-grant"})]


def test_what_was_not_read_says_why(make_view, source):
    source.fail_with = StoreError("the history is locked")
    view = make_view(source)
    assert view.grid.placeholder.text == "The events were not read."


def test_what_is_not_read_any_more_is_not_counted_any_more(make_view, source):
    view = make_view(source)
    assert view.header.facts
    source.fail_with = StoreError("the history is locked")
    view.refresh()
    assert (view.header.facts, segment(view.filters, "All").text()) == ("", "All —")
    source.fail_with = None
    view.refresh()
    assert view.grid.selected_row is not None or view.model.rows
    assert segment(view.filters, "All").text() != "All —"


def test_older_events_that_find_no_room_are_told(make_view, source, monkeypatch):
    monkeypatch.setattr("gui.views.events.view.EVENTS_MAX", 3)
    view = make_view(source)
    assert view.foot.isVisible()
    assert view.foot.text() == "4 older events are not shown; choose a shorter time range"
    assert source.asked_for(ReadEvents)


def test_every_action_of_the_console_has_a_name():
    from broker_core.protocol.administration import ACTING

    assert {f"console.{code.name.lower()}" for code in ACTING} - ACTION_NAMES.keys() == set()

"""The Store page over a fake broker."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtWidgets import QLabel

from broker_core.api import RequestCode, StoreError
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, ReadStore
from gui.models.store import LogFileShape, log_shapes
from gui.plots.log_bars import LogBar, LogBars
from gui.views.store.disk_panel import reached_text
from gui.views.store.log_strip import LogStrip
from gui.views.store.view import ASK_MS, StoreView
from gui.widgets.basic import ElidedLabel
from tests.support.fake_operations import fake_store
from tests.support.fake_source import FakeSource
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import chips_of


@pytest.fixture
def make_view(show_page):
    return partial(show_page, StoreView)


@pytest.fixture
def source():
    return FakeSource()


def test_figures_that_no_attached_broker_reports_are_left_out(make_view, source):
    def shown_on(view):
        return {one.text() for one in view.findChildren(QLabel) if one.isVisibleTo(view)}

    assert {"Sync", "p50"} <= shown_on(make_view(source))
    state = source.state
    catalog = replace(
        state.catalog, brokers=["a"], broker_version=["V5_3_3"], broker_address=["h:1"], broker_slaves=[0], broker_cannot=[{}]
    )
    shown = shown_on(make_view(FakeSource(replace(state, catalog=catalog))))
    assert "p99" in shown
    assert not {"Sync", "p50"} & shown
    assert not [line for line in shown if line.startswith("max ")]


def test_the_store_is_shown_from_inside(make_view, source):
    view = make_view(source)
    for model in (view.files.make().queues, view.files.make().index, view.files.make().cleanings):
        hold_to_rules(model)

    assert view.positions.text() == "Written 12.6 GiB · not flushed 3.1 MiB · not indexed 1.0 KiB"
    assert [row.topic for row in view.files.make().queues.shown_rows] == ["orders", "payments", "SCHEDULE_TOPIC_XXXX"]
    assert view.files.make().index.index(0, 1).data() == "9.2M of 20M"
    assert view.files.make().cleanings.index(0, 2).data() == "4"
    assert view.disk.share.text() == "41.8 %"
    assert ("Flush", "asynchronous, every 0.5 s") in view.files.make().runtime_facts.pairs()
    assert ("Longest put", "212 ms") in view.files.make().runtime_facts.pairs()
    assert "Longest of 60" in dict(view.files.make().runtime_facts.pairs())


def test_the_unit_of_the_put_times_is_whole(make_view, source):
    view = make_view(source)
    view.resize(1_232, 795)
    (subtitle,) = (
        one for one in view.latency_panel.findChildren(ElidedLabel) if one.whole_text() == view.latency_panel.subtitle
    )
    assert subtitle.text() == subtitle.whole_text() == "ms, last full minute"


def test_before_the_first_sync_there_is_no_longest_one(make_view, source):
    source.answers[ReadStore] = lambda _one: replace(fake_store(), flush_took_us=[])
    names = [name for name, _value in make_view(source).files.make().runtime_facts.pairs()]
    assert "Last sync" in names
    assert not [name for name in names if name.startswith("Longest of")]


def test_the_store_is_asked_for_every_two_seconds_at_most(make_view, source):
    view = make_view(source)
    asked = len(source.asked_for(ReadStore))
    view.state_changed(replace(source.state, taken_ms=source.state.taken_ms + ASK_MS - 1))
    assert len(source.asked_for(ReadStore)) == asked
    view.state_changed(replace(source.state, taken_ms=source.state.taken_ms + ASK_MS))
    assert len(source.asked_for(ReadStore)) == asked + 1


def test_no_panel_is_cut_where_the_page_is_as_low_as_it_may_be(make_view, source, qtbot):
    view = make_view(source)
    files = view.files.make()
    qtbot.waitUntil(files.isVisible)
    files.cleanings.set_rows([])
    files.cleaning_grid.set_empty("A sentence that is wrapped where there is no room for it. " * 4)
    view.resize(1_062, view.minimumSizeHint().height())
    qtbot.waitUntil(lambda: view.height() == view.minimumSizeHint().height())
    assert view.disk.height() >= view.disk.minimumSizeHint().height()


def test_put_times_that_are_not_counted_yet_are_no_bars(make_view, source):
    source.broker_answers[RequestCode.GET_BROKER_RUNTIME_INFO] = BrokerAnswer({}, b"{}")
    view = make_view(source)
    assert not view.latency.isVisible()
    assert view.no_latency.isVisible()


def test_a_store_that_refuses_says_so(make_view, source, monkeypatch):
    monkeypatch.setattr("tests.support.fake_source.fake_store", lambda: replace(fake_store(), refusal="the disk is full"))
    view = make_view(source)
    assert chips_of(view.header)[0] == "Refuses messages"


def test_what_was_not_read_keeps_the_old_figures_and_says_why(make_view, source):
    view = make_view(source)
    source.fail_with = StoreError("the disk cannot be asked")
    view.refresh()
    assert view.problem.text == "The store was not read; what is shown is of 02:15:02. the disk cannot be asked"
    assert view.files.make().queues.rowCount() == 3


def test_a_read_only_connection_cannot_clean_and_says_why(make_view, source):
    source.read_only = True
    view = make_view(source)
    assert not view.clean_button.isEnabled()
    assert "read-only" in view.clean_button.toolTip()
    assert make_view(FakeSource()).clean_button.isEnabled()


def test_a_store_that_is_not_known_promises_nothing_of_a_cleaning(make_view, source):
    source.fail_with = StoreError("not told")
    view = make_view(source)
    source.fail_with = None
    shown = " ".join(label.text() for label in view.ask_clean().findChildren(QLabel))
    assert "oldest first" in shown
    assert "before its time" not in shown


def test_cleaning_is_asked_for_with_what_it_deletes(make_view, source):
    view = make_view(source)
    dialog = view.ask_clean()
    request = AskBroker(RequestCode.DELETE_EXPIRED_COMMITLOG)
    assert dialog.go.text() == "Delete 2 files"
    assert not dialog.go.isEnabled(), "files that are deleted do not come back"
    dialog.typed.setText("broker-a")
    assert request not in source.asked
    dialog.go.click()
    assert request in source.asked


def test_files_are_filled_as_far_as_they_are_written():
    shapes = log_shapes(fake_store())
    assert [shape.written for shape in shapes[:12]] == [1.0] * 12
    assert shapes[12].written == pytest.approx(0.62, abs=0.001)
    assert shapes[12].flushed < shapes[12].written


def test_older_files_are_put_together_where_there_is_no_room(qtbot, theme, make_view, source):
    view = make_view(source)
    strip = LogStrip(theme, view.context.times)
    qtbot.addWidget(strip)
    strip.resize(500, 90)
    strip.show_files([LogFileShape(number << 30, -1, 1.0, 1.0) for number in range(40)], 0, 40 << 30)
    hidden, shown = strip.shown()
    assert hidden + len(shown) == 40
    assert shown[-1].base == 39 << 30
    assert hidden > 30


def test_bars_are_logarithmic(qtbot, theme):
    bars = LogBars(theme)
    qtbot.addWidget(bars)
    bars.set_bars([LogBar("0", "0 ms", 100_000), LogBar("10", "10 ms", 1), LogBar("50", "50 ms", 0)])
    assert bars.height_of(100_000) == pytest.approx(1.0)
    assert 0 < bars.height_of(1) < bars.height_of(10) < bars.height_of(1_000)
    assert bars.height_of(0) == 0
    assert [bars.has_label(value, 300, 12) for value in (0, 1, 10)] == [True] * 3
    assert [bars.has_label(value, 100, 12) for value in (0, 1, 10)] == [True, False, True], "the 1 would lie on the 0"


@pytest.mark.parametrize(
    ("in_ms", "shown"),
    [(0.0, "reached"), (float("inf"), "not in sight"), (float("nan"), "unknown"), (7_200_000.0, "≈ 2 h")],
)
def test_limits_are_reached_in_words(in_ms, shown):
    assert reached_text(in_ms) == shown

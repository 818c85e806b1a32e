"""A time that is selected in a chart bounds the table of its page."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QPoint, QSettings

from broker_core.api import parse_filter
from gui.theme.manager import ThemeMode
from gui.views.alerts.view import AlertsView
from gui.views.consumers.view import TABS, ConsumersView
from gui.views.delay.view import DelayView
from gui.views.events.view import EventsView
from gui.views.topics.detail import QueueBars
from gui.views.topics.topic_view import TopicView
from tests.support.drags import drag_over
from tests.support.fake_page_context import fake_context
from tests.support.fake_source import TAKEN_MS, FakeSource
from tests.support.shown_parts import words_of


def test_the_events_of_a_selected_time(qtbot, show_page):
    view = show_page(EventsView, FakeSource())
    every = view.model.shown_rows
    drag_over(view.chart, 0.4, 0.7)
    from_s, to_s = view.link.selection
    assert 0 < len(view.model.shown_rows) < len(every)
    assert all(from_s <= one.at_ms / 1_000 <= to_s for one in view.model.shown_rows)
    assert view.model.shown_rows == [one for one in every if from_s <= one.at_ms / 1_000 <= to_s]
    chip = view.time_filter.chip
    assert chip.isVisible()
    assert re.fullmatch(r"Only \d\d:\d\d:\d\d – \d\d:\d\d:\d\d · \d min", chip.text())
    assert view.context.time_range.between is None
    chip.click()
    assert view.model.shown_rows == every
    assert not chip.isVisible()
    assert view.link.selection is None


def test_bars_of_events_stay_where_they_are_not_selected(qtbot, show_page):
    view = show_page(EventsView, FakeSource())
    before = view.chart.accessibleDescription()
    drag_over(view.chart, 0.4, 0.7)
    assert view.chart.accessibleDescription() == before


def test_events_outside_a_selected_time_stay_away_when_they_are_read_again(qtbot, show_page):
    view = show_page(EventsView, FakeSource())
    drag_over(view.chart, 0.0, 0.02)
    assert view.model.shown_rows == []
    view.refresh()
    assert view.model.shown_rows == []
    view.link.unselect()
    assert view.model.shown_rows


def test_what_rules_told_in_a_selected_time(qtbot, show_page):
    view = show_page(AlertsView, FakeSource())
    every = view.fired.shown_rows
    assert every
    drag_over(view.chart, 0.8, 0.95)
    assert view.fired.shown_rows == []
    assert view.fired_grid.placeholder.isVisible()
    view.time_filter.chip.click()
    assert view.fired.shown_rows == every


def test_rebalances_in_a_selected_time(qtbot, show_page):
    view = show_page(ConsumersView, FakeSource())
    view.tabs.setCurrentIndex(TABS.index("ownership"))
    panel = view.ownership.make()
    qtbot.waitUntil(lambda: bool(panel.model.rows))
    at_s = panel.model.rows[0].at_ms / 1_000
    view.link.select(panel.strip, at_s - 5, at_s + 5)
    assert panel.model.shown_rows
    view.link.select(panel.strip, at_s + 1, at_s + 5)
    assert panel.model.shown_rows == []
    assert not panel.time_filter.chip.isHidden()


def test_messages_that_are_due_in_a_selected_time(qtbot, show_page):
    view = show_page(DelayView, FakeSource())
    waiting = view.waiting
    qtbot.waitUntil(lambda: bool(waiting.model.rows))
    begin_s = TAKEN_MS / 1_000
    view.ahead.link.select(view.ahead.bars, begin_s + 7_000, begin_s + 8_000)
    assert waiting.model.shown_rows == []
    assert waiting.time_filter.chip.isVisible()
    dues = sorted(one.due_ms / 1_000 for one in waiting.model.rows)
    view.ahead.link.select(view.ahead.bars, dues[0], dues[0])
    assert [one.due_ms / 1_000 for one in waiting.model.shown_rows] == [one for one in dues if one == dues[0]]
    assert "of them in the selected time" in words_of(waiting)


def test_a_topic_searches_its_messages_of_a_selected_time(qtbot, show_page, window):
    view = show_page(TopicView, FakeSource())
    view.open({"topic": "orders"})
    panel = view.queues
    [tools] = [one for one in panel.chart.surface().children() if hasattr(one, "overlay")]
    menu = tools.menu(QPoint(100, 40))
    entry = next(action for action in menu.actions() if action.text() == "Messages of the selected time")
    assert not entry.isEnabled()
    menu.deleteLater()
    panel.link.select(panel.chart, TAKEN_MS / 1_000 - 60, TAKEN_MS / 1_000 - 30)
    menu = tools.menu(QPoint(100, 40))
    next(action for action in menu.actions() if action.text() == "Messages of the selected time").trigger()
    menu.deleteLater()
    page_id, arguments = window.opened[-1]
    assert page_id == "messages"
    text = str(arguments["filter"])
    assert f"stored >= {TAKEN_MS - 60_000}" in text
    assert text.endswith(f"stored < {TAKEN_MS - 30_000 + 1}")  # the last ms is selected too
    parse_filter(text, now_ms=TAKEN_MS)


@pytest.mark.parametrize("mode", [ThemeMode.DARK, ThemeMode.LIGHT])
def test_chip_and_bar_are_chinese_in_a_chinese_window_and_follow_the_theme(theme, qtbot, chinese, tmp_path, mode):
    theme.set_mode(mode)
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    source = FakeSource()
    view = EventsView(fake_context(source, settings, theme=theme))
    qtbot.addWidget(view)
    theme.dress(view)
    view.resize(1_232, 795)
    view.show()
    view.status_changed(source.status)
    view.state_changed(source.state)
    [tools] = [one for one in view.chart.children() if hasattr(one, "overlay")]
    drag_over(view.chart, 0.4, 0.7)
    bar, chip = tools.overlay.bar, view.time_filter.chip
    for text in (chip.text(), bar.words.text(), bar.zoom_button.text(), chip.toolTip()):
        assert text
        assert not re.search(r"[a-z]{3}", text), text
    assert bar.grab().toImage().pixelColor(bar.width() // 2, 3).name() == theme.tokens.raised.lower()


def test_bars_of_queues_have_an_axis_and_values(qtbot, show_page, theme):
    def lettered(bars: QueueBars, left: int, right: int, top: int) -> bool:
        """Whether something stands in columns of a picture, beside the ground."""
        image = bars.grab().toImage()
        ground = image.pixelColor(bars.width() - 1, image.height() - 1)
        return any(image.pixelColor(x, y) != ground for x in range(left, right) for y in range(top, top + 14))

    bars = QueueBars(theme, str)
    qtbot.addWidget(bars)
    bars.resize(400, 150)
    bars.set_rates([(queue, 70.0 + queue) for queue in range(4)])
    assert lettered(bars, 0, 30, 2), "the largest value of the axis"
    place = bars.bar_rect(3)
    highest = place.bottom() - place.height() * 73 / 100
    assert lettered(bars, round(place.left()), round(place.right()), round(highest) - 15), "its own value"
    assert not lettered(bars, round(place.right()) + 20, bars.width(), round(highest) - 15)

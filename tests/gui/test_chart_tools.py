"""Charts of pages: a drag chooses the time range, the threshold of an alert is drawn and dragged."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QSettings, Qt
from PySide6.QtGui import QColor, QFocusEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from shiboken6 import isValid

from gui.plots.chart_pictures import figures_csv
from gui.plots.chart_series import ChartSeries
from gui.plots.time_chart import TimeChart
from gui.theme.style import FOCUS_PROPERTY
from gui.views.alerts.view import AlertsView
from gui.views.chart_table import ChartTable, chart_rows, show_table
from gui.views.chart_tools import RuleLine, join_charts, window_link
from gui.views.overview.view import OverviewView
from gui.views.store.view import StoreView
from gui.views.topics.topic_view import TopicView
from monitoring.alert_rules import AlertRule
from tests.support.drags import drag
from tests.support.fake_page_context import fake_context
from tests.support.fake_source import FakeSource

X = np.arange(1_000.0, 1_600.0)
LAG = "group:payment-settle.lag_messages"


@pytest.fixture
def context(qapp, tmp_path, theme, history, window):
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    return fake_context(FakeSource(), settings, window=window, theme=theme, history=history)


@pytest.fixture
def chart(qtbot, context):
    made = TimeChart(context.theme, context.times, (ChartSeries("lag", "Lag"),))
    qtbot.addWidget(made)
    made.resize(600, 236)
    made.show()
    made.show_points({"lag": (X, np.full(len(X), 12_000.0))}, 1_000, 1_600)
    return made


def place(chart, at_s: float, from_top: float = 0.5) -> QPoint:
    """Where a time is in the viewport, at a share of the height from the top."""
    box = chart.plot.getViewBox()
    bottom, top = box.viewRange()[1]
    y = bottom + (top - bottom) * (1 - from_top)
    return chart.plot.mapFromScene(box.mapViewToScene(QPointF(at_s, y)))


@pytest.fixture
def tools(chart, context):
    [made] = join_charts(context, window_link(context, chart), chart)
    return made


@pytest.fixture
def rule_line(chart, context, tools):
    return RuleLine(chart, context, tools)


def test_the_threshold_of_the_rule_is_drawn_with_its_words(chart, rule_line):
    line = rule_line
    line.show(LAG)
    assert chart.is_grip(place(chart, 1_200, 1 - 15_000 / chart.plot.getViewBox().viewRange()[1][1]))
    assert not chart.is_grip(place(chart, 1_200))
    line.show("totals.put_rate")  # no rule watches it
    assert not chart.is_grip(place(chart, 1_200, 1 - 15_000 / chart.plot.getViewBox().viewRange()[1][1]))


def test_a_threshold_far_above_the_line_does_not_press_it_flat(chart, rule_line):
    chart.show_points({"lag": (X, np.full(len(X), 200.0))}, 1_000, 1_600)
    rule_line.show(LAG)
    assert chart.plot.getViewBox().viewRange()[1][1] == pytest.approx(224)


def test_a_dragged_threshold_opens_its_rule_with_the_new_value(chart, rule_line, context, window):
    line = rule_line
    line.show("group:payment-settle.behind_ms", 0.001)
    chart.threshold_moved.emit(900.0)
    assert window.opened == [("alerts", {"rule": "behind", "threshold": pytest.approx(900_000)})]
    assert next(rule for rule in context.alerts.rules if rule.rule_id == "behind").threshold == 600_000


def test_a_drag_of_the_threshold_is_no_stretch(qtbot, chart, tools, rule_line):
    rule_line.show(LAG)
    share = 1 - 15_000 / chart.plot.getViewBox().viewRange()[1][1]
    drag(chart.plot.viewport(), place(chart, 1_100, share), place(chart, 1_400, share - 0.1))
    assert tools.link.selection is None


def test_the_alerts_page_takes_the_new_threshold_into_its_form(show_page):
    view = show_page(AlertsView, FakeSource())
    view.open({"rule": "lag", "threshold": 21_000.0})
    assert view.form.threshold.text() == "21000"
    assert view.form.is_changed
    assert next(rule for rule in view.center.rules if rule.rule_id == "lag").threshold == 15_000


@pytest.mark.parametrize(
    ("page", "charts"),
    [
        (OverviewView, lambda view: (view.panels.make().throughput.chart, view.panels.make().backlog.make().chart)),
        (TopicView, lambda view: (view.queues.chart,)),
        (StoreView, lambda view: (view.chart,)),
        (AlertsView, lambda view: (view.chart,)),
    ],
)
def test_every_chart_has_a_brush(qtbot, show_page, page, charts):
    view = show_page(page, FakeSource())
    view.open({"topic": "orders"})
    for chart in charts(view):
        viewport = chart.plot.viewport()
        middle = viewport.rect().center()
        drag(chart.plot.viewport(), middle, middle + QPoint(60, 0))
        qtbot.keyClick(chart.plot, Qt.Key.Key_Return)
        assert view.context.time_range.is_zoomed
        view.context.time_range.zoom_out()


def test_the_overview_draws_the_threshold_of_a_rule_about_its_lag(show_page):
    view = show_page(OverviewView, FakeSource())
    before = view.panels.make().backlog.make().chart.plot.getViewBox().viewRange()[1][1]
    view.context.alerts.put(AlertRule("mine", "All lag", "totals.lag_messages", True, 40_000, 0))
    view.state_changed(view.context.source.state)
    assert before < 40_000 < view.panels.make().backlog.make().chart.plot.getViewBox().viewRange()[1][1]


def test_ticks_of_counts_say_different_numbers(chart):
    chart.show_points({"lag": (np.empty(0), np.empty(0))}, 1_000, 1_600)
    axis = chart.plot.getAxis("left")
    (_step, ticks) = axis.tickValues(0, 1.0, 200)[0]
    texts = axis.tickStrings(ticks, 1.0, 1.0)
    assert len(set(texts)) == len(texts) >= 2


def test_the_menu_makes_a_rule_and_copies_what_is_shown(chart, rule_line, tools, context, window):
    line = rule_line
    line.show("group:payment-settle.behind_ms", 0.001)
    menu = tools.menu(place(chart, 1_300, 1 - 6_000 / chart.plot.getViewBox().viewRange()[1][1]))
    actions = {action.text(): action for action in menu.actions()}
    assert not actions["Time range before"].isEnabled()
    next(action for text, action in actions.items() if text.startswith("Alert above ")).trigger()
    ((page_id, arguments),) = window.opened
    assert (page_id, arguments["series"]) == ("alerts", "group:payment-settle.behind_ms")
    assert arguments["threshold"] == pytest.approx(6_000_000, rel=0.05)
    actions["Copy as CSV"].trigger()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[:2] == ["series,time,value", "Lag,1970-01-01T00:16:40.000+00:00,12000"]
    assert len(lines) == 601
    menu.deleteLater()


def test_a_gap_has_no_value_in_the_csv(chart, context):
    chart.show_points({"lag": (X[:2], np.array([np.nan, 5.0]))}, 1_000, 1_600)
    lines = figures_csv(chart, context.times).splitlines()
    assert lines[1:] == ["Lag,1970-01-01T00:16:40.000+00:00,", "Lag,1970-01-01T00:16:41.000+00:00,5"]


# ---- figures as a table ------------------------------------------------------------------------------------------------


def test_a_chart_is_a_stop_of_the_keyboard_and_says_what_it_shows(chart, tools):
    assert chart.plot.focusPolicy() & Qt.FocusPolicy.TabFocus
    assert chart.plot.accessibleName() == "Chart: Lag"
    QApplication.sendEvent(chart.plot, QFocusEvent(QFocusEvent.Type.FocusIn))
    assert chart.plot.accessibleDescription() == "Lag: 12k"


def test_a_chart_that_the_keyboard_is_at_has_a_ring(chart, tools, theme):
    accent = QColor(theme.tokens.accent).name()
    middle = QPoint(chart.width() // 2, 1)
    chart.plot.setProperty(FOCUS_PROPERTY, False)  # the window may have got the focus when it was shown
    assert chart.grab().toImage().pixelColor(middle).name() != accent
    chart.plot.setProperty(FOCUS_PROPERTY, True)
    assert chart.grab().toImage().pixelColor(middle).name() == accent


def test_t_opens_its_figures_as_a_table(qtbot, chart, tools):
    qtbot.keyClick(chart.plot, Qt.Key.Key_T)
    table = next(one for one in QApplication.topLevelWidgets() if isinstance(one, ChartTable))
    assert len(table.rows.rows) == len(X)
    assert table.rows.index(0, 1).data() == "12k"
    assert table.rows.rows[0].at_s == X[-1]
    chart.show_points({"lag": (X, np.full(len(X), 500.0))}, 1_000, 1_100)
    assert len(table.rows.rows) == len(X)
    table.again.click()
    assert len(table.rows.rows) == 101
    chart.set_value_text(lambda value: f"{value:.0f} B", str)
    assert table.rows.index(0, 1).data() == "500"
    table.again.click()
    assert table.rows.index(0, 1).data() == "500 B"
    table.close()


def test_a_table_goes_with_its_chart(qtbot, context):
    made = TimeChart(context.theme, context.times, (ChartSeries("in", "In"),))
    made.show_points({"in": (X, X)}, 1_000, 1_600)
    table = show_table(made, context.theme, context.times)
    table.setParent(None)
    table.show()
    gone = []
    table.destroyed.connect(lambda: gone.append(True))
    made.deleteLater()
    qtbot.waitUntil(lambda: gone == [True])


def test_a_chart_may_go_while_the_keyboard_is_at_it(qtbot, context):
    window = QWidget()
    qtbot.addWidget(window)
    made = TimeChart(context.theme, context.times, (ChartSeries("in", "In"),))
    QVBoxLayout(window).addWidget(made)
    join_charts(context, window_link(context, window), made)
    window.show()
    window.activateWindow()
    made.plot.setFocus()
    qtbot.waitUntil(made.plot.hasFocus)
    made.deleteLater()
    qtbot.waitUntil(lambda: not isValid(made))
    assert window.isVisible()


def test_moments_of_several_lines_are_one_row_and_gaps_are_unknown(qtbot, context):
    made = TimeChart(context.theme, context.times, (ChartSeries("in", "In"), ChartSeries("out", "Out")))
    qtbot.addWidget(made)
    made.show_points(
        {"in": (np.array([1.0, 2.0]), np.array([5.0, np.nan])), "out": (np.array([2.0, 3.0]), np.array([7.0, 8.0]))}, 0, 9
    )
    rows = chart_rows(made.shown_points())
    assert [row.at_s for row in rows] == [3.0, 2.0, 1.0]
    assert str([row.values for row in rows]) == "[(nan, 8.0), (nan, 7.0), (5.0, nan)]"
    table = ChartTable(made, context.theme, context.times, made)
    assert [table.rows.index(1, column).data() for column in (1, 2)] == ["—", "7"]
    made.toggle_series("in")
    assert list(made.shown_points()) == ["out"]
    table.again.click()
    assert [table.rows.index(0, column).data() for column in (1, 2)] == ["—", "8"]


def test_a_chart_without_figures_has_an_empty_table(chart, context):
    chart.show_points({"lag": (np.empty(0), np.empty(0))}, 0, 1)
    table = ChartTable(chart, context.theme, context.times, chart)
    assert table.rows.rows == []
    assert table.facts.text() == "0 moments, the newest —"


def test_the_menu_offers_the_table(tools):
    assert "Show as table" in [action.text() for action in tools.menu(QPoint(10, 10)).actions()]


def test_a_double_click_in_the_legend_shows_one_line_alone_and_all_again(qtbot, context):
    made = TimeChart(context.theme, context.times, [ChartSeries(key, key) for key in "abc"])
    qtbot.addWidget(made)
    entry = made.legend.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)[1]
    for expected in (["b"], ["a", "b", "c"]):
        qtbot.mousePress(entry, Qt.MouseButton.LeftButton)
        qtbot.mouseDClick(entry, Qt.MouseButton.LeftButton)
        assert list(made.shown_points()) == expected

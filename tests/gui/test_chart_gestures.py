"""Charts of one page: wheel, pan, selection and cursor, by mouse and by keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QSettings, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from gui.models.matrix import Matrix
from gui.plots.chart_link import ChartLink, LocalRange
from gui.plots.chart_series import ChartSeries
from gui.plots.heat_map import HeatMap
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.plots.time_chart import TimeChart
from gui.theme.tokens import State
from gui.views.chart_tools import ChartTools, join_charts, window_link
from tests.support.drags import NO_KEY, drag_over, place
from tests.support.fake_page_context import fake_context
from tests.support.fake_source import TAKEN_MS, FakeSource

NOW_S = TAKEN_MS / 1_000
X = NOW_S - 900 + np.arange(0.0, 900.0)


@pytest.fixture
def context(qapp, tmp_path, theme, history, window):
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    return fake_context(FakeSource(), settings, window=window, theme=theme, history=history)


class Page(QWidget):
    """Two charts that follow the time range of the window, as a page draws them."""

    def __init__(self, context) -> None:
        super().__init__()
        self.context, self.now_s = context, NOW_S
        self.link = window_link(context, self)
        self.charts = [TimeChart(context.theme, context.times, (ChartSeries("lag", name),)) for name in ("Lag", "Other")]
        self.tools = join_charts(context, self.link, *self.charts)
        lines = QVBoxLayout(self)
        for chart in self.charts:
            lines.addWidget(chart)
        context.time_range.changed.connect(self.draw)
        self.resize(700, 500)

    def draw(self) -> None:
        from_ms, to_ms = self.context.time_range.window_ms(round(self.now_s * 1_000))
        for factor, chart in enumerate(self.charts, 1):
            chart.show_points({"lag": (X, factor * 100.0 + X - X[0])}, from_ms / 1_000, to_ms / 1_000)


@pytest.fixture
def page(qtbot, context):
    made = Page(context)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    made.draw()
    return made


def wheel(plot, at: QPointF, steps: float, modifiers=NO_KEY) -> bool:
    """Turn the wheel at a place; returns whether the plot took it."""
    surface = plot.surface()
    event = QWheelEvent(
        at,
        surface.mapToGlobal(at),
        QPoint(),
        QPoint(0, round(120 * steps)),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    event.ignore()
    QApplication.sendEvent(surface, event)
    return event.isAccepted()


# ---- zoom and pan ----------------------------------------------------------------------------------------------------


def test_a_wheel_zooms_all_charts_of_the_page_about_the_cursor(qtbot, page):
    first, second = page.charts
    at_s = first.seconds_at(place(first, 0.25).x())
    assert wheel(first, place(first, 0.25), 2)
    for chart in (first, second):
        from_s, to_s = chart.span_s()
        assert to_s - from_s == pytest.approx(900 * 0.64, rel=0.01), "at once, with the figures that it has"
        assert (at_s - from_s) / (to_s - from_s) == pytest.approx(0.25, abs=0.01)
    assert page.context.time_range.between is None, "a gesture that goes on reads nothing"
    qtbot.waitUntil(lambda: page.context.time_range.between is not None)
    from_ms, to_ms = page.context.time_range.between
    assert (from_ms / 1_000, to_ms / 1_000) == pytest.approx(first.span_s(), abs=0.01)


def test_a_zoomed_chart_stands_still_and_one_click_goes_back_to_live(qtbot, page):
    chart, overlay = page.charts[0], page.tools[0].overlay
    assert overlay.back_button is None
    wheel(chart, place(chart, 0.5), 3)
    qtbot.waitUntil(lambda: page.context.time_range.between is not None)
    shown = chart.span_s()
    page.now_s += 30
    page.draw()
    assert chart.span_s() == shown
    assert (overlay.back_button.isVisible(), overlay.back_button.text()) == (True, "Back to live")
    overlay.back_button.click()
    assert not overlay.back_button.isVisible()
    assert chart.span_s()[1] == pytest.approx(NOW_S + 30)


def test_new_samples_do_not_move_a_chart_under_a_gesture(page):
    chart = page.charts[0]
    wheel(chart, place(chart, 0.5), 1)
    shown = chart.span_s()
    page.now_s += 5
    page.draw()
    assert chart.span_s() == shown


def test_zooming_out_to_the_whole_range_is_live_again(qtbot, page):
    chart = page.charts[0]
    wheel(chart, place(chart, 0.5), 2)
    qtbot.waitUntil(lambda: page.context.time_range.between is not None)
    wheel(chart, place(chart, 0.5), -6)
    qtbot.waitUntil(lambda: page.context.time_range.between is None)
    assert chart.span_s() == pytest.approx((NOW_S - 900, NOW_S))


def test_a_zoom_ends_at_three_seconds_and_before_the_future(qtbot, page):
    chart = page.charts[0]
    for _ in range(10):
        wheel(chart, place(chart, 1.0), 5)
    from_s, to_s = chart.span_s()
    assert to_s - from_s == pytest.approx(3)
    assert to_s == pytest.approx(NOW_S, abs=1)
    qtbot.waitUntil(lambda: page.context.time_range.between is not None)


@pytest.mark.parametrize(
    ("button", "modifier"),
    [
        (Qt.MouseButton.MiddleButton, Qt.KeyboardModifier.NoModifier),
        (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier),
    ],
)
def test_a_drag_with_the_middle_button_or_shift_pans(qtbot, page, button, modifier):
    chart = page.charts[0]
    page.context.time_range.zoom(TAKEN_MS - 600_000, TAKEN_MS - 300_000)
    drag_over(chart, 0.2, 0.6, button=button, modifier=modifier)
    assert page.context.time_range.between == pytest.approx((TAKEN_MS - 720_000, TAKEN_MS - 420_000), abs=2_000)
    assert page.link.selection is None
    drag_over(chart, 0.9, 0.0, button=button, modifier=modifier)
    drag_over(chart, 0.9, 0.0, button=button, modifier=modifier)
    assert page.context.time_range.between[1] == TAKEN_MS, "the future is not recorded"


def test_shift_and_the_wheel_pan(qtbot, page):
    chart = page.charts[0]
    page.context.time_range.zoom(TAKEN_MS - 600_000, TAKEN_MS - 300_000)
    wheel(chart, place(chart, 0.5), 1, Qt.KeyboardModifier.ShiftModifier)
    assert chart.span_s() == pytest.approx((NOW_S - 630, NOW_S - 330))


@pytest.mark.parametrize("way", ["double click", "Home", "Esc", "menu"])
def test_ways_back_to_live(qtbot, page, way):
    chart = page.charts[0]
    page.context.time_range.zoom(TAKEN_MS - 600_000, TAKEN_MS - 300_000)
    page.context.time_range.zoom(TAKEN_MS - 500_000, TAKEN_MS - 400_000)
    if way == "double click":
        qtbot.mouseDClick(chart.surface(), Qt.MouseButton.LeftButton, pos=place(chart, 0.5).toPoint())
    elif way == "menu":
        menu = page.tools[0].menu(QPoint(100, 50))
        next(action for action in menu.actions() if action.text() == "Back to live").trigger()
        menu.deleteLater()
    else:
        qtbot.keyClick(chart.plot, {"Home": Qt.Key.Key_Home, "Esc": Qt.Key.Key_Escape}[way])
    assert page.context.time_range.between is None


def test_backspace_goes_one_zoom_back_and_a_gesture_is_one(qtbot, page):
    chart, shown = page.charts[0], page.context.time_range
    first = (TAKEN_MS - 600_000, TAKEN_MS - 300_000)
    shown.zoom(*first)
    for _ in range(3):
        wheel(chart, place(chart, 0.5), 1)
        qtbot.waitUntil(lambda: shown.between[1] - shown.between[0] < (chart.span_s()[1] - chart.span_s()[0]) * 1_001)
    assert shown.between != first
    qtbot.keyClick(chart.plot, Qt.Key.Key_Backspace)
    assert shown.between == first
    qtbot.keyClick(chart.plot, Qt.Key.Key_Backspace)
    assert shown.between is None


def test_an_own_range_is_the_whole_of_its_zooms(qtbot, page):
    shown, own = page.context.time_range, (TAKEN_MS - 800_000, TAKEN_MS - 200_000)
    shown.set_between(*own)
    assert page.tools[0].overlay.back_button.text() == "Back to live"
    shown.zoom(TAKEN_MS - 600_000, TAKEN_MS - 500_000)
    assert page.tools[0].overlay.back_button.text() == "Whole range"
    qtbot.keyClick(page.charts[0].plot, Qt.Key.Key_Home)
    assert shown.between == own
    page.tools[0].overlay.back_button.click()
    assert shown.between is None


def test_a_wheel_outwards_in_an_own_range_that_is_not_zoomed_stays_there(qtbot, page):
    chosen = (round(NOW_S * 1_000) - 600_000, round(NOW_S * 1_000) - 300_000)
    page.context.time_range.set_between(*chosen)
    wheel(page.charts[0], place(page.charts[0], 0.5), -3)
    page.link.settle()
    assert page.context.time_range.between == chosen
    page.link.zoom_about(page.charts[0], chosen[0] / 1_000 + 150, 0.5)
    page.link.settle()
    wheel(page.charts[0], place(page.charts[0], 0.5), -10)
    page.link.settle()
    assert page.context.time_range.between == chosen, "from a zoom the wheel leads to the own range"


def test_keys_zoom_and_pan(qtbot, page):
    plot, chart = page.charts[0].plot, page.charts[0]
    qtbot.keyClick(plot, Qt.Key.Key_Plus)
    assert chart.span_s()[1] - chart.span_s()[0] == pytest.approx(720)
    qtbot.keyClick(plot, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert chart.span_s() == pytest.approx((NOW_S - 810 - 72, NOW_S - 90 - 72))
    qtbot.keyClick(plot, Qt.Key.Key_Minus)
    assert chart.span_s()[1] - chart.span_s()[0] == pytest.approx(900)


# ---- a wheel that scrolls the page -------------------------------------------------------------------------------------


@pytest.fixture
def scrolled(qtbot, page):
    area = QScrollArea()
    qtbot.addWidget(area)
    body = QWidget()
    lines = QVBoxLayout(body)
    lines.addWidget(page)
    page.setMinimumSize(700, 900)
    area.setWidget(body)
    body.resize(720, 1_400)
    area.resize(740, 400)
    area.show()
    qtbot.waitExposed(area)
    page.draw()
    return area


def test_a_wheel_beside_the_plot_scrolls_the_page(page, scrolled):
    chart = page.charts[0]
    below = QPointF(place(chart, 0.5).x(), chart.inside().bottom() + 10)
    assert not wheel(chart, below, -1)
    assert chart.span_s() == pytest.approx((NOW_S - 900, NOW_S))


def test_a_wheel_that_brought_the_chart_under_the_mouse_goes_on_scrolling(qtbot, page, scrolled):
    chart, at = page.charts[0], place(page.charts[0], 0.5)
    scrolled.verticalScrollBar().setValue(40)
    assert not wheel(chart, at, -1), "the mouse has not been moved over it"
    qtbot.mouseMove(chart.surface(), at.toPoint())
    at = QPointF(at.toPoint())
    assert wheel(chart, at, 1)
    scrolled.verticalScrollBar().setValue(60)
    assert not wheel(chart, at, -1)


# ---- selection ---------------------------------------------------------------------------------------------------------


def test_a_drag_selects_a_time_in_all_charts_and_enter_zooms_to_it(qtbot, page):
    chart, told = page.charts[0], []
    page.link.selected.connect(lambda *span: told.append(span))
    drag_over(chart, 0.25, 0.5)
    assert told == [page.link.selection]
    assert page.link.selection == pytest.approx((NOW_S - 675, NOW_S - 450), abs=3)
    bar = page.tools[0].overlay.bar
    assert bar.isVisible()
    assert " – " in bar.words.text()
    assert page.tools[1].overlay.bar is None
    assert page.context.time_range.between is None
    qtbot.waitUntil(chart.plot.hasFocus)
    qtbot.keyClick(chart.plot, Qt.Key.Key_Return)
    assert page.context.time_range.between == pytest.approx(((NOW_S - 675) * 1_000, (NOW_S - 450) * 1_000), abs=3_000)
    assert not bar.isVisible()
    assert page.link.selection is None


def test_the_buttons_of_a_selection(qtbot, page):
    drag_over(page.charts[0], 0.25, 0.5)
    page.tools[0].overlay.bar.clear_button.click()
    assert page.link.selection is None
    drag_over(page.charts[0], 0.25, 0.5)
    page.tools[0].overlay.bar.zoom_button.click()
    assert page.context.time_range.between is not None


@pytest.mark.parametrize("way", ["click", "Esc"])
def test_a_click_beside_a_selection_or_esc_clears_it_and_zooms_nothing(qtbot, page, way):
    chart = page.charts[0]
    page.context.time_range.zoom(TAKEN_MS - 600_000, TAKEN_MS - 300_000)
    drag_over(chart, 0.25, 0.5)
    if way == "click":
        qtbot.mouseClick(chart.surface(), Qt.MouseButton.LeftButton, pos=place(chart, 0.8).toPoint())
    else:
        qtbot.keyClick(chart.plot, Qt.Key.Key_Escape)
    assert page.link.selection is None
    assert page.context.time_range.is_zoomed


def test_keys_select(qtbot, page):
    chart = page.charts[0]
    qtbot.keyClick(chart.plot, Qt.Key.Key_Right)
    at_s = page.link.cursor_s
    assert at_s == pytest.approx(NOW_S - 450 + 9)
    for _ in range(3):
        qtbot.keyClick(chart.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert page.link.selection == pytest.approx((at_s, at_s + 27))
    qtbot.keyClick(chart.plot, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert page.link.selection == pytest.approx((at_s, at_s + 18))


def test_a_small_chart_has_room_for_the_words_of_a_selection(qtbot, page):
    chart = page.charts[0]
    page.resize(330, 500)
    QApplication.processEvents()
    drag_over(chart, 0.2, 0.9)
    bar = page.tools[0].overlay.bar
    assert bar.geometry().left() >= 0
    assert bar.geometry().right() <= chart.surface().width()


def test_the_words_of_a_selection_and_the_way_back_do_not_cover_each_other(qtbot, page):
    drag_over(page.charts[0], 0.5, 0.98)
    page.context.time_range.zoom(TAKEN_MS - 500_000, TAKEN_MS)
    overlay = page.tools[0].overlay
    assert overlay.bar.isVisible()
    assert overlay.back_button.isVisible()
    assert not overlay.bar.geometry().intersects(overlay.back_button.geometry())


# ---- cursor ------------------------------------------------------------------------------------------------------------


def test_one_cursor_is_over_all_charts_with_the_values_of_its_time(qtbot, page):
    first, second = page.charts
    before = second.surface().grab().toImage()
    qtbot.mouseMove(first.surface(), place(first, 0.5).toPoint())
    assert page.link.cursor_s == pytest.approx(NOW_S - 450, abs=2)
    assert [chart.shown_value("lag") for chart in page.charts] == [
        chart.value_text(chart.value_at("lag", page.link.cursor_s)) for chart in page.charts
    ]
    after = second.surface().grab().toImage()
    x, inside = int(second.x_of(page.link.cursor_s)), second.inside()
    rows = range(int(inside.top()), int(inside.bottom()))
    changed = [row for row in rows if any(before.pixel(x + by, row) != after.pixel(x + by, row) for by in (0, 1))]
    assert len(changed) > inside.height() / 4, "a dashed line"
    page.link.move_cursor(math.nan)
    assert first.shown_value("lag") == first.value_text(first.last_value("lag"))


def test_bars_and_heat_maps_share_cursor_and_selection(qtbot, context):
    page = QWidget()
    qtbot.addWidget(page)
    link = window_link(context, page)
    bars, heat = StackedBars(context.theme, context.times), HeatMap(context.theme, context.times, State.WARNING)
    lines = QVBoxLayout(page)
    for plot in (bars, heat):
        lines.addWidget(plot)
    span = (NOW_S - 900, NOW_S)
    bars.set_bars(["10:00"] * 30, [BarLayer("In", list(range(30)), State.INFO)], span)
    heat.set_matrix(["0", "1"], Matrix(TAKEN_MS - 900_000, 30_000, np.ones((2, 30))))
    join_charts(context, link, bars, heat)
    page.resize(500, 400)
    page.show()
    qtbot.waitExposed(page)
    qtbot.mouseMove(bars, place(bars, 0.5).toPoint())
    assert bars.tip_lines(link.cursor_s)[0][:2] == ("In", "15")
    rows = []
    heat.row_chosen.connect(rows.append)
    drag_over(heat, 0.25, 0.75)
    assert link.selection == pytest.approx((NOW_S - 675, NOW_S - 225), abs=4)
    assert rows == [], "a drag chooses no row"
    qtbot.mouseClick(heat, Qt.MouseButton.LeftButton, pos=place(heat, 0.5, 0.75).toPoint())
    assert rows == [1]
    wheel(bars, place(bars, 0.5), 1)
    assert bars.span_s() == pytest.approx((NOW_S - 810, NOW_S - 90))


def test_a_chart_that_goes_leaves_its_link(qtbot, page):
    chart = page.charts.pop()
    drag_over(chart, 0.2, 0.4)
    with qtbot.waitSignal(chart.destroyed):
        chart.deleteLater()
    assert page.link.selection is None
    wheel(page.charts[0], place(page.charts[0], 0.5), 1)
    page.link.move_cursor(NOW_S - 100)


def test_charts_of_their_own_range_zoom_without_the_window(qtbot, context):
    shown = LocalRange(context.time_range, lambda: "Whole result")
    shown.set_whole(0.0, 100.0)
    bars = StackedBars(context.theme, context.times)
    qtbot.addWidget(bars)

    def draw() -> None:
        bars.set_bars(["a"] * 10, [BarLayer("In", [1] * 10, State.INFO)], (0.0, 100.0), shown.span_s)

    shown.changed.connect(draw)
    tools = ChartTools(bars, context.theme, context.times, ChartLink(shown, bars))
    bars.resize(500, 150)
    bars.show()
    draw()
    drag_over(bars, 0.2, 0.4)
    tools.link.zoom_to_selection()
    assert bars.span_s() == pytest.approx((20, 40), abs=1)
    assert tools.overlay.back_button.text() == "Whole result"
    qtbot.keyClick(bars, Qt.Key.Key_Home)
    assert bars.span_s() == (0.0, 100.0)
    assert context.time_range.between is None

from __future__ import annotations

import math

import numpy as np
import pytest
from pyqtgraph import Point
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QWidget

from gui.plots.chart_parts import LINE, mark_names
from gui.plots.chart_series import ChartMark, ChartSeries
from gui.plots.mark_lines import MarkLines
from gui.plots.time_chart import TimeChart
from gui.plots.value_scale import round_step
from gui.theme.manager import ThemeMode
from gui.theme.tokens import DARK, LIGHT, State
from gui.views.topics.detail import QueueBars
from gui.widgets.paint import paint_sparkline
from gui.words.text import TimeZoneChoice, bytes_text, rate_text
from tests.support.shown_parts import marks_of, note_of, threshold_of

X = np.arange(1_000.0, 1_060.0)


@pytest.fixture
def chart(qtbot, theme):
    series = (ChartSeries("in", "In", fill=True), ChartSeries("out", "Out"))
    made = TimeChart(theme, TimeZoneChoice(utc=True), series, value_text=rate_text)
    qtbot.addWidget(made)
    made.resize(600, 236)  # a line that falls between two rows of pixels has no colour of its own
    made.show()
    return made


def shows(widget, colour: str) -> bool:
    """Whether a colour is painted somewhere, give or take what smoothing mixes in."""
    return shows_in(widget.grab().toImage(), colour)


def shows_in(image: QImage, colour: str) -> bool:
    """The same of a picture."""
    picture = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(picture.constBits(), np.uint8).reshape(picture.height(), picture.bytesPerLine())
    pixels = rows[:, : picture.width() * 3].reshape(-1, 3).astype(int)
    wanted = QColor(colour)
    return bool((np.abs(pixels - (wanted.red(), wanted.green(), wanted.blue())).max(axis=1) < 40).any())


def test_the_legend_says_the_newest_value_and_a_gap_is_unknown(chart):
    y = np.linspace(0, 1_284, 60)
    chart.show_points({"in": (X, y), "out": (X, np.where(X > 1_050, np.nan, y))}, 1_000, 1_060)
    assert chart.shown_value("in") == "1,284/s"
    assert chart.shown_value("out") == "—"


def test_a_value_that_stands_alone_is_seen(chart, theme):
    y = np.full(60, np.nan)
    y[:20] = 5.0
    chart.show_points({"in": (np.empty(0), np.empty(0)), "out": (X, y)}, 1_000, 1_060)
    assert not shows_on_the_right(chart)
    y[40] = 5.0
    chart.show_points({"out": (X, y)}, 1_000, 1_060)
    assert shows_on_the_right(chart)
    theme.set_mode(ThemeMode.LIGHT)
    assert shows_on_the_right(chart, LIGHT)
    chart.toggle_series("out")
    assert not shows_on_the_right(chart, LIGHT)
    chart.show_points({"out": (X, y)}, 5_000, 5_060)  # none of them is in this time
    assert not shows_on_the_right(chart, LIGHT)


def shows_on_the_right(chart, tokens=DARK):
    """Whether the second line is painted behind the first half of the time."""
    plot = chart.plot
    picture = plot.grab(plot.rect().adjusted(plot.width() // 2 + 20, 0, 0, 0)).toImage()
    return shows_in(picture, tokens.series[1])


def test_no_points_are_unknown(chart):
    chart.show_points({"in": (np.empty(0), np.empty(0))}, 0, 60)
    assert chart.shown_value("in") == "—"
    assert chart.shown_value("out") == "—"


def test_the_cursor_moves_the_legend_to_its_time(chart):
    chart.show_points({"in": (X, X - 1_000)}, 1_000, 1_060)
    chart.show_cursor(1_010.3)
    assert chart.shown_value("in") == "10/s"
    chart.show_cursor(math.nan)
    assert chart.shown_value("in") == "59/s"


def test_a_new_theme_restyles_the_lines(chart, theme):
    chart.show_points({"in": (X, np.full(60, 500.0)), "out": (X, np.full(60, 900.0))}, 1_000, 1_060)
    assert shows(chart, DARK.series[1])
    theme.set_mode(ThemeMode.LIGHT)
    assert shows(chart, LIGHT.series[1])
    assert not shows(chart, DARK.series[1])


def test_a_hidden_line_is_not_painted(chart):
    chart.show_points({"in": (X, np.full(60, 500.0)), "out": (X, np.full(60, 900.0))}, 1_000, 1_060)
    chart.toggle_series("out")
    assert not shows(chart, DARK.series[1])


def test_marks_replace_each_other(chart):
    chart.set_marks([ChartMark(1_010, "Rebalance 3 → 2")])
    chart.set_marks([])
    chart.show_points({"in": (X, np.full(60, 500.0))}, 1_000, 1_060)
    assert not shows(chart, DARK.checking)


@pytest.mark.parametrize(
    ("least", "base", "step"),
    [
        (0.3, 10, 0.5),
        (1, 10, 1),
        (210, 10, 250),
        (1_070, 10, 2_000),
        (6_000, 10, 10_000),
        (0, 10, 1),
        (1_500, 1024, 2_048),
        (0.5, 1024, 1.0),
    ],
)
def test_ticks_stand_at_round_values(least, base, step):
    assert round_step(least, base) == step


def test_at_most_six_ticks(chart):
    chart.show_points({"in": (X, np.full(60, 18_402.0))}, 1_000, 1_060)
    for side, size in (("left", 2_000), ("bottom", 2_000)):
        axis = chart.plot.getAxis(side)
        (_, values), *_ = axis.tickValues(0, 20_000, size)
        assert 2 <= len(values) <= 7


def test_no_two_ticks_say_the_same(chart):
    (_, values), *_ = chart.plot.getAxis("left").tickValues(0, 0.6, 2_000)
    assert values == [0]


def test_queue_bars_mark_the_skewed_queue(qtbot, theme):
    bars = QueueBars(theme, str)
    qtbot.addWidget(bars)
    bars.resize(300, 100)
    bars.set_rates([(i, 6.0) for i in range(8)])
    assert not shows(bars, DARK.warning)
    bars.set_rates([(i, 6.0 if i != 5 else 11.0) for i in range(8)], skewed=[5])
    assert shows(bars, DARK.warning)


class _Line(QWidget):
    def __init__(self, values) -> None:
        super().__init__()
        self._values = values

    def paintEvent(self, event) -> None:  # noqa: ARG002, N802  Qt's signature
        painter = QPainter(self)
        paint_sparkline(painter, QRectF(self.rect()), self._values, DARK.series[0])
        painter.end()


@pytest.mark.parametrize(
    ("values", "is_drawn"),
    [
        ([], False),
        ([1.0], False),
        ([float("nan")] * 5, False),
        ([float("nan"), 2.0, 3.0], True),
        ([0.0, 0.0], True),
        (list(range(1_000)), True),
    ],
)
def test_a_sparkline_draws_what_is_known(qtbot, values, is_drawn):
    line = _Line(values)
    qtbot.addWidget(line)
    line.resize(120, 40)
    assert shows(line, DARK.series[0]) is is_drawn


def placed(marks, *, lines: int = 3, end_s: float = 1_000.0, free_until_s: float = math.inf) -> list[tuple[str, int, bool]]:
    """Name, line from the top, and whether it stands on the left; a letter is 10 px wide, and a px a second."""
    found = mark_names(
        marks,
        end_s=end_s,
        seconds_per_px=1.0,
        lines=lines,
        width_of=lambda text: 10.0 * len(text),
        free_until_s=free_until_s,
    )
    return [(one.name, one.line, one.is_left) for one in found]


def test_names_of_marks_do_not_cover_each_other():
    near = [ChartMark(at_s, "Rebalance") for at_s in (10.0, 11.0, 12.0, 500.0)]
    names = [("Rebalance", 0, False), ("Rebalance", 1, False), ("Rebalance", 2, False), ("Rebalance", 0, False)]
    assert placed(near) == names
    assert placed(near, lines=1) == [names[0], ("", 0, False), ("", 0, False), names[3]]
    assert placed([ChartMark(5.0, "")]) == [("", 0, False)]


def test_a_name_that_would_go_beyond_the_end_stands_on_the_left():
    marks = [ChartMark(850.0, "Restart"), ChartMark(960.0, "Restart")]
    assert placed(marks) == [("Restart", 0, False), ("Restart", 1, True)]


def test_no_name_lies_where_something_else_is_in_the_lane():
    marks = [ChartMark(850.0, "Restart"), ChartMark(960.0, "Restart")]
    assert placed(marks, free_until_s=900.0) == [("Restart", 0, True), ("", 0, True)]


def test_names_of_marks_stand_above_the_lines(chart):
    """The lines end below the lane, whatever their values are."""
    chart.set_marks([ChartMark(1_010.0 + second, "Rebalance") for second in (0, 2)])
    chart.show_points({"in": (X, np.full(60, 500.0))}, 1_000, 1_060)
    box = chart.plot.getViewBox()
    highest = box.mapViewToScene(Point(1_030.0, 500.0)).y()
    for line in marks_of(chart):
        middle = line.label.mapRectToScene(line.label.boundingRect()).center().y()
        assert box.sceneBoundingRect().top() + LINE / 2 - 1 <= middle <= highest - LINE / 2


def test_a_free_corner_is_no_place_for_names_and_lines(chart):
    chart.set_marks([ChartMark(1_055.0, "Restart")])
    chart.show_points({"in": (X, np.full(60, 500.0))}, 1_000, 1_060)
    chart.keep_above(24, corner=120)
    box = chart.plot.getViewBox()
    corner = box.sceneBoundingRect().right() - 120
    assert all(
        line.label.mapRectToScene(line.label.boundingRect()).right() <= corner for line in marks_of(chart) if line.label.format
    )
    assert box.mapViewToScene(Point(1_030.0, 500.0)).y() >= box.sceneBoundingRect().top() + 23


def test_names_of_marks_are_measured_by_the_room_beside_the_axis(chart):
    box = chart.plot.getViewBox()
    left, right = box.viewRange()[0]
    assert box.width() < chart.plot.viewport().width() - 20, "the figures of the axis have some of the width"
    assert MarkLines(chart.plot).seconds_per_px == pytest.approx((right - left) / box.width())


def test_names_of_marks_find_other_places_when_the_chart_is_laid_out(qtbot, theme):
    made = TimeChart(theme, TimeZoneChoice(utc=True), (ChartSeries("in", "In"),))
    qtbot.addWidget(made)
    made.set_marks([ChartMark(1_000.0 + second, "Rebalance") for second in (0, 1, 2)])
    made.show_points({"in": (X, X)}, 1_000, 1_060)
    made.resize(600, 160)
    made.show()
    qtbot.waitUntil(lambda: made.plot.getViewBox().height() < 160)
    made.grab()  # labels find their places with the next picture
    names = [line.label for line in marks_of(made) if line.label.format]
    heights = sorted(name.mapRectToScene(name.boundingRect()).center().y() for name in names)
    assert heights[1] - heights[0] == pytest.approx(LINE, abs=1)


def test_names_of_marks_find_other_places_when_the_scale_changes(chart):
    chart.set_marks([ChartMark(1_000.0 + second, "Rebalance") for second in range(0, 200, 10)])
    x = np.arange(1_000.0, 9_000.0, 10.0)
    chart.show_points({chart.series[0].key: (x, x)}, 1_000, 9_000)
    few = sum(bool(line.label.format) for line in marks_of(chart))
    chart.show_points({}, 1_000, 1_400)
    assert 0 < few < sum(bool(line.label.format) for line in marks_of(chart))


def test_a_chart_without_a_known_value_says_so(chart):
    nothing = np.full(60, np.nan)
    chart.show_points({"in": (X, nothing), "out": (X, nothing)}, 1_000, 1_060)
    note = note_of(chart)
    assert note.isVisible()
    assert note.text() == "No value is known in this time range."
    chart.show_points({"out": (X, np.where(X > 1_050, 1.0, np.nan))}, 1_000, 1_060)
    assert not note.isVisible()
    chart.toggle_series("out")
    chart.show_points({}, 1_000, 1_060)
    assert note.isVisible()


def test_a_chart_says_what_was_not_read_with_lines_and_without(chart):
    nothing, known = np.full(60, np.nan), np.full(60, 5.0)
    chart.show_points({"in": (X, nothing), "out": (X, nothing)}, 1_000, 1_060, "The history was not read: no answer")
    note = note_of(chart)
    assert (note.isVisible(), note.text()) == (True, "The history was not read: no answer")
    middle = note.geometry().center()
    chart.show_points({"in": (X, np.where(X > 1_040, 5.0, np.nan))}, 1_000, 1_060, "The history was not read: no answer")
    assert note.isVisible()
    assert note.geometry().center().x() < middle.x(), "it stands before the line"
    chart.show_points({"in": (X, known)}, 1_000, 1_060, "The history was not read: no answer")
    assert abs(note.geometry().center().x() - middle.x()) <= 1
    assert note.geometry().bottom() < middle.y(), "over the lines, where they leave room"
    line = chart.plot.mapFromScene(chart.plot.getViewBox().mapViewToScene(QPointF(1_030.0, 5.0)))
    assert line.y() > note.geometry().bottom(), "a line is not hidden by the words"
    chart.resize(900, 300)
    assert note.geometry().center().x() > middle.x()
    assert chart.described().startswith("The history was not read")
    chart.set_marks([], "The events were not read: no answer")
    chart.show_points({}, 1_000, 1_060)
    assert note.text() == chart.fault == "The events were not read: no answer"
    chart.set_marks([ChartMark(1_030.0, "Rebalance")], "The events were not read: no answer")
    chart.show_points({}, 1_000, 1_060)
    assert [mark.label.toPlainText() for mark in marks_of(chart)] == [""], "a name would stand below the words"
    chart.set_marks([])
    chart.show_points({}, 1_000, 1_060)
    assert (note.isVisible(), chart.fault) == (False, "")


@pytest.mark.parametrize("most", [300 * 1024.0, 27 * 1024.0**2, 900 * 1024.0**3])
def test_every_tick_has_its_text(chart, qapp, most):
    """A text that is wider than its axis is left out."""
    chart.set_value_text(bytes_text, bytes_text, binary=True)
    chart.show_points({"in": (X, np.full(60, most))}, 1_000, 1_060)
    qapp.processEvents()  # lays out the axis
    axis, picture = chart.plot.getAxis("left"), QImage(1, 1, QImage.Format.Format_RGB32)
    painter = QPainter(picture)
    painter.setFont(axis.style["tickFont"])
    drawn = [text for _place, _flags, text in axis.generateDrawSpecs(painter)[2]]
    painter.end()
    ticks = [text for step, values in axis.tickValues(*axis.range, axis.height()) for text in axis.tickStrings(values, 1, step)]
    assert drawn == ticks
    assert len(ticks) > 2


def test_words_over_lines_take_as_many_lines_as_the_chart_has_room_for(chart):
    reason = "The history was not read: " + "the file is damaged in a place that matters, " * 2
    chart.resize(360, 300)
    chart.show_points({"in": (X, np.full(60, 5.0))}, 1_000, 1_060, reason)
    note = note_of(chart)
    assert note.text() == reason
    assert note.height() > 2 * note.fontMetrics().height()
    chart.resize(360, 110)
    assert note.text().endswith("…")
    assert note.height() < 2 * note.fontMetrics().height()


def test_names_of_marks_follow_the_theme(chart, theme):
    chart.set_marks([ChartMark(1_010.0, "Rebalance")])
    theme.set_mode(ThemeMode.LIGHT)
    assert [line.pen.color().name() for line in marks_of(chart)] == [LIGHT.checking.lower()]


def test_a_threshold_follows_the_theme(chart, theme):
    chart.show_threshold(10.0, State.WARNING, "alert 10")
    theme.set_mode(ThemeMode.LIGHT)
    line = threshold_of(chart)
    assert (line.pen.color().name(), line.label.color.name()) == (LIGHT.state(State.WARNING).lower(),) * 2
    assert line.label.fill.color().lightness() > 128, "a box of the dark theme would stay"


def test_braces_in_the_words_of_a_threshold_are_no_fields(chart):
    chart.show_threshold(10.0, text="{0} {name} {")
    assert threshold_of(chart).label.textItem.toPlainText() == "{0} {name} {"


def test_a_name_in_a_low_chart_is_whole(chart):
    chart.resize(600, 90)
    chart.set_marks([ChartMark(1_010.0, "Restart")])
    chart.show_points({"in": (X, X)}, 1_000, 1_060)
    [line] = marks_of(chart)
    name, box = line.label.mapRectToScene(line.label.boundingRect()), chart.plot.getViewBox().sceneBoundingRect()
    assert box.top() - 1 <= name.top() < name.bottom() < box.bottom()


def test_the_word_of_a_threshold_stands_on_the_side_that_has_room(chart):
    chart.show_points({"in": (X, X - 1_000)}, 1_000, 1_060)  # up to 59
    below, above = (1, 0), (1, 1)
    for value, side in ((58.0, below), (10.0, above)):
        chart.show_threshold(value, text="alert")
        assert threshold_of(chart).label.anchor == Point(side)

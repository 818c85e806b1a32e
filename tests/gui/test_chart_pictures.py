"""Charts saved as pictures: SVG and PNG of what is shown, and CSV of the lines."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QPoint, QSettings
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFileDialog

from gui.models.matrix import Matrix
from gui.plots.chart_lines import thinned, within
from gui.plots.chart_pictures import SCALE, picture_size, png_bytes, recorded, svg_bytes
from gui.plots.chart_series import ChartForecast, ChartMark, ChartSeries
from gui.plots.heat_map import HeatMap
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeMode
from gui.theme.tokens import State
from gui.views.overview.view import OverviewView
from gui.words.text import TimeZoneChoice
from tests.support.fake_page_context import deliver_background_calls, fake_context
from tests.support.fake_source import FakeSource

BEGIN_S = 1_795_000_000.0
X = BEGIN_S + np.arange(600.0)


@pytest.fixture(params=[ThemeMode.DARK, ThemeMode.LIGHT])
def theme(theme, request):
    theme.set_mode(request.param)
    return theme


@pytest.fixture
def times():
    return TimeZoneChoice(utc=True)


@pytest.fixture
def chart(qtbot, theme, times):
    made = TimeChart(theme, times, (ChartSeries("in", "In", fill=True), ChartSeries("out", "Out")))
    qtbot.addWidget(made)
    made.resize(600, 240)
    made.show()
    made.set_marks([ChartMark(BEGIN_S + 100, "Restart")])
    made.show_points({"in": (X, X - BEGIN_S), "out": (X, BEGIN_S + 650 - X)}, BEGIN_S, BEGIN_S + 600)
    return made


def drawn(svg: bytes) -> QImage:
    """What another program draws of it."""
    renderer = QSvgRenderer(QByteArray(svg))
    assert renderer.isValid()
    image = QImage(renderer.viewBox().size(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    return image


def has_colour(image: QImage, colour: str, columns: range) -> bool:
    wanted = QColor(colour)
    pixels = (image.pixelColor(x, y) for x in columns for y in range(60, image.height() - 40))
    return any(
        max(abs(one.red() - wanted.red()), abs(one.green() - wanted.green()), abs(one.blue() - wanted.blue())) < 40
        for one in pixels
    )


def test_an_svg_has_the_lines_where_they_are_and_its_texts_as_text(chart, theme, times):
    svg = svg_bytes(recorded(chart, "Throughput", theme.tokens, times))
    image, words = drawn(svg), svg.decode()
    for text in ("Throughput", "In", "Out", "Restart", "10 min"):
        assert text in re.sub(r"\s+", " ", words)
    for part in (0.3, 0.6, 0.9):
        x = round(14 + chart.x_of(BEGIN_S + 600 * part))
        for number in (0, 1):
            assert has_colour(image, theme.tokens.series[number], range(x - 1, x + 2))


def test_a_png_is_sharper_than_the_screen(chart, theme, times):
    made = QImage.fromData(png_bytes(recorded(chart, "Throughput", theme.tokens, times)))
    assert made.size() == picture_size(chart) * SCALE
    assert made.pixelColor(2, 2).name() == theme.tokens.panel.lower()
    x = SCALE * round(14 + chart.x_of(BEGIN_S + 300))
    assert has_colour(made, theme.tokens.series[1], range(x - 1, x + 2))


def test_a_hidden_line_is_in_no_picture(chart, theme, times):
    chart.toggle_series("out")
    image = drawn(svg_bytes(recorded(chart, "Throughput", theme.tokens, times)))
    assert not has_colour(image, theme.tokens.series[1], range(70, 600))


def test_what_is_on_screen_stays_after_a_picture(chart, theme, times):
    before = chart.grab().toImage()
    recorded(chart, "Throughput", theme.tokens, times)
    assert chart.grab().toImage() == before


def test_a_picture_has_the_forecast(chart, theme, times):
    ahead = BEGIN_S + np.linspace(600, 700, 10)
    chart.show_forecast(ChartForecast(ahead, np.linspace(100, 500, 10), np.full(10, 100.0), np.full(10, 300.0)))
    chart.show_points({}, BEGIN_S, BEGIN_S + 700)
    image = drawn(svg_bytes(recorded(chart, "Lag", theme.tokens, times)))
    x = round(14 + chart.x_of(BEGIN_S + 650))
    assert has_colour(image, theme.tokens.series[0], range(x - 15, x + 15))


def test_bars_and_heat_maps_have_pictures(qtbot, theme, times):
    bars, heat = StackedBars(theme, times), HeatMap(theme, times, State.WARNING)
    bars.set_bars(["10:00", "10:01"], [BarLayer("In", [3, 5], State.INFO)], (0.0, 120.0))
    heat.set_matrix(["0", "1"], Matrix(int(BEGIN_S) * 1_000, 1_000, np.ones((2, 5))))
    for plot, colour in ((bars, State.INFO), (heat, State.WARNING)):
        qtbot.addWidget(plot)
        plot.resize(300, 140)
        image = drawn(svg_bytes(recorded(plot, "Bars", theme.tokens, times)))
        assert has_colour(image, theme.tokens.state(colour), range(60, 300))


def test_a_line_ends_at_the_ends_of_the_span():
    x, y = within(np.array([0.0, 10.0, 20.0]), np.array([0.0, 10.0, 20.0]), (5.0, 15.0))
    assert (x.tolist(), y.tolist()) == ([5.0, 10.0, 15.0], [5.0, 10.0, 15.0])
    x, y = within(np.array([6.0, 7.0]), np.array([1.0, 2.0]), (5.0, 15.0))
    assert (x.tolist(), y.tolist()) == ([6.0, 7.0], [1.0, 2.0])
    x, y = within(np.array([0.0, 10.0]), np.array([np.nan, 10.0]), (5.0, 15.0))
    assert (x.tolist(), str(y.tolist())) == ([5.0, 10.0], "[nan, 10.0]")


def test_a_long_line_keeps_its_extremes_and_its_gaps():
    y = np.zeros(100_000)
    y[5_000], y[70_000] = 9.0, -4.0
    y[20_000:40_000] = np.nan
    _x, thin = thinned(np.arange(100_000.0), y, 1_000)
    assert len(thin) <= 1_000
    assert (np.nanmax(thin), np.nanmin(thin)) == (9.0, -4.0)
    assert np.isnan(thin).sum() == pytest.approx(200, abs=4)


# ---- the menu ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def overview(show_page):
    return show_page(OverviewView, FakeSource())


def chosen(tools, text: str) -> None:
    menu = tools.menu(QPoint(100, 40))
    next(action for action in menu.actions() if action.text() == text).trigger()
    menu.deleteLater()


def tools_of(view):
    return view.panels.make().throughput.tools


@pytest.mark.parametrize(("entry", "begin"), [("SVG", b"<?xml"), ("PNG", b"\x89PNG"), ("CSV", b"series,time,value")])
def test_the_menu_saves_the_chart(overview, window, tmp_path, entry, begin):
    tools = tools_of(overview)
    chosen(tools, f"Save as {entry}…")
    dialog = next(one for one in overview.findChildren(QFileDialog) if one.isVisible())
    assert dialog.defaultSuffix() == entry.lower()
    dialog.close()
    path = tmp_path / f"chart.{entry.lower()}"
    tools.save(path)
    deliver_background_calls()
    assert path.read_bytes().startswith(begin)
    assert window.notices[-1][0].startswith("The chart was saved as ")


def test_a_chart_that_cannot_be_saved_says_why(overview, window, tmp_path):
    tools_of(overview).save(tmp_path / "missing" / "chart.svg")
    deliver_background_calls()
    words, state = window.notices[-1]
    assert words.startswith("The chart was not saved as ")
    assert state is State.CRITICAL


def test_the_menu_copies_the_picture(overview):
    chosen(tools_of(overview), "Copy picture")
    assert QGuiApplication.clipboard().image().width() > 400


def test_the_menu_is_chinese_in_a_chinese_window(qtbot, chinese, tmp_path, history):
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    view = OverviewView(fake_context(FakeSource(), settings, history=history))
    qtbot.addWidget(view)
    menu = view.panels.make().throughput.tools.menu(QPoint(100, 40))
    texts = [action.text() for action in menu.actions() if action.text()]
    menu.deleteLater()
    assert all(not re.search(r"[a-z]{3}", text) for text in texts), texts

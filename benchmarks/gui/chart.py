"""A year of history on one chart, beside the same points drawn by a bare `QPainter`.

    python -m benchmarks.gui.chart [--rounds N]

525,600 minutes for each of two lines, as the history holds them. Orbit's time is from the arrays to the painted chart.
Wanted: at most 300 ms. Figures are processor time of the thread, medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF

from gui.app.console import make_application
from gui.plots.chart_series import ChartSeries
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager, ThemeMode
from gui.words.text import TimeZoneChoice

MINUTES = 525_600
WIDTH, HEIGHT = 1_200, 400


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = make_application()
    theme = ThemeManager(application, ThemeMode.DARK)
    x = np.arange(MINUTES, dtype=np.float64) * 60
    y = np.abs(np.cumsum(np.random.default_rng(7).normal(size=MINUTES)))
    y[100_000:110_000] = np.nan  # a gap
    chart = TimeChart(theme, TimeZoneChoice(utc=True), [ChartSeries("in", "In"), ChartSeries("out", "Out")])
    theme.dress(chart)
    chart.resize(WIDTH, HEIGHT)
    chart.show()
    orbit_ms, bare_ms = [], []
    for number in range(rounds):
        began = time.thread_time()
        chart.show_points({"in": (x, y + number), "out": (x, y * 0.5)}, 0.0, float(x[-1]))
        application.processEvents()
        chart.grab()
        orbit_ms.append((time.thread_time() - began) * 1_000)
        bare_ms.append(draw_bare(x, y))
    print(f"bare QPainter, {MINUTES:,} points twice: {statistics.median(bare_ms):.0f} ms")
    print(f"Orbit's chart, the same: {statistics.median(orbit_ms):.0f} ms, worst {max(orbit_ms):.0f} ms")


def draw_bare(x: np.ndarray, y: np.ndarray) -> float:
    """Both lines on a picture, point by point; returns ms."""
    began = time.thread_time()
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    painter.setPen(QColor("white"))
    high = float(np.nanmax(y))
    for scale in (1.0, 0.5):
        left, top = x / x[-1] * WIDTH, HEIGHT * (1 - np.nan_to_num(y) * scale / high)
        painter.drawPolyline(QPolygonF([QPointF(a, b) for a, b in zip(left.tolist(), top.tolist(), strict=True)]))
    painter.end()
    return (time.thread_time() - began) * 1_000


if __name__ == "__main__":
    main()

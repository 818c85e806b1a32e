"""Gestures over two linked charts of 100,000 points a line, beside the same over charts of 1,000 points.

    python -m benchmarks.gui.chart_gestures [--rounds N]

Each gesture and the painting after it. Wanted: at most 50 ms. Figures are processor time of the thread, medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication

from gui.app.console import make_application
from gui.plots.chart_link import ChartLink, LocalRange
from gui.plots.chart_series import ChartSeries
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager, ThemeMode
from gui.views.chart_tools import ChartTools
from gui.words.text import TimeZoneChoice

FEW, MANY = 1_000, 100_000
BEGIN_S, LENGTH_S = 1.8e9, 1_000.0
WIDTH, HEIGHT = 700, 260


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = make_application()
    few, many = (measured(application, points, rounds) for points in (FEW, MANY))
    for name, took_ms in many.items():
        print(f"{name}: {took_ms:.1f} ms, {took_ms / few[name]:.1f} times that of {FEW:,} points")


def measured(application: QApplication, points: int, rounds: int) -> dict[str, float]:
    """Medians of each gesture with its painting, ms."""
    theme, times = ThemeManager(application, ThemeMode.DARK), TimeZoneChoice(utc=True)
    charts = [TimeChart(theme, times, [ChartSeries("in", "In", fill=True), ChartSeries("out", "Out")]) for _ in range(2)]
    shown = LocalRange(theme, lambda: "Whole range")
    shown.set_whole(BEGIN_S, BEGIN_S + LENGTH_S)
    link = ChartLink(shown, theme)
    x = BEGIN_S + np.arange(points) * LENGTH_S / points
    y = np.abs(np.cumsum(np.random.default_rng(7).normal(size=points)))
    for chart in charts:
        theme.dress(chart)
        chart.resize(WIDTH, HEIGHT)
        chart.show()
        chart.show_points({"in": (x, y), "out": (x, y * 0.4)}, *shown.whole_s())
        ChartTools(chart, theme, times, link)
    first = charts[0]
    gestures: dict[str, Callable[[int], None]] = {
        "cursor": lambda step: link.move_cursor(BEGIN_S + step * 20, first, QPointF(100, 80)),
        "selection": lambda step: link.drag_selection(first, BEGIN_S + 100, BEGIN_S + 150 + step * 20),
        "wheel": lambda step: link.zoom_about(first, BEGIN_S + LENGTH_S / 3, 0.97 if step % 2 else 1 / 0.98),
        "pan": lambda step: link.pan(first, 2.0 if step % 2 else -3.0),
    }
    took = {}
    for name, act in gestures.items():
        each = []
        for step in range(rounds):
            began = time.thread_time()
            act(step)
            application.processEvents()
            each.append((time.thread_time() - began) * 1_000)
        took[name] = statistics.median(each)
    for chart in charts:
        chart.deleteLater()
    return took


if __name__ == "__main__":
    main()

"""The list of a search's hits: `python -m benchmarks.hit_list [--hits N]`.

Hits come in turns of 256 as the worker sends them; then the table is painted at random places and along a scroll, beside
a table of the same look with 1,000 hits. Then it is sorted by a number and by texts. All in time of the processor.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtWidgets import QApplication

from broker_core.api import Marks
from broker_core.worker.questions.searches import SearchHits
from gui.app.console import make_application
from gui.models.hit_table import HitTableModel
from gui.models.messages import MessageRow
from gui.theme.manager import ThemeManager, ThemeMode
from gui.views.messages.columns import hit_columns
from gui.widgets.data_grid import DataGrid
from gui.words.text import TimeZoneChoice
from monitoring.payload.listed import NO_MASK

_TURN = 256
_TURNS_SHOWN = 20
"""Turns that come between two updates of the window, at 50,000 hits a second."""
_PAINTS = 200
_SMALL = 1_000


def turns(count: int) -> Iterator[SearchHits]:
    for start in range(0, count, _TURN):
        numbers = range(start, min(start + _TURN, count))
        yield SearchHits(
            1, [("orders", "payments")[number % 2] for number in numbers], [number % 8 for number in numbers], list(numbers),
            [number * 300 for number in numbers], [1_795_227_302_640 + number for number in numbers],
            [1_795_227_302_600 + number for number in numbers], [number % 977 for number in numbers],
            [("PAID", "NEW", "")[number % 3] for number in numbers],
            [f"SO-{number * 7_919 % 10_000_000:08d}" for number in numbers],
            [f"7F0000010F2A18B4AAC2{number:012X}" for number in numbers], [], count, count, numbers[-1] + 1,
        )  # fmt: skip


def grid_of(application: QApplication, count: int) -> tuple[DataGrid[MessageRow], HitTableModel, list[float]]:
    theme = ThemeManager(application, ThemeMode.DARK)
    model = HitTableModel(
        hit_columns(TimeZoneChoice(application, utc=True), str, lambda: 0, Marks), lambda _topic: NO_MASK, application
    )
    grid: DataGrid[MessageRow] = DataGrid(model, theme)
    grid.resize(800, 600)
    grid.show()
    application.processEvents()
    waiting, took = [], []
    for number, hits in enumerate(turns(count), start=1):
        waiting.append(hits)
        if number % _TURNS_SHOWN == 0 or number * _TURN >= count:
            began = time.process_time()
            for one in waiting:
                model.append(one)
            application.processEvents()
            took.append((time.process_time() - began) * 1_000)
            waiting = []
    return grid, model, took


def paints_ms(application: QApplication, grid: DataGrid[MessageRow], places: Iterator[int]) -> list[float]:
    bar, took = grid.view.verticalScrollBar(), []
    for place in places:
        bar.setValue(place)
        began = time.process_time()
        grid.view.viewport().repaint()
        application.processEvents()
        took.append((time.process_time() - began) * 1_000)
    return took


def shown(name: str, times: list[float]) -> None:
    median, p95, p99 = np.percentile(times, [50, 95, 99])
    print(f"{name}: median {median:.2f} ms, p95 {p95:.2f} ms, p99 {p99:.2f} ms, most {max(times):.2f} ms")


def measured(hits: int) -> tuple[float, float]:
    """Print all; milliseconds of a frame of the large list: p95 of a scroll, p99 at random places."""
    application = make_application()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    small, _small_model, _took = grid_of(application, _SMALL)
    grid, model, took = grid_of(application, hits)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{hits:,} hits take {(after - before) / 1024:.0f} MiB, {(after - before) * 1024 / hits:.0f} B each")
    shown(f"{_TURN * _TURNS_SHOWN:,} more hits", took)
    randomness = random.Random(1)
    for name, one in ((f"{_SMALL:,} hits", small), (f"{hits:,} hits", grid)):
        high = one.view.verticalScrollBar().maximum()
        jumps = paints_ms(application, one, (randomness.randint(0, high) for _ in range(_PAINTS)))
        steps = paints_ms(application, one, iter(range(0, min(high, _PAINTS * 90), 90)))
        shown(f"{name}, a random place", jumps)
        shown(f"{name}, scrolling", steps)
    for column in ("body_bytes", "tag", "keys"):
        began = time.process_time()
        order = model.hits.order(column)
        taken = time.process_time()
        numbers = order()
        sorted_at = time.process_time()
        model.set_order(numbers)
        parts = (taken - began, sorted_at - taken, time.process_time() - sorted_at)
        window, beside, show = (part * 1_000 for part in parts)
        print(f"sorted by {column}: {window:.1f} ms of the window, {beside:.0f} ms beside it, {show:.1f} ms to show")
    return float(np.percentile(steps, 95)), float(np.percentile(jumps, 99))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=1_000_000, help="hits in the list (default: %(default)s)")
    measured(parser.parse_args().hits)


if __name__ == "__main__":
    main()

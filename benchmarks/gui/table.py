"""Scrolling a grid of 10 million virtual rows, beside a bare Qt table over a model of as many rows.

    python -m benchmarks.gui.table [--rows N] [--steps N]

A step scrolls by a page or jumps, and paints. Both models are Python and make their texts when asked; the bare one answers
one role. Wanted: p95 of Orbit's at most 8 ms. Figures are processor time of the thread.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView

from gui.app.console import make_application
from gui.models.table import Column, ColumnTableModel
from gui.theme.manager import ThemeManager, ThemeMode
from gui.widgets.data_grid import DataGrid
from tests.support.loop_watch import percentile

COLUMNS = 8
ROW_HEIGHT = 24
SEED = 7


class Virtual(list[int]):
    """Rows that are numbers and are made when asked for; none is kept."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> int:  # type: ignore[override]  # no slices here
        return place


class VirtualModel(ColumnTableModel[int]):
    """Orbit's own table model over them."""

    def __init__(self, columns: Sequence[Column[int]], rows: int) -> None:
        super().__init__(columns, key=lambda row: row)
        self._shown = Virtual(rows)  # type: ignore[assignment]  # no section headings


class BareModel(QAbstractTableModel):
    """Numbers as text."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008  Qt's default
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008  Qt's default
        return 0 if parent.isValid() else COLUMNS

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return f"{index.row():,}" if role == Qt.ItemDataRole.DisplayRole else None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = make_application()
    theme = ThemeManager(application, ThemeMode.DARK)
    bare = bare_view(arguments.rows)
    grid = orbit_grid(theme, arguments.rows)
    bare_ms: list[float] = []
    orbit_ms: list[float] = []
    # In turn, so that a busy machine slows both.
    for step in range(arguments.steps):
        bare_ms.append(scroll(bare, step, application.processEvents))
        orbit_ms.append(scroll(grid.view, step, application.processEvents))
    for name, taken in (("bare QTableView", bare_ms), ("Orbit's DataGrid", orbit_ms)):
        print(
            f"{name:18} p50 {percentile(taken, 0.5):5.1f} ms  p95 {percentile(taken, 0.95):5.1f} ms  worst {max(taken):5.1f} ms"
        )


def bare_view(rows: int) -> QTableView:
    """A plain table with rows of a fixed height."""
    view = QTableView()
    view.setModel(BareModel(rows))
    view.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
    view.verticalHeader().hide()
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.resize(1_200, 760)
    view.show()
    return view


def orbit_grid(theme: ThemeManager, rows: int) -> DataGrid[int]:
    """The grid of all pages, over rows that are made when asked for."""
    columns: list[Column[int]] = [Column(f"c{n}", f"Column {n}", lambda row: f"{row:,}") for n in range(COLUMNS)]
    grid = DataGrid(VirtualModel(columns, rows), theme)
    theme.dress(grid)
    grid.resize(1_200, 760)
    grid.show()
    return grid


def scroll(view: QTableView, step: int, turn: Callable[[], None]) -> float:
    """One step; returns its processor time in ms."""
    bar = view.verticalScrollBar()
    place = random.Random(SEED + step).randrange(bar.maximum()) if step % 4 == 0 else bar.value() + bar.pageStep()
    began = time.thread_time()
    bar.setValue(place)
    turn()
    return (time.thread_time() - began) * 1_000


if __name__ == "__main__":
    main()

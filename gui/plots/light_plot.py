"""`LightPlot`: a view with two axes, without the rest of pyqtgraph's `PlotWidget`.

A `PlotItem` makes some fifty widgets for its menus at once, even if these are off; each is styled, kept and notified of every
change of theme and language. This one has no menus, title, buttons or legend.
"""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QGraphicsGridLayout

MARGINS = (0, 4, 8, 0)
AXIS_Z = -1_000
EXTREMES_A_PIXEL = 1
"""Smallest and largest values of a line for one pixel, where it has more points."""


class LightPlot(pg.GraphicsView):
    """Items over a left and a bottom axis; zooms only by `setXRange` and `setYRange`."""

    def __init__(self, left: pg.AxisItem, bottom: pg.AxisItem) -> None:
        super().__init__(background=None)
        self._axes = {"left": left, "bottom": bottom}
        self._box = pg.ViewBox(enableMenu=False, enableMouse=False)
        # Ranges are always set, so no item needs to compute them again.
        self._box.disableAutoRange()
        whole = pg.GraphicsWidget()
        grid = QGraphicsGridLayout()
        grid.setContentsMargins(*MARGINS)
        grid.setSpacing(0)
        grid.addItem(left, 0, 0)
        grid.addItem(self._box, 0, 1)
        grid.addItem(bottom, 1, 1)
        grid.setColumnStretchFactor(1, 100)
        grid.setRowStretchFactor(0, 100)
        whole.setLayout(grid)
        for axis in self._axes.values():
            axis.enableAutoSIPrefix(False)
            axis.linkToView(self._box)
            axis.setZValue(AXIS_Z)
        self.setCentralItem(whole)
        self.setFrameShape(self.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)
        # No key does anything here by itself; tools with keys, as `gui.views.chart_tools`, let it take the focus.
        for part in (self, self.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        # The axes of pyqtgraph would keep it from the page; `chart_gestures` has taken what zooms.
        event.ignore()

    def getViewBox(self) -> Any:
        return self._box

    def getAxis(self, side: str) -> Any:
        return self._axes[side]

    def plot(self, x: Any, y: Any, **options: Any) -> Any:
        line = pg.PlotDataItem(x, y, **options)
        # Points closer than a pixel are drawn as their extremes, points outside not at all: a year is half a million.
        line.setDownsampling(auto=True, method="peak")
        # Two extremes a pixel instead of ten: painting 100,000 points takes a fourth of the time.
        line.opts["autoDownsampleFactor"] = EXTREMES_A_PIXEL
        line.setClipToView(True)
        self._box.addItem(line)
        return line

    def addItem(self, item: Any, *, ignoreBounds: bool = False) -> None:
        self._box.addItem(item, ignoreBounds=ignoreBounds)

    def removeItem(self, item: Any) -> None:
        self._box.removeItem(item)

    def setXRange(self, low: float, high: float, *, padding: float = 0) -> None:
        self._box.setXRange(low, high, padding=padding)

    def setYRange(self, low: float, high: float, *, padding: float = 0) -> None:
        self._box.setYRange(low, high, padding=padding)

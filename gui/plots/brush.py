"""`Brush`: selects a time range on a `TimeChart` with the mouse."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent

from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Tokens

PIXELS_MIN = 6
"""A shorter drag is a click."""
ALPHA = 40
GO_BACK = (Qt.Key.Key_Escape, Qt.Key.Key_Backspace)


class Brush(QObject):
    """A drag selects a time range; a double click, Esc or Backspace goes back. Lives as long as its chart.

    Signals:
        chosen: Begin and end of the range, float64 seconds since the epoch.
        cleared: The whole range is wanted again.
    """

    chosen = Signal(float, float)
    cleared = Signal()

    def __init__(self, chart: TimeChart, theme: ThemeManager) -> None:
        super().__init__(chart)
        self._chart = chart
        self._plot: Any = chart.plot
        self._from: QPointF | None = None
        self._region = pg.LinearRegionItem(movable=False)
        self._region.hide()
        self._plot.addItem(self._region, ignoreBounds=True)
        self._plot.viewport().installEventFilter(self)
        self._plot.installEventFilter(self)
        # A drag begins with a click, which focuses the chart for the keys that go back.
        self._plot.setFocusPolicy(self._plot.focusPolicy() | Qt.FocusPolicy.ClickFocus)
        theme.changed.connect(self._restyle)
        self._restyle(theme.tokens)

    def _restyle(self, tokens: Tokens) -> None:
        colour = QColor(tokens.accent)
        colour.setAlpha(ALPHA)
        self._region.setBrush(pg.mkBrush(colour))
        for line in self._region.lines:
            line.setPen(pg.mkPen(tokens.accent))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and watched is not self._plot:
            self._mouse(event)
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in GO_BACK:
            self._end()
            self.cleared.emit()
            return True
        return super().eventFilter(watched, event)

    def _mouse(self, event: QMouseEvent) -> None:
        kind, at = event.type(), event.position()
        if kind == QEvent.Type.MouseButtonDblClick:
            self._end()
            self.cleared.emit()
        elif kind == QEvent.Type.MouseButtonPress and event.button() == Qt.MouseButton.LeftButton:
            self._from = None if self._chart.is_at_threshold(at) else at
        elif kind == QEvent.Type.MouseMove and self._from is not None:
            self._show(self._from, at)
        elif kind == QEvent.Type.MouseButtonRelease and self._from is not None:
            begin = self._from
            self._end()
            if abs(at.x() - begin.x()) >= PIXELS_MIN:
                first, last = sorted((self._seconds(begin), self._seconds(at)))
                self.chosen.emit(first, last)

    def _show(self, begin: QPointF, at: QPointF) -> None:
        self._region.setRegion((self._seconds(begin), self._seconds(at)))
        self._region.setVisible(abs(at.x() - begin.x()) >= PIXELS_MIN)

    def _end(self) -> None:
        self._from = None
        self._region.hide()

    def _seconds(self, at: QPointF) -> float:
        box = self._plot.getViewBox()
        left, right = box.viewRange()[0]
        return float(min(max(box.mapSceneToView(self._plot.mapToScene(at.toPoint())).x(), left), right))

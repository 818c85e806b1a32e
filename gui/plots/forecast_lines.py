"""`ForecastLines`: where a line of a chart goes, dashed in its band."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from gui.plots.chart_series import ChartForecast
from gui.plots.light_plot import LightPlot

FILL_ALPHA = 30
"""Of bands, and of what lies under lines."""


class ForecastLines:
    """A dashed line in its band; made when a chart first has a forecast, as most never have."""

    def __init__(self, plot: LightPlot) -> None:
        self._line = plot.plot([], [])
        self._edges = (plot.plot([], [], pen=None), plot.plot([], [], pen=None))
        self._fill = pg.FillBetweenItem(*self._edges)
        plot.addItem(self._fill, ignoreBounds=True)

    def set_colour(self, name: str) -> None:
        colour = QColor(name)
        self._line.setPen(pg.mkPen(colour, width=1.3, style=Qt.PenStyle.DashLine))
        colour.setAlpha(FILL_ALPHA)
        self._fill.setBrush(pg.mkBrush(colour))

    def show(self, forecast: ChartForecast | None) -> None:
        nothing = np.empty(0)
        x, y, low, high = (nothing,) * 4 if forecast is None else (forecast.x, forecast.y, forecast.low, forecast.high)
        self._line.setData(x, y)
        self._edges[0].setData(x, low)
        self._edges[1].setData(x, high)

"""`CategoryBars` and `CategoryGrid`: charts whose axes are names instead of times. Drawn by pyqtgraph, styled by the tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QToolTip, QWidget

from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, Tokens
from gui.widgets.basic import column
from gui.words.plain_text import tip_text

NAME_CHARACTERS_MAX = 40
BAR_PIXELS = 24
FRAME_PIXELS = 40
BAR_SHARE = 0.68
WORDS_SHARE = 0.2
"""Share of the longest bar's width, for the texts after the bars."""
SHADES = 64


class _NamedPlot(QWidget):
    """A plot that neither moves nor zooms, with a tip under the mouse: ``text_at`` returns it for (x, y), empty: none."""

    def __init__(self, theme: ThemeManager, text_at: Callable[[float, float], str]) -> None:
        super().__init__()
        self._text_at = text_at
        self._plot = pg.PlotWidget()
        self._plot.setMenuEnabled(False)
        self._plot.hideButtons()
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        self._plot.viewport().setAutoFillBackground(False)
        self._plot.invertY(True)  # the first name is on top
        for side in ("left", "bottom"):
            axis = self._plot.getAxis(side)
            axis.setTickFont(text_font(Size.CAPTION))
            axis.setStyle(tickLength=0, tickTextOffset=8)
        self.setLayout(column(self._plot))
        self._plot.scene().sigMouseMoved.connect(self._mouse_moved)
        self._plot.viewport().installEventFilter(self)
        theme.changed.connect(self._restyle)

    def _restyle(self, tokens: Tokens) -> None:
        self._plot.setBackground(None)
        for side in ("left", "bottom"):
            axis = self._plot.getAxis(side)
            axis.setPen(pg.mkPen(None))
            axis.setTextPen(pg.mkPen(tokens.text_2 if side == "left" else tokens.text_3))

    def eventFilter(self, watched: Any, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            QToolTip.hideText()
        return super().eventFilter(watched, event)

    def _mouse_moved(self, at: QPointF) -> None:
        box = self._plot.getViewBox()
        if box.sceneBoundingRect().contains(at):
            place = box.mapSceneToView(at)
            text = self._text_at(float(place.x()), float(place.y()))
            if text:
                QToolTip.showText(self._plot.mapToGlobal(self._plot.mapFromScene(at)), tip_text(text), self._plot)


class CategoryBars(_NamedPlot):
    """Horizontal bars, one a name, the first on top."""

    def __init__(
        self,
        theme: ThemeManager,
        names: Sequence[str],
        values: Sequence[float],
        value_text: Callable[[float], str],
    ) -> None:
        """Show values, one for each bar; NaN is drawn as nothing."""
        super().__init__(theme, self.text_at)
        self._names, self._values, self._value_text = list(names), list(values), value_text
        known = [0.0 if math.isnan(value) else value for value in values]
        places = np.arange(len(names))
        self._bars = pg.BarGraphItem(x0=0, y=places, height=BAR_SHARE, width=known)
        self._plot.addItem(self._bars)
        self._words = [pg.TextItem(value_text(value), anchor=(0, 0.5)) for value in values]
        for place, word, value in zip(places, self._words, known, strict=True):
            word.setFont(text_font(Size.CAPTION))
            word.setPos(max(value, 0.0), float(place))
            self._plot.addItem(word, ignoreBounds=True)
        self._plot.getAxis("left").setTicks([[(int(place), _short(name)) for place, name in zip(places, names, strict=True)]])
        self._plot.hideAxis("bottom")
        low, high = min([0.0, *known]), max([0.0, *known])
        self._plot.setXRange(low, high + ((high - low) * WORDS_SHARE or 1.0), padding=0)
        self._plot.setYRange(-0.5, max(len(names) - 0.5, 0.5), padding=0)
        self.setFixedHeight(FRAME_PIXELS + BAR_PIXELS * max(1, len(names)))
        self.setAccessibleDescription(
            ", ".join(f"{name}: {value_text(value)}" for name, value in zip(names, values, strict=True))
        )
        self._restyle(theme.tokens)

    def text_at(self, _x: float, y: float) -> str:
        place = round(y)
        return f"{self._names[place]}: {self._value_text(self._values[place])}" if 0 <= place < len(self._names) else ""

    def _restyle(self, tokens: Tokens) -> None:
        super()._restyle(tokens)
        self._bars.setOpts(brush=QColor(tokens.series[0]), pen=pg.mkPen(None))
        for word in self._words:
            word.setColor(QColor(tokens.text_2))


class CategoryGrid(_NamedPlot):
    """One row and one column a name, one colour a value; unknown values have no colour."""

    def __init__(
        self,
        theme: ThemeManager,
        rows: Sequence[str],
        columns: Sequence[str],
        values: NDArray[np.float64],
        *,
        value_text: Callable[[float], str],
    ) -> None:
        """Show values: float64 [rows, columns], NaN where nothing is known; the first row is on top."""
        super().__init__(theme, self.text_at)
        self._rows, self._columns, self._values, self._value_text = list(rows), list(columns), values, value_text
        known = values[np.isfinite(values)]
        self._image = pg.ImageItem(np.where(np.isfinite(values), values, 0.0), axisOrder="row-major")
        self._image.setLevels((0.0, float(known.max()) if len(known) and known.max() > 0 else 1.0))
        self._plot.addItem(self._image)
        self._plot.getAxis("left").setTicks([[(place + 0.5, _short(name)) for place, name in enumerate(rows)]])
        step = max(1, len(columns) // 12)
        self._plot.getAxis("bottom").setTicks(
            [[(place + 0.5, name) for place, name in enumerate(columns) if place % step == 0]]
        )
        self._plot.setXRange(0, max(1, len(columns)), padding=0)
        self._plot.setYRange(0, max(1, len(rows)), padding=0)
        self.setFixedHeight(FRAME_PIXELS + BAR_PIXELS * max(1, len(rows)))
        self._restyle(theme.tokens)

    def text_at(self, x: float, y: float) -> str:
        row, column = math.floor(y), math.floor(x)
        if not (0 <= row < len(self._rows) and 0 <= column < len(self._columns)):
            return ""
        return f"{self._rows[row]}, {self._columns[column]}: {self._value_text(float(self._values[row, column]))}"

    def _restyle(self, tokens: Tokens) -> None:
        super()._restyle(tokens)
        low, high = ([one.red(), one.green(), one.blue()] for one in (QColor(tokens.raised), QColor(tokens.series[0])))
        shades = np.linspace(np.array(low), np.array(high), SHADES).astype(np.ubyte)
        self._image.setLookupTable(shades)


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS_MAX else f"{name[: NAME_CHARACTERS_MAX - 1]}…"

"""`HeatMap`: one row a queue, one column an interval of time, one colour a value. Drawn by hand, without pyqtgraph.

Keys: arrows, Home and End move between cells, Enter chooses the row. A screen reader reads the cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetrics,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from gui.models.matrix import NO_MATRIX, Matrix
from gui.plots.chart_link import Span, TimePlot
from gui.plots.value_scale import AXIS_HEIGHT, paint_time_axis
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, mix
from gui.widgets.repaint import Drawn
from gui.words.plain_text import tip_text
from gui.words.text import TimeZoneChoice, count_text, tr

LABEL_GAP = 6
ROW_HEIGHT_MAX = 28
SHADES = 64
ROWS_TOLD = 40
"""Most rows that a screen reader reads, of a grid without the focus."""
_STEPS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}
_ENDS = (Qt.Key.Key_Home, Qt.Key.Key_End)
CELL_GAP_FROM = 6
"""Cells at least this high and wide in px have a hairline between them."""


class HeatMap(TimePlot, Drawn):
    """Draws a `Matrix`; an unknown cell has the colour of the panel.

    Signals:
        row_chosen: A row was clicked, or Enter pressed in it; carries its number.
    """

    row_chosen = Signal(int)
    has_own_keys = True

    def __init__(
        self,
        theme: ThemeManager,
        times: TimeZoneChoice,
        state: State,
        value_text: Callable[[float], str] = count_text,
    ) -> None:
        super().__init__(theme, times=times)
        self._times = times
        self._state = state
        self._value_text = value_text
        self._labels: list[str] = []
        self._names: list[str] = []
        self.matrix = NO_MATRIX
        self._image = QImage()
        self._note = ""
        self._cell = (0, -1)
        """Focused cell: row, and column from the right end, because the grid moves on with time."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(80)
        self.setMouseTracking(True)
        theme.changed.connect(self._restyle)

    def set_matrix(self, labels: Sequence[str], matrix: Matrix, names: Sequence[str] = ()) -> None:
        """Show another grid; ``labels`` are drawn beside the rows, ``names`` (by default the labels) are for tips."""
        row_labels, row_names = list(labels), list(names) or list(labels)
        if matrix is self.matrix and row_labels == self._labels and row_names == self._names:
            return
        self._labels, self._names, self.matrix = row_labels, row_names, matrix
        self._restyle()
        self._describe()

    def _describe(self) -> None:
        """Description for a screen reader: the focused cell, otherwise the newest value of each row."""
        cell = self.current_cell
        if cell is not None and self.hasFocus():
            self.setAccessibleDescription(self.cell_text(*cell).replace("\n", ", "))
        elif not self.matrix.is_empty:
            newest = [_last_known(self.matrix, row) for row in range(len(self._names[:ROWS_TOLD]))]
            told = [f"{name}: {self._value_text(value)}" for name, value in zip(self._names, newest, strict=False)]
            self.setAccessibleDescription("; ".join(told))
        else:
            self.setAccessibleDescription(self._note)

    def set_note(self, note: str) -> None:
        """Set the text that is shown while there is nothing to show."""
        if note != self._note:
            self._note = note
            self._describe()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(420, 24 + AXIS_HEIGHT + 14 * max(4, len(self._labels)))

    def _restyle(self, _tokens: object = None) -> None:
        self._image = self._made_image()
        self.update()

    def _made_image(self) -> QImage:
        values = self.matrix.values
        if not values.size:
            return QImage()
        tokens = self._theme.tokens
        ground, full = tokens.inset, tokens.state(self._state)
        shades = np.array([_rgb(mix(full, ground, 100 * number / (SHADES - 1))) for number in range(SHADES)], np.uint32)
        top = self.matrix.top or 1.0
        known = ~np.isnan(values)
        # A root makes small values visible beside a large lag.
        share = np.sqrt(np.clip(np.where(known, values, 0) / top, 0, 1))
        pixels = np.where(known, shades[(share * (SHADES - 1)).astype(np.int64)], np.uint32(_rgb(tokens.panel)))
        pixels = np.ascontiguousarray(pixels, np.uint32)
        height, width = pixels.shape
        return QImage(pixels.tobytes(), width, height, width * 4, QImage.Format.Format_RGB32).copy()

    # ---- places --------------------------------------------------------------------------------------------------------

    def _label_width(self) -> int:
        metrics = QFontMetrics(text_font(Size.CAPTION))
        return max((metrics.horizontalAdvance(text) for text in self._labels), default=0) + LABEL_GAP

    def _cells(self) -> QRectF:
        left = self._label_width()
        rows = max(1, len(self._labels))
        height = min(self.height() - AXIS_HEIGHT, rows * ROW_HEIGHT_MAX)
        return QRectF(left, 0, max(1, self.width() - left), max(1, height))

    def _cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        cells, values = self._cells(), self.matrix.values
        if not values.size or not cells.contains(x, y):
            return None
        row = int((y - cells.top()) / cells.height() * values.shape[0])
        column = int((x - cells.left()) / cells.width() * values.shape[1])
        return min(row, values.shape[0] - 1), min(column, values.shape[1] - 1)

    # ---- TimePlot ------------------------------------------------------------------------------------------------------

    def surface(self) -> QWidget:
        return self

    def inside(self) -> QRectF:
        return self._cells()

    def top_right(self) -> None:
        return None  # a chart of the same page has room for it

    def span_s(self) -> Span:
        return (0.0, 0.0) if self.matrix.is_empty else (self.matrix.from_ms / 1_000, self.matrix.to_ms / 1_000)

    # ---- cells ---------------------------------------------------------------------------------------------------------

    def tip_at(self, at: QPointF) -> str:
        hit = self._cell_at(at.x(), at.y())
        return "" if hit is None else self.cell_text(*hit)

    def cell_text(self, row: int, column: int) -> str:
        at_ms = self.matrix.from_ms + column * self.matrix.step_ms
        value = float(self.matrix.values[row, column])
        words = tr("not recorded") if math.isnan(value) else self._value_text(value)
        return f"{self._names[row]}\n{self._times.seconds(at_ms)}\n{words}"

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        hit = self._cell_at(event.position().x(), event.position().y())
        if hit is not None and event.button() == Qt.MouseButton.LeftButton:
            self._cell = (hit[0], hit[1] - self.matrix.values.shape[1])
            self._describe()
            self.update()
            self.row_chosen.emit(hit[0])

    # ---- keys ----------------------------------------------------------------------------------------------------------

    @property
    def current_cell(self) -> tuple[int, int] | None:
        """Row and column of the focused cell; None while there is nothing to show."""
        rows, columns = self.matrix.values.shape
        if self.matrix.is_empty or len(self._names) < rows:
            return None
        row, from_end = self._cell
        return min(row, rows - 1), max(0, columns + from_end)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        cell, key = self.current_cell, event.key()
        if cell is None or key not in (*_STEPS, *_ENDS, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
            return
        rows, columns = self.matrix.values.shape
        row, column = cell
        if key in _STEPS:
            down, right = _STEPS[Qt.Key(key)]
            row, column = min(max(row + down, 0), rows - 1), min(max(column + right, 0), columns - 1)
        elif key in _ENDS:
            column = 0 if key == Qt.Key.Key_Home else columns - 1
        else:
            self.row_chosen.emit(row)
            return
        self._cell = (row, column - columns)
        self._describe()
        self.update()
        QToolTip.showText(
            self.mapToGlobal(self._box(row, column).bottomRight().toPoint()), tip_text(self.cell_text(row, column)), self
        )

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._describe()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._describe()

    def _box(self, row: int, column: int) -> QRectF:
        cells, (rows, columns) = self._cells(), self.matrix.values.shape
        height, width = cells.height() / rows, cells.width() / columns
        return QRectF(cells.left() + column * width, cells.top() + row * height, width, height)

    # ---- paint ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        tokens = self._theme.tokens
        cells = self._cells()
        if self._image.isNull():
            painter.fillRect(self.rect(), QColor(tokens.inset))
            painter.setPen(QColor(tokens.text_3))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._note)
        else:
            painter.drawImage(cells, self._image)
            self._paint_gaps(painter, cells)
        paint_row_labels(painter, cells, self._labels, tokens.text_3)
        if not self.matrix.is_empty:
            span_s = self.matrix.from_ms / 1_000, self.matrix.to_ms / 1_000
            paint_time_axis(painter, cells, span_s, self._times, tokens.text_3)
        cell = self.current_cell
        if cell is not None and self.hasFocus():
            painter.setPen(QPen(QColor(tokens.text_1), 2))
            # A cell of a long range is thinner than a pixel.
            box = self._box(*cell)
            painter.drawRect(box.adjusted(-1, 0, max(0.0, 3 - box.width()), -1))
        painter.end()

    def _paint_gaps(self, painter: QPainter, cells: QRectF) -> None:
        rows, columns = self.matrix.values.shape
        height, width = cells.height() / rows, cells.width() / columns
        painter.setPen(QColor(self._theme.tokens.panel))
        if height >= CELL_GAP_FROM:
            for row in range(1, rows):
                y = round(cells.top() + row * height)
                painter.drawLine(int(cells.left()), y, int(cells.right()), y)
        if width >= CELL_GAP_FROM:
            for column in range(1, columns):
                x = round(cells.left() + column * width)
                painter.drawLine(x, int(cells.top()), x, int(cells.bottom()))


def paint_row_labels(painter: QPainter, cells: QRectF, labels: Sequence[str], colour: str) -> None:
    """Paint the names of rows of equal height, left of a box; as many as have room."""
    painter.setFont(text_font(Size.CAPTION))
    painter.setPen(QColor(colour))
    height = cells.height() / max(1, len(labels))
    for row in range(0, len(labels), max(1, math.ceil(12 / height))):
        box = QRectF(0, cells.top() + row * height, cells.left() - LABEL_GAP, max(height, 12))
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, labels[row])


def _rgb(colour: str) -> int:
    return 0xFF000000 | int(colour[1:], 16)


def _last_known(matrix: Matrix, row: int) -> float:
    if row >= matrix.values.shape[0]:
        return math.nan
    known = matrix.values[row][~np.isnan(matrix.values[row])]
    return float(known[-1]) if len(known) else math.nan


class HeatScale(Drawn):
    """Colour scale of a heat map: ``0 ▁▂▅█ 5.1k``."""

    def __init__(self, theme: ThemeManager, state: State) -> None:
        super().__init__(theme)
        self._state = state
        self._text = ""
        self.setFixedHeight(16)

    def set_top(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(text_font(Size.CAPTION))
        return QSize(metrics.horizontalAdvance("0") + 82 + metrics.horizontalAdvance(self._text) + 8, 16)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setFont(text_font(Size.CAPTION))
        painter.setPen(QColor(tokens.text_3))
        middle = Qt.AlignmentFlag.AlignVCenter
        zero = painter.fontMetrics().horizontalAdvance("0") + 6
        painter.drawText(QRectF(0, 0, zero, 16), middle, "0")
        for number in range(66):
            colour = mix(tokens.state(self._state), tokens.inset, math.sqrt(number / 65) * 100)
            painter.fillRect(QRectF(zero + number, 5, 1, 6), QColor(colour))
        painter.drawText(QRectF(zero + 72, 0, self.width() - zero - 72, 16), middle, self._text)
        painter.end()

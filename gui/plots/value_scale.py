"""Round values of an axis, and such an axis painted by hand, without pyqtgraph."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter

from gui.theme.tokens import Tokens
from gui.words.text import short_count_text

AXIS_WIDTH = 40
"""Of a painted axis, px."""


def round_step(least: float, base: int = 10) -> float:
    """The smallest round tick distance that is at least ``least``: 1, 2, 2.5 or 5 times a power of ten.

    With ``base`` 1024 the powers are those of 1,024, times 1 to 512 in doublings.
    """
    if least <= 0 or not math.isfinite(least):
        return 1.0
    if base == 1024:
        power = 1024.0 ** math.floor(math.log(max(least, 1.0), 1024))
        return next((power * 2**i for i in range(11) if power * 2**i >= least), power * 1024)
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= least * (1 - 1e-9))


def round_top(highest: float, least_step: float = 0.0) -> tuple[float, float]:
    """Round end of an axis that begins at 0, and the distance of its ticks."""
    step = max(round_step(highest / 2), least_step)
    return max(step * math.ceil(highest / step), step), step


def paint_value_axis(painter: QPainter, plot: QRectF, top: float, step: float, tokens: Tokens) -> None:
    """Paint the values from 0 to ``top`` at each ``step`` left of a box, and their lines across it."""
    pixels, value = painter.font().pixelSize(), 0.0
    while value <= top + step / 2:
        y = plot.bottom() - plot.height() * value / top
        painter.fillRect(QRectF(plot.left(), y, plot.width(), 1), QColor(tokens.border))
        painter.setPen(QColor(tokens.text_3))
        box = QRectF(0, y - pixels, AXIS_WIDTH - 8, 2 * pixels)
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, short_count_text(value))
        value += step

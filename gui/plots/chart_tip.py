"""`ChartTip`: time and values beside the crosshair of a chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, Tokens


class ChartTip(QWidget):
    """Time and values beside the crosshair."""

    def __init__(self, theme: ThemeManager, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chart = parent
        self._title = ""
        self._lines: list[tuple[str, str, str]] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_at(self, at: Any, title: str, lines: list[tuple[str, str, str]], colour: Callable[[str, Tokens], str]) -> None:  # noqa: ANN401  QPoint
        self._title = title
        self._lines = [(name, value, colour(key, self._theme.tokens)) for name, value, key in lines]
        metrics = self.fontMetrics()
        width = max([metrics.horizontalAdvance(f"{name}  {value}") for name, value, _ in lines] + [70]) + 54
        self.resize(width, 30 + 20 * len(lines))
        room = self._chart.rect()
        left = at.x() + 14 if at.x() + 14 + width < room.width() else at.x() - 14 - width
        self.move(left, max(0, min(at.y() + 10, room.height() - self.height())))
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        painter.setFont(text_font(Size.SECONDARY, text_font().Weight.DemiBold))
        painter.setPen(QColor(tokens.text_1))
        painter.drawText(QRectF(10, 6, self.width(), 18), Qt.AlignmentFlag.AlignVCenter, self._title)
        for i, (name, value, colour) in enumerate(self._lines):
            line = QRectF(10, 26 + 20 * i, self.width() - 20, 18)
            painter.setPen(QPen(QColor(colour), 3, c=Qt.PenCapStyle.RoundCap))
            painter.drawLine(QPointF(12, line.center().y()), QPointF(18, line.center().y()))
            painter.setFont(text_font(Size.SECONDARY))
            painter.setPen(QColor(tokens.text_2))
            painter.drawText(line.adjusted(16, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, name)
            painter.setFont(text_font(Size.SECONDARY, text_font().Weight.DemiBold))
            painter.setPen(QColor(tokens.text_1))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, value)
        painter.end()

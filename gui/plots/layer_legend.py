"""`LayerLegend`: names, colours and values of the layers of a bar chart, in one line. Drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.widgets.repaint import repaint_with
from gui.words.plain_text import tip_text

DASH, DASH_GAP, VALUE_GAP, ENTRY_GAP = 8, 6, 6, 14
NAME_WIDTH_MAX = 110


class LayerLegend(QWidget):
    """Shows the first entries that fit; its tip has all of them."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: Sequence[tuple[str, str, str]] = ()
        self._name_font = text_font(Size.SECONDARY)
        self._value_font = text_font(Size.SECONDARY, QFont.Weight.DemiBold)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        repaint_with(self, theme)

    def set_entries(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Show entries: name, value, and colour as ``#rrggbb``."""
        if list(entries) != list(self._entries):
            self._entries = list(entries)
            words = "\n".join(f"{name}: {value}" for name, value, _colour in entries)
            self.setToolTip(tip_text(words))
            self.setAccessibleDescription(words.replace("\n", ", "))
            self.updateGeometry()
            self.update()

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Names and values, also those without room."""
        return [(name, value) for name, value, _colour in self._entries]

    def sizeHint(self) -> QSize:
        width = sum(self._width(name, value) for name, value, _colour in self._entries)
        return QSize(width + ENTRY_GAP * max(0, len(self._entries) - 1), 20)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 20)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        left = 0
        for name, value, colour in self._entries:
            width = self._width(name, value)
            if left + width > self.width():
                break
            painter.fillRect(QRectF(left, self.height() / 2 - 1.5, DASH, 3), QColor(colour))
            at = left + DASH + DASH_GAP
            at += self._paint(painter, at, self._shown(name), self._name_font, tokens.text_2) + VALUE_GAP
            self._paint(painter, at, value, self._value_font, tokens.text_1)
            left += width + ENTRY_GAP
        painter.end()

    def _paint(self, painter: QPainter, left: int, text: str, font: QFont, colour: str) -> int:
        width = QFontMetrics(font).horizontalAdvance(text)
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(QRectF(left, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, text)
        return width

    def _shown(self, name: str) -> str:
        return QFontMetrics(self._name_font).elidedText(name, Qt.TextElideMode.ElideMiddle, NAME_WIDTH_MAX)

    def _width(self, name: str, value: str) -> int:
        names = QFontMetrics(self._name_font).horizontalAdvance(self._shown(name))
        return DASH + DASH_GAP + names + VALUE_GAP + QFontMetrics(self._value_font).horizontalAdvance(value)

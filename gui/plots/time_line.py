"""`TimeLine`: events in order, one line each, with the time between. Drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.widgets.paint import paint_line
from gui.widgets.repaint import repaint_with

LINE_HEIGHT = 38
DOT = 9.0
LEFT = 10.0
TEXT_LEFT = 28.0


@dataclass(frozen=True, slots=True)
class TimeLineEntry:
    """One event. Texts are in the language of the window; ``is_ahead`` marks future ones."""

    title: str
    detail: str
    at: str
    gap: str
    state: State
    is_ahead: bool = False


class TimeLine(QWidget):
    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.entries: Sequence[TimeLineEntry] = ()
        repaint_with(self, theme)

    def set_entries(self, entries: Sequence[TimeLineEntry]) -> None:
        if entries == self.entries:
            return
        self.entries = entries
        self.setAccessibleDescription("; ".join(f"{one.at} {one.title} {one.detail}" for one in entries))
        self.setMinimumHeight(LINE_HEIGHT * len(entries))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(280, LINE_HEIGHT * len(self.entries))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, entry in enumerate(self.entries):
            top = number * LINE_HEIGHT
            middle = top + 11.0
            if number + 1 < len(self.entries):
                dashed = Qt.PenStyle.DotLine if self.entries[number + 1].is_ahead else Qt.PenStyle.SolidLine
                painter.setPen(QPen(QColor(tokens.border_strong), 1.5, dashed))
                painter.drawLine(QPointF(LEFT, middle + DOT / 2 + 2), QPointF(LEFT, middle + LINE_HEIGHT - DOT / 2 - 2))
            colour = QColor(tokens.state(entry.state))
            painter.setPen(QPen(colour, 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush if entry.is_ahead else colour)
            painter.drawEllipse(QRectF(LEFT - DOT / 2, middle - DOT / 2, DOT, DOT))
            self._paint_words(painter, entry, top)
        painter.end()

    def _paint_words(self, painter: QPainter, entry: TimeLineEntry, top: float) -> None:
        tokens, right = self._theme.tokens, self.width() - 2.0
        plain, small = text_font(Size.SECONDARY), text_font(Size.CAPTION)
        at, gap = QRectF(TEXT_LEFT, top + 2, right - TEXT_LEFT, 18), QRectF(TEXT_LEFT, top + 18, right - TEXT_LEFT, 16)
        at_width = paint_line(painter, entry.at, at, plain, tokens.text_2, side=Qt.AlignmentFlag.AlignRight)
        gap_width = paint_line(painter, entry.gap, gap, small, tokens.text_3, side=Qt.AlignmentFlag.AlignRight)
        title = at.adjusted(0, 0, -at_width - 8, 0)
        paint_line(painter, entry.title, title, text_font(Size.SECONDARY, QFont.Weight.DemiBold), tokens.text_1)
        paint_line(painter, entry.detail, gap.adjusted(0, 0, -gap_width - 8, 0), small, tokens.text_3)

"""`DiskBar`: how full the disk is, this store's part of it, and the three limits."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.repaint import repaint_with
from gui.theme.tokens import Size, State, mix

HEIGHT, BAR_TOP, BAR = 44, 6, 12


class DiskBar(QWidget):
    """Shares from 0 to 1 of the disk."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._used = self._store = 0.0
        self._limits: Sequence[tuple[int, State]] = ()
        self.setFixedHeight(HEIGHT)
        repaint_with(self, theme)

    def set_shares(self, used: float, store: float, limits: Sequence[tuple[int, State]]) -> None:
        """Show the use of the disk, of it this store, and limits in percent with their colours."""
        self._used, self._store, self._limits = used, min(store, used), limits
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(0, BAR_TOP, self.width(), BAR)
        shape = QPainterPath()
        shape.addRoundedRect(box, 3, 3)
        painter.setClipPath(shape)
        painter.fillRect(box, QColor(mix(tokens.text_3, tokens.panel, 16)))
        painter.fillRect(QRectF(0, BAR_TOP, self.width() * (self._used - self._store), BAR), QColor(tokens.series[0]))
        left = self.width() * (self._used - self._store)
        painter.fillRect(QRectF(left, BAR_TOP, self.width() * self._store, BAR), QColor(tokens.committed))
        painter.setClipping(False)
        painter.setFont(text_font(Size.CAPTION))
        metrics = QFontMetrics(painter.font())
        free_from = 0.0
        for percent, state in self._limits:
            x = self.width() * percent / 100
            painter.fillRect(QRectF(x - 1, BAR_TOP - 4, 2, BAR + 8), QColor(tokens.state(state)))
            width = metrics.horizontalAdvance(str(percent))
            text_left = min(max(x - width / 2, free_from), self.width() - width)
            painter.setPen(QColor(tokens.state(state)))
            painter.drawText(QPointF(text_left, HEIGHT - 8), str(percent))
            free_from = text_left + width + 4
        painter.setPen(Qt.PenStyle.NoPen)
        painter.end()

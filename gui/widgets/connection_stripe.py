"""The colour of a connection over its windows, which distinguishes several at a glance."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

HEIGHT = 3


class ConnectionStripe(QWidget):
    """A thin line; hidden while its connection has no colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedHeight(HEIGHT)
        self.colour = ""
        self.hide()

    def set_colour(self, colour: str) -> None:
        """Set a colour as ``#rrggbb``; an invalid one hides the line."""
        self.colour = colour if QColor.isValidColorName(colour) else ""
        self.setVisible(bool(self.colour))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.colour))
        painter.end()

"""A drawn area of cards for the mouse and the arrow keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget


class CardArea(QWidget):
    """Base of widgets that draw cards themselves. Arrow keys move, Enter and a click choose.

    ``rects`` returns the places of the cards by key, in the order of the arrow keys.

    Signals:
        chosen: A card was chosen; carries its key.
    """

    chosen = Signal(str)

    def __init__(self, rects: Callable[[], Mapping[str, QRectF]]) -> None:
        super().__init__()
        self._rects_of_cards = rects
        self._hovered = ""
        self._current = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def card_rect(self, key: str) -> QRectF:
        """Place of a card; null if there is none of that key."""
        return self._rects_of_cards().get(key, QRectF())

    def is_marked(self, key: str) -> bool:
        """Whether the mouse or the keyboard is at a card."""
        return key == self._hovered or (self.hasFocus() and key == self._current)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._card_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover("")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        key = self._card_at(event.position())
        if key and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = list(self._rects_of_cards())
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step and keys:
            place = keys.index(self._current) + step if self._current in keys else 0
            self._current = keys[place % len(keys)]
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current in keys:
            self.chosen.emit(self._current)
        else:
            super().keyPressEvent(event)

    def _hover(self, key: str) -> None:
        if key != self._hovered:
            self._hovered = key
            self.setCursor(Qt.CursorShape.PointingHandCursor if key else Qt.CursorShape.ArrowCursor)
            self.update()

    def _card_at(self, position: QPointF) -> str:
        return next((key for key, rect in self._rects_of_cards().items() if rect.contains(position)), "")

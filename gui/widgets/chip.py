from __future__ import annotations

from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.widgets.paint import chip_width, paint_chip, paint_dot
from gui.widgets.repaint import Drawn
from gui.words.plain_text import tip_text


class Chip(Drawn):
    """A state as glyph and word, 20 px high."""

    def __init__(self, theme: ThemeManager, text: str = "", state: State = State.PLAIN) -> None:
        super().__init__(theme)
        self.text = text
        self.state = state
        self._is_brief = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)

    def set(self, text: str, state: State) -> None:
        """Change the text and the state; an empty text hides the chip."""
        self.setVisible(bool(text))
        if (text, state) != (self.text, self.state):
            self.text, self.state = text, state
            self.setAccessibleName(text)
            self.updateGeometry()
            self.update()

    def set_brief(self, *, is_brief: bool) -> None:
        """Show the glyph alone, or the word too; the word stays the accessible name and is then the tool tip."""
        if is_brief != self._is_brief:
            self._is_brief = is_brief
            self.updateGeometry()
            self.update()
        self.setToolTip(tip_text(self.text) if is_brief else "")

    @property
    def whole_width(self) -> int:
        """Width with the word, px."""
        return chip_width(self.text, self.state)

    @property
    def shown_text(self) -> str:
        return "" if self._is_brief else self.text

    def sizeHint(self) -> QSize:
        return QSize(chip_width(self.shown_text, self.state), Size.CHIP)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_chip(painter, QPointF(0, self.height() / 2), self.shown_text, self.state, self._theme.tokens)
        painter.end()


class Dot(Drawn):
    """A state dot, 8 px; always beside a word."""

    def __init__(self, theme: ThemeManager, state: State = State.IDLE) -> None:
        super().__init__(theme)
        self._state = state
        self.setFixedSize(9, 16)

    def set_state(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_dot(painter, 0, self.height() / 2, self._theme.tokens.state(self._state))
        painter.end()

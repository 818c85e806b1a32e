"""`KeyValueList`: facts as name and value; `Meter`: a share with its text."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QWidget

from gui.theme.fonts import mono_font, text_font
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.widgets.basic import ElidedLabel, Line, column, label, row
from gui.widgets.paint import paint_bar
from gui.widgets.repaint import repaint_with
from gui.words.text import count_text, tr

PAIRS_MAX = 60
"""Pairs that get widgets; a client may report thousands, which Qt would lay out in one turn of the loop."""
PAIR_HEIGHT = 27
"""A multiple of four with its hairline: at 125 and 150 % all lines of a list are equally thick."""


class _Pair(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.name = label(role="secondary")
        self.value = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setLayout(row(self.name, (self.value, 1), spacing=12))
        self.setFixedHeight(PAIR_HEIGHT)


class KeyValueList(QWidget):
    """Name left, value right, a hairline between; values can be selected."""

    def __init__(self, *, mono: bool = False) -> None:
        super().__init__()
        self._mono = mono
        self._pairs: list[_Pair] = []
        self._lines: list[Line] = []
        self._shown = 0
        self._body = QWidget()
        self._layout = column(1, spacing=0)
        self._body.setLayout(self._layout)
        self.setLayout(column(self._body))

    def set_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Show pairs; of very many the first, and how many there are more."""
        if (more := len(pairs) - PAIRS_MAX) > 0:
            pairs = [*pairs[:PAIRS_MAX], ("…", tr("{count} more", count=count_text(more)))]
        if len(pairs) != self._shown:
            self._show_so_many(len(pairs))
        for pair, (name, value) in zip(self._pairs, pairs, strict=False):
            pair.name.setText(name)
            pair.value.setText(value)

    def pairs(self) -> list[tuple[str, str]]:
        return [(pair.name.text(), pair.value.whole_text()) for pair in self._pairs[: self._shown]]

    def _show_so_many(self, count: int) -> None:
        # Hidden meanwhile: each widget that appears would lay out everything around it again, up to the window.
        self._body.hide()
        while len(self._pairs) < count:
            self._add()
        for place, (pair, line) in enumerate(zip(self._pairs, self._lines, strict=True)):
            pair.setVisible(place < count)
            line.setVisible(place < count)
        self._shown = count
        self._body.show()

    def _add(self) -> None:
        pair, line = _Pair(), Line()
        pair.value.setFont(mono_font() if self._mono else text_font())
        self._layout.insertWidget(self._layout.count() - 1, pair)
        self._layout.insertWidget(self._layout.count() - 1, line)
        self._pairs.append(pair)
        self._lines.append(line)


class Meter(QWidget):
    """Name, a bar filled to a share, and the figure as text."""

    def __init__(self, theme: ThemeManager, name: str = "") -> None:
        super().__init__()
        self._name = label(name, "secondary")
        self._bar = _Bar(theme)
        self._value = label()
        self._name.setMinimumWidth(74)
        self.setLayout(row(self._name, self._bar, (self._value, 1, Qt.AlignmentFlag.AlignRight), spacing=10))
        self.setFixedHeight(23)

    def set_name(self, name: str) -> None:
        self._name.setText(name)

    def set(self, text: str, share: float | None = None, state: State | None = None) -> None:
        """Show a figure and its share of the limit (0…1); None hides the bar."""
        self._value.setText(text)
        self._bar.set(share, state)
        set_role(self._value, "" if state is None else state.value)


class _Bar(QFrame):
    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._share: float | None = None
        self._state: State | None = None
        self.setFixedSize(68, 6)
        repaint_with(self, theme)

    def set(self, share: float | None, state: State | None) -> None:
        self._share, self._state = share, state
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._share is None:
            return
        tokens = self._theme.tokens
        colour = tokens.state(self._state) if self._state else tokens.accent
        painter = QPainter(self)
        paint_bar(painter, QRectF(self.rect()), self._share, colour, tokens)
        painter.end()

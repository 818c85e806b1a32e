"""`PropertyEditor`: names and values of a message's properties, one line each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.widgets.basic import column, label, row, show_text, take_out
from gui.widgets.said import on_language, said, said_button
from gui.words.text import count_text, tr

LINES_MAX = 40
"""Stored properties that can be edited, because each line takes about a millisecond to make; more are sent as they are."""


class PropertyEditor(QWidget):
    """A list of lines that can grow and shrink.

    Signals:
        changed: A name, a value or the number of lines changed.
    """

    changed = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: list[_Line] = []
        self._rest: tuple[tuple[str, str], ...] = ()
        """Properties without a line."""
        self.rest_words = label(role="caption", wrap=True)
        self._layout = column(spacing=6)
        self.setLayout(self._layout)
        self.add_button = said_button(theme, "plus", "Add property", role="quiet", on_click=self._add_clicked)
        self._layout.addLayout(row(self.add_button, (self.rest_words, 1), spacing=8))
        on_language(self, self._say_rest)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The entered properties; lines with neither name nor value are left out."""
        entered = ((line.entered_name, line.value.text()) for line in self._lines)
        return (*(pair for pair in entered if any(pair)), *self._rest)

    def set_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Show these properties; of many, the first."""
        with QSignalBlocker(self):
            for line in list(self._lines):
                self._remove(line)
            for name, value in pairs[:LINES_MAX]:
                self.add(name, value)
        self._rest = tuple(pairs[LINES_MAX:])
        self._say_rest()
        self.changed.emit()

    def _say_rest(self) -> None:
        count = count_text(len(self._rest))
        show_text(self.rest_words, tr("Without a line here, sent unchanged: {count}", count=count) if self._rest else "")

    def add(self, name: str = "", value: str = "") -> None:
        """Add a line."""
        line = _Line(self._theme, name, value)
        line.name.textChanged.connect(self.changed)
        line.value.textChanged.connect(self.changed)
        line.remove.clicked.connect(lambda _checked=False: self._remove(line))
        self._lines.append(line)
        self._layout.insertWidget(self._layout.count() - 1, line)
        self.changed.emit()

    def _add_clicked(self) -> None:
        self.add()
        self._lines[-1].name.setFocus()

    def _remove(self, line: _Line) -> None:
        self._lines.remove(line)
        take_out(self._layout, line)
        self.changed.emit()


class _Line(QWidget):
    def __init__(self, theme: ThemeManager, name: str, value: str) -> None:
        super().__init__()
        self.name = QLineEdit(name)
        self.value = QLineEdit(value)
        for field, hint in ((self.name, "Name"), (self.value, "Value")):
            said(field, hint=hint).setFont(mono_font())
        self.remove = said_button(theme, "x", tip="Remove property")
        self.setLayout(row((self.name, 2), (self.value, 3), self.remove, spacing=6))

    @property
    def entered_name(self) -> str:
        """Without surrounding spaces, unless the stored name has them."""
        return self.name.text().strip() if self.name.isModified() else self.name.text()

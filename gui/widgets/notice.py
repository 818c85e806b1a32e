"""Texts in place of content, above or below it: `Placeholder`, `Notice`, `MissingNote`, `Banner`, `AgeNote`."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from gui.theme.manager import ThemeManager
from gui.theme.style import repolish
from gui.theme.tokens import State
from gui.widgets.basic import ElidedLabel, IconButton, IconLabel, WrappedLabel, column, fill, label, row
from gui.widgets.said import on_language
from gui.words.text import Words, duration_text, said, tr

_STATE_GLYPHS = {
    State.CRITICAL: ("warning-octagon", "critical"),
    State.WARNING: ("warning", "warning"),
    State.INFO: ("info", "delayed"),
}


class Placeholder(QWidget):
    """One sentence and one action in the middle of an empty place.

    Every table has one, mostly with a sentence only: its other parts are made at their first use.
    """

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._text = _centred("strong")
        self._detail: QLabel | None = None
        self._glyph: IconLabel | None = None
        self._action: QPushButton | None = None
        self._copy: QPushButton | None = None
        self._on_action: Callable[[], object] | None = None
        self._said: tuple[Words, Words, Words] = ("", "", "")
        self._is_error = False
        self._lines = QVBoxLayout(self)
        self._lines.setSpacing(8)
        self._buttons = row(1, 1, spacing=-1)
        fill(self._lines, 1, self._text, self._buttons, 1)
        on_language(self, self._write)

    @property
    def text(self) -> str:
        return self._text.text()

    def show_empty(self, text: Words, action: Words = "", on_action: Callable[[], object] | None = None) -> None:
        self._show(text, "", action, on_action, error=False)

    def show_error(
        self, text: Words, detail: Words = "", action: Words = "", on_action: Callable[[], object] | None = None
    ) -> None:
        """Show an error with its reason and an action; the details can be copied."""
        self._show(text, detail, action, on_action, error=True)

    def show_unsupported(self, text: Words, detail: Words) -> None:
        """Show that the source does not support a request, with the reason; there is no retry."""
        self._show(text, detail, "", None, error=False)

    def _show(self, text: Words, detail: Words, action: Words, on_action: Callable[[], object] | None, *, error: bool) -> None:
        self._said, self._on_action, self._is_error = (text, detail, action), on_action, error
        self._write()

    def _write(self) -> None:
        text, detail, action = map(said, self._said)
        error = self._is_error
        self._text.setText(text)
        if self._glyph is None and error:
            self._glyph = IconLabel(self._theme, "warning-octagon", "critical", 22)
            self._lines.insertWidget(1, self._glyph, 0, Qt.AlignmentFlag.AlignHCenter)
        if self._glyph is not None:
            self._glyph.setVisible(error)
        self._show_detail(detail, error=error)
        if self._action is None and action:
            self._action = QPushButton()
            self._action.clicked.connect(self._act)
            self._buttons.insertWidget(1, self._action)
        if self._action is not None:
            self._action.setText(action)
            self._action.setVisible(bool(action))

    def _show_detail(self, detail: str, *, error: bool) -> None:
        if self._detail is None or self._copy is None:
            if not detail:
                return
            self._detail, self._copy = _centred("caption", selectable=True), QPushButton()
            self._copy.clicked.connect(self._copy_details)
            self._lines.insertWidget(self._lines.indexOf(self._text) + 1, self._detail)
            self._buttons.insertWidget(self._buttons.count() - 1, self._copy)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        self._copy.setText(tr("Copy details"))
        self._copy.setVisible(error and bool(detail))

    def _act(self) -> None:
        if self._on_action is not None:
            self._on_action()

    def _copy_details(self) -> None:
        assert self._detail is not None
        QGuiApplication.clipboard().setText(f"{self._text.text()}\n{self._detail.text()}")


def _centred(role: str, *, selectable: bool = False) -> QLabel:
    made = label(role=role, wrap=True, selectable=selectable)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return made


class Notice(QFrame):
    """A remark within a page: glyph, title, text and an action."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self.setProperty("role", "notice")
        self._glyph = IconLabel(theme, "info", "delayed", 16)
        self._title = label(role="strong", wrap=True)
        self._text = label(role="secondary", wrap=True, selectable=True)
        self._said: tuple[Words, Words, Words] = ("", "", "")
        self._on_action: Callable[[], object] | None = None
        words = column(self._title, self._text, spacing=2)
        glyph = (self._glyph, 0, Qt.AlignmentFlag.AlignTop)
        self._line = row(glyph, (words, 1), spacing=10, margins=(12, 10, 12, 10))
        self.setLayout(self._line)
        self.button: QPushButton | None = None
        """Button of the action; made at the first one."""
        on_language(self, self._write)
        self.hide()

    @property
    def text(self) -> str:
        return f"{self._title.text()} {self._text.text()}".strip()

    def set(
        self,
        title: Words,
        text: Words = "",
        state: State = State.INFO,
        action: Words = "",
        on_action: Callable[[], object] | None = None,
    ) -> None:
        """Show a remark; an empty title hides it. ``state`` is `State.WARNING` only where a person must act.

        ``action`` is the text of a button that calls ``on_action``.
        """
        self.setVisible(bool(title))
        self._glyph.set_glyph(*_STATE_GLYPHS[state])
        self._said, self._on_action = (title, text, action), on_action
        if action and self.button is None:
            self.button = QPushButton()
            self.button.setProperty("role", "small")
            self.button.clicked.connect(self._act)
            self._line.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        if self.property("tone") != state.value:
            self.setProperty("tone", state.value)
            repolish(self)
        self._write()

    def _act(self) -> None:
        if self._on_action is not None:
            self._on_action()

    def _write(self) -> None:
        title, text, action = map(said, self._said)
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        if self.button is not None:
            self.button.setText(action)
            self.button.setVisible(bool(action))


class MissingNote(WrappedLabel):
    """The missing part of a list, with the reason, below it; wrapped, because a reason may be longer than a page is wide."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "warning")
        self.setContentsMargins(12, 4, 12, 4)
        self._said: Words = ""
        on_language(self, self._write)

    def say(self, words: Words) -> None:
        """Show a text; an empty one hides the note."""
        self._said = words
        self._write()

    def _write(self) -> None:
        text = said(self._said)
        self.setText(text)
        self.setVisible(bool(text))


class Banner(QFrame):
    """A line over the whole window, e.g. that the broker stopped."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self.setProperty("role", "banner")
        self._title = label(role="strong")
        self._text = label(role="secondary", wrap=True, selectable=True)
        self.button = IconButton(theme, "arrow-clockwise", " ", role="primary")
        glyph = IconLabel(theme, "warning-octagon", "critical", 17)
        self.setLayout(row(glyph, self._title, (self._text, 1), self.button, spacing=10, margins=(16, 8, 16, 8)))
        self.hide()

    @property
    def text(self) -> str:
        return f"{self._title.text()} {self._text.text()}"

    def show_like(self, other: Banner) -> None:
        """Copy another banner without its button; hide if it is hidden."""
        if other.isHidden():
            self.hide()
        else:
            self.set(other._title.text(), other._text.text())

    def set(self, title: str, text: str, action: str = "") -> None:
        """Show the banner; without an action it has no button."""
        self._title.setText(title)
        self._text.setText(text)
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self.show()


ONE_ROUND_MS = 3_000
"""Figures of at most this age were read in one round, which takes a second and the time of its requests."""


def age_text(age_ms: int) -> str:
    """The age of the oldest figures in words; empty where all were read in one round."""
    if age_ms <= ONE_ROUND_MS:
        return ""
    return tr("The oldest of these figures were read {time} ago.", time=duration_text(age_ms // 1_000 * 1_000))


class AgeNote(ElidedLabel):
    """The age of the oldest figures of a table, in a line below it; hidden while all were read in one round."""

    def __init__(self) -> None:
        super().__init__(role="caption")
        self.setContentsMargins(12, 2, 12, 4)
        self.hide()

    def show_age(self, age_ms: int) -> None:
        """Show the age of the oldest figures of the table."""
        words = age_text(age_ms)
        self.setText(words)
        self.setVisible(bool(words))

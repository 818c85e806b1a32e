"""Toasts: short notices above the status bar. At most three, six seconds each; errors stay until closed.

They take room of the page, which gets lower meanwhile, and cover nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QFrame, QWidget

from gui.theme.manager import ThemeManager
from gui.theme.tokens import STATE_GLYPHS, State
from gui.widgets.basic import IconButton, IconLabel, column, label, row
from gui.words.text import Words, said, tr

TOASTS_MAX = 3
TOAST_MS = 6_000
NOTICES_KEPT = 100
TOGETHER_S, LOOKED_AT = 60.0, 8
"""Notices of a kind become one within this time, and where it is among the newest."""
TOAST_WIDTH_MAX = 560
"""A longer text takes further lines."""
MARGIN = 16
WRAPPED_MARGIN = 8
"""Margin above and below several lines, which otherwise fill the toast."""
APART = 6
"""Px between two toasts, and around them."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """A notice of which many come at once; they become one.

    Attributes:
        kind: Same for those that belong together.
        subject: What this one is about.
        words: Says it of several subjects.
    """

    kind: str
    subject: str
    words: Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class KeptNotice:
    """A notice as the bell lists it."""

    words: Words
    state: State
    at: datetime
    repeats: Repeats | None = None
    subjects: tuple[str, ...] = ()
    """What it is about, where several of a kind are one."""

    @property
    def text(self) -> str:
        return said(self.words)


class Toast(QFrame):
    def __init__(
        self,
        theme: ThemeManager,
        words: Words,
        parent: QWidget,
        *,
        state: State,
        action: Words = "",
        on_action: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", "toast")
        self._said, self._action_said = words, action
        self.state = state
        self._words = label(wrap=True)
        glyph = IconLabel(theme, STATE_GLYPHS[state] or "info", _token_of(state), 16)
        line = self._line = row(glyph, (self._words, 1), spacing=10, margins=(12, 2, 6, 2))
        self.setLayout(line)
        self.action_button: IconButton | None = None
        if action and on_action is not None:
            self.action_button = IconButton(theme, "arrow-right", " ", role="link", on_click=on_action)
            line.addWidget(self.action_button)
        self.close_button = IconButton(theme, "x", tip=" ")
        line.addWidget(self.close_button)
        self.write()
        theme.dress(self)

    def write(self) -> None:
        """Write all texts in the language of now."""
        text = said(self._said)
        self.setAccessibleName(text)
        self._words.setText(text)
        if self.action_button is not None:
            self.action_button.setText(said(self._action_said))
        self.close_button.setToolTip(tr("Close"))
        self.close_button.setAccessibleName(tr("Close"))

    def fit(self, width_max: int) -> None:
        """Take the width of the text up to a limit; then further lines."""
        self._words.setWordWrap(False)
        width = min(self.sizeHint().width(), width_max)
        is_wrapped = width == width_max
        self._words.setWordWrap(is_wrapped)
        self._line.setContentsMargins(12, WRAPPED_MARGIN if is_wrapped else 2, 6, WRAPPED_MARGIN if is_wrapped else 2)
        self.setFixedSize(width, max(self.minimumSizeHint().height(), self.heightForWidth(width)))


def _token_of(state: State) -> str:
    return "delayed" if state is State.INFO else "text_2" if state is State.PLAIN else state.value


def _belong_together(before: KeptNotice, now: KeptNotice) -> bool:
    kinds = [one.repeats.kind for one in (before, now) if one.repeats is not None]
    return len(kinds) == 2 and kinds[0] == kinds[1] and (now.at - before.at).total_seconds() <= TOGETHER_S


class ToastRoom(QWidget):
    """Where toasts stand, on the right; no room without any."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = column(spacing=APART, margins=(MARGIN, APART, MARGIN, APART))
        self.setLayout(self._lines)
        self.hide()

    def add(self, toast: Toast) -> None:
        self._lines.addWidget(toast, 0, Qt.AlignmentFlag.AlignRight)


class ToastStack(QObject):
    """Shows toasts in the room below the pages of a window, and keeps their texts for the bell."""

    def __init__(self, theme: ThemeManager, window: QWidget, room: ToastRoom) -> None:
        super().__init__(window)
        self._room = room
        self._theme = theme
        self._window = window
        self._toasts: list[Toast] = []
        self.kept: list[KeptNotice] = []
        self.unread = 0
        window.installEventFilter(self)

    @property
    def shown_texts(self) -> list[str]:
        """Texts on screen, oldest first."""
        return [toast.accessibleName() for toast in self._toasts]

    def show(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None:
        """Show a notice; the oldest is removed when there are too many."""
        self.unread += 1
        self.keep(words, state)
        toast = Toast(self._theme, words, self._room, state=state, action=action, on_action=on_action)
        toast.close_button.clicked.connect(lambda _checked=False: self._close(toast))
        self._toasts.append(toast)
        while len(self._toasts) > TOASTS_MAX:
            self._close(self._toasts[0])
        if state is not State.CRITICAL:
            timer = QTimer(toast, singleShot=True)
            timer.timeout.connect(lambda: self._close(toast))
            timer.start(TOAST_MS)
        self._room.add(toast)
        self._fit()

    def keep(self, words: Words, state: State, repeats: Repeats | None = None) -> None:
        """Keep a notice under the bell without showing or counting it; with those of its kind of the last minute."""
        now = datetime.now().astimezone()
        made = KeptNotice(words, state, now, repeats, () if repeats is None else (repeats.subject,))
        before = next((one for one in self.kept[:LOOKED_AT] if _belong_together(one, made)), None)
        if before is not None and repeats is not None:
            subjects = tuple(dict.fromkeys([*before.subjects, repeats.subject]))
            if len(subjects) > 1:
                made = replace(made, words=partial(repeats.words, subjects), subjects=subjects)
        self.kept = [made, *(one for one in self.kept if one is not before)][:NOTICES_KEPT]

    def mark_read(self) -> None:
        self.unread = 0

    def close_all(self) -> None:
        for toast in list(self._toasts):
            self._close(toast)

    def _close(self, toast: Toast) -> None:
        if toast in self._toasts:
            self._toasts.remove(toast)
            toast.hide()
            toast.deleteLater()
            self._fit()

    def _fit(self) -> None:
        for toast in self._toasts:
            toast.fit(min(TOAST_WIDTH_MAX, self._window.width() - 2 * MARGIN))
        self._room.setVisible(bool(self._toasts))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LanguageChange:
            for toast in self._toasts:
                toast.write()
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LanguageChange):
            self._fit()
        return super().eventFilter(watched, event)

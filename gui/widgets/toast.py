"""Toasts: short notices at the bottom right. At most three, six seconds each; errors stay until closed.

The lowest covers only the status bar and the margin of the page while its text fits in one line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFrame, QGraphicsDropShadowEffect, QWidget

from gui.theme.manager import ThemeManager
from gui.theme.tokens import STATE_GLYPHS, State
from gui.widgets.basic import IconButton, IconLabel, label, row
from gui.words.text import Words, said, tr

TOASTS_MAX = 3
TOAST_MS = 6_000
NOTICES_KEPT = 100
TOAST_WIDTH_MAX = 560
"""A longer text takes further lines."""
MARGIN = 16
WRAPPED_MARGIN = 8
"""Margin above and below several lines, which otherwise fill the toast."""
BOTTOM, APART = 3, 6
"""Px below the lowest toast, and between two."""


@dataclass(frozen=True, slots=True)
class KeptNotice:
    """A notice as the bell lists it."""

    words: Words
    state: State
    at: datetime

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
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(40)
        shadow.setOffset(0, 8)
        shadow.setColor(QColor(0, 0, 0, 140 if theme.tokens.dark else 56))
        self.setGraphicsEffect(shadow)

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
        self.resize(width, max(self.minimumSizeHint().height(), self.heightForWidth(width)))


def _token_of(state: State) -> str:
    return "delayed" if state is State.INFO else "text_2" if state is State.PLAIN else state.value


class ToastStack(QObject):
    """Shows toasts over a window and keeps their texts for the bell; they end left of ``beside``, or at the window's edge."""

    def __init__(self, theme: ThemeManager, window: QWidget, beside: QWidget | None = None) -> None:
        super().__init__(window)
        self._beside = beside
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
        toast = Toast(self._theme, words, self._window, state=state, action=action, on_action=on_action)
        toast.close_button.clicked.connect(lambda _checked=False: self._close(toast))
        self._toasts.append(toast)
        while len(self._toasts) > TOASTS_MAX:
            self._close(self._toasts[0])
        if state is not State.CRITICAL:
            timer = QTimer(toast, singleShot=True)
            timer.timeout.connect(lambda: self._close(toast))
            timer.start(TOAST_MS)
        toast.show()
        self._place()

    def keep(self, words: Words, state: State) -> None:
        """Keep a notice under the bell without showing or counting it."""
        self.kept = [KeptNotice(words, state, datetime.now().astimezone()), *self.kept][:NOTICES_KEPT]

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
            self._place()

    def _place(self) -> None:
        right = self._window.width() - MARGIN
        if self._beside is not None:
            right = self._beside.mapTo(self._window, QPoint()).x() - APART
        bottom = self._window.height() - BOTTOM
        for toast in reversed(self._toasts):
            toast.fit(min(TOAST_WIDTH_MAX, self._window.width() - 2 * MARGIN))
            toast.move(max(MARGIN, right - toast.width()), bottom - toast.height())
            toast.raise_()
            bottom -= toast.height() + APART

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LanguageChange:
            for toast in self._toasts:
                toast.write()
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LanguageChange):
            self._place()
        return super().eventFilter(watched, event)

"""`FilterEdit`: one line of the filter language with colours, completion, and the marked place of an error."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QCompleter, QListView

from gui.models.filter_text import Completion, PieceKind, Vocabulary, completion, pieces
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import mark_fault
from gui.theme.tokens import Size, Tokens
from gui.widgets.long_text import LongTextEdit

CHECK_DELAY_MS = 200
_TAKES_WORD = (Qt.Key.Key_Enter, Qt.Key.Key_Return, Qt.Key.Key_Tab)
_POPUP_WIDTH_MIN = 200
_POPUP_WIDTH_MAX = 520
_COLOURS = {
    PieceKind.FIELD: "accent",
    PieceKind.JOINER: "checking",
    PieceKind.OPERATOR: "text_2",
    PieceKind.TEXT: "committed",
    PieceKind.NUMBER: "delayed",
    PieceKind.BRACKET: "text_2",
    PieceKind.OTHER: "critical",
}


class _Highlighter(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument, tokens: Tokens) -> None:
        super().__init__(document)
        self._tokens = tokens
        self._fault = (-1, 0)

    def use(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self.rehighlight()

    def mark(self, start: int, length: int) -> None:
        """Underline a place; a negative start underlines none."""
        if (start, length) != self._fault:
            self._fault = (start, length)
            self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        formats: dict[PieceKind, QTextCharFormat] = {}
        for kind, name in _COLOURS.items():
            formats[kind] = QTextCharFormat()
            formats[kind].setForeground(QColor(str(getattr(self._tokens, name))))
        start, length = self._fault
        for piece in pieces(text):
            self.setFormat(piece.start, piece.end - piece.start, formats[piece.kind])
        if start >= 0:
            wrong = QTextCharFormat()
            wrong.setForeground(QColor(self._tokens.critical))
            wrong.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            wrong.setUnderlineColor(QColor(self._tokens.critical))
            self.setFormat(start, max(length, 1), wrong)


class FilterEdit(LongTextEdit):
    """See the module. Enter submits, Ctrl+Space completes, Escape closes the list or gives the text up.

    Signals:
        submitted: Enter; carries the text.
        plan_wanted: Ctrl+Enter; carries the text.
        paused: Typing paused: the text may be checked.
        given_up: Escape, with no list open.
        stepped: Alt+Up (-1) or Alt+Down (1): show another filter of the history.
    """

    EDITED_LINE_MAX = 20_000  # the language takes no more

    submitted = Signal(str)
    plan_wanted = Signal(str)
    paused = Signal()
    given_up = Signal()
    stepped = Signal(int)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(editable=True)
        self.vocabulary = Vocabulary()
        self._shown = ""
        self._completion = Completion(0, 0, ())
        self._highlighter = _Highlighter(self.document(), theme.tokens)
        self._words = QStringListModel(self)
        self.completer = QCompleter(self._words, self)
        self.popup = QListView()
        self.popup.setFont(mono_font())
        theme.dress(self.popup)
        self.completer.setPopup(self.popup)
        self.completer.setWidget(self)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer.activated.connect(self._complete)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(CHECK_DELAY_MS)
        self._pause.timeout.connect(self.paused)
        self.setFont(mono_font())
        self.setLineWrapMode(LongTextEdit.LineWrapMode.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        self.setFixedHeight(Size.CONTROL)
        self.setProperty("role", "filter")
        self.textChanged.connect(self._changed)
        theme.changed.connect(self._highlighter.use)

    @property
    def text(self) -> str:
        return self.toPlainText()

    def set_text(self, text: str) -> None:
        """Show another filter, cursor at its end."""
        self.setPlainText(" ".join(text.splitlines()))
        self.moveCursor(QTextCursor.MoveOperation.End)

    def mark(self, start: int, length: int = 0) -> None:
        """Mark the fault of the text; a negative start: none."""
        self._highlighter.mark(start, length)
        mark_fault(self, start >= 0)

    def offer(self, *, typing: bool = False) -> None:
        """Open the list of completions at the cursor, if there are any.

        While the user types it opens only within a word, with an entry selected, so that Enter after a complete filter submits.
        """
        self._completion = completion(self.text, self.textCursor().position(), self.vocabulary)
        is_begun = self._completion.start < self._completion.end
        popup = self.popup
        if not self._completion.words or (typing and not is_begun):
            popup.hide()
            return
        self._words.setStringList(list(self._completion.words))
        popup.setCurrentIndex(self.completer.completionModel().index(0, 0))
        rect = self.cursorRect()
        width = popup.sizeHintForColumn(0) + 2 * Size.GAP
        rect.setWidth(min(max(width, _POPUP_WIDTH_MIN), _POPUP_WIDTH_MAX))
        self.completer.complete(rect)

    def _complete(self, word: str) -> None:
        cursor = self.textCursor()
        cursor.setPosition(self._completion.start)
        cursor.setPosition(self._completion.end, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(word if word.endswith(".") or word == "(" else f"{word} ")
        self.setTextCursor(cursor)

    def _changed(self) -> None:
        text = self.text
        if text == self._shown:
            return  # only its colours changed
        self._shown = text
        if "\n" in text:  # pasted, or dropped
            self.set_text(text)
        self.mark(-1)
        self._pause.start()

    def event(self, event: QEvent) -> bool:
        is_tab = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_Tab
        if is_tab and self.popup.isVisible() and self.popup.currentIndex().isValid():
            event.ignore()  # for the list of completions; Tab would move the focus
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        is_open = self.popup.isVisible()
        if is_open and (key == Qt.Key.Key_Escape or (key in _TAKES_WORD and self.popup.currentIndex().isValid())):
            event.ignore()  # for the list
            return
        if key in (Qt.Key.Key_Enter, Qt.Key.Key_Return):
            self.popup.hide()
            plan_only = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
            (self.plan_wanted if plan_only else self.submitted).emit(self.text.strip())
        elif key == Qt.Key.Key_Escape:
            self.given_up.emit()
        elif modifiers & Qt.KeyboardModifier.ControlModifier and key == Qt.Key.Key_Space:
            self.offer()
        elif modifiers & Qt.KeyboardModifier.AltModifier and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.stepped.emit(-1 if key == Qt.Key.Key_Up else 1)
        else:
            super().keyPressEvent(event)
            if event.text() or is_open:
                self.offer(typing=True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.popup.hide()

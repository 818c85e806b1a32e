"""`TokenField`: a search field that shows its conditions as chips and offers completions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QFrame, QLineEdit, QListView, QMenu, QWidget

from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.style import mark_fault, repolish
from gui.theme.tokens import Size
from gui.widgets.basic import IconButton, row
from gui.widgets.inputs import SEARCH_DELAY_MS
from gui.widgets.popups import new_menu
from gui.widgets.said import on_language, said_button
from gui.words.plain_text import button_text, tip_text
from gui.words.text import tr

TOKENS_MAX = 6
"""Most chips; further conditions stay in the text."""
_TEXT_WIDTH_MIN = 110
_POPUP_WIDTH_MIN = 180
_TAKES_WORD = (Qt.Key.Key_Enter, Qt.Key.Key_Return, Qt.Key.Key_Tab)

Offer = tuple[str, Sequence[str]]
"""Title and words of a submenu."""


class TokenField(QFrame):
    """Knows no grammar: its owner passes functions that split a text, recognise conditions and complete words.

    Signals:
        searched: The text changed and typing paused, or Enter was pressed; carries all of it.
    """

    searched = Signal(str)

    def __init__(
        self,
        theme: ThemeManager,
        *,
        words: Callable[[str], list[str]],
        is_condition: Callable[[str], bool],
        offers: Callable[[str], list[str]],
        menu: Callable[[], Sequence[Offer]],
    ) -> None:
        """Create an empty field.

        Args:
            theme: Colours.
            words: Splits a text.
            is_condition: Whether a complete word becomes a chip.
            offers: Completions of a word.
            menu: All conditions, for users who do not type.
        """
        super().__init__()
        self.setProperty("role", "tokens")
        self._theme = theme
        self._words, self._is_condition, self._offers, self._menu = words, is_condition, offers, menu
        self._conditions: list[str] = []
        self.chips: list[IconButton] = []
        self.add_button = said_button(theme, "funnel", tip="Add a condition", role="icon", on_click=self.open_menu)
        self.edit = QLineEdit()
        self.edit.setProperty("role", "bare")
        self.edit.setMinimumWidth(_TEXT_WIDTH_MIN)
        self.clear_button = said_button(theme, "x", tip="Clear the filter", role="icon", on_click=self._clear_clicked)
        self.setFixedHeight(Size.CONTROL)
        self._line = row(self.add_button, (self.edit, 1), self.clear_button, spacing=4, margins=(2, 0, 2, 0))
        self.setLayout(self._line)
        self._completer = self._make_completer()
        self._pause = QTimer(self, singleShot=True, interval=SEARCH_DELAY_MS)
        self._pause.timeout.connect(self._tell)
        self.edit.installEventFilter(self)
        self.edit.textChanged.connect(lambda _text: self._pause.start())
        self.edit.textEdited.connect(lambda _text: self._edited())
        self.edit.returnPressed.connect(self._entered)
        on_language(self, self._show_chips)

    # ---- as a text field -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The conditions, then the typed text."""
        return " ".join(filter(None, (*self._conditions, self.edit.text().strip())))

    def setText(self, text: str) -> None:
        """Set the text; its conditions become chips."""
        self._conditions = []
        self._take_in(text)

    def clear(self) -> None:
        self.setText("")

    def setPlaceholderText(self, text: str) -> None:
        self.edit.setPlaceholderText(text)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self.edit.setAccessibleName(name)

    # ---- what its owner calls ------------------------------------------------------------------------------------------

    def add(self, condition: str) -> None:
        if condition not in self._conditions:
            self._take_in(" ".join(filter(None, (condition, self.edit.text()))))
            self._tell()

    def show_fault(self, words: str) -> None:
        """Mark the text as invalid with the reason; empty: valid."""
        self.setToolTip(tip_text(words))
        mark_fault(self, words)

    # ---- chips ---------------------------------------------------------------------------------------------------------

    def _take_in(self, text: str) -> None:
        """Make chips of the conditions of a text; the rest stays in the field."""
        rest = []
        for word in self._words(text):
            is_new = self._is_condition(word) and len(self._conditions) < TOKENS_MAX
            if not is_new:
                rest.append(word)
            elif word not in self._conditions:
                self._conditions.append(word)
        left = " ".join(rest)
        if left != self.edit.text().strip():
            self.edit.setText(left)
        self._show_chips()

    def _show_chips(self) -> None:
        for chip in self.chips:
            self._line.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self.chips = [self._chip(condition) for condition in self._conditions]
        for place, chip in enumerate(self.chips, start=1):
            self._line.insertWidget(place, chip)
        way = [self.add_button, *self.chips, self.edit, self.clear_button]
        for before, after in pairwise(way):
            QWidget.setTabOrder(before, after)
        self.clear_button.setVisible(bool(self.text()))

    def _chip(self, condition: str) -> IconButton:
        chip = IconButton(self._theme, "x", button_text(condition), role="token")
        words = tr("Leave out: {condition}", condition=condition)
        chip.setToolTip(tip_text(words))
        chip.setAccessibleName(words)
        chip.clicked.connect(partial(self._leave_out, condition))
        return chip

    def _leave_out(self, condition: str, _checked: bool = False) -> None:
        self._conditions.remove(condition)
        self._show_chips()
        self.edit.setFocus()
        self._tell()

    def _clear_clicked(self) -> None:
        self.clear()
        self.edit.setFocus()
        self._tell()

    # ---- typing --------------------------------------------------------------------------------------------------------

    def _edited(self) -> None:
        text = self.edit.text()
        if text.endswith(" "):
            self._take_in(text)
        self.clear_button.setVisible(bool(self.text()))
        self._offer()

    def _entered(self) -> None:
        self._take_in(self.edit.text())
        self._tell()

    def _tell(self) -> None:
        self._pause.stop()
        self.searched.emit(self.text())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.edit and event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.setProperty("typing", "true" if event.type() == QEvent.Type.FocusIn else "")
            repolish(self)
        if watched is self.edit and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._takes(event)
        return super().eventFilter(watched, event)

    def _takes(self, event: QKeyEvent) -> bool:
        """Whether a key does something else than typing."""
        key = event.key()
        if key == Qt.Key.Key_Escape and self.text():
            self.clear()
            self._tell()
            return True
        if key == Qt.Key.Key_Backspace and self._conditions and not self.edit.text():
            self.edit.setText(self._conditions.pop())
            self._show_chips()
            return True
        if key == Qt.Key.Key_Space and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._offer(asked=True)
            return True
        return False

    # ---- what may follow -----------------------------------------------------------------------------------------------

    def _make_completer(self) -> QCompleter:
        completer = QCompleter(QStringListModel(self), self)
        popup = QListView()
        popup.setFont(mono_font())
        self._theme.dress(popup)
        completer.setPopup(popup)
        completer.setWidget(self.edit)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        completer.activated.connect(self._complete)
        popup.installEventFilter(_TakesWord(popup, self._complete))
        return completer

    def _begun(self) -> str:
        """The word before the cursor."""
        words = self._words(self.edit.text()[: self.edit.cursorPosition()])
        return words[-1] if words and self.edit.text()[: self.edit.cursorPosition()].endswith(words[-1]) else ""

    def _offer(self, *, asked: bool = False) -> None:
        begun = self._begun()
        offered = [word for word in self._offers(begun) if word != begun] if begun or asked else []
        model = self._completer.model()
        assert isinstance(model, QStringListModel)
        model.setStringList(offered)
        popup = self._completer.popup()
        if not offered or popup is None:
            if popup is not None:
                popup.hide()
            return
        area = self.edit.cursorRect()
        area.setWidth(max(_POPUP_WIDTH_MIN, popup.sizeHintForColumn(0) + 24))
        self._completer.complete(area)
        popup.setCurrentIndex(model.index(-1, 0))

    def _complete(self, word: str) -> None:
        before = self.edit.text()[: self.edit.cursorPosition()].removesuffix(self._begun())
        after = self.edit.text()[self.edit.cursorPosition() :]
        if self._is_condition(word):
            self._take_in(f"{before}{word}{after}")
            self._tell()
            return
        self.edit.setText(f"{before}{word}{after}")
        self.edit.setCursorPosition(len(before) + len(word))
        self._offer()

    def open_menu(self) -> QMenu:
        menu = new_menu(self)
        for title, words in self._menu():
            part = menu.addMenu(tr(title))
            for word in words:
                part.addAction(button_text(word), partial(self.add, word))
        menu.popup(self.add_button.mapToGlobal(self.add_button.rect().bottomLeft()))
        return menu


class _TakesWord(QObject):
    """Makes Tab take the marked word of the list, as Enter does."""

    def __init__(self, popup: QListView, take: Callable[[str], None]) -> None:
        super().__init__(popup)
        self._popup = popup
        self._take = take

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _TAKES_WORD:
            index = self._popup.currentIndex()
            if index.isValid():
                self._popup.hide()
                self._take(str(index.data()))
                return True
        return super().eventFilter(watched, event)

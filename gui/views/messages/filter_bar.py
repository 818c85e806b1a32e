"""`FilterBar`: the one filter of messages, for browsing, searching and following, in the filter language.

Typed text is checked by the parser of the search. Conditions are shown below as chips; recent and saved filters are in menus.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QInputDialog, QPushButton, QWidget

from broker_core.api import OrbitError, UsageError, parse_filter
from gui.models.filter_text import Clause, clauses, narrowed, with_brokers, without
from gui.operations.filter_memory import FilterMemory
from gui.operations.known_names import KnownNames
from gui.theme.manager import ThemeManager
from gui.views.messages.filter_edit import FilterEdit
from gui.widgets.basic import ElidedLabel, IconButton, column, fill, row, take_out
from gui.widgets.popups import ask_name, new_menu
from gui.widgets.said import on_language, said, said_button
from gui.widgets.saved_menu import add_saved, menu_text
from gui.words.error_words import error_text
from gui.words.plain_text import tip_text
from gui.words.text import QueueText, tr

CHIPS_MAX = 8
_CHIP_CHARACTERS_MAX = 48
_MENU_FILTERS_MAX = 20
EXAMPLE = 'topic = "orders" and tag = "PAID" and body contains "4711" and stored >= -2h'


class FilterBar(QWidget):
    """See the module.

    Signals:
        submitted: Enter or a chosen filter, and it is valid; carries its text, which may be empty.
        plan_wanted: Ctrl+Enter, and it is valid: only the plan is asked for.
        edited: The text changed, and is valid or empty; carries it.
    """

    submitted = Signal(str)
    plan_wanted = Signal(str)
    edited = Signal(str)

    def __init__(
        self,
        theme: ThemeManager,
        memory: FilterMemory,
        queue_text: QueueText = str,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        example: str = EXAMPLE,
    ) -> None:
        """Create an empty bar.

        Args:
            theme: Colours.
            memory: Filters used before.
            queue_text: Writes a queue in the chips.
            now_ms: The time from which times like -15m count.
            example: The placeholder.
        """
        super().__init__()
        self._theme = theme
        self._memory = memory
        self._queue_text = queue_text
        self._now_ms = now_ms
        self._history_place = -1
        self._told = ""
        self.edit = said(
            FilterEdit(theme),
            tip="Enter searches, Ctrl+Enter shows the plan only, Ctrl+Space completes, Alt+Up recalls",
            name="Filter",
        )
        self.edit.setPlaceholderText(example)
        self.saved_button = said_button(theme, "tag", role="icon-box", on_click=self._open_saved, tip="Saved filters")
        self.history_button = said_button(
            theme, "clock", role="icon-box", on_click=self._open_history, tip="Filters used before"
        )
        self.fault = ElidedLabel(role="warning")
        self.fault.hide()
        self.chips: list[QPushButton] = []
        self._chip_line = row(0, spacing=6)
        self._chip_row = QWidget()
        self._chip_row.setLayout(self._chip_line)
        self._chip_row.hide()
        lines = column(spacing=6)
        self.setLayout(lines)
        self.line = row((self.edit, 1), self.saved_button, self.history_button)
        fill(lines, self.line, self.fault, self._chip_row)
        self.edit.submitted.connect(lambda _text: self.submit())
        self.edit.plan_wanted.connect(lambda _text: self.submit(plan_only=True))
        self.edit.paused.connect(self._typed)
        self.edit.given_up.connect(lambda: self.set_text(""))
        self.edit.stepped.connect(self._step)
        on_language(self, self._show_chips)

    @property
    def text(self) -> str:
        """The entered text, valid or not."""
        return self.edit.text.strip()

    def set_text(self, text: str) -> None:
        """Show another filter without submitting it."""
        self.edit.set_text(text)
        self._typed()

    def add_condition(self, condition: str) -> None:
        """Add a condition and submit."""
        self.set_text(narrowed(self.text, condition))
        self.submit()

    def use_names(self, names: KnownNames) -> None:
        """Complete with these names, also with later ones."""

        def offer() -> None:
            self.edit.vocabulary = names.vocabulary

        names.changed.connect(offer)
        offer()

    def submit(self, *, plan_only: bool = False) -> None:
        """Emit the filter if it is valid, else show its fault."""
        text = self.text
        if not self.check():
            return
        if text:
            self._memory.used(text)
        self._history_place = -1
        (self.plan_wanted if plan_only else self.submitted).emit(text)

    def check(self) -> bool:
        """Whether the filter is empty or valid; a fault is marked in the text and shown below."""
        try:
            if self.text:
                parse_filter(self.edit.text, now_ms=self._now_ms())
        except UsageError as error:
            self.show_fault(error)
            return False
        self.show_fault(None)
        return True

    def show_fault(self, error: OrbitError | None) -> None:
        """Show the fault of the filter, and mark its place if the error has one."""
        self.fault.setVisible(error is not None)
        self.fault.setText("" if error is None else error_text(error))
        position, length = (error.context.get("position"), error.context.get("length")) if error is not None else (None, None)
        self.edit.mark(position if isinstance(position, int) else -1, length if isinstance(length, int) else 0)

    def focus(self) -> None:
        self.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.edit.selectAll()

    def _typed(self) -> None:
        self._show_chips()
        if self.check() and self.text != self._told:
            self._told = self.text
            self.edited.emit(self.text)

    def _step(self, by: int) -> None:
        history = self._memory.history
        place = min(max(self._history_place - by, -1), len(history) - 1)
        if place != self._history_place:
            self._history_place = place
            self.edit.set_text(history[place] if place >= 0 else "")

    def _show_chips(self) -> None:
        parts = clauses(self.text)
        take_out(self._chip_line, *self.chips)
        shown = parts[:CHIPS_MAX] if len(parts) > 1 else []
        self.chips = [self._chip(clause) for clause in shown]
        for place, chip in enumerate(self.chips):
            self._chip_line.insertWidget(place, chip)
        self._chip_row.setVisible(bool(self.chips))

    def _chip(self, clause: Clause) -> QPushButton:
        chip = IconButton(
            self._theme, "x", menu_text(with_brokers(clause.text, self._queue_text), _CHIP_CHARACTERS_MAX), role="small"
        )
        chip.setToolTip(tip_text(tr("Leave out: {condition}", condition=clause.text)))
        chip.clicked.connect(lambda: self._leave_out(clause))
        return chip

    def _leave_out(self, clause: Clause) -> None:
        self.set_text(without(self.text, clause))
        self.submit()

    def _open_history(self) -> None:
        menu = new_menu(self)
        history = self._memory.history
        for text in history[:_MENU_FILTERS_MAX]:
            menu.addAction(menu_text(text), partial(self._choose, text)).setToolTip(tip_text(text))
        if history:
            menu.addSeparator()
            menu.addAction(tr("Forget them"), self._memory.clear_history)
        else:
            menu.addAction(tr("No filter was used yet")).setEnabled(False)
        menu.popup(self.history_button.mapToGlobal(self.history_button.rect().bottomLeft()))

    def _open_saved(self) -> None:
        menu = new_menu(self)
        save = menu.addAction(tr("Save this filter…"), self.ask_name)
        save.setEnabled(bool(self.text) and self.check())
        saved = self._memory.saved.all
        add_saved(menu, saved, lambda name: self._choose(saved[name]), self._memory.saved.forget)
        if not saved:
            menu.addAction(tr("No filter is saved yet")).setEnabled(False)
        menu.popup(self.saved_button.mapToGlobal(self.saved_button.rect().bottomLeft()))

    def ask_name(self) -> QInputDialog:
        text = tr("Name of the filter; one of the same name is replaced")
        return ask_name(self, tr("Save this filter…"), text, self.text, self._save)

    def _save(self, name: str) -> None:
        if not self._memory.saved.save(name, self.text):
            self.show_fault(UsageError(tr("There are too many saved filters: forget one first")))

    def _choose(self, text: str) -> None:
        self.set_text(text)
        self.submit()

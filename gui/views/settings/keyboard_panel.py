"""The keyboard section: every action with its key, which can be changed, cleared and reset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QKeySequenceEdit

from gui.models.row_filter import with_words
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.key_choices import KeyChoices, shown
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.widgets.basic import fill, label, row, show_text
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, push_button, said, said_label
from gui.words.text import UNKNOWN, tr

FIELD_WIDTH = 190


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An action and its key; texts in the language of the window."""

    action_id: str
    section: str
    text: str
    key: str
    shipped: str
    is_changed: bool


def key_columns() -> list[Column[KeyRow]]:
    return [
        Column("action", "Action", lambda one: one.text, kind=CellKind.STRONG),
        Column("menu", "Menu", lambda one: one.section, dim=True, width=110),
        Column("key", "Shortcut", lambda one: shown(one.key) or UNKNOWN, kind=CellKind.MONO, width=170,
               state=lambda one: State.INFO if one.is_changed else None),
        Column("shipped", "Key at first", lambda one: shown(one.shipped) or UNKNOWN, kind=CellKind.MONO, dim=True, width=150),
    ]  # fmt: skip


class KeyboardPanel(Panel):
    """Changes apply at once, also in menus and on the sheet; a taken key is refused with the action that has it."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ", flush=True)
        self._actions = context.actions
        self.choices = KeyChoices(context.actions, context.settings)
        self.search = said(SearchField(context.theme, " ", "magnifying-glass"), hint="Filter by action, menu or key")
        self.rows = ColumnTableModel(key_columns(), lambda one: one.action_id, parent=self)
        self.grid = said(DataGrid(self.rows, context.theme), empty="No action matches this filter.")
        self.field = said(QKeySequenceEdit(), name="New key: press it")
        self.field.setMaximumSequenceLength(1)
        self.field.setFixedWidth(FIELD_WIDTH)
        self.sheet = push_button("Show the keyboard shortcuts", lambda: self._actions.run("help.shortcuts"))
        self.change_button = push_button("Change the key", self.change)
        self.clear_button = push_button("No key", self.clear)
        self.reset_button = push_button("Reset the key", self.reset)
        self.reset_all_button = push_button("Reset all keys", self.reset_all)
        self.fault = label(role="warning", wrap=True)
        self.note = said_label(
            "Choose an action, click into the field, press the new key, and change it. It counts at once.", "caption", wrap=True
        )
        self.add_action(self.sheet, self.reset_all_button)
        fill(self.content, row(self.search, margins=(8, 0, 8, 8)), (self.grid, 1))
        buttons = row(self.field, self.change_button, self.clear_button, self.reset_button, 1, margins=(12, 8, 12, 0))
        fill(self.content, buttons, row(self.fault, margins=(12, 0, 12, 0)), row(self.note, margins=(12, 0, 12, 10)))
        self.search.searched.connect(self._filter)
        self.grid.selected.connect(lambda _row: self._show_selected())
        self.grid.activated.connect(lambda _row: self.field.setFocus(Qt.FocusReason.OtherFocusReason))
        self.field.keySequenceChanged.connect(lambda _keys: self._check())
        self._actions.changed.connect(self.refresh)
        said(self, title="Keyboard", subtitle="keys of the whole window; those of lists are on the sheet")
        on_language(self, self.refresh)

    def refresh(self) -> None:
        self.rows.set_rows(
            KeyRow(
                action.action_id,
                tr(action.section),
                action.text,
                action.shortcut,
                self._actions.shipped_key(action.action_id),
                self.choices.is_changed(action.action_id),
            )
            for action in self._actions.actions()
        )
        self.grid.select_first()
        self.reset_all_button.setEnabled(bool(self.choices.kept()))
        self._show_selected()

    def change(self) -> None:
        """Assign the key in the field to the selected action."""
        self._done(lambda action_id: self.choices.change(action_id, self._wanted))

    def clear(self) -> None:
        """Remove the key of the selected action."""
        self._done(lambda action_id: self.choices.change(action_id, ""))

    def reset(self) -> None:
        """Restore the default key of the selected action."""
        self._done(self.choices.reset)

    def reset_all(self) -> None:
        """Restore the default keys of all actions."""
        self.choices.reset_all()
        self.field.clear()

    @property
    def _wanted(self) -> str:
        return self.field.keySequence().toString(QKeySequence.SequenceFormat.PortableText)

    def _done(self, act: Callable[[str], str]) -> None:
        chosen = self.grid.selected_row
        if chosen is None:
            return
        refusal = act(chosen.action_id)
        if not refusal:
            self.field.clear()
        self._show_fault(refusal)

    def _filter(self, text: str) -> None:
        self.rows.set_filter(with_words(text, lambda one: f"{one.text} {one.section} {one.key} {shown(one.key)}"))
        self.grid.select_first()

    def _show_selected(self) -> None:
        chosen = self.grid.selected_row
        self.clear_button.setEnabled(chosen is not None and bool(chosen.key))
        self.reset_button.setEnabled(chosen is not None and chosen.is_changed)
        self._check()

    def _check(self) -> None:
        """Show why the key in the field cannot be used."""
        chosen, wanted = self.grid.selected_row, self._wanted
        refusal = self.choices.refusal(chosen.action_id, wanted) if chosen is not None and wanted else ""
        self.change_button.setEnabled(chosen is not None and bool(wanted) and not refusal)
        self._show_fault(refusal)

    def _show_fault(self, refusal: str) -> None:
        show_text(self.fault, refusal)

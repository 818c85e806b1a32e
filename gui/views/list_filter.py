"""`ListFilter`: a search field and a choice above a table, and which rows pass both; `ColumnsButton`: its columns as a menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from gui.models.row_filter import (
    FaultKind,
    FilterFault,
    RowField,
    RowFilter,
    RowTerm,
    condition_text,
    offers,
    quoted_word,
    read_row_filter,
    with_words,
    words_of,
)
from gui.models.table import ColumnTableModel
from gui.theme.manager import ThemeManager
from gui.widgets.basic import ElidedLabel, IconButton, column, fill, row, show_text
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField, SegmentedControl
from gui.widgets.said import on_language, said
from gui.widgets.token_field import TokenField
from gui.words.text import UNKNOWN, count_text, tr

R = TypeVar("R")
VALUES_OFFERED_MAX = 12
"""Values of a field in the menu of conditions; typing finds the others."""
_FAULTS = {
    FaultKind.FIELD: "There is no {field} here. There are: {known}.",
    FaultKind.VALUE: "{field} is compared with a value such as {example}.",
    FaultKind.OPERATOR: "{field} is a text: write {field}:{example} for a part of it, {field}={example} for the whole.",
}


class ListFilter(QWidget, Generic[R]):
    """Filters a `ColumnTableModel`. The first choice accepts every row.

    Signals:
        changed: Other rows pass; the model is already filtered.
    """

    changed = Signal()

    def __init__(
        self,
        theme: ThemeManager,
        model: ColumnTableModel[R],
        choices: Mapping[str, str],
        hint: str,
        *,
        accepts: Callable[[R, str], bool | None],
        text_of: Callable[[R], str],
        fields: Sequence[RowField[R]] = (),
    ) -> None:
        """Create the line.

        Args:
            theme: Colours.
            model: The filtered model.
            choices: Key → English name with ``{count}``.
            hint: English placeholder of the search field.
            accepts: Whether a row passes a choice, by its key, None if that is unknown; not called for the first choice.
            text_of: Searched text of a row; all words must occur in it, in any case.
            fields: Conditions on rows (`gui.models.row_filter`); empty: words only.
        """
        super().__init__()
        self._model = model
        self._choices = choices
        self._accepts = accepts
        self._text_of = text_of
        self._fields = fields
        self._read: RowFilter[R] = RowFilter()
        self.is_known = False
        """Whether the rows were read; before that no counts are shown."""
        self.search: SearchField | TokenField = self._token_field(theme) if fields else SearchField(theme, " ", "funnel")
        self.fault = ElidedLabel(role="warning")
        self.fault.hide()
        self.choice = SegmentedControl([(key, " ") for key in choices])
        lines = column(spacing=4)
        self.setLayout(lines)
        self._line = row((self.search, 1), self.choice)
        fill(lines, self._line, self.fault)
        self.search.searched.connect(self._searched)
        self.choice.chosen.connect(lambda _key: self.apply())
        said(self.search, hint=hint)
        on_language(self, self._show_faults)

    def add_action(self, *widgets: QWidget) -> None:
        """Put buttons at the end of the line."""
        for widget in widgets:
            self._line.addWidget(widget)

    @property
    def is_active(self) -> bool:
        """Whether some rows may be left out."""
        return bool(self._read.terms) or self.choice.current != self._all

    @property
    def _all(self) -> str:
        return next(iter(self._choices))

    def search_for(self, text: str) -> None:
        """Search for a text, as if it was typed."""
        self.search.setText(text)
        self._searched(text)

    def show_all(self) -> None:
        self.search.clear()
        self._take("")
        self.choice.choose(self._all)
        self.apply()

    def focus(self) -> None:
        field = self.search.edit if isinstance(self.search, TokenField) else self.search
        field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        field.selectAll()

    def apply(self) -> None:
        """Filter again, e.g. because a choice accepts other rows now."""
        self._model.set_filter(self._passes if self.is_active else None)
        self.changed.emit()

    def write_counts(self) -> None:
        """Write the number of rows into each choice."""
        rows = self._model.rows
        for key, name in self._choices.items():
            passing = [True for _row in rows] if key == self._all else [self._accepts(row, key) for row in rows]
            is_known = self.is_known and None not in passing
            self.choice.set_text(key, tr(name, count=count_text(passing.count(True)) if is_known else UNKNOWN))

    def ask_for(self, field: str, value: str, *, wanted: bool = True) -> None:
        """Add a condition on a field to the filter."""
        assert isinstance(self.search, TokenField)
        self.search.add(condition_text(field, value, wanted=wanted))

    def _searched(self, text: str) -> None:
        self._take(text)
        self.apply()

    def _take(self, text: str) -> None:
        self._read = read_row_filter(text, self._fields, self._text_of) if self._fields else _words_alone(text, self._text_of)
        self._show_faults()

    def _passes(self, one: R) -> bool:
        key = self.choice.current
        return (key == self._all or self._accepts(one, key) is True) and self._read.accepts(one)

    def _token_field(self, theme: ThemeManager) -> TokenField:
        return TokenField(
            theme, words=words_of, is_condition=self._is_condition, offers=partial(offers, fields=self._fields), menu=self._menu
        )

    def _is_condition(self, word: str) -> bool:
        terms = read_row_filter(word, self._fields, self._text_of).terms
        return bool(terms) and terms[0].is_condition

    def _menu(self) -> list[tuple[str, list[str]]]:
        found = []
        for field in self._fields:
            words = [f"{field.name}{field.sign}{quoted_word(value)}" for value in field.offered()[:VALUES_OFFERED_MAX]]
            if words:
                found.append((field.title, words))
        return found

    def _show_faults(self) -> None:
        words = "  ".join(self._fault_words(fault) for fault in self._read.faults)
        if isinstance(self.search, TokenField):
            self.search.show_fault(words)
        show_text(self.fault, words)

    def _fault_words(self, fault: FilterFault) -> str:
        known = ", ".join(field.name for field in self._fields)
        return tr(_FAULTS[fault.kind], field=fault.field, known=known, example=fault.example)


def _words_alone(text: str, text_of: Callable[[R], str]) -> RowFilter[R]:
    """All words of a text anywhere, without conditions, because names of settings contain colons."""
    accepts = with_words(text, text_of)
    return RowFilter() if accepts is None else RowFilter((RowTerm(text, is_condition=False, accepts=accepts),))


class ColumnsButton(IconButton):
    def __init__(self, theme: ThemeManager, grid: DataGrid[Any]) -> None:
        super().__init__(theme, "list", " ", caret=True, on_click=self.open_columns)
        self._grid = grid
        said(self, text="Columns", name="Columns of the table")

    def open_columns(self) -> None:
        self._grid.columns.menu(self).popup(self.mapToGlobal(self.rect().bottomLeft()))

"""`TableExport`: writes all shown rows of a table as CSV; the one way for every table of the window.

`lines_in_turns` makes the texts of rows, for it and for copies of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from PySide6.QtCore import QObject
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from broker_core.api import csv_bytes
from gui.event_loop.turns import next_turn
from gui.models.table import Column
from gui.operations.background import write_file
from gui.theme.tokens import State
from gui.widgets.popups import ask_to_save
from gui.words.error_words import kept_line
from gui.words.text import Words, count_text, tr

EXPORT_KEY = QKeySequence("Ctrl+E")
ROWS_A_TURN = 400
"""Texts of so many rows are made in one turn of the loop."""


@runtime_checkable
class Told(Protocol):
    """A page or window that shows how an export ended."""

    def tell(self, words: Words, state: State) -> None:
        """Show it."""


def lines_in_turns(owner: QObject, columns: Sequence[Column[Any]], rows: Iterable[Any], done: Callable[[Lines], None]) -> None:
    """Make the texts of rows, some in each turn of the loop; then ``done`` receives them below their titles."""
    lines: Lines = [[tr(column.title) for column in columns]]
    left = iter(rows)

    def go_on() -> None:
        made = [[column.text(row) for column in columns] for row in islice(left, ROWS_A_TURN)]
        lines.extend(made)
        if made:
            next_turn(owner, go_on)
        else:
            done(lines)

    go_on()


Lines = list[list[str]]
"""Titles and, below them, the texts of rows."""


def add_table_actions(menu: QMenu, copy: Callable[[], object], export: Callable[[], object] | None) -> None:
    """Add what can be done with a whole table to a menu; ``export`` is None where it is exported in another way."""
    menu.addAction(tr("Copy the table"), copy)
    if export is not None:
        menu.addAction(tr("Export the table as CSV…"), export)


class TableExport(QObject):
    """The export of one table. The rows are those at its begin, in their order; hidden columns are left out.

    ``make_lines`` hands what is exported to the function that it gets, at once or in later turns of the loop.
    """

    def __init__(self, table: QWidget, make_lines: Callable[[Callable[[Lines], None]], None]) -> None:
        super().__init__(table)
        self._table = table
        self._make_lines = make_lines

    def ask(self) -> QFileDialog:
        return ask_to_save(self._table, tr("Export the table"), "table.csv", self.write, ["CSV (*.csv)"])

    def write(self, path: Path) -> None:
        """Make the texts, some rows a turn, and write them off the GUI thread."""

        def write_lines(lines: Lines) -> None:
            count = count_text(len(lines) - 1)

            def done(_size: int) -> None:
                self._tell(lambda: tr("{count} rows are exported to {path}", count=count, path=path), State.HEALTHY)

            write_file(self, path, lambda: csv_bytes(lines), done, self._failed)

        self._make_lines(write_lines)

    def _failed(self, error: Exception) -> None:
        reason: Callable[[], str] = kept_line(error)
        self._tell(lambda: tr("The table was not exported: {reason}", reason=reason()), State.CRITICAL)

    def _tell(self, words: Words, state: State) -> None:
        around: QWidget | None = self._table
        while around is not None and not isinstance(around, Told):
            around = around.parentWidget()
        if around is not None:
            around.tell(words, state)

"""`TextTable`: rows of texts to read, of which only the visible ones are laid out, and of a long one its beginning."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush, QColor, QContextMenuEvent, QFont, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QTableView

from broker_core.api import tsv_text
from gui.theme.fonts import mono_font
from gui.widgets.popups import new_menu
from gui.widgets.table_export import EXPORT_KEY, Lines, TableExport, add_table_actions
from gui.words.plain_text import table_text, tip_text

MEASURED_ROWS = 50
"""Rows by which the width of a column is found."""

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()
Row = Sequence[str]


class TextTableModel(QAbstractTableModel):
    """Texts under headings; marked rows are bold on a ground of their own."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.headings: Sequence[str] = ()
        """The whole texts."""
        self._headings: Sequence[str] = ()
        self.rows: Sequence[Row] = ()
        self._marked: Collection[int] = ()
        self._ground = QBrush()
        self._bold = QFont(mono_font())
        self._bold.setBold(True)

    def set_rows(self, headings: Sequence[str], rows: Sequence[Row], marked: Collection[int], ground: QColor | None) -> None:
        """Show other rows; those with the numbers in ``marked`` are marked."""
        self.beginResetModel()
        self.headings = headings
        self._headings, self.rows, self._marked = tuple(map(table_text, headings)), rows, marked
        self._ground = QBrush() if ground is None else QBrush(ground)
        self.endResetModel()

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._headings)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        text = row[index.column()] if index.column() < len(row) else ""
        if role == Qt.ItemDataRole.DisplayRole:
            return table_text(text)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text(text) or None
        if index.row() in self._marked:
            return {Qt.ItemDataRole.BackgroundRole: self._ground, Qt.ItemDataRole.FontRole: self._bold}.get(
                Qt.ItemDataRole(role)
            )
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return self._headings[section] if section < len(self._headings) else None
        return super().headerData(section, orientation, role)


class TextTable(QTableView):
    """A read-only table in the mono font; copied and exported as every other table."""

    def __init__(self) -> None:
        super().__init__()
        self._model = TextTableModel(self)
        self.setModel(self._model)
        self.setFont(mono_font())
        self.setProperty("role", "code")
        self.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.horizontalHeader().setResizeContentsPrecision(MEASURED_ROWS)

    def set_rows(
        self, headings: Sequence[str], rows: Sequence[Row], marked: Collection[int] = (), ground: QColor | None = None
    ) -> None:
        """Show other rows; those with the numbers in ``marked`` are bold on ``ground``."""
        self._model.set_rows(headings, rows, marked, ground)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif QKeySequence(event.keyCombination()) == EXPORT_KEY:
            self.export().ask()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        """What can be done with the table."""
        made = new_menu(self)
        add_table_actions(made, self.copy_all, self.export().ask)
        return made

    def copy(self) -> None:
        """Copy the selected rows below the headings."""
        selected = sorted(index.row() for index in self.selectionModel().selectedRows())
        QGuiApplication.clipboard().setText(tsv_text(self._lines([self._model.rows[place] for place in selected])))

    def copy_all(self) -> None:
        QGuiApplication.clipboard().setText(tsv_text(self._lines(self._model.rows)))

    def export(self) -> TableExport:
        return TableExport(self, lambda done: done(self._lines(self._model.rows)))

    def _lines(self, rows: Iterable[Row]) -> Lines:
        return [list(self._model.headings), *map(list, rows)]

    @property
    def texts(self) -> Sequence[Row]:
        """The whole texts of the rows."""
        return self._model.rows

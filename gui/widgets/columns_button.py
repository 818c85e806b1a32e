"""`ColumnsButton`: a button for the menu of a table's columns, which a right click on its headings opens too."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent

from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton
from gui.widgets.data_grid import DataGrid
from gui.words.text import tr


class ColumnsButton(IconButton):
    def __init__(self, theme: ThemeManager, grid: DataGrid[Any]) -> None:
        super().__init__(theme, "list", " ", caret=True, on_click=self.open_columns)
        self._grid = grid
        self._write()

    def open_columns(self) -> None:
        self._grid.columns.menu(self).popup(self.mapToGlobal(self.rect().bottomLeft()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._write()

    def _write(self) -> None:
        self.setText(tr("Columns"))
        self.setAccessibleName(tr("Columns of the table"))

"""`ColumnsButton`: a button for the menu of a table's columns, which a right click on its headings opens too."""

from __future__ import annotations

from typing import Any

from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton
from gui.widgets.data_grid import DataGrid
from gui.widgets.said import said


class ColumnsButton(IconButton):
    def __init__(self, theme: ThemeManager, grid: DataGrid[Any]) -> None:
        super().__init__(theme, "list", " ", caret=True, on_click=self.open_columns)
        self._grid = grid
        said(self, text="Columns", name="Columns of the table")

    def open_columns(self) -> None:
        self._grid.columns.menu(self).popup(self.mapToGlobal(self.rect().bottomLeft()))

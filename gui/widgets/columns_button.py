"""`ColumnsButton`: the menu of a table's columns behind a button, for those who do not look for it at the headings."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent

from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton
from gui.widgets.data_grid import DataGrid
from gui.words.text import tr


class ColumnsButton(IconButton):
    """Opens what a click on the headings of ``grid`` with the other mouse button opens."""

    def __init__(self, theme: ThemeManager, grid: DataGrid[Any]) -> None:
        super().__init__(theme, "list", " ", caret=True, on_click=self.open_columns)
        self._grid = grid
        self._write()

    def open_columns(self) -> None:
        """Show which columns there are."""
        self._grid.columns.menu(self).popup(self.mapToGlobal(self.rect().bottomLeft()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._write()

    def _write(self) -> None:
        self.setText(tr("Columns"))
        self.setAccessibleName(tr("Columns of the table"))

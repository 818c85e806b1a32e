"""The menu of a row that is a message: what a page does with it, then copies of what the row says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from gui.models.messages import MessageRow
from gui.text import tr
from gui.widgets.data_grid import CopyFormat, DataGrid

Action = tuple[str, Callable[[], object]]
"""Title, and what it does."""


def popup_row_menu(grid: DataGrid[MessageRow], message: MessageRow, actions: Iterable[Action], at: QPoint) -> None:
    """Open the menu of a row.

    Args:
        grid: Where the row is, and is selected.
        message: The row.
        actions: Of the page.
        at: Where, on the screen.
    """
    menu = QMenu(grid)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for title, act in actions:
        menu.addAction(title, act)
    menu.addSeparator()
    add_row_copies(menu, grid, message)
    menu.popup(at)


def add_row_copies(menu: QMenu, grid: DataGrid[MessageRow], message: MessageRow) -> None:
    """Fill a menu with what of a row can be copied."""
    clipboard = QGuiApplication.clipboard()
    if message.keys:
        menu.addAction(tr("Copy keys"), partial(clipboard.setText, message.keys))
    if message.unique_key:
        menu.addAction(tr("Copy unique ID"), partial(clipboard.setText, message.unique_key))
    menu.addAction(tr("Copy row"), partial(grid.copy, CopyFormat.TSV))
    menu.addAction(tr("Copy row as JSON"), partial(grid.copy, CopyFormat.JSON))

"""The menu of a row that is a message: what a page does with it, then copies of what the row says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from gui.models.messages import MessageRow
from gui.views.acting import add_acting
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.words.text import tr


@dataclass(frozen=True, slots=True)
class Acting:
    """An entry that changes something in a cluster, and why it cannot; empty where it can."""

    title: str
    act: Callable[[], object]
    refusal: str


Action = Acting | tuple[str, Callable[[], object]]
"""Title, and what it does."""


def popup_row_menu(grid: DataGrid[MessageRow], message: MessageRow, actions: Iterable[Action], at: QPoint) -> None:
    """Open the menu of a row.

    Args:
        grid: Where the row is, and is selected.
        message: The row.
        actions: Of the page.
        at: Where, on the screen.
    """
    popup_menu(grid, actions, lambda menu: add_row_copies(menu, grid, message), at)


def popup_menu(grid: DataGrid[Any], actions: Iterable[Action], add_copies: Callable[[QMenu], None], at: QPoint) -> QMenu:
    """Open a menu of actions, and below them copies; it goes when it is closed."""
    menu = QMenu(grid)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for one in actions:
        if isinstance(one, Acting):
            add_acting(menu, one.title, one.act, one.refusal)
        else:
            menu.addAction(*one)
    menu.addSeparator()
    add_copies(menu)
    menu.popup(at)
    return menu


def add_row_copies(menu: QMenu, grid: DataGrid[MessageRow], message: MessageRow) -> None:
    """Fill a menu with what of a row can be copied."""
    clipboard = QGuiApplication.clipboard()
    if message.keys:
        menu.addAction(tr("Copy keys"), partial(clipboard.setText, message.keys))
    if message.unique_key:
        menu.addAction(tr("Copy unique ID"), partial(clipboard.setText, message.unique_key))
    add_grid_copies(menu, grid)


def add_grid_copies(menu: QMenu, grid: DataGrid[Any]) -> None:
    """Fill a menu with the forms in which the selected rows can be copied."""
    menu.addAction(tr("Copy rows"), partial(grid.copy, CopyFormat.TSV))
    menu.addAction(tr("Copy rows as JSON"), partial(grid.copy, CopyFormat.JSON))
    menu.addAction(tr("Copy rows as Markdown"), partial(grid.copy, CopyFormat.MARKDOWN))

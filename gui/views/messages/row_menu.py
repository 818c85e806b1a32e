"""Menus of message rows: actions of the page, then copies of the row; a cell as conditions of a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from gui.models.filter_text import quoted
from gui.models.messages import MessageRow
from gui.views.acting import add_acting
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.popups import new_menu
from gui.words.text import tr
from monitoring.payload.judging import MASK


@dataclass(frozen=True, slots=True)
class Acting:
    """An entry that changes a cluster, and why it is refused; empty where it is not."""

    title: str
    act: Callable[[], object]
    refusal: str


Action = Acting | tuple[str, Callable[[], object]]
"""Title and action."""


def popup_row_menu(grid: DataGrid[MessageRow], message: MessageRow, actions: Iterable[Action], at: QPoint) -> None:
    """Open the menu of the selected row at a global place."""
    popup_menu(grid, actions, lambda menu: add_row_copies(menu, grid, message), at)


def popup_menu(grid: DataGrid[Any], actions: Iterable[Action], add_copies: Callable[[QMenu], None], at: QPoint) -> QMenu:
    """Open a menu of actions, and below them copies; it is deleted when it closes."""
    menu = new_menu(grid)
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
    clipboard = QGuiApplication.clipboard()
    if message.keys:
        menu.addAction(tr("Copy keys"), partial(clipboard.setText, message.keys))
    if message.unique_key:
        menu.addAction(tr("Copy unique ID"), partial(clipboard.setText, message.unique_key))
    add_grid_copies(menu, grid)


def add_grid_copies(menu: QMenu, grid: DataGrid[Any]) -> None:
    """Add the formats in which the selected rows can be copied."""
    menu.addAction(tr("Copy rows"), partial(grid.copy, CopyFormat.TSV))
    menu.addAction(tr("Copy rows as JSON"), partial(grid.copy, CopyFormat.JSON))
    menu.addAction(tr("Copy rows as Markdown"), partial(grid.copy, CopyFormat.MARKDOWN))


def cell_conditions(hit: MessageRow, column: str, field_value: str | None) -> list[tuple[str, str]]:
    """Menu title and condition for and against the value of a cell; none where part of it is masked.

    ``field_value`` is the value of a field of the language; None: the column is none.
    """
    value = (column, "=", quoted(field_value)) if field_value is not None else _cell_value(hit, column)
    if value is None:
        return []
    field, operator, text = value
    if MASK in text:
        return []  # the condition would name what is hidden, or nothing
    against = "<" if operator == ">=" else "!="
    return [
        ("Filter for {condition}", f"{field} {operator} {text}"),
        ("Filter against {condition}", f"{field} {against} {text}"),
    ]


def _cell_value(hit: MessageRow, column: str) -> tuple[str, str, str] | None:
    match column:
        case "topic":
            return "topic", "=", quoted(hit.topic)
        case "tag" if hit.tag:
            return "tag", "=", quoted(hit.tag)
        case "keys" if hit.keys:
            return "key", "=", quoted(hit.keys.split(" ")[0])
        case "queue_id":
            return "queue", "=", str(hit.queue_id)
        case "queue_offset":
            return "offset", "=", str(hit.queue_offset)
        case "store_ms":
            return "stored", ">=", str(hit.store_ms)
        case "body_bytes":
            return "body_bytes", "=", str(hit.body_bytes)
    return None

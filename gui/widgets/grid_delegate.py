"""Preferred widths of the cells of `DataGrid`; `gui.widgets.row_painter` paints them."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from gui.models.table import CELL_ROLE, Cell, CellKind
from gui.theme.tokens import Size, State
from gui.widgets.paint import DOT_DIAMETER, chip_width, tag_width
from gui.widgets.row_painter import CELL_PADDING, cell_font

PAINTED_WIDTH = 90


class GridDelegate(QStyledItemDelegate):
    """Used when a double click fits a column to its cells."""

    def sizeHint(self, _option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        cell = index.data(CELL_ROLE)
        if not isinstance(cell, Cell):
            return QSize(60, Size.ROW)
        dot = DOT_DIAMETER + 8 if cell.dot else 0
        if cell.kind is CellKind.CHIP:
            return QSize(chip_width(cell.text, cell.state or State.PLAIN) + 2 * CELL_PADDING, Size.ROW)
        if cell.kind is CellKind.TAG:
            return QSize(tag_width(cell.text) + 2 * CELL_PADDING, Size.ROW)
        if cell.kind in (CellKind.SPARKLINE, CellKind.BAR, CellKind.LANE, CellKind.PIPS, CellKind.MOVE):
            return QSize(PAINTED_WIDTH, Size.ROW)
        return QSize(QFontMetrics(cell_font(cell.kind)).horizontalAdvance(cell.text) + dot + 2 * CELL_PADDING + 2, Size.ROW)

"""Paints the cells of `DataGrid`: text, chips, dots, sparklines, bars and section headings. No widgets in cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui.models.table import CELL_ROLE, Cell, CellKind, Lane, Move, Section
from gui.text import tr
from gui.theme.fonts import mono_font, text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens, mix
from gui.widgets.lane import paint_lane, paint_move, paint_pips
from gui.widgets.paint import DOT_DIAMETER, chip_width, paint_bar, paint_chip, paint_dot, paint_sparkline

CELL_PADDING = 10
MARK_SHARE = 16
"""Of a state's colour in the ground of a marked row, in percent."""


class GridDelegate(QStyledItemDelegate):
    """One delegate for all columns; what to paint is in the model's `Cell`."""

    def __init__(self, theme: ThemeManager, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.hovered_row = -1

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:  # noqa: ARG002  Qt's
        cell = index.data(CELL_ROLE)
        if not isinstance(cell, Cell):
            return QSize(60, Size.ROW)
        dot = DOT_DIAMETER + 8 if cell.dot else 0
        if cell.kind is CellKind.CHIP:
            return QSize(chip_width(cell.text, cell.state or State.PLAIN) + 2 * CELL_PADDING, Size.ROW)
        if cell.kind in (CellKind.SPARKLINE, CellKind.BAR, CellKind.LANE, CellKind.PIPS, CellKind.MOVE):
            return QSize(90, Size.ROW)
        return QSize(QFontMetrics(_font(cell)).horizontalAdvance(cell.text) + dot + 2 * CELL_PADDING + 2, Size.ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        tokens = self._theme.tokens
        box = option.rect
        state = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        cell = index.data(CELL_ROLE)
        painter.save()
        if isinstance(cell, Section):
            painter.fillRect(box, QColor(tokens.raised))
            if index.column() == 0:
                self._paint_section(painter, box, cell, tokens)
        elif isinstance(cell, Cell):
            ground = tokens.selected if selected else tokens.hover if index.row() == self.hovered_row else ""
            if not ground and cell.ground is not None:
                ground = mix(tokens.state(cell.ground), tokens.panel, MARK_SHARE)
            if ground:
                painter.fillRect(box, QColor(ground))
            self._paint_cell(painter, box.adjusted(CELL_PADDING, 0, -CELL_PADDING, 0), cell, selected=selected)
        painter.setPen(QColor(tokens.border))
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        painter.restore()

    def _paint_section(self, painter: QPainter, box: QRect, section: Section, tokens: Tokens) -> None:
        glyph = icon_pixmap(
            "caret-right" if section.folded else "caret-down", tokens.text_2, 12, painter.device().devicePixelRatioF()
        )
        painter.drawPixmap(QPoint(box.left() + CELL_PADDING, box.center().y() - 5), glyph)
        title, left = tr(section.title), box.left() + CELL_PADDING + 18
        font = text_font(Size.BODY, QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(tokens.text_1))
        painter.drawText(QRect(left, box.top(), box.width(), box.height()), Qt.AlignmentFlag.AlignVCenter, title)
        painter.setFont(text_font())
        painter.setPen(QColor(tokens.text_3))
        left += QFontMetrics(font).horizontalAdvance(title) + 6
        painter.drawText(QRect(left, box.top(), box.width(), box.height()), Qt.AlignmentFlag.AlignVCenter, str(section.count))

    def _paint_cell(self, painter: QPainter, box: QRect, cell: Cell, *, selected: bool) -> None:
        tokens = self._theme.tokens
        middle = box.center().y() + 0.5
        if cell.dot is not None:
            colour = tokens.state(cell.dot) if cell.dot is not State.IDLE else mix(tokens.idle, tokens.panel, 55)
            paint_dot(painter, box.left(), middle, colour)
            box = box.adjusted(DOT_DIAMETER + 8, 0, 0, 0)
        if cell.kind is CellKind.CHIP and cell.text:
            left = box.right() - chip_width(cell.text, cell.state or State.PLAIN) if cell.right else box.left()
            paint_chip(painter, QPointF(left, middle), cell.text, cell.state or State.PLAIN, tokens)
        elif cell.kind is CellKind.SPARKLINE and cell.value is not None:
            colour = tokens.state(cell.state) if cell.state else tokens.series[0]
            spark = QRect(box.left(), box.top() + 5, min(box.width(), 110), box.height() - 11)
            paint_sparkline(painter, spark, cast("Sequence[float]", cell.value), colour)
        elif cell.kind is CellKind.BAR and cell.value is not None:
            colour = tokens.state(cell.state) if cell.state else tokens.accent
            bar = QRectF(box.left(), middle - 3, box.width(), 6)
            paint_bar(painter, bar, float(cast("float", cell.value)), colour, tokens)
        elif cell.kind is CellKind.LANE and isinstance(cell.value, Lane):
            paint_lane(painter, QRectF(box).adjusted(0, 5, 0, -5), cell.value, cell.state or State.DELAYED, tokens)
        elif cell.kind is CellKind.MOVE and isinstance(cell.value, Move):
            paint_move(painter, QRectF(box), cell.value, tokens)
        elif cell.kind is CellKind.PIPS and cell.value is not None:
            pips = cast("tuple[int, int]", cell.value)
            self._paint_text(painter, box, replace(cell, right=True, state=None), selected=selected)
            words = QFontMetrics(_font(cell)).horizontalAdvance(cell.text) + CELL_PADDING if cell.text else 0
            paint_pips(painter, QRectF(box).adjusted(0, 0, -words, 0), pips, cell.state or State.CHECKING, tokens)
        else:
            self._paint_text(painter, box, cell, selected=selected)

    def _paint_text(self, painter: QPainter, box: QRect, cell: Cell, *, selected: bool) -> None:
        font = _font(cell)
        painter.setFont(font)
        painter.setPen(QColor(self._text_colour(cell, selected=selected)))
        side = Qt.AlignmentFlag.AlignRight if cell.right else Qt.AlignmentFlag.AlignLeft
        cut_at_end = cell.kind in (CellKind.TEXT, CellKind.CODE)
        mode = Qt.TextElideMode.ElideRight if cut_at_end else Qt.TextElideMode.ElideMiddle
        text = QFontMetrics(font).elidedText(cell.text, mode, box.width())
        painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, text)

    def _text_colour(self, cell: Cell, *, selected: bool) -> str:
        tokens = self._theme.tokens
        if cell.state is State.IDLE:
            return tokens.text_2 if selected else tokens.text_3
        if cell.state is not None and cell.state is not State.PLAIN:
            return tokens.state(cell.state)
        return tokens.text_2 if cell.dim else tokens.text_1


def _font(cell: Cell) -> QFont:
    if cell.kind in (CellKind.MONO, CellKind.CODE):
        return mono_font()
    return text_font(Size.BODY, QFont.Weight.DemiBold if cell.kind is CellKind.STRONG else QFont.Weight.Normal)

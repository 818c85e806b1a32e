"""Paints the rows of `DataGrid`: text, chips, dots, sparklines, bars and section headings. No widgets in cells.

All rows are painted at once, not cell by cell through Qt's delegate: a page of 30 rows × 8 columns takes about a third of the
time, because fonts, places and colours are looked up once for a column and Qt calls no Python for a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter
from PySide6.QtWidgets import QTableView

from gui.models.table import Cell, CellKind, Column, ColumnTableModel, Move, Section, WaitingLane
from gui.theme.fonts import mono_font, text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens, mix
from gui.widgets.lane import paint_lane, paint_move, paint_pips
from gui.widgets.paint import DOT_DIAMETER, chip_width, paint_bar, paint_chip, paint_dot, paint_sparkline, paint_tag
from gui.words.plain_text import table_text
from gui.words.text import UNKNOWN, tr

if TYPE_CHECKING:
    from broker_core.api import MarkPattern

CELL_PADDING = 10
MARK_SHARE = 16
"""Share of a state's colour in the ground of a marked row, in percent."""
FOUND_SHARE = 38
"""Share of the warning colour in the ground of search matches, in percent."""
FOUND_MAX = 20
"""Most matches marked in one cell."""
TEXTS_KEPT = 4_096
"""Size of the cache of shortened texts; a page of a wide table has some 500 cells."""
TEXT_KINDS = frozenset({CellKind.TEXT, CellKind.STRONG, CellKind.MONO, CellKind.CODE})
CUT_AT_END = frozenset({CellKind.TEXT, CellKind.CODE})


@dataclass(frozen=True, slots=True)
class _ColumnPlace:
    """A column in the viewport.

    Attributes:
        left: Left edge of its cells, in px of the viewport.
        width: Width of its cells in px.
        font: Font of its texts.
        widest: Advance in px of the widest Latin character in that font.
        flags: Alignment of its texts.
    """

    column: Column[Any]
    left: int
    width: int
    font: QFont
    widest: int
    flags: int


class RowPainter:
    def __init__(self, theme: ThemeManager) -> None:
        self._theme = theme
        self.hovered_row = -1
        self.cut: dict[str, int] = {}
        """Keys of columns whose figures did not fit at the last painting → necessary width in px."""

    def paint(self, painter: QPainter, view: QTableView, area: QRect) -> None:
        """Paint the rows that touch ``area`` of the view's viewport."""
        model = cast("ColumnTableModel[Any]", view.model())
        first, last = view.rowAt(area.top()), view.rowAt(area.bottom())
        if first < 0:
            return
        last = last if last >= 0 else model.rowCount() - 1
        places = _column_places(view, model, area)
        selection = view.selectionModel().selection()
        chosen = [(part.top(), part.bottom()) for part in (selection.at(i) for i in range(selection.count()))]
        line = _colour(self._theme.tokens.border)
        right = max((place.left + place.width for place in places), default=0)
        top = view.rowViewportPosition(first)
        for position in range(first, last + 1):
            height = view.rowHeight(position)
            row = model.shown_at(position)
            if isinstance(row, Section):
                self._paint_section(painter, QRect(-view.horizontalOffset(), top, right + view.horizontalOffset(), height), row)
            else:
                selected = any(start <= position <= end for start, end in chosen)
                self._paint_row(painter, (model, places), row, QRect(0, top, right, height), position, selected=selected)
            painter.fillRect(0, top + height - 1, right, 1, line)
            top += height

    def _paint_row(
        self,
        painter: QPainter,
        shown: tuple[ColumnTableModel[Any], list[_ColumnPlace]],
        row: object,
        box: QRect,
        position: int,
        *,
        selected: bool,
    ) -> None:
        model, places = shown
        tokens = self._theme.tokens
        ground = tokens.selected if selected else tokens.hover if position == self.hovered_row else ""
        mark = model.mark_of(row)
        if mark is not None and not ground:
            ground = mix(tokens.state(mark), tokens.panel, MARK_SHARE)
        if ground:
            painter.fillRect(box, _colour(ground))
        top, height = box.top(), box.height()
        for place in places:
            column = place.column
            left, width = place.left + CELL_PADDING, place.width - 2 * CELL_PADDING
            if mark is None and column.kind in TEXT_KINDS and column.dot is None:
                state = column.state(row) if column.state is not None else None
                colour = _text_colour(tokens, state, dim=column.dim, selected=selected)
                box_of_text, text = QRect(left, top, width, height), table_text(column.text(row))
                pattern = column.marks() if column.marks is not None else None
                if pattern is not None:
                    found = _colour(mix(tokens.warning, tokens.panel, FOUND_SHARE))
                    for part in _marked(place, _fitting(place, text, width), pattern, box_of_text):
                        painter.fillRect(part, found)
                if not _paint_text(painter, place, box_of_text, text, colour):
                    self._note_cut(place, text, width)
            else:
                cell = model.cell(row, column)
                self._paint_cell(painter, place, QRect(left, top, width, height), cell, selected=selected)

    def _paint_section(self, painter: QPainter, box: QRect, section: Section) -> None:
        tokens = self._theme.tokens
        painter.fillRect(box, _colour(tokens.raised))
        glyph = icon_pixmap(
            "caret-right" if section.folded else "caret-down", tokens.text_2, 12, painter.device().devicePixelRatioF()
        )
        painter.drawPixmap(QPoint(box.left() + CELL_PADDING, box.center().y() - 5), glyph)
        title, left = tr(section.title), box.left() + CELL_PADDING + 18
        font = text_font(Size.BODY, QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(_colour(tokens.text_1))
        painter.drawText(QRect(left, box.top(), box.width(), box.height()), Qt.AlignmentFlag.AlignVCenter, title)
        painter.setFont(text_font())
        painter.setPen(_colour(tokens.text_3))
        left += QFontMetrics(font).horizontalAdvance(title) + 6
        painter.drawText(QRect(left, box.top(), box.width(), box.height()), Qt.AlignmentFlag.AlignVCenter, str(section.count))

    def _paint_cell(self, painter: QPainter, place: _ColumnPlace, box: QRect, cell: Cell, *, selected: bool) -> None:
        tokens = self._theme.tokens
        middle = box.center().y() + 0.5
        if cell.dot is not None:
            colour = tokens.state(cell.dot) if cell.dot is not State.IDLE else mix(tokens.idle, tokens.panel, 55)
            paint_dot(painter, box.left(), middle, colour)
            box = box.adjusted(DOT_DIAMETER + 8, 0, 0, 0)
        if cell.kind is CellKind.CHIP and cell.text:
            left = box.right() - chip_width(cell.text, cell.state or State.PLAIN) if cell.right else box.left()
            paint_chip(painter, QPointF(left, middle), cell.text, cell.state or State.PLAIN, tokens)
        elif cell.kind is CellKind.TAG and cell.text != UNKNOWN:
            paint_tag(painter, QPointF(box.left(), middle), cell.text, cell.state or State.PLAIN, tokens)
        elif cell.kind is CellKind.SPARKLINE and cell.value is not None:
            colour = tokens.state(cell.state) if cell.state else tokens.series[0]
            spark = QRect(box.left(), box.top() + 5, min(box.width(), 110), box.height() - 11)
            paint_sparkline(painter, spark, cast("Sequence[float]", cell.value), colour)
        elif cell.kind is CellKind.BAR and cell.value is not None:
            colour = tokens.state(cell.state) if cell.state else tokens.accent
            bar = QRectF(box.left(), middle - 3, box.width(), 6)
            paint_bar(painter, bar, float(cast("float", cell.value)), colour, tokens)
        elif cell.kind is CellKind.LANE and isinstance(cell.value, WaitingLane):
            paint_lane(painter, QRectF(box).adjusted(0, 5, 0, -5), cell.value, cell.state or State.DELAYED, tokens)
        elif cell.kind is CellKind.MOVE and isinstance(cell.value, Move):
            paint_move(painter, QRectF(box), cell.value, tokens)
        elif cell.kind is CellKind.PIPS and cell.value is not None:
            _paint_text(painter, place, box, cell.text, _text_colour(tokens, None, dim=cell.dim, selected=selected))
            words = QFontMetrics(place.font).horizontalAdvance(cell.text) + CELL_PADDING if cell.text else 0
            pips = cast("tuple[int, int]", cell.value)
            paint_pips(painter, QRectF(box).adjusted(0, 0, -words, 0), pips, cell.state or State.CHECKING, tokens)
        else:
            colour = _text_colour(tokens, cell.state, dim=cell.dim, selected=selected)
            if not _paint_text(painter, place, box, cell.text, colour):
                self._note_cut(place, cell.text, box.width())

    def _note_cut(self, place: _ColumnPlace, text: str, width: int) -> None:
        """Record that a figure or moment did not fit into ``width`` px; names and sentences may be shortened."""
        if place.column.right or place.column.whole:
            # Rounded up and one more: Qt shortens a text that is a fraction of a pixel too wide.
            missing = ceil(QFontMetricsF(place.font).horizontalAdvance(text)) + 1 - width
            self.cut[place.column.key] = max(self.cut.get(place.column.key, 0), place.width + missing)


def cell_font(kind: CellKind) -> QFont:
    if kind in (CellKind.MONO, CellKind.CODE):
        return mono_font()
    return text_font(Size.BODY, QFont.Weight.DemiBold if kind is CellKind.STRONG else QFont.Weight.Normal)


def _column_places(view: QTableView, model: ColumnTableModel[Any], area: QRect) -> list[_ColumnPlace]:
    """The columns that touch ``area``."""
    places = []
    for i, column in enumerate(model.columns):
        left, width = view.columnViewportPosition(i), view.columnWidth(i)
        if width and left <= area.right() and left + width > area.left():
            on_right = column.right or column.kind is CellKind.PIPS
            side = Qt.AlignmentFlag.AlignRight if on_right else Qt.AlignmentFlag.AlignLeft
            flags = int(side | Qt.AlignmentFlag.AlignVCenter) | int(Qt.TextFlag.TextSingleLine)
            places.append(_ColumnPlace(column, left, width, cell_font(column.kind), _widest(column.kind), flags))
    return places


def _paint_text(painter: QPainter, place: _ColumnPlace, box: QRect, text: str, colour: str) -> bool:
    """Paint a text, shortened if necessary; returns whether it is whole."""
    if not text:
        return True
    painter.setFont(place.font)
    painter.setPen(_colour(colour))
    fitting = _fitting(place, text, box.width())
    painter.drawText(box, place.flags, fitting)
    return fitting == text


def _marked(place: _ColumnPlace, text: str, pattern: MarkPattern, box: QRect) -> list[QRect]:
    """Places of the matches in a cell with left-aligned text."""
    metrics = QFontMetrics(place.font)
    found = []
    for match in islice(pattern.finditer(text), FOUND_MAX):
        left, right = (metrics.horizontalAdvance(text[:end]) for end in match.span())
        found.append(QRect(box.left() + left, box.top() + 4, right - left, box.height() - 9))
    return found


def _fitting(place: _ColumnPlace, text: str, width: int) -> str:
    # Measuring a text takes half as long as painting it; most are so short that they fit in any case.
    if len(text) * place.widest > width or not text.isascii():
        return _shortened(place.column.kind, text, width)
    return text


def _text_colour(tokens: Tokens, state: State | None, *, dim: bool, selected: bool) -> str:
    if state is State.IDLE:
        return tokens.text_2 if selected else tokens.text_3
    if state is not None and state is not State.PLAIN:
        return tokens.state(state)
    return tokens.text_2 if dim else tokens.text_1


@lru_cache(maxsize=TEXTS_KEPT)
def _shortened(kind: CellKind, text: str, width: int) -> str:
    mode = Qt.TextElideMode.ElideRight if kind in CUT_AT_END else Qt.TextElideMode.ElideMiddle
    return QFontMetrics(cell_font(kind)).elidedText(text, mode, width)


@lru_cache(maxsize=len(CellKind))
def _widest(kind: CellKind) -> int:
    """Advance in px of the widest character of printable ASCII."""
    metrics = QFontMetrics(cell_font(kind))
    return max(metrics.horizontalAdvance(chr(code)) for code in range(32, 127))


@lru_cache(maxsize=256)
def _colour(name: str) -> QColor:
    """A shared colour of the theme, not to be changed."""
    return QColor(name)

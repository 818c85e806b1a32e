"""`RowPainter`: paints the rows of a `DataGrid`, without widgets in cells; `GridDelegate`: the size that a cell needs.

All rows are painted at once, not cell by cell through Qt's delegate: a page of 30 rows × 8 columns takes about a third of the
time, because fonts, places and colours are looked up once for a column and Qt calls no Python for a cell.

`paint_lane` paints pending messages before their due time, `paint_pips` the steps taken of those allowed, `paint_move` an
offset before and after a reset.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QTableView

from gui.models.table import CELL_ROLE, Cell, CellKind, Column, ColumnTableModel, Move, Section, WaitingLane, painted_text
from gui.theme.fonts import mono_font, text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens, mix
from gui.widgets.paint import DOT_DIAMETER, chip_width, paint_bar, paint_chip, paint_dot, paint_sparkline, paint_tag, tag_width
from gui.words.text import UNKNOWN, tr

if TYPE_CHECKING:
    from broker_core.api import MarkPattern


DOT_PX = 3.0
EDGE_PX = 2.0
DENSITY_PERCENT_MIN = 10.0
PIP_PX = 6.0
PIP_GAP_PX = 2.0
_SCATTER = (0.18, 0.62, 0.38, 0.82, 0.5, 0.27, 0.73, 0.1, 0.55, 0.9)
"""Heights of successive dots, so that neighbours do not overlap."""


def paint_lane(painter: QPainter, box: QRectF, lane: WaitingLane, state: State, tokens: Tokens) -> None:
    """Paint a lane; its left end, where messages are due, is marked."""
    painter.save()
    painter.fillRect(box, QColor(tokens.inset))
    colour = tokens.state(state)
    for part in (0.25, 0.5, 0.75):
        painter.fillRect(QRectF(box.left() + box.width() * part, box.top(), 1, box.height()), QColor(tokens.border))
    way = box.adjusted(EDGE_PX + 2, 0, -DOT_PX, 0)
    if lane.density:
        _paint_density(painter, way, lane.density, colour, tokens)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    room = way.height() - DOT_PX
    for number, at in enumerate(lane.dots):
        height = _SCATTER[number % len(_SCATTER)]
        painter.drawEllipse(QRectF(way.left() + at * way.width(), way.top() + height * room, DOT_PX, DOT_PX))
    painter.fillRect(QRectF(box.left(), box.top(), EDGE_PX, box.height()), QColor(tokens.healthy))
    painter.restore()


def _paint_density(painter: QPainter, way: QRectF, density: tuple[float, ...], colour: str, tokens: Tokens) -> None:
    top = max(density)
    if top <= 0:
        return
    width = way.width() / len(density)
    for number, count in enumerate(density):
        if count > 0:
            percent = DENSITY_PERCENT_MIN + (100 - DENSITY_PERCENT_MIN) * count / top
            part = QRectF(way.left() + number * width, way.top(), width + 0.5, way.height())
            painter.fillRect(part, QColor(mix(colour, tokens.inset, percent)))


def paint_pips(painter: QPainter, box: QRectF, pips: tuple[int, int], state: State, tokens: Tokens) -> None:
    """Paint ``pips`` (steps, most) as boxes, the first ones filled; narrower where there is no room for all."""
    steps, most = pips
    if most <= 0:
        return
    painter.save()
    width = min(PIP_PX, max(1.0, box.width() / most - PIP_GAP_PX))
    gap = PIP_GAP_PX if width > 2 else 1.0
    empty = QColor(mix(tokens.text_3, tokens.panel, 18))
    for number in range(min(most, int(box.width() // (width + gap)))):
        left = box.left() + number * (width + gap)
        painter.fillRect(QRectF(left, box.center().y() - 4, width, 8), QColor(tokens.state(state)) if number < steps else empty)
    painter.restore()


MOVE_BAR_PX = 8.0
MOVE_TICK_PX = 12.0
MOVE_DOT_PX = 8.0


def paint_move(painter: QPainter, box: QRectF, move: Move, tokens: Tokens) -> None:
    """Paint a line with a tick at the current place, a dot at the target, and the range between them.

    A move back has the colour of repeats, a move forward that of a loss.
    """
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    line = box.adjusted(MOVE_DOT_PX / 2, 0, -MOVE_DOT_PX / 2, 0)
    middle = box.center().y() + 0.5
    painter.setPen(Qt.PenStyle.NoPen)
    painter.fillRect(QRectF(line.left(), middle - 1, line.width(), 2), QColor(tokens.border_strong))
    now, after = (line.left() + share * line.width() for share in (move.now, move.after))
    if not math.isnan(now) and not math.isnan(after) and now != after:
        colour = tokens.retry if after < now else tokens.critical
        passed = QRectF(min(now, after), middle - MOVE_BAR_PX / 2, abs(after - now), MOVE_BAR_PX)
        painter.fillRect(passed, QColor(mix(colour, tokens.panel, 45)))
    if not math.isnan(now):
        painter.fillRect(QRectF(now - 1, middle - MOVE_TICK_PX / 2, 2, MOVE_TICK_PX), QColor(tokens.text_1))
    if not math.isnan(after):
        painter.setBrush(QColor(tokens.accent))
        painter.drawEllipse(QRectF(after - MOVE_DOT_PX / 2, middle - MOVE_DOT_PX / 2, MOVE_DOT_PX, MOVE_DOT_PX))
    painter.restore()


CELL_PADDING = 10
MARK_SHARE = 16
"""Share of a state's colour in the ground of a marked row, in percent."""
FOUND_SHARE = 38
"""Share of the warning colour in the ground of search matches, in percent."""
FOUND_MAX = 20
"""Most matches marked in one cell."""
TEXTS_KEPT = 4_096
"""Size of the cache of shortened texts; a page of a wide table has some 500 cells."""
TEXT_KINDS = frozenset({CellKind.TEXT, CellKind.STRONG, CellKind.MONO, CellKind.CODE, CellKind.KEYS})
CUT_AT_END = frozenset({CellKind.TEXT, CellKind.CODE, CellKind.FLAG})


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
    widest: float
    flags: int


class RowPainter:
    """Paints texts, chips, dots, sparklines, bars and section headings in the colours of the theme."""

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
                box_of_text, text = QRect(left, top, width, height), painted_text(column, row)
                pattern = column.marks() if column.marks is not None else None
                if pattern is not None:
                    found = _colour(mix(tokens.mark, tokens.panel, FOUND_SHARE))
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
    if kind in (CellKind.MONO, CellKind.CODE, CellKind.KEYS):
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
    if kind is CellKind.KEYS:
        mode = Qt.TextElideMode.ElideLeft
    return QFontMetrics(cell_font(kind)).elidedText(text, mode, width)


@lru_cache(maxsize=len(CellKind))
def _widest(kind: CellKind) -> float:
    """Advance in px of the widest character of printable ASCII; not rounded, because texts add it up."""
    metrics = QFontMetricsF(cell_font(kind))
    return max(metrics.horizontalAdvance(chr(code)) for code in range(32, 127))


@lru_cache(maxsize=256)
def _colour(name: str) -> QColor:
    """A shared colour of the theme, not to be changed."""
    return QColor(name)


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

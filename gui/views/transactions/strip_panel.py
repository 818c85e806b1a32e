"""`StripPanel`: half queue and op queue side by side, moved along the queues, read again when counts change."""

from __future__ import annotations

import math
from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from broker_core.api import OrbitError, UsageError
from broker_core.worker.questions.transactions import ReadTransactionHistory, TransactionHistory
from gui.models.transactions import (
    CHECKING,
    COMMITTED,
    PREPARED,
    ROLLED_BACK,
    HalfOpPicture,
    QueueRecord,
    board_figures,
    half_op_picture,
    lives,
)
from gui.operations.queries import LatestQuery
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, Tokens, mix
from gui.views.list_read import say_not_read
from gui.views.page import PageContext
from gui.views.transactions.columns import state_word
from gui.widgets.basic import ElidedLabel, fill
from gui.widgets.chip import Chip
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.repaint import Drawn
from gui.widgets.said import on_language, said, said_button
from gui.words.text import UNKNOWN, count_text, rate_text, tr

CELLS_MAX = 44
NAMES_WIDTH = 118
CELL_HEIGHT = 22
CELL_GAP = 3
HALF_TOP, OP_TOP = 20, 78
HEIGHT = 118
LABEL_EVERY = 6


class HalfOpStrip(Drawn):
    """Draws a `HalfOpPicture`; newest records at the right.

    Signals:
        chosen: A cell was clicked; carries the origin of its transaction.
    """

    chosen = Signal(int)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme)
        self.picture = HalfOpPicture()
        self._is_read = False
        self._selected = -1
        self.setFixedHeight(HEIGHT)
        on_language(self, self._describe)

    def set_picture(self, picture: HalfOpPicture) -> None:
        self.picture, self._is_read = picture, True
        self._describe()
        self.update()

    def _describe(self) -> None:
        picture = self.picture
        if not self._is_read:
            return
        open_cells = sum(cell.state in ("prepared", "checking") for cell in picture.halves)
        self.setAccessibleDescription(
            tr("{halves} half records, {open} of them open; {ops} op records", halves=len(picture.halves), open=open_cells,
               ops=len(picture.ops))
        )  # fmt: skip

    def select(self, origin: int) -> None:
        """Mark the records of a transaction."""
        if origin != self._selected:
            self._selected = origin
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(900, HEIGHT)

    def cell_rect(self, cell: QueueRecord) -> QRectF:
        """Where a record of the picture is."""
        halves, ops = self.picture.halves, self.picture.ops
        if cell in halves:
            return self._rect(halves.index(cell), HALF_TOP)
        return self._rect(ops.index(cell), OP_TOP)

    def _step(self) -> float:
        return (self.width() - NAMES_WIDTH) / CELLS_MAX

    def _rect(self, number: int, top: int) -> QRectF:
        return QRectF(NAMES_WIDTH + number * self._step(), top, self._step() - CELL_GAP, CELL_HEIGHT)

    def _cell_at(self, at: QPointF) -> QueueRecord | None:
        return next((cell for cell in (*self.picture.halves, *self.picture.ops) if self.cell_rect(cell).contains(at)), None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        cell = self._cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(cell.origin)

    def tip_at(self, at: QPointF) -> str:
        cell = self._cell_at(at)
        if cell is None:
            return ""
        word = state_word(cell.state)[0] if cell.state else tr("replaced by a later copy")
        return f"{count_text(cell.offset)}\n{word}"

    # ---- paint ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for half, op in self.picture.links():
            self._paint_link(painter, self.cell_rect(half), self.cell_rect(op), _colour(op, tokens))
        self._paint_queue(painter, tr("Half queue"), self.picture.halves, HALF_TOP, self.picture.half_progress)
        self._paint_queue(painter, tr("Op queue"), self.picture.ops, OP_TOP, self.picture.op_progress)
        painter.end()

    def _paint_queue(self, painter: QPainter, name: str, cells: tuple[QueueRecord, ...], top: int, progress: int) -> None:
        tokens = self._theme.tokens
        painter.setFont(text_font(Size.SECONDARY, QFont.Weight.DemiBold))
        painter.setPen(QColor(tokens.text_1))
        painter.drawText(QRectF(0, top - 4, NAMES_WIDTH, 16), Qt.AlignmentFlag.AlignVCenter, name)
        painter.setFont(text_font(Size.CAPTION))
        painter.setPen(QColor(tokens.text_3))
        end = "max {offset}" if self.picture.is_end else "to {offset}"
        words = tr(end, offset=count_text(cells[-1].offset + 1)) if cells else tr("empty") if self._is_read else UNKNOWN
        painter.drawText(QRectF(0, top + 11, NAMES_WIDTH, 16), Qt.AlignmentFlag.AlignVCenter, words)
        for number, cell in enumerate(cells):
            self._paint_cell(painter, cell, self._rect(number, top), is_done=0 <= cell.offset < progress)
            if number % LABEL_EVERY == 0 and top == HALF_TOP:
                painter.setPen(QColor(tokens.text_3))
                place = self._rect(number, top)
                if place.left() + painter.fontMetrics().horizontalAdvance(count_text(cell.offset)) <= self.width():
                    painter.drawText(QPointF(place.left(), top - 6), count_text(cell.offset))
        mark = next((number for number, cell in enumerate(cells) if cell.offset >= progress), len(cells))
        if cells and progress >= 0:
            left = self._rect(mark, top).left() - CELL_GAP
            painter.fillRect(QRectF(left, top - 3, 2, CELL_HEIGHT + 6), QColor(tokens.text_1))
            painter.setPen(QColor(tokens.text_3))
            words = tr("read to {offset}", offset=count_text(progress))
            width = painter.fontMetrics().horizontalAdvance(words)
            # Where there is no room before the mark it stands under the name of the queue.
            has_room = left - width - 4 > NAMES_WIDTH
            at = QPointF(left - width - 4, top + CELL_HEIGHT + 13) if has_room else QPointF(0, top + 38)
            painter.drawText(at, words)

    def _paint_cell(self, painter: QPainter, cell: QueueRecord, rect: QRectF, *, is_done: bool) -> None:
        tokens = self._theme.tokens
        colour = _colour(cell, tokens)
        painter.setPen(QPen(QColor(tokens.accent), 2) if cell.origin == self._selected else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mix(colour, tokens.panel, 30) if is_done else colour))
        painter.drawRoundedRect(rect, 3, 3)

    def _paint_link(self, painter: QPainter, half: QRectF, op: QRectF, colour: str) -> None:
        start, end = QPointF(half.center().x(), half.bottom() + 1), QPointF(op.center().x(), op.top() - 1)
        bend = (end.y() - start.y()) / 2
        path = QPainterPath(start)
        path.cubicTo(start + QPointF(0, bend), end - QPointF(0, bend), end)
        painter.setPen(QPen(QColor(mix(colour, self._theme.tokens.panel, 75)), 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)


def _colour(cell: QueueRecord, tokens: Tokens) -> str:
    if not cell.state:
        return mix(tokens.text_3, tokens.panel, 22)
    colour = tokens.state(state_word(cell.state)[1])
    return mix(colour, tokens.panel, 62 if cell.state == COMMITTED else 80)


AGAIN_MS = 5_000
LIVES = 200
HALVES = 100
"""Half records read for the strip; some of them are copies."""
NEWEST = -1


class StripPanel(Panel):
    """The strip with its legend and the buttons that move it."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        theme = context.theme
        self._source = context.source
        self._totals: Mapping[str, float] = {}
        self._op_lag = math.nan
        """When the shown records were read; NaN without them."""
        self._before = NEWEST
        self._read_ms = -AGAIN_MS
        self._read_for: tuple[float, ...] | None = None
        self._query: LatestQuery[TransactionHistory] = LatestQuery(self)
        self.strip = said(HalfOpStrip(theme), name="Half queue and op queue")
        self.legend = {state: Chip(theme) for state in (PREPARED, CHECKING, COMMITTED, ROLLED_BACK)}
        self.back = said_button(theme, "caret-left", on_click=self._earlier, tip="Earlier records")
        self.forward = said_button(theme, "caret-right", on_click=self._later, tip="Later records")
        self.end = said_button(theme, "skip-forward", on_click=lambda: self._move(NEWEST), tip="The newest records")
        self._words = ElidedLabel(role="caption")
        self.content.setSpacing(2)
        self.fault = Notice(theme)
        fill(self.content, self.fault, self._words, self.strip)
        self.add_action(*self.legend.values(), self.back, self.forward, self.end)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        on_language(self, self._write_texts)

    def show_counts(self, totals: Mapping[str, float], counted: tuple[float, ...], now_ms: int) -> None:
        """Use new figures; old records are read again when ``counted`` differs."""
        self._totals = totals
        is_old = now_ms - self._read_ms >= AGAIN_MS
        if self._read_for != counted and is_old and not self._query.waiting:
            self._read_for, self._read_ms = counted, now_ms
            self._read()
        self._write_title()

    def forget(self) -> None:
        """Read again with the next figures."""
        self._read_for = None
        self._read_ms = -AGAIN_MS

    def _write_texts(self) -> None:
        for state, chip in self.legend.items():
            chip.set(*state_word(state))
        self._write_title()

    # ---- reading -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._query.ask(self._source.ask(ReadTransactionHistory(self._before, LIVES, HALVES)), self._show, self._failed)

    def _show(self, history: TransactionHistory) -> None:
        self.fault.set("")
        self._show_strip(told=True)
        half_lag, self._op_lag = (self._totals.get(f"transactions_{name}_lag", math.nan) for name in ("half", "op"))
        picture = half_op_picture(lives(history), half_lag, self._op_lag, CELLS_MAX, before=self._before)
        self.strip.set_picture(picture)
        self.back.setEnabled(bool(picture.halves) and picture.halves[0].offset > 0)
        self.forward.setEnabled(self._before >= 0)
        self.end.setEnabled(self._before >= 0)
        self._write_title()

    def _failed(self, error: OrbitError) -> None:
        say_not_read(self.fault, lambda: tr("The records were not read"), error, self._read)
        self._op_lag = math.nan
        self._show_strip(told=not isinstance(error, UsageError))
        for button in (self.back, self.forward, self.end):
            button.setEnabled(False)
        self._write_title()

    def _show_strip(self, *, told: bool) -> None:
        """Show the records; where the cluster cannot tell them, only why."""
        for part in (self.strip, self._words, self.back, self.forward, self.end, *self.legend.values()):
            part.setVisible(told)

    # ---- moving --------------------------------------------------------------------------------------------------------

    def _earlier(self) -> None:
        halves = self.strip.picture.halves
        if halves:
            self._move(halves[0].offset)

    def _later(self) -> None:
        end = self._totals.get("transactions_half_end", math.nan)
        before = self._before + CELLS_MAX
        self._move(NEWEST if before >= end else before)

    def _move(self, before: int) -> None:
        """Show the half records before an offset, or the newest ones."""
        self._before = before
        self._read()

    def _write_title(self) -> None:
        figures = board_figures(self._totals)
        # The queues below are as old as the last read: a newer figure would not be the end less what is read.
        op_lag = figures.op_lag if math.isnan(self._op_lag) else self._op_lag
        facts = [
            tr("{count} op records not read yet", count=count_text(op_lag)),
            *([tr("producers answer “unknown” {rate}", rate=rate_text(rate))] if (rate := figures.unknown_rate) > 0 else []),
            tr("a line shows which op record closes which half record"),
        ]
        self.set_title(tr("Half queue and op queue"))
        self._words.setText("; ".join(facts))

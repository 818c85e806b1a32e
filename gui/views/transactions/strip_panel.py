"""`StripPanel`: the half queue and the op queue beside each other, moved along the queues, read anew when counts change."""

from __future__ import annotations

import math
from collections.abc import Mapping

from PySide6.QtWidgets import QSizePolicy, QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.transactions import ReadTransactionHistory, TransactionHistory
from gui.models.transactions import CHECKING, COMMITTED, PREPARED, ROLLED_BACK, board_figures, half_op_picture, lives
from gui.operations.queries import LatestQuery
from gui.views.list_read import say_not_read
from gui.views.page import PageContext
from gui.views.transactions.columns import state_word
from gui.views.transactions.half_op_strip import CELLS_MAX, HalfOpStrip
from gui.widgets.basic import ElidedLabel, IconButton
from gui.widgets.chip import Chip
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.words.text import count_text, rate_text, tr

AGAIN_MS = 5_000
LIVES = 200
HALVES = 100
"""Half records that are read for the strip; some of them are copies."""
NEWEST = -1


class StripPanel(Panel):
    """The strip with its legend and the buttons that move it."""

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(" ", parent=parent)
        theme = context.theme
        self._source = context.source
        self._totals: Mapping[str, float] = {}
        self._counted: tuple[float, ...] = ()
        self._before = NEWEST
        self._now_ms = 0
        self._read_ms = -AGAIN_MS
        self._read_for: tuple[float, ...] | None = None
        self._query: LatestQuery[TransactionHistory] = LatestQuery(self)
        self.strip = HalfOpStrip(theme)
        self.legend = {state: Chip(theme) for state in (PREPARED, CHECKING, COMMITTED, ROLLED_BACK)}
        self.back = IconButton(theme, "caret-left", on_click=self._earlier)
        self.forward = IconButton(theme, "caret-right", on_click=self._later)
        self.end = IconButton(theme, "skip-forward", on_click=lambda: self._move(NEWEST))
        self._words = ElidedLabel(role="caption")
        self.content.setSpacing(2)
        self.fault = Notice(theme)
        self.fault.set("")
        self.content.addWidget(self.fault)
        self.content.addWidget(self._words)
        self.content.addWidget(self.strip)
        for widget in (*self.legend.values(), self.back, self.forward, self.end):
            self.add_action(widget)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def show_counts(self, totals: Mapping[str, float], counted: tuple[float, ...], now_ms: int) -> None:
        """Take new figures; the records are read again when ``counted`` differs and they have grown old."""
        self._totals, self._counted, self._now_ms = totals, counted, now_ms
        is_old = now_ms - self._read_ms >= AGAIN_MS
        if self._read_for != counted and is_old and not self._query.waiting:
            self._read_for, self._read_ms = counted, now_ms
            self._read()
        self._write_title()

    def forget(self) -> None:
        """Read anew with the next figures."""
        self._read_for = None
        self._read_ms = -AGAIN_MS

    def retranslate(self) -> None:
        """Write all texts anew."""
        for state, chip in self.legend.items():
            chip.set(*state_word(state))
        self.back.set_tip(tr("Earlier records"))
        self.forward.set_tip(tr("Later records"))
        self.end.set_tip(tr("The newest records"))
        self.strip.setAccessibleName(tr("Half queue and op queue"))
        self._write_title()

    # ---- reading -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        self._query.ask(self._source.ask(ReadTransactionHistory(self._before, LIVES, HALVES)), self._show, self._failed)

    def _show(self, history: TransactionHistory) -> None:
        self.fault.set("")
        half_lag, op_lag = (self._totals.get(f"transactions_{name}_lag", math.nan) for name in ("half", "op"))
        picture = half_op_picture(lives(history), half_lag, op_lag, CELLS_MAX, before=self._before)
        self.strip.set_picture(picture)
        self.back.setEnabled(bool(picture.halves) and picture.halves[0].offset > 0)
        self.forward.setEnabled(self._before >= 0)
        self.end.setEnabled(self._before >= 0)
        self._write_title()

    def _failed(self, error: OrbitError) -> None:
        say_not_read(self.fault, lambda: tr("The records were not read"), error, self._read)
        for button in (self.back, self.forward, self.end):
            button.setEnabled(False)
        self._write_title()

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
        facts = tr("op lag {count}, {rate} unknown", count=count_text(figures.op_lag), rate=rate_text(figures.unknown_rate))
        self.set_title(tr("Half queue and op queue"))
        self._words.setText(f"{facts}; {tr('a line shows which op record closes which half record')}")

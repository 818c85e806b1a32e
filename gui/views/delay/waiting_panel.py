"""`WaitingPanel`: the waiting messages of one delay level or the timers, page by page, with actions on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.delays import DelayedActed, ListDelayed, ListTimers, TimersActed
from gui.models.delay import PAGE_MESSAGES, LevelRow, TimerTotals, WaitingPage, WaitingRow, level_page, timer_page
from gui.models.table import ColumnTableModel
from gui.operations.decoding import ListMasks
from gui.operations.demo import may_offer_demo
from gui.operations.queries import LatestQuery
from gui.plots.chart_link import ChartLink
from gui.theme.tokens import State
from gui.views.acting import add_acting, set_acting
from gui.views.action_dialog import ActionDialog, cannot_reason
from gui.views.delay.actions import CANCEL, DELIVER, MOVE, DelayActions, result_text
from gui.views.delay.columns import waiting_columns
from gui.views.list_read import shown_read
from gui.views.page import PageContext
from gui.views.time_filter import TimeFilter
from gui.widgets.basic import fill, label, on_key, row
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.inputs import SegmentedControl
from gui.widgets.notice import MissingNote
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said_button, said_label
from gui.widgets.saved_menu import menu_name
from gui.words.broker_words import broker_words
from gui.words.text import count_text, short_count_text, span_text, tr

LEVEL, TIMERS = "level", "timers"
FIRST_PAGE = (0, -1)
READ_AGAIN_MS = 2_000
"""Maximum age of the first page while messages leave it."""
SETTLES_MS = 6_000
"""How long the page is read again after an action, because the effect may come after the answer."""


class WaitingPanel(Panel):
    """One level at a time, or the timers. The first page follows deliveries; a later one stays unchanged.

    Signals:
        acted: Messages were delivered, cancelled or moved.
    """

    acted = Signal()

    def __init__(self, context: PageContext, link: ChartLink) -> None:
        """Create it; messages due within the selection of ``link`` are shown alone."""
        super().__init__(" ", flush=True)
        theme = context.theme
        self._link, self.time_filter = link, TimeFilter(link, context, self)
        self.time_filter.changed.connect(self._filter)
        self._context = context
        self._now_ms = 0
        self._read_ms = 0
        self._row: LevelRow | None = None
        self._timers: TimerTotals | None = None
        self._starts: list[tuple[int, int]] = [FIRST_PAGE]
        self._next: tuple[int, int] | None = None
        self._query: LatestQuery[Any] = LatestQuery(self)
        self._masks = ListMasks(context.decoders, self)
        self._masks.changed.connect(partial(self.read, quietly=True))
        self.switch = SegmentedControl(((LEVEL, " "), (TIMERS, " ")))
        self.dialogs = DelayActions(context.source, theme, context.times, lambda: self._now_ms)
        self.model = ColumnTableModel(
            waiting_columns(context.times, context.queue_text, lambda: self._now_ms),
            lambda one: one.physical_offset,
            parent=self,
        )
        self.grid = DataGrid(self.model, theme, several=True)
        self._list_read = shown_read(context.times, "The waiting messages were not read.", self.read, self.grid)
        self._settles_ms = 0
        self.deliver = said_button(theme, "play", "Deliver now…", role="small", on_click=partial(self.ask, DELIVER))
        self.move_to = said_button(theme, "clock", "Move…", role="small", on_click=partial(self.ask, MOVE))
        self.cancel = said_button(theme, "prohibit", "Cancel…", role="small", on_click=partial(self.ask, CANCEL))
        self.back = said_button(theme, "caret-left", on_click=self._back, tip="Earlier due")
        self.forward = said_button(theme, "caret-right", on_click=self._forward, tip="Later due")
        self._range = label(role="caption")
        self._keys = said_label("D: deliver · T: move · Del: cancel", "caption")
        self._missing = MissingNote()
        self.content.setSpacing(0)
        self.add_action(self.time_filter.chip, self.switch)
        fill(
            self.content,
            row(self.deliver, self.move_to, self.cancel, 1, spacing=6, margins=(12, 0, 12, 8)),
            (self.grid, 1),
            self._missing,
            row(self._range, 1, self._keys, self.back, self.forward, spacing=4, margins=(12, 3, 8, 3)),
        )
        self._enable()
        self._connect()
        on_language(self, self._write_title, self._show_range)

    # ---- what the page calls -------------------------------------------------------------------------------------------

    def show_level(self, level: LevelRow | None) -> None:
        """Show a level, or newer figures of the same one."""
        changed = (level.level if level else 0) != (self._row.level if self._row else 0)
        self._row = level
        if level is not None and not self.is_timers:
            self._follow(level.now_ms, level.pending, is_other=changed)

    def show_timers(self, figures: TimerTotals) -> None:
        self._timers = figures
        if self.is_timers:
            self._follow(figures.now_ms, figures.pending, is_other=False)
        else:
            self._write_title()

    @property
    def is_timers(self) -> bool:
        """Whether timers are listed, not a level."""
        return self.switch.current == TIMERS

    def choose(self, key: str) -> None:
        """List the `LEVEL` or the `TIMERS`."""
        if key != self.switch.current:
            self.switch.choose(key)
            self._restart()

    def _follow(self, now_ms: int, pending: int, *, is_other: bool) -> None:
        self._now_ms = now_ms
        self._write_title()
        if is_other:
            self._restart()
        elif len(self._starts) == 1 and self._is_old(pending):
            self.read(quietly=True)
        self.grid.view.viewport().update()

    def _restart(self) -> None:
        self.model.set_rows([])
        self._missing.say("")
        self._list_read.begin()
        self._list_read.show()
        self._starts = [FIRST_PAGE]
        self._next = None
        self._write_title()
        self.read()

    def read(self, *, quietly: bool = False) -> None:
        if quietly and self._query.waiting:
            return
        source, (first, second), level = self._context.source, self._starts[-1], self._row
        if self.is_timers and self.why_no_timers:
            self._query.cancel()
            self._show_page(WaitingPage([], None))
        elif self.is_timers:
            self._begin_reading(quietly=quietly)
            pending = source.ask(ListTimers(first, second, PAGE_MESSAGES))
            self._query.ask(pending, lambda page: self._show_page(timer_page(page, self._masks.of)), self._failed)
        elif level is not None:
            self._begin_reading(quietly=quietly)
            waiting = source.ask(ListDelayed(level.level, first, PAGE_MESSAGES))
            self._query.ask(waiting, lambda page: self._show_page(level_page(page, self._masks.of)), self._failed)

    @property
    def why_no_timers(self) -> str:
        """Why this cluster has no timers; empty where it has them or that is unknown."""
        return cannot_reason(self._context.source, Ability.TIMERS)

    def _begin_reading(self, *, quietly: bool) -> None:
        self._masks.refresh()
        self._read_ms = self._now_ms
        self.grid.set_loading(not quietly)

    def ask(self, action: str) -> ActionDialog | None:
        rows = self.grid.selected_rows
        if not rows:
            return None
        make: Callable[[Sequence[WaitingRow], QWidget], ActionDialog] = {
            DELIVER: self.dialogs.deliver_now,
            CANCEL: self.dialogs.cancel,
            MOVE: self.dialogs.move,
        }[action]
        dialog = make(rows, self)
        dialog.succeeded.connect(lambda answer: self._acted(action, answer))
        return opened(dialog)

    def _connect(self) -> None:
        self.grid.view.selectionModel().selectionChanged.connect(self._enable)
        self.model.shown_changed.connect(self._enable)
        self.grid.activated.connect(self._open)
        self.switch.chosen.connect(lambda _key: self._restart())
        for key, action in (("D", DELIVER), ("T", MOVE), ("Del", CANCEL)):
            on_key(self.grid, key, partial(self.ask, action))
        self.grid.menu_asked.connect(self._open_menu)

    def _is_old(self, pending: int) -> bool:
        if self._now_ms - self._read_ms < READ_AGAIN_MS or len(self.grid.selected_rows) > 1:
            return False
        if self._now_ms < self._settles_ms:
            return True
        rows = self.model.rows
        return len(rows) < min(pending, PAGE_MESSAGES) or (bool(rows) and min(r.due_ms for r in rows) < self._now_ms)

    def _show_page(self, page: WaitingPage) -> None:
        self._list_read.answered()
        self._next = page.next_start
        self._missing.say(broker_words(page.notice))
        self._write_title()
        self.model.set_rows(page.rows)
        self._show_range()

    def _failed(self, error: OrbitError) -> None:
        self._list_read.refused(error)
        self._missing.say("")
        self._show_range()

    def _acted(self, action: str, answer: object) -> None:
        assert isinstance(answer, DelayedActed | TimersActed)
        done, gone = answer.done, len(answer.gone)
        self._context.notify(lambda: result_text(action, done, gone), state=State.WARNING if gone else State.HEALTHY)
        # The broker has accepted the action; the timer wheel changes a moment later.
        self._settles_ms = self._now_ms + SETTLES_MS
        self.read()
        self.acted.emit()

    def _filter(self) -> None:
        bounds = self.time_filter
        self.model.set_filter((lambda one: bounds.accepts(one.due_ms)) if bounds.is_active else None)
        self._write_title()
        self._show_range()

    def _back(self) -> None:
        if len(self._starts) > 1:
            self._starts.pop()
            self.read()

    def _forward(self) -> None:
        if self._next is not None:
            self._starts.append(self._next)
            self.read()

    def _enable(self) -> None:
        chosen, refusal = self.grid.selected_rows, self.dialogs.refusal
        for button in (self.deliver, self.move_to, self.cancel):
            set_acting(button, refusal, able=bool(chosen))
        self.back.setEnabled(len(self._starts) > 1)
        self.forward.setEnabled(self._next is not None)

    def _write_title(self) -> None:
        level, timers = self._row, self._timers
        self.switch.set_text(LEVEL, tr("Level {level}", level=level.level) if level is not None else tr("Level"))
        count = short_count_text(timers.pending) if timers is not None and timers.is_served else ""
        self.switch.set_text(TIMERS, f"{tr('Timers')} {count}".strip())
        if self.is_timers:
            self.set_title(tr("Timers"), tr("with a time of their own"))
            if self.why_no_timers:
                self.grid.set_empty(self.why_no_timers)
            elif timers is not None and timers.has_none:
                self.grid.set_empty(tr("This broker serves no timers. Start it with timerWheelEnable=true."))
            else:
                self._set_empty(tr("No message waits for a time of its own."))
        else:
            delay = span_text(level.delay_ms) if level is not None else ""
            self.set_title(tr("Waiting"), tr("{delay} delay", delay=delay) if delay else "")
            is_part = bool(self._missing.text())
            words = "Nothing waits in this level on the brokers that answered." if is_part else "Nothing waits in this level."
            self._set_empty(tr(words))

    def _set_empty(self, text: str) -> None:
        if self.time_filter.is_active:
            self.grid.set_empty(tr("No message of this page is due in the selected time."), tr("Show all"), self._link.unselect)
            return
        may_play = may_offer_demo(self._context.source) and not self._context.demo.is_running
        offer = tr("Play a demo") if may_play else ""
        self.grid.set_empty(text, offer, lambda: self._context.navigate("welcome"))

    def _show_range(self) -> None:
        count, first = len(self.model.rows), (len(self._starts) - 1) * PAGE_MESSAGES
        if not count:
            self._range.setText("")
        else:
            shown = tr("{first} to {last} by due time", first=count_text(first + 1), last=count_text(first + count))
            if self.time_filter.is_active:
                shown += tr(", {count} of them in the selected time", count=count_text(len(self.model.shown_rows)))
            self._range.setText(shown)
        self._enable()

    def _open(self, one: WaitingRow) -> None:
        self._context.navigate("messages", physical_offset=one.physical_offset)

    def _open_menu(self, one: WaitingRow, at: QPoint) -> None:
        menu = new_menu(self)
        for text, action in ((tr("Deliver now…"), DELIVER), (tr("Move…"), MOVE), (tr("Cancel…"), CANCEL)):
            add_acting(menu, text, partial(self.ask, action), self.dialogs.refusal)
        menu.addSeparator()
        menu.addAction(tr("Show message"), lambda: self._open(one))
        menu.addAction(
            tr("Open topic {topic}", topic=menu_name(one.topic)), lambda: self._context.navigate("topic", topic=one.topic)
        )
        menu.addAction(tr("Copy keys"), lambda: QGuiApplication.clipboard().setText(one.keys))
        menu.addAction(tr("Copy row"), lambda: self.grid.copy(CopyFormat.TSV))
        menu.popup(at)

"""The Delay page: lanes of the delay levels, messages due ahead, and the waiting messages.

`LatenessPanel`: lateness of the last hour's deliveries.
"""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from broker_core.api import OrbitError
from broker_core.api import names as reserved
from broker_core.worker.questions.delays import ForecastTimers, TimerForecast
from gui.models.delay import (
    LateBucket,
    LevelRow,
    TimerTotals,
    busiest,
    lane_of,
    late_buckets,
    latest,
    level_rows,
    next_due,
    timer_figures,
)
from gui.models.table import ColumnTableModel, WaitingLane
from gui.operations.queries import LatestQuery
from gui.plots.log_bars import LogBar, LogBars
from gui.theme.tokens import Size, State
from gui.views.delay.ahead_panel import DAY_MS, AheadPanel, TimersAhead
from gui.views.delay.columns import EMBEDDED_ONLY, countdown_text, level_columns
from gui.views.delay.lane_reader import LaneReader
from gui.views.delay.waiting_panel import LEVEL, TIMERS, WaitingPanel
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import column, fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.pane_splitter import PaneSplitter
from gui.widgets.panel import TERM, Panel, Tile
from gui.widgets.said import on_language, said
from gui.words.text import (
    UNKNOWN,
    count_text,
    duration_text,
    messages_unit,
    milliseconds_parts,
    rate_number,
    short_count_text,
    span_text,
    tr,
)
from monitoring.delay import LATE_MS, Lateness
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

HOUR_S = 3_600


class LatenessPanel(Panel):
    """A bar for each bucket, on a logarithmic axis, because the few very late deliveries matter most."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._lateness: Lateness | None = None
        self._is_known = False
        self.bars = said(LogBars(context.theme), name="Deliveries by how late they were")
        self.bars.setProperty(TERM, "Lateness")
        self.none = label(role="caption", wrap=True)
        self.content.setSpacing(Size.GAP)
        fill(self.content, (self.bars, 1), self.none)
        on_language(self, self._draw)

    def show_state(self, state: ClusterState) -> None:
        """Show the lateness of a state."""
        if not self._is_known or state.lateness != self._lateness:
            self._lateness, self._is_known = state.lateness, True
            self._draw()

    def _draw(self) -> None:
        buckets = late_buckets(self._lateness) if self._lateness is not None else []
        count = sum(one.count for one in buckets)
        self.bars.setVisible(bool(count))
        self.none.setVisible(not count)
        self.bars.set_bars([_bar(one) for one in buckets])
        self.none.setText(self._none_text())
        self.set_title(tr("Lateness"), self._facts(count, sum(one.count for one in buckets if one.is_late)))

    def _none_text(self) -> str:
        if not self._is_known:
            return tr("Reading…")
        if self._lateness is None:
            return tr("This broker does not report it.")
        return tr("Nothing was delivered in this time.")

    def _facts(self, count: int, late: int) -> str:
        if self._lateness is None:
            return ""
        span = tr("last hour")
        if self._lateness.counted_s < HOUR_S:
            span = tr("last {span}", span=duration_text(self._lateness.counted_s * 1_000))
        facts = [tr("ms after the due time, {span}", span=span)]
        if count:
            facts.append(tr("{late} of {count} late", late=count_text(late), count=count_text(count)))
        return ", ".join(facts)


def _bar(bucket: LateBucket) -> LogBar:
    state = State.WARNING if bucket.is_late else State.DELAYED
    return LogBar(_axis_text(bucket), _bucket_text(bucket), bucket.count, state)


def _axis_text(bucket: LateBucket) -> str:
    return short_count_text(bucket.from_ms) if bucket.from_ms < 1_000 else f"{bucket.from_ms // 1_000}k"


def _bucket_text(bucket: LateBucket) -> str:
    """Limits of a bar, and its number of timers."""
    if bucket.to_ms < 0:
        text = tr("from {time} ms on", time=count_text(bucket.from_ms))
    else:
        text = tr("{first} to {last} ms", first=count_text(bucket.from_ms), last=count_text(bucket.to_ms - 1))
    return text + (tr(" ({count} timers)", count=count_text(bucket.timers)) if bucket.timers else "")


LANES_WIDTH = 716
LIST_WIDTH = 492
FORECAST_AGAIN_MS = 3_000
TILES = {"pending": "Pending", "next": "Next due", "delivered": "Delivered", "late": "Lateness p99"}


class DelayView(PageView):
    """Shows every level as a lane; the list on the right is of the selected one."""

    page_id = "delay"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._timers: TimerTotals | None = None
        self._timers_ahead: TimersAhead | None = TimersAhead()
        self._idle_level: int | None = None
        """The level that the page selected while nothing was pending."""
        self._forecast_ms = -FORECAST_AGAIN_MS
        self._forecast_query: LatestQuery[TimerForecast] = LatestQuery(self)
        self.tiles = {key: Tile(theme, title) for key, title in TILES.items()}
        self.levels = ColumnTableModel(level_columns(self._lane), lambda level: level.level, parent=self)
        self.level_grid = said(DataGrid(self.levels, theme), empty="This broker reports no delay levels.")
        self.lanes = said(
            Panel(" ", flush=True),
            title="Delay levels",
            subtitle="each lane is one level, messages move left until they are due",
        )
        self.reader = LaneReader(context.source, self)
        self.ahead = AheadPanel(context)
        self.lateness = LatenessPanel(context)
        self.waiting = WaitingPanel(context, self.ahead.link)
        self._build()
        focus_levels = partial(self.level_grid.view.setFocus, Qt.FocusReason.ShortcutFocusReason)
        self.set_parts(grid=self.level_grid, find=focus_levels, detail=self._right)
        self.level_grid.selected.connect(self._level_selected)
        self.reader.changed.connect(self._sampled)
        self.waiting.acted.connect(self.reader.forget)
        on_language(self, self._write_texts)

    def open(self, arguments: PageArguments) -> None:
        level = arguments.get("level")
        if isinstance(level, int):
            self.waiting.choose(LEVEL)
            self._idle_level = None
            self.level_grid.select_key(level)
            self._show_level()
        if arguments.get("show") == "timers":
            self.waiting.choose(TIMERS)

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self._timers = timer_figures(state)
        rows = level_rows(state)
        self.levels.set_rows(rows)
        self.level_grid.set_hidden(EMBEDDED_ONLY if state.is_from_outside else frozenset())
        self._offer_level(rows)
        self.reader.update_levels(rows)
        self.level_grid.view.viewport().update()
        self._show_figures(rows)
        self._read_forecast(self._timers)
        self._show_ahead()
        # A cluster reports the lateness of none of its deliveries.
        for part in (self.tiles["late"], self.lateness):
            part.setVisible(not state.is_from_outside)
        self.lateness.show_state(state)
        self._show_level()
        self.waiting.show_timers(self._timers)

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self.reader.forget()
            self.waiting.read()

    def refresh(self) -> None:
        self.reader.forget()
        self.waiting.read()

    def _write_texts(self) -> None:
        if self._state is not None:
            self._show_figures(self.levels.rows)

    def _build(self) -> None:
        self.content.addLayout(row(*((tile, 1) for tile in self.tiles.values()), spacing=Size.GAP))
        self.lanes.content.addWidget(self.level_grid)
        right = self._right = QWidget()
        right.setLayout(column((self.ahead, 4), (self.lateness, 4), (self.waiting, 7), spacing=Size.GAP))
        self.content.addWidget(PaneSplitter((self.lanes, right), (LANES_WIDTH, LIST_WIDTH), grows=0), 1)

    def _lane(self, row: LevelRow) -> WaitingLane | None:
        if row.pending != 0 and row.level not in self.reader.samples:
            return None
        return lane_of(self.reader.samples.get(row.level), row.delay_ms, row.now_ms)

    def _offer_level(self, rows: list[LevelRow]) -> None:
        """Select a level whose messages can be acted on, as soon as there is one and no other level was chosen."""
        first, chosen = busiest(rows), self.level_grid.selected_key
        if chosen is not None and self.waiting.is_timers:
            return  # a selected level would be listed in their place
        if rows and (chosen is None or (first is not None and chosen == self._idle_level)):
            self._idle_level = None if first is not None else rows[0].level
            self.level_grid.select_key(rows[0].level if first is None else first.level)

    def _level_selected(self, level: LevelRow | None) -> None:
        if level is not None:
            self.waiting.choose(LEVEL)
            self._show_level()
            self.place_changed.emit({"level": level.level})

    def _sampled(self) -> None:
        self.level_grid.view.viewport().update()
        self._show_ahead()

    def _read_forecast(self, timers: TimerTotals) -> None:
        if timers.pending <= 0:
            self._timers_ahead = TimersAhead()
            self._forecast_query.cancel()
        elif timers.now_ms - self._forecast_ms >= FORECAST_AGAIN_MS and not self._forecast_query.waiting:
            self._forecast_ms = timers.now_ms
            self._forecast_query.ask(self.context.source.ask(ForecastTimers()), self._show_forecast, self._no_forecast)

    def _no_forecast(self, _error: OrbitError) -> None:
        # The bars show the levels alone and say so; the list of timers shows the reason.
        self._timers_ahead = None
        self._show_ahead()

    def _show_forecast(self, forecast: TimerForecast) -> None:
        first_ms = forecast.first_day * DAY_MS
        self._timers_ahead = TimersAhead(forecast.minutes, forecast.hours, first_ms, forecast.days)
        self._show_ahead()

    def _show_level(self) -> None:
        self.waiting.show_level(self.level_grid.selected_row)

    def _show_ahead(self) -> None:
        if self._state is not None:
            unread = sum(row.pending != 0 and row.level not in self.reader.samples for row in self.levels.rows)
            self.ahead.show_ahead(self.reader.samples.values(), self._timers_ahead, self._state.taken_ms, unread)

    def _show_figures(self, rows: list[LevelRow]) -> None:
        self._show_header(rows)
        self._show_pending(rows)
        self._show_next(rows)
        self._show_delivered(rows)
        self._show_late(rows)

    def _show_delivered(self, rows: list[LevelRow]) -> None:
        timer_rate = self._timers.delivered_rate if self._timers is not None else math.nan
        known = [rate for rate in (timer_rate, *(row.delivered_rate for row in rows)) if not math.isnan(rate)]
        count = math.nan if any(row.delivered < 0 for row in rows) else sum(row.delivered for row in rows)
        fact = tr("{count} by level since the start", count=count_text(count)) if rows else ""
        self.tiles["delivered"].set_value(rate_number(sum(known)) if known else UNKNOWN, "/s", fact)

    def _show_late(self, rows: list[LevelRow]) -> None:
        late, of_timers = latest(rows), self._timers.late_p99_ms if self._timers is not None else math.nan
        worst_ms = late.late_p99_ms if late is not None else math.nan
        none = tr("none delivered in the last minute")
        fact = tr("worst on level {level}, last minute", level=late.level) if late else none
        if of_timers > worst_ms or (math.isnan(worst_ms) and not math.isnan(of_timers)):
            worst_ms, fact = of_timers, tr("worst of the timers, last minute")
        state = State.WARNING if worst_ms > LATE_MS else None
        self.tiles["late"].set_value(*milliseconds_parts(worst_ms), fact, state)

    def _show_pending(self, rows: list[LevelRow]) -> None:
        # A sum with an unknown part is unknown.
        levels = math.nan if any(row.pending < 0 for row in rows) else sum(row.pending for row in rows)
        timers = self._timers.pending if self._timers is not None else -1
        is_served = self._timers is not None and self._timers.is_served
        has_none = not is_served and (bool(self.waiting.why_no_timers) or (self._timers is not None and self._timers.has_none))
        whole = levels + (0 if has_none else math.nan if timers < 0 else timers)
        fact = tr("{levels} by level, {timers} timers", levels=count_text(levels), timers=count_text(timers)) if rows else ""
        if has_none and rows:
            fact = tr("{levels} by level, no timers here", levels=count_text(levels))
        self.tiles["pending"].set_value(count_text(whole) if rows else UNKNOWN, messages_unit(whole), fact)

    def _show_next(self, rows: list[LevelRow]) -> None:
        first, timers = next_due(rows), self._timers
        due_ms = first.next_due_ms if first is not None else math.inf
        fact = tr("level {level}, {delay}", level=first.level, delay=span_text(first.delay_ms)) if first is not None else ""
        if timers is not None and 0 <= timers.next_due_ms < due_ms:
            due_ms, fact = timers.next_due_ms, tr("a timer")
        if timers is not None and timers.pending > 0 and timers.next_due_ms < 0:
            fact = ", ".join(filter(None, (fact, tr("timers not reported"))))
        if math.isinf(due_ms) or self._state is None:
            is_known = not any(row.pending < 0 for row in rows)
            fact = (fact or tr("Nothing is waiting")) if is_known else tr("not known while a broker does not answer")
            self.tiles["next"].set_value(UNKNOWN, "", fact if rows else "")
            return
        left_ms = due_ms - self._state.taken_ms
        self.tiles["next"].set_value(countdown_text(left_ms) if left_ms > 0 else tr("due now"), "", fact)

    def _show_header(self, rows: list[LevelRow]) -> None:
        late = [row for row in rows if row.is_late]
        chips = []
        if late:
            worst = max(late, key=lambda row: row.late_ms)
            by = duration_text(worst.late_ms)
            chips.append((tr("Level {level} late by {time}", level=worst.level, time=by), State.WARNING))
        elif (pending := [row for row in rows if row.pending > 0]) and not any(math.isnan(row.late_ms) for row in pending):
            chips.append((tr("On time"), State.HEALTHY))
        skipped = sum(max(0, row.skipped) for row in rows)
        if skipped:
            chips.append((tr("{count} could not be delivered", count=count_text(skipped)), State.CRITICAL))
        self.header.set_chips(chips)
        is_served = self._timers is not None and self._timers.is_served
        self.header.set_facts(", ".join([reserved.SCHEDULE_TOPIC, *([reserved.WHEEL_TIMER_TOPIC] if is_served else [])]))

"""`AheadPanel`: how many messages are due in the next hour, in the next two days, and on the days after that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gui.models.delay import Ahead, DueSample, ahead_of
from gui.plots.chart_link import ChartLink, LocalRange
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.theme.tokens import State
from gui.views.chart_tools import join_charts
from gui.views.page import PageContext
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, segments
from gui.words.text import TimeZoneChoice, tr

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
DAYS_MAX = 30


@dataclass(frozen=True, slots=True)
class TimersAhead:
    """Timers due in each of the next minutes, hours and days; days count from ``first_day_ms`` on."""

    minutes: Sequence[int] = ()
    hours: Sequence[int] = ()
    first_day_ms: int = 0
    days: Sequence[int] = ()


class AheadPanel(Panel):
    """Bars of delay levels and timers."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._times: TimeZoneChoice = context.times
        self._samples: list[DueSample] = []
        self._timers = TimersAhead()
        self._now_ms = 0
        self._unread = 0
        self._timers_are_unread = False
        self.switch = segments({"hour": "1 h", "days": "48 h", "month": "By day"})
        self.bars = said(StackedBars(context.theme, context.times), name="Messages by the time they are due")
        self.zoom = LocalRange(self, lambda: tr("Whole range"))
        self.link = ChartLink(self.zoom, self)
        join_charts(context, self.link, self.bars)
        self.add_action(self.switch)
        self.content.addWidget(self.bars, 1)
        self.switch.chosen.connect(lambda _key: self.zoom.show_whole())
        self.zoom.changed.connect(self._draw)
        context.times.changed.connect(self._draw)
        on_language(self, self._draw)

    def show_ahead(self, samples: Iterable[DueSample], timers: TimersAhead | None, now_ms: int, unread: int) -> None:
        """Show the waiting messages; ``unread``: how many levels have messages and no sample."""
        self._unread, self._timers_are_unread = unread, timers is None
        self._samples, self._timers, self._now_ms = list(samples), timers or TimersAhead(), now_ms
        self._draw()

    def _ahead(self) -> Ahead:
        timers = self._timers
        if self.switch.current == "hour":
            return ahead_of(self._samples, timers.minutes, self._now_ms, MINUTE_MS, 60)
        if self.switch.current == "days":
            return ahead_of(self._samples, timers.hours, self._now_ms, HOUR_MS, 48)
        first_ms = timers.first_day_ms or self._now_ms // DAY_MS * DAY_MS
        return ahead_of(self._samples, timers.days, first_ms, DAY_MS, max(7, min(len(timers.days), DAYS_MAX)))

    def _start_text(self, start_ms: int, part_ms: int) -> str:
        """The begin of a part; brokers count timers in days of UTC, which begin at other hours of other zones."""
        moment = self._times.moment(start_ms)
        form = "%H:%M" if part_ms < DAY_MS else "%m-%d %H:%M" if moment.hour or moment.minute else "%m-%d"
        return moment.strftime(form)

    def _draw(self) -> None:
        ahead = self._ahead()
        starts = [ahead.start_ms + i * ahead.part_ms for i in range(len(ahead.levels))]
        labels = [self._start_text(start, ahead.part_ms) for start in starts]
        layers = [BarLayer(tr("Levels"), ahead.levels, State.DELAYED), BarLayer(tr("Timers"), ahead.timers, State.CHECKING)]
        self.zoom.set_whole(ahead.start_ms / 1_000, (ahead.start_ms + len(starts) * ahead.part_ms) / 1_000)
        self.bars.set_bars(labels, layers, self.zoom.whole_s(), self.zoom.span_s)
        words = tr({MINUTE_MS: "per minute", HOUR_MS: "per hour", DAY_MS: "per day"}[ahead.part_ms])
        if self._unread:
            words += tr(", partial: {count} levels not read", count=self._unread)
        if self._timers_are_unread:
            words += tr(", partial: timers not read")
        self.set_title(tr("Due ahead"), words)

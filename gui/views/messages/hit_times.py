"""`HitTimes`: store times of a search's hits, as bars; a drag narrows the time.

`HitHistogram`: counts of hits by store time, in bars of a round width.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Signal

from gui.models.stored_order import Int64s
from gui.plots.chart_link import ChartLink, LocalRange
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.chart_tools import ChartTools
from gui.widgets.basic import fill, label
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said
from gui.words.text import TimeZoneChoice, duration_text, milliseconds_text, tr

BARS_MAX = 90
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
WIDTHS_MS = (
    10, 100, _SECOND, 2 * _SECOND, 5 * _SECOND, 15 * _SECOND, 30 * _SECOND, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 15 * _MINUTE,
    30 * _MINUTE, _HOUR, 2 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 28 * _DAY,
)  # fmt: skip
"""Widths of bars; beyond the last they double."""


def bar_width_ms(span_ms: int) -> int:
    """The narrowest width with which a span has `BARS_MAX` bars at most."""
    for width in WIDTHS_MS:
        if span_ms // width < BARS_MAX - 1:
            return width
    width = WIDTHS_MS[-1]
    while span_ms // width >= BARS_MAX - 1:
        width *= 2
    return width


class HitHistogram:
    """Counts new hits; recounts all only when the bars become wider.

    Attributes:
        width_ms: Of each bar.
        start_ms: Begin of the first bar; a multiple of the width.
        counts: Hits in each bar.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.width_ms = WIDTHS_MS[0]
        self.start_ms = 0
        self.counts: Int64s = np.zeros(0, dtype=np.int64)
        self._taken = 0
        self._low_ms = self._high_ms = 0

    def update(self, times_ms: Int64s) -> None:
        """Count new hits; ``times_ms`` are the store times of all hits, those of the last call first."""
        fresh = times_ms[self._taken :]
        if not len(fresh):
            return
        low, high = int(fresh.min()), int(fresh.max())
        if self._taken:
            low, high = min(low, self._low_ms), max(high, self._high_ms)
        self._low_ms, self._high_ms = low, high
        width = max(self.width_ms, bar_width_ms(high - low))
        if width != self.width_ms or not self._taken:
            self.width_ms, fresh = width, times_ms
            self.start_ms, self.counts = low // width * width, np.zeros(0, dtype=np.int64)
        self._taken = len(times_ms)
        self._add(fresh, low, high)

    def span_ms(self, first: int, last: int) -> tuple[int, int]:
        """Begin and end of some bars; the end is exclusive."""
        return self.start_ms + first * self.width_ms, self.start_ms + (last + 1) * self.width_ms

    def _add(self, times_ms: Int64s, low_ms: int, high_ms: int) -> None:
        width = self.width_ms
        start = min(low_ms, self.start_ms) // width
        counts = np.zeros(high_ms // width - start + 1, dtype=np.int64)
        before = self.start_ms // width - start
        counts[before : before + len(self.counts)] = self.counts
        counts += np.bincount(times_ms // width - start, minlength=len(counts))
        self.start_ms, self.counts = start * width, counts


BARS_HEIGHT = 72
_DAY_MS = 86_400_000


class HitTimes(Panel):
    """Hidden while there are no hits.

    Signals:
        span_chosen: Carries begin and end of the dragged time (int, ms since the epoch; the end excluded).
    """

    span_chosen = Signal(object, object)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice) -> None:
        super().__init__()
        self._times = times
        self.histogram = HitHistogram()
        self.title_line = label(role="caption")
        self.bars = said(StackedBars(theme, times), name="Hits by the time at which they were stored")
        self.bars.setFixedHeight(BARS_HEIGHT)
        self.content.setContentsMargins(12, 6, 12, 4)
        self.content.setSpacing(2)
        fill(self.content, self.title_line, self.bars)
        self.zoom = LocalRange(self, lambda: tr("Whole range"))
        self.zoom.changed.connect(self._write_texts)
        self.link = ChartLink(self.zoom, self)
        ChartTools(self.bars, theme, times, self.link)
        self.link.selected.connect(self._selected)
        times.changed.connect(self._write_texts)
        self.clear()
        on_language(self, self._write_texts)

    def clear(self) -> None:
        """Forget the hits of the search before."""
        self.histogram.clear()
        self.zoom.forget()
        self.link.unselect()
        self._write_texts()

    def show_times(self, times_ms: Int64s) -> None:
        """Show the store times of all hits so far."""
        self.histogram.update(times_ms)
        self._write_texts()

    def _write_texts(self) -> None:
        bars, width_ms = self.histogram, self.histogram.width_ms
        self.setVisible(len(bars.counts) > 1)
        width = duration_text(width_ms) if width_ms >= 1_000 else milliseconds_text(width_ms)
        self.title_line.setText(tr("Hits per {duration} · drag to narrow the time", duration=width))
        starts = [bars.span_ms(part, part)[0] for part in range(len(bars.counts))]
        layers = (BarLayer(tr("Hits"), bars.counts.tolist(), State.INFO),)
        begin_ms, end_ms = bars.span_ms(0, len(bars.counts) - 1)
        self.zoom.set_whole(begin_ms / 1_000, end_ms / 1_000)
        self.bars.set_bars([self._label(at) for at in starts], layers, self.zoom.whole_s(), self.zoom.span_s)

    def _label(self, at_ms: int) -> str:
        width, span = self.histogram.width_ms, self.histogram.width_ms * len(self.histogram.counts)
        if width < 1_000:
            return self._times.clock(at_ms)
        if span <= _DAY_MS:
            return self._times.seconds(at_ms)
        return self._times.minutes(at_ms)

    def _selected(self, from_s: float, to_s: float) -> None:
        """Choose the bars that are at least partly selected."""
        self.link.unselect()
        bars = self.histogram
        first, last = (int((at_s * 1_000 - bars.start_ms) // bars.width_ms) for at_s in (from_s, to_s))
        first, last = max(0, first), min(last, len(bars.counts) - 1)
        if first <= last:
            self.span_chosen.emit(*bars.span_ms(first, last))

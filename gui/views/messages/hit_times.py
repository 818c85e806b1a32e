"""`HitTimes`: store times of a search's hits, as bars; a drag narrows the time."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.models.hit_histogram import HitHistogram
from gui.models.stored_order import Int64s
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import fill, label
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said
from gui.words.text import TimeZoneChoice, duration_text, milliseconds_text, tr

BARS_HEIGHT = 72
_DAY_MS = 86_400_000


class HitTimes(Panel):
    """Hidden while there are no hits.

    Signals:
        span_chosen: Carries begin and end of the dragged time (int, ms since the epoch; the end excluded).
    """

    span_chosen = Signal(object, object)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._times = times
        self.histogram = HitHistogram()
        self.title_line = label(role="caption")
        self.bars = said(StackedBars(theme), name="Hits by the time at which they were stored")
        self.bars.is_choosable = True
        self.bars.setFixedHeight(BARS_HEIGHT)
        self.content.setContentsMargins(12, 6, 12, 4)
        self.content.setSpacing(2)
        fill(self.content, self.title_line, self.bars)
        self.bars.parts_chosen.connect(self._parts_chosen)
        times.changed.connect(self._write_texts)
        self.clear()
        on_language(self, self._write_texts)

    def clear(self) -> None:
        """Forget the hits of the search before."""
        self.histogram.clear()
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
        self.bars.set_bars([self._label(at) for at in starts], (BarLayer(tr("Hits"), bars.counts.tolist(), State.INFO),))

    def _label(self, at_ms: int) -> str:
        width, span = self.histogram.width_ms, self.histogram.width_ms * len(self.histogram.counts)
        if width < 1_000:
            return self._times.clock(at_ms)
        if span <= _DAY_MS:
            return self._times.seconds(at_ms)
        return self._times.minutes(at_ms)

    def _parts_chosen(self, first: int, last: int) -> None:
        self.span_chosen.emit(*self.histogram.span_ms(first, last))

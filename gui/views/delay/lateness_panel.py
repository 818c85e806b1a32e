"""`LatenessPanel`: lateness of the last hour's deliveries."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.models.delay import LateBucket, late_buckets
from gui.plots.log_bars import LogBar, LogBars
from gui.theme.tokens import Size, State
from gui.views.page import PageContext
from gui.widgets.basic import fill, label
from gui.widgets.panel import TERM, Panel
from gui.widgets.said import on_language, said
from gui.words.text import count_text, duration_text, short_count_text, tr
from monitoring.delay import Lateness
from monitoring.state import ClusterState

HOUR_S = 3_600


class LatenessPanel(Panel):
    """A bar for each bucket, on a logarithmic axis, because the few very late deliveries matter most."""

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(" ", parent=parent)
        self._lateness: Lateness | None = None
        self._is_told = self._is_known = False
        self.bars = said(LogBars(context.theme), name="Deliveries by how late they were")
        self.bars.setProperty(TERM, "Lateness")
        self.none = label(role="caption", wrap=True)
        self.content.setSpacing(Size.GAP)
        fill(self.content, (self.bars, 1), self.none)
        on_language(self, self._draw)

    def show_state(self, state: ClusterState) -> None:
        """Show the lateness of a state; an attached cluster reports none."""
        if self._is_known and state.lateness == self._lateness and self._is_told == (not state.is_from_outside):
            return
        self._lateness, self._is_told, self._is_known = state.lateness, not state.is_from_outside, True
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
            return tr("not told by the brokers") if not self._is_told else tr("This broker does not tell it.")
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

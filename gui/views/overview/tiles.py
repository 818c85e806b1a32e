"""The six tiles at the top of the Overview."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtWidgets import QWidget

from gui.theme.tokens import Size, State
from gui.views.overview.figures import disk_share, fan_out, total, total_series, worst_group
from gui.views.page import PageContext
from gui.widgets.basic import row
from gui.widgets.panel import Tile
from gui.words.text import (
    UNKNOWN,
    bytes_text,
    count_text,
    duration_text,
    is_unknown,
    milliseconds_parts,
    milliseconds_text,
    percent_text,
    rate_number,
    tr,
)
from monitoring.lag_limits import SHIPPED, LagLimits
from monitoring.reach import ClusterReach
from monitoring.state import ClusterState, Floats

SPARKLINE_POINTS = 90
DISK_LIMIT_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class TileText:
    """The texts of a tile; ``fact`` stands below the value."""

    value: str
    unit: str = ""
    fact: str = ""
    state: State | None = None


@dataclass(frozen=True, slots=True)
class TileKind:
    """A tile: its title, the total of its sparkline, the page it opens, and the colour of its line."""

    title: str
    figure: str
    page_id: str
    series_index: int


TILES = {
    "in": TileKind("Messages in", "put_rate", "topics", 0),
    "out": TileKind("Delivered", "got_rate", "consumers", 2),
    "lag": TileKind("Consumer lag", "lag_messages", "consumers", 0),
    "latency": TileKind("Put latency p99", "put_p99_ms", "store", 5),
    "dead": TileKind("Dead letters", "dead_letters", "dead_letters", 3),
    "disk": TileKind("Disk used", "store_bytes", "store", 0),
}


class TileRow(QWidget):
    """All tiles side by side."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._context = context
        self.tiles: dict[str, Tile] = {}
        line = row(spacing=Size.GAP)
        self.setLayout(line)
        for key, kind in TILES.items():
            tile = Tile(context.theme, kind.title, series_index=kind.series_index)
            tile.clicked.connect(lambda page_id=kind.page_id: context.navigate(page_id))
            self.tiles[key] = tile
            line.addWidget(tile, 1)

    def show_state(self, state: ClusterState) -> None:
        for key, tile in self.tiles.items():
            text = self._text(key, state)
            tile.set_value(text.value, text.unit, text.fact, text.state)
            _seconds, values = self._recorded(key, state)
            tile.set_sparkline(values.tolist(), text.state)

    def _text(self, key: str, state: ClusterState) -> TileText:
        if key == "in":
            return TileText(rate_number(total(state, "put_rate")), "/s", self._peak(state))
        if key == "dead":
            return dead_text(state, *self._recorded(key, state))
        texts: dict[str, Callable[[ClusterState], TileText]] = {
            "out": out_text,
            "lag": lambda one: lag_text(one, self._context.alerts.lag_limits),
            "latency": latency_text,
            "disk": disk_text,
        }
        return texts[key](state)

    def _recorded(self, key: str, state: ClusterState) -> tuple[Floats, Floats]:
        """Times (s since the epoch) and values of a tile within the time range."""
        from_ms, to_ms = self._context.time_range.window_ms(state.taken_ms)
        return self._context.history.series(total_series(TILES[key].figure)).window(from_ms, to_ms, SPARKLINE_POINTS)

    def _peak(self, state: ClusterState) -> str:
        seconds, rates = self._recorded("in", state)
        if self._context.time_range.is_live:
            # The shown rate is newer than the last recorded one.
            seconds, rates = np.append(seconds, state.taken_ms / 1_000), np.append(rates, total(state, "put_rate"))
        if not np.isfinite(rates).any() or np.nanmax(rates) <= 0:
            return ""
        peak = int(np.nanargmax(rates))
        at = self._context.times.moment(float(seconds[peak]) * 1_000).strftime("%H:%M")
        return tr("peak {rate} at {time}", rate=rate_number(float(rates[peak])), time=at)


def out_text(state: ClusterState) -> TileText:
    """Messages delivered, and how many for each one in; for an attached cluster the reads of this console are shown apart."""
    own = total(state, "console_rate")
    if own > 0:
        return TileText(rate_number(total(state, "got_rate")), "/s", tr("and {rate}/s by this console", rate=rate_number(own)))
    ratio = fan_out(state)
    fact = tr("fan-out {ratio}×", ratio=f"{ratio:.1f}") if not is_unknown(ratio) else ""
    return TileText(rate_number(total(state, "got_rate")), "/s", fact)


def lag_text(state: ClusterState, limits: LagLimits = SHIPPED) -> TileText:
    """The known lag of all groups, and the group with most of it; coloured where a group is above its limit."""
    lag = total(state, "lag_messages")
    worst = worst_group(state)
    warning = State.WARNING if limits.is_over(state) else None
    if worst is None:
        return TileText(count_text(lag), "", tr("nothing waits") if lag == 0 else "", warning)
    return TileText(count_text(lag), "", f"{worst.name} {percent_text(worst.share, 0)}", warning)


def latency_text(state: ClusterState) -> TileText:
    """How long the store takes to accept a message."""
    value, unit = milliseconds_parts(total(state, "put_p99_ms"))
    p50 = milliseconds_text(total(state, "put_p50_ms"))
    if state.is_from_outside:
        # Some versions of attached brokers report the 99th percentile, once a minute.
        is_reported = "put_p99_ms" in state.totals
        none = tr("nothing put in the last whole minute") if is_reported else tr("not reported by the brokers")
        if state.reach is not ClusterReach.ALL:
            none = tr("a broker does not answer")
        return TileText(value, unit, none if value == UNKNOWN else "")
    return TileText(value, unit, tr("p50 {value}", value=p50) if p50 != UNKNOWN else tr("nothing put in the last 10 s"))


def dead_text(state: ClusterState, seconds: Floats, counts: Floats) -> TileText:
    """Kept dead letters, and how many arrived within the shown time.

    Args:
        state: The figures.
        seconds: Times of the samples within the time range, s since the epoch.
        counts: Dead letters then; NaN unknown.
    """
    count = total(state, "dead_letters")
    known = np.flatnonzero(~np.isnan(counts))
    if is_unknown(count):
        return TileText(UNKNOWN)
    if not len(known):
        return TileText(count_text(count))
    first = known[0]
    change = count - float(counts[first])
    time = duration_text(state.taken_ms - float(seconds[first]) * 1_000)
    if change > 0:
        return TileText(count_text(count), "", tr("+{count} in {time}", count=count_text(change), time=time), State.CRITICAL)
    if change < 0:
        return TileText(count_text(count), "", tr("−{count} in {time}", count=count_text(-change), time=time))
    return TileText(count_text(count), "", tr("no new ones in {time}", time=time))


def disk_text(state: ClusterState) -> TileText:
    """How full the disk is, and how much of it is this store."""
    share = disk_share(state)
    store = bytes_text(total(state, "store_bytes"))
    fact = tr("{size} in this store", size=store) if store != UNKNOWN else ""
    if math.isnan(share):
        return TileText(UNKNOWN, "", fact)
    return TileText(f"{share * 100:.1f}", "%", fact, State.WARNING if share >= DISK_LIMIT_SHARE else None)

"""The two small tables of the Overview: busiest topics and consumer lag."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gui.models.table import CellKind, Column
from gui.models.topics import TopicRow
from gui.theme.tokens import State
from gui.views.overview.figures import drain_seconds, lagging_groups
from gui.words.text import UNKNOWN, bytes_text, count_text, duration_text, rate_text, signed_count_text, tr
from monitoring.lag import SPAN_MS, forecast
from monitoring.lag_limits import SHIPPED, LagLimits
from monitoring.series import History
from monitoring.state import ClusterState

SPARKLINE_MS = 15 * 60_000
SPARKLINE_POINTS = 60
STEADY_RATE = 1.0
STEADY_SHARE_PER_MINUTE = 0.02
"""A lag that changes by less messages/s, or by less of itself in a minute, is called steady."""


@dataclass(frozen=True, slots=True)
class GroupLagRow:
    """One group. NaN is unknown."""

    name: str
    lag_messages: float
    behind_ms: float
    change_per_second: float
    lag_limit: float = math.inf
    """See `monitoring.lag_limits`."""

    @property
    def drains_seconds(self) -> float:
        """Until the lag is gone, inf when it does not shrink."""
        return drain_seconds(self.lag_messages, self.change_per_second)


def group_lag_rows(state: ClusterState, history: History, count: int, limits: LagLimits = SHIPPED) -> list[GroupLagRow]:
    """The groups that lag most."""
    return [_group_lag_row(state, history, row, limits) for row in lagging_groups(state, count)]


def _group_lag_row(state: ClusterState, history: History, row: int, limits: LagLimits) -> GroupLagRow:
    name = state.catalog.groups[row]
    series = history.series(f"group:{name}.lag_messages")
    lag = float(state.group_lag_messages[row])
    slope = forecast(*series.window(state.taken_ms - SPAN_MS, state.taken_ms, SPAN_MS // 1_000 * 2), lag).slope
    return GroupLagRow(name, lag, float(state.group_behind_ms[row]), slope, limits.of_group(name))


def busiest_columns(put_rates: Callable[[str], Sequence[float]]) -> list[Column[TopicRow]]:
    """Columns of the busiest topics; ``put_rates`` gives the sparkline of a topic by name."""
    return [
        Column("topic", "Topic", lambda row: row.name, kind=CellKind.STRONG),
        Column("in", "In", lambda row: rate_text(row.put_rate), sort=lambda row: row.put_rate, right=True, width=72),
        Column(
            "size",
            "Size",
            lambda row: bytes_text(row.average_bytes),
            sort=lambda row: row.average_bytes,
            right=True,
            width=80,
            gives_way=1,
        ),
        Column("spark", "15 min", lambda _row: "", kind=CellKind.SPARKLINE, value=lambda row: put_rates(row.name), width=82),
    ]


def lag_columns(lags: Callable[[str], Sequence[float]]) -> list[Column[GroupLagRow]]:
    """Columns of the consumer lag; ``lags`` gives the sparkline of a group by name."""
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG),
        Column(
            "lag", "Lag", lambda row: count_text(row.lag_messages), sort=lambda row: row.lag_messages, state=lag_state,
            right=True, width=80,
        ),
        Column("behind", "Behind", lambda row: duration_text(row.behind_ms), sort=lambda row: row.behind_ms,
               right=True, width=66),
        Column(
            "change", "Change", lambda row: _change_text(row.change_per_second), sort=lambda row: row.change_per_second,
            tip=lambda _row: tr("Robust slope of the lag over the last 3 min"), right=True, dim=True, width=72,
        ),
        Column(
            "spark", "15 min", lambda _row: "", kind=CellKind.SPARKLINE, value=lambda row: lags(row.name), state=lag_state,
            width=82, gives_way=1,
        ),
        Column("drains", "Drains", drains_text, sort=lambda row: row.drains_seconds, right=True, dim=True, width=78),
    ]  # fmt: skip


def lag_state(row: GroupLagRow) -> State | None:
    """Colour of a lag, only above the limit of the alert rule."""
    return State.WARNING if row.lag_messages > row.lag_limit else None


def drains_text(row: GroupLagRow) -> str:
    """When the lag will be gone, in words."""
    seconds = row.drains_seconds
    if math.isnan(seconds):
        return UNKNOWN
    if seconds == 0:
        return tr("no lag")
    if abs(row.change_per_second) < max(STEADY_RATE, row.lag_messages * STEADY_SHARE_PER_MINUTE / 60):
        return tr("steady")
    if math.isinf(seconds):
        return tr("growing")
    return f"≈ {duration_text(seconds * 1_000)}"


def _change_text(change: float) -> str:
    return UNKNOWN if math.isnan(change) else f"{signed_count_text(change)}/s"

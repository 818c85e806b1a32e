"""Rows of the consumer pages, made from a `ClusterState`, and the trend of a lag. Pure: no widget, no text, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from broker_core.api import Members
from monitoring.state import ClusterState, Floats, Ints

LAG_WARNING_MESSAGES = 15_000
TREND_SPAN_MS = 180_000
"""What a forecast looks back at."""
TREND_POINTS_MIN = 10
STEADY_MESSAGES_PER_S = 0.5
"""A lag that changes more slowly than this neither grows nor drains."""


class GroupHealth(Enum):
    """What the dot and the chip of a group say."""

    OFFLINE = "offline"
    UNKNOWN = "unknown"
    CAUGHT_UP = "caught up"
    STEADY = "steady"
    DRAINING = "draining"
    GROWING = "growing"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One consumer group. NaN is unknown."""

    name: str
    is_system: bool
    members: int
    """-1: offline."""
    lag_messages: float
    behind_ms: float
    got_rate: float

    @property
    def offline(self) -> bool:
        return self.members <= 0

    @property
    def over_limit(self) -> bool:
        return self.lag_messages > LAG_WARNING_MESSAGES


@dataclass(frozen=True, slots=True)
class PositionRow:
    """One group's offset in one queue. -1 and NaN are unknown."""

    topic: str
    queue_id: int
    broker_offset: int
    group_offset: int
    lag_messages: float
    behind_ms: float
    owner: str


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One client of a group."""

    client_id: str
    address: str
    language: str
    version: str
    last_heartbeat_ms: int
    subscriptions: tuple[tuple[str, str], ...]
    queues: int
    """How many queues it owns."""
    now_ms: int


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """What one client of a group subscribes to in one topic."""

    client_id: str
    topic: str
    expression: str
    differs: bool
    """Whether another client of the group subscribes to something else there."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Where a lag goes. ``slope`` in messages/s, NaN when too little is known."""

    slope: float
    lag_messages: float

    @property
    def health(self) -> GroupHealth:
        """Health of a group with members whose lag does this."""
        if np.isnan(self.lag_messages):
            return GroupHealth.UNKNOWN
        if self.lag_messages < 1:
            return GroupHealth.CAUGHT_UP
        if np.isnan(self.slope) or abs(self.slope) < max(STEADY_MESSAGES_PER_S, self.lag_messages * 0.001):
            return GroupHealth.STEADY
        return GroupHealth.DRAINING if self.slope < 0 else GroupHealth.GROWING

    @property
    def drained_in_ms(self) -> float:
        """Time until nothing waits, if it goes on like this; NaN when it does not drain."""
        if self.health is not GroupHealth.DRAINING:
            return float("nan")
        return self.lag_messages / -self.slope * 1_000


def lag_trend(x: Floats, y: Floats) -> Trend:
    """Trend of a lag by the median of the slopes between points far from each other (Theil and Sen, thinned out).

    A single burst or pause of a consumer does not turn it, as it would turn a straight line of least squares.

    Args:
        x: Times, float64 seconds, rising.
        y: Lag in messages, NaN for gaps.
    """
    known = ~np.isnan(y)
    x, y = x[known], y[known]
    if len(x) < TREND_POINTS_MIN:
        return Trend(float("nan"), float(y[-1]) if len(y) else float("nan"))
    half = len(x) // 2
    run = x[half : 2 * half] - x[:half]
    slopes = (y[half : 2 * half] - y[:half]) / np.where(run > 0, run, np.nan)
    return Trend(float(np.nanmedian(slopes)) if not np.isnan(slopes).all() else float("nan"), float(y[-1]))


def group_rows(state: ClusterState) -> list[GroupRow]:
    """One row a group, in the catalog's order."""
    catalog = state.catalog
    system = catalog.group_is_system or [False] * len(catalog.groups)
    return [
        GroupRow(
            name=name,
            is_system=system[row],
            members=int(state.group_members[row]),
            lag_messages=float(state.group_lag_messages[row]),
            behind_ms=float(state.group_behind_ms[row]),
            got_rate=float(state.group_got_rate[row]),
        )
        for row, name in enumerate(catalog.groups)
    ]


def by_urgency(rows: list[GroupRow]) -> list[GroupRow]:
    """Rows with the largest lag first, unknown last."""
    return sorted(rows, key=lambda row: (np.isnan(row.lag_messages), -np.nan_to_num(row.lag_messages), row.name))


def position_rows(state: ClusterState, group: str) -> list[PositionRow]:
    """One row a queue in which ``group`` has a position, largest lag first; empty when the group is not known."""
    rows = [_position_row(state, row) for row in _positions_of(state, group)]
    return sorted(rows, key=lambda row: (-np.nan_to_num(row.lag_messages, nan=-1.0), row.topic, row.queue_id))


def _positions_of(state: ClusterState, group: str) -> Ints:
    if group not in state.catalog.groups:
        return np.zeros(0, np.int64)
    wanted = state.catalog.groups.index(group)
    found: Ints = np.flatnonzero(np.asarray(state.catalog.position_group, np.int64) == wanted)
    return found


def _position_row(state: ClusterState, row: np.int64) -> PositionRow:
    catalog = state.catalog
    queue = catalog.position_queue[row]
    owner = int(state.position_owner[row])
    return PositionRow(
        topic=catalog.topics[catalog.queue_topic[queue]],
        queue_id=catalog.queue_id[queue],
        broker_offset=int(state.queue_max_offset[queue]),
        group_offset=int(state.position_offset[row]),
        lag_messages=float(state.position_lag_messages[row]),
        behind_ms=float(state.position_behind_ms[row]),
        owner=state.owners[owner] if 0 <= owner < len(state.owners) else "",
    )


def topics_of(state: ClusterState, group: str) -> list[str]:
    """Topics in which a group has a position, by name."""
    catalog = state.catalog
    return sorted({catalog.topics[catalog.queue_topic[catalog.position_queue[row]]] for row in _positions_of(state, group)})


def in_rate(state: ClusterState, group: str) -> float:
    """Messages/s that arrive in the queues of a group; NaN when it has none."""
    queues = {state.catalog.position_queue[row] for row in _positions_of(state, group)}
    return float(state.queue_put_rate[sorted(queues)].sum()) if queues else float("nan")


def member_rows(members: Members, positions: list[PositionRow], now_ms: int) -> list[MemberRow]:
    """One row a client, by client id."""
    owned = {client: sum(row.owner == client for row in positions) for client in members.client_id}
    rows = [
        MemberRow(
            client_id=client,
            address=members.address[i],
            language=members.language[i],
            version=members.version[i],
            last_heartbeat_ms=members.last_heartbeat_ms[i],
            subscriptions=tuple(sorted(members.subscriptions[i].items())),
            queues=owned[client],
            now_ms=now_ms,
        )
        for i, client in enumerate(members.client_id)
    ]
    return sorted(rows, key=lambda row: row.client_id)


def subscription_rows(rows: list[MemberRow]) -> list[SubscriptionRow]:
    """One row a client and topic. A client without a topic that another one has shows there with an empty expression."""
    topics = sorted({topic for row in rows for topic, _ in row.subscriptions})
    made = []
    for topic in topics:
        by_client = {row.client_id: dict(row.subscriptions).get(topic, "") for row in rows}
        differs = len(set(by_client.values())) > 1
        made += [SubscriptionRow(client, topic, expression, differs) for client, expression in by_client.items()]
    return made

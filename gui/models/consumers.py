"""Rows of the consumer pages, made from a `ClusterState`. Pure: no widget, no text, no I/O."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from broker_core.api import RunningInfo
from broker_core.api import names as reserved
from broker_core.worker.questions.administration import GRPC, Members
from monitoring.admin.clients import same_filter
from monitoring.lag import Forecast, LagOutlook
from monitoring.lag_limits import SHIPPED, LagLimits
from monitoring.state import MEMBERS_UNLISTED, NOBODY, ClusterState, Ints, are_members_known


class GroupHealth(Enum):
    """State of a group, for its dot and chip."""

    BEYOND_END = "beyond end"
    """It stands where no message is: the topic was made anew, or an offset was committed that is none."""
    LOST = "lost"
    """Messages were deleted before it read them."""
    OFFLINE = "offline"
    UNKNOWN = "unknown"
    TURNED = "turned"
    """Its lag is known and where it goes is not: it turned a moment ago, or goes up and down."""
    NO_POSITION = "no position"
    """It has not consumed anything yet."""
    CAUGHT_UP = "caught up"
    STEADY = "steady"
    BEHIND = "behind"
    """Neither growing nor draining, above the limit of its alert."""
    DRAINING = "draining"
    GROWING = "growing"


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One consumer group. NaN is unknown."""

    name: str
    is_system: bool
    members: int
    """-1: offline; `MEMBERS_UNREAD`, `MEMBERS_UNLISTED`."""
    lag_messages: float
    behind_ms: float
    out_rate: float
    """Messages/s that it consumes, as `ClusterState.group_out_rate`."""
    in_rate: float = math.nan
    """Messages/s that arrive in its queues."""
    lag_limit: float = math.inf
    """A larger lag is coloured; see `monitoring.lag_limits`."""
    may_lag: bool = True
    """Whether it has a position in any queue, or may have one that was not read."""
    lost_messages: float = 0.0
    """Deleted before it read them."""
    beyond_messages: float = 0.0
    """How far it is beyond the ends of its queues."""

    @property
    def offline(self) -> bool:
        return self.members <= 0 and not self.is_unread

    @property
    def is_unread(self) -> bool:
        """Whether it is not known who is online."""
        return not are_members_known(self.members)

    @property
    def is_unlisted(self) -> bool:
        """Whether its clients may be behind a proxy, where brokers do not see them."""
        return self.members == MEMBERS_UNLISTED

    @property
    def over_limit(self) -> bool:
        return self.lag_messages > self.lag_limit


@dataclass(frozen=True, slots=True)
class PositionRow:
    """One group's offset in one queue. -1 and NaN are unknown."""

    topic: str
    queue_id: int
    broker_offset: int
    group_offset: int
    lag_messages: float
    behind_ms: float
    owner: str | None
    """Client that owns it; empty: none, None: not known."""
    lag_limit: float = math.inf
    """Share of its group's limit."""
    lost_messages: float = 0.0
    beyond_messages: float = 0.0

    @property
    def over_limit(self) -> bool:
        return self.lag_messages > self.lag_limit


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One client of a group. Times are ms since the epoch; -1: unknown."""

    client_id: str
    address: str
    language: str
    version: str
    last_heartbeat_ms: int
    subscriptions: tuple[tuple[str, str], ...]
    queues: int
    """Queues that it owns; -1: not known, or none because it speaks gRPC."""
    now_ms: int
    info: RunningInfo | None = None
    """Its own report; None: none yet."""
    fault: str = ""
    """Why it reported nothing."""
    protocol: str = ""
    """``remoting`` or ``gRPC``; empty: not known."""


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """The subscription of one client of a group to one topic."""

    client_id: str
    topic: str
    expression: str
    differs: bool
    """Whether another client of the group subscribes differently."""
    told: bool = True
    """Whether the client itself reported it; else it is what the broker keeps for all of them."""


_HEALTH = {
    LagOutlook.UNKNOWN: GroupHealth.UNKNOWN,
    LagOutlook.CAUGHT_UP: GroupHealth.CAUGHT_UP,
    LagOutlook.STEADY: GroupHealth.STEADY,
    LagOutlook.DRAINING: GroupHealth.DRAINING,
    LagOutlook.GROWING: GroupHealth.GROWING,
}


def group_health(group: GroupRow, lag: Forecast) -> GroupHealth:
    """Health of a group with this lag; a group whose alert fires is never well."""
    if group.beyond_messages > 0:
        return GroupHealth.BEYOND_END
    if group.lost_messages > 0:
        return GroupHealth.LOST
    if group.offline:
        return GroupHealth.OFFLINE
    if np.isnan(lag.lag_messages) and not group.may_lag:
        return GroupHealth.NO_POSITION
    health = _HEALTH[lag.outlook]
    if health is GroupHealth.UNKNOWN and not np.isnan(lag.lag_messages):
        health = GroupHealth.TURNED
    is_open = health in (GroupHealth.STEADY, GroupHealth.TURNED)
    return GroupHealth.BEHIND if is_open and group.over_limit else health


def group_rows(state: ClusterState, limits: LagLimits = SHIPPED) -> list[GroupRow]:
    """One row a group, in the catalog's order."""
    catalog = state.catalog
    system = catalog.group_is_system or [False] * len(catalog.groups)
    owners = np.asarray(catalog.position_group, np.int64)
    positions = np.bincount(owners, minlength=len(catalog.groups))
    arriving = state.queue_put_rate[np.asarray(catalog.position_queue, np.int64)]
    in_rates = np.where(positions > 0, np.bincount(owners, arriving, len(catalog.groups)), np.nan)
    standing, out_rates = state.group_standings, state.group_out_rate
    return [
        GroupRow(
            name=name,
            is_system=system[row],
            members=int(state.group_members[row]),
            lag_messages=float(state.group_lag_messages[row]),
            behind_ms=float(state.group_behind_ms[row]),
            out_rate=float(out_rates[row]),
            in_rate=float(in_rates[row]),
            lag_limit=limits.of_group(name),
            may_lag=bool(positions[row]) or bool(state.faults),
            lost_messages=float(standing.lost[row]),
            beyond_messages=float(standing.beyond[row]),
        )
        for row, name in enumerate(catalog.groups)
    ]


def by_urgency(rows: list[GroupRow]) -> list[GroupRow]:
    """Groups beyond an end first, then those that lost messages, then by lag, unknown last."""
    return sorted(
        rows,
        key=lambda row: (
            not row.beyond_messages > 0,
            not row.lost_messages > 0,
            np.isnan(row.lag_messages),
            -np.nan_to_num(row.lag_messages),
            row.name,
        ),
    )


def position_rows(state: ClusterState, group: str, limits: LagLimits = SHIPPED) -> list[PositionRow]:
    """One row a queue in which ``group`` has a position; empty when the group is not known.

    Queues beyond whose end it is come first, then the largest lag.
    """
    places, standing = _positions_of(state, group), state.position_standings
    limit = limits.of_queue(group, len(places))
    rows = [
        replace(
            _position_row(state, row, limit),
            lost_messages=float(standing.lost[row]),
            beyond_messages=float(standing.beyond[row]),
        )
        for row in places
    ]
    return sorted(
        rows,
        key=lambda row: (
            not row.beyond_messages > 0,
            -np.nan_to_num(row.lag_messages, nan=-1.0),
            row.topic,
            row.queue_id,
        ),
    )


def _positions_of(state: ClusterState, group: str) -> Ints:
    if group not in state.catalog.groups:
        return np.zeros(0, np.int64)
    wanted = state.catalog.groups.index(group)
    found: Ints = np.flatnonzero(np.asarray(state.catalog.position_group, np.int64) == wanted)
    return found


def _position_row(state: ClusterState, row: np.int64, lag_limit: float) -> PositionRow:
    catalog = state.catalog
    queue = catalog.position_queue[row]
    return PositionRow(
        topic=catalog.topics[catalog.queue_topic[queue]],
        queue_id=catalog.queue_id[queue],
        broker_offset=int(state.queue_max_offset[queue]),
        group_offset=int(state.position_offset[row]),
        lag_messages=float(state.position_lag_messages[row]),
        behind_ms=float(state.position_behind_ms[row]),
        owner=owner_of(state, row),
        lag_limit=lag_limit,
    )


def owner_of(state: ClusterState, row: int | np.int64) -> str | None:
    """Client that owns the queue of a position; empty: none, None: not known."""
    owner = int(state.position_owner[row])
    if owner < NOBODY:
        return None
    return state.owners[owner] if 0 <= owner < len(state.owners) else ""


def with_reported_owners(
    rows: list[PositionRow], brokers: Sequence[str], infos: Mapping[str, RunningInfo]
) -> list[PositionRow]:
    """The rows of one group; ``infos`` (client id → report) name the owners that the broker does not know."""
    if all(row.owner is not None for row in rows):
        return rows
    reported = reported_owners(brokers, infos)
    return [replace(row, owner=reported.get((row.topic, row.queue_id))) if row.owner is None else row for row in rows]


def reported_owners(brokers: Sequence[str], infos: Mapping[str, RunningInfo]) -> dict[tuple[str, int], str]:
    """Topic and queue → id of the client whose report names the queue; ``infos`` as for `with_reported_owners`.

    Reports from an attached cluster have the numbers of queues as the window shows them.
    """
    return {
        (queue.topic, queue.queue_id): client
        for client, info in infos.items()
        for queue in info.queues
        if not queue.is_dropped and queue.broker_name in brokers
    }


def topics_of(state: ClusterState, group: str) -> list[str]:
    """Topics in which a group has a position, by name, its retry topic last."""
    catalog = state.catalog
    topics = {catalog.topics[catalog.queue_topic[catalog.position_queue[row]]] for row in _positions_of(state, group)}
    return sorted(topics, key=own_first)


def own_first(topic: str) -> tuple[bool, str]:
    """Sorts topics by name, retry topics last."""
    return topic.startswith("%"), topic


def member_rows(
    members: Members,
    positions: list[PositionRow],
    now_ms: int,
    infos: Mapping[str, RunningInfo] | None = None,
    faults: Mapping[str, str] | None = None,
) -> list[MemberRow]:
    """One row a client, by client id; ``infos`` and ``faults`` are the clients' reports or why there are none, by id."""
    owned = Counter(row.owner for row in positions)
    is_known = None not in owned
    rows = []
    for i, client in enumerate(members.client_id):
        info = (infos or {}).get(client)
        protocol = members.protocol[i] if members.protocol else ""
        subscriptions = info.subscriptions if info is not None else tuple(sorted(members.subscriptions[i].items()))
        rows.append(
            MemberRow(
                client_id=client,
                address=members.address[i],
                language=members.language[i],
                version=members.version[i],
                last_heartbeat_ms=members.last_heartbeat_ms[i],
                subscriptions=subscriptions,
                # Members of gRPC receive from all queues and own none. A client that has answered named all of its own.
                queues=owned[client] if (is_known or info is not None) and protocol != GRPC else -1,
                now_ms=now_ms,
                info=info,
                fault=(faults or {}).get(client, ""),
                protocol=protocol,
            )
        )
    return sorted(rows, key=lambda row: row.client_id)


def subscription_rows(rows: list[MemberRow]) -> list[SubscriptionRow]:
    """One row a client and topic; a client without a topic of another one has an empty expression there.

    Only reports of clients are compared: the broker keeps one subscription for all members of a group.
    """
    topics = sorted({topic for row in rows for topic, _ in row.subscriptions}, key=own_first)
    made = []
    for topic in topics:
        said = {row.client_id: dict(row.subscriptions).get(topic, "") for row in rows}
        told = {row.client_id for row in rows if row.info is not None}
        # Clients of gRPC need no retry topic.
        differs = not topic.startswith(reserved.RETRY_PREFIX) and len({same_filter(said[client]) for client in told}) > 1
        made += [
            SubscriptionRow(client, topic, expression, differs and client in told, told=client in told)
            for client, expression in said.items()
        ]
    return made

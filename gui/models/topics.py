"""Rows of the topic and queue tables, from a `ClusterState`. Pure: no widget, no text, no I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from broker_core.api import names as reserved
from broker_core.worker.questions.figures import Catalog
from monitoring.lag_limits import SHIPPED, LagLimits
from monitoring.state import ClusterState, Floats, Ints

IDLE_AFTER_MS = 60_000
CHANCE_ERRORS = 5.0
"""Standard errors by which the fullest queue of a spread by chance is above an even share at most."""
SKEW_MESSAGES_MIN = 1_000
"""With fewer messages, queues differ by chance."""
NAME_LENGTH_MAX = 127
SERVICE_PREFIXES = (reserved.RETRY_PREFIX, reserved.DLQ_PREFIX)


class TopicHealth(Enum):
    """State of a topic, for the dot before its name."""

    ACTIVE = "active"
    IDLE = "idle"
    LAGGING = "lagging"


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic. -1 and NaN are unknown."""

    name: str
    is_system: bool
    health: TopicHealth
    write_queues: int
    read_queues: int
    permission: int
    put_rate: float
    average_bytes: float
    kept_messages: int
    slowest_group: str
    lag_messages: float
    last_store_ms: int
    taken_ms: int

    @property
    def age_ms(self) -> int:
        """Time since the last write, -1 if there was none or it is not known."""
        return max(0, self.taken_ms - self.last_store_ms) if self.last_store_ms >= 0 else -1


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue of a topic. ``put_rate`` in messages/s, ``last_store_ms`` since the epoch."""

    queue_id: int
    min_offset: int
    max_offset: int
    put_rate: float
    last_store_ms: int

    @property
    def messages(self) -> int:
        """Messages kept, -1 if not known."""
        return self.max_offset - self.min_offset if self.min_offset >= 0 and self.max_offset >= 0 else -1


@dataclass(frozen=True, slots=True)
class TopicGroupRow:
    """A group with a position on the shown topic. NaN and -1: unknown."""

    name: str
    lag_messages: float
    behind_ms: float
    members: int
    beyond_messages: float = 0.0
    """How far it is beyond the ends of its queues."""
    lost_messages: float = 0.0
    """Messages that were deleted before it read them."""


class GroupOnTopic(NamedTuple):
    """A group in the list of topics; NaN is unknown."""

    name: str
    lag_messages: float
    beyond_messages: float = 0.0
    lost_messages: float = 0.0


@dataclass(frozen=True, slots=True)
class _GroupsOnTopics:
    """Sums of positions by (topic, group), one item a pair that has a position."""

    topic: Ints
    group: Ints
    lag_messages: Floats
    behind_ms: Floats
    beyond_messages: Floats
    lost_messages: Floats


def is_system_topic(catalog: Catalog, row: int) -> bool:
    """Whether a topic is the broker's own: by its flag, or as a retry or dead letter topic."""
    return catalog.topic_is_system[row] or catalog.topics[row].startswith(SERVICE_PREFIXES)


def own_topics(state: ClusterState) -> list[int]:
    """Rows of the topics that are not the broker's own."""
    return [row for row in range(len(state.catalog.topics)) if not is_system_topic(state.catalog, row)]


def topic_rows(state: ClusterState, only: Sequence[int] | None = None, limits: LagLimits = SHIPPED) -> list[TopicRow]:
    """One row a topic, in the catalog's order, or of the topics at the places ``only``, in that order."""
    catalog = state.catalog
    slowest_group, slowest_lag = (column.tolist() for column in _slowest(state))
    # Whole columns become lists at once, in a fifth of the time of reading array items one by one.
    rates, last_ms = state.topic_put_rate.tolist(), state.topic_last_store_ms.tolist()
    kept, average = state.topic_kept_messages.tolist(), _average_bytes(state).tolist()
    over = [
        group >= 0 and lag > limits.of_group(catalog.groups[group])
        for group, lag in zip(slowest_group, slowest_lag, strict=True)
    ]
    in_part = catalog.topic_in_part or [False] * len(catalog.topics)
    return [
        TopicRow(
            name=catalog.topics[row],
            is_system=is_system_topic(catalog, row),
            health=_health(over[row], last_ms[row], state.taken_ms),
            write_queues=-1 if in_part[row] else catalog.topic_write_queues[row],
            read_queues=-1 if in_part[row] else catalog.topic_read_queues[row],
            permission=catalog.topic_permission[row],
            put_rate=rates[row],
            average_bytes=average[row],
            kept_messages=kept[row],
            slowest_group=catalog.groups[slowest_group[row]] if slowest_group[row] >= 0 else "",
            lag_messages=slowest_lag[row],
            last_store_ms=last_ms[row],
            taken_ms=state.taken_ms,
        )
        for row in (range(len(catalog.topics)) if only is None else only)
    ]


def queue_places(state: ClusterState, topic: str) -> range:
    """Places of a topic's queues in the catalog, which are contiguous; empty if the topic is not known."""
    if topic not in state.catalog.topics:
        return range(0)
    owners, wanted = state.catalog.queue_topic, state.catalog.topics.index(topic)
    count = owners.count(wanted)
    first = owners.index(wanted) if count else 0
    return range(first, first + count)


def queue_rows(state: ClusterState, topic: str) -> list[QueueRow]:
    """One row a queue of ``topic``, empty if the topic is not known."""
    return [
        QueueRow(
            queue_id=state.catalog.queue_id[row],
            min_offset=int(state.queue_min_offset[row]),
            max_offset=int(state.queue_max_offset[row]),
            put_rate=float(state.queue_put_rate[row]),
            last_store_ms=int(state.queue_last_store_ms[row]),
        )
        for row in queue_places(state, topic)
    ]


def topic_group_rows(state: ClusterState, topic: str) -> list[TopicGroupRow]:
    """The groups with a position on ``topic``, largest lag first, unknown last."""
    if topic not in state.catalog.topics:
        return []
    wanted = state.catalog.topics.index(topic)
    pairs = _groups_on_topics(state)
    rows = [
        TopicGroupRow(
            name=state.catalog.groups[int(pairs.group[i])],
            lag_messages=float(pairs.lag_messages[i]),
            behind_ms=float(pairs.behind_ms[i]),
            members=int(state.group_members[int(pairs.group[i])]),
            beyond_messages=float(pairs.beyond_messages[i]),
            lost_messages=float(pairs.lost_messages[i]),
        )
        for i in np.flatnonzero(pairs.topic == wanted)
    ]
    return sorted(rows, key=lambda row: (row.beyond_messages <= 0, -np.nan_to_num(row.lag_messages, nan=-1.0), row.name))


def groups_by_topic(state: ClusterState) -> dict[str, list[GroupOnTopic]]:
    """Groups with a position on each topic: those beyond the end, then the largest lag first."""
    pairs, catalog = _groups_on_topics(state), state.catalog
    found: dict[str, list[GroupOnTopic]] = {}
    columns = (pairs.topic, pairs.group, pairs.lag_messages, pairs.beyond_messages, pairs.lost_messages)
    for topic, group, lag, beyond, lost in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(catalog.topics[topic], []).append(GroupOnTopic(catalog.groups[group], lag, beyond, lost))
    for groups in found.values():
        groups.sort(
            key=lambda one: (one.beyond_messages > 0, -1.0 if np.isnan(one.lag_messages) else one.lag_messages, one.name),
            reverse=True,
        )
    return found


def skew(queues: Sequence[QueueRow]) -> float:
    """Largest share of the kept messages in one queue, divided by an even share.

    Kept messages, because current rates differ by chance. 1 where a spread by chance has such a queue, too. NaN with fewer
    than two known queues, or before `SKEW_MESSAGES_MIN` messages.
    """
    known = [queue.messages for queue in queues if queue.messages >= 0]
    if len(known) < 2 or sum(known) < SKEW_MESSAGES_MIN:
        return float("nan")
    even = sum(known) / len(known)
    return max(known) / even if max(known) - even > CHANCE_ERRORS * math.sqrt(even) else 1.0


def topic_name_fault(name: str, existing: list[str]) -> str:
    """The rule that a new topic's name breaks: '', 'empty', 'long', 'character', 'reserved' or 'exists'.

    Source: docs/spec/broker.md §2.5 item 1 (letters, digits, ``_ - % |``, at most 127) and §2.8 step 4.
    """
    if not name:
        return "empty"
    if len(name) > NAME_LENGTH_MAX:
        return "long"
    if not all(c.isascii() and (c.isalnum() or c in "_-%|") for c in name):
        return "character"
    if name.startswith(reserved.SYSTEM_PREFIX) or name in _RESERVED:
        return "reserved"
    return "exists" if name in existing else ""


_RESERVED = frozenset({
    *reserved.SYSTEM_TOPICS, "RMQ_SYS_SELF_TEST_TOPIC", "RMQ_SYS_OFFSET_MOVED_EVENT",
})  # fmt: skip


def _slowest(state: ClusterState) -> tuple[Ints, Floats]:
    """Group with the largest known lag and that lag, by topic; -1 and NaN where no group has a known position."""
    count = len(state.catalog.topics)
    group, lag = np.full(count, -1, np.int64), np.full(count, np.nan)
    pairs = _groups_on_topics(state)
    for topic, one_group, one_lag in zip(pairs.topic, pairs.group, pairs.lag_messages, strict=True):
        if not np.isnan(one_lag) and not one_lag <= lag[topic]:
            group[topic], lag[topic] = one_group, one_lag
    return group, lag


def _groups_on_topics(state: ClusterState) -> _GroupsOnTopics:
    if not state.catalog.position_queue:
        nothing, no_lag = np.zeros(0, np.int64), np.zeros(0)
        return _GroupsOnTopics(nothing, nothing, no_lag, no_lag, no_lag, no_lag)
    queue_topic = np.asarray(state.catalog.queue_topic, np.int64)
    topic = queue_topic[np.asarray(state.catalog.position_queue, np.int64)]
    group = np.asarray(state.catalog.position_group, np.int64)
    stride = len(state.catalog.groups)
    keys, place = np.unique(topic * stride + group, return_inverse=True)
    in_part = _known_in_part(state, place, keys // stride)
    standing = state.position_standings.summed(place, len(keys))
    return _GroupsOnTopics(
        topic=keys // stride,
        group=keys % stride,
        lag_messages=np.where(in_part, np.nan, _sum_known(place, state.position_lag_messages, len(keys))),
        behind_ms=np.where(in_part, np.nan, _max_known(place, state.position_behind_ms, len(keys))),
        beyond_messages=np.nan_to_num(standing.beyond),
        lost_messages=np.nan_to_num(standing.lost),
    )


def _known_in_part(state: ClusterState, place: Ints, topic: Ints) -> NDArray[np.bool_]:
    """Which sums miss a part, as in `Collector`: only an attached cluster has such positions.

    ``place`` is the sum of each position, ``topic`` the topic of each sum.
    """
    catalog, count = state.catalog, len(topic)
    if not catalog.brokers:
        return np.zeros(count, bool)
    if set(catalog.brokers_without_offsets) - set(catalog.brokers_untold):
        # Topics of these brokers are known, and none of their offsets.
        return np.ones(count, bool)
    unread = np.bincount(place[np.isnan(state.position_lag_messages)], minlength=count) > 0
    in_part: NDArray[np.bool_] = unread | state.topics_in_part[topic]
    return in_part


def _sum_known(place: Ints, values: Floats, count: int) -> Floats:
    known = ~np.isnan(values)
    sums: Floats = np.bincount(place[known], values[known], count).astype(np.float64)
    sums[np.bincount(place[known], minlength=count) == 0] = np.nan
    return sums


def _max_known(place: Ints, values: Floats, count: int) -> Floats:
    largest = np.full(count, np.nan)
    np.fmax.at(largest, place, values)
    return largest


def _health(is_lagging: bool, last_store_ms: int, taken_ms: int) -> TopicHealth:
    if is_lagging:
        return TopicHealth.LAGGING
    recent = last_store_ms >= 0 and taken_ms - last_store_ms < IDLE_AFTER_MS
    return TopicHealth.ACTIVE if recent else TopicHealth.IDLE


def _average_bytes(state: ClusterState) -> Floats:
    messages = np.where(state.topic_put_messages > 0, state.topic_put_messages, np.nan)
    average: Floats = state.topic_put_bytes / messages
    return average

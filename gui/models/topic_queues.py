"""Rows of the Topic detail page, from a `ClusterState` and measurements. Pure: no widget, no text, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from broker_core.api import Route
from gui.models.consumers import owner_of
from gui.models.topics import QueueRow, queue_rows
from monitoring.state import ClusterState


@dataclass(frozen=True, slots=True)
class QueueMeasure:
    """One queue on disk. -1 is unknown, or, for a time, none."""

    log_bytes: int
    queue_bytes: int
    oldest_ms: int
    is_estimate: bool


@dataclass(frozen=True, slots=True)
class TopicMeasure:
    """The queues of a topic on disk, by id."""

    queues: dict[int, QueueMeasure]

    @property
    def bytes(self) -> int:
        """Records in the commit log and units in the consume queues."""
        return sum(queue.log_bytes + queue.queue_bytes for queue in self.queues.values())

    @property
    def is_estimate(self) -> bool:
        return any(queue.is_estimate for queue in self.queues.values())

    @property
    def oldest_ms(self) -> int:
        """Store time of the oldest message; -1 when there is none."""
        return min((queue.oldest_ms for queue in self.queues.values() if queue.oldest_ms >= 0), default=-1)


UNMEASURED = QueueMeasure(-1, -1, -1, is_estimate=False)


@dataclass(frozen=True, slots=True)
class TopicQueueRow(QueueRow):
    """A queue with its size and the position of one group in it. -1 and NaN are unknown."""

    oldest_ms: int
    bytes: int
    is_estimate: bool
    group_offset: int
    lag_messages: float
    owner: str | None
    """Empty: nobody; None: not known."""

    @property
    def beyond_messages(self) -> int:
        """How far the group is beyond the end of the queue."""
        return max(0, self.group_offset - self.max_offset) if self.group_offset >= 0 and self.max_offset >= 0 else 0

    @property
    def lost_messages(self) -> int:
        """Messages that were deleted before the group read them."""
        known = self.group_offset >= 0 and self.min_offset >= 0
        return max(0, min(self.min_offset, self.max_offset) - self.group_offset) if known else 0

    @property
    def span_ms(self) -> int:
        """From the oldest message kept to the newest; -1 if not known or there is none."""
        known = self.oldest_ms >= 0 and self.last_store_ms >= 0
        return max(0, self.last_store_ms - self.oldest_ms) if known else -1


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One address of a broker that has queues of a topic."""

    broker_name: str
    cluster: str
    broker_id: int
    """0 is the master; -1: no address is known."""
    address: str
    read_queues: int
    write_queues: int
    permission: int


def topic_queue_rows(
    state: ClusterState,
    topic: str,
    measured: Mapping[int, QueueMeasure],
    group: str = "",
    told: Mapping[tuple[str, int], str] = MappingProxyType({}),
) -> list[TopicQueueRow]:
    """One row a queue of ``topic``, with the positions of ``group`` where it has them.

    ``told`` are its owners by topic and queue as its clients say, for queues whose owner the brokers do not tell.
    """
    positions = _positions(state, topic, group)
    rows = []
    for queue in queue_rows(state, topic):
        measure = measured.get(queue.queue_id, UNMEASURED)
        offset, lag, owner = positions.get(queue.queue_id, (-1, float("nan"), ""))
        if owner is None:
            owner = told.get((topic, queue.queue_id))
        rows.append(
            TopicQueueRow(
                queue.queue_id,
                queue.min_offset,
                queue.max_offset,
                queue.put_rate,
                queue.last_store_ms,
                oldest_ms=measure.oldest_ms,
                bytes=measure.log_bytes + measure.queue_bytes if measure.log_bytes >= 0 else -1,
                is_estimate=measure.is_estimate,
                group_offset=offset,
                lag_messages=lag,
                owner=owner,
            )
        )
    return rows


def _positions(state: ClusterState, topic: str, group: str) -> dict[int, tuple[int, float, str | None]]:
    catalog = state.catalog
    if group not in catalog.groups or topic not in catalog.topics:
        return {}
    group_row, topic_row = catalog.groups.index(group), catalog.topics.index(topic)
    found: dict[int, tuple[int, float, str | None]] = {}
    for row in np.flatnonzero(np.asarray(catalog.position_group, np.int64) == group_row).tolist():
        queue = catalog.position_queue[row]
        if catalog.queue_topic[queue] == topic_row:
            lag = float(state.position_lag_messages[row])
            found[catalog.queue_id[queue]] = (int(state.position_offset[row]), lag, owner_of(state, row))
    return found


def route_rows(route: Route) -> list[RouteRow]:
    """One row an address, by broker."""
    rows = []
    for queues in route.queues:
        name, counts = queues.broker_name, (queues.read_queues, queues.write_queues, queues.permission)
        for number, address in sorted(route.brokers.get(name, {}).items()) or [(-1, "")]:
            rows.append(RouteRow(name, route.clusters.get(name, ""), number, address, *counts))
    return rows

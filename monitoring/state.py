"""`ClusterState`: the known figures of a cluster at one moment, with derived ones.

Shapes: T topics, Q queues, G groups, P positions (a group's offset in a queue), as in `broker_core.worker.questions.figures`.
Offsets and counts are int64 with -1 = unknown; rates, ages and lag are float64 with NaN = unknown. Arrays are read-only.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from broker_core.worker.questions.figures import NO_ANSWER, Catalog
from monitoring.delay import DelayState, Lateness, no_delays
from monitoring.reach import ClusterReach
from monitoring.standing import Standings, standings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NOBODY = -1
"""Owner of a queue without consumer in `ClusterState.position_owner`; lower values: the owner is not known."""
MEMBERS_UNLISTED = -3
"""Members of a group of which brokers list none although it consumes, or a proxy of RocketMQ 5 may have some."""
MEMBERS_UNREAD = -2
"""Members of a group of an attached cluster that was not read yet; groups are read in turn."""


def are_members_known(members: Ints | int) -> NDArray[np.bool_]:
    """Whether numbers of members are known; -1 is: offline."""
    return np.asarray(members) >= -1


def topics_in_part(catalog: Catalog, queue_min_offset: Ints, queue_max_offset: Ints) -> NDArray[np.bool_]:
    """Topics [T] of an attached cluster of which a part is unknown, so that sums would be too small.

    A broker that may have a part of it is lost, or a queue was not read. An embedded broker knows all of its topics.
    """
    count = len(catalog.topics)
    if not catalog.brokers:
        return np.zeros(count, bool)
    unread = np.asarray(catalog.queue_topic, np.int64)[(queue_min_offset < 0) | (queue_max_offset < 0)]
    lost = np.array(catalog.topic_in_part or [False] * count, bool)
    found: NDArray[np.bool_] = lost | (np.bincount(unread, minlength=count) > 0)
    return found


def groups_in_part(catalog: Catalog, standing: Standings) -> NDArray[np.bool_]:
    """Groups [G] of an attached cluster with a position of unknown lag: sums over them are unknown.

    A lag is unknown if the broker is lost or the queue was not read yet; a broker that sent no offsets may have some of any
    group. On the embedded broker, a position of unknown lag was never stored.
    """
    count = len(catalog.groups)
    if not catalog.brokers:
        return np.zeros(count, bool)
    if catalog.brokers_without_offsets:
        return np.ones(count, bool)
    found: NDArray[np.bool_] = (
        np.bincount(np.asarray(catalog.position_group, np.int64)[np.isnan(standing.beyond)], minlength=count) > 0
    )
    return found


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Figures of one snapshot, and figures derived from it and earlier ones."""

    catalog: Catalog
    taken_ms: int
    """Broker clock of the snapshot, ms since the epoch."""

    queue_min_offset: Ints  # [Q]
    queue_max_offset: Ints  # [Q]
    queue_last_store_ms: Ints  # [Q]
    queue_put_rate: Floats  # [Q] messages/s, over the last seconds

    topic_put_messages: Ints  # [T] since the worker started
    topic_put_bytes: Ints  # [T]
    topic_put_rate: Floats  # [T] messages/s
    topic_got_rate: Floats  # [T] messages/s
    topic_kept_messages: Ints  # [T] sum of max - min offset
    topic_last_store_ms: Ints  # [T]

    group_members: Ints  # [G], -1 offline, `MEMBERS_UNREAD`, `MEMBERS_UNLISTED`
    group_lag_messages: Floats  # [G], NaN when no position is known, or one is beyond the end of its queue
    group_behind_ms: Floats  # [G] taken_ms - store time of the oldest message not consumed; 0 when none waits
    group_got_rate: Floats  # [G] messages/s that clients are sent

    position_offset: Ints  # [P]
    position_lag_messages: Floats  # [P], NaN also beyond the end of the queue
    position_behind_ms: Floats  # [P]
    position_owner: Ints  # [P], index into owners, -1 nobody, -2 not known
    owners: list[str]

    totals: dict[str, float]
    """As in `Snapshot.totals`, plus put_rate, put_byte_rate, got_rate, got_byte_rate, transaction_commit_rate,
    transaction_rollback_rate, transaction_unknown_rate, transaction_check_rate (a second), lag_messages (without groups
    that are beyond an end), unflushed_bytes, disk_used_percent, process_cpu_percent, dead_letters (messages that are kept as
    such; NaN unknown)."""

    delays: DelayState = field(default_factory=no_delays)
    timers: dict[str, float] = field(default_factory=dict)
    """As in `Snapshot.timers`, plus delivered_rate (messages/s, NaN unknown); empty if timers are not supported."""
    faults: dict[str, str] = field(default_factory=dict)
    """As in `Snapshot.faults`: parts of an attached cluster that fail, and why."""
    slave_lag_bytes: list[int] = field(default_factory=list)
    """As in `Snapshot.slave_lag_bytes`."""
    queue_read_ms: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """[Q], when each queue was read, -1 unknown; empty where all figures are of `taken_ms`, as of an embedded broker."""
    position_read_ms: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """[P], likewise for the offsets of groups."""
    lateness: Lateness | None = None
    """None if the source sends none."""
    group_consumed_rate: Floats = field(default_factory=lambda: np.empty(0))
    """[G] messages/s by which the offsets of the group advance, NaN unknown; empty where no history is kept."""

    @property
    def group_out_rate(self) -> Floats:
        """Messages/s that each group consumes; where that is unknown, those that its clients are sent."""
        consumed = self.group_consumed_rate
        return np.where(np.isnan(consumed), self.group_got_rate, consumed) if len(consumed) else self.group_got_rate

    @property
    def position_standings(self) -> Standings:
        """What waits, was lost, or lies beyond the end, by position."""
        at = np.asarray(self.catalog.position_queue, np.int64)
        return standings(self.position_offset, self.queue_min_offset[at], self.queue_max_offset[at])

    @property
    def group_standings(self) -> Standings:
        """The same by group: the sums of what is known."""
        return self.position_standings.summed(self.catalog.position_group, len(self.catalog.groups))

    @property
    def topics_in_part(self) -> NDArray[np.bool_]:
        """Topics of which a part is unknown."""
        return topics_in_part(self.catalog, self.queue_min_offset, self.queue_max_offset)

    @property
    def groups_in_part(self) -> NDArray[np.bool_]:
        """Groups of which a part is unknown."""
        return groups_in_part(self.catalog, self.position_standings)

    @property
    def is_blank(self) -> bool:
        """Whether no broker has sent its topics and groups yet, so that empty lists mean nothing."""
        return bool(self.faults) and not self.catalog.topics and not self.catalog.groups

    @property
    def silent_parts(self) -> list[str]:
        """Failed brokers of an attached cluster that have sent nothing: their topics and groups are unknown."""
        catalog = self.catalog
        told = zip(catalog.brokers, catalog.broker_version, strict=False)
        silent = {broker for broker, version in told if not version} | set(catalog.brokers_untold)
        return [broker for broker in catalog.brokers if broker in silent and broker in self.faults]

    @property
    def lists_all(self) -> bool:
        """Whether all topics and groups of the cluster are listed; else their number is unknown."""
        return not self.is_blank and not self.catalog.brokers_untold

    def topics_age_ms(self, topics: Collection[str]) -> int:
        """Age of the queue of these topics that was read longest ago."""
        places = [place for place, name in enumerate(self.catalog.topics) if name in topics]
        return self.queues_age_ms(np.isin(np.asarray(self.catalog.queue_topic, np.int64), places))

    def group_age_ms(self, group: str, topic: str = "") -> int:
        """Age of the oldest part of the positions of a group, on one topic or on all."""
        if group not in self.catalog.groups or not len(self.position_read_ms):
            return 0
        wanted = np.asarray(self.catalog.position_group, np.int64) == self.catalog.groups.index(group)
        if topic in self.catalog.topics:
            of_position = np.asarray(self.catalog.queue_topic, np.int64)[np.asarray(self.catalog.position_queue, np.int64)]
            wanted &= of_position == self.catalog.topics.index(topic)
        return self.positions_age_ms(wanted)

    def queues_age_ms(self, queues: NDArray[np.bool_] | None = None) -> int:
        """Age of the queue that was read longest ago, of those of a mask [Q] or of all; 0 where all were read now."""
        return _oldest_ms(self.taken_ms, self.queue_read_ms, queues)

    def positions_age_ms(self, positions: NDArray[np.bool_] | None = None) -> int:
        """Age of the oldest part of positions, of those of a mask [P] or of all: of an offset, or the end of its queue."""
        if not len(self.position_read_ms):
            return 0
        at = np.asarray(self.catalog.position_queue, np.int64)
        of_queues = _oldest_ms(self.taken_ms, self.queue_read_ms[at], positions) if len(self.queue_read_ms) else 0
        return max(of_queues, _oldest_ms(self.taken_ms, self.position_read_ms, positions))

    def lacks_topic(self, topic: str) -> bool:
        """Whether a topic surely does not exist: all brokers have sent their topics, and it is not among them."""
        return bool(topic) and self.lists_all and not self.faults and topic not in self.catalog.topics

    def lacks_group(self, group: str) -> bool:
        """Whether a group surely does not exist, as `lacks_topic`."""
        return bool(group) and self.lists_all and not self.faults and group not in self.catalog.groups

    @property
    def lost_brokers(self) -> list[str]:
        """Brokers of an attached cluster that do not answer at all."""
        return [broker for broker in self.catalog.brokers if self.faults.get(broker, "").startswith(NO_ANSWER)]

    @property
    def reach(self) -> ClusterReach:
        """How much of the cluster answers; an embedded broker always does."""
        if not self.faults:
            return ClusterReach.ALL
        is_lost = bool(self.catalog.brokers) and len(self.lost_brokers) == len(self.catalog.brokers)
        return ClusterReach.NOTHING if is_lost or self.is_blank else ClusterReach.PART

    def up_ms(self, own_started_ms: int) -> float:
        """How long the broker runs that started last; NaN while one of a cluster has not reported it.

        ``own_started_ms`` is the start of the worker's own broker.
        """
        started_ms = self.totals.get("started_ms", math.nan) if self.is_from_outside else float(own_started_ms)
        return math.nan if math.isnan(started_ms) else max(0.0, self.taken_ms - started_ms)

    @property
    def is_from_outside(self) -> bool:
        """Whether these figures are of an attached cluster, which reports fewer of them."""
        return bool(self.catalog.brokers)


def _oldest_ms(taken_ms: int, read_ms: Ints, wanted: NDArray[np.bool_] | None) -> int:
    chosen = read_ms if wanted is None or not len(read_ms) else read_ms[wanted]
    known = chosen[chosen >= 0]
    return max(taken_ms - int(known.min()), 0) if len(known) else 0

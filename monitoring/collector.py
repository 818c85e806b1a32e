"""Derives rates, lag and age from the worker's counters.

Pure: catalog and snapshots in, `ClusterState` and `History` out; the time is that of the snapshots.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from broker_core.api import CodecError
from broker_core.api import names as reserved
from broker_core.worker.questions.figures import OFFSETS_READ_MS, TOTALS_READ_MS, Catalog, Columns, Snapshot
from monitoring.delay import delays_of, lateness_of
from monitoring.series import Floats, History, Ints, SlidingRate
from monitoring.standing import standings
from monitoring.state import ClusterState, groups_in_part, topics_in_part

HISTORY_STEP_MS = 1_000


class Collector:
    """Follows one cluster, and records a sample a second. Not thread-safe; its states may be used on any thread."""

    def __init__(self, history: History | None) -> None:
        self._history = history
        self._catalog: _Places | None = None
        self._queue_rate = SlidingRate()
        self._topic_put_rate = SlidingRate()
        self._topic_got_rate = SlidingRate()
        self._group_got_rate = SlidingRate()
        self._totals_rate = SlidingRate()
        self._delay_rate = SlidingRate()
        self._timer_rate = SlidingRate()
        self._recorded_ms: int | None = None
        self._named: tuple[Catalog, tuple[str, ...], tuple[str, ...]] | None = None

    def restarted(self) -> None:
        """Reset for a new worker, which counts from 0 and sends its catalog again."""
        self._catalog = None
        for rate in (
            self._queue_rate, self._topic_put_rate, self._topic_got_rate, self._group_got_rate, self._totals_rate,
            self._delay_rate, self._timer_rate,
        ):  # fmt: skip
            rate.reset()
        if self._history is not None:
            self._history.queue_lags.clear()
            self._history.group_progress.clear()

    def catalog_changed(self, catalog: Catalog) -> None:
        """Set the catalog of the following snapshots; raises `CodecError` if its columns do not fit each other."""
        new, old = _Places(catalog), self._catalog
        self._catalog = new
        if old is None:
            return
        topics = _old_index(old.catalog.topics, catalog.topics)
        groups = _old_index(old.catalog.groups, catalog.groups)
        # A queue of an attached cluster existed before it was first read: its messages are not new.
        before = math.nan if catalog.brokers else 0.0
        self._queue_rate.rearrange(_old_index(old.queue_keys, new.queue_keys), before=before)
        self._topic_put_rate.rearrange(topics)
        self._topic_got_rate.rearrange(topics)
        self._group_got_rate.rearrange(groups)
        if self._history is not None:
            positions = _old_index(old.position_keys, new.position_keys)
            self._history.queue_lags.rearrange(positions)
            self._history.group_progress.rearrange(groups, positions)
        self._forget_gone(old.catalog, catalog)

    def snapshot_taken(self, snapshot: Snapshot) -> ClusterState | None:
        """Derive the figures of a moment.

        Returns:
            The state, or None if the snapshot belongs to a catalog that has been replaced.

        Raises:
            CodecError: A column is missing or its length differs from the catalog's.
        """
        places = self._catalog
        if places is None or snapshot.revision != places.catalog.revision:
            return None
        state = self._derive(places, snapshot)
        if self._history is None:
            return state
        if self._recorded_ms is None or abs(snapshot.taken_ms - self._recorded_ms) >= HISTORY_STEP_MS:
            self._recorded_ms = snapshot.taken_ms
            self._history.record(snapshot.taken_ms, self._names_of(state), _recorded(state))
            self._history.queue_lags.record(snapshot.taken_ms, state.position_lag_messages)
            self._history.group_progress.record(
                snapshot.taken_ms, state.position_offset, places.position_group, places.group_count
            )
        return state

    def _names_of(self, state: ClusterState) -> tuple[str, ...]:
        """Names of the recorded figures; the same object while they are unchanged."""
        totals = tuple(state.totals)
        if self._named is None or self._named[0] is not state.catalog or self._named[1] != totals:
            self._named = (state.catalog, totals, _names(totals, state.catalog))
        return self._named[2]

    def _forget_gone(self, old: Catalog, new: Catalog) -> None:
        if self._history is None:
            return
        topics = set(old.topics) - set(new.topics)
        groups = set(old.groups) - set(new.groups)
        names = [f"topic:{topic}.{figure}" for topic in topics for figure in _TOPIC_FIGURES]
        names += [f"group:{group}.{figure}" for group in groups for figure in _GROUP_FIGURES]
        self._history.forget(names)

    def _derive(self, places: _Places, snapshot: Snapshot) -> ClusterState:
        taken_ms, topic_count, group_count = snapshot.taken_ms, places.topic_count, places.group_count
        queues = _columns(snapshot.queues, ("min_offset", "max_offset", "last_store_ms"), places.queue_count)
        topics = _columns(snapshot.topics, ("put_messages", "put_bytes", "got_messages"), topic_count)
        groups = _columns(snapshot.groups, ("members", "got_messages"), group_count)
        positions = _columns(snapshot.positions, ("offset", "next_store_ms", "owner"), places.position_count)
        at = places.position_queue
        standing = standings(positions["offset"], queues["min_offset"][at], queues["max_offset"][at])
        lag, of_groups = standing.waiting, standing.summed(places.position_group, group_count)
        behind = _behind_ms(lag, positions["next_store_ms"], taken_ms)
        unknown = groups_in_part(places.catalog, standing)
        group_lag = np.where(unknown, np.nan, of_groups.waiting)
        # What the others have of such a topic says less than there is.
        in_part = topics_in_part(places.catalog, queues["min_offset"], queues["max_offset"])
        kept = _unless(in_part, _kept_messages(queues, places.queue_topic, topic_count))
        last_store_ms = _last_store_ms(queues["last_store_ms"], places.queue_topic, topic_count)
        totals = self._totals(snapshot, group_lag[~places.group_is_system], kept[places.topic_is_dead])
        totals |= _of_a_part(places, snapshot, unknown)
        queue_read_ms = _read_ms(snapshot.queues, places.queue_count)
        topic_read_ms = _means(queue_read_ms, places.queue_topic, topic_count)
        offsets_read_ms = snapshot.totals.get(OFFSETS_READ_MS, math.nan)
        return ClusterState(
            catalog=places.catalog,
            taken_ms=taken_ms,
            queue_min_offset=queues["min_offset"],
            queue_max_offset=queues["max_offset"],
            queue_last_store_ms=queues["last_store_ms"],
            queue_put_rate=_frozen(self._queue_rate.add(taken_ms, queues["max_offset"], _or_now(queue_read_ms))),
            topic_put_messages=topics["put_messages"],
            topic_put_bytes=topics["put_bytes"],
            topic_put_rate=_known_of(self._topic_put_rate.add(taken_ms, topics["put_messages"], topic_read_ms), ~in_part),
            topic_got_rate=_known_of(
                self._topic_got_rate.add(taken_ms, topics["got_messages"], np.full(topic_count, offsets_read_ms)), ~in_part
            ),
            topic_kept_messages=kept,
            topic_last_store_ms=_unless(in_part, last_store_ms),
            group_members=groups["members"],
            group_lag_messages=_frozen(group_lag),
            group_behind_ms=_known_of(
                _most_behind(behind, lag, places.position_group, group_count), ~unknown & (of_groups.beyond <= 0)
            ),
            group_got_rate=_known_of(
                self._group_got_rate.add(taken_ms, groups["got_messages"], np.full(group_count, offsets_read_ms)), ~unknown
            ),
            position_offset=positions["offset"],
            position_lag_messages=_frozen(lag),
            position_behind_ms=_frozen(behind),
            position_owner=positions["owner"],
            owners=snapshot.owners,
            totals=totals,
            delays=delays_of(self._delay_rate, taken_ms, snapshot.delays),
            timers=self._timers(taken_ms, snapshot.timers),
            faults=snapshot.faults,
            slave_lag_bytes=snapshot.slave_lag_bytes,
            queue_read_ms=queue_read_ms,
            position_read_ms=_read_ms(snapshot.positions, places.position_count),
            lateness=lateness_of(snapshot.lateness),
            group_consumed_rate=self._consumed_rates(unknown),
        )

    def _consumed_rates(self, unknown: NDArray[np.bool_]) -> Floats:
        """Of each group, NaN where a part of its offsets is unknown: the others say less."""
        if self._history is None:
            return np.empty(0)
        return _known_of(self._history.group_progress.rates(len(unknown)), ~unknown)

    def _timers(self, taken_ms: int, figures: dict[str, float]) -> dict[str, float]:
        if not figures:
            return {}
        if "delivered" not in figures:
            return {**figures, "delivered_rate": float("nan")}
        (rate,) = self._timer_rate.add(taken_ms, np.array([int(figures["delivered"])], np.int64)).tolist()
        return {**figures, "delivered_rate": rate}

    def _totals(self, snapshot: Snapshot, group_lag: Floats, dead: Ints) -> dict[str, float]:
        unknown = float("nan")
        totals = dict(snapshot.totals)
        totals.pop(OFFSETS_READ_MS, None)
        read_ms = totals.pop(TOTALS_READ_MS, unknown)
        counters = np.array([totals.get(name, unknown) for name in _TOTAL_COUNTERS.values()])
        rates = self._totals_rate.add(snapshot.taken_ms, counters, np.full(len(counters), read_ms))
        totals.update(zip(_TOTAL_COUNTERS, rates.tolist(), strict=True))
        totals["process_cpu_percent"] = totals.pop("process_cpu_rate") * 100
        known = group_lag[~np.isnan(group_lag)]
        # Without groups nothing waits, unless no broker has sent its groups.
        has_none = not len(group_lag) and not snapshot.faults
        totals["lag_messages"] = float(known.sum()) if len(known) or has_none else unknown
        totals["dead_letters"] = unknown if (dead < 0).any() else float(dead.sum())
        size = totals.get("disk_total_bytes", unknown)
        totals["disk_used_percent"] = totals.get("disk_used_bytes", unknown) / size * 100 if size > 0 else unknown
        totals["unflushed_bytes"] = totals.get("commit_log_max", unknown) - totals.get("flushed", unknown)
        return totals


_TOTAL_COUNTERS = {
    "put_rate": "put_messages",
    "put_byte_rate": "put_bytes",
    "got_rate": "got_messages",
    "got_byte_rate": "got_bytes",
    "console_rate": "console_messages",
    "process_cpu_rate": "process_cpu_s",
    "transaction_commit_rate": "transactions_committed",
    "transaction_rollback_rate": "transactions_rolled_back",
    "transaction_unknown_rate": "transactions_unknown",
    "transaction_check_rate": "transactions_checks",
    "atomic_commit_rate": "atomic_committed",
    "atomic_abort_rate": "atomic_aborted",
}
_TOPIC_FIGURES = ("put_rate", "got_rate")
_GROUP_FIGURES = ("lag_messages", "behind_ms", "got_rate", "lost_messages", "beyond_messages")


class _Places:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.topic_count = len(catalog.topics)
        self.queue_count = len(catalog.queue_id)
        self.group_count = len(catalog.groups)
        self.position_count = len(catalog.position_group)
        self.queue_topic = _indexes("queue_topic", catalog.queue_topic, self.queue_count, self.topic_count)
        self.position_group = _indexes("position_group", catalog.position_group, self.position_count, self.group_count)
        self.position_queue = _indexes("position_queue", catalog.position_queue, self.position_count, self.queue_count)
        if len(catalog.topic_in_part) not in (0, self.topic_count):
            text = f"the worker's catalog has {self.topic_count} topics, but {len(catalog.topic_in_part)} marks of parts"
            raise CodecError(text)
        self.topic_is_dead = np.array([name.startswith(reserved.DLQ_PREFIX) for name in catalog.topics], bool)
        # A worker of an older version does not report which groups are its own.
        system = catalog.group_is_system or [False] * self.group_count
        self.group_is_system = np.array(system, bool)
        if len(system) != self.group_count:
            raise CodecError(f"the worker's catalog has {self.group_count} groups, but {len(system)} marks of system groups")

    @property
    def queue_keys(self) -> list[tuple[str, int]]:
        topics, ids = self.catalog.topics, self.catalog.queue_id
        return [(topics[topic], queue_id) for topic, queue_id in zip(self.catalog.queue_topic, ids, strict=True)]

    @property
    def position_keys(self) -> list[tuple[str, tuple[str, int]]]:
        groups, queues = self.catalog.groups, self.queue_keys
        places = zip(self.catalog.position_group, self.catalog.position_queue, strict=True)
        return [(groups[group], queues[queue]) for group, queue in places]


def _indexes(name: str, values: list[int], length: int, limit: int) -> Ints:
    column = np.array(values, np.int64)
    if len(column) != length or (length and not 0 <= int(column.min()) <= int(column.max()) < limit):
        raise CodecError(
            f"the worker's catalog is not consistent: {name} has {len(column)} indexes, expected {length} below {limit}"
        )
    return column


def _columns(columns: Columns, names: Sequence[str], length: int) -> Mapping[str, Ints]:
    found: dict[str, Ints] = {}
    for name in names:
        raw = columns.get(name, b"")
        if len(raw) != length * 8:
            raise CodecError(f"the worker's column {name} has {len(raw)} bytes, expected {length} items of 8", column=name)
        found[name] = np.frombuffer(raw, "<i8")
    return found


def _of_a_part(places: _Places, snapshot: Snapshot, unknown: NDArray[np.bool_]) -> dict[str, float]:
    """Totals that are unknown, NaN, because some brokers have a part that they did not send."""
    found = {}
    if unknown[~places.group_is_system].any() or places.catalog.brokers_without_offsets:
        found["lag_messages"] = float("nan")
    if places.catalog.brokers_untold or (snapshot.faults and not places.catalog.topics):
        found["dead_letters"] = float("nan")  # as in `ClusterState.is_blank`
    return found


def _read_ms(columns: Columns, length: int) -> Ints:
    """When each part was read; empty where all are of the same moment."""
    return _columns(columns, ("read_ms",), length)["read_ms"] if "read_ms" in columns else np.empty(0, np.int64)


def _or_now(read_ms: Ints) -> Ints | None:
    return read_ms if len(read_ms) else None


def _means(read_ms: Ints, owner: Ints, count: int) -> Floats | None:
    """Mean time of what is known of each owner, NaN for none; None where all is of the same moment."""
    if not len(read_ms):
        return None
    known = read_ms >= 0
    numbers = np.bincount(owner[known], minlength=count)
    # Relative to one of them, because a sum of times since 1970 is not exact.
    base = float(read_ms.max())
    sums = np.bincount(owner[known], read_ms[known] - base, count)
    return np.where(numbers > 0, base + sums / np.maximum(numbers, 1), np.nan)


def _old_index(old: Sequence[Hashable], new: Sequence[Hashable]) -> Ints:
    place = {key: index for index, key in enumerate(old)}
    return np.array([place.get(key, -1) for key in new], np.int64)


def _known_of(rates: Floats, known: NDArray[np.bool_]) -> Floats:
    """Rates of what is known whole, NaN for the rest; read-only."""
    return _frozen(np.where(known, rates, np.nan))


def _frozen(values: Floats) -> Floats:
    values.flags.writeable = False
    return values


def _behind_ms(lag: Floats, next_store_ms: Ints, taken_ms: int) -> Floats:
    waiting = np.where(next_store_ms >= 0, np.maximum(taken_ms - next_store_ms, 0), np.nan)
    behind: Floats = np.where(lag == 0, 0.0, np.where(np.isnan(lag), np.nan, waiting))
    return behind


def _most_behind(behind: Floats, lag: Floats, owner: Ints, count: int) -> Floats:
    known = ~np.isnan(behind)
    largest = np.full(count, -1.0)
    np.maximum.at(largest, owner[known], behind[known])
    # A group is not up to date as long as a position lags by an unknown time.
    lags = np.bincount(owner[~known & (lag > 0)], minlength=count) > 0
    return np.where((largest > 0) | ((largest == 0) & ~lags), largest, np.nan)


def _kept_messages(queues: Mapping[str, Ints], queue_topic: Ints, count: int) -> Ints:
    low, high = queues["min_offset"], queues["max_offset"]
    unknown = np.bincount(queue_topic[(low < 0) | (high < 0)], minlength=count) > 0
    kept = np.zeros(count, np.int64)
    np.add.at(kept, queue_topic, np.maximum(high - low, 0))
    kept[unknown] = -1
    return kept


def _unless(in_part: NDArray[np.bool_], column: Ints) -> Ints:
    """A topic figure, -1 where a part of it is unknown; read-only."""
    column[in_part] = -1
    column.flags.writeable = False
    return column


def _last_store_ms(last_store_ms: Ints, queue_topic: Ints, count: int) -> Ints:
    last = np.full(count, -1, np.int64)
    np.maximum.at(last, queue_topic, last_store_ms)
    return last


def _recorded(state: ClusterState) -> Floats:
    """Values in the order of `_names`."""
    of_groups = state.group_standings
    figures = (
        state.topic_put_rate,
        state.topic_got_rate,
        state.group_lag_messages,
        state.group_behind_ms,
        state.group_got_rate,
        of_groups.lost,
        of_groups.beyond,
    )
    return np.concatenate([np.fromiter(state.totals.values(), np.float64), *figures])


def _names(totals: Iterable[str], catalog: Catalog) -> tuple[str, ...]:
    topics = (f"topic:{topic}.{figure}" for figure in _TOPIC_FIGURES for topic in catalog.topics)
    groups = (f"group:{group}.{figure}" for figure in _GROUP_FIGURES for group in catalog.groups)
    return (*(f"totals.{name}" for name in totals), *topics, *groups)

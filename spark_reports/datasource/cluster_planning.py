"""Plans reads of a cluster: what to survey of its brokers, and the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from broker_core.cluster.reader import SliceReader
from broker_core.cluster.slices import OFFSET_MAX, QueueSlice, SurveyRequest
from spark_reports.datasource.cluster_options import ClusterOptions, Offsets
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.filters import ColumnComparison
from spark_reports.datasource.options import Selection

_PLACES = (("store", pa.string()), ("topic", pa.string()), ("queue_id", pa.int32()))
"""Columns with one value in a whole queue."""


def plan_cluster(options: ClusterOptions, selection: Selection) -> ClusterPlan:
    """Plan a read of a cluster as it is now.

    Raises:
        NetworkError: No name server answers, or it knows no broker.
        UsageError: None of the topics exists, or the place of keys has none.
        RemoteError, CodecError: The name server reports an error or sends invalid data.
    """
    with SliceReader(options.name_servers, options.place, limits=options.limits) as reader:
        found = reader.survey(wanted_of(selection, options.offsets))
    tasks = tuple(tasks_of(found.slices, options))
    return ClusterPlan(options.name_servers, options.place, tasks, options.limits, found.unknown, found.brokers)


def tasks_of(queues: Iterable[QueueSlice], options: ClusterOptions) -> Iterator[tuple[QueueSlice, ...]]:
    """Slices of queues as tasks, each of one broker.

    With limits there are at most ``tasks_per_broker`` tasks of a broker, because each gets a fixed share of them; without, one
    for each slice, small ones merged.
    """
    pieces: dict[str, list[QueueSlice]] = {}
    for queue in queues:
        pieces.setdefault(queue.address, []).extend(_cut(queue, options.slice_messages))
    is_limited = options.limits.messages_per_second or options.limits.bytes_per_second
    for of_broker in pieces.values():
        total = sum(piece.messages for piece in of_broker)
        count = max(1, -(-total // options.slice_messages))
        yield from _spread(of_broker, min(count, options.tasks_per_broker) if is_limited else count)


def _cut(queue: QueueSlice, messages: int) -> Iterator[QueueSlice]:
    for first in range(queue.first, queue.end, messages):
        yield replace(queue, first=first, end=min(first + messages, queue.end))


def _spread(pieces: list[QueueSlice], count: int) -> Iterator[tuple[QueueSlice, ...]]:
    """Distribute pieces over ``count`` tasks about evenly; neighbours stay together."""
    share = sum(piece.messages for piece in pieces) / count
    group: list[QueueSlice] = []
    filled, ended = 0, 1
    for piece in pieces:
        if group and ended < count and filled + piece.messages / 2 > share * ended:
            yield tuple(group)
            group, ended = [], ended + 1
        group.append(piece)
        filled += piece.messages
    if group:
        yield tuple(group)


def wanted_of(selection: Selection, offsets: Offsets | None = None) -> SurveyRequest:
    """The survey request of a selection, limited to its topics, queues, times and offsets."""
    topics = tuple(offsets) if offsets is not None else (selection.topics or None)
    if offsets is None and not selection.meant:
        stored = selection.stored_topics()
        topics = None if stored is None else tuple(sorted(stored))
    low, high = numbers_of(selection.comparisons, "queue_offset")

    def bounds(topic: str, broker: str, queue_id: int) -> tuple[int, int] | None:
        if not _may_hold(selection.comparisons, (broker, topic, queue_id)):
            return None
        if offsets is None:
            return low, high
        given = offsets.get(topic, {}).get(f"{broker}:{queue_id}")
        return None if given is None else (max(low, given[0]), min(high, given[1]))

    return SurveyRequest(topics, selection.meant, selection.earliest_ms(), selection.end_ms(), bounds)


def _may_hold(comparisons: tuple[ColumnComparison, ...], values: tuple[str, str, int]) -> bool:
    return all(
        comparison.holds(pa.array([value], data_type))[0]
        for (column, data_type), value in zip(_PLACES, values, strict=True)
        for comparison in comparisons
        if comparison.column == column
    )


def numbers_of(comparisons: tuple[ColumnComparison, ...], column: str) -> tuple[int, int]:
    """Range of a column of whole numbers that satisfy all comparisons: from ≤ value < to."""
    low, high = 0, OFFSET_MAX
    for one in comparisons:
        values = [value for value in one.values if isinstance(value, int)]
        if one.column != column or one.is_negated or len(values) != len(one.values):
            continue
        if one.operation in ("equal", "in", "greater", "greater_equal"):
            low = max(low, min(values) + (one.operation == "greater"))
        if one.operation in ("equal", "in", "less", "less_equal"):
            high = min(high, max(values) + (one.operation != "less"))
    return low, high

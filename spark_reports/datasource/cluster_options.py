"""What the options of ``rocketmq-cluster`` say: which cluster, what of it, and how gently."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from broker_core.errors import UsageError
from broker_core.queue_reading.model import BYTES_PER_SECOND, MESSAGES_PER_SECOND, OFFSET_MAX, RETRY_SECONDS, ReadLimits, Wanted
from spark_reports.datasource.filters import Comparison
from spark_reports.datasource.options import Selection

SLICE_MESSAGES = 50_000
"""Messages one task reads, about, where nothing is held back."""
SLICE_MESSAGES_MAX = 10_000_000
TASKS_MAX = 64
_TASKS_USUAL = 8
_PLACES = (("store", pa.string()), ("topic", pa.string()), ("queue_id", pa.int32()))
"""Columns that are one value in a whole queue."""

Offsets = Mapping[str, Mapping[str, tuple[int, int]]]
"""Topic → ``BROKER:QUEUE`` → from, to."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which cluster is read, and how.

    Attributes:
        name_servers: ``host:port``, several with ``;`` between them.
        place: Of keys, TLS and address map, see `broker_core.queue_reading.access`; empty: none.
        limits: How much one broker is asked for, over all tasks.
        slice_messages: Messages of one slice of a queue.
        tasks_per_broker: Tasks that share the limits of a broker.
        offsets: Offsets of the only queues to read; None: of all that are there.
    """

    name_servers: str
    place: str = ""
    limits: ReadLimits = ReadLimits()
    slice_messages: int = SLICE_MESSAGES
    tasks_per_broker: int = _TASKS_USUAL
    offsets: Offsets | None = None


def cluster_options_of(options: Mapping[str, str]) -> ClusterOptions:
    """The options of a read.

    Raises:
        UsageError: No name server is named, or an option is not what it should be.
    """
    name_servers = options.get("name_servers", options.get("path", "")).strip()
    if not name_servers:
        raise UsageError("name the cluster to read: option name_servers with HOST:PORT of a name server; several with ; between")
    return ClusterOptions(
        name_servers,
        options.get("details", ""),
        ReadLimits(
            amount_of(options, "messages_per_second", MESSAGES_PER_SECOND),
            amount_of(options, "bytes_per_second", BYTES_PER_SECOND),
            amount_of(options, "retry_seconds", RETRY_SECONDS),
        ),
        _count_of(options, "slice_messages", SLICE_MESSAGES, SLICE_MESSAGES_MAX),
        _count_of(options, "tasks_per_broker", usual_tasks(), TASKS_MAX),
        offsets_of(options["offsets"]) if "offsets" in options else None,
    )


def usual_tasks() -> int:
    """As many tasks of a broker as this machine runs at once: each has its share of the broker's limits for itself."""
    return min(os.cpu_count() or 1, _TASKS_USUAL)


def amount_of(options: Mapping[str, str], name: str, usual: float) -> float:
    """An option that is a number from 0.

    Raises:
        UsageError: It is none.
    """
    text = options.get(name, str(usual))
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise UsageError(f"option {name} takes a number from 0 (no bound), not “{text}”")
    return found


def _count_of(options: Mapping[str, str], name: str, usual: int, most: int) -> int:
    text = options.get(name, str(usual))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise UsageError(f"option {name} takes a whole number from 1 to {most:,}, not “{text}”")
    return int(text)


def offsets_of(text: str) -> Offsets:
    """Offsets of queues from ``{"TOPIC": {"BROKER:QUEUE": [FROM, TO]}}``.

    Raises:
        UsageError: They are not written so, or a range is empty.
    """
    try:
        found = {
            str(topic): {str(queue): (int(first), int(end)) for queue, (first, end) in queues.items()}
            for topic, queues in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError('option offsets takes {"TOPIC": {"BROKER:QUEUE": [FROM, TO]}}, offsets from ≤ offset < to') from error
    for topic, queues in found.items():
        for queue, (first, end) in queues.items():
            if not 0 <= first < end:
                raise UsageError(f"option offsets: the range of {queue} in {topic} is empty: {first} is not before {end}")
    return found


def wanted_of(selection: Selection, offsets: Offsets | None = None) -> Wanted:
    """What a selection wants of a cluster: no more is looked at than its topics, queues, times and offsets need."""
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

    return Wanted(topics, selection.meant, selection.earliest_ms(), selection.end_ms(), bounds)


def _may_hold(comparisons: tuple[Comparison, ...], values: tuple[str, str, int]) -> bool:
    """Whether a queue can hold what fulfils all comparisons."""
    return all(
        comparison.holds(pa.array([value], data_type))[0]
        for (column, data_type), value in zip(_PLACES, values, strict=True)
        for comparison in comparisons
        if comparison.column == column
    )


def numbers_of(comparisons: tuple[Comparison, ...], column: str) -> tuple[int, int]:
    """Values of a column of whole numbers that fulfil all comparisons lie within these: from ≤ value < to."""
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

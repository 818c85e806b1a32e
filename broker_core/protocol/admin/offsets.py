"""Offsets of queues, groups, delay levels and resets, and entries of consume queues, as brokers answer them.

Source: docs/spec/remoting.md §2.2.5, §2.5.4 (202), §2.5.5, §2.5.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from broker_core.protocol.admin.values import Body, reading, whole_number
from broker_core.protocol.json_body import JsonBodyError, MessageQueue, as_message_queue
from broker_core.protocol.queue_unit import QueueUnit

_T = TypeVar("_T")

NO_OFFSETS = "No consumer offset in this broker"
"""Refusal of brokers, where their table of consumer offsets is empty."""


@dataclass(frozen=True, slots=True)
class QueueOffsets:
    """What a queue holds: offsets from ``min_offset`` up to, not including, ``max_offset``.

    ``last_store_ms`` is 0 when no message was ever written, or when it is unknown.
    """

    min_offset: int
    max_offset: int
    last_store_ms: int


@dataclass(frozen=True, slots=True)
class ConsumeOffset:
    """How far a group is in a queue; ``last_consumed_ms`` is the store time of the last consumed message, or 0."""

    broker_offset: int
    consumer_offset: int
    last_consumed_ms: int

    @property
    def lag_messages(self) -> int:
        return self.broker_offset - self.consumer_offset


def read_queue_offsets(body: Body) -> dict[MessageQueue, QueueOffsets]:
    """The offsets of the queues of a topic on one broker, from GET_TOPIC_STATS_INFO; raises `JsonBodyError`."""
    return _by_queue(
        "the offsets of a topic",
        body,
        lambda row: QueueOffsets(int(row["minOffset"]), int(row["maxOffset"]), int(row.get("lastUpdateTimestamp") or 0)),
    )


def read_consume_stats(body: Body) -> dict[MessageQueue, ConsumeOffset]:
    """How far a group is in the queues of one broker, from GET_CONSUME_STATS; raises `JsonBodyError`."""
    return _by_queue(
        "the offsets of a group in a topic",
        body,
        lambda row: ConsumeOffset(int(row["brokerOffset"]), int(row["consumerOffset"]), int(row.get("lastTimestamp") or 0)),
    )


def read_reset_offsets(body: Body) -> dict[MessageQueue, int]:
    """Where queues continue after a reset, from INVOKE_BROKER_TO_RESET_OFFSET; raises `JsonBodyError`."""
    return _by_queue("the offsets of a reset", body, int)


def read_consumer_offsets(body: Body) -> dict[tuple[str, str], dict[int, int]]:
    """(group, topic) → queue → offset, from GET_ALL_CONSUMER_OFFSET; raises `JsonBodyError`."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    with reading("the table of consumer offsets", body) as value:
        for key, queues in (value.get("offsetTable") or {}).items():
            topic, at, group = str(key).partition("@")
            if at:
                found[group, topic] = {int(queue): int(offset) for queue, offset in queues.items()}
    return found


def read_delay_offsets(body: Body) -> dict[int, int]:
    """Delay level → next offset to deliver, from GET_ALL_DELAY_OFFSET; raises `JsonBodyError`."""
    with reading("the offsets of the delay levels", body) as value:
        return {int(level): int(offset) for level, offset in (value.get("offsetTable") or {}).items()}


def read_timer_counts(body: Body) -> dict[str, int]:
    """Topic → pending messages with a delivery time, less cancels, from GET_TIMER_METRICS; raises `JsonBodyError`."""
    with reading("the counts of timers", body) as value:
        return {str(topic): int(row["count"]) for topic, row in (value.get("timingCount") or {}).items()}


def read_queue_units(body: Body) -> list[QueueUnit]:
    """Consecutive entries of a consume queue, from QUERY_CONSUME_QUEUE; raises `JsonBodyError`."""
    with reading("the entries of a queue", body) as value:
        rows = value.get("queueData") or []
        return [QueueUnit(int(row["physicOffset"]), int(row["physicSize"]), int(row["tagsCode"])) for row in rows]


def read_offset(fields: Mapping[str, str], name: str = "offset") -> int:
    """The offset among the header fields of an answer; raises `JsonBodyError` when there is none."""
    number = whole_number(fields.get(name))
    if number is None:
        raise JsonBodyError(f"an answer has no number {name}: {dict(fields)}")
    return number


def _by_queue(what: str, body: Body, read: Callable[[Any], _T]) -> dict[MessageQueue, _T]:
    found: dict[MessageQueue, _T] = {}
    with reading(what, body) as value:
        for key, row in (value.get("offsetTable") or {}).items():
            queue = as_message_queue(key)
            if queue is None:
                raise TypeError(f"{key!r:.80} is no queue")
            found[queue] = read(row)
    return found

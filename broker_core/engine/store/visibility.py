"""What readers of queues may see if messages are hidden; a plain store hides none."""

from __future__ import annotations

from struct import Struct
from typing import Protocol

from broker_core.engine.store.results import GetResult, GetStatus
from broker_core.protocol.message.record import QUEUE_OFFSET_POSITION

_OFFSET = Struct(">q")


class Visibility(Protocol):
    """Decides about queues with messages that are not decided yet."""

    def end(self, topic: str, queue_id: int) -> int | None:
        """Offset below which readers get messages; None if they get all and none is hidden."""

    def hides(self, topic: str, queue_id: int, offset: int) -> bool:
        """Whether a message below the end is hidden."""

    def hides_record(self, record: memoryview) -> bool:
        """Whether a record that was not found by its queue is hidden."""


def visible(visibility: Visibility, topic: str, queue_id: int, asked_offset: int, result: GetResult) -> GetResult:
    """The visible part of a result: hidden messages are skipped as if the filter did not accept them.

    At the end the result is that of the end of a queue, so that pulls are held there.
    """
    end = visibility.end(topic, queue_id)
    if end is None:
        return result
    max_offset = min(result.max_offset, end)
    if asked_offset >= end and result.status is not GetStatus.OFFSET_OVERFLOW_BADLY:
        return result._replace(
            status=GetStatus.OFFSET_OVERFLOW_ONE, records=[], next_offset=asked_offset, max_offset=max_offset, total_bytes=0
        )
    records, total_bytes = [], 0
    for record in result.records:
        (offset,) = _OFFSET.unpack_from(record, QUEUE_OFFSET_POSITION)
        if offset < end and not visibility.hides(topic, queue_id, offset):
            records.append(record)
            total_bytes += len(record)
    status = result.status
    if status is GetStatus.FOUND and not records:
        status = GetStatus.NO_MATCHED_MESSAGE
    return result._replace(
        status=status,
        records=records,
        next_offset=min(result.next_offset, end),
        max_offset=max_offset,
        total_bytes=total_bytes,
    )

"""Orderly pops: a queue is blocked until all messages of its last pop are acked or visible again.

The group's offset stays at the first message that is not acked. Records live in memory; ``consumerOrderInfo.json`` keeps them
for a restart, in the form of 5.3.3: ``o`` holds the first offset and then differences from it, ``cm`` the acked bits, ``oc``
how often a message was handed out before, ``ot`` its changed visible time. ``orbitLater`` has acked offsets beyond 63. Without
the file no queue is blocked.

Source: docs/spec/broker.md §6.7, docs/spec/store.md §7.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.store.config_file import object_in, whole_number
from broker_core.errors import CodecError

SEPARATOR = "@"

_LONG_BITS = 64
_FILE_OFFSETS_MAX = 63
"""RocketMQ's acked bits are a long, which holds no more."""
_LATER = "orbitLater"
"""Member of an entry: acked offsets after those, as differences from the first. RocketMQ ignores it."""
_QUEUE_ID = re.compile(r"[0-9]{1,9}")


@dataclass(slots=True, eq=False)
class OrderRecord:
    """The last orderly pop of one queue.

    Attributes:
        offsets: Queue offsets handed out, ascending.
        attempt_id: Of the client's request; a request with the same id is a repetition and not blocked.
        counts: Offset → how often the message was handed out before; without messages of a first pop.
        visible_ms: Offset → when the message is visible again, if changed.
        committed: The group's offset as this module last set it; another value means that a client reset it.
        done: Offsets after the first that were acked in an earlier pop and are not handed out again.
    """

    pop_time_ms: int
    invisible_ms: int
    offsets: list[int]
    attempt_id: str | None
    last_consume_ms: int
    acked: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    visible_ms: dict[int, int] = field(default_factory=dict)
    committed: int = -1
    done: frozenset[int] = frozenset()

    @property
    def pending(self) -> list[int]:
        return [offset for place, offset in enumerate(self.offsets) if not self.acked >> place & 1]

    @property
    def next_offset(self) -> int:
        """First offset that is not acked; the one after the last if all are."""
        pending = self.pending
        return pending[0] if pending else self._behind()

    def next_after(self, offset: int) -> int:
        """`next_offset` once a message is acked."""
        pending = [known for known in self.pending if known != offset]
        return pending[0] if pending else self._behind()

    def _behind(self) -> int:
        """The first offset after the last that is not acked."""
        behind = self.offsets[-1] + 1
        while behind in self.done:
            behind += 1
        return behind

    def visible_at(self, offset: int) -> int:
        """When a message that is not acked may be handed out again."""
        return self.visible_ms.get(offset, self.pop_time_ms + self.invisible_ms)

    def blocked_until(self) -> int:
        """When the last message that is not acked is visible again; 0 when all are acked."""
        return max((self.visible_at(offset) for offset in self.pending), default=0)

    def is_acked(self, offset: int) -> bool:
        return offset in self.done or (offset in self.offsets and bool(self.acked >> self.offsets.index(offset) & 1))

    def acked_behind(self, offset: int) -> frozenset[int]:
        """Acked offsets after this one."""
        acked = {known for place, known in enumerate(self.offsets) if self.acked >> place & 1}
        return frozenset(known for known in acked | self.done if known > offset)

    def to_json(self) -> dict[str, Any]:
        """The entry of the file. It knows one pop, so those of `done` are part of it, with the first offset between them."""
        between = self._behind()
        gap = {between: self.pop_time_ms} if between < max(self.done, default=-1) else {}
        offsets = sorted({*self.offsets, *self.done, *gap})
        later = [offset - offsets[0] for offset in offsets[_FILE_OFFSETS_MAX:] if self.is_acked(offset)]
        offsets = offsets[:_FILE_OFFSETS_MAX]
        visible_ms = self.visible_ms | gap
        value: dict[str, Any] = {
            "cm": sum(1 << place for place, offset in enumerate(offsets) if self.is_acked(offset)),
            "i": self.invisible_ms,
            "l": self.last_consume_ms,
            "o": [offsets[0], *(offset - offsets[0] for offset in offsets[1:])],
            "popTime": self.pop_time_ms,
        }
        if later:
            value[_LATER] = later
        if self.attempt_id is not None:
            value["a"] = self.attempt_id
        if self.counts:
            value["oc"] = {str(offset): times for offset, times in sorted(self.counts.items())}
        if visible_ms:
            value["ot"] = {str(offset): at_ms for offset, at_ms in sorted(visible_ms.items())}
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> OrderRecord:
        """Read an entry of ``consumerOrderInfo.json``.

        Raises:
            CodecError: A number is missing or of another type.
        """
        offsets = value.get("o")
        if not isinstance(offsets, list) or not offsets:
            raise CodecError("an entry of consumerOrderInfo.json has no offsets")
        later = value.get(_LATER, [])
        if not isinstance(later, list):
            raise CodecError(f"{_LATER} of consumerOrderInfo.json is no list")
        first, attempt_id = whole_number(offsets[0], "an offset of o"), value.get("a")
        return cls(
            pop_time_ms=whole_number(value.get("popTime"), "popTime"),
            invisible_ms=whole_number(value.get("i"), "i"),
            offsets=_offsets([whole_number(number, "an offset of o") for number in offsets]),
            attempt_id=None if attempt_id is None else str(attempt_id),
            last_consume_ms=whole_number(value.get("l", 0), "l"),
            acked=_bits(value.get("cm", 0), len(offsets)),
            counts=_by_offset(value, "oc"),
            visible_ms=_by_offset(value, "ot"),
            done=frozenset(first + whole_number(number, _LATER) for number in later),
        )


class OrderInfo:
    """The records of all queues that are popped in order.

    Attributes:
        changes: Grows with every change; while it stays equal, the file is up to date.
    """

    def __init__(self) -> None:
        self._records: dict[QueueOf, OrderRecord] = {}
        self.changes = 0

    def get(self, queue: QueueOf, committed: int) -> OrderRecord | None:
        """The record of a queue; None without one, or when the group's offset ``committed`` was reset since the pop.

        After a kill the file may hold a pop before the last; the offset is then behind its messages.
        """
        record = self._records.get(queue)
        if record is None or record.committed == committed or (record.committed == -1 and committed <= record.next_offset):
            return record
        self.drop(queue)
        return None

    def popped(self, queue: QueueOf, record: OrderRecord, committed: int) -> None:
        """Store the record of a new pop. Messages of the last pop count as handed out once more, unless this pop repeats it."""
        former = self.get(queue, committed)
        if former is not None:
            repeated = record.attempt_id is not None and record.attempt_id == former.attempt_id
            for offset in record.offsets:
                times = former.counts.get(offset, 0) + (0 if repeated or offset not in former.offsets else 1)
                if times:
                    record.counts[offset] = times
            record.done = former.acked_behind(record.offsets[0])
        record.committed = committed
        self._records[queue] = record
        self.changes += 1

    def ack(self, queue: QueueOf, record: OrderRecord, offset: int) -> None:
        """Note an ack; `OrderRecord.next_offset` becomes the group's offset."""
        record.acked |= 1 << record.offsets.index(offset)
        record.committed = record.next_offset
        if not record.pending and not record.done:
            self._records.pop(queue, None)
        self.changes += 1

    def postpone(self, record: OrderRecord, offset: int, visible_ms: int) -> None:
        """Set when a message is visible again."""
        record.visible_ms[offset] = visible_ms
        self.changes += 1

    def drop(self, queue: QueueOf) -> None:
        if self._records.pop(queue, None) is not None:
            self.changes += 1

    def forget(self, topic: str, group: str) -> None:
        """Drop the records of a topic or group that is deleted; one of the same name has other messages at these offsets."""
        for queue in [queue for queue in self._records if (queue.topic, queue.group) == (topic, group)]:
            self.drop(queue)

    def clean(self, keep: set[tuple[str, str]]) -> None:
        """Delete the records of deleted topics and groups; ``keep`` has ``(topic, group)``."""
        for queue in [queue for queue in self._records if (queue.topic, queue.group) not in keep]:
            self.drop(queue)

    def records(self) -> list[tuple[QueueOf, OrderRecord]]:
        """The records of all queues, of this moment."""
        return list(self._records.items())

    def pairs(self) -> set[tuple[str, str]]:
        """``(topic, group)`` of all records."""
        return {(queue.topic, queue.group) for queue in self._records}

    def to_json(self) -> dict[str, Any]:
        table: dict[str, dict[str, Any]] = {}
        for queue, record in self._records.items():
            table.setdefault(queue.topic + SEPARATOR + queue.group, {})[str(queue.queue_id)] = record.to_json()
        return {"table": table}

    def load(self, value: Mapping[str, Any]) -> None:
        """Read ``consumerOrderInfo.json``.

        Raises:
            CodecError: An entry cannot be read; nothing is taken over.
        """
        table, records = object_in(value, "table"), {}
        for key in table:
            topic, _, group = key.partition(SEPARATOR)
            queues = object_in(table, key)
            for queue_id, record in queues.items():
                if not _QUEUE_ID.fullmatch(queue_id) or not isinstance(record, Mapping):
                    raise CodecError(f"consumerOrderInfo.json holds no records for {key}: {str(queues)[:200]}")
                records[QueueOf(topic, group, int(queue_id))] = OrderRecord.from_json(record)
        self._records = records


def _bits(value: object, count: int) -> int:
    """The acked bits of so many messages; 5.3.3 has 64 and a sign, and a pop of Orbit may have more."""
    bits = whole_number(value, "cm") if count <= _LONG_BITS or not isinstance(value, int) else value
    return bits % (1 << count)


def _by_offset(value: Mapping[str, Any], name: str) -> dict[int, int]:
    found = object_in(value, name) if value.get(name) is not None else {}
    return {whole_number(offset, f"an offset of {name}"): whole_number(number, name) for offset, number in found.items()}


def _offsets(numbers: list[int]) -> list[int]:
    """Orbit up to 0.1.0 wrote differences from the offset before. Ascending ones are read as differences from the first.

    These offsets are smaller, so messages may be sent again and none is lost.
    """
    if any(after <= before for before, after in pairwise(numbers[1:])):
        return list(accumulate(numbers))
    return numbers[:1] + [numbers[0] + difference for difference in numbers[1:]]

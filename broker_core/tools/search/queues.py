"""Consume queues as a search needs them: of a directory read from outside, or of the store that is open in this process.

A queue says where the messages of a topic lie, in the order of the log. The queues of an open store are not completely on the
disk yet, so they are read through the store.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.consume_queue import UNIT, UNIT_BYTES
from broker_core.engine.store.inspection.queue_reader import QueueReaders
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import StoreError
from broker_core.native import checks as k
from broker_core.native.addresses import room
from broker_core.native.calls import call
from broker_core.native.heads import merge
from broker_core.native.library import installed
from broker_core.protocol.queue_unit import QueueUnit

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

UNITS_AT_A_TIME = 4_096


class QueueSpan(NamedTuple):
    """Messages of one queue from ``first`` up to, not including, ``end``."""

    topic: str
    queue_id: int
    first: int
    end: int


class Queues(Protocol):
    """All consume queues of a store."""

    def spans(self) -> list[QueueSpan]:
        """Every queue with all of its messages."""

    def units(self, topic: str, queue_id: int, offset: int, count: int) -> bytes:
        """Up to ``count`` units from ``offset`` on; fewer at the end, and when some are missing."""

    def named_topics(self) -> frozenset[str]:
        """Topics that may have had queues that no longer exist."""


class StoredQueues:
    """Queues of a store directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._readers = QueueReaders(root)

    def spans(self) -> list[QueueSpan]:
        return [QueueSpan(*key, reader.first, reader.end) for key, reader in sorted(self._readers.by_key.items())]

    def units(self, topic: str, queue_id: int, offset: int, count: int) -> bytes:
        reader = self._readers.get(topic, queue_id)
        return b"" if reader is None else reader.units(offset, count)

    def named_topics(self) -> frozenset[str]:
        """Topics in the table of topics, because the directory of one may be lost; empty when the table cannot be read."""
        try:
            content = ConfigFile(StorePaths(self._root).config / "topics.json").look().value or {}
        except StoreError:
            return frozenset()
        table = content.get("topicConfigTable")
        return frozenset(table) if isinstance(table, dict) else frozenset()

    def close(self) -> None:
        self._readers.close()


class LiveQueues:
    """Queues of the store that is open in this process."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store

    def spans(self) -> list[QueueSpan]:
        store = self._store
        return [QueueSpan(*key, store.min_offset(*key), store.stored_max_offset(*key)) for key in sorted(store.queues())]

    def units(self, topic: str, queue_id: int, offset: int, count: int) -> bytes:
        return b"".join([UNIT.pack(*unit) for unit in self._store.queue_units(topic, queue_id, offset, count)])

    def named_topics(self) -> frozenset[str]:
        """Empty, because opening the store completes the queues."""
        return frozenset()

    def close(self) -> None:
        """Do nothing: no files are open."""


def unit_of(queues: Queues, span: QueueSpan, offset: int) -> QueueUnit | None:
    """One unit of a queue; None where it is missing."""
    data = queues.units(span.topic, span.queue_id, offset, 1)
    return QueueUnit._make(UNIT.unpack(data)) if data else None


class QueueCursor:
    """Iterates over one queue and returns the places of its messages in the log."""

    def __init__(self, queues: Queues, span: QueueSpan) -> None:
        self.span = span
        self.holes = 0
        """Messages so far whose unit is missing or out of order."""
        self._queues = queues
        self._next = span.first
        self._places = room(0)
        self._reached = -1

    def next_place(self) -> int | None:
        """Place of the next message; None after the last."""
        while not len(self._places):
            if self._next >= self.span.end:
                return None
            self._fill()
        return self._places[0]

    def take_before(self, place: int) -> memoryview:
        """Places of all messages before one in the log; ascending."""
        parts = []
        while (following := self.next_place()) is not None and following < place:
            count = bisect_left(self._places, place)
            parts.append(self._places[:count])
            self._places = self._places[count:]
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts)).cast("q")

    def _fill(self) -> None:
        count = min(UNITS_AT_A_TIME, self.span.end - self._next)
        data = self._queues.units(self.span.topic, self.span.queue_id, self._next, count)
        if not data:
            self.holes += count
            self._next += count
            return
        units, state = len(data) // UNIT_BYTES, array("q", bytes(8 * k.STATE_COLUMNS))
        self._next += units
        places, state[k.UNITS], state[k.REACHED] = room(units), units, self._reached
        self._places = places[: call(installed(), k.unit_places, state, data, places)]
        self.holes += state[k.BEYOND]
        if len(self._places):
            self._reached = self._places[-1]


def merged(parts: list[memoryview]) -> memoryview:
    """Ascending places of several queues as one column, each place once."""
    while len(parts) > 1:
        one, other = parts.pop(0), parts.pop(0)
        both = room(len(one) + len(other))
        parts.append(both[: call(installed(), merge, one, len(one), other, len(other), both)])
    return parts[0]

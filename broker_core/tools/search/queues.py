"""Consume queues as a search needs them: of a directory read from outside, or of the store that is open in this process.

A queue says where the messages of a topic lie, in the order of the log. The queues of an open store are not completely on the
disk yet, so they are read through the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.consume_queue import PRE_BLANK_SIZE
from broker_core.engine.store.inspection.queue_reader import QueueReaders
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.record_columns import UNIT_TYPE
from broker_core.errors import StoreError

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

Units = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]

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

    def units(self, topic: str, queue_id: int, offset: int, count: int) -> Units:
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

    def units(self, topic: str, queue_id: int, offset: int, count: int) -> Units:
        reader = self._readers.get(topic, queue_id)
        return np.frombuffer(b"" if reader is None else reader.units(offset, count), dtype=UNIT_TYPE)

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

    def units(self, topic: str, queue_id: int, offset: int, count: int) -> Units:
        return np.array(self._store.queue_units(topic, queue_id, offset, count), dtype=UNIT_TYPE)

    def named_topics(self) -> frozenset[str]:
        """Empty, because opening the store completes the queues."""
        return frozenset()

    def close(self) -> None:
        """Do nothing: no files are open."""


class QueueCursor:
    """Iterates over one queue and returns the places of its messages in the log."""

    def __init__(self, queues: Queues, span: QueueSpan) -> None:
        self.span = span
        self.holes = 0
        """Messages so far whose unit is missing or out of order."""
        self._queues = queues
        self._next = span.first
        self._places: Int64s = np.empty(0, dtype=np.int64)
        self._reached = -1

    def next_place(self) -> int | None:
        """Place of the next message; None after the last."""
        while not len(self._places):
            if self._next >= self.span.end:
                return None
            self._fill()
        return int(self._places[0])

    def take_before(self, place: int) -> Int64s:
        """Places of all messages before one in the log; ascending."""
        parts = []
        while (following := self.next_place()) is not None and following < place:
            count = int(np.searchsorted(self._places, place))
            parts.append(self._places[:count])
            self._places = self._places[count:]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _fill(self) -> None:
        count = min(UNITS_AT_A_TIME, self.span.end - self._next)
        units = self._queues.units(self.span.topic, self.span.queue_id, self._next, count)
        if not len(units):
            self.holes += count
            self._next += count
            return
        self._next += len(units)
        units = units[(units["record_bytes"] != PRE_BLANK_SIZE) | (units["physical_offset"] != 0)]
        places = units["physical_offset"].astype(np.int64)
        highest = np.maximum.accumulate(np.concatenate(([self._reached], places)))[:-1]
        good = (units["record_bytes"] > 0) & (places > highest)
        self.holes += int(np.count_nonzero(~good))
        self._places = places[good]
        if len(self._places):
            self._reached = int(self._places[-1])

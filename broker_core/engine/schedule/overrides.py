"""Delayed messages that a person cancelled, delivered at once, or moved: the table of ``orbitDelay.json``.

    {"messages":{"184467":{"level":3,"queueOffset":12,"dueMs":-1}}}      physical offset → DONE, or the time that now counts

RocketMQ does not read the file. A message is either *done* (its level skips it) or due *earlier* than its level says; to be
due later, it is stored again in the queue of a longer level. So a broker that does not know the file delivers each message that
was not cancelled at least once. An entry is removed when the progress of its level has passed it on disk.

Pure state; writes no file.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker_core.engine.store.config_file import ConfigRule, object_in, whole_number

OVERRIDES_FILE = "orbitDelay.json"
OVERRIDES_RULE = ConfigRule("delayed messages that were cancelled or moved are delivered at their first time")
DONE = -1
ENTRIES_MAX = 200_000
"""Bound on entries; each takes about 300 bytes."""


@dataclass(frozen=True, slots=True)
class Override:
    """The change of one pending message.

    Attributes:
        level: Delay level of its queue.
        queue_offset: Its offset there.
        due_ms: When it is due now, `DONE` when its level skips it.
        copy_end: End of its delivered copy in the log, 0 without one; until that is on disk, the file contains ``was_due_ms``.
        was_due_ms: Its former due time.
    """

    level: int
    queue_offset: int
    due_ms: int
    copy_end: int = 0
    was_due_ms: int = DONE


class Overrides:
    """Physical offset → `Override`."""

    def __init__(self) -> None:
        self._table: dict[int, Override] = {}
        self._heap: list[tuple[int, int]] = []
        self._done_in: dict[int, set[int]] = {}

    def __len__(self) -> int:
        return len(self._table)

    def get(self, physical_offset: int) -> Override | None:
        """The change of a message, if there is one."""
        return self._table.get(physical_offset)

    def is_done(self, physical_offset: int) -> bool:
        """Whether the level skips a message."""
        found = self._table.get(physical_offset)
        return found is not None and found.due_ms == DONE

    def level_of(self, physical_offset: int) -> int:
        """Level of a message with an entry; 0 for others."""
        found = self._table.get(physical_offset)
        return found.level if found else 0

    def done_count(self, level: int) -> int:
        """Messages ahead of a level's offset that it will skip."""
        return len(self._done_in.get(level, ()))

    def passed(self, level: int, queue_offset: int) -> None:
        """Record that a level has passed a message."""
        self._done_in.get(level, set()).discard(queue_offset)

    def of_level(self, level: int) -> dict[int, Override]:
        """A copy of the entries of a level, for a thread that reads its messages."""
        return {physical: entry for physical, entry in self._table.items() if entry.level == level}

    def set_due(self, physical_offset: int, override: Override) -> None:
        """Make a message due at another time, earlier than its level says."""
        self._table[physical_offset] = override
        heapq.heappush(self._heap, (override.due_ms, physical_offset))

    def set_done(self, physical_offset: int, override: Override) -> None:
        """Have a message skipped."""
        self._table[physical_offset] = replace(override, due_ms=DONE)
        self._done_in.setdefault(override.level, set()).add(override.queue_offset)

    def next_due(self) -> tuple[int, int] | None:
        """Due time and physical offset of the first message that is due by an override."""
        while self._heap:
            due_ms, physical_offset = self._heap[0]
            found = self._table.get(physical_offset)
            if found is not None and found.due_ms == due_ms:
                return due_ms, physical_offset
            heapq.heappop(self._heap)
        return None

    def forget_before(self, progress: Mapping[int, int]) -> bool:
        """Remove entries that the levels have passed; returns whether there were any."""
        gone = [physical for physical, entry in self._table.items() if entry.queue_offset < progress.get(entry.level, 0)]
        for physical in gone:
            entry = self._table.pop(physical)
            self._done_in.get(entry.level, set()).discard(entry.queue_offset)
        return bool(gone)

    # ---- orbitDelay.json ----

    def to_json(self, flushed_offset: int) -> dict[str, Any]:
        """Content of ``orbitDelay.json`` while the log is on disk up to ``flushed_offset``."""
        return {
            "messages": {
                str(physical): {
                    "level": entry.level,
                    "queueOffset": entry.queue_offset,
                    "dueMs": entry.due_ms if entry.copy_end <= flushed_offset else entry.was_due_ms,
                }
                for physical, entry in sorted(self._table.items())
            }
        }

    def load(self, value: Mapping[str, Any], is_waiting: Callable[[int, Override], bool]) -> None:
        """Load ``orbitDelay.json`` without the entries that ``is_waiting`` rejects: the store may have been replaced meanwhile.

        Raises:
            CodecError: An entry holds no numbers; nothing is loaded.
        """
        table = object_in(value, "messages")
        entries = {whole_number(key, "a place in the log"): _override(object_in(table, key)) for key in table}
        for physical, entry in entries.items():
            if not is_waiting(physical, entry):
                continue
            if entry.due_ms == DONE:
                self.set_done(physical, entry)
            else:
                self.set_due(physical, entry)


def _override(item: Mapping[str, Any]) -> Override:
    level, queue_offset, due_ms = (whole_number(item.get(key), key) for key in ("level", "queueOffset", "dueMs"))
    return Override(level, queue_offset, due_ms)

"""What the kernel that serves pulls reads of a store: its queues, and one file of its log at a time.

The kernel (`broker_core.native.pulls`) looks at the rows of queues. It stops where units or a file are not at hand, and where
it is not known whether a record is in memory; the methods here help it.

Source: docs/spec/store.md §11.1.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.engine.store.cold_read import ResidentPieces
from broker_core.engine.store.consume_queue import UNIT_BYTES
from broker_core.engine.store.reading import NEAR_BYTES, BatchLimits, GetLimits
from broker_core.engine.store.results import LogPlace
from broker_core.engine.store.store_parts import StoreParts
from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native import queue_rows as q
from broker_core.native.pull_table import PullTable

UNITS_AT_FIRST = 64
"""Units read for a pull that does not go on where the window of its queue ends: a random page and the next one."""


class PullReads:
    """Helps the kernel of one table. For the loop's thread.

    Args:
        parts: Of the store.
        resident: Knows which parts of the log are in memory.
        limits: Returns the bounds of gets.
        table: Of the kernel.

    Attributes:
        table: The same.
    """

    def __init__(
        self, parts: StoreParts, resident: ResidentPieces, limits: Callable[[], BatchLimits], table: PullTable
    ) -> None:
        self._log = parts.commit_log
        self._parts = parts
        self._rows = parts.queues.rows.table
        self._resident = resident
        self._limits = limits
        self.table = table
        self._state = table.state
        self._is_used = False
        self._state[p.BASE] = -1
        self._state[p.UNITS_IN_FILE] = parts.queues.file_bytes // UNIT_BYTES

    def begin(self) -> None:
        """Tell the kernel where the log ends now."""
        state, end = self._state, self._log.end
        self._is_used = True
        state[k.NOW_MS] = self._resident.now_ms()
        base, reach_from = state[p.BASE], end - self._limits().memory_reach_bytes
        state[p.LOG_END] = min(end, base + self._log.file_bytes) if base >= 0 else 0
        state[p.REACH_FROM], state[p.NEAR_FROM] = reach_from, end - NEAR_BYTES

    def rest(self) -> None:
        """Let go of the file of the log, unless `begin` was called since the last call."""
        if not self._is_used:
            self.table.use_log(memoryview(b""))
            self._state[p.BASE] = -1
        self._is_used = False

    def serve(self) -> int:
        """Have the kernel serve pulls; returns why it stopped."""
        with self._parts.lock:
            return self.table.serve()

    def limits(self, count: int) -> GetLimits:
        """Bounds of a pull of so many messages."""
        return self._limits().of_get(count, self._parts.config.max_transfer_bytes_in_memory)

    def serial_of(self, row: int) -> int:
        """The number that kernels know the queue of a row by; 0 for none."""
        return int(self._rows[row + q.OPEN_AS])

    def row_of(self, topic: str, queue_id: int) -> int:
        """The row of a queue, `NO_ROW` for none."""
        queue = self._parts.queues.by_key.get((topic, queue_id))
        return q.NO_ROW if queue is None else queue.row

    def read_units(self, topic: str, queue_id: int, offset: int, count: int) -> bool:
        """Put units of a queue into its window: so many at least, if there are; False where they cannot be read."""
        with self._parts.lock:
            queue = self._parts.queues.by_key.get((topic, queue_id))
            if queue is None or offset < queue.min_offset:
                return False
            row, rows = queue.row, self._rows
            goes_on = rows[row + q.WINDOW_COUNT] and offset == rows[row + q.WINDOW_START] + rows[row + q.WINDOW_COUNT]
            units = queue.units(offset, q.WINDOW_UNITS if goes_on else max(count, UNITS_AT_FIRST))
            self._parts.queues.rows.set_window(row, offset, units)
            return len(units) >= UNIT_BYTES * min(count, queue.max_offset - offset, queue.next_file_offset(offset) - offset)

    def use_file(self, physical: int) -> bool:
        """Have the kernel read from the file that holds a physical offset; False where that is no help."""
        base = physical - physical % self._log.file_bytes
        if physical < 0 or physical >= self._log.end or base == self._state[p.BASE]:
            return False
        mapped = self._log.map_at(base)
        if mapped is None:
            return False
        self.table.use_log(mapped)
        self._state[p.BASE] = base
        self._state[p.LOG_END] = min(self._log.end, base + self._log.file_bytes)
        return True

    def see(self, physical: int) -> tuple[bool, LogPlace | None]:
        """Whether the piece of the log at a physical offset is in memory, and the place after which to read ahead, if any."""
        if not self._resident.has(physical, physical + 1):
            return False, None
        end = min(physical - physical % p.PIECE_BYTES + p.PIECE_BYTES, self._state[p.LOG_END])
        return True, LogPlace(end - 1, 1) if self._resident.lacks_ahead(end) else None

"""Rows of the queues of a store: offsets, newest units and counts, one copy for Python and for machine code.

A row is 16 numbers of 64 bits, named by the place of its first number in the table. Python reads and writes them through a
memoryview, kernels through addresses; both under the store's lock. Row 0 belongs to no queue, and is what a removed queue has:
its offsets are 0, and its first number counts the touched rows.

A kernel adds a unit as `broker_core.engine.store.consume_queue.ConsumeQueue.append` does:

    it may      if ``table[row + OPEN_AS]`` is the serial that it knows the queue by (0 for none), and there is room:
                ``MAX_OFFSET - TAIL_START < TAIL_ROOM``
    unit        at ``tails[TAIL_AT + UNIT_BYTES * (MAX_OFFSET - TAIL_START)]``; then it adds 1 to ``MAX_OFFSET`` and sets
                ``LAST_STORE_MS``
    touched     if ``IN_TOUCHED`` is not set in ``LISTED``, it sets it, writes the row to ``touched[table[TOUCHED]]`` and
                adds 1 to ``table[TOUCHED]``, so that the queue is written
    counts      ``PUTS``, ``MESSAGES`` and ``BYTES`` grow for what producers sent; `QueueRows.take_counts` empties them
"""

from __future__ import annotations

from array import array
from collections import deque
from itertools import count
from typing import Final

from broker_core.native.blocks import SMALLEST_UNITS, Blocks, level_of
from broker_core.native.records import UNIT_BYTES
from broker_core.native.reserved import Reserved

# Columns of a row.
QUEUE_ID: Final = 0
MAX_OFFSET: Final = 1
"""Offset of the next message."""
MIN_OFFSET: Final = 2
TAIL_AT: Final = 3
"""Where the newest units lie in ``tails``: those from ``TAIL_START`` to ``MAX_OFFSET``."""
TAIL_START: Final = 4
TAIL_ROOM: Final = 5
"""Units that have room there; 0 before the first unit."""
WRITTEN_OFFSET: Final = 6
"""The files hold the units before this offset."""
LAST_STORE_MS: Final = 7
"""Store time of the last message; -1 if unknown."""
LISTED: Final = 8
"""Bits: the lists that the row is in."""
OPEN_AS: Final = 9
"""Serial number of the queue, which no other gets, while kernels may use the row; else 0."""
PUTS: Final = 10
"""Counted by kernels: a batch is one of them."""
MESSAGES: Final = 11
BYTES: Final = 12
WINDOW_AT: Final = 13
"""Where units that were read ahead lie in ``tails``: ``WINDOW_COUNT`` of them, from offset ``WINDOW_START`` on."""
WINDOW_START: Final = 14
WINDOW_COUNT: Final = 15
ROW_COLUMNS: Final = 16

NO_ROW: Final = 0
TOUCHED: Final = NO_ROW + QUEUE_ID
"""Column of row 0: number of touched rows."""
IN_TOUCHED: Final = 1
"""In ``LISTED``: the row is in ``touched``."""

ROWS_MAX: Final = 1 << 20
"""Bound on the queues of a store: 128 MiB of address space, of which the rows in use take memory."""
WINDOWS_MAX: Final = 64
"""Bound on the queues with units read ahead (40 KiB each)."""
WINDOW_UNITS: Final = 2048
_WINDOW_LEVEL: Final = level_of(WINDOW_UNITS)
_RESTING: Final = 64
"""Rows of removed queues wait until so many wait, so that a reader without the lock does not meet another queue."""
_ITEM_BYTES: Final = 8
_NEW_ROW: Final = array("q", [-1 if column == LAST_STORE_MS else 0 for column in range(ROW_COLUMNS)])


Counted = tuple[int, int, int, int]
"""What kernels counted for a queue: its row, puts, messages and bytes. No class, because thousands are made at a time."""


class QueueRows:
    """The rows, and the memory of the units. Not thread-safe: callers hold the store's lock, but to read one number.

    Attributes:
        table: The rows, of format q.
        touched: Rows that got units, ``table[TOUCHED]`` of them.
        tails: Memory of units, of format B.
    """

    def __init__(self) -> None:
        row_bytes = ROW_COLUMNS * _ITEM_BYTES
        self._rows = Reserved(ROWS_MAX * row_bytes, ROWS_MAX * row_bytes)
        self._touched = Reserved(ROWS_MAX * _ITEM_BYTES, ROWS_MAX * _ITEM_BYTES)
        self._blocks = Blocks()
        self.table = self._rows.view.cast("q")
        self.touched = self._touched.view.cast("q")
        self.tails = self._blocks.memory.view
        self._end = NO_ROW
        self._resting: deque[int] = deque()
        self._serials = count(1)
        self._windows: dict[int, None] = {}
        """Rows with units read ahead, the one that got them last at the end."""
        self._new_row()
        self.table[:ROW_COLUMNS] = _NEW_ROW

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Of table, touched and tails."""
        return self._rows.address, self._touched.address, self._blocks.memory.address

    def free_blocks(self) -> dict[int, int]:
        """Place → level of the free blocks of ``tails``, for tests."""
        return self._blocks.free_blocks()

    # ---- rows ----

    def add(self, queue_id: int, *, is_open: bool) -> int:
        """A row of a queue without messages; ``is_open`` lets kernels use it.

        Raises:
            MemoryError: There are `ROWS_MAX` rows.
        """
        row = self._resting.popleft() if len(self._resting) > _RESTING else self._new_row()
        self.table[row : row + ROW_COLUMNS] = _NEW_ROW
        self.table[row + QUEUE_ID] = queue_id
        self.table[row + OPEN_AS] = next(self._serials) if is_open else 0
        return row

    def _new_row(self) -> int:
        row, end = self._end, self._end + ROW_COLUMNS
        self._rows.use(end * _ITEM_BYTES)
        self._touched.use(end // ROW_COLUMNS * _ITEM_BYTES)
        self._end = end
        return row

    def remove(self, row: int) -> None:
        """End the use of a row, whose queue goes to row 0."""
        self.drop_tail(row, 0)
        self.drop_window(row)
        if self.table[row + LISTED] & IN_TOUCHED:
            left = [other for other in self.take_touched() if other != row]
            for other in left:
                self.touch(other)
        self.table[row : row + ROW_COLUMNS] = _NEW_ROW
        self._resting.append(row)

    # ---- tails ----

    def make_room(self, row: int, units: int) -> None:
        """Make room for more units in the tail. Written ones are dropped where that frees a quarter of it.

        Raises:
            MemoryError: There is none.
        """
        table = self.table
        start, end, room = table[row + TAIL_START], table[row + MAX_OFFSET], table[row + TAIL_ROOM]
        if end - start + units <= room:
            return
        unwritten_from = max(start, table[row + WRITTEN_OFFSET])
        first = unwritten_from if 4 * (end - unwritten_from + units) <= 3 * room else start
        self._move_tail(row, first, end - first + units)

    def shorten_tail(self, row: int, first: int) -> None:
        """Drop the units before an offset from the tail. A block that is more than twice too large is changed for a smaller."""
        if first > self.table[row + TAIL_START]:
            self._move_tail(row, first, 2 * (self.table[row + MAX_OFFSET] - first))

    def drop_tail(self, row: int, start: int) -> None:
        """Drop all units of the tail, which then begins at an offset."""
        table = self.table
        if table[row + TAIL_ROOM]:
            self._blocks.give_back(table[row + TAIL_AT], level_of(table[row + TAIL_ROOM]))
        table[row + TAIL_START], table[row + TAIL_AT], table[row + TAIL_ROOM] = start, 0, 0

    def _move_tail(self, row: int, first: int, units: int) -> None:
        """Give the tail a block for so many units; those from ``first`` on stay."""
        table, tails = self.table, self.tails
        room, at, level = table[row + TAIL_ROOM], table[row + TAIL_AT], level_of(units)
        start = at + (first - table[row + TAIL_START]) * UNIT_BYTES
        size = (table[row + MAX_OFFSET] - first) * UNIT_BYTES
        to = at if room and level == level_of(room) else self._blocks.take(level)
        tails[to : to + size] = tails[start : start + size]
        if room and to != at:
            self._blocks.give_back(at, level_of(room))
        table[row + TAIL_AT], table[row + TAIL_START], table[row + TAIL_ROOM] = to, first, SMALLEST_UNITS << level

    # ---- units read ahead ----

    def set_window(self, row: int, start: int, units: bytes) -> None:
        """Keep units that were read ahead, at most `WINDOW_UNITS`; the queue whose turn was longest ago loses its own.

        Raises:
            MemoryError: There is no room.
        """
        if row in self._windows:
            del self._windows[row]
        else:
            if len(self._windows) >= WINDOWS_MAX:
                self.drop_window(next(iter(self._windows)))
            self.table[row + WINDOW_AT] = self._blocks.take(_WINDOW_LEVEL)
        self._windows[row] = None
        at = self.table[row + WINDOW_AT]
        self.tails[at : at + len(units)] = units
        self.table[row + WINDOW_START], self.table[row + WINDOW_COUNT] = start, len(units) // UNIT_BYTES

    def drop_window(self, row: int) -> None:
        """Drop the units that were read ahead, because units changed."""
        if row in self._windows:
            del self._windows[row]
            self._blocks.give_back(self.table[row + WINDOW_AT], _WINDOW_LEVEL)
            self.table[row + WINDOW_AT] = self.table[row + WINDOW_COUNT] = 0

    # ---- lists and counts ----

    def touch(self, row: int) -> None:
        """Note that a queue has units to be written."""
        table = self.table
        if not table[row + LISTED] & IN_TOUCHED:
            table[row + LISTED] |= IN_TOUCHED
            self.touched[table[TOUCHED]] = row
            table[TOUCHED] += 1

    def take_touched(self) -> list[int]:
        """The rows that were touched since the last call."""
        table = self.table
        found = self.touched[: table[TOUCHED]].tolist()
        table[TOUCHED] = 0
        for row in found:
            table[row + LISTED] &= ~IN_TOUCHED
        return found

    def take_counts(self) -> list[Counted]:
        """What kernels counted since the last call. On the thread that calls them."""
        table, end = self.table, self._end
        if not any(puts := table[PUTS:end:ROW_COLUMNS].tolist()):
            return []
        messages, sizes = table[MESSAGES:end:ROW_COLUMNS].tolist(), table[BYTES:end:ROW_COLUMNS].tolist()
        nothing = memoryview(array("q", bytes(_ITEM_BYTES * len(puts))))
        for column in (PUTS, MESSAGES, BYTES):
            table[column:end:ROW_COLUMNS] = nothing
        rows = range(0, end, ROW_COLUMNS)
        return [one for one in zip(rows, puts, messages, sizes, strict=True) if one[1]]

"""Rows of a live tail: a ring of messages, newest first, those held during a pause, and counts by second.

Pure but for `TailModel`, which shows the ring. Nothing here sends requests.

`PackedRows`: rows of bytes in order of arrival, compressed except for the newest.

A hundred thousand rows of a tail take 36 MiB as bytes, compressed a fourth of it. Reading a row decompresses its block, which
stays in a cache.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import cast, overload

from PySide6.QtCore import QObject, Qt

from broker_core.worker.questions.searches import Followed
from gui.models.table import NO_INDEX, Cell, CellKind, Column, ColumnTableModel, Section
from gui.models.tail_rows import TailRow, Unpacked, is_marked, number_of, packed_rows
from gui.theme.tokens import State
from monitoring.payload.listed import MaskOf

BLOCK_ROWS = 500
NEW_ROWS = 2 * BLOCK_ROWS
"""At this number of new rows the older half is compressed."""
BLOCKS_AT_HAND = 4
_LEVEL = 1


@dataclass(slots=True)
class _Block:
    """Rows up to ``end`` (exclusive), counted from the first row ever added."""

    end: int
    count: int
    marked: int
    """Marked rows among those still there."""
    data: bytes


class PackedRows(Sequence[bytes]):
    """Rows are added at the end and removed at the front; ``is_marked`` says which ones `marked` counts."""

    def __init__(self, is_marked: Callable[[bytes], bool]) -> None:
        self._is_marked = is_marked
        self._blocks: list[_Block] = []
        self._new: deque[bytes] = deque()
        self._begin = self._new_begin = 0
        """Number of the first row, and of the first new one."""
        self._at_hand: OrderedDict[int, list[bytes]] = OrderedDict()
        self.marked = 0

    def __len__(self) -> int:
        return self._new_begin + len(self._new) - self._begin

    def extend(self, rows: Iterable[bytes]) -> None:
        before = len(self._new)
        self._new.extend(rows)
        self.marked += sum(self._is_marked(self._new[place]) for place in range(before, len(self._new)))
        while len(self._new) >= NEW_ROWS:
            self._close(BLOCK_ROWS)

    def take(self, others: PackedRows) -> None:
        """Move all rows of ``others`` to the end."""
        if others._blocks:
            self._close(len(self._new))
            others._close(len(others._new))
            others._trim()
            for block in others._blocks:
                self._new_begin += block.count
                self._blocks.append(_Block(self._new_begin, block.count, block.marked, block.data))
            self.marked += others.marked
        else:
            self.extend(others._new)
        others.drop_first(len(others))

    def drop_first(self, count: int) -> None:
        end = self._begin + min(count, len(self))
        while self._blocks and self._blocks[0].end <= end:
            block = self._blocks.pop(0)
            self._at_hand.pop(block.end, None)
            self.marked -= block.marked
            self._begin = block.end
        if self._blocks and self._begin < end:
            block = self._blocks[0]
            gone = sum(self._is_marked(self._at(number)) for number in range(self._begin, end))
            block.marked -= gone
            self.marked -= gone
        elif self._begin < end:
            self.marked -= sum(self._is_marked(self._new.popleft()) for _ in range(self._begin, end))
            self._new_begin = end
        self._begin = end

    def clear(self) -> None:
        self.drop_first(len(self))

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        numbers = range(self._begin, self._begin + len(self))[place]
        return self._at(numbers) if isinstance(numbers, int) else [self._at(number) for number in numbers]

    def _at(self, number: int) -> bytes:
        if number >= self._new_begin:
            return self._new[number - self._new_begin]
        block = self._blocks[bisect_right(self._blocks, number, key=lambda one: one.end)]
        rows = self._at_hand.get(block.end)
        if rows is None:
            rows = self._at_hand[block.end] = _unpacked(block)
            if len(self._at_hand) > BLOCKS_AT_HAND:
                self._at_hand.popitem(last=False)
        else:
            self._at_hand.move_to_end(block.end)
        return rows[number - block.end]

    def _close(self, count: int) -> None:
        if count:
            rows = [self._new.popleft() for _ in range(count)]
            self._new_begin += count
            self._blocks.append(_Block(self._new_begin, count, sum(map(self._is_marked, rows)), _packed(rows)))

    def _trim(self) -> None:
        """Remove dropped rows from the oldest block."""
        block = self._blocks[0]
        left = block.end - self._begin
        if left < block.count:
            self._blocks[0] = _Block(block.end, left, block.marked, _packed(_unpacked(block)[-left:]))
            self._at_hand.clear()


def _packed(rows: Sequence[bytes]) -> bytes:
    return zlib.compress(b"".join((array("I", map(len, rows)).tobytes(), *rows)), _LEVEL)


def _unpacked(block: _Block) -> list[bytes]:
    data = zlib.decompress(block.data)
    lengths = array("I")
    head = block.count * lengths.itemsize
    lengths.frombytes(data[:head])
    return [data[begin:end] for begin, end in pairwise(accumulate(lengths, initial=head))]


ROWS_MAX = 100_000
SECONDS_SHOWN = 60
RATE_SECONDS = 5


@dataclass(frozen=True, slots=True)
class ColourRule:
    """Rows that pass ``filter`` are marked in the colour of ``mark``."""

    filter: str
    mark: State


class Arrivals:
    """Messages by the second of their store time, for the last `SECONDS_SHOWN`."""

    def __init__(self) -> None:
        self._seconds: dict[int, list[int]] = {}

    def add(self, second: int, count: int, *, paused: bool) -> None:
        """Count messages of a second since the epoch, separately during a pause."""
        if second not in self._seconds:
            self._seconds[second] = [0, 0]
            for old in [known for known in self._seconds if known <= second - 2 * SECONDS_SHOWN]:
                del self._seconds[old]
        self._seconds[second][paused] += count

    def window(self, now_s: int) -> tuple[list[int], list[int]]:
        """Counts of the seconds up to ``now_s``, oldest first: shown at once, and held during a pause."""
        found = [self._seconds.get(second, (0, 0)) for second in range(now_s - SECONDS_SHOWN + 1, now_s + 1)]
        return [shown for shown, _ in found], [held for _, held in found]

    def rate(self, now_s: int) -> float:
        """Messages/s over the last `RATE_SECONDS` complete seconds."""
        counts = (self._seconds.get(second, (0, 0)) for second in range(now_s - RATE_SECONDS, now_s))
        return sum(map(sum, counts)) / RATE_SECONDS


class TailBuffer:
    """Messages of a tail that are not shown yet.

    While it is held, at most `ROWS_MAX` rows are pending, as many as the ring holds: a pause loses only what a running tail
    would have lost too.
    """

    def __init__(self) -> None:
        self.arrivals = Arrivals()
        self.waiting = PackedRows(is_marked)
        self.is_held = False
        self.held_new = 0
        """Rows that arrived since it is held."""
        self.left_out = 0
        """Messages that the broker process left out."""
        self.skipped_bytes = 0
        self.left_out_at_s = -1
        """Second of the last loss; -1: never."""
        self._numbers = 0

    def hold(self, *, held: bool) -> None:
        """Hold rows back, or release them."""
        self.is_held = held
        self.held_new = 0

    def clear(self) -> None:
        """Drop pending rows and reset the counts."""
        self.waiting.clear()
        self.held_new = self.left_out = self.skipped_bytes = 0
        self.left_out_at_s = -1

    def take_in(self, followed: Followed, rules: Sequence[ColourRule], now_s: int) -> None:
        """Add messages; ``now_s`` is the second of a loss without rows."""
        rows = packed_rows(followed, self._numbers, [rule.mark for rule in rules])
        self._numbers += len(rows)
        self.waiting.extend(rows)
        self.waiting.drop_first(max(0, len(self.waiting) - ROWS_MAX))
        self.held_new += len(rows) if self.is_held else 0
        for second, count in Counter(store_ms // 1_000 for store_ms in followed.store_ms).items():
            self.arrivals.add(second, count, paused=self.is_held)
        if followed.left_out or followed.skipped_bytes:
            self.left_out += followed.left_out
            self.skipped_bytes += followed.skipped_bytes
            self.left_out_at_s = followed.store_ms[-1] // 1_000 if rows else now_s
            self.arrivals.add(self.left_out_at_s, followed.left_out, paused=self.is_held)

    def take_out(self) -> PackedRows:
        """Rows to show now, oldest first; none while it is held."""
        rows = PackedRows(is_marked)
        if not self.is_held:
            rows, self.waiting = self.waiting, rows
        return rows


class TailModel(ColumnTableModel[TailRow]):
    """The ring, newest row first, in order of arrival; it is neither sorted nor filtered here.

    A row is found by its number, so thousands of new rows are added without comparisons as in the base class.
    """

    def __init__(
        self,
        columns: Sequence[Column[TailRow]],
        mask_of: MaskOf,
        parent: QObject | None = None,
        *,
        rows_max: int = ROWS_MAX,
    ) -> None:
        super().__init__(columns, lambda row: row.number, parent=parent)
        self._rows_max = rows_max
        self._ring = PackedRows(is_marked)
        # The base class reads rows here and writes only in methods that do not apply.
        self._shown = cast("MutableSequence[TailRow | Section]", Unpacked(self._ring, mask_of))

    @property
    def marked(self) -> int:
        return self._ring.marked

    def add(self, rows: PackedRows) -> None:
        """Move rows, oldest first, to the front; the oldest of the ring are dropped where there is no more room."""
        rows.drop_first(max(0, len(rows) - self._rows_max))
        if not rows:
            return
        gone = max(0, len(self._ring) + len(rows) - self._rows_max)
        if gone:
            self.beginRemoveRows(NO_INDEX, len(self._ring) - gone, len(self._ring) - 1)
            self._ring.drop_first(gone)
            self.endRemoveRows()
        self.beginInsertRows(NO_INDEX, 0, len(rows) - 1)
        self._ring.take(rows)
        self.endInsertRows()
        self.shown_changed.emit()

    def clear(self) -> None:
        self.beginResetModel()
        self._ring.clear()
        self.endResetModel()
        self.shown_changed.emit()

    @property
    def rows(self) -> list[TailRow]:
        return [row for row in self._shown if isinstance(row, TailRow)]

    def position_of(self, key: object) -> int:
        if not isinstance(key, int):
            return -1
        # Numbers rise from row to row, with gaps where a pause lost rows.
        age = bisect_left(self._ring, key, key=number_of)
        return len(self._ring) - 1 - age if age < len(self._ring) and number_of(self._ring[age]) == key else -1

    def set_order_frozen(self, frozen: bool) -> None:
        """Does nothing: rows never change their order."""

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Does nothing: the order is that of arrival."""

    def cell(self, row: TailRow, column: Column[TailRow]) -> Cell:
        found = super().cell(row, column)
        return replace(found, kind=CellKind.CHIP, state=row.mark) if row.mark is not None and column.key == "tag" else found

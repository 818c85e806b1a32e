"""`PackedRows`: rows of bytes in order of arrival, compressed except for the newest.

A hundred thousand rows of a tail take 36 MiB as bytes, compressed a fourth of it. Reading a row decompresses its block, which
stays in a cache. Store times lie beside the blocks, so that the rows of a time are found without decompression.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import overload

import numpy as np

from gui.models.stored_order import Int64s

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
    stored_ms: array[int]
    """Store times of its rows, ms since the epoch."""
    data: bytes


class PackedRows(Sequence[bytes]):
    """Rows are added at the end and removed at the front.

    Args:
        is_marked: Which rows `marked` counts.
        stored_ms: Store time of a row, ms since the epoch.
    """

    def __init__(self, is_marked: Callable[[bytes], bool], stored_ms: Callable[[bytes], int]) -> None:
        self._is_marked, self._stored_ms = is_marked, stored_ms
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
                self._blocks.append(replace(block, end=self._new_begin))
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

    def places_between(self, from_ms: int, to_ms: int) -> Int64s:
        """Places of the rows stored from one moment to another, both included, ascending."""
        parts = [(block.end - block.count, np.frombuffer(block.stored_ms, np.int64)) for block in self._blocks]
        parts.append((self._new_begin, np.fromiter(map(self._stored_ms, self._new), np.int64, len(self._new))))
        found = [first + np.flatnonzero((times >= from_ms) & (times <= to_ms)) for first, times in parts]
        numbers = np.concatenate(found)
        return numbers[numbers >= self._begin] - self._begin

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
            times = array("q", map(self._stored_ms, rows))
            self._blocks.append(_Block(self._new_begin, count, sum(map(self._is_marked, rows)), times, _packed(rows)))

    def _trim(self) -> None:
        """Remove dropped rows from the oldest block."""
        block = self._blocks[0]
        left = block.end - self._begin
        if left < block.count:
            rows = _packed(_unpacked(block)[-left:])
            self._blocks[0] = _Block(block.end, left, block.marked, block.stored_ms[-left:], rows)
            self._at_hand.clear()


def _packed(rows: Sequence[bytes]) -> bytes:
    return zlib.compress(b"".join((array("I", map(len, rows)).tobytes(), *rows)), _LEVEL)


def _unpacked(block: _Block) -> list[bytes]:
    data = zlib.decompress(block.data)
    lengths = array("I")
    head = block.count * lengths.itemsize
    lengths.frombytes(data[:head])
    return [data[begin:end] for begin, end in pairwise(accumulate(lengths, initial=head))]

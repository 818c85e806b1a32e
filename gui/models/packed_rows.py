"""`PackedRows`: rows of bytes in order of arrival, compressed except for the newest.

A hundred thousand rows of a tail take 36 MiB as bytes, compressed a fourth of it. Reading a row decompresses its block, which
stays in a cache.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import overload

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

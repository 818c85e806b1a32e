"""`RowRing`: packed rows in the order of their arrival, the newest first; those that are not new lie there compressed.

A hundred thousand rows take 36 MiB as bytes, and a fourth of it so. A row that is asked for brings its block back, and those
beside it are then at hand.
"""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import overload

BLOCK_ROWS = 500
NEW_ROWS = 2 * BLOCK_ROWS
"""Of so many new rows the older half is compressed."""
BLOCKS_AT_HAND = 4
_LEVEL = 1
_LENGTHS = struct.Struct(f"<{BLOCK_ROWS}I")


class RowRing(Sequence[bytes]):
    """Rows come at the front and go at the end."""

    def __init__(self) -> None:
        self._blocks: deque[bytes] = deque()
        self._first_block = 0
        """Number of the oldest block, which counts all that there ever were."""
        self._gone = 0
        """Rows of the oldest block that have gone."""
        self._new: deque[bytes] = deque()
        self._at_hand: OrderedDict[int, list[bytes]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK_ROWS - self._gone + len(self._new)

    def add(self, rows: Iterable[bytes]) -> None:
        """Put rows, oldest first, before the others."""
        self._new.extend(rows)
        while len(self._new) >= NEW_ROWS:
            self._blocks.append(_packed([self._new.popleft() for _ in range(BLOCK_ROWS)]))

    def pop(self) -> bytes:
        """Take the oldest row out; only where there is one."""
        row = self[-1]
        if not self._blocks:
            self._new.popleft()
            return row
        self._gone += 1
        if self._gone == BLOCK_ROWS:
            self._blocks.popleft()
            self._at_hand.pop(self._first_block, None)
            self._first_block += 1
            self._gone = 0
        return row

    def clear(self) -> None:
        """Forget all rows."""
        self._blocks.clear()
        self._new.clear()
        self._at_hand.clear()
        self._gone = 0

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        # From the oldest on, those that have gone included.
        age = self._gone + len(self) - 1 - range(len(self))[place]
        block, row = divmod(age, BLOCK_ROWS)
        return self._rows(block)[row] if block < len(self._blocks) else self._new[age - len(self._blocks) * BLOCK_ROWS]

    def __iter__(self) -> Iterator[bytes]:
        return (self[place] for place in range(len(self)))

    def _rows(self, block: int) -> list[bytes]:
        number = self._first_block + block
        rows = self._at_hand.get(number)
        if rows is None:
            rows = self._at_hand[number] = _unpacked(self._blocks[block])
            if len(self._at_hand) > BLOCKS_AT_HAND:
                self._at_hand.popitem(last=False)
        else:
            self._at_hand.move_to_end(number)
        return rows


def _packed(rows: Sequence[bytes]) -> bytes:
    return zlib.compress(b"".join((_LENGTHS.pack(*map(len, rows)), *rows)), _LEVEL)


def _unpacked(block: bytes) -> list[bytes]:
    data = zlib.decompress(block)
    ends = accumulate(_LENGTHS.unpack_from(data), initial=_LENGTHS.size)
    return [data[begin:end] for begin, end in pairwise(ends)]

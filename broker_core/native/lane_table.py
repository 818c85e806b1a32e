"""The memory of lanes (`broker_core.native.lanes`), and the lanes that Python adds to it. For one thread."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from typing import Final

from broker_core.native import lanes as k
from broker_core.native.access import mix
from broker_core.platform import memory

LANES_MAX: Final = 1 << 14
"""The next lane empties the table."""
TEXTS_BYTES_MAX: Final = 1 << 23
KEY_BYTES_MAX: Final = 1024
"""Longer keys get no lane."""
_SLOTS: Final = 2 * LANES_MAX
_WORD: Final = 8


class LaneTable:
    """Lanes, bounded. Its memory never moves; what was never used takes none of the machine's.

    Attributes:
        state, lanes, slots: Tables of numbers of 64 bits.
        texts: Bytes.
        generation: Grows when all lanes are forgotten.
    """

    def __init__(self) -> None:
        self.state = anonymous(_WORD * k.STATE_COLUMNS).cast("q")
        self.lanes = anonymous(_WORD * k.LANE_COLUMNS * LANES_MAX).cast("q")
        self.slots = anonymous(_WORD * _SLOTS).cast("q")
        self.texts = anonymous(TEXTS_BYTES_MAX)
        self.state[k.SEED] = secrets.randbits(62)
        self.state[k.SLOT_MASK] = _SLOTS - 1
        self.generation = 0
        self._count = 0
        self._texts_end = 0
        self._shared: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self._count

    def text(self, data: bytes) -> int:
        """Place of a text that lanes share."""
        at = self._shared.get(data)
        if at is None:
            at = self._shared[data] = self._append(data)
        return at

    def place_of(self, data: bytes) -> int | None:
        """Place of a text that lanes share, if one has it."""
        return self._shared.get(data)

    def close(self, kinds: Collection[int], column: int, value: int) -> None:
        """Close the lanes of some kinds that have a number in a column."""
        lanes = self.lanes
        for row in range(0, self._count * k.LANE_COLUMNS, k.LANE_COLUMNS):
            if lanes[row + column] == value and lanes[row + k.L_KIND] in kinds:
                lanes[row + k.L_IS_OPEN] = 0

    def part(self, row: int, number: int, data: bytes) -> None:
        """Set a part of a lane's answer."""
        self.lanes[row + k.L_PARTS + 2 * number] = self.text(data)
        self.lanes[row + k.L_PARTS + 2 * number + 1] = len(data)

    def find(self, kind: int, first: bytes, second: bytes = b"") -> int:
        """Row of the lane with a key, times `LANE_COLUMNS`; -1 for none."""
        joined = memoryview(first + second)
        return k.find_lane(kind, joined, 0, len(first), len(first), len(second), self.state, self.lanes, self.slots, self.texts)

    def has_room(self, text_bytes: int, lanes: int = 1) -> bool:
        """Whether so many more lanes fit, with so many bytes of texts together."""
        return self._count + lanes <= LANES_MAX and self._texts_end + text_bytes <= TEXTS_BYTES_MAX

    def add(self, kind: int, first: bytes, second: bytes, columns: Mapping[int, int]) -> int:
        """Add a lane, which `find` did not find; returns its row, times `LANE_COLUMNS`.

        The caller has asked `has_room` for the key and all texts of the lane.
        """
        row = self._count * k.LANE_COLUMNS
        hashed = mix(mix(self.state[k.SEED] ^ kind, memoryview(first), 0, len(first)), memoryview(second), 0, len(second))
        self.lanes[row : row + k.LANE_COLUMNS] = memoryview(bytes(_WORD * k.LANE_COLUMNS)).cast("q")
        keys = {
            k.L_KIND: kind, k.L_HASH: hashed, k.L_KEY_AT: self._append(first), k.L_KEY_BYTES: len(first),
            k.L_SECOND_AT: self._append(second), k.L_SECOND_BYTES: len(second),
        }  # fmt: skip
        for column, value in (keys | dict(columns)).items():
            self.lanes[row + column] = value
        slot = hashed & (_SLOTS - 1)
        while self.slots[slot]:
            slot = (slot + 1) & (_SLOTS - 1)
        self._count += 1
        self.slots[slot] = self._count
        return row

    def forget(self) -> None:
        """Forget all lanes."""
        if self._count:
            self.slots[:] = memoryview(bytes(_WORD * _SLOTS)).cast("q")
        self._count = self._texts_end = 0
        self._shared.clear()
        self.generation += 1

    def _append(self, data: bytes) -> int:
        at = self._texts_end
        self.texts[at : at + len(data)] = data
        self._texts_end += len(data)
        return at


def anonymous(size: int) -> memoryview:
    """Zeros at an address of their own, which take memory when they are written."""
    return memoryview(memory.anonymous(size))

"""Byte layout of the timer files, as RocketMQ 5 writes them. Bytes only: no files, no clock.

    timerwheel        slots of 32 bytes, 2 * 7 * 86400 of them whatever the precision
        time / precision i64 | first unit's position i64 | last unit's position i64 | count i32 | magic i32
    timerlog/<20 digits>    units of 52 bytes; a file ends in a filler
        size i32 = 52 | position of the slot's unit before, or -1 i64 | magic i32 | write time i64 | slot time - write time i32
        physical offset i64 | record size i32 | Java hash of the real topic i32 | reserved i64 = 0
        filler: rest of the file i32 | 0 i64 | BLANK_MAGIC i32

A position counts bytes from the start of the first timer log file ever made. A slot's count is its messages less its cancels.

Source: docs/spec/store.md §14.1, docs/spec/broker.md §3.6.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

SLOTS_TTL = 7 * 86_400
"""Slots ahead that can hold a unit."""
SLOTS_TOTAL = 2 * SLOTS_TTL
BLANK_SLOTS = 60

NO_POSITION = -1
DELAY_MAX_MS = (1 << 31) - 1
"""How far a unit's slot can be from its write time."""

SLOT = struct.Struct(">qqqii")
UNIT = struct.Struct(">iqiqiqiiq")
FILLER = struct.Struct(">iqi")
assert SLOT.size == 32
assert UNIT.size == 52
assert FILLER.size == 16

WHEEL_BYTES = SLOTS_TOTAL * SLOT.size

MAGIC_DEFAULT = 1
MAGIC_ROLL = 2
MAGIC_DELETE = 4
MAGIC_MASK = 0xF
BLANK_MAGIC = 0xCBD43194 - (1 << 32)


class Slot(NamedTuple):
    """One slot of the wheel: its time, two positions in the timer log, and its messages less cancels."""

    time_ms: int
    first: int
    last: int
    messages: int


class TimerUnit(NamedTuple):
    """One unit of the timer log, without the constant fields."""

    previous: int
    magic: int
    write_ms: int
    delay_ms: int
    physical_offset: int
    record_bytes: int
    topic_hash: int

    @property
    def slot_ms(self) -> int:
        """Time of its slot."""
        return self.write_ms + self.delay_ms

    @property
    def was_late(self) -> bool:
        """Whether it was due before it entered the wheel."""
        return self.delay_ms < 0

    @property
    def is_roll(self) -> bool:
        """Whether it enters the wheel again instead of being delivered."""
        return bool(self.magic & MAGIC_ROLL)

    @property
    def is_delete(self) -> bool:
        """Whether it cancels another message of its slot."""
        return bool(self.magic & MAGIC_DELETE)

    def pack(self) -> bytes:
        """The 52 bytes."""
        return UNIT.pack(
            UNIT.size, self.previous, self.magic, self.write_ms, self.delay_ms, self.physical_offset, self.record_bytes,
            self.topic_hash, 0,
        )  # fmt: skip


def unpack_unit(data: bytes | bytearray | memoryview, position: int = 0) -> TimerUnit:
    """The unit at a position of a buffer, unchecked."""
    return TimerUnit._make(UNIT.unpack_from(data, position)[1:8])

"""What kernels read and write bytes with: plain Python here, instructions of the processor in machine code.

`broker_core.native.build.instructions` has a function for each name of this module that does the same. A kernel imports them
from here, so that it also runs uncompiled, which is its specification and its test.

Buffers of bytes are memoryviews of format B, tables are memoryviews of format q. Every number is a signed 64-bit integer. No
function checks its place: the kernel compares each place with the end of the bytes first.
"""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

Bytes = memoryview
Table = memoryview

_WORD: Final = (1 << 64) - 1
_FACTOR: Final = 0x9E3779B97F4A7C15
_SHIFT: Final = 29
_MARKS_BELOW: Final = 3
_SPACE: Final = 32
_NOT_ASCII_FROM: Final = 128
_JSON_MARKS: Final = b'"\\'
_U16, _I32, _U32, _I64, _U64 = (struct.Struct(f">{one}") for one in "HiIqQ")


def u8(data: Bytes, at: int) -> int:
    """One byte."""
    return data[at]


def u16(data: Bytes, at: int) -> int:
    """Two bytes, big-endian, not negative."""
    return int(_U16.unpack_from(data, at)[0])


def i32(data: Bytes, at: int) -> int:
    """Four bytes, big-endian."""
    return int(_I32.unpack_from(data, at)[0])


def i64(data: Bytes, at: int) -> int:
    """Eight bytes, big-endian."""
    return int(_I64.unpack_from(data, at)[0])


def fetch(data: Bytes, at: int, count: int) -> None:
    """Bring bytes that are used soon near the processor; they may lie behind the end."""


def put8(data: Bytes, at: int, value: int) -> None:
    """Write the low byte of a number."""
    data[at] = value & 0xFF


def put16(data: Bytes, at: int, value: int) -> None:
    """Write the low two bytes of a number, big-endian."""
    data[at : at + 2] = (value & 0xFFFF).to_bytes(2, "big")


def put32(data: Bytes, at: int, value: int) -> None:
    """Write the low four bytes of a number, big-endian."""
    _U32.pack_into(data, at, value & 0xFFFFFFFF)


def put64(data: Bytes, at: int, value: int) -> None:
    """Write a number, big-endian."""
    _U64.pack_into(data, at, value & _WORD)


def publish32(data: Bytes, at: int, value: int) -> None:
    """As `put32`; whoever reads the number finds everything that was written before it."""
    put32(data, at, value)


def hex16(data: Bytes, at: int, value: int) -> None:
    """Write a number that is not negative as 16 hexadecimal digits, with capital letters."""
    data[at : at + 16] = b"%016X" % value


def copy(target: Bytes, to: int, source: Bytes, at: int, count: int) -> None:
    """Copy bytes between two ranges that do not overlap."""
    target[to : to + count] = source[at : at + count]


def same(one: Bytes, at: int, other: Bytes, to: int, count: int) -> bool:
    """Whether two ranges hold the same bytes."""
    return one[at : at + count] == other[to : to + count]


def body_crc(data: Bytes, at: int, count: int) -> int:
    """CRC-32 of a range, without its highest bit (Source: docs/spec/store.md §2.5)."""
    return crc32(data[at : at + count]) & 0x7FFFFFFF


def mix(seed: int, data: Bytes, at: int, count: int) -> int:
    """A number from 0 to 2⁶³ − 1 made of a seed and a range: words of eight bytes, the last one filled with zeros."""
    found = seed & _WORD
    for start in range(at, at + count, 8):
        word = int.from_bytes(data[start : min(start + 8, at + count)], "little")
        found = ((found ^ word) * _FACTOR) & _WORD
        found ^= found >> _SHIFT
    return found & (_WORD >> 1)


def find1(data: Bytes, at: int, end: int, limit: int, byte: int) -> int:
    """First place from ``at`` on with a byte before ``end``; ``end`` for none. ``limit`` as in `find3`."""
    del limit
    found = bytes(data[at:end]).find(byte)
    return end if found < 0 else at + found


def find3(data: Bytes, at: int, end: int, limit: int, word: int) -> int:
    """First place from ``at`` on where three bytes follow each other before ``end``; -1 for none.

    Args:
        data: The bytes.
        at: Where to begin.
        end: Where the range ends, at most ``limit``.
        limit: Where the bytes end that may be read.
        word: The three bytes as a big-endian number.
    """
    del limit
    found = bytes(data[at:end]).find(word.to_bytes(3, "big"))
    return found if found < 0 else at + found


def next_mark(data: Bytes, at: int, end: int, limit: int) -> int:
    """First place from ``at`` on with a byte below 3 or above 127, at most ``end``; ``limit`` as for `find3`."""
    del limit
    while at < end and _MARKS_BELOW <= data[at] < _NOT_ASCII_FROM:
        at += 1
    return at


def next_json_mark(data: Bytes, at: int, end: int, limit: int) -> int:
    """First place from ``at`` on that ends plain text in JSON, at most ``end``; ``limit`` as for `find3`.

    It is a quote, a backslash, a control character or no ASCII.
    """
    del limit
    while at < end and _SPACE <= data[at] < _NOT_ASCII_FROM and data[at] not in _JSON_MARKS:
        at += 1
    return at

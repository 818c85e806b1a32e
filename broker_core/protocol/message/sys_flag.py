"""Bits of a record's SYSFLAG (Source: docs/spec/store.md §2.4)."""

from __future__ import annotations

from enum import IntEnum

COMPRESSED = 0x1
MULTI_TAGS = 0x2
BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20
NEED_UNWRAP = 0x40
INNER_BATCH = 0x80

TRANSACTION_MASK = 0xC
COMPRESSION_MASK = 0x700
HOST_V6_MASK = BORN_HOST_V6 | STORE_HOST_V6
_COMPRESSION_SHIFT = 8


class TransactionType(IntEnum):
    """Transaction state in bits 3..2."""

    NONE = 0x0
    PREPARED = 0x4
    COMMIT = 0x8
    ROLLBACK = 0xC


class Compression(IntEnum):
    """How a compressed body was compressed, bits 10..8 (0 = zlib of clients that know no other)."""

    ZLIB_OLD = 0
    LZ4 = 1
    ZSTD = 2
    ZLIB = 3


def transaction_type(sys_flag: int) -> TransactionType:
    return TransactionType(sys_flag & TRANSACTION_MASK)


def compression_number(sys_flag: int) -> int:
    """Compression type of a record, 0 to 7, known or not."""
    return (sys_flag & COMPRESSION_MASK) >> _COMPRESSION_SHIFT


def with_compression(sys_flag: int, compression: Compression) -> int:
    """SYSFLAG of a body compressed in this way."""
    return sys_flag & ~COMPRESSION_MASK | COMPRESSED | compression << _COMPRESSION_SHIFT


def enters_queue(sys_flag: int) -> bool:
    """Whether records of this kind enter the consume queue (prepared and rollback do not)."""
    return not sys_flag & TransactionType.PREPARED  # a rollback has this bit too; no tuple of enums is made for each put

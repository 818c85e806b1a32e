"""The kernel that finds the keys of records, for the index. It runs as it is, or as machine code.

Source: docs/spec/store.md §2.6, §5.2.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, fetch, find1, i32, i64, u8
from broker_core.native.records import END, FETCHED_AHEAD, FULL, ITEM_END, NAME_END, NOT_ASCII, ODD, record_at, text_hash
from broker_core.protocol.message.record import SYS_FLAG_POSITION
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK, TransactionType

# Columns of the state: what a scan is given and what it found.
AT: Final = 0
"""Where the next record begins."""
BASE: Final = 1
"""Physical offset of the first byte."""
LIMIT: Final = 2
"""Where records end at most."""
KEYS_MAX: Final = 3
KEYS: Final = 4
STATE_COLUMNS: Final = 8

# Columns of a key.
HASH: Final = 0
OFFSET: Final = 1
STORE_MS: Final = 2
KEY_COLUMNS: Final = 3

_ROLLBACK: Final = int(TransactionType.ROLLBACK)
_SPACE: Final = 32
_HASH: Final = 35
"""Between topic and key in the text that is hashed."""
_KEYS: Final = int.from_bytes(b"KEYS", "big")
_UNIQ: Final = int.from_bytes(b"UNIQ", "big")
_KEY: Final = int.from_bytes(b"_KEY", "big")
_KEYS_BYTES: Final = len(b"KEYS\x01")
_UNIQUE_BYTES: Final = len(b"UNIQ_KEY\x01")


def values_of(data: Bytes, at: int, end: int, limit: int) -> tuple[int, int, int, int]:
    """Where the unique key and the keys begin and end: of several values the last one that is not empty; zeros for none."""
    unique_at, unique_end, keys_at, keys_end = 0, 0, 0, 0
    while at < end:
        stop = find1(data, at, end, limit, ITEM_END)
        if stop - at > _KEYS_BYTES:
            name = i32(data, at)
            if name == _KEYS and u8(data, at + 4) == NAME_END:
                keys_at, keys_end = at + _KEYS_BYTES, stop
            elif name == _UNIQ and stop - at > _UNIQUE_BYTES and i32(data, at + 4) == _KEY and u8(data, at + 8) == NAME_END:
                unique_at, unique_end = at + _UNIQUE_BYTES, stop
        at = stop + 1
    return unique_at, unique_end, keys_at, keys_end


def add_key(state: Table, found: Table, hashed: int, physical: int, store_ms: int) -> None:
    """Add a key: the absolute value of its hash as a signed number, 0 where that overflows."""
    signed = hashed - ((hashed & 0x80000000) << 1)
    absolute = -signed if signed < 0 else signed
    row = state[KEYS] * KEY_COLUMNS
    found[row + HASH] = 0 if absolute >= 0x80000000 else absolute
    found[row + OFFSET] = physical
    found[row + STORE_MS] = store_ms
    state[KEYS] += 1


def add_keys_of(
    data: Bytes, topic_at: int, topic_bytes: int, properties_at: int, end: int, physical: int, store_ms: int, state: Table,
    found: Table,
) -> int:  # fmt: skip
    """Add the unique key of a record and each word of its keys; returns why not, or `END`."""
    unique_at, unique_end, keys_at, keys_end = values_of(data, properties_at, end, state[LIMIT])
    if unique_end == unique_at and keys_end == keys_at:
        return END
    if state[KEYS] + 2 + (keys_end - keys_at) // 2 > state[KEYS_MAX]:
        return FULL
    prefix = text_hash(data, topic_at, topic_at + topic_bytes, 0)
    if prefix == NOT_ASCII or text_hash(data, keys_at, keys_end, 0) == NOT_ASCII:
        return ODD
    prefix = (prefix * 31 + _HASH) & 0xFFFFFFFF
    if unique_end > unique_at:
        hashed = text_hash(data, unique_at, unique_end, prefix)
        if hashed == NOT_ASCII:
            return ODD
        add_key(state, found, hashed, physical, store_ms)
    while keys_at < keys_end:
        stop = find1(data, keys_at, keys_end, state[LIMIT], _SPACE)
        if stop > keys_at:
            add_key(state, found, text_hash(data, keys_at, stop, prefix), physical, store_ms)
        keys_at = stop + 1
    return END


def scan_keys(data: Bytes, state: Table, found: Table) -> int:
    """Find the keys of records one behind the other.

    Args:
        data: The records.
        state: The columns above.
        found: Room for the columns of each key.

    Returns:
        Why it stopped. ``state[AT]`` is behind the last record that it took.
    """
    at, base, reason = state[AT], state[BASE], END
    while True:
        size, _, _, topic_at, topic_bytes, properties_at, time_at = record_at(data, base, at, state[LIMIT])
        if size == 0:
            break
        if i32(data, at + SYS_FLAG_POSITION) & TRANSACTION_MASK != _ROLLBACK:
            reason = add_keys_of(
                data, topic_at, topic_bytes, properties_at, at + size, base + at, i64(data, time_at), state, found
            )
            if reason != END:
                break
        fetch(data, at + FETCHED_AHEAD, min(size, FETCHED_AHEAD))
        at += size
    state[AT] = at
    return reason

"""The kernel that finds the keys of records, for the index. It runs as it is, or as machine code.

Source: docs/spec/store.md §2.6, §5.2.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, find3, i32, i64, u8, u16
from broker_core.native.records import END, FULL, ODD, record_at
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
_NAME_END: Final = 1
_ITEM_END: Final = 2
_SPACE: Final = 32
_HASH: Final = 35
"""Between topic and key in the text that is hashed."""
_KEY: Final = int.from_bytes(b"KEY", "big")
_UNI: Final = int.from_bytes(b"UNI", "big")
_Q_: Final = int.from_bytes(b"Q_", "big")
_S: Final = ord("S")
_UNIQUE_PREFIX: Final = len("UNIQ_")
_HIGH: Final = 0x80
_NOT_ASCII: Final = -1


def item_end(data: Bytes, at: int, end: int) -> int:
    """Where the value that begins at a place ends."""
    while at < end and u8(data, at) != _ITEM_END:
        at += 1
    return at


def text_hash(data: Bytes, at: int, end: int, before: int) -> int:
    """Java's hash of a text that goes on, as a number from 0 to 2³² − 1; `_NOT_ASCII` where a byte is none of ASCII."""
    found = before
    while at < end:
        if u8(data, at) >= _HIGH:
            return _NOT_ASCII
        found = (found * 31 + u8(data, at)) & 0xFFFFFFFF
        at += 1
    return found


def values_of(data: Bytes, start: int, end: int, limit: int) -> tuple[int, int, int, int]:
    """Where the unique key and the keys begin and end: of several values the last one that is not empty; zeros for none."""
    unique_at, unique_end, keys_at, keys_end = 0, 0, 0, 0
    place = find3(data, start, end, limit, _KEY)
    while place >= 0:
        if place + 5 <= end and u8(data, place + 3) == _S and u8(data, place + 4) == _NAME_END:
            if place == start or u8(data, place - 1) == _ITEM_END:
                stop = item_end(data, place + 5, end)
                if stop > place + 5:
                    keys_at, keys_end = place + 5, stop
        elif place + 4 <= end and u8(data, place + 3) == _NAME_END and place - _UNIQUE_PREFIX >= start:
            name = place - _UNIQUE_PREFIX
            is_unique = u8(data, name) == _UNI >> 16 and u16(data, name + 1) == _UNI & 0xFFFF and u16(data, name + 3) == _Q_
            if is_unique and (name == start or u8(data, name - 1) == _ITEM_END):
                stop = item_end(data, place + 4, end)
                if stop > place + 4:
                    unique_at, unique_end = place + 4, stop
        place = find3(data, place + 1, end, limit, _KEY)
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
    if prefix == _NOT_ASCII or text_hash(data, keys_at, keys_end, 0) == _NOT_ASCII:
        return ODD
    prefix = (prefix * 31 + _HASH) & 0xFFFFFFFF
    if unique_end > unique_at:
        hashed = text_hash(data, unique_at, unique_end, prefix)
        if hashed == _NOT_ASCII:
            return ODD
        add_key(state, found, hashed, physical, store_ms)
    while keys_at < keys_end:
        stop = keys_at
        while stop < keys_end and u8(data, stop) != _SPACE:
            stop += 1
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
        at += size
    state[AT] = at
    return reason

"""Properties of plain sends, checked where they lie; a part of the kernel `broker_core.native.sends`.

Source: docs/spec/broker.md §2.8; docs/spec/store.md §2.4.
"""

from __future__ import annotations

from typing import Final

from broker_core.native import lanes as k
from broker_core.native import send_columns as s
from broker_core.native.access import Bytes, Table, i32, next_mark, put8, u8, u16

ITEM_END: Final = 2
_NAME_END: Final = 1
_WAIT: Final = int.from_bytes(b"WAIT", "big")
_TRUE: Final = int.from_bytes(b"true", "big")
_TAGS: Final = int.from_bytes(b"TAGS", "big")
_KEYS: Final = int.from_bytes(b"KEYS", "big")
_UNIQ: Final = int.from_bytes(b"UNIQ", "big")
_KEY: Final = int.from_bytes(b"_KEY", "big")
_UNUSUAL: Final = tuple(int.from_bytes(four, "big") for four in (b"DELA", b"N_MS", b"R_DE", b"CLUS", b"WAIT", b"CE_O", b"G_RE"))
"""Words in names of properties that Python looks at: of DELAY, TRAN_MSG, TIMER_DELIVER, CLUSTER, WAIT, TRACE_ON, MSG_REGION."""
_KTX: Final = int.from_bytes(b"KTX", "big")
PROPERTIES_MAX: Final = 32767
_MEMBER_HEAD_BYTES: Final = 20
_MEMBER_FRAME_BYTES: Final = 22
"""Of a member of a batch, without its body and its properties."""
_BODY_BYTES_AT: Final = 16


def java_hash(log: Bytes, at: int, end: int) -> int:
    """Java's hash of a text of ASCII."""
    found = 0
    for place in range(at, end):
        found = (found * 31 + u8(log, place)) & 0xFFFFFFFF
    return found - ((found & 0x80000000) << 1)


def is_usual(log: Bytes, at: int, end: int) -> bool:
    """Whether the name of a property holds no word that Python looks at."""
    if (end - at == 4 and i32(log, at) == _KEYS) or (end - at == 8 and i32(log, at) == _UNIQ and i32(log, at + 4) == _KEY):
        return True
    for place in range(at, end - 2):
        four = i32(log, place)
        if four >> 8 == _KTX:
            return False
        for word in _UNUSUAL:
            if four == word:
                return False
    return True


def take_away(log: Bytes, at: int, behind: int, end: int) -> int:
    """Take away bytes of the log that is not written yet; returns the new end."""
    for place in range(behind, end):
        put8(log, at + place - behind, u8(log, place))
    return end - (behind - at)


def settle_properties(log: Bytes, start: int, end: int, limit: int, state: Table) -> int:
    """Check properties that are not published yet, and take WAIT away.

    Returns:
        Their bytes, or -1 where they hold what is not plain. Bytes up to ``limit`` may be read.
    """
    at, has_tags = start, False
    state[s.TAGS_CODE] = 0
    while at < end:
        middle = next_mark(log, at, end, limit)
        if middle >= end or middle == at or u8(log, middle) != _NAME_END:
            return -1
        close = next_mark(log, middle + 1, end, limit)
        if close == middle + 1 or (close < end and u8(log, close) != ITEM_END):
            return -1
        head = i32(log, at)
        if middle - at == 4 and head == _WAIT:
            if close - middle != 5 or i32(log, middle + 1) != _TRUE:
                return -1
            end = take_away(log, at, min(close + 1, end), end)
            continue
        if middle - at == 4 and head == _TAGS:
            if has_tags:
                return -1
            has_tags = True
            state[s.TAGS_CODE] = java_hash(log, middle + 1, close)
        elif not is_usual(log, at, middle):
            return -1
        at = close + 1
    if end > start and u8(log, end - 1) == ITEM_END:
        end -= 1
    return end - start


def member_body_bytes(data: Bytes, at: int) -> int:
    """Bytes of the body of a member of a batch."""
    return i32(data, at + _BODY_BYTES_AT)


def member_bytes(data: Bytes, at: int, end: int) -> int:
    """Bytes of the member of a batch at a place; -1 where it is not sound or not plain."""
    if end - at < _MEMBER_FRAME_BYTES:
        return -1
    size, body_bytes = i32(data, at), member_body_bytes(data, at)
    if body_bytes <= 0 or size > end - at or size < _MEMBER_FRAME_BYTES + body_bytes:
        return -1
    properties_bytes = size - _MEMBER_FRAME_BYTES - body_bytes
    is_told = u16(data, at + _MEMBER_HEAD_BYTES + body_bytes) == properties_bytes
    return size if is_told and properties_bytes <= PROPERTIES_MAX else -1


def member_properties_at(data: Bytes, at: int) -> int:
    """Where the properties of a sound member begin."""
    return at + _MEMBER_FRAME_BYTES + member_body_bytes(data, at)


def are_plain(data: Bytes, start: int, end: int, state: Table) -> bool:
    """Whether the properties of a member are stored as they are; takes the code of their tags.

    They keep WAIT, which a broker takes away from the properties of a request only (Source: docs/spec/store.md §2.9).
    """
    at, limit, has_tags = start, state[k.END], False
    state[s.TAGS_CODE] = 0
    while at < end:
        middle = next_mark(data, at, end, limit)
        if middle >= end or middle == at or u8(data, middle) != _NAME_END:
            return False
        close = next_mark(data, middle + 1, end, limit)
        if close == middle + 1 or (close < end and u8(data, close) != ITEM_END):
            return False
        head = i32(data, at) if middle - at == 4 else 0
        if head == _TAGS:
            if has_tags:
                return False
            has_tags = True
            state[s.TAGS_CODE] = java_hash(data, middle + 1, close)
        elif head != _WAIT and not is_usual(data, at, middle):
            return False
        at = close + 1
    return True

"""Properties of plain sends, checked where they lie; a part of the kernel `broker_core.native.sends`.

Source: docs/spec/broker.md §2.8; docs/spec/store.md §2.4.
"""

from __future__ import annotations

from typing import Final

from broker_core.native import send_columns as s
from broker_core.native.access import Bytes, Table, i32, next_mark, put8, u8

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
    for place in range(at, end):
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


def settle_properties(log: Bytes, start: int, end: int, state: Table) -> int:
    """Check properties in the log, and take WAIT away; returns their bytes, or -1 where they hold what is not plain."""
    at, limit, has_tags = start, state[s.LOG_BYTES], False
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

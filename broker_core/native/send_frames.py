"""Reads plain sends from their frames; a part of the kernel `broker_core.native.sends`.

    binary  a b c d e f │ g: 13 digits │ h = 0 │ i: properties │ j = 0, k, m = false
    JSON    {"code":310,"extFields":{"a":… "f":…, │ "g":"13 digits" │ ,"h":"0","i":"properties │ ","j":"0", … "opaque": │ n │ …}

A batch has code 320, and m is true.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.1.
"""

from __future__ import annotations

from typing import Final

from broker_core.native import lanes as k
from broker_core.native import send_columns as s
from broker_core.native.access import Bytes, Table, find3, i32, next_json_mark, u8, u16
from broker_core.native.lanes import are_digits, number_at

_SEND: Final = 310
_BATCH: Final = 320
_FIXED: Final = 29
_INT32_MAX: Final = 0x7FFFFFFF
_VERSION_MAX: Final = 0x7FFF
TIME_DIGITS: Final = 13
_OPAQUE_DIGITS_MAX: Final = 10
_ITEM_END: Final = 2
_NAME_END: Final = 1
_QUOTE: Final = 34
_BACKSLASH: Final = 92
_ZERO: Final = 48
_I: Final = ord("i")
_COLON_QUOTE: Final = int.from_bytes(b':"', "big")
_BINARY_TIME: Final = int.from_bytes(b"\0\1g", "big")
_BINARY_FLAG: Final = int.from_bytes(b"\0\1h\0", "big")
_BINARY_FLAG_0: Final = int.from_bytes(b"\0\0\x010", "big")
_JSON_OPEN: Final = int.from_bytes(b'{"co', "big")
_JSON_CODE: Final = int.from_bytes(b'de":', "big")
_JSON_SEND: Final = int.from_bytes(b"310,", "big")
_JSON_BATCH: Final = int.from_bytes(b"320,", "big")
_JSON_TIME: Final = int.from_bytes(b'"g"', "big")
_JSON_FLAG: Final = int.from_bytes(b'","h', "big")
_JSON_FLAG_0: Final = int.from_bytes(b'":"0', "big")
_JSON_TEXT: Final = int.from_bytes(b'","i', "big")
_ESCAPE_0: Final = int.from_bytes(b"u000", "big")
_E_QUOTE_COLON: Final = int.from_bytes(b'e":', "big")
_QUOTE_OPA: Final = int.from_bytes(b'"opa', "big")
_QU: Final = int.from_bytes(b"qu", "big")


def read_binary(data: Bytes, at: int, word: int, frame_end: int, state: Table) -> bool:
    """Find the parts of a send with a binary header; False for another frame."""
    first, end, limit = at + _FIXED, at + 8 + (word & 0xFFFFFF), state[k.END]
    code = u16(data, at + 8)
    if end >= frame_end or code not in (_SEND, _BATCH) or i32(data, at + 17) or i32(data, at + 21):
        return False
    state[s.IS_BATCH] = code == _BATCH
    if end != first + i32(data, at + 25) or u16(data, at + 11) > _VERSION_MAX:
        return False
    mark = find3(data, first, end, limit, _BINARY_TIME)
    while mark >= 0 and mark + 7 <= end and i32(data, mark + 3) != TIME_DIGITS:
        mark = find3(data, mark + 1, end, limit, _BINARY_TIME)
    flag_at = mark + 7 + TIME_DIGITS
    if mark < 0 or flag_at + 15 > end or i32(data, flag_at) != _BINARY_FLAG or i32(data, flag_at + 4) != _BINARY_FLAG_0:
        return False
    count = i32(data, flag_at + 11)
    if u16(data, flag_at + 8) != 1 or u8(data, flag_at + 10) != _I or count < 0 or flag_at + 15 + count > end:
        return False
    state[k.KEY_AT], state[k.KEY_BYTES], state[s.TIME_AT] = first, mark - first, mark + 7
    state[s.TEXT_AT], state[s.TEXT_BYTES] = flag_at + 15, count
    state[s.END_AT], state[s.END_BYTES] = flag_at + 15 + count, end - flag_at - 15 - count
    state[s.LAST_AT], state[s.LAST_BYTES] = end, 0
    state[s.OPAQUE_AT], state[s.OPAQUE_BYTES], state[s.BODY_AT] = at + 13, 4, end
    return are_digits(data, mark + 7, TIME_DIGITS)


def json_text_end(data: Bytes, at: int, end: int, limit: int) -> int:
    """Where the properties end that begin at a place of a JSON header; ``end`` where they hold what is not plain."""
    place = next_json_mark(data, at, end, limit)
    while place + 6 <= end and u8(data, place) == _BACKSLASH:
        last = u8(data, place + 5)
        if i32(data, place + 1) != _ESCAPE_0 or (last != _ZERO + _NAME_END and last != _ZERO + _ITEM_END):
            return end
        place = next_json_mark(data, place + 6, end, limit)
    return place if place < end and u8(data, place) == _QUOTE else end


def json_opaque(data: Bytes, at: int, end: int, limit: int) -> int:
    """Where the number of the first opaque behind a place begins; -1 for none."""
    mark = find3(data, at + 6, end, limit, _E_QUOTE_COLON)
    while mark >= 0 and (i32(data, mark - 6) != _QUOTE_OPA or u16(data, mark - 2) != _QU):
        mark = find3(data, mark + 3, end, limit, _E_QUOTE_COLON)
    return mark if mark < 0 else mark + 3


def read_opaque(data: Bytes, at: int, end: int, state: Table) -> bool:
    """Take an opaque in decimal digits; False for what is none of 31 bits."""
    count = 0
    while at + count < end and count <= _OPAQUE_DIGITS_MAX and are_digits(data, at + count, 1):
        count += 1
    state[s.OPAQUE_AT], state[s.OPAQUE_BYTES] = at, count
    if count == 0 or count > _OPAQUE_DIGITS_MAX or (count > 1 and u8(data, at) == _ZERO):
        return False
    return number_at(data, at, count) <= _INT32_MAX


def read_json(data: Bytes, at: int, word: int, frame_end: int, state: Table) -> bool:
    """As `read_binary`, with a JSON header."""
    first, end, limit = at + 8, at + 8 + (word & 0xFFFFFF), state[k.END]
    if end >= frame_end or end - first < 64 or i32(data, first) != _JSON_OPEN or i32(data, first + 4) != _JSON_CODE:
        return False
    code = i32(data, first + 8)
    if code not in (_JSON_SEND, _JSON_BATCH):
        return False
    state[s.IS_BATCH] = code == _JSON_BATCH
    mark = find3(data, first, end, limit, _JSON_TIME)
    while mark >= 0 and mark + 5 <= end and u16(data, mark + 3) != _COLON_QUOTE:
        mark = find3(data, mark + 1, end, limit, _JSON_TIME)
    flag_at = mark + 5 + TIME_DIGITS
    if mark < 0 or flag_at + 15 > end or i32(data, flag_at) != _JSON_FLAG or i32(data, flag_at + 4) != _JSON_FLAG_0:
        return False
    if i32(data, flag_at + 8) != _JSON_TEXT or u16(data, flag_at + 12) != _QUOTE << 8 | _COLON_QUOTE >> 8:
        return False
    if u8(data, flag_at + 14) != _QUOTE or not are_digits(data, mark + 5, TIME_DIGITS):
        return False
    place = json_text_end(data, flag_at + 15, end, limit)
    opaque_at = json_opaque(data, place, end, limit)
    if place >= end or opaque_at < 0 or not read_opaque(data, opaque_at, end, state):
        return False
    state[k.KEY_AT], state[k.KEY_BYTES], state[s.TIME_AT] = first, mark - first, mark + 5
    state[s.TEXT_AT], state[s.TEXT_BYTES] = flag_at + 15, place - flag_at - 15
    state[s.END_AT], state[s.END_BYTES] = place, opaque_at - place
    state[s.LAST_AT] = opaque_at + state[s.OPAQUE_BYTES]
    state[s.LAST_BYTES], state[s.BODY_AT] = end - state[s.LAST_AT], end
    return True


def read_send(data: Bytes, state: Table) -> int:
    """Find the parts of the next frame; returns why not, or `s.GO_ON`."""
    at = state[k.AT]
    if state[k.END] - at < 8:
        return s.ALL
    total, word = i32(data, at), i32(data, at + 4)
    if total < _FIXED:
        return s.NOT_PLAIN
    frame_end, kind = at + 4 + total, word >> 24
    if frame_end > state[k.END]:
        return s.ALL
    state[k.KIND], state[s.FRAME_END] = kind, frame_end
    if kind == k.BINARY_SEND:
        return s.GO_ON if read_binary(data, at, word, frame_end, state) else s.NOT_PLAIN
    if kind == k.JSON_SEND:
        return s.GO_ON if read_json(data, at, word, frame_end, state) else s.NOT_PLAIN
    return s.NOT_PLAIN

"""Reads plain pulls from their frames; a part of the kernel `broker_core.native.pulls`.

    binary  code language version │ opaque │ … queueOffset │ n │ … commitOffset │ n │ …
    JSON    … "queueOffset":" │ n │ … "commitOffset":" │ n │ … "opaque": │ n │ …     (in any order)

The key of a lane is all but the three numbers, joined.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3.
"""

from __future__ import annotations

from typing import Final

from broker_core.native import lanes as k
from broker_core.native import pull_columns as p
from broker_core.native.access import Bytes, Table, copy, find3, i32, same, u8, u16
from broker_core.native.lanes import are_digits, number_at

LENGTH_BYTES: Final = 4
BINARY_HEAD_BYTES: Final = 29
HEADER_AT: Final = 8
BINARY_OPAQUE_BYTES: Final = 4
_ALIKE_BYTES: Final = 5
"""Code, language and version, before the opaque of a binary header."""
_FLAG_AT: Final = 17
_FIELDS_BYTES_AT: Final = 25
_DIGITS_MAX: Final = 18
_OPAQUE_DIGITS_MAX: Final = 10
_INT32_MAX: Final = 0x7FFFFFFF
_ZERO: Final = 48
_NINE: Final = 57
_QUOTE: Final = 34
_COMMA: Final = 44
_OFFSET_MARK: Final = (0, 16)
_COMMIT_MARK: Final = (16, 17)
_JSON_OFFSET_MARK: Final = (33, 15)
_JSON_COMMIT_MARK: Final = (48, 16)
_JSON_OPAQUE_MARK: Final = (64, 9)


def behind_mark(data: Bytes, at: int, end: int, limit: int, marks: Bytes, mark_at: int, mark_bytes: int) -> int:
    """The place behind the first occurrence of a text of `MARKS`; -1 for none."""
    word = u8(marks, mark_at) << 16 | u16(marks, mark_at + 1)
    place = find3(data, at, end, limit, word)
    while place >= 0 and (place + mark_bytes > end or not same(marks, mark_at, data, place, mark_bytes)):
        place = find3(data, place + 1, end, limit, word)
    return -1 if place < 0 else place + mark_bytes


def is_offset(data: Bytes, at: int, end: int) -> bool:
    """Whether bytes are one to 18 decimal digits."""
    return 0 < end - at <= _DIGITS_MAX and are_digits(data, at, end - at)


def digits_end(data: Bytes, at: int, end: int) -> int:
    """Where the decimal digits end that begin at a place."""
    while at < end and _ZERO <= u8(data, at) <= _NINE:
        at += 1
    return at


def is_opaque(data: Bytes, at: int, end: int) -> bool:
    """Whether bytes are a number from 0 to 2³¹ − 1 as a writer of JSON writes it."""
    count = end - at
    if count < 1 or count > _OPAQUE_DIGITS_MAX or (count > 1 and u8(data, at) == _ZERO):
        return False
    return number_at(data, at, count) <= _INT32_MAX


def take_piece(data: Bytes, at: int, end: int, state: Table, scratch: Bytes) -> None:
    """Append bytes of the frame to the key."""
    copy(scratch, state[k.KEY_BYTES], data, at, end - at)
    state[k.KEY_BYTES] += end - at


def note_offsets(data: Bytes, offset_at: int, offset_end: int, commit_at: int, commit_end: int, state: Table) -> None:
    """Note the two offsets of a pull."""
    state[p.OFFSET_AT], state[p.OFFSET_BYTES] = offset_at, offset_end - offset_at
    state[p.COMMIT_AT], state[p.COMMIT_BYTES] = commit_at, commit_end - commit_at
    state[p.OFFSET] = number_at(data, offset_at, offset_end - offset_at)
    state[p.COMMIT] = number_at(data, commit_at, commit_end - commit_at)


def read_binary(data: Bytes, at: int, end: int, state: Table, marks: Bytes, scratch: Bytes) -> bool:
    """Read a pull with a binary header; False where it is not plain."""
    first = at + BINARY_HEAD_BYTES
    if i32(data, at + _FLAG_AT) or i32(data, at + _FLAG_AT + 4) or end != first + i32(data, at + _FIELDS_BYTES_AT):
        return False
    offset_at = behind_mark(data, first, end, state[k.END], marks, _OFFSET_MARK[0], _OFFSET_MARK[1])
    if offset_at < 0 or offset_at >= end:
        return False
    offset_end = offset_at + 1 + u8(data, offset_at)
    commit_at = behind_mark(data, offset_at, end, state[k.END], marks, _COMMIT_MARK[0], _COMMIT_MARK[1])
    if commit_at < 0 or commit_at >= end or commit_at - _COMMIT_MARK[1] < offset_end:
        return False
    commit_end = commit_at + 1 + u8(data, commit_at)
    if commit_end > end or not is_offset(data, offset_at + 1, offset_end) or not is_offset(data, commit_at + 1, commit_end):
        return False
    state[k.KEY_BYTES] = 0
    take_piece(data, at + HEADER_AT, at + HEADER_AT + _ALIKE_BYTES, state, scratch)
    take_piece(data, first, offset_at, state, scratch)
    take_piece(data, offset_end, commit_at, state, scratch)
    take_piece(data, commit_end, end, state, scratch)
    state[p.OPAQUE_AT], state[p.OPAQUE_BYTES] = at + HEADER_AT + _ALIKE_BYTES, BINARY_OPAQUE_BYTES
    note_offsets(data, offset_at + 1, offset_end, commit_at + 1, commit_end, state)
    return True


def read_json(data: Bytes, at: int, end: int, state: Table, marks: Bytes, scratch: Bytes) -> bool:
    """Read a pull with a JSON header; False where it is not plain."""
    first, limit = at + HEADER_AT, state[k.END]
    one = behind_mark(data, first, end, limit, marks, _JSON_OFFSET_MARK[0], _JSON_OFFSET_MARK[1])
    two = behind_mark(data, first, end, limit, marks, _JSON_COMMIT_MARK[0], _JSON_COMMIT_MARK[1])
    three = behind_mark(data, first, end, limit, marks, _JSON_OPAQUE_MARK[0], _JSON_OPAQUE_MARK[1])
    if one < 0 or two < 0 or three < 0:
        return False
    one_end, two_end, three_end = digits_end(data, one, end), digits_end(data, two, end), digits_end(data, three, end)
    if one_end >= end or two_end >= end or three_end >= end or not is_opaque(data, three, three_end):
        return False
    if u8(data, one_end) != _QUOTE or u8(data, two_end) != _QUOTE or u8(data, three_end) != _COMMA:
        return False
    if not is_offset(data, one, one_end) or not is_offset(data, two, two_end):
        return False
    state[p.OPAQUE_AT], state[p.OPAQUE_BYTES] = three, three_end - three
    note_offsets(data, one, one_end, two, two_end, state)
    if two < one:
        one, one_end, two, two_end = two, two_end, one, one_end
    if three < two:
        two, two_end, three, three_end = three, three_end, two, two_end
    if two < one:
        one, one_end, two, two_end = two, two_end, one, one_end
    state[k.KEY_BYTES] = 0
    take_piece(data, first, one, state, scratch)
    take_piece(data, one_end, two, state, scratch)
    take_piece(data, two_end, three, state, scratch)
    take_piece(data, three_end, end, state, scratch)
    return True


def read_frame(data: Bytes, at: int, end: int, state: Table, marks: Bytes, scratch: Bytes) -> bool:
    """Read a pull whose header fills its frame; False where it is not plain."""
    state[k.KIND] = k.BINARY_PULL if u8(data, at + LENGTH_BYTES) == 1 else k.JSON_PULL
    if end != at + HEADER_AT + (i32(data, at + LENGTH_BYTES) & 0xFFFFFF) or u8(data, at + LENGTH_BYTES) > 1:
        return False
    if state[k.KIND] == k.BINARY_PULL:
        return read_binary(data, at, end, state, marks, scratch)
    return read_json(data, at, end, state, marks, scratch)

"""Columns of many records for recovery and verification: queues, tags codes, units, checksums.

Vectorised over the records of one window of a commit log file. Unusual records (tags that are not ASCII, or named twice;
delayed messages) are read one by one, by the functions of a put.

Source: docs/spec/store.md §2.5, §4.1, §4.2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.record_heads import Bools, Bytes, Int32s, Int64s, RecordHeads, at_every_byte
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.properties import TAGS, find_property_bytes, property_marker
from broker_core.protocol.message.record import CRC_MASK
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK, TransactionType
from broker_core.protocol.message.tags import tags_code
from broker_core.protocol.names import SCHEDULE_TOPIC

UNIT_TYPE = np.dtype([("physical_offset", ">i8"), ("record_bytes", ">i4"), ("tags_code", ">i8")])
"""Consume queue unit."""
assert UNIT_TYPE.itemsize == 20

PAGE_BYTES = 4096
"""Bytes that reach the disk together or not at all."""
_WORD_BYTES = 8
_WORD_MASKS = np.array([(1 << 64) - (1 << (64 - 8 * count)) for count in range(9)], dtype=np.uint64)
"""Masks that keep the first n bytes of a big-endian word."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_TAGS = int.from_bytes(b"TAGS")
_RECORD_CRC = int.from_bytes(b"__CRC32#")
RECORD_CRC_BYTES = 20
_NAME_END = 1
_ITEM_END = 2
_NOT_ASCII = 0x80
_SEARCH_BYTES = 1 << 20
_TAGS_MARKER = property_marker(TAGS)
_LAST_TAGS = bytes((_ITEM_END,)) + _TAGS_MARKER
_CUT_TOGETHER = 64
_COMPARED_TOPICS_MAX = 32
"""With more topics in a window, sorting takes less time than comparing."""
_BODY_CUT_OUT_MAX = 4096
"""Larger bodies are not copied for their checksums."""


class QueueGroup(NamedTuple):
    """Records of one queue; ``rows`` are their indexes among the records, ascending."""

    topic: bytes
    queue_id: int
    rows: Int64s

    @property
    def key(self) -> tuple[str, int]:
        """Topic as text, and queue id."""
        return self.topic.decode("utf-8", "replace"), self.queue_id


def queue_groups(data: Bytes, heads: RecordHeads) -> Iterator[QueueGroup]:
    """Records by topic and queue id."""
    if not len(heads):
        return
    words = _topic_words(data, heads)
    key = heads.queue_id.astype(np.uint64) * _MIX + heads.topic_bytes.astype(np.uint64)
    for word in words:
        key = (key ^ word) * _MIX
        key ^= key >> np.uint64(29)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    pattern = first[group]
    same = (heads.queue_id == heads.queue_id[pattern]) & (heads.topic_bytes == heads.topic_bytes[pattern])
    for word in words:
        same &= word == word[pattern]
    assert same.all(), "two queues share a 64-bit hash"
    order = np.argsort(group.astype(np.uint16) if len(first) < 1 << 16 else group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(first) + 1))
    for number, row in enumerate(first.tolist()):
        yield QueueGroup(_topic_of(data, heads, row), int(heads.queue_id[row]), order[bounds[number] : bounds[number + 1]])


def in_queue(sys_flag: Int32s) -> Bools:
    """Which records are in their queue: not those of open and rolled back transactions."""
    kind = sys_flag & TRANSACTION_MASK
    found: Bools = (kind == TransactionType.NONE) | (kind == TransactionType.COMMIT)
    return found


def runs_of_queue(heads: RecordHeads, group: QueueGroup) -> list[Int64s]:
    """Rows of a group that are in their queue, in runs of consecutive queue offsets."""
    rows = group.rows[in_queue(heads.sys_flag[group.rows])]
    return np.split(rows, np.flatnonzero(np.diff(heads.queue_offset[rows]) != 1) + 1) if len(rows) else []


def topic_groups(data: Bytes, heads: RecordHeads) -> Iterator[tuple[bytes, Bools]]:
    """Records by topic: a topic as stored, and a mask of its records. Each record belongs to one mask.

    Few topics are separated by comparing all records with one of them at a time, without sorting. After `_COMPARED_TOPICS_MAX`
    topics, a topic may be returned once for each of its queues.
    """
    if not len(heads):
        return
    columns: list[npt.NDArray[Any]] = [heads.topic_bytes, *_topic_words(data, heads)]
    left = np.ones(len(heads), dtype=np.bool_)
    for _ in range(_COMPARED_TOPICS_MAX):
        row = int(left.argmax())
        same = np.ones(len(heads), dtype=np.bool_)
        for column in columns:
            same &= column == column[row]
        yield _topic_of(data, heads, row), same
        left &= ~same
        if not left.any():
            return
    rows = np.flatnonzero(left)
    for group in queue_groups(data, heads.only(rows)):
        same = np.zeros(len(heads), dtype=np.bool_)
        same[rows[group.rows]] = True
        yield group.topic, same


def _topic_of(data: Bytes, heads: RecordHeads, row: int) -> bytes:
    start = int(heads.topic_position[row])
    return data[start : start + int(heads.topic_bytes[row])].tobytes()


def _topic_words(data: Bytes, heads: RecordHeads) -> list[npt.NDArray[np.uint64]]:
    """Topics as words of 8 bytes, with zeros after their ends."""
    every_word = at_every_byte(data, ">u8")
    last = len(data) - _WORD_BYTES
    shortest, longest = int(heads.topic_bytes.min()), int(heads.topic_bytes.max())
    words = []
    for start in range(0, longest, _WORD_BYTES):
        position = heads.topic_position + start
        if position.max() <= last:
            word = every_word[position].astype(np.uint64)
        else:  # at the end of the buffer, a word is read earlier and shifted
            over = np.clip(position - last, 0, _WORD_BYTES - 1)
            word = every_word[np.minimum(position, last)].astype(np.uint64) << (over * 8).astype(np.uint64)
        if shortest < start + _WORD_BYTES:
            kept = longest - start if shortest == longest else heads.topic_bytes - start
            word &= _WORD_MASKS[np.clip(kept, 0, _WORD_BYTES)]
        words.append(word)
    return words


def unit_codes(data: Bytes, heads: RecordHeads, groups: list[QueueGroup], levels: DelayLevels) -> Int64s:
    """Third field of the consume queue unit of each record."""
    codes, odd = _tags_codes(data, heads)
    delayed = [group.rows for group in groups if group.key[0] == SCHEDULE_TOPIC]
    for topic, rows in [("", odd), *((SCHEDULE_TOPIC, rows) for rows in delayed)]:
        for row in rows.tolist():
            start = int(heads.properties_position[row])
            properties = data[start : start + int(heads.properties_bytes[row])].tobytes()
            codes[row] = unit_tags_code(topic, properties, int(heads.store_ms[row]), levels)
    return codes


def _tags_codes(data: Bytes, heads: RecordHeads) -> tuple[Int64s, Int64s]:
    """Hash of the tags of each record, and the rows whose hash must be computed one by one."""
    common = _code_of_all(data, heads)
    if common is not None:
        return np.full(len(heads), common, dtype=np.int64), np.empty(0, dtype=np.int64)
    codes = np.zeros(len(heads), dtype=np.int64)
    position, row = _tags_values(data, heads)
    twice = np.zeros(len(row), dtype=np.bool_)
    np.equal(row[1:], row[:-1], out=twice[1:])
    limit = (heads.position + heads.size)[row]
    value = np.zeros(len(row), dtype=np.uint32)
    ascii_bits = np.zeros(len(row), dtype=np.uint8)
    live = np.arange(len(row))
    last = len(data) - 1
    while len(live):
        at = position[live]
        byte = data[np.minimum(at, last)]
        inside = (at < limit[live]) & (byte != _ITEM_END)
        if not inside.all():
            live, byte = live[inside], byte[inside]
        value[live] = value[live] * np.uint32(31) + byte
        ascii_bits[live] |= byte
        position[live] += 1
    codes[row] = value.view(np.int32)
    return codes, row[twice | (ascii_bits >= _NOT_ASCII)]


def _code_of_all(data: Bytes, heads: RecordHeads) -> int | None:
    """Hash of the tags of records that are alike, and end alike from their tags on; None for others."""
    if not _are_alike(heads):
        return None
    first, size = int(heads.properties_position[0]), int(heads.size[0])
    properties = data[first : first + int(heads.properties_bytes[0])].tobytes()
    tail = properties[max(properties.rfind(_LAST_TAGS), 0) :]
    tags = find_property_bytes(tail, _TAGS_MARKER) if tail.startswith(_LAST_TAGS) else None
    if tags is None:
        return None
    tail_at = first + len(properties) - len(tail)
    tails: Bytes = np.ndarray((len(heads), len(tail)), dtype=np.uint8, buffer=data, offset=tail_at, strides=(size, 1))
    return tags_code(tags) if (tails == np.frombuffer(tail, dtype=np.uint8)).all() else None


def _are_alike(heads: RecordHeads) -> bool:
    """Whether records follow each other without a gap, all with parts of the same lengths."""
    if not len(heads):
        return False
    size, last = int(heads.size[0]), int(heads.position[-1] - heads.position[0])
    before = heads.body_position - heads.position
    columns = (heads.size, heads.body_bytes, heads.properties_bytes, before)
    return last == (len(heads) - 1) * size and all(bool((column == column[0]).all()) for column in columns)


def _tags_values(data: Bytes, heads: RecordHeads) -> tuple[Int64s, Int64s]:
    """Positions of the tags, and the row of each; ascending."""
    empty = np.empty(0, dtype=np.int64)
    if not len(heads):
        return empty, empty
    every_name = at_every_byte(data, ">u4")
    found = [empty]
    for start in range(int(heads.position[0]) + 4, heads.end, _SEARCH_BYTES):
        separator = np.flatnonzero(data[start : min(start + _SEARCH_BYTES, heads.end)] == _NAME_END) + start
        found.append(separator[every_name[separator - 4] == _TAGS])
    name = np.concatenate(found) - 4
    row = np.searchsorted(heads.position, name, side="right") - 1
    begin = heads.properties_position[row]
    is_name = (name >= begin) & ((name == begin) | (data[name - 1] == _ITEM_END))
    is_name &= name < heads.position[row] + heads.size[row]
    return name[is_name] + 5, row[is_name]


def queue_units(heads: RecordHeads, rows: Int64s, codes: Int64s) -> npt.NDArray[Any]:
    """Consume queue units of some records."""
    units = np.empty(len(rows), dtype=UNIT_TYPE)
    units["physical_offset"] = heads.physical_offset[rows]
    units["record_bytes"] = heads.size[rows]
    units["tags_code"] = codes[rows]
    return units


def wrong_checksums(view: memoryview, heads: RecordHeads) -> Int64s:
    """Rows whose body does not have the record's checksum; empty bodies have none."""
    if _are_alike(heads) and heads.body_bytes[0] <= _BODY_CUT_OUT_MAX:
        found = list(map(crc32, _bodies_of_alike(view, heads)))
    else:
        starts = heads.body_position.tolist()
        ends = (heads.body_position + heads.body_bytes).tolist()
        found = [crc32(view[start:end]) for start, end in zip(starts, ends, strict=True)]
    wrong = (np.array(found, dtype=np.int64) & CRC_MASK) != heads.body_crc
    return np.flatnonzero(wrong & (heads.body_bytes > 0))


def _bodies_of_alike(view: memoryview, heads: RecordHeads) -> Iterator[bytes]:
    """Bodies of records that are alike, cut out by one struct: 0.1 µs a body of 128 bytes with its checksum, not 0.3."""
    size, body_bytes, start = int(heads.size[0]), int(heads.body_bytes[0]), int(heads.position[0])
    before = int(heads.body_position[0]) - start
    one = f"{before}x{body_bytes}s{size - before - body_bytes}x"
    many = start + len(heads) // _CUT_TOGETHER * _CUT_TOGETHER * size
    cut = struct.Struct(one * _CUT_TOGETHER).iter_unpack(view[start:many])
    rest = struct.Struct(one).iter_unpack(view[many : start + len(heads) * size])
    return chain(chain.from_iterable(cut), chain.from_iterable(rest))


def record_checksums(data: Bytes, heads: RecordHeads) -> tuple[Int64s, Int64s]:
    """Rows without a checksum over the whole record, and rows with a wrong one.

    5.2 and later can end the properties with one (``enabledAppendPropCRC``): name, 0x01, ten decimal digits, the lowest first,
    0x02. It covers the record before it.

    Source: docs/spec/store.md §2.5.
    """
    ends = heads.position + heads.size
    has_room = heads.properties_bytes >= RECORD_CRC_BYTES
    starts = np.where(has_room, ends - RECORD_CRC_BYTES, 0)
    has_one = has_room & (at_every_byte(data, ">u8")[starts] == _RECORD_CRC) if len(heads) else has_room
    wrong = [row for row in np.flatnonzero(has_one).tolist() if not _record_crc_is_right(data, heads, row)]
    return np.flatnonzero(~has_one), np.array(wrong, dtype=np.int64)


def _record_crc_is_right(data: Bytes, heads: RecordHeads, row: int) -> bool:
    start, end = int(heads.position[row]), int(heads.position[row] + heads.size[row])
    digits = data[end - RECORD_CRC_BYTES + 9 : end - 1].tobytes()[::-1]
    found = crc32(data[start : end - RECORD_CRC_BYTES].data) & CRC_MASK
    return digits.isdigit() and int(digits) == found


def torn_tails(data: Bytes, heads: RecordHeads) -> Int64s:
    """Rows whose topic or properties reach into a page of zeros, which a power cut kept from the disk.

    BODYCRC does not cover them, and their lengths may lie in the page before. Only a whole page of zeros after the page's
    border counts, so that a value which ends in zero bytes is no fault: only a last record whose properties are zero bytes from
    the border on would be. A page that was written to the disk in the middle of an append, and then not again, is not found.
    """
    topic_end = heads.topic_position + heads.topic_bytes
    end = heads.position + heads.size
    border = -(-heads.topic_position // PAGE_BYTES) * PAGE_BYTES
    border = np.where((border >= topic_end) & (border < heads.properties_position), border + PAGE_BYTES, border)
    rows = np.flatnonzero(border < end)
    rows = rows[(data[border[rows]] == 0) | (border[rows] + PAGE_BYTES < end[rows])]
    torn = [
        row
        for row in rows.tolist()
        if any(not data[at : at + PAGE_BYTES].any() for at in range(int(border[row]), int(end[row]), PAGE_BYTES))
    ]
    return np.array(torn, dtype=np.int64)

"""Heads of many records as numpy columns, each made at its first use.

A head is copied as bytes without meaning and then viewed as fields: 6 ns a head, a copy field by field takes 90. A column is
converted to the machine's byte order when it is used: 1 ns a record, so that a caller that compares two fields does not pay for
eighteen.

Source: docs/spec/store.md §2.1 to §2.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from broker_core.protocol.message.record import (
    HEAD_BYTES,
    MAGIC_V1,
    MAGIC_V2,
    STORE_TIMESTAMP_POSITION_V4,
    V6_EXTRA_BYTES,
)
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, HOST_V6_MASK, STORE_HOST_V6

Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_HEAD = np.dtype(
    [
        ("size", ">i4"),
        ("magic", ">i4"),
        ("body_crc", ">i4"),
        ("queue_id", ">i4"),
        ("flag", ">i4"),
        ("queue_offset", ">i8"),
        ("physical_offset", ">i8"),
        ("sys_flag", ">i4"),
        ("born_ms", ">i8"),
    ]
)
"""Fields before the hosts, whose lengths differ."""
_TAIL = np.dtype([("reconsume", ">i4"), ("prepared_offset", ">i8"), ("body_bytes", ">i4")])
"""Fields between the hosts and the body."""
_HEAD_V4 = np.dtype([*_HEAD.descr, ("born_host", "V8"), ("store_ms", ">i8"), ("store_host", "V8"), *_TAIL.descr])
"""Whole head of a record with two IPv4 hosts."""
_HEAD_BYTES_V4 = np.dtype(("V", _HEAD_V4.itemsize))
assert _HEAD_V4.itemsize == HEAD_BYTES[0]
assert _HEAD.itemsize == HEAD_BYTES[0] - _TAIL.itemsize - 24  # two IPv4 hosts and STORETIMESTAMP lie between

_LENGTHS_BYTES = 3
"""Lengths of a V1 topic and of properties, which follow the body."""


class HeadRows(NamedTuple):
    """Positions and heads of records, and the lengths that follow their bodies.

    Attributes:
        position: In the buffer.
        head: Bytes of the heads, laid out as with two IPv4 hosts; the hosts are not valid. Fields would be copied one by one.
        topic_bytes: Length of the topic.
        properties_bytes: Length of the properties.
    """

    position: Int64s
    head: npt.NDArray[Any]
    topic_bytes: Int32s
    properties_bytes: Int32s

    def field(self, name: str) -> npt.NDArray[Any]:
        """One field of all heads, big-endian."""
        column: npt.NDArray[Any] = self.head.view(_HEAD_V4)[name]
        return column

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """All of them."""
        return self.position, self.head, self.topic_bytes, self.properties_bytes

    def of(self, rows: slice | Int64s | Bools) -> HeadRows:
        """Some of them."""
        return HeadRows(self.position[rows], self.head[rows], self.topic_bytes[rows], self.properties_bytes[rows])

    @classmethod
    def empty(cls, room: int = 0) -> HeadRows:
        """Rows without content."""
        lengths = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
        return cls(np.empty(room, dtype=np.int64), np.empty(room, dtype=_HEAD_BYTES_V4), *lengths)


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a commit log file where no record could be read."""

    position: int
    """In the file."""
    reason: str


def _int32_column(name: str) -> cached_property[Int32s]:
    return cached_property(lambda heads: heads.rows.field(name).astype(np.int32))


def _int64_column(name: str) -> cached_property[Int64s]:
    return cached_property(lambda heads: heads.rows.field(name).astype(np.int64))


@dataclass(frozen=True)
class RecordHeads:
    """Heads of consecutive records; all columns have one entry a record, positions count from the start of the buffer.

    Times are epoch milliseconds, lengths bytes.
    """

    rows: HeadRows
    end: int
    """Position after the last record; the filler and unused bytes follow."""
    ended_by_filler: bool = False
    """The file is complete: a filler follows the last record."""
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows.position)

    def part(self, first: int, last: int) -> RecordHeads:
        """Rows from ``first`` to ``last``, without the damage."""
        if not first and last == len(self):
            return self
        end = int(self.position[last - 1] + self.size[last - 1]) if last > first else 0
        return RecordHeads(self.rows.of(slice(first, last)), end)

    def without(self, rows: Int64s) -> RecordHeads:
        """The heads without some rows; ``end`` and ``damage`` stay."""
        return self.only(np.delete(np.arange(len(self)), rows))

    def only(self, rows: Int64s) -> RecordHeads:
        """Some of the rows; ``end`` and ``damage`` stay."""
        return RecordHeads(self.rows.of(rows), self.end, self.ended_by_filler, self.damage)

    @property
    def position(self) -> Int64s:
        """Start of the record."""
        return self.rows.position

    @property
    def topic_bytes(self) -> Int32s:
        """Length of the topic."""
        return self.rows.topic_bytes

    @property
    def properties_bytes(self) -> Int32s:
        """Length of the properties."""
        return self.rows.properties_bytes

    size = _int32_column("size")
    body_crc = _int32_column("body_crc")
    queue_id = _int32_column("queue_id")
    flag = _int32_column("flag")
    queue_offset = _int64_column("queue_offset")
    physical_offset = _int64_column("physical_offset")
    sys_flag = _int32_column("sys_flag")
    born_ms = _int64_column("born_ms")
    store_ms = _int64_column("store_ms")
    reconsume = _int32_column("reconsume")
    prepared_offset = _int64_column("prepared_offset")
    body_bytes = _int32_column("body_bytes")

    @cached_property
    def body_position(self) -> Int64s:
        """Start of the stored body."""
        start: Int64s = self.position + HEAD_BYTES[0] + _v6_bytes(self.rows.field("sys_flag"))
        return start

    @cached_property
    def topic_position(self) -> Int64s:
        """Start of the topic."""
        is_wide = self.rows.field("magic") == MAGIC_V2
        start: Int64s = self.body_position + self.body_bytes + 1 + is_wide
        return start

    @cached_property
    def properties_position(self) -> Int64s:
        """Start of the properties."""
        start: Int64s = self.topic_position + self.topic_bytes + 2
        return start


def at_every_byte(data: Bytes, dtype: str | np.dtype[Any]) -> npt.NDArray[Any]:
    """A view of the items that start at every position of a buffer, with a stride of one byte."""
    item = np.dtype(dtype)
    count = max(0, len(data) - item.itemsize + 1)
    return np.ndarray((count,), dtype=item, buffer=data, strides=(1,))


def read_rows(data: Bytes, base_offset: int | None, position: Int64s, *, in_a_row: bool = False) -> tuple[HeadRows, Bools]:
    """Rows of some positions, and which of them are records: by magic code, own offset, and lengths that add up.

    Args:
        data: The file up to where records may reach.
        base_offset: Physical offset of its first byte; None for records outside of their log, whose offsets are not checked.
        position: At most ``len(data) - FIXED_BYTES``.
        in_a_row: Whether a record must start where the one before it ends.
    """
    if not len(position):
        return HeadRows.empty(), np.empty(0, dtype=np.bool_)
    end = len(data)
    head_bytes = at_every_byte(data, _HEAD_BYTES_V4)[position]
    head = head_bytes.view(_HEAD_V4)
    is_narrow = head["magic"] == MAGIC_V1
    is_wide = None if is_narrow.all() else head["magic"] == MAGIC_V2
    extra = _v6_bytes(head["sys_flag"])
    if not isinstance(extra, int):
        _set_right(data, position, extra, head)
    record_end = position + head["size"]
    body_bytes = head["body_bytes"].astype(np.int64)
    topic_position = position + (HEAD_BYTES[0] + 1) + extra + body_bytes
    whole: Bools = (is_narrow if is_wide is None else is_narrow | is_wide).copy()
    if base_offset is not None:
        whole &= head["physical_offset"] == position + base_offset
    if in_a_row:
        whole[1:] &= position[1:] == record_end[:-1]
    whole &= (body_bytes >= 0) & (record_end <= end) & (topic_position + _LENGTHS_BYTES - 1 <= record_end)
    topic_position = _kept_inside(topic_position, whole)
    topic_bytes = data[topic_position - 1].astype(np.int64)
    if is_wide is not None:
        topic_bytes = np.where(is_wide, at_every_byte(data, ">i2")[topic_position - 1], topic_bytes)
        topic_position += is_wide
    properties_position = topic_position + topic_bytes + 2
    whole &= (topic_bytes > 0) & (properties_position <= record_end)
    properties_position = _kept_inside(properties_position, whole)
    # Two single bytes: a fifth of the time of one unaligned item of two bytes.
    properties_bytes = data[properties_position - 2].astype(np.int8) * np.int64(256) + data[properties_position - 1]
    whole &= (properties_bytes >= 0) & (properties_position + properties_bytes == record_end)
    return HeadRows(position, head_bytes, topic_bytes.astype(np.int32), properties_bytes.astype(np.int32)), whole


def _kept_inside(position: Int64s, whole: Bools) -> Int64s:
    """Positions to read at; without a record, one within the buffer."""
    return position if whole.all() else np.where(whole, position, 2)


def _v6_bytes(sys_flag: npt.NDArray[Any]) -> Int64s | int:
    """Bytes that hosts add to heads with IPv4 hosts; 0 if no head is longer."""
    if not (sys_flag & HOST_V6_MASK).any():
        return 0
    both: Int64s = ((sys_flag & BORN_HOST_V6) != 0).astype(np.int64) + ((sys_flag & STORE_HOST_V6) != 0)
    return both * V6_EXTRA_BYTES


def _set_right(data: Bytes, position: Int64s, extra: Int64s, head: npt.NDArray[Any]) -> None:
    """Correct the fields after longer hosts; fields of a position without a record stay in the buffer, with any value."""
    rows = np.flatnonzero(extra)
    where, last = position[rows], len(data)
    born_extra = np.where(head["sys_flag"][rows] & BORN_HOST_V6, V6_EXTRA_BYTES, 0)
    stored = np.minimum(where + STORE_TIMESTAMP_POSITION_V4 + born_extra, last - 8)
    head["store_ms"][rows] = at_every_byte(data, ">i8")[stored]
    behind = np.minimum(where + HEAD_BYTES[0] + extra[rows] - _TAIL.itemsize, last - _TAIL.itemsize)
    tail = at_every_byte(data, _TAIL)[behind]
    for name in tail.dtype.names:
        head[name][rows] = tail[name]

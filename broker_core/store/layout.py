"""Commit log files as numpy columns: for readers that want millions of records, not one.

Works on bytes and file names alone; knows neither the engine nor a lock, so that a report can read a store to which a
broker is writing. It never writes.

A record is recognised by its magic code together with PHYSICALOFFSET, which must name its own position, and by lengths that
add up to TOTALSIZE. Candidates are found by a vectorised search for the magic code instead of following the chain of
sizes, which numpy cannot do; the chain is then checked. This way reading also goes on behind a damaged place.

Source: store specification §1.2, §2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from broker_core.message.record import (
    FILLER,
    FIXED_BYTES,
    HEAD_BYTES,
    MAGIC_BLANK,
    MAGIC_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_POSITION,
    STORE_TIMESTAMP_POSITION_V4,
    V6_EXTRA_BYTES,
)
from broker_core.message.sys_flag import BORN_HOST_V6, HOST_V6_MASK, STORE_HOST_V6
from broker_core.store.file_map import map_file as map_file  # noqa: PLC0414  readers outside enter here
from broker_core.store.log_places import LogPlaces
from broker_core.store.paths import StorePaths

Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_CHUNK_BYTES = 1 << 20
"""Searched at a time: comparison and result stay in the processor's cache."""

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


_NO_RECORD = np.zeros(HEAD_BYTES[0], dtype=np.uint8)
"""Stands for a buffer that is too short for a head, where there is none to be read."""
_MAGIC_FIRST_BYTE = MAGIC_V1 >> 24 & 0xFF


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a commit log file where no record could be read."""

    position: int
    """In the file."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHeads:
    """Heads of consecutive records; all arrays have one entry a record, positions count from the start of the buffer."""

    position: Int64s
    size: Int32s
    body_crc: Int32s
    queue_id: Int32s
    flag: Int32s
    queue_offset: Int64s
    physical_offset: Int64s
    sys_flag: Int32s
    born_ms: Int64s
    store_ms: Int64s
    reconsume: Int32s
    prepared_offset: Int64s
    body_position: Int64s
    body_bytes: Int32s
    topic_position: Int64s
    topic_bytes: Int32s
    properties_position: Int64s
    properties_bytes: Int32s
    end: int
    """Position behind the last record; the filler and unused bytes lie behind it."""
    ended_by_filler: bool
    """The file is complete: a filler follows the last record."""
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.position)

    def part(self, first: int, last: int) -> RecordHeads:
        """Rows from ``first`` to ``last``; the rest of the file is out of view."""
        if not first and last == len(self):
            return self
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        columns: dict[str, Any] = {name: value[first:last] for name, value in values.items() if isinstance(value, np.ndarray)}
        end = int(self.position[last - 1] + self.size[last - 1]) if last > first else 0
        return RecordHeads(**columns, end=end, ended_by_filler=False)

    def without(self, rows: Int64s) -> RecordHeads:
        """The same heads but for some rows; ``end`` and ``damage`` stay."""
        kept = np.delete(np.arange(len(self)), rows)
        values: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        columns = {name: value[kept] for name, value in values.items() if isinstance(value, np.ndarray)}
        return RecordHeads(**(values | columns))


def commit_log_files(root: Path, directories: Sequence[Path] = ()) -> list[tuple[Path, int]]:
    """Commit log files of a store, by ascending base offset: path, base offset.

    Args:
        root: Store directory.
        directories: All directories of its commit log; by default the one in ``root``.

    Raises:
        CorruptStoreError: A file lies in two directories.
    """
    return LogPlaces(directories or [StorePaths(root).commit_log]).files()


def scan_records(buffer: Any, base_offset: int, start: int, end: int) -> RecordHeads:  # noqa: ANN401  mmap has no type
    """Heads of all records in a part of one commit log file.

    Args:
        buffer: The file, as mmap or bytes.
        base_offset: Physical offset of the buffer's first byte.
        start: Position of a record in the buffer; 0 for the whole file.
        end: Where to stop. For a file that is being written: its consistent end, or the file's length (unused bytes are zero
            and end the scan).

    Returns:
        Records that start at or after ``start`` and end at or before ``end``.
    """
    data: npt.NDArray[np.uint8] = np.frombuffer(buffer, dtype=np.uint8)[:end]
    stop = len(data) - FIXED_BYTES + 1
    taken = _Taken(_columns(data, np.empty(0, dtype=np.int64)))
    for chunk in range(start, stop, _CHUNK_BYTES):
        found = _columns(data, _candidates(data, base_offset, chunk, min(chunk + _CHUNK_BYTES, stop)))
        taken.add(found, share=min(1.0, _CHUNK_BYTES / (stop - chunk)))
    columns = taken.columns()
    inner = _overlapping(columns["position"], columns["size"])
    if len(inner):
        columns = {name: np.delete(column, inner) for name, column in columns.items()}
    return _with_ends(data, columns, start)


class _Taken:
    """Columns that grow chunk by chunk, in memory that is taken once where all chunks are alike.

    New memory is what costs most here: keeping the chunks to join them in the end takes half as long again as everything else.
    """

    def __init__(self, none: dict[str, npt.NDArray[Any]]) -> None:
        self._columns = none
        self._count = self._room = 0

    def add(self, found: dict[str, npt.NDArray[Any]], *, share: float) -> None:
        """Add rows; ``share`` is how much of what is still to come they are."""
        start, end = self._count, self._count + len(found["position"])
        if end > self._room:
            self._room = start + int((end - start) / share * 1.02)
            self._columns = {name: _with_room(column[:start], self._room) for name, column in self._columns.items()}
        for name, column in found.items():
            self._columns[name][start:end] = column
        self._count = end

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """All rows."""
        return {name: column[: self._count] for name, column in self._columns.items()}


def _with_room(column: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    larger = np.empty(room, dtype=column.dtype)
    larger[: len(column)] = column
    return larger


def records_at(buffer: Any, base_offset: int, positions: Int64s) -> RecordHeads:  # noqa: ANN401  mmap has no type
    """Heads of the records at given positions of one commit log file; where there is none, that position is left out.

    Args:
        buffer: The file, as mmap or bytes.
        base_offset: Physical offset of the buffer's first byte.
        positions: Where records are said to start, ascending.

    Returns:
        Records in the order of their positions. There may be others between them, so no damage is named.
    """
    data: Bytes = np.frombuffer(buffer, dtype=np.uint8)
    positions = positions[(positions >= 0) & (positions <= len(data) - FIXED_BYTES)]
    magic = at_every_byte(data, ">i4")[positions + MAGIC_POSITION]
    found: npt.NDArray[np.bool_] = (magic == MAGIC_V1) | (magic == MAGIC_V2)
    found &= at_every_byte(data, ">i8")[positions + PHYSICAL_OFFSET_POSITION] == positions + base_offset
    columns: dict[str, Any] = dict(_columns(data, positions[found]))
    position, size = columns["position"], columns["size"]
    return RecordHeads(**columns, end=int(position[-1] + size[-1]) if len(position) else 0, ended_by_filler=False)


def at_every_byte(data: Bytes, dtype: str | np.dtype[Any]) -> npt.NDArray[Any]:
    """Every position of a buffer seen as the start of one item: a view with a stride of one byte."""
    item = np.dtype(dtype)
    count = max(0, len(data) - item.itemsize + 1)
    return np.ndarray((count,), dtype=item, buffer=data, strides=(1,))


def _candidates(data: Bytes, base_offset: int, start: int, stop: int) -> Int64s:
    """Positions from ``start`` to ``stop`` whose magic code and PHYSICALOFFSET are those of a record.

    Every byte is compared: following many chains of sizes at a time instead is slower, for the jumps miss the caches.
    """
    positions: Int64s = np.flatnonzero(data[start + MAGIC_POSITION : stop + MAGIC_POSITION] == _MAGIC_FIRST_BYTE)
    positions += start
    magic = at_every_byte(data, ">i4")[positions + MAGIC_POSITION]
    positions = positions[(magic == MAGIC_V1) | (magic == MAGIC_V2)]
    found: npt.NDArray[np.bool_] = at_every_byte(data, ">i8")[positions + PHYSICAL_OFFSET_POSITION] == positions + base_offset
    return positions[found]


def _columns(data: npt.NDArray[np.uint8], position: Int64s) -> dict[str, npt.NDArray[Any]]:
    """All columns, for those candidates whose parts lie in the buffer and add up to TOTALSIZE."""
    end = len(data)
    if not len(position):
        data, end = _NO_RECORD, len(_NO_RECORD)
    # Copied as bytes without meaning, then seen as fields: 6 ns a head; a copy field by field takes 90.
    head = tail = at_every_byte(data, _HEAD_BYTES_V4)[position].view(_HEAD_V4)
    sys_flag = head["sys_flag"].astype(np.int32)
    store_ms = head["store_ms"]
    body_position = position + HEAD_BYTES[0]
    if (sys_flag & HOST_V6_MASK).any():
        born_extra = np.where(sys_flag & BORN_HOST_V6, V6_EXTRA_BYTES, 0)
        store_ms = at_every_byte(data, ">i8")[np.minimum(position + STORE_TIMESTAMP_POSITION_V4 + born_extra, end - 8)]
        body_position += born_extra + np.where(sys_flag & STORE_HOST_V6, V6_EXTRA_BYTES, 0)
        tail = at_every_byte(data, _TAIL)[np.minimum(body_position - _TAIL.itemsize, end - _TAIL.itemsize)]
    record_end = position + head["size"]
    body_bytes = tail["body_bytes"].astype(np.int64)
    after_body = body_position + body_bytes
    whole = (body_bytes >= 0) & (record_end <= end) & (after_body + 3 <= record_end)
    after_body = np.where(whole, after_body, 0)  # so that the next reads stay in the buffer
    topic_bytes = data[after_body].astype(np.int64)
    topic_position = after_body + 1
    wide = head["magic"] == MAGIC_V2
    if wide.any():
        topic_bytes = np.where(wide, at_every_byte(data, ">i2")[after_body], topic_bytes)
        topic_position += wide
    properties_position = topic_position + topic_bytes + 2
    whole &= (topic_bytes > 0) & (properties_position <= record_end)
    properties_bytes = at_every_byte(data, ">i2")[np.where(whole, properties_position - 2, 0)].astype(np.int64)
    whole &= (properties_bytes >= 0) & (properties_position + properties_bytes == record_end)
    columns: dict[str, npt.NDArray[Any]] = {
        "position": position,
        "size": head["size"].astype(np.int32),
        "body_crc": head["body_crc"].astype(np.int32),
        "queue_id": head["queue_id"].astype(np.int32),
        "flag": head["flag"].astype(np.int32),
        "queue_offset": head["queue_offset"].astype(np.int64),
        "physical_offset": head["physical_offset"].astype(np.int64),
        "sys_flag": sys_flag,
        "born_ms": head["born_ms"].astype(np.int64),
        "store_ms": store_ms.astype(np.int64),
        "reconsume": tail["reconsume"].astype(np.int32),
        "prepared_offset": tail["prepared_offset"].astype(np.int64),
        "body_position": body_position,
        "body_bytes": body_bytes.astype(np.int32),
        "topic_position": topic_position,
        "topic_bytes": topic_bytes.astype(np.int32),
        "properties_position": properties_position,
        "properties_bytes": properties_bytes.astype(np.int32),
    }
    return columns if whole.all() else {name: column[whole] for name, column in columns.items()}


def _overlapping(position: Int64s, size: Int32s) -> list[int]:
    """Indexes of records that lie inside another (a body may hold the bytes of a record)."""
    ends = position + size
    inner: list[int] = []
    reached = -1
    if len(position) and (ends[:-1] > position[1:]).any():
        for index in range(len(position)):
            if position[index] < reached:
                inner.append(index)
            else:
                reached = int(ends[index])
    return inner


def _with_ends(data: npt.NDArray[np.uint8], columns: dict[str, npt.NDArray[Any]], start: int) -> RecordHeads:
    position, size = columns["position"], columns["size"]
    end = int(position[-1] + size[-1]) if len(position) else start
    filler, damage = _gaps(data, position, size, start, end)
    return RecordHeads(**columns, end=end, ended_by_filler=filler, damage=damage)


def _gaps(data: npt.NDArray[np.uint8], position: Int64s, size: Int32s, start: int, end: int) -> tuple[bool, list[Damage]]:
    """Whether a filler ends the records, and the places before and between them that hold none."""
    ends = np.concatenate((np.array([start], dtype=np.int64), position + size))
    starts = np.concatenate((position, np.array([end], dtype=np.int64)))
    damage = [
        Damage(int(ends[index]), f"{starts[index] - ends[index]} bytes hold no readable record")
        for index in np.flatnonzero(starts > ends)
    ]
    if end + FILLER.size > len(data):
        return False, damage
    total, magic = FILLER.unpack(data[end : end + FILLER.size].tobytes())
    if magic == MAGIC_BLANK:
        return True, damage
    if total or magic:
        damage.append(Damage(end, f"neither a record nor a filler (size {total}, magic code {magic & 0xFFFFFFFF:08x})"))
    return False, damage

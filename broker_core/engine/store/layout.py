"""Commit log files as numpy columns, for readers of millions of records.

Works on bytes and file names alone, without the engine or a lock, so that a report can read the store of a running broker.
It never writes.

A record is recognised by its magic code, its PHYSICALOFFSET, which must name its own position, and lengths that add up to
TOTALSIZE. The chain of sizes gives the expected positions of records, and each record is checked
(`broker_core.engine.store.record_chain`, `broker_core.engine.store.record_heads`). After a broken place in the chain the next
record is found by its magic code, so that reading continues after damage.

Source: docs/spec/store.md §1.2, §2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from broker_core.engine.store.file_map import map_file as map_file  # noqa: PLC0414  readers outside enter here
from broker_core.engine.store.log_places import LogPlaces
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.record_chain import follow, next_start, one_by_one
from broker_core.engine.store.record_heads import Bools as Bools  # noqa: PLC0414  likewise
from broker_core.engine.store.record_heads import Bytes as Bytes  # noqa: PLC0414  likewise
from broker_core.engine.store.record_heads import Damage, HeadRows, read_rows
from broker_core.engine.store.record_heads import Int32s as Int32s  # noqa: PLC0414  likewise
from broker_core.engine.store.record_heads import Int64s as Int64s  # noqa: PLC0414  likewise
from broker_core.engine.store.record_heads import RecordHeads as RecordHeads  # noqa: PLC0414  likewise
from broker_core.engine.store.record_heads import at_every_byte as at_every_byte  # noqa: PLC0414  likewise
from broker_core.protocol.message.record import FILLER, FIXED_BYTES, MAGIC_BLANK

_PIECE_BYTES = 8 << 20
"""Bytes read at a time."""
_PIECE_BYTES_BEHIND_DAMAGE = 64 << 10
"""The same after a broken place, because another may be near."""


def commit_log_files(root: Path, directories: Sequence[Path] = ()) -> list[tuple[Path, int]]:
    """Path and base offset of a store's commit log files, by ascending base offset.

    ``directories`` are all directories of its commit log; by default the one in ``root``.

    Raises:
        CorruptStoreError: A file lies in two directories.
    """
    return LogPlaces(directories or [StorePaths(root).commit_log]).files()


def scan_records(buffer: Any, base_offset: int, start: int, end: int) -> RecordHeads:  # noqa: ANN401  mmap has no type
    """Heads of all records that start at or after ``start`` and end at or before ``end`` in one commit log file.

    Args:
        buffer: The file, as mmap or bytes.
        base_offset: Physical offset of the buffer's first byte.
        start: Position of a record in the buffer; 0 for the whole file.
        end: Position at which to stop. For a file that is being written: its consistent end, or the file's length (unused bytes
            are zero and end the scan).
    """
    data: Bytes = np.frombuffer(buffer, dtype=np.uint8)[:end]
    taken, damage = _Taken(), []
    position, reach = start, _PIECE_BYTES
    while position <= len(data) - FIXED_BYTES:
        rows = _unbroken(data, base_offset, position, position + reach)
        if len(rows.position):
            reached = int(rows.position[-1]) + int(rows.field("size")[-1])
            taken.add(rows, share=(reached - position) / (len(data) - position))
            position = reached
            reach = min(reach * 4, _PIECE_BYTES)
            continue
        following = next_record(data, base_offset, position + 1)
        if following is None:
            break
        damage.append(Damage(position, f"{following - position} bytes hold no readable record"))
        position, reach = following, _PIECE_BYTES_BEHIND_DAMAGE
    is_filled = _look_behind(data, position, damage)
    return RecordHeads(taken.rows(), position, is_filled, damage)


def _unbroken(data: Bytes, base_offset: int, start: int, stop: int) -> HeadRows:
    """Consecutive records from a position on, up to the first that is none."""
    rows, whole = read_rows(data, base_offset, follow(data, base_offset, start, stop), in_a_row=True)
    return rows if whole.all() else rows.of(slice(0, int(whole.argmin())))


def next_record(data: Bytes, base_offset: int, start: int) -> int | None:
    """Position of the first record from ``start`` on that ends within the data; None without one."""
    while (place := next_start(data, base_offset, start)) is not None:
        _, whole = read_rows(data, base_offset, np.array([place], dtype=np.int64))
        if whole[0]:
            return place
        start = place + 1
    return None


def _look_behind(data: Bytes, end: int, damage: list[Damage]) -> bool:
    """Whether a filler ends the records; anything else is damage."""
    if end + FILLER.size > len(data):
        return False
    total, magic = FILLER.unpack(data[end : end + FILLER.size].tobytes())
    if magic == MAGIC_BLANK:
        return True
    if total or magic:
        damage.append(Damage(end, f"neither a record nor a filler (size {total}, magic code {magic & 0xFFFFFFFF:08x})"))
    return False


def answer_records(answer: bytes) -> RecordHeads:
    """Heads of the records in a broker's answer, which follow each other whatever their offsets.

    They end at the first that is no record; ``end`` is less than the answer's length then.
    """
    data: Bytes = np.frombuffer(answer, dtype=np.uint8)
    rows, whole = read_rows(data, None, one_by_one(data, 0, len(data)), in_a_row=True)
    kept = rows if whole.all() else rows.of(slice(0, int(whole.argmin())))
    end = int(kept.position[-1]) + int(kept.field("size")[-1]) if len(kept.position) else 0
    return RecordHeads(kept, end)


class _Taken:
    """Rows that grow piece by piece, in memory allocated once if all pieces are alike.

    Allocation costs most here: keeping the pieces and joining them in the end takes half as long again as everything else.
    """

    def __init__(self) -> None:
        self._rows = HeadRows.empty()
        self._count = 0

    def add(self, found: HeadRows, *, share: float) -> None:
        """Add rows; ``share`` is their part of all rows still to add."""
        start, end = self._count, self._count + len(found.position)
        self._count = end
        if not start:
            self._rows = found
            return
        if end > len(self._rows.position):
            larger = HeadRows.empty(start + int((end - start) / share * 1.02))
            for column, room in zip(self._rows.columns(), larger.columns(), strict=True):
                room[:start] = column[:start]
            self._rows = larger
        for column, room in zip(found.columns(), self._rows.columns(), strict=True):
            room[start:end] = column

    def rows(self) -> HeadRows:
        return self._rows.of(slice(0, self._count))


def records_at(buffer: Any, base_offset: int, positions: Int64s) -> RecordHeads:  # noqa: ANN401  mmap has no type
    """Heads of the records at these positions of one commit log file, without positions that hold none.

    ``base_offset`` is the physical offset of the buffer's first byte. ``positions`` ascend. There may be other records between
    them, so no damage is reported.
    """
    data: Bytes = np.frombuffer(buffer, dtype=np.uint8)
    positions = positions[(positions >= 0) & (positions <= len(data) - FIXED_BYTES)]
    rows, whole = read_rows(data, base_offset, positions)
    found = rows if whole.all() else rows.of(whole)
    end = int(found.position[-1]) + int(found.field("size")[-1]) if len(found.position) else 0
    return RecordHeads(found, end)

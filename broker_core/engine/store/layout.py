"""Commit log files as numpy columns: for readers that want millions of records, not one.

Works on bytes and file names alone; knows neither the engine nor a lock, so that a report can read a store to which a
broker is writing. It never writes.

A record is recognised by its magic code together with PHYSICALOFFSET, which must name its own position, and by lengths that
add up to TOTALSIZE. The chain of sizes says where records are to be expected, and each is checked
(`broker_core.engine.store.record_chain`, `broker_core.engine.store.record_heads`). Where the chain is broken, the next
record is looked for by its magic code, so that reading goes on behind a damaged place.

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
"""Followed at a time."""
_PIECE_BYTES_BEHIND_DAMAGE = 64 << 10
"""The same behind a broken place, where there may soon be another."""


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
    """Consecutive records from a position on, up to the first place where there is none."""
    rows, whole = read_rows(data, base_offset, follow(data, base_offset, start, stop), in_a_row=True)
    return rows if whole.all() else rows.of(slice(0, int(whole.argmin())))


def next_record(data: Bytes, base_offset: int, start: int) -> int | None:
    """First place from a position on where there is a record that ends with the data or before; None if there is none."""
    while (place := next_start(data, base_offset, start)) is not None:
        _, whole = read_rows(data, base_offset, np.array([place], dtype=np.int64))
        if whole[0]:
            return place
        start = place + 1
    return None


def _look_behind(data: Bytes, end: int, damage: list[Damage]) -> bool:
    """Whether a filler ends the records; if something else does, that is damage."""
    if end + FILLER.size > len(data):
        return False
    total, magic = FILLER.unpack(data[end : end + FILLER.size].tobytes())
    if magic == MAGIC_BLANK:
        return True
    if total or magic:
        damage.append(Damage(end, f"neither a record nor a filler (size {total}, magic code {magic & 0xFFFFFFFF:08x})"))
    return False


def answer_records(answer: bytes) -> RecordHeads:
    """Heads of records as a broker answers with them: one behind the other, wherever they lay in its log.

    Args:
        answer: Bodies of one or several pulls.

    Returns:
        Records up to the first that is none; ``end`` is less than the answer's length then.
    """
    data: Bytes = np.frombuffer(answer, dtype=np.uint8)
    rows, whole = read_rows(data, None, one_by_one(data, 0, len(data)), in_a_row=True)
    kept = rows if whole.all() else rows.of(slice(0, int(whole.argmin())))
    end = int(kept.position[-1]) + int(kept.field("size")[-1]) if len(kept.position) else 0
    return RecordHeads(kept, end)


class _Taken:
    """Rows that grow piece by piece, in memory that is taken once where all pieces are alike.

    New memory is what costs most here: keeping the pieces to join them in the end takes half as long again as everything else.
    """

    def __init__(self) -> None:
        self._rows = HeadRows.empty()
        self._count = 0

    def add(self, found: HeadRows, *, share: float) -> None:
        """Add rows; ``share`` is how much of what is still to come they are."""
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
        """All rows."""
        return self._rows.of(slice(0, self._count))


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
    rows, whole = read_rows(data, base_offset, positions)
    found = rows if whole.all() else rows.of(whole)
    end = int(found.position[-1]) + int(found.field("size")[-1]) if len(found.position) else 0
    return RecordHeads(found, end)

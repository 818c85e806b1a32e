"""Commit log files as columns, for readers of millions of records.

Works on bytes and file names alone, without the engine or a lock, so that a report can read the store of a running broker.
It never writes.

A record is recognised by its magic code, its PHYSICALOFFSET, which must name its own position, and lengths that add up to
TOTALSIZE (`broker_core.native.records`). After a broken place the next record is found by its magic code, so that reading
continues after damage.

Source: docs/spec/store.md §1.2, §2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from broker_core.engine.store.file_map import map_file as map_file  # noqa: PLC0414  readers outside enter here
from broker_core.engine.store.log_places import LogPlaces
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.paths import topic_folders as topic_folders  # noqa: PLC0414  likewise
from broker_core.engine.store.record_heads import Damage, HeadScan, joined
from broker_core.engine.store.record_heads import RecordHeads as RecordHeads  # noqa: PLC0414  likewise
from broker_core.engine.store.record_search import next_record as next_record  # noqa: PLC0414  likewise
from broker_core.native.library import Library, installed
from broker_core.protocol.message.record import FILLER, MAGIC_BLANK


def commit_log_files(root: Path, directories: Sequence[Path] = ()) -> list[tuple[Path, int]]:
    """Path and base offset of a store's commit log files, by ascending base offset.

    ``directories`` are all directories of its commit log; by default the one in ``root``.

    Raises:
        CorruptStoreError: A file lies in two directories.
    """
    return LogPlaces(directories or [StorePaths(root).commit_log]).files()


def scan_records(
    buffer: Any,  # noqa: ANN401  mmap has no type
    base_offset: int,
    start: int,
    end: int,
    library: Library | None = None,
) -> RecordHeads:
    """Heads of all records that start at or after ``start`` and end at or before ``end`` in one commit log file.

    Args:
        buffer: The file, as mmap or bytes.
        base_offset: Physical offset of the buffer's first byte.
        start: Position of a record in the buffer; 0 for the whole file.
        end: Position at which to stop. For a file that is being written: its consistent end, or the file's length (unused bytes
            are zero and end the scan).
        library: The machine code; by default that of this installation.
    """
    data = memoryview(buffer)[:end]
    scan, damage = HeadScan(library or installed()), []
    found = scan.chain(data, base_offset, start, len(data))
    parts, position = [found.columns], found.end
    while (following := next_record(data, base_offset, position + 1)) is not None:
        damage.append(Damage(position, f"{following - position} bytes hold no readable record"))
        found = scan.chain(data, base_offset, following, len(data))
        parts.append(found.columns)
        position = found.end
    is_filled = _look_behind(data, position, damage)
    return RecordHeads(joined(parts), position, is_filled, damage)


def _look_behind(data: memoryview, end: int, damage: list[Damage]) -> bool:
    """Whether a filler ends the records; anything else is damage."""
    if end + FILLER.size > len(data):
        return False
    total, magic = FILLER.unpack_from(data, end)
    if magic == MAGIC_BLANK:
        return True
    if total or magic:
        damage.append(Damage(end, f"neither a record nor a filler (size {total}, magic code {magic & 0xFFFFFFFF:08x})"))
    return False


def answer_records(answer: bytes, library: Library | None = None) -> RecordHeads:
    """Heads of the records in a broker's answer, which follow each other whatever their offsets.

    They end at the first that is no record; ``end`` is less than the answer's length then. ``library`` as of `scan_records`.
    """
    return HeadScan(library or installed()).chain(memoryview(answer), None, 0, len(answer))


def records_at(buffer: Any, base_offset: int, offsets: memoryview) -> RecordHeads:  # noqa: ANN401  mmap has no type
    """Heads of the records at these physical offsets of one commit log file, without offsets where there is none.

    ``base_offset`` is the physical offset of the buffer's first byte. ``offsets`` ascend. There may be other records between
    them, so no damage is reported.
    """
    return HeadScan(installed()).at(memoryview(buffer), base_offset, offsets)

"""Writes to a row of files of one size, named by the offset at which they begin."""

from __future__ import annotations

from pathlib import Path

from broker_core.engine.store.disk import Disk
from broker_core.engine.store.paths import offset_name


def write_in_files(disk: Disk, directory: Path, data: bytes, *, position: int, file_bytes: int, written: set[Path]) -> None:
    """Write ``data`` at byte ``position`` of the row, without a sync; missing files are created.

    ``written`` gets the files that were written to, also if a later one fails.

    Raises:
        OSError: The disk is full or broken.
    """
    rest = memoryview(data)
    while rest:
        base = position - position % file_bytes
        part = rest[: base + file_bytes - position]
        path = directory / offset_name(base)
        descriptor = disk.open_sized(path, file_bytes)
        try:
            disk.write_at(descriptor, part, position - base)
        finally:
            disk.close(descriptor)
        written.add(path)
        position, rest = position + len(part), rest[len(part) :]

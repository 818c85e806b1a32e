"""Records that recovery cuts off the log: copied beside the store, so that none is lost without a trace.

A log ends at the first damaged place. After a crash mostly rubbish follows; but after damage in the middle of good records,
records follow. They are copied to ``orbit.cut/commitlog``, a log of its own: ``orbit store dump DIR/orbit.cut`` shows them.
The next cut replaces it.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.record_search import next_record
from broker_core.platform import files

_WINDOW_BYTES = 16 * 1024 * 1024

_log = logging.getLogger(__name__)


def keep_what_is_cut(log: CommitLog, end: int, place: Path, disk: Disk) -> bool:
    """Copy the log from ``end`` on to the directory ``place`` if there are records in it; returns whether there were.

    The log's ``end`` must still be after all files. ``place`` replaces an older copy.
    """
    if not any(_has_records(log, base, max(end - base, 0), disk) for base in log.bases if base + log.file_bytes > end):
        return False
    try:
        shutil.rmtree(place, ignore_errors=True)
        directory = place / "commitlog"
        directory.mkdir(parents=True)
        for base in log.bases:
            if base + log.file_bytes > end:
                _copy(log, base, max(end - base, 0), directory, disk)
    except OSError as error:
        _log.warning("records behind %d of the commit log are cut off, and cannot be kept: %s", end, error)
        return True
    _log.warning("behind a damaged place at %d the commit log has records; they are cut off and kept in %s", end, place)
    return True


def _has_records(log: CommitLog, base: int, position: int, disk: Disk) -> bool:
    mapped, path = log.map_at(base), log.path(base)
    while mapped is not None and (position := disk.next_data(path, position)) < len(mapped):
        # In a file system in memory a hole that is read through the mapping takes room, and is data from then on.
        hole = disk.next_hole(path, position)
        if next_record(mapped, base, position, hole) is not None:
            return True
        position = hole
    return False


def _copy(log: CommitLog, base: int, position: int, directory: Path, disk: Disk) -> None:
    source = log.path(base)
    size = source.stat().st_size
    descriptor = disk.open_sized(directory / source.name, size)
    try:
        with source.open("rb", buffering=0) as file:
            while (position := disk.next_data(source, position)) < size:
                data = files.read_at(file.fileno(), min(_WINDOW_BYTES, size - position), position)
                disk.write_at(descriptor, data, position)
                position += len(data)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)

"""Finds a topic's records by its consume queues, so that a rare topic is not searched in the whole log.

    a unit of 20 bytes      physical offset i64 | record bytes i32 | tags code i64, all big-endian

A broker writes these files after the log and in its order, so all queues together are complete up to the largest offset in any
of them; later records are read from the log. If anything in the files is inconsistent, the result is None and the whole log is
read. Batch queues and RocksDB queues are not read. Records of a topic that was deleted, or deleted and created again, are still
in the log but in no queue: a read by queues sees what a consumer could.

Source: docs/spec/store.md §4.1 to §4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.layout import topic_folders
from spark_reports.datasource.plan import FileRange

_UNIT = np.dtype([("offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
assert _UNIT.itemsize == 20
_FOLDER = "consumequeue"
_GAP_BYTES = 256 << 10
"""Records with smaller gaps are read together."""
_WORTH_SHARE = 0.5
"""The detour pays only if less than this share of the log remains."""
_LMQ_PREFIX = "%LMQ%"
_FILLING_BYTES = 0x7FFFFFFF
"""Size in units that only fill the place before a queue's first message."""

Places = npt.NDArray[np.int64]


def narrowed(ranges: Sequence[FileRange], root: str, topics: Iterable[str]) -> list[FileRange] | None:
    """The parts of a store's ranges, in order of physical offset, that can hold records of some topics, as stored.

    Damaged ranges are among them; None if the whole must be read.
    """
    folder = Path(root) / _FOLDER
    try:
        known_end = _dispatched_end(folder)
        folders = topic_folders(folder)
        places = [_places(folders[topic]) for topic in topics]
    except (OSError, ValueError, KeyError):  # a topic without a folder may have one later
        return None
    if known_end is None:
        return None
    found = np.concatenate([np.zeros((0, 2), np.int64), *places])
    found = found[np.argsort(found[:, 0], kind="stable")]
    made = [part for whole in ranges for part in _cut(whole, found, known_end)]
    before = sum(part.byte_count for part in ranges)
    return made if sum(part.byte_count for part in made) < before * _WORTH_SHARE else None


def _queues(folder: Path) -> Iterator[list[Path]]:
    """Files of each queue under a topic's folder, oldest first."""
    for queue in sorted(folder.iterdir()):
        files = sorted(path for path in queue.iterdir() if path.name.isdecimal() and len(path.name) == 20)
        if files:
            yield files


def _units(path: Path) -> npt.NDArray[np.void]:
    """Units in use of one file: those before the first empty one."""
    data = np.fromfile(path, dtype=_UNIT)
    if path.stat().st_size % _UNIT.itemsize:
        raise ValueError(f"{path} does not consist of units of {_UNIT.itemsize} bytes")
    used = data["size"] > 0
    count = int(used.argmin()) if not used.all() else len(data)
    if used[count:].any():
        raise ValueError(f"{path} has an empty unit between others")
    units: npt.NDArray[np.void] = data[:count]
    kept: npt.NDArray[np.void] = units[units["size"] != _FILLING_BYTES]
    return kept


def _dispatched_end(folder: Path) -> int | None:
    """End of the last record in any queue; None if there is no queue."""
    ends = []
    for topic in folder.iterdir():
        if topic.name.startswith(_LMQ_PREFIX):
            continue  # a light queue has its units from another topic's record
        for files in _queues(topic):
            for path in reversed(files):
                units = _units(path)
                if len(units):
                    ends.append(int(units["offset"][-1]) + int(units["size"][-1]))
                    break
    return max(ends, default=None)


def _places(folder: Path) -> Places:
    """Offset and size of all records of a topic; none if it has no queue."""
    if not folder.is_dir():
        return np.zeros((0, 2), np.int64)
    parts = [np.zeros((0, 2), np.int64)]
    for files in _queues(folder):
        units = np.concatenate([_units(path) for path in files])
        offsets = units["offset"].astype(np.int64)
        if (np.diff(offsets) <= 0).any() or (offsets < 0).any():
            raise ValueError(f"the offsets of {files[0].parent} do not rise")
        parts.append(np.stack([offsets, units["size"].astype(np.int64)], axis=1))
    return np.concatenate(parts)


def _cut(whole: FileRange, places: Places, known_end: int) -> Iterator[FileRange]:
    """Parts of one range that hold any of the places, and the part after the end of the queues."""
    if whole.damage is not None:
        yield whole
        return
    start, end = whole.base_offset + whole.start, whole.base_offset + whole.end
    first, last = np.searchsorted(places[:, 0], (start, min(end, known_end)))
    begins = places[first:last, 0]
    ends = np.minimum(begins + places[first:last, 1], end)
    if len(begins):
        apart = np.flatnonzero(begins[1:] - ends[:-1] > _GAP_BYTES) + 1
        cuts = np.concatenate(([0], apart, [len(begins)]))
        for one, other in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            yield replace(whole, start=int(begins[one]) - whole.base_offset, end=int(ends[other - 1]) - whole.base_offset)
    if end > known_end:
        yield replace(whole, start=max(start, known_end) - whole.base_offset)

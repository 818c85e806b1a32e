"""The plan of a read of stores: file ranges with a fixed end, cut at record borders.

The end is the last whole record at planning; records appended later are not read, and neither checkpoint nor consume queues are
used. The readers get a plan as text, so that all queries of one report see the same bytes.

Source: docs/spec/store.md §1.2, §1.4, §2.3.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from broker_core.outside import read_json
from broker_core.protocol.message.record import LINK_BYTES
from spark_reports.datasource.chain import (
    becomes_a_record,
    before_torn_body,
    border_behind,
    damage_reason,
    follow,
    is_filler,
    record_behind,
    tail_bytes,
)
from spark_reports.datasource.log_files import CommitLogFile, log_files, mapped
from spark_reports.datasource.segments import outside

SPLIT_BYTES = 32 << 20
"""Bytes of one task: about 100,000 messages of 300 bytes."""
SPLIT_BYTES_MAX = 256 << 20
TASKS_PER_CORE = 8
"""So many tasks keep the cores busy to the end; not more, because each costs Spark and Python 0.09 s of processor time."""
SUM_TASKS_PER_CORE = 2
"""The same for tasks that return only some hundred rows: for them that is half of the work."""
SUM_SPLIT_BYTES_MAX = 1 << 30
"""The same for them: their memory does not grow with the bytes they read."""
WALKED_BYTES_MAX = 4 << 30
"""Larger logs are split at file borders only: following the chain takes the driver about 0.03 s for a million records."""
INCOMPLETE = "incomplete record at the end of the log"
CLEANED = "removed by the broker's cleaning before it was read"


@dataclass(frozen=True, slots=True)
class FileRange:
    """A part of one commit log file.

    Attributes:
        store: Store directory, as given by the user.
        base_offset: Physical offset of the file's first byte.
        start: Position of a record in the file.
        damage: Why the range holds no record; it is counted, not read.
    """

    store: str
    path: str
    base_offset: int
    start: int
    end: int
    damage: str | None = None

    @property
    def byte_count(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """All that a read covers, as groups of ranges: one group for each task.

    ``passed_over`` are the log files wholly outside the time range.
    """

    tasks: tuple[tuple[FileRange, ...], ...] = ()
    files: tuple[str, ...] = field(default=())
    passed_over: tuple[str, ...] = field(default=())

    @property
    def byte_count(self) -> int:
        return sum(part.byte_count for task in self.tasks for part in task)

    def to_json(self) -> str:
        """Text for the ``plan`` option of the data source."""
        return json.dumps({"tasks": [[asdict(part) for part in task] for task in self.tasks], "files": self.files,
                           "passed_over": self.passed_over})  # fmt: skip

    @classmethod
    def from_json(cls, text: str) -> ReadPlan:
        data = read_json(text)
        tasks = tuple(tuple(FileRange(**part) for part in task) for task in data["tasks"])
        return cls(tasks, tuple(data["files"]), tuple(data["passed_over"]))


def plan_read(
    roots: Sequence[str | Path],
    *,
    directories: Sequence[Path] = (),
    split_bytes: int = SPLIT_BYTES,
    cores: int | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
    for_sums: bool = False,
) -> ReadPlan:
    """Plan a read of one or several stores as they are now.

    Args:
        roots: Store directories.
        directories: All directories of the commit log of the only store, see `log_files`.
        split_bytes: Approximate bytes of one task.
        cores: Cores that read; tasks of large logs are larger with fewer of them. None: unknown.
        from_ms: Log files that end before this store time (epoch milliseconds) are passed over; None: none.
        to_ms: Log files that begin at or after this one are passed over.
        for_sums: The reader computes sums, which takes little longer than following a log for its borders: completed files are
            not followed, and tasks are few and large.

    Raises:
        ForeignStoreError: A directory is missing or is no RocketMQ store.
        StorePermissionError: It cannot be read.
        CorruptStoreError: A log file lies in two directories.
    """
    ranges: list[FileRange] = []
    files: list[str] = []
    passed_over: list[str] = []
    by_root = {root: log_files(Path(root), directories) for root in dict.fromkeys(map(str, roots))}
    left_out = {root: outside(found, from_ms, to_ms) for root, found in by_root.items()}
    read = {root: [file for file in found if str(file.path) not in left_out[root]] for root, found in by_root.items()}
    byte_counts = {root: sum(file.size for file in some) for root, some in read.items()}
    if cores is not None:
        written = sum(file.written_bytes for found in read.values() for file in found)
        split_bytes = split_for(written, cores, for_sums=for_sums)
    for root, found in by_root.items():
        passed_over += sorted(left_out[root])
        files += [str(file.path) for file in read[root]]
        how: Callable[[FileRange, int], Iterator[FileRange]] = _walk_full if byte_counts[root] <= WALKED_BYTES_MAX else _unsplit
        if for_sums and found:
            how = partial(_split_unfollowed, origin=found[0].base)
        ranges += _ranges_of(root, found, how, split_bytes=split_bytes, left_out=left_out[root])
        # Borders lie some bytes after the wanted positions.
    return ReadPlan(tuple(grouped(ranges, split_bytes + split_bytes // 8)), tuple(files), tuple(passed_over))


def split_for(byte_count: int, cores: int, *, for_sums: bool = False) -> int:
    """Bytes of one task for a log of this size and so many cores."""
    tasks, largest = (SUM_TASKS_PER_CORE, SUM_SPLIT_BYTES_MAX) if for_sums else (TASKS_PER_CORE, SPLIT_BYTES_MAX)
    return max(SPLIT_BYTES, min(largest, -(-byte_count // (cores * tasks))))


@dataclass(frozen=True, slots=True)
class Continued:
    """The records of a store from a physical offset on.

    Attributes:
        ranges: Ranges to read, in order.
        end: Offset of the next read.
        tail: An incomplete record at the end, which may be complete the next time; None: there is none.
    """

    ranges: tuple[FileRange, ...]
    end: int
    tail: FileRange | None = None


def ranges_from(root: str | Path, start: int, *, directories: Sequence[Path] = (), split_bytes: int = SPLIT_BYTES) -> Continued:
    """The records of a store from a physical offset on, for a repeated reader.

    Records that were deleted before they were read are a damaged range.

    Args:
        root: Store directory.
        start: Physical offset of a record, or of the end of an earlier call.
        directories: See `plan_read`.
        split_bytes: Approximate bytes of one range.
    """
    files = log_files(Path(root), directories)
    ranges: list[FileRange] = []
    if files and files[0].base > start:
        base = files[0].base
        ranges.append(FileRange(str(root), str(files[0].path), start, 0, base - start, damage=CLEANED))
        start = base
    left = [file for file in files if file.base + file.size > start]
    made = list(_ranges_of(str(root), left, _walk_full, split_bytes=split_bytes, first=start))
    tail = made.pop() if made and made[-1].damage == INCOMPLETE else None
    ranges += made
    return Continued(tuple(ranges), max([start, *(part.base_offset + part.end for part in made)]), tail)


def _ranges_of(
    root: str,
    files: Sequence[CommitLogFile],
    split_full: Callable[[FileRange, int], Iterator[FileRange]],
    *,
    split_bytes: int,
    first: int = 0,
    left_out: frozenset[str] = frozenset(),
) -> Iterator[FileRange]:
    last = _last_used(files)
    expected = files[0].base if files else 0
    for index, file in enumerate(files[: last + 1]):
        path, base = str(file.path), file.base
        if base > expected:
            yield FileRange(root, path, expected, 0, base - expected, damage="a log file is missing before this one")
        expected = base + file.size
        if path in left_out:
            continue
        whole = FileRange(root, path, base, max(0, first - base), file.size)
        if index == last:
            yield from _walk_last(whole, split_bytes)
        elif whole.byte_count > split_bytes:
            yield from split_full(whole, split_bytes)
        else:
            yield whole


def _last_used(files: Sequence[CommitLogFile]) -> int:
    """Index of the last file that holds something: a broker creates the next file ahead of need."""
    for index in range(len(files) - 1, 0, -1):
        with files[index].path.open("rb") as file:
            if any(file.read(LINK_BYTES)):
                return index
    return 0 if files else -1


def _walk_full(whole: FileRange, split_bytes: int) -> Iterator[FileRange]:
    """Split a completed file; the part after the first broken place is left to one reader."""
    with mapped(whole.path) as buffer:
        borders, end = follow(buffer, whole.base_offset, whole.start, whole.end, split_bytes)
        complete = end == whole.end or is_filler(buffer, end)
    yield from _between([*borders, end], whole)
    if not complete:
        yield replace(whole, start=end)


def _split_unfollowed(whole: FileRange, split_bytes: int, *, origin: int) -> Iterator[FileRange]:
    """Split a completed file at the first records after the multiples of ``split_bytes`` from the origin of the log on.

    After the filler at its end there can be old records. The last part therefore has at least `SPLIT_BYTES`, which a filler
    never has.
    """
    first = (origin - whole.base_offset) % split_bytes
    with mapped(whole.path) as buffer:
        wanted = range(whole.start + first, whole.end - SPLIT_BYTES, split_bytes)
        found = [border_behind(buffer, whole.base_offset, place) for place in wanted if place > whole.start]
    borders = dict.fromkeys(border for border in found if border is not None)
    yield from _between([whole.start, *borders, whole.end], whole)


def _unsplit(whole: FileRange, _split_bytes: int) -> Iterator[FileRange]:
    yield whole


def _walk_last(whole: FileRange, split_bytes: int) -> Iterator[FileRange]:
    """Split the file that is being written, up to its last whole record."""
    with mapped(whole.path) as buffer:
        position = whole.start
        while True:
            borders, end = follow(buffer, whole.base_offset, position, whole.end, split_bytes)
            end = before_torn_body(buffer, borders, end)
            yield from _between([*borders, end], whole)
            if not tail_bytes(buffer, end) or becomes_a_record(buffer, whole.base_offset, end, whole.end):
                return
            follower = record_behind(buffer, whole.base_offset, borders, end)
            if follower is None:
                break
            yield replace(whole, start=end, end=follower, damage=damage_reason(buffer, end))
            position = follower
        yield replace(whole, start=end, end=end + tail_bytes(buffer, end), damage=INCOMPLETE)


def _between(borders: list[int], whole: FileRange) -> Iterator[FileRange]:
    for start, end in itertools.pairwise(borders):
        if end > start:
            yield replace(whole, start=start, end=end)


def grouped(ranges: Iterable[FileRange], split_bytes: int = SPLIT_BYTES) -> Iterator[tuple[FileRange, ...]]:
    """Merge small ranges, so that a log of many small files does not become as many tasks."""
    group: list[FileRange] = []
    filled = 0
    for part in ranges:
        if group and filled + part.byte_count > split_bytes:
            yield tuple(group)
            group, filled = [], 0
        group.append(part)
        filled += part.byte_count
    if group:
        yield tuple(group)

"""Which bytes of a store a read covers: file ranges with a fixed end, cut at record borders.

The end is the end of the chain of whole records at the moment of planning; what a broker appends later is not read, and
neither checkpoint nor consume queues are asked. A plan travels to the readers as text, so that all queries of one report
see the same bytes.

Source: store specification §1.2, §1.4, §2.3.
"""

from __future__ import annotations

import itertools
import json
import mmap
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from zlib import crc32

from broker_core.errors import ForeignStoreError, StoreError, StorePermissionError
from broker_core.store.layout import commit_log_files, map_file, scan_records
from spark_reports.datasource.segments import outside

SPLIT_BYTES = 32 << 20
"""Bytes one task reads: about 100,000 messages of 300 bytes."""
WALKED_BYTES_MAX = 4 << 30
"""Larger logs are split at file borders only: following the chain costs the driver about 0.3 s for a million records."""
RESYNC_BYTES = 8 << 20
"""How far behind a broken place in the last file the next record is looked for: two of the largest records."""
INCOMPLETE = "incomplete record at the end of the log"
CLEANED = "removed by the broker's cleaning before it was read"
TAIL_LOOKS = 3
TAIL_PAUSE_S = 0.02

_MAGICS = (-626843481, -626843477)
_BLANK_MAGIC = -875286124
_RECORD_BYTES_MIN = 91

# TOTALSIZE i32 | MAGICCODE i32 | BODYCRC, QUEUEID, FLAG, QUEUEOFFSET 20 bytes | PHYSICALOFFSET i64
_LINK = struct.Struct(">ii20xq")
assert _LINK.size == 36
_SIZE_AND_MAGIC = struct.Struct(">ii")


@dataclass(frozen=True, slots=True)
class FileRange:
    """A part of one commit log file.

    Args:
        store: Store directory, as given by the user.
        path: The file.
        base_offset: Physical offset of its first byte.
        start: Position in the file where a record starts.
        end: Position where to stop.
        damage: Set if the range is known to hold no record: why. It is counted, not read.
    """

    store: str
    path: str
    base_offset: int
    start: int
    end: int
    damage: str | None = None

    @property
    def byte_count(self) -> int:
        """Bytes covered."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """All that a read covers, as groups of ranges: one group for each task.

    Args:
        tasks: The ranges.
        files: Log files they are in.
        passed_over: Log files that hold nothing of the time range.
    """

    tasks: tuple[tuple[FileRange, ...], ...] = ()
    files: tuple[str, ...] = field(default=())
    passed_over: tuple[str, ...] = field(default=())

    @property
    def byte_count(self) -> int:
        """Bytes covered by all ranges."""
        return sum(part.byte_count for task in self.tasks for part in task)

    def to_json(self) -> str:
        """Text form, as the data source takes it in its ``plan`` option."""
        return json.dumps({"tasks": [[asdict(part) for part in task] for task in self.tasks], "files": self.files,
                           "passed_over": self.passed_over})  # fmt: skip

    @classmethod
    def from_json(cls, text: str) -> ReadPlan:
        """Inverse of `to_json`."""
        data = json.loads(text)
        tasks = tuple(tuple(FileRange(**part) for part in task) for task in data["tasks"])
        return cls(tasks, tuple(data["files"]), tuple(data["passed_over"]))


def plan_read(
    roots: Sequence[str | Path], *, split_bytes: int = SPLIT_BYTES, from_ms: int | None = None, to_ms: int | None = None
) -> ReadPlan:
    """Plan a read of one or several stores as they are now.

    Args:
        roots: Store directories.
        split_bytes: Bytes of one task, about.
        from_ms: Log files that end before this store time (epoch milliseconds) are passed over; None: none.
        to_ms: So are those that begin at or after this one.

    Raises:
        ForeignStoreError: A directory is missing or is no RocketMQ store.
        StorePermissionError: It cannot be read.
    """
    ranges: list[FileRange] = []
    files: list[str] = []
    passed_over: list[str] = []
    for root in roots:
        found = _files_of(Path(root))
        left_out = outside(found, from_ms, to_ms)
        passed_over += sorted(left_out)
        walk_all = sum(size for path, _, size in found if str(path) not in left_out) <= WALKED_BYTES_MAX
        files += [str(path) for path, _, _ in found if str(path) not in left_out]
        ranges += _ranges_of(str(root), found, walk_all=walk_all, split_bytes=split_bytes, left_out=left_out)
    return ReadPlan(tuple(_grouped(ranges, split_bytes)), tuple(files), tuple(passed_over))


def first_offset(root: str | Path) -> int:
    """Physical offset where the log of a store begins.

    Raises:
        ForeignStoreError, StorePermissionError: As for `plan_read`.
    """
    files = _files_of(Path(root))
    return files[0][1] if files else 0


def ranges_from(root: str | Path, start: int, *, split_bytes: int = SPLIT_BYTES) -> tuple[list[FileRange], int]:
    """What a store holds from a physical offset on, for a reader that comes again.

    Args:
        root: Store directory.
        start: Physical offset of a record, or of the end that an earlier call gave.
        split_bytes: Bytes of one range, about.

    Returns:
        The ranges, and where to go on. A record that is not whole yet is left for the next call; what was cleaned away
        before it was read is a damaged range.

    Raises:
        ForeignStoreError, StorePermissionError: As for `plan_read`.
    """
    files = _files_of(Path(root))
    ranges: list[FileRange] = []
    if files and files[0][1] > start:
        path, base, _ = files[0]
        ranges.append(FileRange(str(root), str(path), start, 0, base - start, damage=CLEANED))
        start = base
    left = [file for file in files if file[1] + file[2] > start]
    made = list(_ranges_of(str(root), left, walk_all=True, split_bytes=split_bytes, first=start))
    if made and made[-1].damage == INCOMPLETE:
        made.pop()
    ranges += made
    return ranges, max([start, *(part.base_offset + part.end for part in made)])


def _files_of(root: Path) -> list[tuple[Path, int, int]]:
    """Path, base offset and size of the log files of one store, oldest first."""
    if not root.is_dir():
        raise ForeignStoreError(f"there is no store at {root}: the directory does not exist. Check the path.", path=str(root))
    try:
        if not (root / "commitlog").is_dir():
            raise ForeignStoreError(
                f"{root} is not a RocketMQ store: it has no folder “commitlog”. "
                "Name the storePathRootDir of a broker, the folder that holds commitlog and consumequeue.",
                path=str(root),
            )
        found = [(path, base, path.stat().st_size) for path, base in commit_log_files(root)]
        for path, _, _ in found[-1:]:
            path.open("rb").close()
    except PermissionError as error:
        raise StorePermissionError(
            f"{error.filename or root} cannot be read by this user. Run the report as the broker's user, "
            "or give this user read access.",
            path=str(root),
        ) from error
    return [(path, base, size) for path, base, size in found if size > 0]


def _ranges_of(
    root: str,
    files: list[tuple[Path, int, int]],
    *,
    walk_all: bool,
    split_bytes: int,
    first: int = 0,
    left_out: frozenset[str] = frozenset(),
) -> Iterator[FileRange]:
    last = _last_used(files)
    expected = files[0][1] if files else 0
    for index, (path, base, size) in enumerate(files[: last + 1]):
        if base > expected:
            yield FileRange(root, str(path), expected, 0, base - expected, damage="a log file is missing before this one")
        expected = base + size
        if str(path) in left_out:
            continue
        whole = FileRange(root, str(path), base, max(0, first - base), size)
        if index == last:
            yield from _walk_last(whole, split_bytes)
        elif walk_all and whole.byte_count > split_bytes:
            yield from _walk_full(whole, split_bytes)
        else:
            yield whole


def _last_used(files: list[tuple[Path, int, int]]) -> int:
    """Index of the last file that holds something: a broker creates the next file ahead of need."""
    for index in range(len(files) - 1, 0, -1):
        with files[index][0].open("rb") as file:
            if any(file.read(_LINK.size)):
                return index
    return 0 if files else -1


def _walk_full(whole: FileRange, split_bytes: int) -> Iterator[FileRange]:
    """Split a completed file; from the first broken place on it is left to one reader."""
    with mapped(whole.path) as buffer:
        borders, end = _follow(buffer, whole.base_offset, whole.start, whole.end, split_bytes)
        complete = end == whole.end or is_filler(buffer, end)
    yield from _between([*borders, end], whole)
    if not complete:
        yield replace(whole, start=end)


def _walk_last(whole: FileRange, split_bytes: int) -> Iterator[FileRange]:
    """Split the file that is being written, up to its last whole record."""
    with mapped(whole.path) as buffer:
        position = whole.start
        while True:
            borders, end = _follow(buffer, whole.base_offset, position, whole.end, split_bytes)
            end = _before_torn_body(buffer, borders, end)
            yield from _between([*borders, end], whole)
            if not _tail_bytes(buffer, end) or _is_being_written(buffer, whole, end):
                return
            follower = _record_behind(buffer, whole.base_offset, position=end, last_start=_last_start(buffer, borders, end))
            if follower is None:
                break
            yield replace(whole, start=end, end=follower, damage=damage_reason(buffer, end))
            position = follower
        yield replace(whole, start=end, end=end + _tail_bytes(buffer, end), damage=INCOMPLETE)


def _between(borders: list[int], whole: FileRange) -> Iterator[FileRange]:
    for start, end in itertools.pairwise(borders):
        if end > start:
            yield replace(whole, start=start, end=end)


def _follow(buffer: mmap.mmap, base_offset: int, start: int, limit: int, split_bytes: int) -> tuple[list[int], int]:
    """Follow the chain of records; return the starts of parts of about ``split_bytes``, and where the chain ends."""
    borders = [start]
    next_border = start + split_bytes
    position, last = start, limit - _LINK.size
    unpack = _LINK.unpack_from
    while position <= last:
        size, magic, own_offset = unpack(buffer, position)
        if magic not in _MAGICS or own_offset != base_offset + position or size < _RECORD_BYTES_MIN or position + size > limit:
            break
        if position >= next_border:
            borders.append(position)
            next_border = position + split_bytes
        position += size
    return borders, position


def _last_start(buffer: mmap.mmap, borders: list[int], end: int) -> int | None:
    """Start of the last record of a followed chain before ``end``, None for an empty chain."""
    position = max((border for border in borders if border < end), default=None)
    if position is None:
        return None
    while True:
        (size,) = struct.unpack_from(">i", buffer, position)
        if position + size >= end:
            return position
        position += size


def _before_torn_body(buffer: mmap.mmap, borders: list[int], end: int) -> int:
    """``end``, or the start of the last record if its parts or its body are not whole (yet)."""
    start = _last_start(buffer, borders, end)
    if start is None:
        return end
    base_offset = struct.unpack_from(">q", buffer, start + 28)[0] - start
    heads = scan_records(buffer, base_offset, start, end)
    if len(heads) != 1:
        return start
    body_start = int(heads.body_position[0])
    body = buffer[body_start : body_start + int(heads.body_bytes[0])]
    return end if not body or crc32(body) & 0x7FFFFFFF == int(heads.body_crc[0]) else start


def _record_behind(buffer: mmap.mmap, base_offset: int, *, position: int, last_start: int | None) -> int | None:
    """Where the log goes on behind a broken place of the last file, None if it ends there.

    Records behind it count only if they were stored after the one before it: a log that was cut by recovery and written
    again can have whole old records behind its end.
    """
    if position + _SIZE_AND_MAGIC.size > len(buffer):
        return None
    size, magic = _SIZE_AND_MAGIC.unpack_from(buffer, position)
    if magic == _BLANK_MAGIC or not (size or magic):
        return None
    window = scan_records(buffer, base_offset, position + 1, min(len(buffer), position + RESYNC_BYTES))
    if not len(window):
        return None
    if last_start is not None:
        before = scan_records(buffer, base_offset, last_start, position)
        if len(before) and int(before.store_ms[-1]) > int(window.store_ms[0]):
            return None
    return int(window.position[0])


def _is_being_written(buffer: mmap.mmap, whole: FileRange, end: int) -> bool:
    """Whether the bytes behind the end become a whole record within a moment: a broker was seen in the middle of a put."""
    for _ in range(TAIL_LOOKS):
        time.sleep(TAIL_PAUSE_S)  # a put under way takes microseconds; what is still incomplete then is torn
        if is_filler(buffer, end):
            return True
        _, now = _follow(buffer, whole.base_offset, end, whole.end, whole.end)
        if now > end and _before_torn_body(buffer, [end], _first_end(buffer, end)) > end:
            return True
    return False


def _first_end(buffer: mmap.mmap, start: int) -> int:
    size: int = struct.unpack_from(">i", buffer, start)[0]
    return start + size


def _tail_bytes(buffer: mmap.mmap, end: int) -> int:
    """Bytes behind the end up to the last one that is not zero, looking one largest record ahead."""
    if end + _SIZE_AND_MAGIC.size > len(buffer):
        return 0
    if _SIZE_AND_MAGIC.unpack_from(buffer, end)[1] == _BLANK_MAGIC:
        return 0
    return len(buffer[end : end + RESYNC_BYTES // 2].rstrip(b"\0"))


def damage_reason(buffer: mmap.mmap, position: int) -> str:
    """Why no record could be read at a position, in words."""
    if position + _SIZE_AND_MAGIC.size > len(buffer):
        return "too few bytes for a record"
    size, magic = _SIZE_AND_MAGIC.unpack_from(buffer, position)
    if not size and not magic:
        return "zeros where a record should be"
    if magic not in _MAGICS:
        return "no magic code of a record"
    return "record whose lengths or own offset do not fit"


def is_filler(buffer: mmap.mmap, position: int) -> bool:
    """Whether an end-of-file filler stands at a position."""
    if position + _SIZE_AND_MAGIC.size > len(buffer):
        return False
    size, magic = _SIZE_AND_MAGIC.unpack_from(buffer, position)
    return bool(magic == _BLANK_MAGIC and size == len(buffer) - position)


def mapped(path: str) -> mmap.mmap:
    """The file as read-only memory."""
    try:
        return map_file(Path(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"{path} could not be read: {error.strerror}. Check the disk and the permissions.", path=path
        ) from error


def _grouped(ranges: Iterable[FileRange], split_bytes: int) -> Iterator[tuple[FileRange, ...]]:
    """Put small ranges together, so that a log of many small files does not become as many tasks."""
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

"""Records that lie far back in the log: are they in memory, and if not, bring them there.

A slice of a mapping that is not in memory makes whoever touches it wait for the disk, with the interpreter held: every other
thread waits, too. So far back records are first looked for with a read that does not wait, and where they are missing read by a
thread that may wait, some further ones with them.

Where the system has no such read, records count as in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from broker_core.store.commit_log import CommitLog
from broker_core.store.results import Place

AHEAD_BYTES = 4 * 1024 * 1024
"""Read behind far back records before a consumer that catches up gets there."""

_PIECE_BYTES = 256 * 1024
_GAP_BYTES = 64 * 1024
_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)


def joined(places: Iterable[Place], file_bytes: int) -> Iterator[Place]:
    """The same bytes with neighbours of one file as one, and with what lies between near ones.

    Records of one queue mostly lie a few others apart: asking for each by itself took longer than all else of a pull.
    """
    start = end = -1
    for offset, size in places:
        is_near = 0 <= end <= offset <= end + _GAP_BYTES and offset // file_bytes == start // file_bytes
        if not is_near:
            if end > start:
                yield Place(start, end - start)
            start = offset
        end = offset + size
    if end > start:
        yield Place(start, end - start)


def is_in_memory(log: CommitLog, places: Iterable[Place]) -> bool:
    """Whether reading these bytes would wait for nothing; bytes that cannot be asked for count so, too.

    Ends are looked at, for the system brings bytes to memory in long pieces, in order.
    """
    ends = ((place.physical_offset, place.physical_offset + place.size - 1) for place in joined(places, log.file_bytes))
    return all(_has(log, offset) for both in ends for offset in both)


def is_place_in_memory(log: CommitLog, physical_offset: int) -> bool:
    """Whether one byte can be read without waiting."""
    return _has(log, physical_offset)


def is_ahead_in_memory(log: CommitLog, places: Sequence[Place]) -> bool:
    """Whether there is enough in memory behind the last of these bytes; so, too, where the file ends before."""
    last = places[-1]
    offset = last.physical_offset + last.size + AHEAD_BYTES // 2
    is_in_file = offset // log.file_bytes == last.physical_offset // log.file_bytes and offset < log.end
    return not is_in_file or _has(log, offset)


def _has(log: CommitLog, offset: int) -> bool:
    if _NO_WAIT is None:
        return True
    position = offset % log.file_bytes
    try:
        with _opened(log, offset - position) as descriptor:
            return os.preadv(descriptor, [bytearray(1)], position, _NO_WAIT) == 1
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without such reads, or a file that was deleted meanwhile


def bring_to_memory(log: CommitLog, places: Sequence[Place]) -> None:
    """Read these bytes from the disk. Waits; for a thread that may.

    Raises:
        OSError: The disk is broken, or the file was deleted.
    """
    read_ahead(log, places)
    scratch = memoryview(bytearray(_PIECE_BYTES))
    for place in joined(places, log.file_bytes):
        position = place.physical_offset % log.file_bytes
        end = position + place.size
        with _opened(log, place.physical_offset - position) as descriptor:
            while position < end and (read := os.preadv(descriptor, [scratch[: end - position]], position)):
                position += read


def read_ahead(log: CommitLog, places: Sequence[Place]) -> None:
    """Have the system bring what lies behind the last of these bytes to memory; may wait a little.

    Raises:
        OSError: The file was deleted.
    """
    last = places[-1]
    position = last.physical_offset % log.file_bytes
    with _opened(log, last.physical_offset - position) as descriptor:
        os.posix_fadvise(descriptor, position, AHEAD_BYTES, os.POSIX_FADV_WILLNEED)


@contextmanager
def _opened(log: CommitLog, base: int) -> Iterator[int]:
    descriptor = os.open(log.path(base), os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

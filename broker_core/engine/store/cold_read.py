"""Checks whether old records of the log are in memory, and reads them into memory.

A thread that touches a page of a mapping that is not in memory waits for the disk and holds the interpreter, so all threads
wait. The system is therefore asked about old records first (mincore); a thread that may wait reads those that are missing, and
some after them. Where the system does not tell, records count as in memory.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.results import LogPlace
from broker_core.native.addresses import address
from broker_core.native.pull_columns import PIECE_BYTES, SEEN_PIECES
from broker_core.platform import files, page_cache

AHEAD_BYTES = 4 * 1024 * 1024
"""Bytes read ahead for a consumer that catches up."""

KNOWN_MS = 1000
"""Time for which a piece found in memory counts as still there."""

KNOWN_PIECES_MAX = SEEN_PIECES
"""Bound on the pieces kept in `ResidentPieces`."""

_PIECE_BYTES = 256 * 1024
_GAP_BYTES = 64 * 1024


def joined(places: Iterable[LogPlace], file_bytes: int) -> Iterator[LogPlace]:
    """The places of one file, those at most 64 KiB apart joined with the bytes between them.

    Records of one queue mostly lie a few others apart: a read for each of them took longer than the rest of a pull.
    """
    start = end = -1
    for offset, size in places:
        is_near = 0 <= end <= offset <= end + _GAP_BYTES and offset // file_bytes == start // file_bytes
        if not is_near:
            if end > start:
                yield LogPlace(start, end - start)
            start = offset
        end = offset + size
    if end > start:
        yield LogPlace(start, end - start)


def is_in_memory(log: CommitLog, places: Sequence[LogPlace]) -> bool:
    """Whether a read of these bytes would not wait; true also if that cannot be found out."""
    return all(are_in_memory(log, *place) for place in joined(places, log.file_bytes))


def is_ahead_in_memory(log: CommitLog, places: Sequence[LogPlace]) -> bool:
    """Whether enough bytes after these are in memory, up to the end of the file."""
    last = places[-1]
    offset = last.physical_offset + last.size + AHEAD_BYTES // 2
    is_in_file = offset // log.file_bytes == last.physical_offset // log.file_bytes and offset < log.end
    return not is_in_file or are_in_memory(log, offset, 1)


def are_in_memory(log: CommitLog, physical: int, size: int) -> bool:
    """Whether bytes of one file, from a physical offset on, can be read without waiting; true also if unknown."""
    base = physical - physical % log.file_bytes
    mapped = log.map_at(base)
    if mapped is None:
        return True  # a file that was deleted meanwhile
    return page_cache.is_resident(address(mapped) + physical - base, size)


def bring_to_memory(log: CommitLog, places: Sequence[LogPlace]) -> None:
    """Read these bytes from the disk, on a thread that may wait.

    Raises:
        OSError: The disk is broken, or the file was deleted.
    """
    read_ahead(log, places)
    scratch = memoryview(bytearray(_PIECE_BYTES))
    for place in joined(places, log.file_bytes):
        position = place.physical_offset % log.file_bytes
        end = position + place.size
        with _opened(log, place.physical_offset - position) as descriptor:
            while position < end and (read := files.read_into(descriptor, scratch[: end - position], position)):
                position += read


def read_ahead(log: CommitLog, places: Sequence[LogPlace]) -> None:
    """Have the system read the bytes after the last of these into memory; may wait a little.

    Raises:
        OSError: The file was deleted.
    """
    last = places[-1]
    position = last.physical_offset % log.file_bytes
    with _opened(log, last.physical_offset - position) as descriptor:
        page_cache.read_ahead(descriptor, position, AHEAD_BYTES)


@contextmanager
def _opened(log: CommitLog, base: int) -> Iterator[int]:
    descriptor = files.open_to_read(log.path(base))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class ResidentPieces:
    """Keeps for a moment which pieces of the log were found in memory. For any thread.

    A read for each pull took a third of its time. If the system drops a piece within that moment, one pull waits for the disk.

    Attributes:
        seen: Rows of a piece and the time in milliseconds until which it counts as in memory, by piece modulo their number.
            Machine code reads them.
    """

    def __init__(self, log: CommitLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self.seen = memoryview(array("q", bytes(2 * 8 * KNOWN_PIECES_MAX)))
        self._ahead_until: dict[int, int] = {}

    def now_ms(self) -> int:
        """The time that `seen` counts in."""
        return int(self._clock() * 1000)

    def has(self, start: int, end: int) -> bool:
        """Whether these bytes of one file can be read without waiting."""
        now, seen = self.now_ms(), self.seen
        for piece in range(start // PIECE_BYTES, (end - 1) // PIECE_BYTES + 1):
            row = 2 * (piece % KNOWN_PIECES_MAX)
            if seen[row] != piece or seen[row + 1] <= now:
                if not self._look(piece, start):
                    return False
                seen[row], seen[row + 1] = piece, now + KNOWN_MS
        return True

    def lacks_ahead(self, end: int) -> bool:
        """Whether the bytes after ``end`` must be read ahead; checked once a piece."""
        now = self.now_ms()
        piece = end // PIECE_BYTES
        if self._ahead_until.get(piece, now) > now:
            return False
        if len(self._ahead_until) >= KNOWN_PIECES_MAX:
            self._ahead_until.clear()
        self._ahead_until[piece] = now + KNOWN_MS
        return not is_ahead_in_memory(self._log, [LogPlace(end - 1, 1)])

    def _look(self, piece: int, start: int) -> bool:
        """Ask about the part of a piece that lies in the file of ``start``, before the log's end."""
        log = self._log
        base = start - start % log.file_bytes
        first = max(piece * PIECE_BYTES, base)
        end = min((piece + 1) * PIECE_BYTES, base + log.file_bytes, log.end)
        return are_in_memory(log, first, end - first)

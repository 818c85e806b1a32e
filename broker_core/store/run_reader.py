"""Reading many messages of a queue in a row, all of them wanted: what a consumer that catches up does.

Gives the same bytes as `broker_core.store.reading.scan`, in half a microsecond a message instead of two, in the ordinary case:
every unit leads to its record, all in one file of the log and in memory. All else it leaves to `scan`, by giving nothing.

Does not know filters, visibility and statuses; does not mend.

Source: store specification §11.1.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections import OrderedDict
from itertools import accumulate, repeat
from typing import NamedTuple

from broker_core.message.record import MAGIC_V1, MAGIC_V2
from broker_core.store.cold_read import ResidentPieces
from broker_core.store.commit_log import CommitLog
from broker_core.store.consume_queue import UNIT_BYTES, ConsumeQueue
from broker_core.store.reading import NEAR_BYTES, GetLimits
from broker_core.store.results import Place, Run

UNITS_AHEAD = 408
"""Units read at a time from a queue's file (8 KiB): opening it for each pull took 13 µs."""

QUEUES_AHEAD_MAX = 64
"""Queues of which such units are kept (some 4 KiB each)."""

SPAN_BYTES_MAX = 16 * 1024 * 1024
"""Records further apart are no run: whether they are in memory is asked for one by one."""

_IDENTITY = struct.Struct(">ii20xq")
"""TOTALSIZE, MAGICCODE and PHYSICALOFFSET of a record."""
_WORDS = 5
assert array("I").itemsize * _WORDS == UNIT_BYTES
_identity_at = _IDENTITY.unpack_from


class _Units(NamedTuple):
    """Units of one queue from ``start`` on, as long as it has seen no other ``changes``.

    Attributes:
        above: Upper half of the positions of all.
        below: Lower halves.
        sizes: Of the records.
    """

    start: int
    changes: int
    above: int
    below: array[int]
    sizes: array[int]


class RunReader:
    """Reads runs of records.

    Args:
        log: Has the records.
        resident: Knows which parts of it are in memory.
    """

    def __init__(self, log: CommitLog, resident: ResidentPieces) -> None:
        self._log = log
        self._resident = resident
        self._ahead: OrderedDict[ConsumeQueue, _Units] = OrderedDict()

    def units(self, queue: ConsumeQueue, offset: int, count: int) -> _Units | None:
        """Units of a queue from ``offset`` on, or from before it; to be called with the store's lock held."""
        known = self._ahead.get(queue)
        goes_on = False
        if known is not None and known.changes == queue.changes and known.start <= offset:
            known_end = known.start + len(known.sizes)
            if offset + count <= known_end:
                return known
            goes_on = offset <= known_end
        # Only for who reads on, as a consumer does: whoever looks here and there would pay for units that it does not want.
        units = _split(queue, offset, queue.units(offset, max(count, UNITS_AHEAD) if goes_on else count))
        if units is not None:
            self._ahead[queue] = units
            self._ahead.move_to_end(queue)
            if len(self._ahead) > QUEUES_AHEAD_MAX:
                self._ahead.popitem(last=False)
        return units

    def read(self, queue: ConsumeQueue, units: _Units, offset: int, limits: GetLimits) -> Run | None:
        """The records of units that `units` gave; None where this is not the ordinary case."""
        count_max, bytes_max = limits.in_memory
        first_unit = offset - units.start
        sizes = units.sizes[first_unit : first_unit + count_max].tolist()
        total_bytes = sum(sizes)
        while total_bytes > bytes_max and len(sizes) > 1:
            total_bytes -= sizes.pop()
        count = len(sizes)
        above = units.above
        positions = [above + below for below in units.below[first_unit : first_unit + count]]
        start, last = min(positions), positions[-1]
        end, base = last + sizes[-1], start - start % self._log.file_bytes
        mapped = self._mapped(start, end, limits) if max(positions) == last else None  # the last one bounds what is looked at
        if mapped is None or not _are_records(mapped, base, positions, sizes):
            return None
        if end - start == total_bytes and list(accumulate(sizes[:-1], initial=start)) == positions:
            slices = [mapped[start - base : end - base]]
        else:
            slices = [mapped[position - base : position - base + size] for position, size in zip(positions, sizes, strict=True)]
        return Run(
            slices, count, offset + count, queue.min_offset, queue.max_offset, total_bytes, self._to_read_ahead(start, end)
        )

    def _mapped(self, start: int, end: int, limits: GetLimits) -> memoryview | None:
        """The file that holds these bytes of the log, if one does, and reading there waits for nothing."""
        log = self._log
        log_end, base = log.end, start - start % log.file_bytes
        if start < max(log_end - limits.memory_reach_bytes, 0):
            return None
        if not start < end <= min(log_end, base + log.file_bytes, start + SPAN_BYTES_MAX):
            return None
        if start < log_end - NEAR_BYTES and not self._resident.has(start, end):
            return None
        return log.map_at(base)

    def _to_read_ahead(self, start: int, end: int) -> Place | None:
        is_far_back = start < self._log.end - NEAR_BYTES
        return Place(start, end - start) if is_far_back and self._resident.lacks_ahead(end) else None


def _split(queue: ConsumeQueue, offset: int, data: bytes) -> _Units | None:
    """The columns of units, without a step of Python for each; None for none, or where positions differ in the upper half."""
    if not data:
        return None
    words = array("I", data)
    if sys.byteorder == "little":
        words.byteswap()
    above = words[0::_WORDS]
    if above.count(above[0]) != len(above):
        return None
    return _Units(offset, queue.changes, above[0] << 32, words[1::_WORDS], words[2::_WORDS])


def _are_records(mapped: memoryview, base: int, positions: list[int], sizes: list[int]) -> bool:
    """Whether at each of these positions of the log there is a record of that size, written for that position."""
    try:
        found = list(map(_identity_at, repeat(mapped), [position - base for position in positions]))
    except struct.error:
        return False  # so near to the end of the file there is none
    magic = found[0][1]
    return magic in (MAGIC_V1, MAGIC_V2) and found == list(zip(sizes, repeat(magic), positions))

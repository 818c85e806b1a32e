"""Checks consume queues against the commit log: every record has its unit, and every unit its record.

    first pass    with the windows of the log: the unit at each record's queue offset
    second pass   over the queues: order, holes, and the units that the first pass did not read

Records of a deleted topic stay in the log without units. A topic is deleted with all its queues, so that records before the
first unit that any queue of their topic has belong to a deleted topic of that name. Where no queue of a topic is left, the
queues of the last stop (`orbit.queues`) show whether it was deleted or lost; a store without that file does not show it.

Producers may name further queues in the properties of a message, and whether a broker files it there is its setting. A missing
unit in a further queue is therefore a note. So is a due time of a delay level that the given levels do not have: a broker keeps
the units of an earlier ``messageDelayLevel``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from broker_core.engine.store.consume_queue import UNIT, UNIT_BYTES
from broker_core.engine.store.consume_queue_ext import is_address, offset_of
from broker_core.engine.store.dispatch import further_queues
from broker_core.engine.store.inspection.finding import StoreFinding
from broker_core.engine.store.inspection.log_reader import CheckedWindow, LogReader
from broker_core.engine.store.inspection.queue_reader import QueueFileReader, QueueReaders, is_blank
from broker_core.engine.store.layout import RecordHeads
from broker_core.engine.store.queue_table import QueueKey, QueueManifest
from broker_core.engine.store.record_columns import properties_of, queue_runs, topic_of, unit_codes
from broker_core.native import checks as k
from broker_core.native.calls import call
from broker_core.native.library import installed
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.record import SIZE_AND_MAGIC, RecordParts
from broker_core.protocol.names import LMQ_PREFIX, SCHEDULE_TOPIC
from broker_core.protocol.queue_unit import QueueUnit

_LEVEL_UNIT_MS = 1_000
"""Delays of levels are whole seconds."""


class _Gap(NamedTuple):
    """Records without a unit: how many, and the first one's queue and physical offset."""

    records: int
    queue_offset: int
    physical_offset: int


@dataclass(slots=True)
class QueueCheck:
    """One run over a store. After a crash queues may lag the log, or be ahead of it.

    Args:
        log: Its commit log.
        readers: Its queues.
        levels: Its delay levels.
        is_crashed: Its broker runs, or was not closed in good order.
        topics: Those of the configuration, if known.
        manifest: Our note of the last stop, where it belongs to the store's checkpoint.
    """

    log: LogReader
    readers: QueueReaders
    levels: DelayLevels
    is_crashed: bool
    topics: frozenset[str] | None
    manifest: QueueManifest | None = None
    _matched: dict[QueueKey, int] = field(default_factory=dict, init=False)
    _missing: dict[QueueKey, _Gap] = field(default_factory=dict, init=False)
    _older: dict[QueueKey, _Gap] = field(default_factory=dict, init=False)
    """Records without a unit before the first unit of their topic, or of a topic without units."""
    _further: dict[QueueKey, _Gap] = field(default_factory=dict, init=False)
    _other_levels: dict[QueueKey, _Gap] = field(default_factory=dict, init=False)
    """Units that are due by other delay levels."""
    _known_from: dict[str, int | None] = field(default_factory=dict, init=False)
    _notes: list[StoreFinding] = field(default_factory=list, init=False)

    # ---- first pass ----------------------------------------------------------------------------------------------------

    def check_window(self, window: CheckedWindow) -> Iterator[StoreFinding]:
        """Compare the records of a window with their units."""
        data, heads = window.data, window.heads
        codes, odd = unit_codes(data, heads, self.levels)
        for run in queue_runs(data, heads, codes):
            yield from self._check_run(run.key, run.first, run.units, self._miss)
        yield from self._check_further(window, codes, odd)

    def _check_run(
        self, key: QueueKey, offset: int, expected: bytes, miss: Callable[[QueueKey, int, bytes], None]
    ) -> Iterator[StoreFinding]:
        """Compare the expected units from a queue offset on with the stored ones."""
        reader = self.readers.get(*key)
        found = reader.units(offset, len(expected) // UNIT_BYTES) if reader else b""
        rows = len(found) // UNIT_BYTES
        if reader is not None and found == expected[: len(found)]:
            self._matched[key] = self._matched.get(key, 0) + rows
        elif reader is not None:
            lost = []
            for row, (stored, wanted) in enumerate(zip(_units(found), _units(expected), strict=False)):
                is_there, is_lost = _compared(stored, wanted)
                self._matched[key] = self._matched.get(key, 0) + is_there
                if is_lost:
                    lost.append(row)
                elif is_there and stored != wanted:
                    if stored.record_bytes == wanted.record_bytes and self._is_of_other_levels(key, stored, wanted):
                        _count(self._other_levels, key, offset + row, _part(expected, row, row + 1))
                    else:
                        yield from _differences(reader, offset + row, stored, wanted)
            for row in lost:
                miss(key, offset + row, _part(expected, row, row + 1))
        if len(expected) > len(found):
            miss(key, offset + rows, expected[len(found) :])

    def _is_of_other_levels(self, key: QueueKey, found: QueueUnit, wanted: QueueUnit) -> bool:
        """Whether the unit of a delayed message has the due time of a level that is not one of the given ones."""
        code, expected = found.tags_code, wanted.tags_code
        if key[0] != SCHEDULE_TOPIC or is_address(code):
            return False
        return (code - expected) % _LEVEL_UNIT_MS == 0 and code >= expected - self.levels.delay_ms(key[1] + 1)

    def _miss(self, key: QueueKey, queue_offset: int, expected: bytes) -> None:
        """Note records of a queue, from a queue offset on, that have no unit."""
        known_from, count = self._first_known(key[0]), len(expected) // UNIT_BYTES
        older = count if known_from is None else sum(unit.physical_offset < known_from for unit in _units(expected))
        _count(self._older, key, queue_offset, _part(expected, 0, older))
        _count(self._missing, key, queue_offset + older, _part(expected, older, count))

    def _miss_further(self, key: QueueKey, queue_offset: int, expected: bytes) -> None:
        _count(self._further, key, queue_offset, expected)

    def _first_known(self, topic: str) -> int | None:
        """Physical offset of the first record that any queue of a topic knows; None where no queue of it has units."""
        if topic not in self._known_from:
            starts = [reader.first_physical() for (name, _), reader in self.readers.by_key.items() if name == topic]
            self._known_from[topic] = min((start for start in starts if start is not None), default=None)
        return self._known_from[topic]

    def _check_further(self, window: CheckedWindow, codes: memoryview, odd: list[int]) -> Iterator[StoreFinding]:
        """Check the further queues of multi-dispatch records, which are odd."""
        data, heads = window.data, window.heads
        for row in odd:
            # Each unit once: a producer may name one twice, also the one that the record has by itself.
            places = dict.fromkeys(further_queues(heads.queue_id[row], properties_of(data, heads, row)))
            places.pop(_own_place(data, heads, row), None)
            expected = UNIT.pack(heads.physical_offset[row], heads.size[row], codes[row])
            for topic, queue_id, offset in places:
                yield from self._check_run((topic, queue_id), offset, expected, self._miss_further)

    # ---- second pass ---------------------------------------------------------------------------------------------------

    def check_queues(self) -> Iterator[StoreFinding]:
        """Check each queue's own files; after all windows."""
        for key, reader in sorted(self.readers.by_key.items()):
            yield from _check_files(reader)
            yield from self._check_units(key, reader)
            yield from self._check_end(key, reader)
            reader.close()
        yield from self._check_absent()
        for key, gap in sorted(self._missing.items()):
            if (known := self.readers.by_key.get(key)) is not None:
                found = StoreFinding(*known.place(gap.queue_offset), _without_unit(gap))
                if self.is_crashed and gap.queue_offset >= known.end:
                    self._notes.append(found)
                else:
                    yield found

    def notes(self) -> Iterator[StoreFinding]:
        """What recovery repairs by design, and what a sound store may have; after `check_queues`."""
        yield from self._notes
        for key, gap in sorted(self._older.items()):
            if key in self.readers.by_key:
                place = self.readers.by_key[key].place(gap.queue_offset)
                yield StoreFinding(*place, f"{_without_unit(gap)}: of a deleted topic of that name")
        for key, gap in sorted(self._further.items()):
            yield StoreFinding(_directory(key), 0, f"{_without_unit(gap)}: a property names the queue")
        for key, gap in sorted(self._other_levels.items()):
            text = f"{gap.records:,} units from {gap.queue_offset:,} on are due by another messageDelayLevel than the given one"
            yield StoreFinding(*self.readers.by_key[key].place(gap.queue_offset), text)

    def _check_end(self, key: QueueKey, reader: QueueFileReader) -> Iterator[StoreFinding]:
        """Compare a queue's end with our note; later stops and crashes may lie between the two if the broker runs."""
        noted = self.manifest.ends.get(key, 0) if self.manifest is not None and not self.is_crashed else 0
        if reader.end < noted and key not in self._missing:
            text = f"the queue ends at {reader.end:,}; it ended at {noted:,} when the store was closed"
            yield StoreFinding(*reader.place(reader.end), text)

    def _check_absent(self) -> Iterator[StoreFinding]:
        """Report the queues without a directory that the log has records of, or our note an end."""
        noted = self.manifest.ends if self.manifest is not None and not self.is_crashed else {}
        absent = {key for key in self._missing.keys() | self._older.keys() | noted.keys() if key not in self.readers.by_key}
        for key in sorted(absent):
            gaps = [gaps[key] for gaps in (self._older, self._missing) if key in gaps]
            text = "the queue is missing"
            if gaps:
                records = sum(gap.records for gap in gaps)
                text += f"; the log has {records:,} records of it, the first at {gaps[0].physical_offset:,}"
            text, is_fault = self._judged(key, text)
            if is_fault:
                yield StoreFinding(_directory(key), 0, text)
            else:
                self._notes.append(StoreFinding(_directory(key), 0, text))

    def _judged(self, key: QueueKey, text: str) -> tuple[str, bool]:
        """The text about an absent queue with what is known of its topic, and whether it is a fault."""
        topic = key[0]
        if self.topics is not None and topic not in self.topics and not topic.startswith(("RMQ_SYS_", LMQ_PREFIX)):
            return f"{text}: the topic is not in the configuration", False
        if self.is_crashed:
            return text, False
        if self.manifest is not None and key in self.manifest.ends:
            return text, True
        if self.manifest is not None or key not in self._missing:
            return f"{text}: of a deleted topic of that name", False
        return text, True

    def _check_units(self, key: QueueKey, reader: QueueFileReader) -> Iterator[StoreFinding]:
        state = array("q", bytes(8 * k.STATE_COLUMNS))
        state[k.REACHED], state[k.LOG_START], state[k.LOG_END] = -1, self.log.min_offset, self.log.end
        ahead: _Gap | None = None
        for start, units in reader.blocks():
            beyond = state[k.BEYOND]
            yield from _places_to_tell(reader, start, units, state)
            if ahead is None and state[k.BEYOND] > beyond:
                ahead = _Gap(0, start + state[k.FIRST_BEYOND], _unit_at(units, state[k.FIRST_BEYOND]).physical_offset)
        ahead = ahead and ahead._replace(records=state[k.BEYOND])
        if ahead is not None:
            text = f"{ahead.records:,} units point behind the log's end at {self.log.end:,}"
            place = StoreFinding(*reader.place(ahead.queue_offset), f"{text}, the first to {ahead.physical_offset:,}")
            if self.is_crashed and not any(self.log.record(self.log.end, SIZE_AND_MAGIC.size) or b""):
                self._notes.append(place)  # the last records were lost whole; a torn one is damage
            else:
                yield place
        if state[k.IN_LOG] != self._matched.get(key, 0):
            yield from self._check_one_by_one(key, reader)

    def _check_one_by_one(self, key: QueueKey, reader: QueueFileReader) -> Iterator[StoreFinding]:
        """Find the units without a record; needed only if the numbers of units and of records differ."""
        for start, units in reader.blocks():
            for row, (physical, size, _) in enumerate(UNIT.iter_unpack(units)):
                if size <= 0 or is_blank(physical, size) or not self.log.min_offset <= physical < self.log.end:
                    continue
                parts = self.log.parts(physical)
                if parts is None:
                    text = f"unit {start + row:,} points to {physical:,}, where no record starts"
                elif parts.head.size != size:
                    text = f"unit {start + row:,} says {size:,} bytes; the record at {physical:,} has {parts.head.size:,}"
                elif not _belongs(key, start + row, parts):
                    text = (
                        f"unit {start + row:,} points to {physical:,}, a record of {parts.topic.decode('utf-8', 'replace')}/"
                        f"{parts.head.queue_id} with queue offset {parts.head.queue_offset:,}"
                    )
                else:
                    continue
                yield StoreFinding(*reader.place(start + row), text)


def _units(data: bytes) -> Iterator[QueueUnit]:
    return map(QueueUnit._make, UNIT.iter_unpack(data))


def _unit_at(units: bytes, number: int) -> QueueUnit:
    return QueueUnit._make(UNIT.unpack_from(units, number * UNIT_BYTES))


def _part(units: bytes, first: int, end: int) -> bytes:
    return units[first * UNIT_BYTES : end * UNIT_BYTES]


def _compared(stored: QueueUnit, wanted: QueueUnit) -> tuple[bool, bool]:
    """Whether a stored unit names the expected record, and whether there is none for that record."""
    is_there = stored.physical_offset == wanted.physical_offset and stored.record_bytes != 0
    return is_there, not is_there and (stored.physical_offset < wanted.physical_offset or stored.record_bytes <= 0)


def _count(gaps: dict[QueueKey, _Gap], key: QueueKey, queue_offset: int, expected: bytes) -> None:
    """Add records without a unit to a queue's gap."""
    if not expected:
        return
    known = gaps.get(key) or _Gap(0, queue_offset, _unit_at(expected, 0).physical_offset)
    gaps[key] = known._replace(records=known.records + len(expected) // UNIT_BYTES)


def _without_unit(gap: _Gap) -> str:
    return (
        f"{gap.records:,} records of the log have no unit, the first at {gap.physical_offset:,} "
        f"with queue offset {gap.queue_offset:,}"
    )


def _directory(key: QueueKey) -> str:
    return f"consumequeue/{key[0]}/{key[1]}"


def _own_place(data: memoryview, heads: RecordHeads, row: int) -> tuple[str, int, int]:
    """Topic, queue and offset of the unit that a record has without further queues."""
    return topic_of(data, heads, row).decode("utf-8", "replace"), heads.queue_id[row], heads.queue_offset[row]


def _belongs(key: QueueKey, offset: int, parts: RecordParts) -> bool:
    here = (*key, offset)
    if here == (parts.topic.decode("utf-8", "replace"), parts.head.queue_id, parts.head.queue_offset):
        return True
    return here in further_queues(parts.head.queue_id, parts.properties)


def _check_files(reader: QueueFileReader) -> Iterator[StoreFinding]:
    for index, (path, base) in enumerate(reader.files):
        size = path.stat().st_size
        place = reader.place(base // 20)
        if size != reader.file_bytes or size % 20:
            yield StoreFinding(*place, f"the file has {size:,} bytes; it should have {reader.file_bytes:,}, a multiple of 20")
        expected = reader.files[index - 1][1] + reader.file_bytes if index else base
        if base != expected:
            yield StoreFinding(*place, f"the file before this one ends at {expected:,}: {base - expected:,} bytes are missing")


def _places_to_tell(reader: QueueFileReader, start: int, units: bytes, state: array[int]) -> Iterator[StoreFinding]:
    """Holes among some units of a queue, then units that do not lie behind the one before them; ``state`` counts on."""
    state[k.AT], state[k.UNITS], state[k.IN_HOLE] = 0, len(units) // UNIT_BYTES, 0
    edges: list[int] = []
    misplaced: list[int] = []
    while (reason := call(installed(), k.check_units, state, units)) != k.ALL_UNITS:
        (edges if reason == k.HOLE else misplaced).append(start + state[k.AT])
    if len(edges) % 2:
        edges.append(start + state[k.UNITS])
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        yield StoreFinding(*reader.place(first), f"{end - first:,} units from {first:,} on are empty; others follow")
    for row in (behind - 1 for behind in misplaced):
        physical = _unit_at(units, row - start).physical_offset
        text = f"unit {row:,} points to {physical:,}, which does not lie behind the unit before it"
        yield StoreFinding(*reader.place(row), text)


def _differences(reader: QueueFileReader, offset: int, found: QueueUnit, wanted: QueueUnit) -> Iterator[StoreFinding]:
    """Compare size and tags code of one unit with the record's; a code in the extension is looked up there."""
    if found.record_bytes != wanted.record_bytes:
        text = f"unit {offset:,} says {found.record_bytes:,} bytes; the record at {wanted.physical_offset:,} has "
        yield StoreFinding(*reader.place(offset), f"{text}{wanted.record_bytes:,}")
    code = found.tags_code
    if is_address(code):
        extension = reader.ext_unit_at(code)
        if extension is None:
            text = f"unit {offset:,} names place {offset_of(code):,} of the extension, where there is none"
            yield StoreFinding(*reader.place(offset), text)
            return
        code = extension.tags_code
    if code != wanted.tags_code:
        text = f"unit {offset:,} has tags code {code}; the record at {wanted.physical_offset:,} has {wanted.tags_code}"
        yield StoreFinding(*reader.place(offset), text)

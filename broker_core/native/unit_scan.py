"""Records of a commit log file to units of consume queues, by the kernels of `broker_core.native.records`."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from broker_core.native import records as k
from broker_core.native.access import mix, put64
from broker_core.native.calls import call
from broker_core.native.lane_table import anonymous
from broker_core.native.library import Library
from broker_core.protocol.message.record import FIXED_BYTES

QUEUES_MAX: Final = 1 << 16
"""More queues are left to Python; a row takes 64 bytes beside the topic's name."""
_UNITS_MAX: Final = (8 << 20) // FIXED_BYTES + 1
"""Records in a window, at most."""
CodesOf = Callable[["array[int]"], Iterable[int]]
"""Third fields of the units of records at some physical offsets."""


class QueueUnits(NamedTuple):
    """Units of consecutive messages of one queue; ``first`` is the queue offset of the first message."""

    topic: str
    queue_id: int
    first: int
    units: bytes


@dataclass(frozen=True, slots=True)
class ScannedUnits:
    """A stretch of good records.

    Attributes:
        end: Position in the file behind the last one.
        last_store_ms: Its store time.
        queues: Units of all that give one, by queue.
    """

    end: int
    last_store_ms: int
    queues: list[QueueUnits]


class UnitScan:
    """Scans files, and remembers their queues. For one thread at a time.

    Args:
        library: The machine code; None runs the kernels in Python.
    """

    def __init__(self, library: Library | None) -> None:
        self._library = library
        self._state = array("q", bytes(8 * k.STATE_COLUMNS))
        self._state[k.SEED] = secrets.randbits(62)
        self._state[k.UNITS_MAX] = _UNITS_MAX
        self._names: list[tuple[str, int]] = []
        self._queues, self._slots = array("q"), array("q")
        self._texts = bytearray()
        self._touched = array("q")
        self._grow(256)
        self._rows = anonymous(8 * _UNITS_MAX).cast("q")
        self._odd = anonymous(2 * 8 * _UNITS_MAX).cast("q")
        self._units, self._gathered = anonymous(k.UNIT_BYTES * _UNITS_MAX), anonymous(k.UNIT_BYTES * _UNITS_MAX)

    def window(
        self, mapped: memoryview, base: int, start: int, stop: int, *, first_taken: int, check_crc: bool, codes_of: CodesOf
    ) -> ScannedUnits | None:
        """Scan good records from a position of a file on, up to the first place where there is none.

        Args:
            mapped: The whole file.
            base: Physical offset of its first byte.
            start: Position of the first record.
            stop: Position before which the last one must end.
            first_taken: Physical offset from which on records give units.
            check_crc: Whether to verify the checksums of bodies.
            codes_of: Called with the offsets of records whose unit needs Python: delayed ones, and others whose tags are not
                ASCII or named twice.

        Returns:
            None where there is no good record, and where records must be looked at one by one: one is in several queues, or the
            offsets of a queue do not follow each other.
        """
        state = self._state
        self._forget_units()
        state[k.AT], state[k.BASE], state[k.LIMIT], state[k.DATA_END] = start, base, stop, len(mapped)
        state[k.FIRST_TAKEN], state[k.CHECKS_CRC], state[k.RECORDS] = first_taken, check_crc, 0
        while (reason := call(self._library, k.scan_units, mapped, *self._tables())) == k.NEW_QUEUE:
            if not self._add_queue(mapped, state[k.AT]):
                return None
        if reason in {k.ODD, k.FULL} or not state[k.RECORDS]:
            return None
        self._put_codes(codes_of)
        return ScannedUnits(state[k.AT], state[k.LAST_STORE_MS], self._gathered_units())

    def _put_codes(self, codes_of: CodesOf) -> None:
        """Complete the units that need Python."""
        odd = self._odd[: 2 * self._state[k.ODD_UNITS]]
        codes = codes_of(array("q", odd[1::2])) if odd else ()
        for number, code in zip(odd[::2], codes, strict=True):
            put64(self._units, number * k.UNIT_BYTES + k.CODE_POSITION, code)

    def _tables(self) -> tuple[array[int] | bytearray | memoryview, ...]:
        return self._state, self._queues, self._slots, self._texts, self._rows, self._units, self._touched, self._odd

    def _forget_units(self) -> None:
        for number in self._touched[: self._state[k.TOUCHED]]:
            self._queues[number * k.QUEUE_COLUMNS + k.Q_COUNT] = 0
        self._state[k.TOUCHED] = self._state[k.UNITS] = self._state[k.ODD_UNITS] = 0

    def _gathered_units(self) -> list[QueueUnits]:
        tables = self._state, self._queues, self._rows, self._units, self._touched, self._gathered
        call(self._library, k.gather_units, *tables)
        found, view, at = [], self._gathered, 0
        for number in self._touched[: self._state[k.TOUCHED]]:
            row = number * k.QUEUE_COLUMNS
            size = self._queues[row + k.Q_COUNT] * k.UNIT_BYTES
            found.append(QueueUnits(*self._names[number], self._queues[row + k.Q_FIRST], bytes(view[at : at + size])))
            at += size
        return found

    # ---- queues ----

    def _add_queue(self, mapped: memoryview, at: int) -> bool:
        """Add the queue of the record at a position; False when there are too many."""
        topic, queue_id = k.queue_of(mapped, at)
        if len(self._names) >= QUEUES_MAX:
            return False
        if 2 * len(self._names) >= len(self._slots):
            self._grow(2 * len(self._slots))
        number, row = len(self._names), len(self._names) * k.QUEUE_COLUMNS
        hashed = mix(self._state[k.SEED] ^ queue_id, memoryview(topic), 0, len(topic))
        self._queues[row + k.Q_HASH], self._queues[row + k.Q_ID] = hashed, queue_id
        self._queues[row + k.Q_TOPIC_AT], self._queues[row + k.Q_TOPIC_BYTES] = len(self._texts), len(topic)
        self._texts += topic
        self._names.append((topic.decode("utf-8", "replace"), queue_id))
        self._put_in_slot(hashed, number)
        return True

    def _put_in_slot(self, hashed: int, number: int) -> None:
        slot = hashed & self._state[k.SLOT_MASK]
        while self._slots[slot]:
            slot = (slot + 1) & self._state[k.SLOT_MASK]
        self._slots[slot] = number + 1

    def _grow(self, slots: int) -> None:
        """Make room for half as many queues as slots."""
        self._slots = array("q", bytes(8 * slots))
        self._state[k.SLOT_MASK] = slots - 1
        self._queues.frombytes(bytes(8 * (slots // 2 * k.QUEUE_COLUMNS - len(self._queues))))
        self._touched.frombytes(bytes(8 * (slots // 2 - len(self._touched))))
        for number in range(len(self._names)):
            self._put_in_slot(self._queues[number * k.QUEUE_COLUMNS + k.Q_HASH], number)

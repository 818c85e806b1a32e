"""Stretches of good records for recovery: their units by queue, made by a kernel, or the records one by one.

Source: docs/spec/store.md §2.5, §10.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from broker_core.config import StoreConfig
from broker_core.engine.store.machine_code import machine_code
from broker_core.engine.store.record_columns import faults_of, odd_code, properties_of, topic_of
from broker_core.engine.store.record_heads import HeadScan, RecordHeads
from broker_core.native.unit_scan import QueueUnits, UnitScan
from broker_core.protocol.delay_levels import DelayLevels


class ScannedRecord(NamedTuple):
    """The fields of a record that recovery uses."""

    physical_offset: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    sys_flag: int
    store_timestamp_ms: int
    properties: bytes


@dataclass(frozen=True, slots=True)
class ScannedWindow:
    """Good records of one file, one directly behind the other; never empty.

    Attributes:
        first_offset: Physical offset of the first record.
        end_offset: Physical offset behind the last one.
        last_store_ms: Store time of the last one.
        queues: Units of the records that were wanted; None: the records must be read one by one, because some are in several
            queues, or the queue offsets of a queue are not consecutive.
        records: Reads them one by one.
    """

    first_offset: int
    end_offset: int
    last_store_ms: int
    queues: list[QueueUnits] | None
    records: Callable[[], Iterator[ScannedRecord]]


class FileScan:
    """Scans commit log files.

    Args:
        config: Which checksums to verify, and whether machine code may be used.
        levels: Delay levels, for the units of delayed messages.
    """

    def __init__(self, config: StoreConfig, levels: DelayLevels) -> None:
        library = machine_code(config)
        self._config = config
        self._levels = levels
        self._heads = HeadScan(library)
        self._units = None if config.force_record_crc else UnitScan(library)

    def window(self, mapped: memoryview, base: int, start: int, stop: int, first_taken: int) -> ScannedWindow | None:
        """Records from a position of a file on, up to the first fault; None if no good record starts there.

        Args:
            mapped: The whole file.
            base: Physical offset of its first byte.
            start: Position of the first record.
            stop: Position before which the last one must end.
            first_taken: Physical offset from which on units are wanted.
        """
        found = self._units and self._units.window(
            mapped, base, start, stop, first_taken=first_taken,
            check_crc=self._config.check_crc_on_recover, codes_of=partial(self._codes, mapped, base),
        )  # fmt: skip
        if found:
            records = partial(self._records, mapped, base, start, found.end)
            return ScannedWindow(base + start, base + found.end, found.last_store_ms, found.queues, records)
        heads = self._good(mapped, base, start, stop)
        if not len(heads):
            return None
        return ScannedWindow(base + start, base + heads.end, heads.store_ms[-1], None, partial(_records_of, mapped, heads))

    def _codes(self, mapped: memoryview, base: int, offsets: array[int]) -> list[int]:
        """Third fields of the units of records at some physical offsets."""
        heads = self._heads.at(mapped, base, memoryview(offsets))
        return [odd_code(mapped, heads, row, self._levels) for row in range(len(heads))]

    def _records(self, mapped: memoryview, base: int, start: int, stop: int) -> Iterator[ScannedRecord]:
        return _records_of(mapped, self._good(mapped, base, start, stop))

    def _good(self, mapped: memoryview, base: int, start: int, stop: int) -> RecordHeads:
        """Heads of the records from a position on, up to the first fault."""
        config, heads = self._config, self._heads.chain(mapped[:stop], base, start, stop)
        faults, good = faults_of(mapped, heads, self._heads), range(len(heads))
        if config.force_record_crc:
            bad = faults.torn[:1] + faults.wrong_crc[:1] + sorted(set(good).difference(faults.with_crc))[:1]
        else:
            bad = faults.torn[:1] + (faults.wrong_body[:1] if config.check_crc_on_recover else [])
        return heads.first(min(bad, default=len(heads)))


def _records_of(mapped: memoryview, heads: RecordHeads) -> Iterator[ScannedRecord]:
    columns = heads.physical_offset, heads.size, heads.queue_id, heads.queue_offset, heads.sys_flag, heads.store_ms
    for row, (physical, size, queue_id, queue_offset, sys_flag, store_ms) in enumerate(zip(*columns, strict=True)):
        topic = topic_of(mapped, heads, row).decode("utf-8", "replace")
        properties = properties_of(mapped, heads, row)
        yield ScannedRecord(physical, size, topic, queue_id, queue_offset, sys_flag, store_ms, properties)

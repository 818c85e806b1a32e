"""Good commit log records for recovery: in columns where possible, else one by one.

Loads numpy, which takes 0.2 s; a start with nothing to scan does not load this module.

Source: docs/spec/store.md §2.5, §10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from broker_core.engine.store.layout import Bytes, RecordHeads, scan_records
from broker_core.engine.store.record_columns import faults_of, in_queue, queue_groups, queue_units, unit_codes
from broker_core.native.unit_scan import QueueUnits
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.properties import INNER_MULTI_DISPATCH

_MULTI_DISPATCH = INNER_MULTI_DISPATCH.encode()


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
class LogWindow:
    """Consecutive good records of one file; never empty."""

    data: Bytes
    heads: RecordHeads

    @property
    def first_offset(self) -> int:
        """Physical offset of the first record."""
        return int(self.heads.physical_offset[0])

    @property
    def end(self) -> int:
        """Position in the file after the last record."""
        return self.heads.end

    @property
    def last_store_ms(self) -> int:
        """Store time of the last record."""
        return int(self.heads.store_ms[-1])

    def unit_runs(self, start: int, end: int, levels: DelayLevels) -> list[QueueUnits] | None:
        """Units of the records between two physical offsets, by queue.

        None if the records must be read one by one: some are in several queues, or the queue offsets of a queue are not
        consecutive.
        """
        heads, data = self.heads, self.data
        first, last = np.searchsorted(heads.physical_offset, [start, end])
        heads = heads.part(int(first), int(last))
        if not len(heads):
            return []
        if bytes(data.data[int(heads.position[0]) : heads.end]).find(_MULTI_DISPATCH) >= 0:
            return None
        queued = in_queue(heads.sys_flag)
        groups = list(queue_groups(data, heads))
        codes = unit_codes(data, heads, levels).codes
        runs: list[QueueUnits] = []
        for group in groups:
            rows = group.rows if queued.all() else group.rows[queued[group.rows]]
            if not len(rows):
                continue
            offsets = heads.queue_offset[rows]
            if (np.diff(offsets) != 1).any():
                return None
            units = queue_units(heads, rows, codes).tobytes()
            runs.append(QueueUnits(*group.key, int(offsets[0]), units))
        return runs

    def records(self) -> Iterator[ScannedRecord]:
        heads, data = self.heads, self.data
        columns = (
            heads.physical_offset, heads.size, heads.topic_position, heads.topic_bytes, heads.properties_position,
            heads.properties_bytes, heads.queue_id, heads.queue_offset, heads.sys_flag, heads.store_ms,
        )  # fmt: skip
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for physical, size, topic_at, topic_bytes, properties_at, properties_bytes, queue_id, offset, flag, store_ms in rows:
            topic = data[topic_at : topic_at + topic_bytes].tobytes().decode("utf-8", "replace")
            properties = data[properties_at : properties_at + properties_bytes].tobytes()
            yield ScannedRecord(physical, size, topic, queue_id, offset, flag, store_ms, properties)


def good_records(
    mapped: memoryview, base: int, start: int, stop: int, *, check_crc: bool, force_record_crc: bool = False
) -> LogWindow | None:
    """Records from a position of a file on, up to the first fault; None if no good record starts there.

    Args:
        mapped: The whole file.
        base: Physical offset of its first byte.
        start: Position of the first record.
        stop: Position before which the last one must end.
        check_crc: Whether to verify body checksums.
        force_record_crc: Whether to verify checksums of whole records instead; a record without one is bad then.
    """
    heads = scan_records(mapped, base, start, stop)
    good = len(heads)
    if heads.damage:  # a gap, most likely behind the last record
        expected = np.concatenate(([start], heads.position + heads.size))[:-1]
        breaks = np.flatnonzero(heads.position != expected)
        good = int(breaks[0]) if len(breaks) else good
    heads = heads.part(0, good)
    data = np.frombuffer(mapped, dtype=np.uint8)
    faults = faults_of(data, heads)
    wrong = [faults.without_crc, faults.wrong_crc] if force_record_crc else [faults.wrong_body] if check_crc else []
    firsts = [int(rows[0]) for rows in (faults.torn, *wrong) if len(rows)]
    heads = heads.part(0, min(firsts, default=len(heads)))
    return LogWindow(data, heads) if len(heads) else None

"""Columns of many records for recovery and verification: tags codes, units by queue, faults.

Kernels look at the records of one window of a commit log file. Unusual ones (tags that are not ASCII, or named twice; delayed
messages) are read one by one, by the functions of a put.

Source: docs/spec/store.md §2.5, §4.1, §4.2.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.record_heads import HeadScan, RecordHeads
from broker_core.native import checks as k
from broker_core.native.addresses import room
from broker_core.native.calls import call
from broker_core.native.library import installed
from broker_core.native.records import ODD_CODE, UNIT_BYTES
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.properties import number_of
from broker_core.protocol.message.record import CRC_MASK


class QueueRun(NamedTuple):
    """Records of one queue with consecutive queue offsets, and their consume queue units.

    Attributes:
        topic: As stored.
        queue_id: Of the queue.
        first: Queue offset of the first record.
        rows: Indexes among the records, ascending.
        units: Their units.
    """

    topic: bytes
    queue_id: int
    first: int
    rows: memoryview
    units: bytes

    @property
    def key(self) -> tuple[str, int]:
        """Topic as text, and queue id."""
        return self.topic.decode("utf-8", "replace"), self.queue_id


def queue_runs(data: memoryview, heads: RecordHeads, codes: memoryview) -> Iterator[QueueRun]:
    """Records that are in their queue, not those of open and rolled back transactions, by topic and queue id.

    Queues come in the order of their first records. ``codes`` are the third fields of the units.
    """
    count, library = len(heads), installed()
    if not count:
        return
    groups = HeadScan(library).groups(data, heads.topic_position, heads.topic_bytes, heads.queue_id)
    rows, runs, units = room(count), room(count + 1), bytearray(UNIT_BYTES * count)
    columns = heads.sys_flag, heads.queue_offset, heads.physical_offset, heads.size
    ends = array("q", bytes(8 * (len(groups.firsts) + 1)))
    found = call(library, k.make_units, count, groups.of_row, *columns, codes, len(groups.firsts), ends, rows, units, runs)
    for start, end in pairwise(runs[: found + 1].tolist()):
        row, part = rows[start], bytes(units[start * UNIT_BYTES : end * UNIT_BYTES])
        yield QueueRun(topic_of(data, heads, row), heads.queue_id[row], heads.queue_offset[row], rows[start:end], part)


def topics_of(data: memoryview, heads: RecordHeads) -> Iterator[str]:
    """The topic of each record, as text."""
    groups = HeadScan(installed()).groups(data, heads.topic_position, heads.topic_bytes)
    names = [topic_of(data, heads, row).decode("utf-8", "replace") for row in groups.firsts]
    return map(names.__getitem__, groups.of_row)


def topic_of(data: memoryview, heads: RecordHeads, row: int) -> bytes:
    start = heads.topic_position[row]
    return bytes(data[start : start + heads.topic_bytes[row]])


def properties_of(data: memoryview, heads: RecordHeads, row: int) -> bytes:
    start = heads.properties_position[row]
    return bytes(data[start : start + heads.properties_bytes[row]])


class UnitCodes(NamedTuple):
    """Third field of the consume queue unit of each record.

    Attributes:
        codes: The field.
        odd: Rows of unusual records; only these can be in several queues.
    """

    codes: memoryview
    odd: list[int]


def unit_codes(data: memoryview, heads: RecordHeads, levels: DelayLevels) -> UnitCodes:
    """What the units of some records hold beside place and size."""
    codes, odd_count = HeadScan(installed()).codes(data, heads)
    odd = [row for row, code in enumerate(codes) if code == ODD_CODE] if odd_count else []
    for row in odd:
        codes[row] = odd_code(data, heads, row, levels)
    return UnitCodes(codes, odd)


def odd_code(data: memoryview, heads: RecordHeads, row: int, levels: DelayLevels) -> int:
    """What the unit of an unusual record holds beside place and size."""
    topic = topic_of(data, heads, row).decode("utf-8", "replace")
    return unit_tags_code(topic, properties_of(data, heads, row), heads.store_ms[row], levels)


class Faults(NamedTuple):
    """Rows of records with faults, ascending.

    Attributes:
        torn: Topic or properties reach into a page of zeros, see `broker_core.native.records.is_torn`.
        wrong_body: The body does not have the record's checksum; an empty one has none.
        with_crc: A checksum covers the whole record. 5.2 and later can end the properties with one
            (``enabledAppendPropCRC``): name, 0x01, ten decimal digits, the lowest first, 0x02; it covers what is before it.
        wrong_crc: That checksum is wrong.

    Source: docs/spec/store.md §2.5.
    """

    torn: list[int]
    wrong_body: list[int]
    with_crc: list[int]
    wrong_crc: list[int]


def faults_of(data: memoryview, heads: RecordHeads, scan: HeadScan | None = None) -> Faults:
    """What is wrong with some records; ``scan`` is by default that of this installation."""
    faults, count = (scan or HeadScan(installed())).faults(data, heads)
    found = [(row, fault) for row, fault in enumerate(faults) if fault] if count else []
    bits = k.TORN, k.WRONG_BODY, k.HAS_RECORD_CRC
    torn, wrong_body, with_crc = ([row for row, fault in found if fault & bit] for bit in bits)
    return Faults(torn, wrong_body, with_crc, [row for row in with_crc if not _record_crc_is_right(data, heads, row)])


def _record_crc_is_right(data: memoryview, heads: RecordHeads, row: int) -> bool:
    start, end = heads.position[row], heads.position[row] + heads.size[row]
    digits = bytes(data[end - k.RECORD_CRC_BYTES + 9 : end - 1])[::-1]
    found = crc32(data[start : end - k.RECORD_CRC_BYTES]) & CRC_MASK
    return number_of(digits) == found

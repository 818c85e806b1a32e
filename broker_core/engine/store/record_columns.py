"""Columns of many records for recovery and verification: queues, tags codes, units, checksums.

Kernels look at the records of one window of a commit log file. Unusual ones (tags that are not ASCII, or named twice; delayed
messages) are read one by one, by the functions of a put.

Source: docs/spec/store.md §2.5, §4.1, §4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.record_heads import Bools, Bytes, HeadScan, Int64s, RecordHeads
from broker_core.native.checks import HAS_RECORD_CRC, MAY_BE_TORN, RECORD_CRC_BYTES, WRONG_BODY
from broker_core.native.library import installed
from broker_core.native.records import ODD_CODE, PAGE_BYTES
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.properties import number_of
from broker_core.protocol.message.record import CRC_MASK
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK, TransactionType

UNIT_TYPE = np.dtype([("physical_offset", ">i8"), ("record_bytes", ">i4"), ("tags_code", ">i8")])
"""Consume queue unit."""
assert UNIT_TYPE.itemsize == 20


class QueueGroup(NamedTuple):
    """Records of one queue; ``rows`` are their indexes among the records, ascending."""

    topic: bytes
    queue_id: int
    rows: Int64s

    @property
    def key(self) -> tuple[str, int]:
        """Topic as text, and queue id."""
        return self.topic.decode("utf-8", "replace"), self.queue_id


def queue_groups(data: Bytes, heads: RecordHeads) -> Iterator[QueueGroup]:
    """Records by topic and queue id."""
    if not len(heads):
        return
    groups = HeadScan(installed()).groups(data, heads.topic_position, heads.topic_bytes, heads.queue_id)
    order = np.argsort(groups.of_row.astype(np.uint16) if len(groups.firsts) < 1 << 16 else groups.of_row, kind="stable")
    bounds = np.searchsorted(groups.of_row[order], np.arange(len(groups.firsts) + 1))
    for number, row in enumerate(groups.firsts.tolist()):
        yield QueueGroup(topic_of(data, heads, row), int(heads.queue_id[row]), order[bounds[number] : bounds[number + 1]])


def in_queue(sys_flag: Int64s) -> Bools:
    """Which records are in their queue: not those of open and rolled back transactions."""
    kind = sys_flag & TRANSACTION_MASK
    found: Bools = (kind == TransactionType.NONE) | (kind == TransactionType.COMMIT)
    return found


def runs_of_queue(heads: RecordHeads, group: QueueGroup) -> list[Int64s]:
    """Rows of a group that are in their queue, in runs of consecutive queue offsets."""
    rows = group.rows[in_queue(heads.sys_flag[group.rows])]
    return np.split(rows, np.flatnonzero(np.diff(heads.queue_offset[rows]) != 1) + 1) if len(rows) else []


def topic_of(data: Bytes, heads: RecordHeads, row: int) -> bytes:
    start = int(heads.topic_position[row])
    return data[start : start + int(heads.topic_bytes[row])].tobytes()


class UnitCodes(NamedTuple):
    """Third field of the consume queue unit of each record.

    Attributes:
        codes: The field.
        odd: Rows of unusual records; only these can be in several queues.
    """

    codes: Int64s
    odd: list[int]


def unit_codes(data: Bytes, heads: RecordHeads, levels: DelayLevels) -> UnitCodes:
    """What the units of some records hold beside place and size."""
    codes = HeadScan(installed()).codes(data, heads)
    odd: list[int] = np.flatnonzero(codes == ODD_CODE).tolist()
    for row in odd:
        start = int(heads.properties_position[row])
        properties = data[start : start + int(heads.properties_bytes[row])].tobytes()
        topic = topic_of(data, heads, row).decode("utf-8", "replace")
        codes[row] = unit_tags_code(topic, properties, int(heads.store_ms[row]), levels)
    return UnitCodes(codes, odd)


def queue_units(heads: RecordHeads, rows: Int64s, codes: Int64s) -> npt.NDArray[Any]:
    """Consume queue units of some records."""
    units = np.empty(len(rows), dtype=UNIT_TYPE)
    units["physical_offset"] = heads.physical_offset[rows]
    units["record_bytes"] = heads.size[rows]
    units["tags_code"] = codes[rows]
    return units


class Faults(NamedTuple):
    """Rows of records with faults, ascending.

    Attributes:
        torn: Topic or properties reach into a page of zeros, which a power cut kept from the disk. BODYCRC does not cover them,
            and their lengths may lie in the page before. Only a whole page of zeros after the page's border counts, so that a
            value which ends in zero bytes is no fault: only a last record whose properties are zero bytes from the border on
            would be. A page that was written to the disk in the middle of an append, and then not again, is not found.
        wrong_body: The body does not have the record's checksum; an empty one has none.
        without_crc: No checksum covers the whole record. 5.2 and later can end the properties with one
            (``enabledAppendPropCRC``): name, 0x01, ten decimal digits, the lowest first, 0x02; it covers what is before it.
        wrong_crc: That checksum is wrong.

    Source: docs/spec/store.md §2.5.
    """

    torn: Int64s
    wrong_body: Int64s
    without_crc: Int64s
    wrong_crc: Int64s


def faults_of(data: Bytes, heads: RecordHeads) -> Faults:
    faults = HeadScan(installed()).faults(data, heads)
    doubted, has_crc = np.flatnonzero(faults & MAY_BE_TORN), (faults & HAS_RECORD_CRC) != 0
    torn = [row for row in doubted.tolist() if _is_torn(data, heads, row)]
    wrong = [row for row in np.flatnonzero(has_crc).tolist() if not _record_crc_is_right(data, heads, row)]
    return Faults(
        np.array(torn, dtype=np.int64), np.flatnonzero(faults & WRONG_BODY), np.flatnonzero(~has_crc),
        np.array(wrong, dtype=np.int64),
    )  # fmt: skip


def _is_torn(data: Bytes, heads: RecordHeads, row: int) -> bool:
    topic_at, properties_at = int(heads.topic_position[row]), int(heads.properties_position[row])
    end = int(heads.position[row] + heads.size[row])
    border = -(-topic_at // PAGE_BYTES) * PAGE_BYTES
    if topic_at + int(heads.topic_bytes[row]) <= border < properties_at:
        border += PAGE_BYTES
    return any(not data[at : at + PAGE_BYTES].any() for at in range(border, end, PAGE_BYTES))


def _record_crc_is_right(data: Bytes, heads: RecordHeads, row: int) -> bool:
    start, end = int(heads.position[row]), int(heads.position[row] + heads.size[row])
    digits = data[end - RECORD_CRC_BYTES + 9 : end - 1].tobytes()[::-1]
    found = crc32(data[start : end - RECORD_CRC_BYTES].data) & CRC_MASK
    return number_of(digits) == found

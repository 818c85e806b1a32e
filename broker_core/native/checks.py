"""The kernels that look at each of many records: its tags code and its checksum. They run as they are, or as machine code.

Source: docs/spec/store.md §2.5, §4.2.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, body_crc, fetch, i32, i64
from broker_core.native.heads import NO_BASE
from broker_core.native.records import FETCHED_AHEAD, ODD_CODE, is_scheduled, is_torn, record_at, tags_hash
from broker_core.protocol.message.record import BODY_CRC_POSITION

# What is wrong with a record, or has to be looked at in Python.
MAY_BE_TORN: Final = 1
WRONG_BODY: Final = 2
HAS_RECORD_CRC: Final = 4

RECORD_CRC_BYTES: Final = 20
"""Property at a record's end: name, 0x01, ten digits, 0x02."""
_RECORD_CRC: Final = int.from_bytes(b"__CRC32#", "big")
_RECORDS_AHEAD: Final = 4


def tags_codes(data: Bytes, limit: int, places: Table, count: int, codes: Table) -> int:
    """Hash of the tags of records, `ODD_CODE` for what Python has to look at; returns how many of these there are.

    Args:
        data: The records.
        limit: Where they end.
        places: Where each begins.
        count: How many there are.
        codes: Gets the codes.
    """
    odd = 0
    for number in range(count):
        size, _, _, topic_at, topic_bytes, properties_at, _ = record_at(data, NO_BASE, places[number], limit)
        codes[number] = tags_hash(data, properties_at, places[number] + size, limit)
        if is_scheduled(data, topic_at, topic_bytes):
            codes[number] = ODD_CODE
        odd += codes[number] == ODD_CODE
    return odd


def find_faults(data: Bytes, limit: int, places: Table, count: int, faults: Table) -> int:
    """What is wrong with records, the sum of the bits above; returns how many have any. Arguments as of `tags_codes`."""
    found = 0
    for number in range(count):
        at = places[number]
        fetch(data, places[min(number + _RECORDS_AHEAD, count - 1)], FETCHED_AHEAD)
        size, body_at, body_bytes, topic_at, _, properties_at, _ = record_at(data, NO_BASE, at, limit)
        end = at + size
        fault = MAY_BE_TORN if is_torn(data, topic_at, properties_at, end) else 0
        if body_bytes and body_crc(data, body_at, body_bytes) != i32(data, at + BODY_CRC_POSITION):
            fault |= WRONG_BODY
        if end - RECORD_CRC_BYTES >= properties_at and i64(data, end - RECORD_CRC_BYTES) == _RECORD_CRC:
            fault |= HAS_RECORD_CRC
        faults[number] = fault
        found += fault != 0
    return found

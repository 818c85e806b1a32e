from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.message.record import decode_record, encode_record
from broker_core.store.dispatch import DelayLevels, unit_tags_code
from broker_core.store.layout import scan_records
from broker_core.store.record_columns import queue_groups, queue_units, unit_codes, wrong_checksums
from tests.support.store_bench import message

LEVELS = DelayLevels("1s 5s 10s")
TOPICS = ["O", "Orders", "Order5", "%RETRY%" + "g" * 200, "主题", "SCHEDULE_TOPIC_XXXX"]
PROPERTIES = [
    b"",
    b"TAGS\x01TagA",
    b"TAGS\x01pay-success\x02",
    b"K\x01v\x02TAGS\x01b\x02DELAY\x012",
    b"XTAGS\x01no\x02K\x01TAGS\x01neither",
    b"TAGS\x01first\x02TAGS\x01last",
    b"TAGS\x01kept\x02TAGS\x01\x02",
    b"TAGS\x01\x02K\x01v",
    "TAGS\x01标签".encode(),
    b"TAGS\x01\xff\xfe",
    b"DELAY\x0199\x02TAGS\x01late",
    b"TAGS\x01" + b"long" * 20,
]


def log_of(values) -> bytes:
    data = bytearray()
    for number, value in enumerate(values):
        data += encode_record(value, queue_offset=number, physical_offset=len(data), store_timestamp_ms=5_000 + number)
    return bytes(data)


def scanned(data: bytes):
    return np.frombuffer(data, dtype=np.uint8), scan_records(data, 0, 0, len(data))


def some_messages(count: int, seed: int = 3):
    randomness = random.Random(seed)
    for _ in range(count):
        yield message(
            randomness.choice([b"", b"\x02TAGS\x01body", randomness.randbytes(40)]),
            topic=randomness.choice(TOPICS),
            queue_id=randomness.randrange(3),
            properties=randomness.choice(PROPERTIES),
        )


def test_groups_are_the_queues_in_order():
    data, heads = scanned(log_of(some_messages(600)))
    expected: dict[tuple[str, int], list[int]] = {}
    for row, position in enumerate(heads.position.tolist()):
        one = decode_record(data.tobytes(), position)
        expected.setdefault((one.topic, one.queue_id), []).append(row)
    found = {(group.topic.decode(), group.queue_id): group.rows.tolist() for group in queue_groups(data, heads)}
    assert found == expected


def test_codes_are_those_of_a_put():
    data, heads = scanned(log_of(some_messages(600)))
    codes = unit_codes(data, heads, list(queue_groups(data, heads)), LEVELS)
    for row, position in enumerate(heads.position.tolist()):
        one = decode_record(data.tobytes(), position)
        assert codes[row] == unit_tags_code(one.topic, one.properties_bytes, one.store_timestamp_ms, LEVELS), one


@given(st.lists(st.binary(max_size=30).map(lambda noise: b"TAGS\x01" + noise) | st.binary(max_size=30), min_size=1, max_size=6))
def test_codes_of_any_properties_are_those_of_a_put(properties):
    data, heads = scanned(log_of(message(b"b", properties=text) for text in properties))
    codes = unit_codes(data, heads, list(queue_groups(data, heads)), LEVELS)
    assert codes.tolist() == [unit_tags_code("Orders", text, 0, LEVELS) for text in properties]


def test_units_are_those_of_the_worked_layout():
    _, heads = scanned(log_of([message(b"a"), message(b"bc")]))
    units = queue_units(heads, np.array([1]), np.array([0, -1685804066]))
    size = int(heads.size[0])
    assert units.tobytes().hex() == f"{size:016x}{size + 1:08x}ffffffff9b84abde"


@pytest.mark.parametrize("row", [0, 3])
def test_a_changed_body_is_a_wrong_checksum(row):
    data = bytearray(log_of([message(body) for body in (b"one", b"", b"two", b"three")]))
    heads = scan_records(bytes(data), 0, 0, len(data))
    data[int(heads.body_position[row])] ^= 1
    assert wrong_checksums(memoryview(bytes(data)), heads).tolist() == [row]


def test_no_records_have_no_groups_and_no_codes():
    data, heads = scanned(bytes(500))
    assert list(queue_groups(data, heads)) == []
    assert len(unit_codes(data, heads, [], LEVELS)) == 0

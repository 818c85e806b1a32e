from __future__ import annotations

import random

import pytest

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.log_window import good_records
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.message.sys_flag import enters_queue
from tests.support.store_bench import message

pytestmark = pytest.mark.usefixtures("both_ways")

LEVELS = DelayLevels("1s 5s 10s")
TOPICS = ("Orders", "SCHEDULE_TOPIC_XXXX", "%RETRY%" + "g" * 150)
PROPERTIES = (b"", b"TAGS\x01TagA", b"DELAY\x012\x02TAGS\x01x", "TAGS\x01标签".encode())


def log_of(count: int, *, seed: int = 5, properties: bytes | None = None, jump_at: int = -1) -> bytes:
    randomness = random.Random(seed)
    numbers: dict[tuple[str, int], int] = {}
    data = bytearray()
    for index in range(count):
        value = message(
            randomness.randbytes(randomness.randrange(1, 200)),
            topic=randomness.choice(TOPICS),
            queue_id=randomness.randrange(2),
            sys_flag=randomness.choice((0, 0, 0, 4, 8, 12)),
            properties=randomness.choice(PROPERTIES) if properties is None else properties,
        )
        key = value.topic, value.queue_id
        number = numbers.get(key, 7) + (index == jump_at)
        data += encode_record(value, queue_offset=number, physical_offset=len(data), store_timestamp_ms=1_000 + index)
        if enters_queue(value.sys_flag):
            numbers[key] = number + 1
    return bytes(data)


def window_of(data: bytes, **changes):
    return good_records(memoryview(data), 0, 0, len(data), **({"check_crc": True} | changes))


def singly(window, start: int, end: int) -> dict[tuple[str, int], bytes]:
    units: dict[tuple[str, int], bytes] = {}
    for record in window.records():
        if start <= record.physical_offset < end and enters_queue(record.sys_flag):
            code = unit_tags_code(record.topic, record.properties, record.store_timestamp_ms, LEVELS)
            key = record.topic, record.queue_id
            units[key] = units.get(key, b"") + UNIT.pack(record.physical_offset, record.size, code)
    return units


@pytest.mark.parametrize("seed", range(5))
def test_units_at_once_are_those_of_each_record(seed):
    data = log_of(500, seed=seed)
    window = window_of(data)
    offsets = window.heads.physical_offset.tolist()
    for start, end in ((0, len(data)), (offsets[100], offsets[300]), (offsets[3] + 1, offsets[4]), (len(data), len(data))):
        runs = window.unit_runs(start, end, LEVELS)
        assert {(run.topic, run.queue_id): run.units for run in runs} == singly(window, start, end)
    assert all(run.first == 7 for run in window.unit_runs(0, len(data), LEVELS))


def test_numbers_that_do_not_follow_each_other_are_left_to_a_closer_look():
    data = log_of(200, jump_at=150)
    jumper = list(window_of(data).records())[150]
    assert enters_queue(jumper.sys_flag)
    assert window_of(data).unit_runs(0, len(data), LEVELS) is None
    assert window_of(data).unit_runs(0, jumper.physical_offset, LEVELS) is not None


def test_records_in_several_queues_are_left_to_a_closer_look():
    data = log_of(20, properties=b"INNER_MULTI_DISPATCH\x01%LMQ%a")
    assert window_of(data).unit_runs(0, len(data), LEVELS) is None


@pytest.mark.parametrize("row", [0, 1, 57, 199])
@pytest.mark.parametrize("fault", ["body", "magic", "size"])
def test_a_window_ends_before_the_first_fault(row, fault):
    whole = log_of(200)
    heads = window_of(whole).heads
    data = bytearray(whole)
    position = int(heads.position[row])
    data[{"body": int(heads.body_position[row]), "magic": position + 4, "size": position}[fault]] ^= 0x40
    window = window_of(bytes(data))
    assert (len(window.heads) if window else 0) == row
    assert not window or window.heads.end == position
    if fault == "body":
        assert len(window_of(bytes(data), check_crc=False).heads) == 200

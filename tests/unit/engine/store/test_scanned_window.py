from __future__ import annotations

import random
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.scanned_window import FileScan
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.record import decode_record, encode_record
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


def window_of(data: bytes, first_taken: int = 0, *, start: int = 0, **changes):
    return FileScan(StoreConfig(root=Path("nowhere"), **changes), LEVELS).window(
        memoryview(data), 0, start, len(data), first_taken
    )


def places_of(data: bytes) -> list[int]:
    places, at = [], 0
    while at < len(data):
        places.append(at)
        at += decode_record(data, at).store_size
    return places


def singly(window, start: int) -> dict[tuple[str, int], bytes]:
    units: dict[tuple[str, int], bytes] = {}
    for record in window.records():
        if start <= record.physical_offset and enters_queue(record.sys_flag):
            code = unit_tags_code(record.topic, record.properties, record.store_timestamp_ms, LEVELS)
            key = record.topic, record.queue_id
            units[key] = units.get(key, b"") + UNIT.pack(record.physical_offset, record.size, code)
    return units


@pytest.mark.parametrize("seed", range(5))
def test_units_at_once_are_those_of_each_record(seed):
    data = log_of(500, seed=seed)
    places = places_of(data)
    for first_taken in (0, places[100], places[3] + 1, len(data)):
        window = window_of(data, first_taken)
        assert {(run.topic, run.queue_id): run.units for run in window.queues} == singly(window, first_taken)
        assert (window.first_offset, window.end_offset, window.last_store_ms) == (0, len(data), 1_499)
    assert all(run.first == 7 for run in window_of(data).queues)


def test_records_one_by_one_are_those_of_the_log():
    data = log_of(100)
    expected = [decode_record(data, at) for at in places_of(data)]
    for changes in ({}, {"force_record_crc": False, "check_crc_on_recover": False}):
        for found, one in zip(window_of(data, **changes).records(), expected, strict=True):
            assert found == (
                one.physical_offset, one.store_size, one.topic, one.queue_id, one.queue_offset, one.sys_flag,
                one.store_timestamp_ms, one.properties_bytes,
            )  # fmt: skip


def test_numbers_that_do_not_follow_each_other_are_left_to_a_closer_look():
    data = log_of(200, jump_at=150)
    jumper = list(window_of(data).records())[150]
    assert enters_queue(jumper.sys_flag)
    assert window_of(data).queues is None
    assert window_of(data[: jumper.physical_offset]).queues is not None


def test_records_in_several_queues_are_left_to_a_closer_look():
    data = log_of(20, properties=b"INNER_MULTI_DISPATCH\x01%LMQ%a")
    window = window_of(data)
    assert window.queues is None
    assert (window.end_offset, len(list(window.records()))) == (len(data), 20)


@pytest.mark.parametrize("row", [0, 1, 57, 199])
@pytest.mark.parametrize("fault", ["body", "magic", "size"])
@pytest.mark.parametrize("jump_at", [-1, 199])
def test_a_window_ends_before_the_first_fault(row, fault, jump_at):
    whole = log_of(200, jump_at=jump_at)
    position = places_of(whole)[row]
    data = bytearray(whole)
    body_at = position + 88
    data[{"body": body_at, "magic": position + 4, "size": position}[fault]] ^= 0x40
    window = window_of(bytes(data))
    assert (len(list(window.records())) if window else 0) == row
    assert not window or window.end_offset == position
    if fault == "body":
        assert len(list(window_of(bytes(data), check_crc_on_recover=False).records())) == 200


@pytest.mark.parametrize("jump_at", [-1, 30])
def test_a_window_ends_before_a_torn_record(jump_at):
    data = bytearray(log_of(40, properties=b"K\x01" + b"v" * 9_000, jump_at=jump_at))
    at = places_of(bytes(data))[35]
    border = -(-(at + 400) // 4096) * 4096
    data[border : border + 4096] = bytes(4096)
    window = window_of(bytes(data))
    assert (window.end_offset, len(list(window.records()))) == (at, 35)
    assert (window.queues is None) == (jump_at > 0)

from __future__ import annotations

import ctypes
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store.log_window import good_records
from broker_core.native import records, unit_scan
from broker_core.native.addresses import address
from broker_core.native.unit_scan import ScannedUnits, UnitScan
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, STORE_HOST_V6, enters_queue
from tests.support.machine_code import guarded, library
from tests.support.store_bench import message

LEVELS = DelayLevels("1s 5s 10s")
PLAIN_TOPICS = ("Orders", "T", "a-topic-of-more-than-sixteen-letters", "%RETRY%" + "g" * 150)
PLAIN_PROPERTIES = (
    b"", b"TAGS\x01TagA", b"KEYS\x01k\x02TAGS\x01b\x02", b"TAGS\x01\x02KEYS\x01k", b"XTAGS\x01no", b"A\x01TAGS\x02B\x01c",
    b"K\x01" + b"v" * 200 + b"\x02TAGS\x01far",
)  # fmt: skip
ODD_PROPERTIES = ("TAGS\x01标签".encode(), b"TAGS\x01a\x02TAGS\x01b", b"INNER_MULTI_DISPATCH\x01%LMQ%a")
V6 = BORN_HOST_V6 | STORE_HOST_V6
HOSTS = {False: HostAddress.parse("10.0.0.1:4711"), True: HostAddress.parse("[2001:db8::1]:4711")}


def log_of(
    seed: int,
    count: int,
    *,
    topics=PLAIN_TOPICS,
    properties=PLAIN_PROPERTIES,
    body_max: int = 300,
    jump_at: int = -1,
    base: int = 0,
) -> bytes:
    randomness = random.Random(seed)
    numbers: dict[tuple[str, int], int] = {}
    data = bytearray()
    for index in range(count):
        flags = randomness.choice((0, 0, 0, 4, 8, 12)) | randomness.choice((0, 0, BORN_HOST_V6, STORE_HOST_V6, V6))
        value = message(
            randomness.randbytes(randomness.randrange(body_max)),
            topic=randomness.choice(topics), queue_id=randomness.randrange(3), sys_flag=flags,
            properties=randomness.choice(properties),
            born_host=HOSTS[bool(flags & BORN_HOST_V6)], store_host=HOSTS[bool(flags & STORE_HOST_V6)],
        )  # fmt: skip
        key = value.topic, value.queue_id
        number = numbers.get(key, 7) + (index == jump_at)
        data += encode_record(value, queue_offset=number, physical_offset=base + len(data), store_timestamp_ms=1_000 + index)
        if enters_queue(flags):
            numbers[key] = number + 1
    return bytes(data)


def by_columns(data: bytes, first_taken: int, *, check_crc: bool, base: int = 0) -> ScannedUnits | None:
    window = good_records(memoryview(data), base, 0, len(data), check_crc=check_crc)
    if window is None:
        return None
    runs = window.unit_runs(first_taken, base + len(data), LEVELS)
    return None if runs is None else ScannedUnits(window.end, window.last_store_ms, sorted(runs))


def scanned(scan: UnitScan, data: bytes, first_taken: int = 0, *, check_crc: bool = True, base: int = 0) -> ScannedUnits | None:
    found = scan.window(memoryview(data), base, 0, len(data), first_taken=first_taken, check_crc=check_crc)
    return found and ScannedUnits(found.end, found.last_store_ms, sorted(found.queues))


@pytest.fixture(params=["machine code", "python"])
def scan(request) -> UnitScan:
    return UnitScan(library() if request.param == "machine code" else None)


@pytest.mark.parametrize("base", [0, 1 << 40])
@pytest.mark.parametrize("seed", range(4))
def test_units_are_those_of_the_columns(scan, seed, base):
    data = log_of(seed, 300, base=base)
    for first_taken in (0, base + len(data) // 2, base + len(data)):
        found = scanned(scan, data, first_taken, base=base)
        assert found == by_columns(data, first_taken, check_crc=True, base=base)
        assert found is not None


def test_a_scan_keeps_its_queues_and_takes_many(scan):
    topics = [f"T{number}" for number in range(300)]
    for seed in range(3):
        data = log_of(seed, 900, topics=topics, body_max=9)
        assert scanned(scan, data) == by_columns(data, 0, check_crc=True)


@pytest.mark.parametrize("odd", [*ODD_PROPERTIES, b"DELAY\x012"])
def test_what_is_odd_is_left_to_python(scan, odd):
    topics = ("SCHEDULE_TOPIC_XXXX",) if odd.startswith(b"DELAY") else PLAIN_TOPICS
    data = log_of(1, 50, topics=topics, properties=(odd,))
    assert scanned(scan, data) is None
    assert scanned(scan, log_of(1, 50, jump_at=40)) is None
    ahead = scanned(scan, data, len(data))
    assert ahead is not None, "records that give no units are only checked"
    assert (ahead.end, ahead.queues) == (len(data), [])


def test_too_many_queues_are_left_to_python(scan, monkeypatch):
    monkeypatch.setattr(unit_scan, "QUEUES_MAX", 3)
    assert scanned(scan, log_of(2, 100)) is None


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 30), count=st.integers(1, 40), place=st.floats(0, 1), xor=st.integers(1, 255),
    cut=st.floats(0, 1), check_crc=st.booleans(), zeros=st.booleans(), odd=st.booleans(),
)  # fmt: skip
def test_damaged_logs_are_read_alike(*, seed, count, place, xor, cut, check_crc, zeros, odd):
    properties = (*PLAIN_PROPERTIES, *ODD_PROPERTIES) if odd else PLAIN_PROPERTIES
    data = bytearray(log_of(seed, count, properties=properties, body_max=2_000))
    at = min(int(place * len(data)), len(data) - 1)
    if zeros:
        page = at // records.PAGE_BYTES * records.PAGE_BYTES
        data[page : page + records.PAGE_BYTES] = bytes(len(data[page : page + records.PAGE_BYTES]))
    else:
        data[at] ^= xor
    del data[max(int((0.5 + cut) * len(data)), 1) :]
    compiled, in_python = (UnitScan(one) for one in (library(), None))
    first_taken = len(data) // 3
    found = scanned(compiled, bytes(data), first_taken, check_crc=check_crc)
    assert found == scanned(in_python, bytes(data), first_taken, check_crc=check_crc)
    if found is not None:
        assert found == by_columns(bytes(data), first_taken, check_crc=check_crc)


def test_no_byte_behind_the_file_is_read():
    for seed in range(20):
        data = log_of(seed, 30)
        with guarded(data) as view:
            found = UnitScan(library()).window(view, 0, 0, len(data), first_taken=0, check_crc=True)
        assert found is not None
        assert found.end == len(data)


def test_an_address_is_where_the_bytes_are():
    for buffer in (b"abc", bytearray(b"abc"), memoryview(b"xabc")[1:]):
        assert ctypes.string_at(address(buffer), 3) == b"abc"

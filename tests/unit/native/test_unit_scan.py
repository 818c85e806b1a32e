from __future__ import annotations

import ctypes
import random
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.config import StoreConfig
from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.scanned_window import FileScan
from broker_core.native import records, unit_scan
from broker_core.native.addresses import address
from broker_core.native.unit_scan import QueueUnits, ScannedUnits, UnitScan
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
ODD_TAGS = (
    "TAGS\x01标签".encode(), b"TAGS\x01a\x02TAGS\x01b", b"INNER_NUM\x011\x02TAGS\x01a", b"INNER_MULTI_QUEUE_OFFSET\x011",
    b"TAGS\x01\xff\x02K\x01INNER_MULTI_DISPATCH", b"INNER_MULTI_DISPATCH\x02TAGS\x01a",
)  # fmt: skip
IN_SEVERAL_QUEUES = (
    b"INNER_MULTI_DISPATCH\x01%LMQ%a", b"TAGS\x01\xff\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02K\x01v",
    b"INNER_NUM\x011\x02INNER_MULTI_DISPATCH\x01",
)  # fmt: skip
ODD_PROPERTIES = (*ODD_TAGS, *IN_SEVERAL_QUEUES)
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


def file_scan(*, check_crc: bool) -> FileScan:
    return FileScan(StoreConfig(root=Path("nowhere"), native="off", check_crc_on_recover=check_crc), LEVELS)


def one_by_one(data: bytes, first_taken: int, *, check_crc: bool, base: int = 0) -> ScannedUnits | None:
    """What the records say, each read by itself; None where they must be."""
    records = list(file_scan(check_crc=check_crc)._records(memoryview(data), base, 0, len(data)))
    queues: dict[tuple[str, int], tuple[int, list[bytes]]] = {}
    for record in records:
        if record.physical_offset < first_taken or not enters_queue(record.sys_flag):
            continue
        first, units = queues.setdefault((record.topic, record.queue_id), (record.queue_offset, []))
        if first + len(units) != record.queue_offset or b"\x02INNER_MULTI_DISPATCH\x01" in b"\x02" + record.properties:
            return None
        code = unit_tags_code(record.topic, record.properties, record.store_timestamp_ms, LEVELS)
        units.append(UNIT.pack(record.physical_offset, record.size, code))
    if not records:
        return None
    found = sorted(QueueUnits(*key, first, b"".join(units)) for key, (first, units) in queues.items())
    return ScannedUnits(records[-1].physical_offset + records[-1].size - base, records[-1].store_timestamp_ms, found)


def scanned(scan: UnitScan, data: bytes, first_taken: int = 0, *, check_crc: bool = True, base: int = 0) -> ScannedUnits | None:
    view, codes = memoryview(data), file_scan(check_crc=check_crc)._codes
    found = scan.window(
        view, base, 0, len(data), first_taken=first_taken, check_crc=check_crc, codes_of=partial(codes, view, base)
    )
    return found and ScannedUnits(found.end, found.last_store_ms, sorted(found.queues))


@pytest.fixture(params=["machine code", "python"])
def scan(request) -> UnitScan:
    return UnitScan(library() if request.param == "machine code" else None)


@pytest.mark.parametrize("base", [0, 1 << 40])
@pytest.mark.parametrize("seed", range(4))
def test_units_are_those_of_each_record(scan, seed, base):
    data = log_of(seed, 300, base=base)
    for first_taken in (0, base + len(data) // 2, base + len(data)):
        found = scanned(scan, data, first_taken, base=base)
        assert found == one_by_one(data, first_taken, check_crc=True, base=base)
        assert found is not None


def test_a_scan_keeps_its_queues_and_takes_many(scan):
    topics = [f"T{number}" for number in range(300)]
    for seed in range(3):
        data = log_of(seed, 900, topics=topics, body_max=9)
        assert scanned(scan, data) == one_by_one(data, 0, check_crc=True)


@pytest.mark.parametrize("odd", [*ODD_TAGS, b"DELAY\x012", b"DELAY\x0199\x02TAGS\x01late"])
@pytest.mark.parametrize("every", [True, False])
def test_codes_of_odd_records_are_made_by_python(scan, odd, every):
    topics = ("SCHEDULE_TOPIC_XXXX",) if odd.startswith(b"DELAY") else PLAIN_TOPICS
    data = log_of(1, 150, topics=topics, properties=(odd,) if every else (odd, *PLAIN_PROPERTIES))
    for first_taken in (0, len(data) // 2):
        found = scanned(scan, data, first_taken)
        assert found == one_by_one(data, first_taken, check_crc=True)
        assert found is not None


@pytest.mark.parametrize("several", IN_SEVERAL_QUEUES)
def test_what_is_in_several_queues_or_does_not_follow_is_left_to_a_look_at_each_record(scan, several):
    data = log_of(1, 50, properties=(several,))
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
    assert found == one_by_one(bytes(data), first_taken, check_crc=check_crc)


def test_no_byte_behind_the_file_is_read():
    for seed in range(20):
        data = log_of(seed, 30)
        with guarded(data) as view:
            found = UnitScan(library()).window(view, 0, 0, len(data), first_taken=0, check_crc=True, codes_of=list)
        assert found is not None
        assert found.end == len(data)


def test_an_address_is_where_the_bytes_are():
    for buffer in (b"abc", bytearray(b"abc"), memoryview(b"xabc")[1:]):
        assert ctypes.string_at(address(buffer), 3) == b"abc"

from __future__ import annotations

import itertools
import random
import struct
from array import array
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.config import StoreConfig
from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.inspection.verify import Verification
from broker_core.engine.store.layout import scan_records
from broker_core.engine.store.record_columns import faults_of, queue_runs, topics_of, unit_codes
from broker_core.engine.store.record_heads import HeadScan
from broker_core.engine.store.scanned_window import FileScan
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.message.sys_flag import enters_queue
from tests.support.machine_code import library
from tests.support.store_bench import message
from tests.support.store_writer import StoreWriter

pytestmark = pytest.mark.usefixtures("both_ways")

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


def log_of(values, numbers=None) -> bytes:
    data = bytearray()
    for time_ms, (value, number) in enumerate(zip(values, numbers or itertools.count(), strict=False), 5_000):
        data += encode_record(value, queue_offset=number, physical_offset=len(data), store_timestamp_ms=time_ms)
    return bytes(data)


def scanned(data: bytes):
    return memoryview(data), scan_records(data, 0, 0, len(data))


def some_messages(count: int, seed: int = 3):
    randomness = random.Random(seed)
    for _ in range(count):
        yield message(
            randomness.choice([b"", b"\x02TAGS\x01body", randomness.randbytes(40)]),
            topic=randomness.choice(TOPICS),
            queue_id=randomness.randrange(3),
            properties=randomness.choice(PROPERTIES),
            sys_flag=randomness.choice((0, 0, 4, 8, 12)),
        )


def numbers_of(messages):
    """Queue offsets that follow each other mostly."""
    ends: dict[tuple[str, int], int] = {}
    for index, one in enumerate(messages):
        key = one.topic, one.queue_id
        number = ends.get(key, 0) + 5 * (index % 100 == 99)
        ends[key] = number + enters_queue(one.sys_flag)
        yield number


def test_runs_are_the_queues_in_order():
    messages = list(some_messages(600))
    data, heads = scanned(log_of(messages, numbers_of(messages)))
    expected: dict[tuple[str, int], list[list[int]]] = {}
    last: dict[tuple[str, int], int] = {}
    for row, position in enumerate(heads.position.tolist()):
        one = decode_record(data.tobytes(), position)
        key = one.topic, one.queue_id
        runs = expected.setdefault(key, [])
        if enters_queue(one.sys_flag):
            if last.get(key) != one.queue_offset - 1:
                runs.append([])
            runs[-1].append(row)
            last[key] = one.queue_offset
    found: dict[tuple[str, int], list[list[int]]] = {key: [] for key in expected}
    codes = unit_codes(data, heads, LEVELS).codes
    for run in queue_runs(data, heads, codes):
        rows = run.rows.tolist()
        found[run.key].append(rows)
        assert run.first == heads.queue_offset[rows[0]]
        units = [(heads.physical_offset[row], heads.size[row], codes[row]) for row in rows]
        assert list(UNIT.iter_unpack(run.units)) == units
    assert found == expected
    assert list(found) == list(expected), "in the order of their first records"
    assert sum(map(len, found.values())) > len(found)
    assert list(topics_of(data, heads)) == [one.topic for one in messages]


def test_codes_are_those_of_a_put():
    data, heads = scanned(log_of(some_messages(600)))
    codes = unit_codes(data, heads, LEVELS).codes
    for row, position in enumerate(heads.position.tolist()):
        one = decode_record(data.tobytes(), position)
        assert codes[row] == unit_tags_code(one.topic, one.properties_bytes, one.store_timestamp_ms, LEVELS), one


@given(st.lists(st.binary(max_size=30).map(lambda noise: b"TAGS\x01" + noise) | st.binary(max_size=30), min_size=1, max_size=6))
def test_codes_of_any_properties_are_those_of_a_put(properties):
    data, heads = scanned(log_of(message(b"b", properties=text) for text in properties))
    codes = unit_codes(data, heads, LEVELS).codes
    assert codes.tolist() == [unit_tags_code("Orders", text, 0, LEVELS) for text in properties]


@pytest.mark.parametrize("properties", PROPERTIES)
@pytest.mark.parametrize("other", [None, 0, 70, 129])
def test_codes_of_records_of_equal_lengths_are_those_of_a_put(properties, other):
    texts = [b"KEYS\x01%03d\x02" % number + properties for number in range(130)]
    if other is not None:
        texts[other] = texts[other].replace(b"a", b"b").replace(b"TAGS", b"TAGZ")
    data, heads = scanned(log_of(message(b"b", properties=text) for text in texts))
    codes = unit_codes(data, heads, LEVELS).codes
    assert codes.tolist() == [unit_tags_code("Orders", text, 0, LEVELS) for text in texts]


def test_units_are_those_of_the_worked_layout():
    data, heads = scanned(log_of([message(b"a", queue_id=1), message(b"bc")]))
    _, run = queue_runs(data, heads, memoryview(array("q", [0, -1685804066])))
    size = heads.size[0]
    assert run.units.hex() == f"{size:016x}{size + 1:08x}ffffffff9b84abde"


@pytest.mark.parametrize("row", [0, 3])
def test_a_changed_body_is_a_wrong_checksum(row):
    data = bytearray(log_of([message(body) for body in (b"one", b"", b"two", b"three")]))
    heads = scan_records(bytes(data), 0, 0, len(data))
    data[int(heads.body_position[row])] ^= 1
    assert faults_of(memoryview(data), heads).wrong_body == [row]


@pytest.mark.parametrize("row", [0, 63, 64, 129])
@pytest.mark.parametrize("hosts", [{}, {"born_host": HostAddress(bytes(16), 5)}])
def test_a_changed_body_among_equal_lengths_is_a_wrong_checksum(row, hosts):
    data = bytearray(log_of([message(b"%03d" % number, **hosts) for number in range(130)]))
    heads = scan_records(bytes(data), 0, 0, len(data))
    assert faults_of(memoryview(data), heads).wrong_body == []
    data[int(heads.body_position[row])] ^= 1
    assert faults_of(memoryview(data), heads).wrong_body == [row]


def test_no_records_have_no_groups_and_no_codes():
    data, heads = scanned(bytes(500))
    codes = unit_codes(data, heads, LEVELS).codes
    assert len(codes) == 0
    assert list(queue_runs(data, heads, codes)) == []


def ending_at_page(properties: bytes, before_border: int, *, topic: str = "Orders") -> bytes:
    """One record, ``before_border`` bytes of whose topic and properties lie before a page's border."""
    rest = len(topic) + 2 + len(properties)
    body = bytes(4096 - 88 - 1 - before_border) if before_border <= rest else b""
    return log_of([message(body, topic=topic, properties=properties)])


@pytest.mark.parametrize("before_border", [1, 5, 8, 9, 20])
def test_properties_and_topics_in_a_page_of_zeros_are_torn(before_border):
    whole = ending_at_page(b"", before_border) if before_border < 6 else ending_at_page(b"KEYS\x01some keys", before_border)
    if before_border >= 8:
        assert faults_of(*scanned(whole + bytes(5_000))).torn == []
    torn = bytearray(whole[:4096].ljust(len(whole), b"\0")) + bytes(5_000)
    data, heads = scanned(bytes(torn))
    assert not len(heads) or faults_of(data, heads).torn == [0]
    assert len(heads) or before_border < 9


def test_a_page_of_zeros_amid_long_properties_is_torn():
    whole = bytearray(log_of([message(b"b", properties=b"K\x01" + b"v" * 12_000)]))
    assert faults_of(*scanned(bytes(whole))).torn == []
    whole[4096:8192] = bytes(4096)
    assert faults_of(*scanned(bytes(whole))).torn == [0]


def test_zero_bytes_in_properties_are_not_torn_while_anything_follows_them():
    properties = b"K\x01v" + bytes(40)
    data = bytearray(log_of([message(bytes(4096 - 88 - 1 - 6 - 2 - 3), properties=properties), message(b"next")]))
    found, heads = scanned(bytes(data))
    assert len(heads) == 2
    assert faults_of(found, heads).torn == []


def test_an_empty_length_at_a_border_is_not_torn():
    for before_border in (6, 7, 8):
        whole = ending_at_page(b"", before_border)
        data, heads = scanned(whole + bytes(5_000))
        assert len(heads) == 1
        assert faults_of(data, heads).torn == []


# ---- checksums of whole records ----------------------------------------------------------------------------------------


def with_record_crc(root, *, break_it=False):
    """One record as 5.2 writes it with enabledAppendPropCRC, between two without."""
    writer = StoreWriter(root)
    writer.append("T", b"before")
    start = writer.append("T", b"body", b"KEYS\x01k\x02" + b"__CRC32#\x010000000000\x02")
    writer.append("T", b"behind")
    writer.flush()
    path = root / "commitlog" / f"{0:020d}"
    data = bytearray(path.read_bytes())
    (size,) = struct.unpack_from(">i", data, start)
    found = crc32(data[start : start + size - 20]) & 0x7FFFFFFF
    digits = f"{found + break_it:010d}"[::-1].encode()
    data[start + size - 11 : start + size - 1] = digits
    path.write_bytes(data)
    return bytes(data), start


def test_the_digits_of_a_record_checksum_are_those_of_the_specification(tmp_path):
    record = b"__CRC32#\x011770725870\x02"
    assert record.hex() == "5f5f4352433332230131373730373235383730" + "02"
    assert int(record[9:19][::-1]) == 785270771
    data, start = with_record_crc(tmp_path)
    heads = scan_records(data, 0, 0, len(data))
    faults = faults_of(memoryview(data), heads)
    assert heads.physical_offset[1] == start
    assert (faults.with_crc, faults.wrong_crc) == ([1], [])


def test_a_wrong_record_checksum_is_noticed(tmp_path):
    data, _ = with_record_crc(tmp_path, break_it=True)
    heads = scan_records(data, 0, 0, len(data))
    assert faults_of(memoryview(data), heads).wrong_crc == [1]


@pytest.mark.parametrize(("forced", "expected"), [(False, 3), (True, 0)])
def test_recovery_asks_for_record_checksums_where_it_is_told_to(tmp_path, forced, expected):
    data, _ = with_record_crc(tmp_path, break_it=True)
    config = StoreConfig(root=tmp_path, force_record_crc=forced)
    window = FileScan(config, LEVELS).window(memoryview(data), 0, 0, len(data), 0)
    assert (len(list(window.records())) if window else 0) == expected


def test_verify_names_a_record_whose_checksum_is_wrong(tmp_path):
    with_record_crc(tmp_path, break_it=True)
    run = Verification(tmp_path, DelayLevels("1s"))
    assert any("__CRC32#" in finding.text for finding in run.findings())


@pytest.mark.parametrize("way", ["machine code", "python"])
@pytest.mark.parametrize("count", [1, 3, 40, 300])
def test_records_are_told_apart_by_topic_however_many_there_are(way, count):
    topics = [["T", "Topic", "TopicOfShop", "t" * 130][number % 4] + str(number) * (number > 3) for number in range(count)]
    data, expected = bytearray(), {}
    for number in range(3 * count):
        topic = topics[number % count]
        expected.setdefault(topic.encode(), []).append(number)
        data += encode_record(
            message(b"x", topic=topic), queue_offset=number, physical_offset=len(data), store_timestamp_ms=number
        )
    heads = scan_records(bytes(data), 0, 0, len(data))
    scan = HeadScan(library() if way == "machine code" else None)
    groups = scan.groups(memoryview(data), heads.topic_position, heads.topic_bytes)
    found: dict[bytes, list[int]] = {}
    for row, group in enumerate(groups.of_row.tolist()):
        first = int(groups.firsts[group])
        at = int(heads.topic_position[first])
        found.setdefault(bytes(data[at : at + int(heads.topic_bytes[first])]), []).append(row)
    assert found == expected

from __future__ import annotations

import mmap
import random
import struct
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.store import record_heads
from broker_core.engine.store.layout import commit_log_files, records_at, scan_records
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import decode_record, encode_record
from tests.support.golden import golden_store
from tests.support.store_bench import message

pytestmark = pytest.mark.usefixtures("both_ways")

BASE = 3 * 4096
V6 = HostAddress.parse("[::1]:1")
KINDS = [
    {},
    {"born_host": V6},
    {"store_host": V6},
    {"born_host": V6, "store_host": V6},
    {"topic": "%RETRY%" + "g" * 200},
    {"body": b"", "properties": b""},
]


def log_bytes(count: int, *, seed: int = 1, bodies=None, base: int = BASE) -> tuple[bytes, list[int]]:
    """Consecutive records of all kinds, and their positions."""
    randomness = random.Random(seed)
    data, positions = bytearray(), []
    for number in range(count):
        body = bodies[number] if bodies else randomness.randbytes(randomness.randrange(300))
        value = message(**({"body": body, "flag": -number, "queue_id": number % 5} | KINDS[number % len(KINDS)]))
        positions.append(len(data))
        data += encode_record(value, queue_offset=number, physical_offset=base + len(data), store_timestamp_ms=1000 + number)
    return bytes(data), positions


def numbers(values) -> memoryview:
    return memoryview(array("q", values))


def filler(rest: int) -> bytes:
    return struct.pack(">iI", rest, 0xCBD43194) + bytes(rest - 8)


def test_columns_agree_with_decoding_each_record():
    data, positions = log_bytes(500)
    heads = scan_records(data, BASE, 0, len(data))
    assert heads.position.tolist() == positions
    assert heads.damage == []
    for index, position in enumerate(positions):
        one = decode_record(data, position)
        start, topic_at, properties_at = (
            heads.body_position[index],
            heads.topic_position[index],
            heads.properties_position[index],
        )
        assert data[start : start + heads.body_bytes[index]] == one.body
        assert data[topic_at : topic_at + heads.topic_bytes[index]].decode() == one.topic
        assert data[properties_at : properties_at + heads.properties_bytes[index]] == one.properties_bytes
        assert (heads.size[index], heads.body_crc[index], heads.sys_flag[index]) == (one.store_size, one.body_crc, one.sys_flag)
        assert (heads.queue_id[index], heads.queue_offset[index], heads.flag[index]) == (
            one.queue_id,
            one.queue_offset,
            one.flag,
        )
        assert heads.physical_offset[index] == one.physical_offset == BASE + position
        assert (heads.born_ms[index], heads.store_ms[index]) == (one.born_timestamp_ms, one.store_timestamp_ms)
        assert (heads.reconsume[index], heads.prepared_offset[index]) == (0, 0)


@pytest.mark.parametrize("ending", ["nothing", "zeros", "filler", "smallest filler", "record cut off"])
def test_the_end_of_a_file_is_understood(ending):
    data, positions = log_bytes(10)
    rest = {"nothing": b"", "zeros": bytes(500), "filler": filler(500), "smallest filler": filler(8)}
    file = data[:-5] if ending == "record cut off" else data + rest[ending]
    heads = scan_records(file, BASE, 0, len(file))
    cut = ending == "record cut off"
    assert heads.position.tolist() == (positions[:-1] if cut else positions)
    assert heads.end == (positions[-1] if cut else len(data))
    assert heads.ended_by_filler is ("filler" in ending)
    assert bool(heads.damage) is cut


def test_reading_goes_on_behind_a_damaged_place_and_names_it():
    data, positions = log_bytes(20)
    file = bytearray(data)
    file[positions[7]] ^= 0x55  # its size
    file[positions[12] + 4 : positions[12] + 8] = b"\0\0\0\0"  # its magic code
    heads = scan_records(bytes(file), BASE, 0, len(file))
    assert heads.position.tolist() == [position for index, position in enumerate(positions) if index not in (7, 12)]
    assert [place.position for place in heads.damage] == [positions[7], positions[12]]
    assert f"{positions[8] - positions[7]} bytes" in heads.damage[0].reason


def test_a_record_inside_a_body_is_no_record():
    inner = encode_record(message(b"inner"), queue_offset=0, physical_offset=0, store_timestamp_ms=0)
    own_place = bytearray(inner)
    struct.pack_into(">q", own_place, 28, BASE + 88)  # even one that names its own position
    data, positions = log_bytes(3, bodies=[bytes(own_place), inner, b"x"])
    heads = scan_records(data, BASE, 0, len(data))
    assert heads.position.tolist() == positions
    assert heads.damage == []


def test_a_start_and_an_end_bound_the_scan():
    data, positions = log_bytes(10)
    heads = scan_records(data, BASE, positions[3], positions[8])
    assert heads.position.tolist() == positions[3:8]
    assert (heads.end, heads.damage) == (positions[8], [])


def test_records_of_another_place_are_not_taken_for_this_ones():
    data, _ = log_bytes(10)
    heads = scan_records(data, BASE + 512, 0, len(data))
    assert len(heads) == 0
    assert len(heads.damage) == 1


def test_a_mapping_can_be_scanned_and_closed(tmp_path):
    data, positions = log_bytes(50, base=0)
    path = tmp_path / "file"
    path.write_bytes(data)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    heads = scan_records(mapped, 0, 0, len(data))
    assert heads.position.tolist() == positions
    mapped.close()


@given(st.binary(max_size=400), st.integers(0, 2), st.integers(0, 1000))
def test_any_bytes_are_scanned_without_error(noise, count, cut):
    data, _ = log_bytes(count)
    file = data + noise + data
    heads = scan_records(file, BASE, 0, max(0, len(file) - cut))
    ends = map(sum, zip(heads.position, heads.size, strict=True))
    assert all(data_end <= len(file) - cut for data_end in ends)


@pytest.mark.parametrize("name", ["normal", "normal-5", "ipv6", "torn"])
def test_golden_stores_have_the_described_records(name, tmp_path):
    golden = golden_store(name)
    root = golden.unpack(tmp_path)
    found: list[int] = []
    for path, base in commit_log_files(root):
        data = path.read_bytes()
        heads = scan_records(data, base, 0, len(data))
        found += heads.physical_offset.tolist()
    assert sorted(set(found)) == sorted({one.columns["physicalOffset"] for one in golden.messages()})


def test_files_are_listed_by_offset_and_others_passed_over(tmp_path):
    (tmp_path / "commitlog").mkdir()
    for name in ("00000000000000004096", "00000000000000000000", "notes.txt", "123"):
        (tmp_path / "commitlog" / name).touch()
    assert [base for _, base in commit_log_files(tmp_path)] == [0, 4096]
    assert commit_log_files(tmp_path / "nowhere") == []


def test_heads_at_given_places_are_those_of_the_scan():
    data, positions = log_bytes(60)
    every = scan_records(data, BASE, 0, len(data))
    wanted = [-5, positions[3], positions[7] + 1, positions[20], positions[59], len(data) - 3, len(data) + 9]
    found = records_at(data, BASE, numbers(BASE + position for position in wanted))
    assert found.position.tolist() == [positions[3], positions[20], positions[59]]
    assert found.end == len(data)
    rows = [3, 20, 59]
    for name in (
        "size",
        "queue_id",
        "store_ms",
        "topic_position",
        "topic_bytes",
        "properties_position",
        "body_bytes",
        "sys_flag",
    ):
        assert getattr(found, name).tolist() == [getattr(every, name)[row] for row in rows]
    assert len(records_at(data, BASE, numbers([]))) == 0


def test_more_records_than_there_is_room_for_at_first_are_all_read(monkeypatch):
    data, _ = log_bytes(100)
    whole = scan_records(data, BASE, 0, len(data))
    monkeypatch.setattr(record_heads, "_ROWS_AT_FIRST", 7)
    found = scan_records(data, BASE, 0, len(data))
    assert (found.columns, found.end) == (whole.columns, whole.end)
    assert records_at(data, BASE, whole.physical_offset).columns == whole.columns

from __future__ import annotations

import itertools
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store.index_build import IndexBuilder
from broker_core.engine.store.index_file import Geometry, IndexFile, IndexHeader
from broker_core.engine.store.index_keys import KeyBatch, KeyReader, key_hash
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.message.tags import java_string_hash
from tests.support.machine_code import library
from tests.support.store_bench import FaultyDisk, message

OVERFLOWING = "T#cuikacpk"


def made(path, *, slots: int = 7, items: int = 40, header: IndexHeader | None = None) -> IndexFile:
    return IndexFile.create(path, Geometry(slots, items), header or IndexHeader(), FaultyDisk(), read_only=False)


def keys(rows: list[tuple[int, int, int]]) -> KeyBatch:
    return KeyBatch(array("q", [value for row in rows for value in row]), 0)


@pytest.fixture(params=["machine code", "python"])
def builder(request) -> IndexBuilder:
    return IndexBuilder(library() if request.param == "machine code" else None)


@given(st.text(min_size=1), st.text(min_size=1))
def test_hashes_are_java_s_made_positive(topic, key):
    assert key_hash(topic, key) == abs(java_string_hash(f"{topic}#{key}")) % (1 << 31)


def test_a_hash_that_has_no_absolute_value_is_0():
    assert java_string_hash(OVERFLOWING) == -(1 << 31)
    topic, key = OVERFLOWING.split("#")
    assert key_hash(topic, key) == 0


def test_unique_key_first_then_each_word_of_the_keys():
    record = encode_record(
        message(properties=b"KEYS\x01a  b\x02UNIQ_KEY\x01u"), queue_offset=0, physical_offset=500, store_timestamp_ms=7
    )
    found = KeyReader(None).read(record * 2 + b"\xff", 500)  # the second is not where it says
    hashes = [abs(java_string_hash(text)) for text in ("Orders#u", "Orders#a", "Orders#b")]
    assert found.table.tolist() == [value for hashed in hashes for value in (hashed, 500, 7)]
    assert found.end == 500 + len(record)


@pytest.mark.parametrize(("sys_flag", "count"), [(0x0, 1), (0x4, 1), (0x8, 1), (0xC, 0)])
def test_of_the_transactional_kinds_only_rollback_is_left_out(sys_flag, count):
    record = encode_record(
        message(sys_flag=sys_flag, properties=b"KEYS\x01a"), queue_offset=0, physical_offset=0, store_timestamp_ms=7
    )
    assert len(KeyReader(None).read(record, 0)) == count


def test_the_bytes_are_those_of_the_worked_example(builder, tmp_path):
    file = made(tmp_path / "20231114221320000", slots=5_000_000, items=20_000_000)
    first, second = 1700000000123, 1700000003500
    names = ["C0A801141A2B18B4AAC247B760000000", "K1", "C0A801141A2B18B4AAC247B76D480001", "K1"]
    hashes = [key_hash("TopicTest", name) for name in names]
    rows = list(zip(hashes, (0, 0, 196, 196), (first, first, second, second), strict=True))
    assert builder.add_keys(file, keys(rows), 0) == 4
    data = file.buffer
    assert data[:40].hex() == ("0000018bcfe5687b0000018bcfe575ac000000000000000000000000000000c40000000300000005")
    assert [data[position : position + 4].hex() for position in (3719736, 10980168, 7712692)] == [
        "00000001",
        "00000004",
        "00000003",
    ]
    assert data[20000060:20000140].hex() == (
        "6d6e1144" + "00" * 16 + "0029e2c8" + "00" * 16
        + "69512f2300000000000000c40000000300000000" + "0029e2c800000000000000c40000000300000002"
    )  # fmt: skip
    assert list(file.offsets(hashes[1], 0, 1 << 60)) == [196, 0]
    assert list(file.offsets(hashes[1], 1700000001200, 1700000009000)) == [196]
    assert (tmp_path / "20231114221320000").stat().st_blocks * 512 < 1_000_000


def test_a_file_behind_a_full_one_counts_its_first_time_from_that_one(builder, tmp_path):
    before = IndexHeader(1700000000123, 1700000003500, 0, 196, 3, 5)
    file = made(tmp_path / "2", header=before.followed())
    builder.add_keys(file, keys([(2745032, 372, 1700000010999)]), 0)
    assert file.header.encode().hex() == ("0000018bcfe592f70000018bcfe592f7000000000000017400000000000001740000000100000002")
    assert file.item(1) == (2745032, 372, 7, 0)
    assert list(file.offsets(2745032, 1700000010999, 1700000010999)) == [372]


@pytest.mark.parametrize("way", ["machine code", "python"])
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(-5_000, 9_000)), max_size=60),
    st.lists(st.integers(1, 20), min_size=1, max_size=10),
)
def test_many_at_a_time_write_what_one_by_one_would(tmp_path_factory, way, steps, cuts):
    """Against the rules of the format, followed word by word."""
    rows, now = [], 1_700_000_000_000
    for number, (hashed, step) in enumerate(steps):
        now += step
        rows.append((hashed, number * 100, now))
    file, batch = made(tmp_path_factory.mktemp("many") / "1"), keys(rows)
    builder = IndexBuilder(library() if way == "machine code" else None)
    done, sizes = 0, itertools.cycle(cuts)
    while done < len(rows) and not file.is_full:
        part = KeyBatch(batch.table[: 3 * (done + next(sizes))], 0)
        done += builder.add_keys(file, part, done)
    assert done == min(len(rows), 39)
    assert bytes(file.buffer) == word_by_word(rows[:39], slots=7, items=40)


def word_by_word(rows, *, slots: int, items: int) -> bytes:
    table, lines = [0] * slots, [(0, 0, 0, 0)] * items
    begin = end = begin_offset = end_offset = used = 0
    number = 1
    for hashed, offset, now in rows:
        previous = table[hashed % slots]
        seconds = max(int((now - begin) / 1000), 0) if begin > 0 else 0
        lines[number] = (hashed, offset, seconds, previous)
        table[hashed % slots] = number
        if number == 1:
            begin, begin_offset = now, offset
        used += previous == 0
        number += 1
        end, end_offset = now, offset
    head = IndexHeader(begin, end, begin_offset, end_offset, used, number).encode()
    body = b"".join(slot.to_bytes(4, "big") for slot in table)
    tail = [h.to_bytes(4, "big") + o.to_bytes(8, "big") + s.to_bytes(4, "big") + p.to_bytes(4, "big") for h, o, s, p in lines]
    return head + body + b"".join(tail)


def test_restoring_an_earlier_end_forgets_the_later_items(builder, tmp_path):
    rows = [(number % 5, number * 100, 1_700_000_000_000 + number) for number in range(30)]
    file = made(tmp_path / "1")
    builder.add_keys(file, keys(rows[:12]), 0)
    early = file.header
    kept = bytes(file.buffer[: file.item_position(early.next_item)])
    builder.add_keys(file, keys(rows), 12)
    builder.restore(file, early)
    assert bytes(file.buffer[: file.item_position(early.next_item)]) == kept
    assert list(file.offsets(4, 0, 1 << 60)) == [900, 400]

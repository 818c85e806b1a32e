from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store.index_keys import KeyReader
from broker_core.native.key_scan import KeyScan
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.properties import find_property
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.message.tags import java_string_hash
from tests.support.machine_code import library
from tests.support.store_bench import message

BASE = 4096
MANY = 100


ROW = 3


@pytest.fixture(params=["machine code", "kernel in python", "record by record"])
def reader(request) -> KeyReader:
    """Each case with machine code, with the kernel as it is, and without."""
    return reader_by(request.param)


def reader_by(way: str) -> KeyReader:
    made = KeyReader(library() if way == "machine code" else None)
    if way == "kernel in python":
        made._scan = KeyScan(None)
    return made


def properties(number: int) -> bytes:
    return b"KEYS\x01K%05d\x02UNIQ_KEY\x01C0A801141A2B18B4AAC24%011d\x02TAGS\x01TagA" % (number, number * 7919)


def log_of(messages, *, base: int = BASE) -> bytes:
    """Records of the given messages, one behind the other."""
    parts: list[bytes] = []
    position = base
    for number, one in enumerate(messages):
        parts.append(encode_record(one, queue_offset=number, physical_offset=position, store_timestamp_ms=1_700 + number))
        position += len(parts[-1])
    return b"".join(parts)


def expected(data: bytes) -> list[tuple[int, int, int]]:
    """Hash, physical offset and store time of each key, by the rules of the format."""
    found: list[tuple[int, int, int]] = []
    position = 0
    while position < len(data):
        size = int.from_bytes(data[position : position + 4])
        record = decode_record(data[position : position + size])
        keys = (find_property(record.properties_bytes, "KEYS") or "").split(" ")
        for key in (find_property(record.properties_bytes, "UNIQ_KEY") or "", *keys):
            if key and record.sys_flag & 0xC != 0xC:
                text = abs(java_string_hash(f"{record.topic}#{key}")) % (1 << 31)
                found.append((text, record.physical_offset, record.store_timestamp_ms))
        position += size
    return found


def rows(batch) -> list[tuple[int, int, int]]:
    return list(zip(*(batch.table[column::ROW] for column in range(ROW)), strict=True))


def test_unique_key_and_keys_of_each_record(reader):
    data = log_of(message(b"%07d" % number, properties=properties(number)) for number in range(MANY))
    found = reader.read(data, BASE)
    assert rows(found) == expected(data)
    assert found.end == BASE + len(data)


def test_a_record_that_is_cut_off_is_left_for_later(reader):
    data = log_of(message(properties=properties(number)) for number in range(MANY))
    found = reader.read(data[:-1], BASE)
    assert found.end == BASE + len(data) // MANY * (MANY - 1)
    assert rows(found) == expected(data)[:-2]


def test_records_without_keys_are_passed_over(reader):
    data = log_of(message(properties=b"TAGS\x01TagA\x02") for _ in range(MANY))
    found = reader.read(data, BASE)
    assert len(found) == 0
    assert found.end == BASE + len(data)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"properties": properties(9).replace(b"K00009", b"K 0009")}, id="two keys"),
        pytest.param({"properties": properties(9).replace(b"K00009", "K00é9".encode()[:6])}, id="not ASCII"),
        pytest.param({"properties": properties(9).replace(b"TagA", "Täg".encode())}, id="not ASCII elsewhere"),
        pytest.param({"properties": properties(9).replace(b"TAGS", b"KEYS")}, id="KEYS twice"),
        pytest.param({"properties": properties(9).replace(b"K00009", b"K\x02KEYS\x01"[:6])}, id="an end within a value"),
        pytest.param({"properties": properties(9).replace(b"KEYS", b"KEYZ")}, id="another name"),
        pytest.param({"properties": properties(9)[:-1]}, id="shorter"),
        pytest.param({"topic": "Offers", "properties": properties(9)}, id="another topic"),
        pytest.param({"sys_flag": 0xC, "properties": properties(9)}, id="a rollback"),
        pytest.param({"body": b"bo", "properties": properties(9) + b"\x02a"}, id="a shorter body, longer properties"),
        pytest.param({"born_host": HostAddress(bytes(16), 1), "properties": properties(9)}, id="another host"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, MANY - 1])
def test_one_that_is_different_is_found(reader, other, place):
    messages = [message(**({"properties": properties(number)} | (other if number == place else {}))) for number in range(MANY)]
    data = log_of(messages)
    found = reader.read(data, BASE)
    assert rows(found) == expected(data)
    assert found.end == BASE + len(data)


def test_a_record_that_is_not_where_it_says_is_passed_over(reader):
    data = log_of(message(properties=properties(number)) for number in range(MANY))
    size = len(data) // MANY
    hurt = data[: size * 50] + data[:size] + data[size * 51 :]
    assert rows(reader.read(hurt, BASE)) == expected(data)[:100] + expected(data)[102:]


def test_more_keys_than_there_is_room_for_are_all_found(reader):
    many = b"KEYS\x01" + b" ".join(b"%d" % number for number in range(5_000))
    data = log_of(message(properties=many) for _ in range(14))
    assert rows(reader.read(data, BASE)) == expected(data)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["KEYS", "UNIQ_KEY", "TAGS", "k", "日", "XKEYS", "XUNIQ_KEY", "KEY"]),
            st.text(st.characters(codec="utf-8"), max_size=20) | st.text("ab \x01\x02", max_size=90),
        ),
        max_size=5,
    ),
    st.binary(max_size=30),
    st.booleans(),
)
def test_any_properties_give_the_same_keys_in_each_way(items, body, ends_separated):
    text = "\x02".join(f"{name}\x01{value}" for name, value in items) + "\x02" * ends_separated
    data = log_of([message(body, properties=text.encode())] * 5)
    compiled, kernel, single = (
        rows(reader_by(way).read(data, BASE)) for way in ("machine code", "kernel in python", "record by record")
    )
    assert compiled == kernel == single == expected(data)

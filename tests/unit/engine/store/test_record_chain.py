"""The chain of records, followed in lanes, against one that is walked record by record."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.engine.store import layout, record_chain
from broker_core.engine.store.layout import scan_records
from broker_core.engine.store.record_chain import follow, next_start
from broker_core.errors import RecordError
from broker_core.protocol.message.record import SMALLEST_RECORD, check_record, encode_record
from tests.support.store_bench import message

BASE = 5 * 4096
MAGIC = bytes.fromhex("daa320a7")


@pytest.fixture(scope="module", autouse=True)
def _short_lanes():
    """Lanes of a few records, so that small logs have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_chain, "_LANE_BYTES_MIN", 512)
        patch.setattr(record_chain, "_LANE_RECORDS", 3)
        patch.setattr(record_chain, "_SEARCHED_BYTES_MIN", 64)
        patch.setattr(record_chain, "_ALIKE_PROBED", 8)
        patch.setattr(layout, "_PIECE_BYTES", 16 << 10)
        patch.setattr(layout, "_PIECE_BYTES_BEHIND_DAMAGE", 4 << 10)
        yield


def log_of(sizes: list[int], seed: int) -> bytearray:
    """Records with bodies of some lengths; some bodies hold a magic code, or a whole record of another place."""
    randomness = random.Random(seed)
    data = bytearray()
    inner = encode_record(message(b"inner"), queue_offset=0, physical_offset=0, store_timestamp_ms=0)
    for number, size in enumerate(sizes):
        body = randomness.choice([randomness.randbytes(size), MAGIC * (size // 4), inner[:size]])
        topic = randomness.choice(["T", "TopicOfShop", "t" * 130])
        data += encode_record(
            message(body, topic=topic), queue_offset=number, physical_offset=BASE + len(data), store_timestamp_ms=number
        )
    return data


def walked(data: bytes, end: int) -> list[int]:
    """Starts of all records, found one by one; behind a broken place every position is tried."""
    found, position = [], 0
    while position <= end - SMALLEST_RECORD:
        size = size_at(data, position, end)
        if size:
            found.append(position)
        position += size or 1
    return found


def size_at(data: bytes, position: int, end: int) -> int:
    try:
        parts = check_record(data, position, end, check_crc=False)
    except RecordError:
        return 0
    return parts.head.size if parts.head.physical_offset == BASE + position else 0


lengths = st.lists(st.sampled_from([0, 3, 100, 101, 700, 5_000]), min_size=1, max_size=120)
damages = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([b"\0", b"\xff" * 4, MAGIC, bytes(400)])), max_size=4)


@settings(max_examples=60)
@given(lengths, damages, st.integers(0, 400), st.integers(0, 100))
def test_what_is_found_is_what_a_walk_finds(sizes, damage, zeros, seed):
    data = log_of(sizes, seed)
    for share, what in damage:
        at = int(share * (len(data) - 1))
        data[at : at + len(what)] = what[: len(data) - at]
    file = bytes(data) + bytes(zeros)
    heads = scan_records(file, BASE, 0, len(file))
    expected = walked(file, len(file))
    assert heads.position.tolist() == expected
    assert heads.end == (expected[-1] + size_at(file, expected[-1], len(file)) if expected else 0)


def test_lanes_give_every_record_of_an_unbroken_log_at_once():
    data = np.frombuffer(bytes(log_of([100, 3, 5_000, 700] * 30, 1)), dtype=np.uint8)
    starts = walked(data.tobytes(), len(data))
    assert len(record_chain._lane_starts(data, BASE, 0, len(data) - SMALLEST_RECORD + 1)) > 20
    assert follow(data, BASE, 0, len(data)).tolist() == starts


def alike(count: int, size: int, start: int) -> bytes:
    """Records of one size behind each other."""
    data = bytearray()
    for number in range(count):
        body = b"%0*d" % (size, number)
        data += encode_record(
            message(body), queue_offset=number, physical_offset=BASE + start + len(data), store_timestamp_ms=number
        )
    return bytes(data)


def test_records_of_one_size_are_found_in_one_step_up_to_the_first_of_another():
    first = alike(300, 10, 0)
    file = first + alike(300, 11, len(first))
    data = np.frombuffer(file, dtype=np.uint8)
    starts = walked(file, len(file))
    assert follow(data, BASE, 0, len(data)).tolist() == starts[:300]
    assert follow(data, BASE, starts[300], len(data)).tolist() == starts[300:]
    assert follow(data, BASE, starts[10], starts[30]).tolist() == starts[10:30]
    assert follow(data[:-1], BASE, starts[300], len(data)).tolist() == starts[300:-1]
    assert scan_records(file, BASE, 0, len(file)).position.tolist() == starts


@settings(max_examples=40)
@given(damages, st.integers(7, 60), st.integers(0, 400))
def test_records_of_one_size_with_damage_are_found_as_by_a_walk(damage, count, zeros):
    data = bytearray(alike(count, 40, 0) + alike(9, 41, len(alike(count, 40, 0))))
    for share, what in damage:
        at = int(share * (len(data) - 1))
        data[at : at + len(what)] = what[: len(data) - at]
    file = bytes(data) + bytes(zeros)
    assert scan_records(file, BASE, 0, len(file)).position.tolist() == walked(file, len(file))


def test_a_record_that_reaches_beyond_the_data_is_left_out():
    data = np.frombuffer(bytes(log_of([100] * 200, 1)), dtype=np.uint8)
    starts = walked(data.tobytes(), len(data))
    for cut in (1, 150):
        assert follow(data[: len(data) - cut], BASE, 0, len(data)).tolist() == starts[:-1]
    assert follow(data, BASE, starts[-1] + 1, len(data)).tolist() == []


def test_sizes_that_lead_nowhere_end():
    for size in (0, 1, 90, 0xFFFFFFFF):
        file = struct.pack(">I", size) * 8_000
        heads = scan_records(file, BASE, 0, len(file))
        assert len(heads) == 0
        assert len(follow(np.frombuffer(file, dtype=np.uint8), BASE, 0, len(file))) <= len(file)


def test_the_next_start_names_its_own_place():
    data = bytes(log_of([100, 100, 100], 3))
    second = walked(data, len(data))[1]
    octets = np.frombuffer(data, dtype=np.uint8)
    assert next_start(octets, BASE, 0) == 0
    assert next_start(octets, BASE, 1) == second
    assert next_start(octets, BASE + 8, 1) is None

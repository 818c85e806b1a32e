from __future__ import annotations

import random

import pytest

from broker_core.native import lane_table
from broker_core.native import lanes as k
from broker_core.native.lane_table import LaneTable


@pytest.fixture
def table() -> LaneTable:
    return LaneTable()


def test_a_lane_is_found_by_the_bytes_of_both_parts_and_its_kind(table):
    keys = [(kind, first, second) for kind in (0, 1) for first in (b"", b"a", b"ab", b"a" * 9) for second in (b"", b"b", b"ab")]
    rows = {key: table.add(*key, {k.L_QUEUE: number}) for number, key in enumerate(keys)}
    for number, key in enumerate(keys):
        assert table.find(*key) == rows[key]
        assert table.lanes[rows[key] + k.L_QUEUE] == number
    for unknown in ((2, b"a", b""), (0, b"aa", b""), (0, b"b", b""), (0, b"a", b"a")):
        assert table.find(*unknown) == -1


def test_hashes_differ_from_start_to_start():
    assert LaneTable().state[k.SEED] != LaneTable().state[k.SEED]


def test_lanes_with_one_hash_are_told_apart(table, monkeypatch):
    monkeypatch.setattr(k, "mix", lambda *_: 7)
    monkeypatch.setattr(lane_table, "mix", lambda *_: 7)
    keys = [b"%d" % number for number in range(40)]
    rows = [table.add(0, key, b"", {}) for key in keys]
    assert [table.find(0, key) for key in keys] == rows
    assert table.find(0, b"40") == -1


def test_the_table_is_bounded_and_forgets_all_at_once(table):
    for number in range(lane_table.LANES_MAX):
        assert table.has_room(100)
        table.add(0, b"%d" % number, b"", {k.L_IS_OPEN: 1})
    assert not table.has_room(0)
    assert table.find(0, b"%d" % (lane_table.LANES_MAX - 1)) >= 0
    table.forget()
    assert (len(table), table.generation) == (0, 1)
    assert table.find(0, b"0") == -1
    assert not table.has_room(lane_table.TEXTS_BYTES_MAX + 1)
    row = table.add(0, b"0", b"", {})
    assert table.lanes[row + k.L_IS_OPEN] == 0, "nothing of an earlier lane is left"


def test_equal_texts_are_kept_once(table):
    row = table.add(0, b"key", b"", {})
    table.part(row, 1, b"part")
    at, count = table.lanes[row + k.L_PARTS + 2], table.lanes[row + k.L_PARTS + 3]
    assert bytes(table.texts[at : at + count]) == b"part"
    assert table.text(b"part") == at
    assert table.text(b"other") != at


def test_digits():
    data, randomness = memoryview(bytearray(20)), random.Random(1)
    for bits in range(1, 60):
        value = randomness.getrandbits(bits)
        count = k.digits_of(value)
        assert count == len(str(value))
        k.put_digits(data, 1, value, count)
        assert k.are_digits(data, 1, count)
        assert k.number_at(data, 1, count) == value
    assert not k.are_digits(memoryview(b"12/4"), 0, 4)
    assert not k.are_digits(memoryview(b":"), 0, 1)


def test_lanes_are_closed_by_a_number_they_share(table):
    rows = [
        table.add(kind, b"%d" % number, b"", {k.L_IS_OPEN: 1, k.L_QUEUE: number % 2}) for kind in (0, 1) for number in range(4)
    ]
    table.close((0,), k.L_QUEUE, 1)
    assert [table.lanes[row + k.L_IS_OPEN] for row in rows] == [1, 0, 1, 0, 1, 1, 1, 1]

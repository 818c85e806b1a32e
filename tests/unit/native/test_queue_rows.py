from __future__ import annotations

import struct

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_core.native import queue_rows as r
from broker_core.native.queue_rows import QueueRows
from broker_core.native.records import UNIT_BYTES
from tests.support.queue_rows import check_rows

UNIT = struct.Struct(">qiq")
assert UNIT.size == UNIT_BYTES


def add_units(rows: QueueRows, row: int, units: bytes) -> None:
    """As a kernel does, once there is room."""
    table = rows.table
    rows.make_room(row, len(units) // UNIT_BYTES)
    at = table[row + r.TAIL_AT] + UNIT_BYTES * (table[row + r.MAX_OFFSET] - table[row + r.TAIL_START])
    rows.tails[at : at + len(units)] = units
    table[row + r.MAX_OFFSET] += len(units) // UNIT_BYTES
    rows.touch(row)


def units(first: int, count: int) -> bytes:
    return b"".join(UNIT.pack(number * 100, 100, number) for number in range(first, first + count))


def tail(rows: QueueRows, row: int) -> bytes:
    table = rows.table
    at = table[row + r.TAIL_AT]
    return bytes(rows.tails[at : at + UNIT_BYTES * (table[row + r.MAX_OFFSET] - table[row + r.TAIL_START])])


def test_a_row_begins_without_messages_and_no_two_queues_have_one_serial():
    rows = QueueRows()
    first, second, closed = rows.add(7, is_open=True), rows.add(8, is_open=True), rows.add(9, is_open=False)
    table = rows.table
    assert [table[row + r.QUEUE_ID] for row in (first, second, closed)] == [7, 8, 9]
    assert len({first, second, closed, r.NO_ROW}) == 4
    assert table[first + r.OPEN_AS] != table[second + r.OPEN_AS] != 0 == table[closed + r.OPEN_AS]
    assert (table[first + r.MAX_OFFSET], table[first + r.TAIL_ROOM], table[first + r.LAST_STORE_MS]) == (0, 0, -1)


def test_the_row_of_a_removed_queue_waits_and_then_begins_anew():
    rows = QueueRows()
    row = rows.add(1, is_open=True)
    add_units(rows, row, units(0, 100))
    rows.set_window(row, 0, units(0, 10))
    serial = rows.table[row + r.OPEN_AS]
    rows.remove(row)
    assert (rows.table[row + r.OPEN_AS], rows.take_touched(), len(rows.free_blocks())) == (0, [], 1)
    seen = []
    for number in range(200):
        again = rows.add(number, is_open=True)
        seen.append(again)
        assert rows.table[again + r.OPEN_AS] > serial
        assert tail(rows, again) == b""
        rows.remove(again)
    assert row in seen[50:]
    assert len(set(seen)) < 100


def test_other_queues_stay_touched_when_one_is_removed():
    rows = QueueRows()
    one, other = rows.add(1, is_open=True), rows.add(2, is_open=True)
    for row in (one, other, one):
        rows.touch(row)
    rows.remove(one)
    assert rows.take_touched() == [other]
    assert rows.take_touched() == []


def test_a_tail_is_made_larger_unless_a_quarter_of_it_is_written():
    rows = QueueRows()
    row = rows.add(0, is_open=True)
    add_units(rows, row, units(0, 64))
    rows.table[row + r.WRITTEN_OFFSET] = 17
    add_units(rows, row, units(64, 1))
    assert (rows.table[row + r.TAIL_ROOM], tail(rows, row)) == (64, units(17, 48))
    add_units(rows, row, units(65, 16))
    rows.table[row + r.WRITTEN_OFFSET] = 33
    add_units(rows, row, units(81, 1))
    assert (rows.table[row + r.TAIL_ROOM], tail(rows, row)) == (128, units(17, 65))
    add_units(rows, row, units(82, 100))
    assert (rows.table[row + r.TAIL_ROOM], tail(rows, row)) == (256, units(17, 165))


def test_a_tail_gives_back_a_block_that_is_too_large():
    rows = QueueRows()
    row = rows.add(0, is_open=True)
    add_units(rows, row, units(0, 5000))
    assert rows.table[row + r.TAIL_ROOM] == 8192
    rows.shorten_tail(row, 4968)
    assert (rows.table[row + r.TAIL_ROOM], tail(rows, row)) == (64, units(4968, 32))


def test_no_room_leaves_a_row_as_it_was(monkeypatch):
    rows = QueueRows()
    row = rows.add(0, is_open=True)
    add_units(rows, row, units(0, 64))
    before = rows.table[row : row + r.ROW_COLUMNS].tolist()
    with pytest.raises(MemoryError):
        rows.make_room(row, 1 << 40)
    assert (rows.table[row : row + r.ROW_COLUMNS].tolist(), tail(rows, row)) == (before, units(0, 64))
    monkeypatch.setattr(r, "ROWS_MAX", 1)
    with pytest.raises(MemoryError):
        QueueRows().add(0, is_open=True)


def test_units_read_ahead_are_kept_for_so_many_queues_and_no_more():
    rows = QueueRows()
    all_rows = [rows.add(number, is_open=True) for number in range(r.WINDOWS_MAX + 2)]
    for number, row in enumerate(all_rows[: r.WINDOWS_MAX]):
        rows.set_window(row, number, units(number, 3))
    rows.set_window(all_rows[0], 5, units(5, r.WINDOW_UNITS))  # its turn is again at the end
    rows.set_window(all_rows[-2], 9, units(9, 1))
    rows.set_window(all_rows[-1], 9, units(9, 1))
    table = rows.table
    assert [table[row + r.WINDOW_COUNT] for row in all_rows[:4]] == [r.WINDOW_UNITS, 0, 0, 3]
    assert (table[all_rows[0] + r.WINDOW_START], table[all_rows[1] + r.WINDOW_AT]) == (5, 0)
    at = table[all_rows[0] + r.WINDOW_AT]
    assert rows.tails[at : at + r.WINDOW_UNITS * UNIT_BYTES] == units(5, r.WINDOW_UNITS)
    for row in all_rows:
        rows.drop_window(row)
    assert len(rows.free_blocks()) == 1


def test_what_kernels_counted_is_taken_once():
    rows = QueueRows()
    _, row, _ = (rows.add(number, is_open=True) for number in range(3))
    rows.table[row + r.PUTS], rows.table[row + r.MESSAGES], rows.table[row + r.BYTES] = 2, 9, 1000
    assert rows.take_counts() == [(row, 2, 9, 1000)]
    assert rows.take_counts() == []


class RowsMachine(RuleBasedStateMachine):
    """Rows against lists of units, in any order of what a store does with them."""

    @initialize()
    def start(self):
        self.rows = QueueRows()
        self.model: dict[int, tuple[int, bytes]] = {}
        """Row → first offset of the tail's units, and the units."""

    def some_row(self, data) -> int:
        return data.draw(st.sampled_from(sorted(self.model)))

    @rule()
    def add(self):
        self.model[self.rows.add(3, is_open=True)] = (0, b"")

    @rule(data=st.data(), count=st.integers(1, 200))
    def append(self, data, count):
        if self.model:
            row = self.some_row(data)
            start, there = self.model[row]
            end = start + len(there) // UNIT_BYTES
            add_units(self.rows, row, units(end, count))
            kept = self.rows.table[row + r.TAIL_START]  # written ones may be dropped
            assert start <= kept <= max(start, self.rows.table[row + r.WRITTEN_OFFSET])
            self.model[row] = (kept, units(kept, end + count - kept))

    @rule(data=st.data(), kept=st.integers(0, 40))
    def write(self, data, kept):
        if self.model:
            row = self.some_row(data)
            start, there = self.model[row]
            end = start + len(there) // UNIT_BYTES
            self.rows.table[row + r.WRITTEN_OFFSET] = end
            self.rows.shorten_tail(row, end - kept)
            first = max(start, end - kept)
            self.model[row] = (first, units(first, end - first))

    @rule(data=st.data())
    def remove(self, data):
        if self.model:
            row = self.some_row(data)
            self.rows.remove(row)
            del self.model[row]

    @rule()
    def take(self):
        assert set(self.rows.take_touched()) <= set(self.model)

    @invariant()
    def agrees(self):
        if hasattr(self, "model"):
            check_rows(self.rows, list(self.model))
            for row, (start, there) in self.model.items():
                assert (self.rows.table[row + r.TAIL_START], tail(self.rows, row)) == (start, there)


RowsMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
TestRowsAgainstLists = RowsMachine.TestCase

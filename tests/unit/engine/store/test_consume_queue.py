from __future__ import annotations

import struct

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker_core.engine.store.consume_queue import KEPT_UNITS, PRE_BLANK, ConsumeQueue
from broker_core.engine.store.disk import Disk
from broker_core.native.queue_rows import QueueRows
from broker_core.protocol.queue_unit import QueueUnit


def queue_in(directory, *, file_bytes=200, read_only=False) -> ConsumeQueue:
    return ConsumeQueue("T", 0, directory, file_bytes, Disk(), read_only=read_only, rows=QueueRows())


def unit(number: int) -> QueueUnit:
    return QueueUnit(number * 100, 100, -number)


def append(queue: ConsumeQueue, first: int, count: int) -> None:
    for number in range(first, first + count):
        assert queue.next_offset(1) == number
        queue.append(*unit(number), store_ms=number)


def write(queue: ConsumeQueue) -> None:
    pending = queue.pending()
    queue.write(pending)
    queue.written(pending)


def reloaded(directory, queue: ConsumeQueue) -> ConsumeQueue:
    again = queue_in(directory, file_bytes=queue.file_bytes, read_only=True)
    again.load()
    return again


def test_units_have_the_bytes_of_the_specification(tmp_path):
    queue = queue_in(tmp_path / "q")
    assert queue.next_offset(2) == 0
    queue.append(0, 196, 2598919, 1)
    queue.append(196, 192, -1685804066, 2)
    write(queue)
    expected = "0000000000000000000000c4000000000027a80700000000000000c4000000c0ffffffff9b84abde"
    data = (tmp_path / "q" / ("0" * 20)).read_bytes()
    assert data == bytes.fromhex(expected).ljust(200, b"\0")


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 20, 45])
def test_the_end_is_found_again(tmp_path, count):
    queue = queue_in(tmp_path / "q")
    append(queue, 0, count)
    write(queue)
    again = reloaded(tmp_path / "q", queue)
    assert (again.min_offset, again.max_offset) == (0, count)
    assert [again.unit(number) for number in range(count)] == [unit(number) for number in range(count)]
    assert again.unit(count) is None
    assert again.unit(-1) is None


def test_a_unit_with_many_zeros_does_not_end_a_queue(tmp_path):
    queue = queue_in(tmp_path / "q")
    for physical, size, code in ((0, 91, 0), (0, 256, 0), (0, 1 << 24, 0), (1, 91, 0), (0, 91, 1)):
        queue.next_offset(1)
        queue.append(physical, size, code, 1)
    write(queue)
    assert reloaded(tmp_path / "q", queue).max_offset == 5


def test_units_span_memory_and_disk_but_not_files(tmp_path):
    queue = queue_in(tmp_path / "q", file_bytes=20 * 1000)
    append(queue, 0, 500)
    write(queue)
    assert queue.tail_start == 500 - KEPT_UNITS
    append(queue, 500, 100)
    data = queue.units(0, 10_000)
    assert data == b"".join(struct.pack(">qiq", *unit(number)) for number in range(600))
    assert queue.units(0, 3) == data[:60]


def test_blanks_fill_the_file_before_a_late_start(tmp_path):
    queue = queue_in(tmp_path / "q")
    queue.start_at(23)
    append(queue, 23, 3)
    write(queue)
    (path,) = (tmp_path / "q").iterdir()
    assert path.name == f"{400:020d}"
    assert path.read_bytes()[:60] == PRE_BLANK * 3
    assert reloaded(tmp_path / "q", queue).max_offset == 26
    assert queue.unit(24) == unit(24)


def test_a_cut_clears_the_files(tmp_path):
    queue = queue_in(tmp_path / "q")
    append(queue, 0, 35)
    write(queue)
    queue.cut(13)
    assert sorted(path.name for path in (tmp_path / "q").iterdir()) == [f"{base:020d}" for base in (0, 200)]
    assert not any((tmp_path / "q" / f"{200:020d}").read_bytes()[60:])
    append(queue, 13, 2)
    write(queue)
    assert reloaded(tmp_path / "q", queue).max_offset == 15


def test_a_read_only_queue_is_cut_in_memory_only(tmp_path):
    queue = queue_in(tmp_path / "q")
    append(queue, 0, 35)
    write(queue)
    before = {path.name: path.read_bytes() for path in (tmp_path / "q").iterdir()}
    reader = queue_in(tmp_path / "q", read_only=True)
    reader.load()
    reader.cut(13)
    append(reader, 13, 1)
    assert (reader.max_offset, reader.unit(12), reader.unit(13)) == (14, unit(12), unit(13))
    reader.forget()
    assert {path.name: path.read_bytes() for path in (tmp_path / "q").iterdir()} == before


@pytest.mark.parametrize("lost", [1, 2])
def test_missing_files_in_the_middle_are_noticed(tmp_path, lost):
    queue = queue_in(tmp_path / "q")
    append(queue, 0, 45)
    write(queue)
    (tmp_path / "q" / f"{lost * 200:020d}").unlink()
    assert reloaded(tmp_path / "q", queue).is_damaged


def test_removal_takes_the_directories_with_it(tmp_path):
    queue = queue_in(tmp_path / "T" / "0")
    append(queue, 0, 15)
    write(queue)
    queue.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_a_cut_removed_does_not_come_back_when_the_queue_is_synced(tmp_path):
    queue = queue_in(tmp_path / "q")
    append(queue, 0, 21)
    write(queue)
    queue.sync()
    queue.cut(11)
    queue.cut(0)
    queue.sync()
    fresh = queue_in(tmp_path / "q")
    fresh.load()
    assert (fresh.min_offset, fresh.max_offset) == (0, 0)


class QueueMachine(RuleBasedStateMachine):
    """A queue against a list, through writes, cuts and reloads in any order."""

    @initialize(directory=st.integers(0, 10**9))
    def start(self, directory):
        import tempfile
        from pathlib import Path

        self.place = tempfile.TemporaryDirectory()
        self.directory = Path(self.place.name) / str(directory)
        self.queue = queue_in(self.directory)
        self.model: list[QueueUnit] = []

    @rule(count=st.integers(1, 30))
    def add(self, count):
        append(self.queue, len(self.model), count)
        self.model += [unit(number) for number in range(len(self.model), len(self.model) + count)]

    @rule()
    def save(self):
        write(self.queue)
        self.queue.sync()

    @rule(share=st.floats(0, 1))
    def shorten(self, share):
        end = int(share * len(self.model))
        self.queue.cut(end)
        del self.model[end:]

    @rule()
    def reopen(self):
        write(self.queue)
        fresh = queue_in(self.directory)
        fresh.load()
        self.queue = fresh

    @invariant()
    def agrees(self):
        if hasattr(self, "model"):
            assert self.queue.max_offset == len(self.model)
            assert [self.queue.unit(number) for number in range(len(self.model))] == self.model

    def teardown(self):
        if hasattr(self, "place"):
            self.place.cleanup()


QueueMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestQueueAgainstAList = QueueMachine.TestCase

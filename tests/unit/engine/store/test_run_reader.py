"""Runs of records: the same bytes as the ordinary way, or nothing."""

from __future__ import annotations

import struct

import pytest

from broker_core.engine.store import cold_read, run_reader
from broker_core.engine.store.cold_read import ResidentPieces
from broker_core.engine.store.results import GetStatus
from broker_core.platform import page_cache
from tests.support.store_bench import LOG_FILE_BYTES, message


@pytest.fixture
def store(bench):
    """Messages of many sizes in two queues, now one after the other, now by turns, over several log files."""
    made = bench.open(consume_queue_file_bytes=20_000)
    for number in range(300):
        queue_id = 0 if number % 20 < 10 else number % 2
        made.put(message(b"%d" % number * (1 + number % 7), queue_id=queue_id))
    return made


def same(store, queue_id, offset, count):
    """Whether a run was given; it is what the ordinary way gives."""
    run, found = store.read_run("Orders", queue_id, offset, count), store.get_messages("Orders", queue_id, offset, count)
    if run is None:
        return False
    assert found.status is GetStatus.FOUND
    assert b"".join(run.slices) == b"".join(found.records)
    assert run.record_count == len(found.records)
    assert run[2:6] == (found.next_offset, found.min_offset, found.max_offset, found.total_bytes)
    assert all(piece.readonly for piece in run.slices)
    return True


@pytest.mark.parametrize("queue_id", [0, 1])
@pytest.mark.parametrize("is_written", [False, True])
def test_a_run_is_what_the_ordinary_way_gives(store, queue_id, is_written):
    if is_written:
        store.flush()
    end = store.max_offset("Orders", queue_id)
    given = [same(store, queue_id, offset, count) for count in (1, 7, 32) for offset in range(end)]
    crossing = -(-store.commit_log_max_offset // LOG_FILE_BYTES) * 32 * 2
    assert given.count(False) <= crossing  # a run lies in one file of the log
    assert given.count(True) > len(given) / 2


def test_records_that_lie_side_by_side_are_one_slice(bench):
    store = bench.open(consume_queue_file_bytes=20_000)
    for number in range(6):
        store.put(message(b"%d" % number, queue_id=0 if number < 4 else number % 2))
    assert len(store.read_run("Orders", 0, 0, 4).slices) == 1
    assert len(store.read_run("Orders", 0, 0, 32).slices) == 1
    store.put(message(b"x", queue_id=1))
    store.put(message(b"y", queue_id=0))
    run = store.read_run("Orders", 0, 0, 32)
    assert ([bytes(piece).count(b"Orders") for piece in run.slices], run.record_count) == ([5, 1], 6)


@pytest.mark.parametrize(("queue_id", "offset"), [(9, 0), (0, -1), (0, 10_000)])
def test_where_there_is_nothing_no_run_is_given(store, queue_id, offset):
    assert store.read_run("Orders", queue_id, offset, 32) is None


def test_a_new_message_is_seen_though_units_were_read_ahead(store):
    store.flush()
    end = store.max_offset("Orders", 0)
    assert same(store, 0, end - 5, 3)
    store.put(message(b"new", queue_id=0))
    assert store.read_run("Orders", 0, end - 2, 32) is None or same(store, 0, end - 2, 32)
    assert same(store, 0, end, 32)


def test_bytes_bound_a_run_but_one_record_is_always_given(bench):
    store = bench.open(max_transfer_bytes_in_memory=700)
    for number in range(8):
        store.put(message(bytes([65 + number]) * 150))
    assert 1 < store.read_run("Orders", 0, 0, 8).record_count < 8
    assert same(store, 0, 0, 8)
    store.put(message(bytes(900)))
    assert store.read_run("Orders", 0, 8, 8).record_count == 1


def test_what_counts_as_on_disk_is_left_to_the_ordinary_way(bench, store):
    assert same(store, 0, 0, 4)
    store._reads._limits.memory_reach_bytes = 1_000
    assert store.read_run("Orders", 0, 0, 4) is None
    assert same(store, 0, store.max_offset("Orders", 0) - 2, 2)


def damaged(store, offset, at, data):
    unit = store.queue_units("Orders", 0, offset, 1)[0]
    log = store._parts.commit_log
    base = unit.physical_offset - unit.physical_offset % log.file_bytes
    with log.path(base).open("r+b") as file:
        file.seek(unit.physical_offset - base + at)
        file.write(data)


@pytest.mark.parametrize(("at", "data"), [(0, bytes(4)), (4, b"\1\2\3\4"), (28, bytes(7) + b"\7")])
def test_a_place_where_no_record_is_makes_it_a_case_for_the_ordinary_way(store, at, data):
    assert store.read_run("Orders", 0, 2, 4) is not None
    damaged(store, 4, at, data)
    assert store.read_run("Orders", 0, 2, 4) is None
    assert store.read_run("Orders", 0, 5, 4) is not None


def test_units_that_changed_are_read_anew(store):
    store.flush()
    queue = store._parts.queues.by_key["Orders", 0]
    assert same(store, 0, 2, 4)
    first, second = store.queue_units("Orders", 0, 2, 2)
    with store._parts.lock:
        queue.mend(2, struct.pack(">qiq", *second))
        queue.mend(3, struct.pack(">qiq", *first))
    assert same(store, 0, 2, 1)
    assert store.read_run("Orders", 0, 2, 2) is None  # not in the order of the log


def test_units_of_so_many_queues_are_kept_and_no_more(bench, monkeypatch):
    monkeypatch.setattr(run_reader, "QUEUES_AHEAD_MAX", 3)
    store = bench.open()
    for queue_id in range(6):
        for _ in range(4):
            store.put(message(b"x", queue_id=queue_id))
    for queue_id in range(6):
        assert store.read_run("Orders", queue_id, 0, 2).record_count == 2
    assert len(store._reads._runs._ahead) == 3


def test_positions_and_sizes_of_units_are_split_as_they_are():
    queue = type("Queue", (), {"changes": 3})()
    stored = [((1 << 32) - 100, 100), (1 << 32, 7), (0, run_reader.HEAD_BYTES), ((1 << 62) + 5, 0x7FFFFFFF), (-1, 0)]
    units = run_reader._split(queue, 5, b"".join(struct.pack(">qiq", position, size, 9) for position, size in stored))
    assert (units.start, units.changes) == (5, 3)
    assert list(zip(units.positions, units.sizes, strict=True)) == stored
    assert run_reader._split(queue, 5, b"") is None


# ---- in memory or not ----


class Seconds:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def asked(store, monkeypatch):
    """First and last places that the system is asked for; what is in ``asked.missing`` is not in memory."""

    class Asked(list):
        missing = frozenset()

    asked = Asked()

    def is_resident(position, size):
        asked.append((position, position + size - 1))
        return not any(position <= missing < position + size for missing in asked.missing)

    monkeypatch.setattr(cold_read, "address", lambda _mapped: 0)
    monkeypatch.setattr(page_cache, "is_resident", is_resident)
    return asked


def test_a_piece_is_asked_for_once_a_moment(store, asked):
    clock = Seconds()
    pieces = ResidentPieces(store._parts.commit_log, clock)
    assert pieces.has(100, 300)
    assert asked == [(0, LOG_FILE_BYTES - 1)]
    assert pieces.has(300, 500)
    assert len(asked) == 1
    clock.now += cold_read.KNOWN_MS / 1000
    assert pieces.has(100, 300)
    assert len(asked) == 2


def test_a_piece_with_a_gap_is_not_in_memory_and_asked_for_again(store, asked):
    pieces = ResidentPieces(store._parts.commit_log, Seconds())
    asked.missing = {LOG_FILE_BYTES // 2}
    assert not pieces.has(100, 300)
    asked.missing = frozenset()
    assert pieces.has(100, 300)


def test_pieces_remembered_are_bounded(store, asked, monkeypatch):
    monkeypatch.setattr(cold_read, "KNOWN_PIECES_MAX", 2)
    monkeypatch.setattr(cold_read, "PIECE_BYTES", 1_000)
    pieces = ResidentPieces(store._parts.commit_log, Seconds())
    assert pieces.has(0, 2_500)
    assert len(pieces.seen) == 4
    looked = len(asked)
    assert pieces.has(2_000, 2_500)
    assert len(asked) == looked
    assert pieces.has(0, 500), "its row was given to the piece at 2,000"
    assert len(asked) > looked


def test_reading_ahead_is_asked_for_once_a_piece_where_something_is_missing(store, asked, monkeypatch):
    monkeypatch.setattr(cold_read, "AHEAD_BYTES", 2_000)
    pieces = ResidentPieces(store._parts.commit_log, Seconds())
    asked.missing = {1_500}
    assert pieces.lacks_ahead(500)
    assert not pieces.lacks_ahead(500)
    fresh = ResidentPieces(store._parts.commit_log, Seconds())
    asked.missing = frozenset()
    assert not fresh.lacks_ahead(500)


def test_where_nothing_can_be_asked_all_counts_as_in_memory(store, monkeypatch):
    log = store._parts.commit_log
    pieces = ResidentPieces(log, Seconds())
    with monkeypatch.context() as deleted:
        deleted.setattr(log, "map_at", lambda _base: None)
        assert pieces.has(0, 100)
    monkeypatch.setattr(page_cache, "is_resident", page_cache.plain_is_resident)
    assert ResidentPieces(store._parts.commit_log, Seconds()).has(0, 100)


def test_a_run_far_back_is_given_only_from_memory_and_says_what_to_read_ahead(store, asked, monkeypatch):
    monkeypatch.setattr(run_reader, "NEAR_BYTES", 1_000)
    monkeypatch.setattr(cold_read, "AHEAD_BYTES", 2_000)
    monkeypatch.setattr(cold_read, "PIECE_BYTES", 500)
    monkeypatch.setattr(cold_read, "KNOWN_MS", 0)
    assert same(store, 0, 0, 4)
    asked.missing = {0}
    assert store.read_run("Orders", 0, 0, 4) is None
    run_end = sum(map(len, store.get_messages("Orders", 0, 0, 4).records))
    asked.missing = {run_end + 1_000}
    assert store.read_run("Orders", 0, 0, 4).read_ahead == (0, run_end)
    assert store.read_run("Orders", 0, store.max_offset("Orders", 0) - 2, 2).read_ahead is None

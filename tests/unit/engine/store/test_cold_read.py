from __future__ import annotations

import os

import pytest

from broker_core.engine.store import cold_read
from broker_core.engine.store.cold_read import ResidentPieces, joined
from broker_core.engine.store.results import LogPlace
from broker_core.platform import page_cache
from tests.support.store_bench import LOG_FILE_BYTES, message

pytestmark = pytest.mark.usefixtures("both_platforms")


@pytest.fixture
def store(bench):
    """Some messages in two log files."""
    made = bench.open()
    for number in range(200):
        made.put(message(b"%d" % number))
    return made


def places_of(store, count=200):
    records = store.get_messages("Orders", 0, 0, count).records
    assert len(records) > 1
    start, places = 0, []
    for record in records:
        places.append(LogPlace(start, len(record)))
        start += len(record)
    return places


def test_neighbours_become_one_place():
    assert list(joined([], 1_000_000)) == []
    places = [
        LogPlace(5, 10),
        LogPlace(15, 1),
        LogPlace(20, 2),
        LogPlace(70_000, 3),
        LogPlace(0, 1),
        LogPlace(999_990, 10),
        LogPlace(1_000_000, 2),
    ]
    assert list(joined(places, 1_000_000)) == [
        LogPlace(5, 17),
        LogPlace(70_000, 3),
        LogPlace(0, 1),
        LogPlace(999_990, 10),
        LogPlace(1_000_000, 2),
    ]


def test_only_what_lies_far_back_is_asked_for(bench, store, monkeypatch):
    assert store.get_messages("Orders", 0, 0, 5).far_back == []
    monkeypatch.setattr("broker_core.engine.store.reading.NEAR_BYTES", 1_000)
    found = store.get_messages("Orders", 0, 0, 5)
    assert found.far_back == places_of(store)[: len(found.records)]
    assert store.get_messages("Orders", 0, 199, 5).far_back == []


def test_what_was_just_written_is_in_memory_and_can_be_read(store):
    assert store.is_in_memory(())
    assert store.is_in_memory(places_of(store))
    store.bring_to_memory(places_of(store))


def test_pages_that_are_missing_are_asked_for_once_for_records_side_by_side(store, monkeypatch):
    places = places_of(store)
    asked = []
    monkeypatch.setattr(cold_read, "address", lambda _mapped: 0)
    monkeypatch.setattr(page_cache, "is_resident", lambda *range_: asked.append(range_) or False)
    assert not store.is_in_memory(places)
    assert asked == [(0, places[-1].physical_offset + places[-1].size)]


def test_each_of_two_pieces_that_lie_apart_is_asked_for(store, monkeypatch):
    first, last = places_of(store)[0], places_of(store)[-1]
    asked = []
    monkeypatch.setattr(cold_read, "address", lambda _mapped: 0)
    monkeypatch.setattr(cold_read, "_GAP_BYTES", 100)
    monkeypatch.setattr(page_cache, "is_resident", lambda *range_: asked.append(range_) or range_ == first)
    assert not store.is_in_memory([first, last])
    assert asked == [first, last]


def test_what_follows_is_asked_for_half_a_read_ahead_further_on(store, monkeypatch):
    places = places_of(store)[:2]
    end = places[-1].physical_offset + places[-1].size
    assert store.is_ahead_in_memory(places)  # the file ends before
    asked = []
    monkeypatch.setattr(cold_read, "address", lambda _mapped: 0)
    monkeypatch.setattr(page_cache, "is_resident", lambda *range_: asked.append(range_))
    monkeypatch.setattr(cold_read, "AHEAD_BYTES", 2_000)
    assert not store.is_ahead_in_memory(places)
    assert asked == [(end + 1_000, 1)]
    store.read_ahead(places)


def test_without_a_system_that_can_tell_everything_counts_as_in_memory(store, monkeypatch):
    monkeypatch.setattr(page_cache, "is_resident", page_cache.plain_is_resident)
    assert store.is_in_memory(places_of(store))


def test_a_file_that_was_deleted_counts_as_in_memory_and_cannot_be_read(bench, store):
    places = places_of(store, 10)
    store.flush()
    path = min((bench.root / "commitlog").iterdir())
    os.utime(path, (0, 0))
    assert store.clean().log_files == 1
    assert not path.exists()
    assert store.is_in_memory(places)
    with pytest.raises(FileNotFoundError):
        store.bring_to_memory(places)


def test_reading_stops_where_the_file_ends(store):
    store.bring_to_memory([LogPlace(LOG_FILE_BYTES - 10, 50)])


# ---- pieces that are remembered ----


@pytest.fixture
def log(bench):
    """A log of several files."""
    made = bench.open()
    for number in range(300):
        made.put(message(b"%d" % number * (1 + number % 7)))
    return made._parts.commit_log


class Seconds:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def asked(monkeypatch):
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


def test_a_piece_is_asked_for_once_a_moment(log, asked):
    clock = Seconds()
    pieces = ResidentPieces(log, clock)
    assert pieces.has(100, 300)
    assert asked == [(0, LOG_FILE_BYTES - 1)]
    assert pieces.has(300, 500)
    assert len(asked) == 1
    clock.now += cold_read.KNOWN_MS / 1000
    assert pieces.has(100, 300)
    assert len(asked) == 2


def test_a_piece_with_a_gap_is_not_in_memory_and_asked_for_again(log, asked):
    pieces = ResidentPieces(log, Seconds())
    asked.missing = {LOG_FILE_BYTES // 2}
    assert not pieces.has(100, 300)
    asked.missing = frozenset()
    assert pieces.has(100, 300)


def test_pieces_remembered_are_bounded(log, asked, monkeypatch):
    monkeypatch.setattr(cold_read, "KNOWN_PIECES_MAX", 2)
    monkeypatch.setattr(cold_read, "PIECE_BYTES", 1_000)
    pieces = ResidentPieces(log, Seconds())
    assert pieces.has(0, 2_500)
    assert len(pieces.seen) == 4
    looked = len(asked)
    assert pieces.has(2_000, 2_500)
    assert len(asked) == looked
    assert pieces.has(0, 500), "its row was given to the piece at 2,000"
    assert len(asked) > looked


def test_reading_ahead_is_asked_for_once_a_piece_where_something_is_missing(log, asked, monkeypatch):
    monkeypatch.setattr(cold_read, "AHEAD_BYTES", 2_000)
    pieces = ResidentPieces(log, Seconds())
    asked.missing = {1_500}
    assert pieces.lacks_ahead(500)
    assert not pieces.lacks_ahead(500)
    fresh = ResidentPieces(log, Seconds())
    asked.missing = frozenset()
    assert not fresh.lacks_ahead(500)


def test_where_nothing_can_be_asked_all_counts_as_in_memory(log, monkeypatch):
    pieces = ResidentPieces(log, Seconds())
    with monkeypatch.context() as deleted:
        deleted.setattr(log, "map_at", lambda _base: None)
        assert pieces.has(0, 100)
    monkeypatch.setattr(page_cache, "is_resident", page_cache.plain_is_resident)
    assert ResidentPieces(log, Seconds()).has(0, 100)

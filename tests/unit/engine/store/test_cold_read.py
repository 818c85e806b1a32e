from __future__ import annotations

import pytest

from broker_core.engine.store import cold_read
from broker_core.engine.store.cold_read import bring_to_memory, is_in_memory, joined
from broker_core.engine.store.results import LogPlace
from broker_core.platform import page_cache
from tests.support.store_bench import message

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
    log, places = store._parts.commit_log, places_of(store)
    asked = []
    monkeypatch.setattr(cold_read, "address", lambda _mapped: 0)
    monkeypatch.setattr(page_cache, "is_resident", lambda *range_: asked.append(range_) or False)
    assert not is_in_memory(log, places)
    assert asked == [(0, places[-1].physical_offset + places[-1].size)]


def test_each_of_two_pieces_that_lie_apart_is_asked_for(store, monkeypatch):
    first, last = places_of(store)[0], places_of(store)[-1]
    asked = []
    monkeypatch.setattr(cold_read, "address", lambda _mapped: 0)
    monkeypatch.setattr(cold_read, "_GAP_BYTES", 100)
    monkeypatch.setattr(page_cache, "is_resident", lambda *range_: asked.append(range_) or range_ == first)
    assert not is_in_memory(store._parts.commit_log, [first, last])
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
    assert is_in_memory(store._parts.commit_log, places_of(store))


def test_a_file_that_was_deleted_counts_as_in_memory_and_cannot_be_read(store):
    places = places_of(store)
    store._parts.commit_log.path(0).unlink()
    store._parts.commit_log._maps.clear()
    assert is_in_memory(store._parts.commit_log, places)
    with pytest.raises(FileNotFoundError):
        bring_to_memory(store._parts.commit_log, places)


def test_reading_stops_where_the_file_ends(store):
    bring_to_memory(store._parts.commit_log, [LogPlace(store._parts.commit_log.file_bytes - 10, 50)])

from __future__ import annotations

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.reading import BatchLimits
from broker_core.engine.store.results import GetStatus
from broker_core.protocol.message.record import decode_record
from tests.support.store_bench import LOG_FILE_BYTES, message


@pytest.fixture
def filled(bench):
    """Ten messages in Orders/0, ten to a queue file."""
    store = bench.open()
    for number in range(10):
        store.put(message(b"%d" % number))
    return store


@pytest.mark.parametrize(
    ("queue_id", "offset", "status", "next_offset"),
    [
        (9, 5, GetStatus.NO_MESSAGE_IN_QUEUE, 0),
        (0, -1, GetStatus.OFFSET_TOO_SMALL, 0),
        (0, 10, GetStatus.OFFSET_OVERFLOW_ONE, 10),
        (0, 11, GetStatus.OFFSET_OVERFLOW_BADLY, 10),
        (0, 7, GetStatus.FOUND, 10),
    ],
)
def test_each_row_of_the_table_has_its_status_and_next_offset(filled, queue_id, offset, status, next_offset):
    found = filled.get_messages("Orders", queue_id, offset, 32)
    assert (found.status, found.next_offset) == (status, next_offset)
    assert (found.min_offset, found.max_offset) == ((0, 10) if queue_id == 0 else (0, 0))
    assert len(found.records) == (3 if status is GetStatus.FOUND else 0)


def test_a_queue_file_that_is_gone_leads_to_the_next_file(bench, filled):
    for number in range(10, 1000):
        filled.put(message(b"%d" % number))
    filled.flush()
    (bench.root / "consumequeue" / "Orders" / "0" / f"{200:020d}").unlink()
    found = filled.get_messages("Orders", 0, 13, 32)
    assert (found.status, found.next_offset) == (GetStatus.OFFSET_FOUND_NULL, 20)


def test_a_get_never_leaves_the_range_of_one_queue_file(filled):
    for number in range(10, 15):
        filled.put(message(b"%d" % number))
    found = filled.get_messages("Orders", 0, 8, 32)
    assert (len(found.records), found.next_offset) == (2, 10)


def test_counts_and_bytes_are_bounded_but_one_record_is_always_given(filled):
    assert len(filled.get_messages("Orders", 0, 0, 4).records) == 4
    one = filled.get_messages("Orders", 0, 0, 1)
    assert len(filled.get_messages("Orders", 0, 0, 10, max_bytes=one.total_bytes * 3).records) == 3
    assert len(filled.get_messages("Orders", 0, 0, 10, max_bytes=1).records) == 1
    assert one.total_bytes == len(one.records[0])


def test_a_filter_skips_what_it_does_not_accept_and_consumes_it(bench):
    store = bench.open()
    for number in range(6):
        store.put(message(b"%d" % number, properties=b"TAGS\x01A" if number % 2 else b"TAGS\x01B"))
    found = store.get_messages("Orders", 0, 0, 32, accepts=lambda code: code == ord("A"))
    assert [decode_record(record).body for record in found.records] == [b"1", b"3", b"5"]
    assert found.next_offset == 6
    nothing = store.get_messages("Orders", 0, 0, 32, accepts=lambda _: False)
    assert (nothing.status, nothing.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 6)


def test_a_full_batch_does_not_consume_the_unit_it_could_not_take(filled):
    found = filled.get_messages("Orders", 0, 0, 2, accepts=lambda _: True)
    assert found.next_offset == 2


def test_a_deleted_log_file_is_skipped_and_said(bench):
    store = bench.open(consume_queue_file_bytes=20_000)
    offsets = [store.put(message(b"%d" % number)).physical_offset for number in range(400)]
    store.close()
    (bench.root / "commitlog" / f"{LOG_FILE_BYTES:020d}").unlink()
    first_lost = next(number for number, offset in enumerate(offsets) if offset >= LOG_FILE_BYTES)
    first_behind = next(number for number, offset in enumerate(offsets) if offset >= 2 * LOG_FILE_BYTES)
    with bench.open(read_only=True) as reader:
        across = reader.get_messages("Orders", 0, first_lost - 2, 32)
        assert (across.status, across.next_offset) == (GetStatus.FOUND, first_behind + 30)
        assert [decode_record(record).queue_offset for record in across.records[1:4]] == [
            first_lost - 1,
            first_behind,
            first_behind + 1,
        ]
        nothing = reader.get_messages("Orders", 0, first_lost, 1, max_bytes=1)
        assert (nothing.status, nothing.next_offset) == (GetStatus.FOUND, first_behind + 1)


def test_no_more_than_800_units_are_looked_at(bench):
    store = bench.open(consume_queue_file_bytes=40_000, commit_log_file_bytes=1 << 20)
    for number in range(900):
        store.put(message(b"%d" % number))
    found = store.get_messages("Orders", 0, 0, 32, accepts=lambda _: False)
    assert (found.status, found.next_offset) == (GetStatus.NO_MATCHED_MESSAGE, 800)


@pytest.mark.parametrize(
    ("asked", "in_memory", "on_disk"),
    [
        ((100, 1 << 30), (32, 262_144), (8, 65_536)),
        ((5, 1_000), (5, 1_000), (5, 1_000)),
    ],
)
def test_transfer_limits_are_those_of_the_settings_unless_less_is_asked_for(asked, in_memory, on_disk):
    assert BatchLimits(StoreConfig(), memory_bytes=1000).of_get(*asked) == (400, in_memory, on_disk)


@pytest.mark.parametrize(("max_bytes", "count"), [(1, 1), (299, 2), (300, 3)])
def test_a_get_ends_before_the_record_that_would_be_too_much_but_gives_one(bench, max_bytes, count):
    store = bench.open()
    sizes = {store.put(message(b"x")).wrote_bytes for _ in range(5)}
    limit = max_bytes if max_bytes == 1 else max_bytes - 300 + 3 * sizes.pop()
    assert len(store.get_messages("Orders", 0, 0, 10, max_bytes=limit).records) == count


def test_without_a_filter_a_get_passes_over_removed_records_as_far_as_with_one(bench):
    store = bench.open(consume_queue_file_bytes=20_000)
    for number in range(200):
        store.put(message(b"%d" % number))
    bases = list(store._parts.commit_log.bases)
    assert len(bases) == 2
    del store._parts.commit_log.bases[0]
    store._parts.commit_log._maps.pop(bases[0])
    plain = store.get_messages("Orders", 0, 0, 2)
    assert plain == store.get_messages("Orders", 0, 0, 2, accepts=lambda _code: True)
    assert (len(plain.records), plain.next_offset > 2) == (2, True)

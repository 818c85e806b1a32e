from __future__ import annotations

import threading

import pytest

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import Arrival, GetStatus, PutStatus
from broker_core.errors import StoreError, StoreReadOnlyError, UsageError
from broker_core.native.blocks import SMALLEST_UNITS, Blocks
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.tags import tags_code
from tests.support.golden import contents
from tests.support.queue_rows import check_rows_of
from tests.support.store_bench import BROKEN, LOG_FILE_BYTES, NO_SPACE, message
from tests.support.store_check import check_closed_store

DEADLINE_S = 90
pytestmark = pytest.mark.usefixtures("both_platforms")


def bodies(store: MessageStore, topic: str = "Orders", queue_id: int = 0) -> list[bytes]:
    found: list[bytes] = []
    offset = store.min_offset(topic, queue_id)
    while offset < store.max_offset(topic, queue_id):
        result = store.get_messages(topic, queue_id, offset, 32)
        assert result.status is GetStatus.FOUND
        found += [decode_record(record).body for record in result.records]
        offset = result.next_offset
    return found


def test_a_message_comes_back_as_it_was_put(bench):
    store = bench.open()
    value = message(b"x" * 100, flag=-3, sys_flag=0x8, reconsume_times=2, prepared_transaction_offset=77)
    put = store.put(value)
    stored = decode_record(store.record_at(put.physical_offset), check_crc=True)
    assert (put.status, put.queue_offset, put.message_count) == (PutStatus.PUT_OK, 0, 1)
    assert put.wrote_bytes == stored.store_size
    assert put.store_timestamp_ms == stored.store_timestamp_ms == bench.clock.now_ms
    assert (stored.topic, stored.queue_id, stored.body, stored.flag) == ("Orders", 0, b"x" * 100, -3)
    assert (stored.sys_flag, stored.reconsume_times, stored.prepared_transaction_offset) == (0x8, 2, 77)
    assert (stored.born_host, stored.store_host) == (value.born_host, value.store_host)
    assert stored.properties == {"TAGS": "TagA"}


def test_messages_survive_a_clean_stop_over_many_files(bench):
    with bench.open() as store:
        for number in range(300):
            store.put(message(b"%d" % number * 40, queue_id=number % 3))
    assert check_closed_store(bench.root) == 300
    assert len(list((bench.root / "commitlog").iterdir())) > 3
    with bench.open() as store:
        assert bodies(store, queue_id=1) == [b"%d" % number * 40 for number in range(1, 300, 3)]
        assert store.put(message(b"next", queue_id=1)).queue_offset == 100
    assert check_closed_store(bench.root) == 301


def test_units_are_read_without_their_records(bench):
    store = bench.open()
    puts = [store.put(message(b"x")) for _ in range(4)]
    units = store.queue_units("Orders", 0, 1, 2)
    assert [(unit.physical_offset, unit.record_bytes, unit.tags_code) for unit in units] == [
        (put.physical_offset, put.wrote_bytes, tags_code("TagA")) for put in puts[1:3]
    ]
    assert len(store.queue_units("Orders", 0, 2, 10)) == 2
    assert store.queue_units("Orders", 0, 4, 10) == store.queue_units("Nothing", 0, 0, 10) == []


def test_messages_survive_a_crash_though_no_queue_was_written(bench):
    store = bench.open()
    for number in range(300):
        store.put(message(b"%d" % number * 40, queue_id=number % 3))
    bench.crash(store)
    with bench.open() as store:
        assert [len(bodies(store, queue_id=queue)) for queue in range(3)] == [100, 100, 100]
    assert check_closed_store(bench.root) == 300


@pytest.mark.parametrize("rest", [8, 7])
def test_a_record_fits_if_a_filler_still_fits_behind_it(bench, rest):
    store = bench.open()
    first = store.put(message(b"a"))
    overhead = first.wrote_bytes - 1
    second = store.put(message(b"b" * (LOG_FILE_BYTES - first.wrote_bytes - overhead - rest)))
    third = store.put(message(b"c"))
    expected = first.wrote_bytes if rest == 8 else LOG_FILE_BYTES
    assert second.physical_offset == expected
    assert third.physical_offset == (LOG_FILE_BYTES if rest == 8 else 2 * LOG_FILE_BYTES)
    store.close()
    assert check_closed_store(bench.root) == 3


def test_after_a_stop_right_behind_a_filler_the_log_goes_on_at_its_place(bench):
    store = bench.open()
    first = store.put(message(b"a"))
    store._parts.commit_log._write_filler()
    store.close()
    with bench.open() as store:
        assert store.commit_log_max_offset == first.wrote_bytes
        assert store.put(message(b"b")).physical_offset == first.wrote_bytes
    assert check_closed_store(bench.root) == 2


def test_all_host_families_are_stored(bench):
    v6 = HostAddress.parse("[::1]:1")
    with bench.open() as store:
        for born in (v6, message().born_host):
            for host in (v6, message().store_host):
                put = store.put(message(born_host=born, store_host=host))
                stored = decode_record(store.record_at(put.physical_offset))
                assert (stored.born_host, stored.store_host) == (born, host)
    assert check_closed_store(bench.root) == 4


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"topic": "no/slash"}, PutStatus.MESSAGE_ILLEGAL),
        ({"topic": ".."}, PutStatus.MESSAGE_ILLEGAL),
        ({"topic": ""}, PutStatus.MESSAGE_ILLEGAL),
        ({"topic": "t" * 256}, PutStatus.MESSAGE_ILLEGAL),
        ({"queue_id": -1}, PutStatus.MESSAGE_ILLEGAL),
        ({"properties": bytes(32768)}, PutStatus.PROPERTIES_SIZE_EXCEEDED),
    ],
)
def test_what_cannot_be_stored_is_refused_and_leaves_no_trace(bench, changes, status):
    with bench.open() as store:
        assert store.put(message(**changes)).status is status
        assert store.commit_log_max_offset == 0
        assert store.queues() == []


def test_the_limit_of_producers_is_none_for_the_copy_of_what_was_taken(bench):
    with bench.open(max_message_bytes=1000) as store:
        assert store.put(message(body=bytes(1001))).status is PutStatus.PUT_OK


def test_a_record_larger_than_a_file_is_refused(bench):
    with bench.open() as store:
        assert store.put(message(bytes(LOG_FILE_BYTES - 50))).status is PutStatus.MESSAGE_ILLEGAL
        assert store.put(message(bytes(LOG_FILE_BYTES - 500))).status is PutStatus.PUT_OK


def test_prepared_and_rollback_records_stay_out_of_the_queue(bench):
    with bench.open() as store:
        arrivals: list[Arrival] = []
        store.add_arrival_listener(arrivals.append)
        for sys_flag in (0x4, 0xC):
            put = store.put(message(sys_flag=sys_flag))
            assert decode_record(store.record_at(put.physical_offset)).queue_offset == put.queue_offset == 0
        assert store.max_offset("Orders", 0) == 0
        assert store.put(message(sys_flag=0x8)).queue_offset == 0
        assert len(arrivals) == 1
    assert check_closed_store(bench.root) == 3


def test_arrivals_are_told_inside_the_put(bench):
    with bench.open() as store:
        arrivals: list[Arrival] = []
        store.add_arrival_listener(arrivals.append)
        put = store.put(message(queue_id=3))
        now = bench.clock.now_ms
        assert arrivals == [Arrival("Orders", 3, 0, tags_code("TagA"), now, put.physical_offset, put.wrote_bytes)]
        assert store.standing("Orders", 3) == (0, 1, now)


def test_who_asks_for_topics_is_told_of_those_alone_from_then_on(bench):
    with bench.open() as store:
        arrivals: list[Arrival] = []
        store.put(message(topic="Orders"))
        store.add_arrival_listener(arrivals.append, ("Orders", "Later"))
        for topic in ("Orders", "Others", "Later"):
            store.put(message(topic=topic))
        store.put_batch(batch(b"one", b"two", topic="Later"))
        told = [(arrival.topic, arrival.queue_offset) for arrival in arrivals]
        assert told == [("Orders", 1), ("Later", 0), ("Later", 1), ("Later", 2)]


# ---- batches -------------------------------------------------------------------------------------------------------------


def batch(*members: bytes, properties: bytes = b"CLUSTER\x01c", **changes):
    body = encode_batch([BatchMember(7, member, b"TAGS\x01TagB") for member in members])
    return message(body, properties=properties, **changes)


def test_a_batch_is_stored_as_consecutive_records_with_the_common_properties(bench):
    with bench.open() as store:
        arrivals: list[Arrival] = []
        store.add_arrival_listener(arrivals.append)
        store.put(message(b"before"))
        put = store.put_batch(batch(b"one", b"2", b"three"))
        records = store.get_messages("Orders", 0, 1, 10).records
        stored = [decode_record(record, check_crc=True) for record in records]
        assert [one.body for one in stored] == [b"one", b"2", b"three"]
        assert [one.queue_offset for one in stored] == [1, 2, 3]
        assert [one.physical_offset for one in stored] == list(put.physical_offsets)
        assert all(one.properties == {"TAGS": "TagB", "CLUSTER": "c"} and one.flag == 7 for one in stored)
        assert (put.queue_offset, put.message_count, put.wrote_bytes) == (1, 3, sum(map(len, records)))
        assert [arrival.queue_offset for arrival in arrivals] == [0, 1, 2, 3]
    assert check_closed_store(bench.root) == 4


def test_a_batch_that_does_not_fit_goes_to_the_next_file_as_a_whole(bench):
    with bench.open() as store:
        store.put(message(bytes(LOG_FILE_BYTES - 1_000)))
        put = store.put_batch(batch(*[bytes(100)] * 5))
        assert put.physical_offset == LOG_FILE_BYTES
    assert check_closed_store(bench.root) == 6


@pytest.mark.parametrize(
    "bad",
    [
        batch(b"x", sys_flag=0x8),
        batch(b"x", properties=b"DELAY\x013"),
        message(encode_batch([BatchMember(0, b"x", b"DELAY\x013")])),
        message(b"no batch"),
        message(b""),
        batch(*[bytes(1000)] * 17),
    ],
    ids=["transactional", "delayed", "delayed member", "malformed", "empty", "larger than a file"],
)
def test_illegal_batches_are_refused_as_a_whole(bench, bad):
    with bench.open() as store:
        assert store.put_batch(bad).status is PutStatus.MESSAGE_ILLEGAL
        assert store.commit_log_max_offset == 0


# ---- durability ----------------------------------------------------------------------------------------------------------


class Outcome:
    def __init__(self) -> None:
        self.event = threading.Event()
        self.durable: bool | None = None

    def __call__(self, durable: bool) -> None:
        self.durable = durable
        self.event.set()

    def wait(self) -> bool | None:
        assert self.event.wait(DEADLINE_S)
        return self.durable


def test_a_waiter_is_told_once_its_bytes_are_synced(bench):
    with bench.open() as store:
        put = store.put(message())
        outcome = Outcome()
        store.when_durable(put.physical_offset + put.wrote_bytes, outcome)
        assert outcome.wait() is True
        assert store.flushed_offset == put.wrote_bytes
        again = Outcome()
        store.when_durable(put.wrote_bytes, again)
        assert again.durable is True


def test_a_failed_sync_stops_the_store_for_good_and_is_not_tried_again(bench):
    store = bench.open()
    put = store.put(message(b"kept?"))
    bench.disk.sync_error = BROKEN
    outcome = Outcome()
    store.when_durable(put.wrote_bytes, outcome)
    assert outcome.wait() is False
    syncs, bench.disk.sync_error = bench.disk.syncs, 0
    assert store.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "takes no more messages" in store.write_refusal
    late = Outcome()
    store.when_durable(put.wrote_bytes, late)
    assert late.durable is False
    with pytest.raises(StoreReadOnlyError):
        store.flush()
    store.close()
    assert bench.disk.syncs == syncs
    assert (bench.root / "abort").exists()
    assert bodies(bench.open()) == [b"kept?"]


def test_a_sync_that_hangs_is_answered_with_no(bench):
    hanging, go_on = threading.Event(), threading.Event()
    with bench.open(sync_flush_timeout_ms=1) as store:
        put = store.put(message())

        def hang() -> None:
            hanging.set()
            go_on.wait(DEADLINE_S)

        bench.disk.before_sync = hang
        outcome = Outcome()
        store.when_durable(put.wrote_bytes, outcome)
        assert outcome.wait() is False
        bench.disk.before_sync = lambda: None
        go_on.set()


def test_one_sync_serves_all_who_wait(bench):
    hanging, go_on = threading.Event(), threading.Event()
    with bench.open() as store:
        first = store.put(message())
        bench.disk.syncs = 0  # of the new file's size

        def hang() -> None:
            hanging.set()
            go_on.wait(DEADLINE_S)

        bench.disk.before_sync = hang
        store.when_durable(first.wrote_bytes, Outcome())
        assert hanging.wait(DEADLINE_S)
        bench.disk.before_sync = lambda: None
        outcomes = [Outcome() for _ in range(50)]
        for outcome in outcomes:
            put = store.put(message())
            store.when_durable(put.physical_offset + put.wrote_bytes, outcome)
        go_on.set()
        assert [outcome.wait() for outcome in outcomes] == [True] * 50
        assert bench.disk.syncs == 2


def test_asynchronous_flush_syncs_by_itself(bench):
    with bench.open(flush_commit_log_interval_ms=1, flush_commit_log_least_pages=0) as store:
        outcome = threading.Event()
        bench.disk.before_sync = outcome.set
        store.put(message())
        assert outcome.wait(DEADLINE_S)


# ---- full disks ----------------------------------------------------------------------------------------------------------


def test_a_full_disk_refuses_the_put_and_loses_nothing(bench):
    store = bench.open()
    store.put(message(b"before"))
    big = message(bytes(LOG_FILE_BYTES - 150))
    bench.disk.allocate_error = NO_SPACE
    refused = store.put(big)
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "cannot grow: No space left on device" in store.write_refusal
    assert bodies(store) == [b"before"]
    bench.disk.allocate_error = 0
    assert store.put(big).status is PutStatus.PUT_OK
    assert store.write_refusal == ""
    store.close()
    assert check_closed_store(bench.root) == 2


def test_queues_that_cannot_be_written_shut_the_store_until_there_is_room(bench):
    store = bench.open()
    store.put(message(b"before"))
    bench.disk.write_error = NO_SPACE
    store.flush()
    assert store.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "consume queues" in store.write_refusal
    bench.disk.write_error = 0
    store.flush()
    assert store.put(message(b"after")).status is PutStatus.PUT_OK
    store.close()
    assert check_closed_store(bench.root) == 2


def test_a_store_closed_on_a_full_disk_recovers_at_the_next_start(bench):
    store = bench.open()
    store.put(message(b"kept"))
    bench.disk.write_error = NO_SPACE
    store.close()
    assert (bench.root / "abort").exists()
    bench.disk.write_error = 0
    assert bodies(bench.open()) == [b"kept"]


def test_a_nearly_full_disk_refuses_from_the_start_and_says_the_figures(bench):
    bench.disk.used_percent = 91
    store = bench.open()
    assert store.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "91 % full, more than 90 %" in store.write_refusal
    assert store.stats().refusal == store.write_refusal
    bench.disk.used_percent = 90
    store.clean()
    assert store.put(message()).status is PutStatus.PUT_OK


def test_a_broken_disk_at_the_end_is_reported_and_recovered_from(bench):
    store = bench.open()
    store.put(message(b"kept"))
    bench.disk.sync_error = BROKEN
    with pytest.raises(StoreError, match="the next start recovers it"):
        store.close()
    bench.disk.sync_error = 0
    assert bodies(bench.open()) == [b"kept"]


# ---- reading, figures, end -----------------------------------------------------------------------------------------------


def test_read_only_changes_no_byte_even_where_recovery_is_needed(bench):
    store = bench.open()
    for number in range(100):
        store.put(message(b"%d" % number))
    bench.crash(store)
    before = contents(bench.root)
    with bench.open(read_only=True) as reader:
        assert bodies(reader) == [b"%d" % number for number in range(100)]
        assert reader.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE
        assert "opened read-only" in reader.write_refusal
        for change in (reader.flush, lambda: reader.remove_topic("Orders")):
            with pytest.raises(StoreReadOnlyError):
                change()
    assert contents(bench.root) == before


def test_a_reader_and_the_owner_can_have_the_store_at_once(bench):
    with bench.open() as store:
        store.put(message(b"one"))
        assert bodies(bench.open(read_only=True)) == [b"one"]


def test_times_find_offsets(bench):
    store = bench.open()
    start = bench.clock.now_ms
    for _ in range(30):
        store.put(message())
        store.put(message())
        bench.clock.advance(10)
    assert store.offset_by_time("Orders", 0, start + 50) == 10
    assert store.offset_by_time("Orders", 0, start + 50, upper=True) == 11
    assert store.offset_by_time("Orders", 0, start + 51) == 12
    assert store.offset_by_time("Orders", 0, start + 51, upper=True) == 11
    assert store.offset_by_time("Orders", 0, start - 1) == 0
    assert store.offset_by_time("Orders", 0, start - 1, upper=True) == 0
    assert store.offset_by_time("Orders", 0, start + 10_000) == 60
    assert store.offset_by_time("Orders", 0, start + 10_000, upper=True) == 59
    assert store.offset_by_time("Orders", 9, start) == 0
    assert store.store_time("Orders", 0, 59) == start + 290
    assert store.store_time("Orders", 0, 60) == store.store_time("Orders", 9, 0) == -1


def test_unknown_places_have_no_record(bench):
    store = bench.open()
    put = store.put(message())
    assert [store.record_at(offset) for offset in (-1, 1, put.wrote_bytes, 1 << 40)] == [None] * 4
    assert store.standing("Nobody", 0) == (0, 0, -1)
    assert (store.min_offset("Nobody", 0), store.max_offset("Nobody", 0)) == (0, 0)


def test_a_removed_topic_numbers_from_zero_also_after_a_crash(bench):
    store = bench.open()
    for number in range(40):
        store.put(message(b"old %d" % number))
    store.put(message(b"other", topic="Other"))
    store.flush()
    store.remove_topic("Orders")
    assert store.queues() == [("Other", 0)]
    assert not (bench.root / "consumequeue" / "Orders").exists()
    assert store.put(message(b"new")).queue_offset == 0
    bench.crash(store)
    store = bench.open()
    assert bodies(store) == [b"new"]
    assert bodies(store, "Other") == [b"other"]


def test_a_removed_topic_does_not_come_back_after_a_crash(bench):
    store = bench.open()
    for number in range(400):
        store.put(message(b"old %d" % number, topic="Other" if number % 2 else "Orders"))
    store.remove_topic("Orders")
    store.put(message(topic="Other"))
    bench.crash(store)
    store = bench.open()
    assert store.queues() == [("Other", 0)]
    assert store.max_offset("Other", 0) == 201


def test_figures_are_those_of_the_store(bench):
    store = bench.open()
    put = store.put(message())
    stats = store.stats()
    assert (stats.commit_log_min_offset, stats.commit_log_max_offset, stats.flushed_offset) == (0, put.wrote_bytes, 0)
    assert (stats.queue_count, stats.store_bytes, stats.refusal) == (1, put.wrote_bytes + 20, "")
    assert (stats.disk_used_bytes, stats.disk_total_bytes) == (10_000_000, 100_000_000)


def test_a_closed_store_refuses_and_closes_again_without_effect(bench):
    store = bench.open()
    store.close()
    store.close()
    assert store.put(message()).status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "is closed" in store.write_refusal


@pytest.mark.parametrize(
    ("setting", "key"),
    [
        ({"commit_log_file_bytes": 4095}, "mappedFileSizeCommitLog is 4,095"),
        ({"commit_log_file_bytes": 1 << 31}, "mappedFileSizeCommitLog"),
        ({"consume_queue_file_bytes": 19}, "mappedFileSizeConsumeQueue"),
        ({"message_delay_level": "soon"}, "messageDelayLevel"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_and_the_lock_is_free(bench, setting, key):
    with pytest.raises(UsageError, match=key):
        bench.open(**setting)
    bench.open()


def test_no_thread_outlives_a_store(bench):
    bench.open().close()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("store-")] == []


def units_on_disk(bench, topic: str = "Orders", queue_id: int = 0) -> int:
    files = (bench.root / "consumequeue" / topic / str(queue_id)).glob("*")
    return sum(size > 0 for path in files for _, size, _ in UNIT.iter_unpack(path.read_bytes()))


def test_a_queue_with_much_in_memory_is_written_by_the_put(bench, monkeypatch):
    monkeypatch.setattr("broker_core.engine.store.message_puts.UNWRITTEN_UNITS_MAX", 50)
    store = bench.open()
    for number in range(200):
        store.put(message(b"%d" % number))
        assert units_on_disk(bench) >= store.max_offset("Orders", 0) - 50
    assert bodies(store) == [b"%d" % number for number in range(200)]


def test_the_row_of_a_removed_topic_serves_another_queue(bench):
    store = bench.open()
    rows = []
    for number in range(80):
        store.put(message(b"kept %d" % number, topic="Kept"))
        for _ in range(3):
            store.put(message(topic=f"Gone{number}"))
        rows.append(store._parts.queues.by_key[f"Gone{number}", 0].row)
        store.put(message(b"and %d" % number, topic="Kept"))
        store.remove_topic(f"Gone{number}")
    check_rows_of(store)
    assert len(set(rows)) < len(rows)
    expected = [text % number for number in range(80) for text in (b"kept %d", b"and %d")]
    assert bodies(store, "Kept") == expected
    bench.crash(store)
    store = bench.open()
    assert (store.queues(), bodies(store, "Kept")) == ([("Kept", 0)], expected)
    check_rows_of(store)


class RemovedMeanwhile:
    """A message whose topic is removed once a put has found its queue, and before it takes the lock."""

    def __init__(self, store: MessageStore, inner) -> None:
        self._store, self._inner = store, inner

    def __getattr__(self, name):
        if name == "body" and self._store is not None:
            store, self._store = self._store, None
            store.remove_topic(self._inner.topic)
        return getattr(self._inner, name)


@pytest.mark.parametrize("extension", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_a_put_makes_a_queue_again_that_was_removed_meanwhile(bench, batch, extension):
    store = bench.open(consume_queue_ext=extension)
    for number in range(3):
        store.put(message(b"%d" % number))
    framed = encode_batch([BatchMember(0, b"late", b"")])
    put = store.put_batch if batch else store.put
    result = put(RemovedMeanwhile(store, message(framed if batch else b"late")))
    assert (result.status, result.queue_offset) == (PutStatus.PUT_OK, 0)
    assert store.put(message(b"next")).queue_offset == 1
    store.put(message(b"other", topic="Other"))
    store.flush()
    check_rows_of(store)
    assert (bodies(store), bodies(store, "Other")) == ([b"late", b"next"], [b"other"])


def test_a_put_without_memory_for_its_unit_leaves_the_log_as_it_was(bench, monkeypatch):
    store = bench.open()
    store.put(message(b"first"))
    end = store.commit_log_max_offset

    def no_memory(*_):
        raise MemoryError

    with monkeypatch.context() as patched, store._parts.writer.write_lock:  # the units stay in memory
        patched.setattr(Blocks, "take", no_memory)
        for number in range(SMALLEST_UNITS - 1):
            store.put(message(b"%d" % number))
        full = store.commit_log_max_offset
        framed = encode_batch([BatchMember(0, b"batch", b"")])
        for put in (lambda: store.put(message(b"late")), lambda: store.put_batch(message(framed))):
            with pytest.raises(MemoryError):
                put()
        assert store.commit_log_max_offset == full > end
    assert store.put(message(b"again")).queue_offset == SMALLEST_UNITS
    check_rows_of(store)


def test_puts_from_several_threads_keep_every_queue_in_order(bench):
    store = bench.open(commit_log_file_bytes=1 << 20)

    def put_many(queue_id: int) -> None:
        for number in range(500):
            assert store.put(message(b"%d" % number, queue_id=queue_id)).queue_offset == number

    threads = [threading.Thread(target=put_many, args=(queue_id,)) for queue_id in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert check_closed_store(bench.root) == 2000

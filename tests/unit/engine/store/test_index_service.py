from __future__ import annotations

import struct

import pytest

from broker_core.engine.store import index_service
from broker_core.engine.store.checkpoint import read_checkpoint
from broker_core.engine.store.inspection.verify import Verification
from broker_core.errors import StoreError
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import decode_record
from tests.support.store_bench import BROKEN, INDEX_ITEMS, INDEX_SLOTS, LOG_FILE_BYTES, NO_SPACE, message
from tests.support.store_check import log_records

COUNT = 150


def properties(number: int) -> bytes:
    return b"KEYS\x01k%d every\x02UNIQ_KEY\x01u%d" % (number, number)


def put_some(bench, store, numbers) -> None:
    for number in numbers:
        bench.clock.advance(100)
        store.put(message(b"%d" % number, properties=properties(number)))


def bodies(records) -> list[int]:
    return [int(decode_record(record).body) for record in records]


def assert_complete(store, count: int = COUNT) -> None:
    for number in range(count):
        assert bodies(store.query("Orders", f"k{number}", max_count=9)) == [number]
        assert bodies(store.query("Orders", f"u{number}", max_count=9, unique=True)) == [number]
    assert bodies(store.query("Orders", "every", max_count=10 * count)) == list(range(count))[::-1]


def index_files(bench) -> list:
    return sorted((bench.root / "index").iterdir())


def contents(bench) -> list[bytes]:
    return [path.read_bytes() for path in index_files(bench)]


@pytest.fixture
def filled(bench):
    with bench.open() as store:
        put_some(bench, store, range(COUNT))
    return bench


def test_a_message_is_found_as_soon_as_its_put_has_returned(bench):
    with bench.open() as store:
        for number in range(30):
            put_some(bench, store, [number])
            assert bodies(store.query("Orders", f"u{number}", max_count=1)) == [number]
        assert store.index_last_update == (
            bench.clock.now_ms,
            decode_record(store.query("Orders", "u29", max_count=1)[0]).physical_offset,
        )


def test_members_of_a_batch_are_found(bench):
    with bench.open() as store:
        members = [BatchMember(0, b"%d" % number, properties(number)) for number in range(5)]
        store.put_batch(message(encode_batch(members), properties=b""))
        assert_complete(store, 5)


def test_the_newest_come_first_as_many_as_asked_for_in_the_time_asked_for(filled):
    with filled.open() as store:
        assert bodies(store.query("Orders", "every", max_count=3)) == [149, 148, 147]
        assert store.query("Orders", "every", max_count=0) == []
        start_ms = filled.clock.now_ms - 100 * (COUNT - 1)
        found = store.query("Orders", "every", max_count=99, from_ms=start_ms + 1_000, to_ms=start_ms + 1_250)
        assert bodies(found) == [12, 11, 10]


def test_unique_keys_and_keys_are_told_apart_and_topics_too(filled):
    with filled.open() as store:
        assert store.query("Orders", "k7", max_count=9, unique=True) == []
        assert bodies(store.query("Orders", "u7", max_count=9)) == [7]
        assert store.query("Other", "k7", max_count=9) == []


def test_a_key_of_the_same_hash_is_not_found(bench):
    with bench.open() as store:
        store.put(message(b"1", properties=b"KEYS\x01Aa"))
        assert store.query("Orders", "BB", max_count=9) == []
        assert bodies(store.query("Orders", "Aa", max_count=9)) == [1]


def test_a_key_that_a_message_has_twice_finds_it_once(bench):
    with bench.open() as store:
        store.put(message(b"1", properties=b"KEYS\x01a a"))
        assert bodies(store.query("Orders", "a", max_count=9)) == [1]


def test_full_files_are_followed_by_new_ones_and_told_to_the_checkpoint(filled):
    files = index_files(filled)
    assert len(files) == -(-3 * COUNT // (INDEX_ITEMS - 1))
    assert {path.stat().st_size for path in files} == {40 + 4 * INDEX_SLOTS + 20 * INDEX_ITEMS}
    assert all(len(path.name) == 17 and path.name.isdecimal() for path in files)
    ends = [int.from_bytes(data[8:16], "big") for data in contents(filled)]
    assert read_checkpoint(filled.root / "checkpoint").index_ms == ends[-2]


def test_nothing_changes_in_a_store_that_is_opened_and_closed(filled):
    before = contents(filled)
    with filled.open():
        pass
    assert contents(filled) == before


@pytest.mark.parametrize("crashed", [False, True], ids=["after a clean stop", "after a crash"])
@pytest.mark.parametrize("noted", [True, False], ids=["with our note", "without"])
@pytest.mark.parametrize("loss", ["all", "first", "middle", "last", "tail", "zeros", "garbage", "size", "foreign name"])
def test_the_index_is_built_anew_wherever_it_is_behind_missing_or_damaged(filled, loss, noted, crashed):
    before, files = contents(filled), index_files(filled)
    hurt = {"first": files[0], "middle": files[2], "last": files[-1]}.get(loss, files[-2])
    if loss == "all":
        for path in files:
            path.unlink()
    elif loss in ("first", "middle", "last"):
        hurt.unlink()
    elif loss == "tail":
        data = bytearray(before[-2])
        hurt.write_bytes(data[:36] + (50).to_bytes(4, "big") + data[40:])
    elif loss == "size":
        hurt.write_bytes(before[-2][:-3])
    elif loss == "foreign name":
        (filled.root / "index" / "readme.txt").write_text("not an index file")
    else:
        hurt.write_bytes((b"\0" if loss == "zeros" else b"\x5a") * len(before[-2]))
    if not noted:
        (filled.root / "orbit.queues").unlink()
    if crashed:
        (filled.root / "abort").touch()
    with filled.open(read_only=True) as store:
        assert_complete(store)
    with filled.open() as store:
        assert_complete(store)
    (filled.root / "index" / "readme.txt").unlink(missing_ok=True)
    if loss != "foreign name":
        assert contents(filled) == before


def test_after_a_crash_keys_behind_the_checkpoint_are_put_once(bench):
    store = bench.open()
    put_some(bench, store, range(80))
    store.flush()
    put_some(bench, store, range(80, COUNT))
    assert_complete(store)
    before = contents(bench)
    bench.crash(store)
    with bench.open() as store:
        assert_complete(store)
    assert contents(bench) == before


def test_slots_and_items_that_a_power_loss_mixed_up_are_set_right(bench):
    store = bench.open()
    put_some(bench, store, range(10))
    store.flush()
    put_some(bench, store, range(10, 20))
    assert_complete(store, 20)
    before = contents(bench)
    bench.crash(store)
    data = bytearray(before[0])
    data[40 + 4 * INDEX_SLOTS + 20 * 35 :] = bytes(20 * (INDEX_ITEMS - 35))  # later items never reached the disk
    index_files(bench)[0].write_bytes(data)
    with bench.open() as store:
        assert_complete(store, 20)
    assert contents(bench) == before


def test_items_of_records_that_were_cut_off_go(filled):
    with filled.open() as store:
        last = decode_record(store.query("Orders", "u149", max_count=1)[0]).physical_offset
    path = max((filled.root / "commitlog").iterdir())
    data = bytearray(path.read_bytes())
    data[last % len(data) + 60 :] = bytes(len(data) - last % len(data) - 60)
    path.write_bytes(data)
    (filled.root / "abort").touch()
    with filled.open() as store:
        assert_complete(store, COUNT - 1)
        assert store.query("Orders", "u149", max_count=1) == []
        put_some(filled, store, [149])
        assert_complete(store)


def test_a_lost_log_leaves_no_key_behind(filled):
    for path in (filled.root / "commitlog").iterdir():
        path.unlink()
    with filled.open() as store:
        assert store.query("Orders", "every", max_count=9) == []
        put_some(filled, store, range(3))
        assert bodies(store.query("Orders", "every", max_count=9)) == [2, 1, 0]


@pytest.fixture
def lost(filled):
    """A store without its index, and what the index held."""
    before = contents(filled)
    for path in index_files(filled):
        path.unlink()
    return filled, before


def test_much_that_is_missing_is_built_before_the_store_opens_and_told(lost, monkeypatch):
    bench, before = lost
    monkeypatch.setattr(index_service, "LATER_BYTES", 0)
    told: list[tuple[str, int, int]] = []
    with bench.open(progress=lambda *facts: told.append(facts)) as store:
        end = store.commit_log_max_offset
        assert ("building the index", end, end) in told
        assert len(index_files(bench)) == len(before)
    assert contents(bench) == before


def test_puts_do_not_wait_for_the_little_that_is_missing_and_queries_find_all(lost):
    bench, _ = lost
    told: list[str] = []
    with bench.open(progress=lambda step, *_figures: told.append(step)) as store:
        assert "building the index" not in told
        put_some(bench, store, [COUNT])
        assert bodies(store.query("Orders", f"u{COUNT}", max_count=1)) == [COUNT]
        assert_complete(store, COUNT + 1)


def test_a_store_that_is_closed_at_once_has_its_whole_index(lost):
    bench, before = lost
    with bench.open():
        pass
    assert contents(bench) == before


def test_a_store_keeps_the_sizes_of_its_index_files(filled):
    with filled.open(max_hash_slots=5_000_000, max_index_items=20_000_000) as store:
        put_some(filled, store, range(COUNT, 2 * COUNT))
        assert_complete(store, 2 * COUNT)
    assert {path.stat().st_size for path in index_files(filled)} == {40 + 4 * INDEX_SLOTS + 20 * INDEX_ITEMS}


def test_a_clock_that_was_set_back_keeps_files_in_order_and_keys_found(filled):
    filled.clock.advance(-86_400_000)
    with filled.open() as store:
        put_some(filled, store, range(COUNT, 2 * COUNT))
        assert_complete(store, 2 * COUNT)
        early = store.query("Orders", "every", max_count=9, to_ms=filled.clock.now_ms - 100)
        assert bodies(early)[0] == 2 * COUNT - 2
    with filled.open() as store:
        assert_complete(store, 2 * COUNT)


def test_switched_off_there_are_no_files_and_no_answers(bench):
    with bench.open(message_index=False) as store:
        put_some(bench, store, range(3))
        assert store.query("Orders", "k1", max_count=9) == []
    assert not (bench.root / "index").exists()
    with bench.open() as store:
        assert_complete(store, 3)


def test_a_full_disk_stops_puts_until_there_is_room(bench):
    with bench.open(max_hash_slots=100_000, max_index_items=100) as store:
        put_some(bench, store, range(20))
        bench.disk.allocate_error = NO_SPACE
        assert store.query("Orders", "k1", max_count=9) == []
        assert "index" in store.write_refusal
        assert "Free some room" in store.write_refusal
        assert store.put(message()).status.value == "SERVICE_NOT_AVAILABLE"
        bench.disk.allocate_error = 0
        assert_complete(store, 20)
        assert store.write_refusal == ""


def test_a_broken_disk_is_told_to_whoever_asks(bench):
    with bench.open() as store:
        put_some(bench, store, range(3))
        bench.disk.allocate_error = BROKEN
        with pytest.raises(StoreError, match="cannot be completed: Input/output error"):
            store.query("Orders", "k1", max_count=9)
        bench.disk.allocate_error = 0


@pytest.mark.parametrize("kind", ["item of another slot", "chain that leads ahead", "slot that leads nowhere", "zeroed items"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_chain_that_cannot_be_is_noticed_by_who_asks_and_built_anew(filled, kind, read_only):
    whole = contents(filled)
    path = index_files(filled)[1]
    data = bytearray(path.read_bytes())
    items = 40 + INDEX_SLOTS * 4
    if kind == "slot that leads nowhere":
        data[40 : 40 + INDEX_SLOTS * 4] = struct.pack(">i", 90_000) * INDEX_SLOTS
    for number in range(2, INDEX_ITEMS - 1):
        at = items + number * 20
        if kind == "item of another slot":
            data[at + 3] ^= 0x01
        elif kind == "chain that leads ahead":
            data[at + 16 : at + 20] = struct.pack(">i", number + 5)
        elif kind == "zeroed items":
            data[at : at + 20] = bytes(20)
    last = (struct.unpack_from(">i", data, items + (INDEX_ITEMS - 1) * 20)[0]) % INDEX_SLOTS
    data[40 + last * 4 : 44 + last * 4] = struct.pack(">i", INDEX_ITEMS - 1)  # what is looked at when a store is opened
    path.write_bytes(data)
    with filled.open(read_only=read_only) as store:
        assert_complete(store)
    if not read_only:
        assert contents(filled) == whole


def test_a_damaged_record_costs_its_own_keys_alone(filled):
    rows = list(log_records(filled.root))
    offset, _ = rows[20]
    path = filled.root / "commitlog" / f"{offset - offset % LOG_FILE_BYTES:020d}"
    data = bytearray(path.read_bytes())
    data[offset % LOG_FILE_BYTES : offset % LOG_FILE_BYTES + 8] = b"\xff" * 8
    path.write_bytes(data)
    for path in index_files(filled):
        path.unlink()
    with filled.open() as store:
        found = [number for number in range(COUNT) if bodies(store.query("Orders", f"k{number}", max_count=9)) == [number]]
    assert found == [number for number in range(COUNT) if number != 20]


class LockWithGuest:
    """A lock; before it is taken for the second time, something else happens."""

    def __init__(self, lock, guest):
        self.lock = lock
        self.guest = guest
        self.count = 0

    def __enter__(self):
        self.count += 1
        if self.count == 2:
            self.guest()
        return self.lock.__enter__()

    def __exit__(self, *error):
        return self.lock.__exit__(*error)


def test_a_thread_that_is_overtaken_indexes_nothing_twice(bench):
    with bench.open() as store:
        put_some(bench, store, range(20))
        index = store._parts.index
        lock = index._lock

        def overtake():
            index._lock = lock
            put_some(bench, store, range(20, 40))
            index.catch_up()

        index._lock = LockWithGuest(lock, overtake)
        index.catch_up()
        assert_complete(store, 40)
    run = Verification(bench.root, DelayLevels("1s"))
    assert [str(finding) for finding in run.findings()] == []

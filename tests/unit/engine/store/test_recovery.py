from __future__ import annotations

import json
import random
import struct

import pytest

from broker_core.engine.store import scanned_window
from broker_core.engine.store.checkpoint import read_checkpoint
from broker_core.engine.store.results import GetStatus
from broker_core.errors import CorruptStoreError
from broker_core.protocol.message.record import decode_record
from broker_core.tools.commands.store import main as store_command
from tests.support.machine_code import library
from tests.support.store_bench import LOG_FILE_BYTES, message
from tests.support.store_check import check_closed_store, log_records

pytestmark = pytest.mark.usefixtures("both_ways", "both_platforms")

PAGE_BYTES = 4096
BLOCK_BYTES = 512
"""Of ``st_blocks``."""


@pytest.fixture(params=["machine code", "python"], autouse=True)
def scanned_by(request, monkeypatch):
    """Each case with machine code and without."""
    found = library() if request.param == "machine code" else None
    monkeypatch.setattr(scanned_window, "machine_code", lambda _config: found)


def fill(bench, count: int = 400, queues: int = 3) -> None:
    with bench.open() as store:
        for number in range(count):
            bench.clock.advance(50)
            store.put(message(b"%d" % number * 10, queue_id=number % queues))


def last_file(bench):
    return max((bench.root / "commitlog").iterdir())


def served(store, queues: int = 3) -> set[bytes]:
    found: set[bytes] = set()
    for queue_id in range(queues):
        for offset in range(store.min_offset("Orders", queue_id), store.max_offset("Orders", queue_id)):
            result = store.get_messages("Orders", queue_id, offset, 1)
            assert result.status is GetStatus.FOUND
            stored = decode_record(result.records[0], check_crc=True)
            assert (stored.queue_id, stored.queue_offset) == (queue_id, offset)
            found.add(stored.body)
    return found


def all_bodies(count: int = 400) -> set[bytes]:
    return {b"%d" % number * 10 for number in range(count)}


@pytest.mark.parametrize("crashed", [False, True], ids=["after a clean stop", "after a crash"])
@pytest.mark.parametrize("loss", ["one queue", "all queues", "one file", "tail", "garbage", "hole"])
def test_queues_are_rebuilt_wherever_they_are_behind_missing_or_damaged(bench, loss, crashed):
    fill(bench)
    directory = bench.root / "consumequeue" / "Orders" / "1"
    files = sorted(directory.iterdir())
    if loss == "one queue":
        remove(directory)
    elif loss == "all queues":
        remove(directory.parent.parent)
    elif loss == "one file":
        files[3].unlink()
    elif loss == "tail":
        files[-1].write_bytes(bytes(200))
    elif loss == "garbage":
        files[-1].write_bytes(files[-1].read_bytes().rstrip(b"\0")[:20] + b"\x01" * 180)
    else:
        data = files[-2].read_bytes()
        files[-2].write_bytes(data[:100] + bytes(20) + data[120:])
    if crashed:
        (bench.root / "abort").touch()
    with bench.open() as store:
        assert served(store) == all_bodies()
        assert [store.max_offset("Orders", queue_id) for queue_id in range(3)] == [134, 133, 133]
    assert check_closed_store(bench.root) == 400


def remove(directory) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    directory.rmdir()


@pytest.mark.parametrize("seed", range(12))
def test_a_torn_last_record_is_cut_and_nothing_before_it(bench, seed):
    fill(bench)
    randomness = random.Random(seed)
    records = list(log_records(bench.root))
    offset, data = records[-1]
    position = offset % LOG_FILE_BYTES
    file = bytearray(last_file(bench).read_bytes())
    kept = randomness.randrange(len(data))
    torn = data[:kept] + (bytes(len(data) - kept) if seed % 2 else randomness.randbytes(len(data) - kept))
    file[position : position + len(data)] = torn
    last_file(bench).write_bytes(file)
    (bench.root / "abort").touch()
    with bench.open() as store:
        complete = torn[:-20] == data[:-20]  # the checksum does not cover the properties
        assert served(store) >= all_bodies(399)
        assert store.commit_log_max_offset == (offset + len(data) if complete and torn == data else offset) or complete
        store.put(message(b"399" * 10, queue_id=0))
    if not complete:
        assert check_closed_store(bench.root) == 400


def test_old_bytes_behind_the_cut_never_come_back(bench):
    fill(bench)
    records = list(log_records(bench.root))
    victim, data = records[-3]
    file = bytearray(last_file(bench).read_bytes())
    file[victim % LOG_FILE_BYTES + 90] ^= 0xFF
    last_file(bench).write_bytes(file)
    (bench.root / "abort").touch()
    store = bench.open()
    assert store.commit_log_max_offset == victim
    bench.clock.advance(1_000)
    same_size = decode_record(data).body
    put = store.put(message(same_size, queue_id=2))
    assert put.wrote_bytes == len(data)
    bench.crash(store)
    with bench.open() as store:
        assert store.commit_log_max_offset == victim + len(data)
        assert len(served(store)) == 398
    assert check_closed_store(bench.root) == 398


def test_an_unused_next_file_is_tolerated_and_removed(bench):
    fill(bench)
    base = int(last_file(bench).name) + LOG_FILE_BYTES
    (bench.root / "commitlog" / f"{base:020d}").write_bytes(bytes(LOG_FILE_BYTES))
    (bench.root / "abort").touch()
    with bench.open() as store:
        assert served(store) == all_bodies()
    assert check_closed_store(bench.root) == 400


@pytest.mark.parametrize("size", [0, 5_000])
def test_a_last_file_that_never_got_its_size_is_tolerated(bench, size):
    fill(bench)
    base = int(last_file(bench).name) + LOG_FILE_BYTES
    (bench.root / "commitlog" / f"{base:020d}").write_bytes(bytes(size))
    (bench.root / "abort").touch()
    with bench.open(read_only=True) as reader:
        assert served(reader) == all_bodies()
    with bench.open() as store:
        assert served(store) == all_bodies()
    assert check_closed_store(bench.root) == 400


def test_files_of_different_sizes_are_refused_with_the_figures(bench):
    fill(bench)
    first = sorted((bench.root / "commitlog").iterdir())[1]
    first.write_bytes(first.read_bytes()[:5_000])
    with pytest.raises(CorruptStoreError, match=r"has 5,000 bytes and 0{20} has 16,384"):
        bench.open()


def test_a_file_that_does_not_belong_is_refused(bench):
    fill(bench)
    (bench.root / "commitlog" / f"{LOG_FILE_BYTES * 50 + 1:020d}").write_bytes(bytes(LOG_FILE_BYTES))
    with pytest.raises(CorruptStoreError, match="no multiple of the file size"):
        bench.open()


def test_a_store_keeps_its_file_sizes_whatever_the_settings_say(bench):
    fill(bench)
    with bench.open(commit_log_file_bytes=1 << 20, consume_queue_file_bytes=6_000_000) as store:
        assert served(store) == all_bodies()
        store.put(message(b"more"))
    assert {path.stat().st_size for path in (bench.root / "commitlog").iterdir()} == {LOG_FILE_BYTES}
    assert check_closed_store(bench.root) == 401


def test_after_a_crash_only_what_lies_past_the_checkpoint_is_scanned(bench):
    store = bench.open()
    for number in range(3_000):
        bench.clock.advance(50)
        store.put(message(b"%d" % number, queue_id=number % 3))
    store.flush()
    bench.clock.advance(60_000)
    store.put(message(b"last"))
    bench.crash(store)
    scanned: list[tuple[int, int]] = []
    with bench.open(progress=lambda _, done, total: scanned.append((done, total))) as store:
        assert store.max_offset("Orders", 0) == 1001
        assert max(done for done, _ in scanned) < 3 * LOG_FILE_BYTES
        assert store.commit_log_max_offset > 15 * LOG_FILE_BYTES
    assert check_closed_store(bench.root) == 3_001


def test_progress_of_a_rebuild_reaches_the_end(bench):
    fill(bench)
    remove(bench.root / "consumequeue")
    told: list[tuple[str, int, int]] = []
    with bench.open(progress=lambda *facts: told.append(facts)) as store:
        end = store.commit_log_max_offset
    assert told
    assert told[-1][1] == end
    assert all(what and done <= total for what, done, total in told)


def test_a_checkpoint_vouches_for_the_last_message(bench):
    fill(bench)
    checkpoint = read_checkpoint(bench.root / "checkpoint")
    assert checkpoint.physic_ms == checkpoint.logics_ms == bench.clock.now_ms
    assert checkpoint.min_timestamp_ms == bench.clock.now_ms - 3_000
    assert (bench.root / "checkpoint").stat().st_size == 4096


def test_min_offsets_follow_deleted_log_files(bench):
    fill(bench)
    files = sorted((bench.root / "commitlog").iterdir())
    files[0].unlink()
    with bench.open() as store:
        first = {queue_id: store.min_offset("Orders", queue_id) for queue_id in range(3)}
        assert all(first.values())
        assert store.commit_log_min_offset == LOG_FILE_BYTES
        assert served(store) < all_bodies()
        assert store.get_messages("Orders", 0, 0, 1).status is GetStatus.OFFSET_TOO_SMALL


def test_a_lost_queue_of_a_shortened_log_begins_where_the_log_does(bench):
    fill(bench)
    min((bench.root / "commitlog").iterdir()).unlink()
    with bench.open() as store:
        before = [store.min_offset("Orders", queue_id) for queue_id in range(3)]
    remove(bench.root / "consumequeue")
    with bench.open() as store:
        assert [store.min_offset("Orders", queue_id) for queue_id in range(3)] == before
        assert [store.max_offset("Orders", queue_id) for queue_id in range(3)] == [134, 133, 133]
        served(store)
    with bench.open() as store:  # the blanks before the first unit survive being read again
        assert [store.min_offset("Orders", queue_id) for queue_id in range(3)] == before
    units = b"".join(path.read_bytes() for path in sorted((bench.root / "consumequeue" / "Orders" / "0").iterdir()))
    blank = struct.pack(">qiq", 0, 0x7FFFFFFF, 0)
    assert units[: before[0] % 10 * 20] == blank * (before[0] % 10)


def test_a_lost_log_leaves_no_unit_behind(bench):
    fill(bench)
    remove(bench.root / "commitlog")
    with bench.open() as store:
        assert served(store) == set()
        assert store.commit_log_max_offset == 0
        assert store.put(message(b"new")).status.value == "PUT_OK"


def test_a_clock_that_was_set_back_loses_no_unit(bench):
    store = bench.open()
    for number in range(300):
        store.put(message(b"%d" % number))
    store.flush()
    bench.clock.advance(-3_600_000)
    for number in range(300, 600):
        store.put(message(b"%d" % number, queue_id=1 if number < 400 else 2))
    bench.crash(store)
    with bench.open() as store:
        assert [store.max_offset("Orders", queue_id) for queue_id in range(3)] == [300, 100, 200]
    assert check_closed_store(bench.root) == 600


def test_records_behind_a_damaged_place_are_cut_and_kept_beside_the_store(bench, capsys):
    fill(bench)
    records = list(log_records(bench.root))
    victim = next(offset for offset, _ in records if offset > LOG_FILE_BYTES * 1.5)
    path = bench.root / "commitlog" / f"{LOG_FILE_BYTES:020d}"
    data = bytearray(path.read_bytes())
    data[victim % LOG_FILE_BYTES + 90] ^= 0xFF
    path.write_bytes(data)
    (bench.root / "abort").touch()
    (bench.root / "orbit.queues").unlink()  # so that nothing vouches for the log but the checkpoint
    (bench.root / "checkpoint").unlink()
    with bench.open() as store:
        assert store.commit_log_max_offset == victim
    kept = {offset for offset, _ in records if offset > victim}
    assert store_command(["dump", str(bench.root / "orbit.cut")]) in (0, 1)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["physicalOffset"] for row in rows} == kept
    check_closed_store(bench.root)


def write_with_holes(path, data: bytes) -> None:
    """Write a file as copies that leave out zeros do."""
    with path.open("wb") as file:
        file.truncate(len(data))
        for start in range(0, len(data), PAGE_BYTES):
            if any(data[start : start + PAGE_BYTES]):
                file.seek(start)
                file.write(data[start : start + PAGE_BYTES])


def test_a_record_behind_a_damaged_place_is_kept_also_where_its_zeros_are_a_hole(bench):
    with bench.open(commit_log_file_bytes=1 << 20) as store:
        first = store.put(message(b"lost"))
        store.put(message(bytes(300_000)))
    path = bench.root / "commitlog" / f"{0:020d}"
    data = bytearray(path.read_bytes())
    data[first.physical_offset : first.wrote_bytes] = b"\xff" * first.wrote_bytes
    write_with_holes(path, bytes(data))
    (bench.root / "abort").touch()
    (bench.root / "orbit.queues").unlink()  # so that nothing vouches for the log but the checkpoint
    (bench.root / "checkpoint").unlink()
    with bench.open() as store:
        assert store.commit_log_max_offset == first.physical_offset
    assert (bench.root / "orbit.cut").exists()


@pytest.mark.parametrize("crashed", [False, True], ids=["after a clean stop", "after a crash"])
def test_a_start_leaves_the_rest_of_the_log_file_a_hole(bench, crashed):
    store = bench.open(commit_log_file_bytes=64 << 20)
    store.put(message())
    if crashed:
        bench.crash(store)
    else:
        store.close()
    path = bench.root / "commitlog" / f"{0:020d}"
    before = path.stat().st_blocks
    bench.open().close()
    assert path.stat().st_blocks * BLOCK_BYTES <= before * BLOCK_BYTES + (1 << 20)


def test_a_torn_end_without_records_behind_it_leaves_nothing_beside_the_store(bench):
    fill(bench)
    offset, data = list(log_records(bench.root))[-1]
    file = bytearray(last_file(bench).read_bytes())
    position = offset % LOG_FILE_BYTES
    file[position + 60 : position + len(data)] = bytes(len(data) - 60)
    last_file(bench).write_bytes(file)
    (bench.root / "abort").touch()
    with bench.open() as store:
        assert store.commit_log_max_offset == offset
    assert not (bench.root / "orbit.cut").exists()


@pytest.mark.parametrize("crashed", [False, True], ids=["after a clean stop", "after a crash"])
@pytest.mark.parametrize("queues", ["kept", "lost"])
def test_a_log_file_missing_in_the_middle_costs_its_own_messages_alone(bench, crashed, queues):
    fill(bench)
    rows = [(offset, decode_record(data).body) for offset, data in log_records(bench.root)]
    gone = {body for offset, body in rows if LOG_FILE_BYTES <= offset < 2 * LOG_FILE_BYTES}
    (bench.root / "commitlog" / f"{LOG_FILE_BYTES:020d}").unlink()
    if crashed:
        (bench.root / "abort").touch()
        (bench.root / "checkpoint").unlink()
    if queues == "lost":
        remove(bench.root / "consumequeue")
    for _ in range(2):
        with bench.open() as store:
            assert served_in_pieces(store) == all_bodies() - gone
            assert [store.max_offset("Orders", queue_id) for queue_id in range(3)] == [134, 133, 133]
            assert [store.min_offset("Orders", queue_id) for queue_id in range(3)] == [0, 0, 0]


def test_a_zeroed_log_file_in_the_middle_costs_its_own_messages_alone(bench):
    fill(bench)
    rows = [(offset, decode_record(data).body) for offset, data in log_records(bench.root)]
    gone = {body for offset, body in rows if LOG_FILE_BYTES <= offset < 2 * LOG_FILE_BYTES}
    (bench.root / "commitlog" / f"{LOG_FILE_BYTES:020d}").write_bytes(bytes(LOG_FILE_BYTES))
    with bench.open() as store:
        assert served_in_pieces(store) == all_bodies() - gone


def served_in_pieces(store) -> set[bytes]:
    """All that is served, whatever lies between."""
    found: set[bytes] = set()
    for queue_id in range(3):
        offset = store.min_offset("Orders", queue_id)
        while offset < store.max_offset("Orders", queue_id):
            got = store.get_messages("Orders", queue_id, offset, 32)
            assert got.next_offset > offset
            found |= {decode_record(record, check_crc=True).body for record in got.records}
            offset = got.next_offset
    return found


def test_properties_that_a_client_gave_lead_into_no_other_queue(bench):
    """Multi-dispatch properties in a store without multi-dispatch, and names that are no topics."""
    fill(bench, 30)
    texts = [b"Orders", b"../../outside", b"/tmp/outside", b"a" * 300]
    with bench.open() as store:
        for text in texts:
            properties = b"INNER_MULTI_DISPATCH\x01" + text + b"\x02INNER_MULTI_QUEUE_OFFSET\x010"
            store.put(message(b"bad", topic="Bad", properties=properties))
    for multi_dispatch in (False, True):
        remove(bench.root / "consumequeue")
        (bench.root / "abort").touch()
        with bench.open(multi_dispatch=multi_dispatch) as store:
            assert served(store) == all_bodies(30)
            assert sorted(store.queues()) == [("Bad", 0), ("Orders", 0), ("Orders", 1), ("Orders", 2)]
    assert not (bench.root.parent / "outside").exists()


def test_what_is_put_in_place_of_a_torn_end_survives_a_crash(bench):
    """The last checkpoint vouched for the record that was torn since, and must not vouch for another one in its place."""
    fill(bench)
    offset, data = list(log_records(bench.root))[-1]
    file = bytearray(last_file(bench).read_bytes())
    position = offset % LOG_FILE_BYTES
    file[position + 60 : position + len(data)] = bytes(len(data) - 60)
    last_file(bench).write_bytes(file)
    (bench.root / "abort").touch()
    store = bench.open()
    put = store.put(message(b"399" * 10, queue_id=0, properties=b"KEYS\x01new"))
    assert put.physical_offset == offset
    bench.crash(store)
    with bench.open() as store:
        assert served(store) == all_bodies()
        assert len(store.query("Orders", "new", max_count=9)) == 1
    assert check_closed_store(bench.root) == 400


def test_a_queue_whose_messages_were_all_cleaned_away_goes_on_with_its_numbers(bench):
    with bench.open() as store:
        for number in range(10):
            store.put(message(b"%d" % number, topic="Old"))
    fill(bench)
    min((bench.root / "commitlog").iterdir()).unlink()
    with bench.open() as store:
        store.flush()
    remove(bench.root / "consumequeue" / "Old")
    with bench.open() as store:
        assert (store.min_offset("Old", 0), store.max_offset("Old", 0)) == (10, 10)
        assert store.put(message(topic="Old")).queue_offset == 10

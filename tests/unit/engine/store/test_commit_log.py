from __future__ import annotations

import errno
import struct

import pytest

from broker_core.engine.store import commit_log
from broker_core.engine.store.commit_log import PAGE_BYTES, CommitLog, file_size_on_disk
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.log_places import LogPlaces
from broker_core.errors import CorruptStoreError
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.record import encode_record, topic_field
from tests.support.store_bench import FaultyDisk, message

pytestmark = pytest.mark.usefixtures("both_platforms")

FILE_BYTES = 1 << 12
TOPIC = topic_field(b"Orders")


@pytest.fixture
def disk():
    return FaultyDisk()


@pytest.fixture
def log(tmp_path, disk):
    made = CommitLog(LogPlaces([tmp_path / "commitlog"]), FILE_BYTES, disk, read_only=False)
    yield made
    made.close()


def append(log, body=b"x" * 500, queue_offset=3):
    return log.append(message(body), TOPIC, 0, queue_offset, 123)


def test_an_appended_record_has_the_bytes_of_the_codec(log):
    offset, size = append(log)
    expected = encode_record(message(b"x" * 500), queue_offset=3, physical_offset=offset, store_timestamp_ms=123)
    assert bytes(log.slice(offset, size)) == bytes(log.record(offset)) == expected
    assert log.end == offset + size


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_of_more_layouts_than_are_kept_have_the_bytes_of_the_codec(log, monkeypatch, kind):
    monkeypatch.setattr(commit_log, "_LAYOUTS_MAX", 3)
    monkeypatch.setattr(commit_log, "_LAYOUTS_MISSED_MAX", 4)
    hosts = {"born_host": HostAddress(bytes(range(16)), 7), "sys_flag": 0x10, "properties": b"K\x01v"}
    for number in range(40):
        changes = hosts if number % 5 == 0 else {}
        one = message(kind(b"x" * (number % 11)), **changes)
        offset, size = log.append(one, TOPIC, one.sys_flag, number, 123)
        assert bytes(log.slice(offset, size)) == encode_record(
            one, queue_offset=number, physical_offset=offset, store_timestamp_ms=123
        )


def test_a_head_that_cannot_be_packed_leaves_the_log_as_it_was(log):
    append(log)
    end = log.end
    with pytest.raises(struct.error):
        log.append(message(flag=1 << 40), TOPIC, 0, 3, 123)
    assert log.end == end
    offset, size = append(log)
    assert offset == end
    assert bytes(log.record(offset)) == bytes(log.slice(offset, size))


def test_a_full_file_gets_a_filler_and_the_next_one_follows(log, tmp_path):
    offsets = [append(log)[0] for _ in range(8)]
    size = offsets[1] - offsets[0]
    in_first = FILE_BYTES // size
    assert offsets[in_first] == FILE_BYTES
    first = (tmp_path / "commitlog" / ("0" * 20)).read_bytes()
    end = in_first * size
    assert first[end : end + 8] == struct.pack(">iI", FILE_BYTES - end, 0xCBD43194)
    assert log.bases == [0, FILE_BYTES]


def test_nothing_outside_the_written_bytes_is_given_out(log):
    offset, size = append(log)
    assert log.slice(offset, size + 1) is None
    assert log.slice(-1, 5) is None
    assert log.slice(offset, 0) is None
    assert log.record(offset + size) is None
    assert log.record(offset + 4) is None


def test_what_is_given_out_cannot_be_written_and_outlives_the_mapping(log):
    offset, _ = append(log)
    record = log.record(offset)
    with pytest.raises(TypeError):
        record[0] = 1
    log.close()
    assert record[4:8] == bytes.fromhex("daa320a7")


def test_a_flush_syncs_every_file_that_has_new_bytes_once(log, disk):
    for _ in range(20):
        append(log)
    files = len(log.bases)
    assert disk.syncs == files  # a file's size is on the disk before there is another file
    disk.syncs = 0
    assert log.flush() == log.end == log.flushed
    assert disk.syncs == files
    log.flush()
    assert disk.syncs == files
    append(log)
    log.flush()
    assert disk.syncs == files + 1


def test_a_failed_sync_leaves_the_flushed_offset(log, disk):
    append(log)
    disk.sync_error = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        log.flush()
    assert log.flushed == 0


def test_no_room_for_the_next_file_leaves_the_log_as_it_was(log, disk):
    while log.end + 700 < FILE_BYTES:
        append(log)
    end = log.end
    disk.allocate_error = errno.ENOSPC
    with pytest.raises(OSError, match="No space left"):
        append(log)
    assert (log.end, log.bases) == (end, [0])
    disk.allocate_error = 0
    assert append(log)[0] == FILE_BYTES


def test_dirty_pages_are_counted_as_rocketmq_does(log):
    assert log.dirty_pages() == 0
    while log.end < FILE_BYTES:
        append(log)
    assert log.dirty_pages() == 1


def test_the_end_can_be_set_back_and_what_lay_behind_is_gone(log, tmp_path):
    offsets = [append(log)[0] for _ in range(30)]
    log.flush()
    log.close()
    again = CommitLog(LogPlaces([tmp_path / "commitlog"]), FILE_BYTES, FaultyDisk(), read_only=False)
    again.set_end(offsets[8])
    assert again.bases == [0, FILE_BYTES]
    assert not any((tmp_path / "commitlog" / f"{FILE_BYTES:020d}").read_bytes()[offsets[8] - FILE_BYTES :])
    assert append(again)[0] == offsets[8]
    again.close()


def test_a_file_larger_than_the_first_is_refused(tmp_path):
    (tmp_path / f"{0:020d}").write_bytes(bytes(100))
    (tmp_path / f"{100:020d}").write_bytes(bytes(101))
    with pytest.raises(CorruptStoreError, match="has 101 bytes"):
        file_size_on_disk(LogPlaces([tmp_path]), 50)


@pytest.mark.parametrize(("sizes", "expected"), [([], 50), ([0], 50), ([100], 100), ([100, 100], 100), ([100, 0], 100)])
def test_the_size_of_a_store_is_that_of_its_files(tmp_path, sizes, expected):
    for number, size in enumerate(sizes):
        (tmp_path / f"{number * 100:020d}").write_bytes(bytes(size))
    assert file_size_on_disk(LogPlaces([tmp_path]), 50) == expected


def test_a_file_that_holds_no_record_is_refused(tmp_path):
    (tmp_path / f"{0:020d}").write_bytes(b"not a log")
    with pytest.raises(CorruptStoreError, match="too few for any record"):
        file_size_on_disk(LogPlaces([tmp_path]), 50)


def test_a_flush_unmaps_whole_pages_once_and_changes_no_byte(tmp_path):
    unmapped = []

    class WatchedDisk(Disk):
        def unmap_pages(self, mapped):
            unmapped.append(len(mapped))
            super().unmap_pages(mapped)

    log = CommitLog(LogPlaces([tmp_path / "commitlog"]), 1 << 20, WatchedDisk(), read_only=False)
    for _ in range(20):
        append(log)
    before = bytes(log.slice(0, log.end))
    log.flush()
    append(log)
    log.flush()
    assert bytes(log.slice(0, len(before))) == before == (tmp_path / "commitlog" / f"{0:020}").read_bytes()[: len(before)]
    whole = len(before) // PAGE_BYTES * PAGE_BYTES
    assert unmapped[0] == whole
    assert sum(unmapped) == log.end // PAGE_BYTES * PAGE_BYTES
    log.close()

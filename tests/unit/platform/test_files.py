"""Files, their holes and their room: each way gives the same."""

from __future__ import annotations

import os
import threading

import pytest

from broker_core.native.addresses import address
from broker_core.platform import allocation, files, holes, page_cache

SIZE = 1 << 20
PIECE = holes.PIECE_BYTES

pytestmark = pytest.mark.usefixtures("both_platforms")


@pytest.fixture
def descriptor(tmp_path):
    made = files.open_to_write(tmp_path / "file")
    yield made
    os.close(made)


@pytest.fixture
def sparse(descriptor):
    """Data in the pieces 0, 8 and 9; holes between and after them."""
    files.write_all_at(descriptor, b"begin", 0)
    files.write_all_at(descriptor, b"m" * (PIECE + 1), 8 * PIECE)
    files.grow(descriptor, SIZE)
    return descriptor


def test_bytes_are_read_where_they_were_written_and_the_position_stays(descriptor):
    os.lseek(descriptor, 3, os.SEEK_SET)
    files.write_all_at(descriptor, b"abcdef", 10)
    assert files.read_at(descriptor, 4, 11) == b"bcde"
    assert files.read_at(descriptor, 100, 12) == b"cdef"
    assert files.read_at(descriptor, 4, 16) == b""
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 3


def test_a_buffer_is_filled_up_to_the_end_of_the_file(descriptor):
    files.write_all_at(descriptor, b"abc", 0)
    buffer = memoryview(bytearray(5))
    assert files.read_into(descriptor, buffer, 1) == 2
    assert bytes(buffer) == b"bc\0\0\0"
    assert files.read_into(descriptor, buffer, 3) == 0


def test_threads_that_share_a_descriptor_read_their_own_places(descriptor):
    files.write_all_at(descriptor, b"".join(bytes([n]) * 1000 for n in range(8)), 0)
    wrong = []

    def read(number: int) -> None:
        reads = (files.read_at(descriptor, 1000, number * 1000) for _ in range(300))
        wrong.extend(number for read in reads if read != bytes([number]) * 1000)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_file_that_grows_has_zeros(descriptor):
    files.write_all_at(descriptor, b"abc", 0)
    files.grow(descriptor, 10)
    assert files.read_at(descriptor, 100, 0) == b"abc" + bytes(7)


def test_writes_through_a_mapping_are_in_the_file_after_a_sync(descriptor):
    files.grow(descriptor, 8192)
    mapping = files.map_shared(descriptor, 8192)
    mapping[5000:5003] = b"abc"
    files.sync_data(descriptor)
    assert files.read_at(descriptor, 3, 5000) == b"abc"
    mapping.close()
    files.sync_data(descriptor)


def test_a_new_file_must_be_new(tmp_path):
    os.close(files.open_new(tmp_path / "new", 0o600))
    with pytest.raises(FileExistsError):
        files.open_new(tmp_path / "new")
    files.sync_directory(tmp_path)


def test_a_file_is_opened_to_read_as_bytes(tmp_path):
    (tmp_path / "file").write_bytes(b"a\r\nb\x1ac")
    descriptor = files.open_to_read(tmp_path / "file")
    assert files.read_at(descriptor, 100, 0) == b"a\r\nb\x1ac"
    os.close(descriptor)


def test_holes_are_found_between_data(sparse):
    assert holes.next_data(sparse, 0, SIZE) == 0
    assert holes.next_hole(sparse, 0, SIZE) <= PIECE
    assert holes.next_data(sparse, PIECE, SIZE) == 8 * PIECE
    assert holes.next_data(sparse, 8 * PIECE + 7, SIZE) == 8 * PIECE + 7
    assert 9 * PIECE < holes.next_hole(sparse, 8 * PIECE, SIZE) <= 10 * PIECE
    assert holes.next_data(sparse, 10 * PIECE, SIZE) == SIZE


def test_only_a_hole_has_no_data(descriptor):
    files.grow(descriptor, SIZE)
    assert holes.next_data(descriptor, 0, SIZE) == SIZE
    assert holes.next_hole(descriptor, 0, SIZE) == 0


def test_reading_holes_of_a_file_on_a_disk_needs_no_room(sparse):
    assert not holes.holes_need_room(sparse, 0)


def test_room_is_reserved_and_data_stay(sparse):
    before = files.read_at(sparse, SIZE, 0)
    allocation.allocate(sparse, 3, SIZE // 2 - 5)
    assert files.read_at(sparse, SIZE, 0) == before
    assert os.fstat(sparse).st_blocks * 512 >= SIZE // 2
    assert os.fstat(sparse).st_size == SIZE


def test_room_behind_the_end_makes_the_file_larger(descriptor):
    allocation.allocate(descriptor, 0, 10_000)
    assert os.fstat(descriptor).st_size == 10_000


def test_advice_about_pages_changes_no_bytes(sparse):
    page_cache.read_ahead(sparse, 8 * PIECE, SIZE)
    mapping = files.map_shared(sparse, SIZE)
    before = mapping[:]
    page_cache.expect_random(mapping)
    page_cache.release(mapping, 0, SIZE)
    page_cache.unmap(address(mapping), SIZE)
    assert mapping[:] == before
    mapping.close()

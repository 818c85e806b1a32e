from __future__ import annotations

import struct
from array import array

import pytest

from broker_core.engine.store.index_build import IndexBuilder
from broker_core.engine.store.index_file import Geometry, IndexFile, IndexHeader
from broker_core.engine.store.index_keys import KeyBatch
from tests.support.machine_code import library
from tests.support.store_bench import NO_SPACE, FaultyDisk

pytestmark = pytest.mark.usefixtures("both_platforms")

NOW_MS = 1_700_000_000_000
SMALL = Geometry(5, 20)


@pytest.fixture
def disk():
    return FaultyDisk()


def fill(path, disk, *, geometry: Geometry = SMALL, count: int = 10) -> IndexFile:
    file = IndexFile.create(path, geometry, IndexHeader(), disk, read_only=False)
    add_keys(file, [(number % 3 + 100, number * 50, NOW_MS + number * 1000) for number in range(count)])
    return file


def add_keys(file: IndexFile, rows: list[tuple[int, int, int]]) -> int:
    return IndexBuilder(library()).add_keys(file, KeyBatch(array("q", [value for row in rows for value in row]), 0), 0)


def test_what_was_written_is_read_again(tmp_path, disk):
    header = fill(tmp_path / "1", disk).header
    found = IndexFile.open(tmp_path / "1", SMALL, disk, read_only=False)
    assert found.header == header
    assert list(found.offsets(100, 0, NOW_MS * 2)) == [450, 300, 150, 0]
    assert list(found.offsets(103, 0, NOW_MS * 2)) == []


def test_time_bounds_leave_out_what_is_surely_outside(tmp_path, disk):
    file = fill(tmp_path / "1", disk)
    assert list(file.offsets(100, NOW_MS + 2_000, NOW_MS + 7_000)) == [300, 150]


@pytest.mark.parametrize("geometry", [Geometry(1000, 3000), Geometry(142, 300), Geometry(21, 84), Geometry(2, 4)])
def test_numbers_of_slots_and_items_are_found_without_being_told(tmp_path, disk, geometry):
    fill(tmp_path / "1", disk, geometry=geometry, count=3)
    found = IndexFile.open(tmp_path / "1", Geometry(5_000_000, 20_000_000), disk, read_only=True)
    assert found.geometry == geometry


@pytest.mark.parametrize(
    ("position", "data"),
    [
        (36, struct.pack(">i", 21)),  # more items than fit
        (16, struct.pack(">q", 9)),  # begins elsewhere
        (24, struct.pack(">q", 9)),  # ends elsewhere
        (32, struct.pack(">i", 6)),  # more slots than there are
        (40, bytes(20)),  # no slots
        (40 + 20 + 20 * 10, bytes(20)),  # no last item
    ],
)
def test_a_damaged_file_is_noticed(tmp_path, disk, position, data):
    fill(tmp_path / "1", disk)
    content = bytearray((tmp_path / "1").read_bytes())
    content[position : position + len(data)] = data
    (tmp_path / "1").write_bytes(content)
    assert IndexFile.open(tmp_path / "1", SMALL, disk, read_only=True) is None


@pytest.mark.parametrize("size", [0, 39, 42, 90])
def test_a_file_of_an_impossible_size_is_no_index_file(tmp_path, disk, size):
    (tmp_path / "1").write_bytes(bytes(size))
    assert IndexFile.open(tmp_path / "1", SMALL, disk, read_only=False) is None
    assert (tmp_path / "1").stat().st_size == size


def test_a_full_disk_is_an_error_and_leaves_the_file_as_it_was(tmp_path, disk):
    file = fill(tmp_path / "1", disk, geometry=Geometry(100_000, 100_000))
    before = bytes(file.buffer)
    disk.allocate_error = NO_SPACE
    rows = [(50_000, 50_000, 50_000)] * 9
    with pytest.raises(OSError, match="No space"):
        add_keys(file, rows)
    assert bytes(file.buffer) == before
    disk.allocate_error = 0
    assert add_keys(file, rows) == 9


def test_a_new_file_without_room_leaves_nothing_behind(tmp_path, disk):
    disk.allocate_error = NO_SPACE
    with pytest.raises(OSError, match="No space"):
        fill(tmp_path / "1", disk)
    assert list(tmp_path.iterdir()) == []


def test_a_chain_that_leads_forward_ends(tmp_path, disk):
    file = fill(tmp_path / "1", disk)
    position = file.item_position(7) + 16
    file.buffer[position : position + 4] = struct.pack(">i", 10)
    assert list(file.offsets(100, 0, NOW_MS * 2)) == [450]
    assert file.is_damaged


def test_changes_to_a_file_opened_read_only_stay_in_memory(tmp_path, disk):
    fill(tmp_path / "1", disk)
    before = (tmp_path / "1").read_bytes()
    found = IndexFile.open(tmp_path / "1", SMALL, disk, read_only=True)
    add_keys(found, [(100, 1_000, NOW_MS + 100)])
    found.sync()
    found.delete()
    assert next(found.offsets(100, 0, NOW_MS * 2)) == 1000
    assert (tmp_path / "1").read_bytes() == before

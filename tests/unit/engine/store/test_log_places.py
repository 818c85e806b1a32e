from __future__ import annotations

import pytest

from broker_core.engine.store.log_places import LogPlaces
from broker_core.errors import CorruptStoreError
from tests.support.store_bench import LOG_FILE_BYTES, message
from tests.unit.engine.store.test_recovery import all_bodies, served

FILE_BYTES = 1_000


def names(directory):
    return sorted(int(path.name) for path in directory.iterdir())


def test_files_go_round_the_writable_directories_by_name(tmp_path):
    b, a, c = (tmp_path / name for name in "bac")
    places = LogPlaces([b, a, c], [c])
    assert [places.path(number * FILE_BYTES, FILE_BYTES).parent.name for number in range(4)] == ["a", "b", "a", "b"]


def test_a_directory_whose_disk_is_full_is_passed_over_unless_all_are(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    full = {a}
    places = LogPlaces([a, b], is_full=full.__contains__)
    assert [places.path(number * FILE_BYTES, FILE_BYTES).parent for number in range(2)] == [b, b]
    full.add(b)
    assert [places.path(number * FILE_BYTES, FILE_BYTES).parent for number in range(2, 4)] == [a, b]


def test_only_read_only_directories_are_written_to_all_the_same(tmp_path):
    places = LogPlaces([tmp_path], [tmp_path])
    assert places.path(0, FILE_BYTES).parent == tmp_path


def test_files_are_where_they_are_whatever_the_rule_says(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    b.mkdir()
    (b / f"{0:020d}").write_bytes(b"x")
    places = LogPlaces([a, b])
    assert places.path(0, FILE_BYTES).parent == b
    assert places.files() == [(b / f"{0:020d}", 0)]
    places.forget(0)
    assert places.path(0, FILE_BYTES).parent == a


def test_a_file_in_two_directories_is_refused(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020d}").touch()
    with pytest.raises(CorruptStoreError, match="have one name"):
        LogPlaces([tmp_path / "a", tmp_path / "b"])


# ---- in a store --------------------------------------------------------------------------------------------------------


def put_all(bench, store, numbers):
    for number in numbers:
        bench.clock.advance(50)
        store.put(message(b"%d" % number * 10, queue_id=number % 3))


def test_a_log_over_several_directories_is_written_recovered_and_cleaned(bench, tmp_path):
    disks = [tmp_path / "disk1" / "log", tmp_path / "disk2" / "log"]
    settings = {"commit_log_paths": f"{disks[0]},{disks[1]}", "file_reserved_hours": 0}
    store = bench.open(**settings)
    put_all(bench, store, range(300))
    bench.crash(store)
    with bench.open(**settings) as store:
        put_all(bench, store, range(300, 400))
        assert served(store) == all_bodies()
    assert names(disks[0])[:2] == [0, 2 * LOG_FILE_BYTES]
    assert names(disks[1])[:2] == [LOG_FILE_BYTES, 3 * LOG_FILE_BYTES]
    assert not (bench.root / "commitlog").exists()
    with bench.open(read_only=True, **settings) as reader:
        assert served(reader) == all_bodies()
    bench.clock.now_ms = 4_000_000_000_000
    with bench.open(**settings) as store:
        assert store.clean().log_files == 3
    assert sorted(names(disks[0]) + names(disks[1])) == [3 * LOG_FILE_BYTES]


def test_a_directory_made_read_only_is_read_and_not_written(bench, tmp_path):
    old = bench.root / "commitlog"
    with bench.open() as store:
        put_all(bench, store, range(200))
    before = names(old)
    new = tmp_path / "other"
    with bench.open(commit_log_paths=f"{old},{new}", commit_log_paths_read_only=str(old)) as store:
        put_all(bench, store, range(200, 400))
        assert served(store) == all_bodies()
    assert names(old) == before
    assert min(names(new)) == before[-1] + LOG_FILE_BYTES

import os

import pytest

from broker_core.engine.store import file_map
from broker_core.engine.store.file_map import map_file

SIZE = 1 << 20


@pytest.fixture
def sparse(tmp_path):
    path = tmp_path / "00000000000000000000"
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(SIZE // 2)
        file.write(b"middle")
        file.truncate(SIZE)
    return path


def test_a_file_is_mapped_whole(sparse):
    mapped = map_file(sparse)
    assert mapped[:] == sparse.read_bytes()


def test_with_no_room_for_its_holes_a_file_reads_the_same(sparse, monkeypatch):
    monkeypatch.setattr(file_map, "_holes_need_room", lambda _descriptor: True)
    monkeypatch.setattr(file_map, "_COPY_BYTES", 1000)
    assert map_file(sparse)[:] == sparse.read_bytes()


def test_a_file_of_nothing_but_a_hole_reads_as_zeros(tmp_path, monkeypatch):
    monkeypatch.setattr(file_map, "_holes_need_room", lambda _descriptor: True)
    path = tmp_path / "hole"
    with path.open("wb") as file:
        file.truncate(SIZE)
    assert map_file(path)[:] == bytes(SIZE)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        map_file(tmp_path / "missing")


def test_holes_need_room_only_where_none_is_left_on_a_file_system_in_memory(sparse, monkeypatch):
    class Full:
        f_bavail = 0
        f_frsize = 4096

    real = os.fstat

    def in_memory(descriptor):
        found = list(real(descriptor))
        found[2] = os.makedev(0, 40)
        return os.stat_result(found, {"st_blocks": 8})

    with sparse.open("rb") as file:
        descriptor = file.fileno()
        assert not file_map._holes_need_room(descriptor) or os.major(os.fstat(descriptor).st_dev) == 0
        monkeypatch.setattr(os, "fstat", in_memory)
        monkeypatch.setattr(os, "fstatvfs", lambda _descriptor: Full)
        assert file_map._holes_need_room(descriptor)
        Full.f_bavail = 1 << 30
        assert not file_map._holes_need_room(descriptor)

"""Holes on file systems in memory, and on those that know none."""

from __future__ import annotations

import errno
import os

import pytest

from broker_core.platform import holes

SIZE = 1 << 20


@pytest.fixture
def sparse(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"begin")
        file.truncate(SIZE)
    return path


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
        assert not holes.holes_need_room(descriptor, 1) or os.major(os.fstat(descriptor).st_dev) == 0
        monkeypatch.setattr(os, "fstat", in_memory)
        monkeypatch.setattr(os, "fstatvfs", lambda _descriptor: Full)
        assert holes.holes_need_room(descriptor, 1)
        Full.f_bavail = 1 << 30
        assert not holes.holes_need_room(descriptor, 1)


def test_a_file_system_without_holes_is_read(sparse, monkeypatch):
    def refuse(descriptor, position, how):
        assert how in {os.SEEK_DATA, os.SEEK_HOLE}
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    with sparse.open("rb", buffering=0) as file:
        monkeypatch.setattr(os, "lseek", refuse)
        assert holes.next_data(file.fileno(), 0, SIZE) == 0
        assert holes.next_data(file.fileno(), holes.PIECE_BYTES, SIZE) == SIZE
        assert holes.next_hole(file.fileno(), 0, SIZE) == holes.PIECE_BYTES


def test_a_broken_disk_is_reported(sparse, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with sparse.open("rb", buffering=0) as file:
        monkeypatch.setattr(os, "lseek", refuse)
        for ask in (holes.next_data, holes.next_hole):
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                ask(file.fileno(), 0, SIZE)

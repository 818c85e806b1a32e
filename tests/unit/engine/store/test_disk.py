from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from broker_core.engine.store.disk import Disk, is_no_space

pytestmark = pytest.mark.usefixtures("both_platforms")

FILL_UNTIL_REFUSED = """
import resource, sys
from pathlib import Path
from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from tests.support.store_bench import message

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
config = StoreConfig(root=Path(sys.argv[1]), commit_log_file_bytes=1 << 22)
with MessageStore.open(config) as store:
    stored = 0
    while store.put(message(bytes(1000))).status.value == "PUT_OK":
        stored += 1
        assert stored < 100_000
    print(stored, store.write_refusal)
"""


def test_a_file_has_its_size_at_once_and_keeps_a_larger_one(tmp_path):
    disk = Disk()
    disk.close(disk.open_sized(tmp_path / "file", 5000))
    assert (tmp_path / "file").stat().st_size == 5000
    disk.close(disk.open_sized(tmp_path / "file", 100))
    assert (tmp_path / "file").stat().st_size == 5000


def test_allocated_bytes_take_room(tmp_path):
    disk = Disk()
    descriptor = disk.open_sized(tmp_path / "file", 1 << 20)
    assert (tmp_path / "file").stat().st_blocks == 0
    disk.allocate(descriptor, 0, 1 << 16)
    assert (tmp_path / "file").stat().st_blocks * 512 >= 1 << 16
    disk.close(descriptor)


def test_zeros_are_written_where_they_are_asked_for_and_seen_through_a_mapping(tmp_path):
    disk = Disk()
    (tmp_path / "file").write_bytes(b"\xff" * 10_000)
    descriptor = disk.open_sized(tmp_path / "file", 10_000)
    mapped = disk.map(descriptor, 10_000)
    disk.write_zeros(descriptor, 4096, 4096, 3000)
    assert mapped[:] == b"\xff" * 4096 + bytes(4096) + b"\xff" * (10_000 - 8192)
    mapped.close()
    disk.close(descriptor)


@pytest.mark.parametrize("position", [0, 1, 4095, 4096, 9_999])
def test_clearing_zeroes_what_lies_behind_and_nothing_else(tmp_path, position):
    data = os.urandom(10_000)
    (tmp_path / "file").write_bytes(data)
    Disk().clear_behind(tmp_path / "file", position)
    assert (tmp_path / "file").read_bytes() == data[:position].ljust(10_000, b"\0")


def test_a_replaced_file_is_whole_and_leaves_no_other(tmp_path):
    disk = Disk()
    disk.replace_file(tmp_path / "file", b"old")
    disk.replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_usage_is_that_of_the_disk(tmp_path):
    used, total = Disk().usage(tmp_path)
    assert 0 < used < total


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limit here")
def test_a_real_limit_on_file_sizes_is_a_refusal_and_not_a_signal(tmp_path):
    command = [sys.executable, "-c", FILL_UNTIL_REFUSED, str(tmp_path / "store"), str(1 << 21)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 the commit log in")
    assert "cannot grow: File too large" in done.stdout


def test_full_disks_are_told_from_broken_ones():
    assert is_no_space(OSError(28, "full"))
    assert not is_no_space(OSError(5, "broken"))


@pytest.mark.parametrize("left_over", [True, False])
def test_cleared_bytes_are_on_the_disk_before_others_take_their_place(tmp_path, left_over):
    synced: list[bytes] = []

    class Watched(Disk):
        def sync(self, descriptor: int) -> None:  # noqa: ARG002  as the real one
            synced.append(path.read_bytes())

    path = tmp_path / "file"
    path.write_bytes(b"kept" + (b"old" if left_over else bytes(3)))
    Watched().clear_behind(path, 4)
    assert synced == ([b"kept\0\0\0"] if left_over else [])

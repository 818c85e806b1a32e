"""Locks of files: what one descriptor has locked no other gets, until it is closed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from broker_core.platform import files, locks

pytestmark = pytest.mark.usefixtures("both_platforms")

OTHER = """
import os, sys
from broker_core.platform import files, locks
descriptor = files.open_to_write(sys.argv[1])
try:
    locks.lock_first_byte(descriptor)
except BlockingIOError:
    print("held by", locks.first_byte_holder(descriptor))
else:
    print("free")
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


def test_one_descriptor_locks_a_file_until_it_is_closed(path):
    first, second = files.open_to_write(path), files.open_to_write(path)
    locks.lock_file(first)
    with pytest.raises(BlockingIOError):
        locks.lock_file(second)
    os.close(first)
    locks.lock_file(second)
    os.close(second)


def test_the_content_of_a_locked_file_can_be_read_and_its_position_stays(path):
    first = files.open_to_write(path)
    os.write(first, b"42\n")
    locks.lock_file(first)
    assert os.lseek(first, 0, os.SEEK_CUR) == 3
    second = files.open_to_read(path)
    assert files.read_at(second, 10, 0) == b"42\n"
    os.close(first)
    os.close(second)


def test_another_process_does_not_get_the_first_byte(path):
    descriptor = files.open_to_write(path)
    command = [sys.executable, "-c", OTHER, str(path)]
    locks.lock_first_byte(descriptor)
    held = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    os.close(descriptor)
    free = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert held.startswith("held by")
    assert free == "free\n"


def test_a_file_system_without_locks_is_reported(path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "no locks available")

    descriptor = files.open_to_write(path)
    monkeypatch.setattr(locks, "locking", refuse)
    with pytest.raises(OSError, match="no locks"):
        locks.plain_lock_file(descriptor)
    os.close(descriptor)

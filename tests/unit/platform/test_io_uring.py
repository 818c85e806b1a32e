from __future__ import annotations

import errno
import mmap
import os
import select
from pathlib import Path

import pytest

from broker_core.platform.io_uring import KernelSync

DEADLINE_MS = 60_000


@pytest.fixture
def kernel():
    try:
        made = KernelSync()
    except OSError as error:
        pytest.skip(f"this kernel takes no syncs: {error.strerror}")
    yield made
    made.close()


@pytest.fixture
def descriptor(tmp_path):
    made = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.ftruncate(made, 8192)
    yield made
    os.close(made)


def wait_for(kernel: KernelSync) -> None:
    ending = select.poll()
    ending.register(kernel.descriptor, select.POLLIN)
    assert ending.poll(DEADLINE_MS)


def test_the_end_of_each_sync_is_told_once(kernel, descriptor):
    with mmap.mmap(descriptor, 8192) as mapped:
        for number in range(3):
            mapped[number] = 1
            assert not kernel.ended()
            kernel.start(descriptor)
            assert kernel.is_under_way
            wait_for(kernel)
            assert kernel.ended()
            assert not kernel.is_under_way
            assert not kernel.ended()


def test_what_cannot_be_synced_is_an_error_and_leaves_the_rest_usable(kernel, descriptor):
    reader, writer = os.pipe()
    kernel.start(reader)
    wait_for(kernel)
    with pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
        kernel.ended()
    os.close(reader)
    os.close(writer)
    kernel.start(descriptor)
    wait_for(kernel)
    assert kernel.ended()


def test_close_waits_for_what_is_under_way_and_may_come_again(kernel, descriptor):
    os.pwrite(descriptor, b"bytes", 0)
    kernel.start(descriptor)
    assert kernel.close()
    assert not kernel.is_under_way
    assert not kernel.close()


def test_a_system_without_it_says_so(monkeypatch):
    monkeypatch.setattr("broker_core.platform.io_uring._SETUP", 9_999)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)):
        KernelSync()


def test_without_a_descriptor_for_its_end_nothing_stays_open(kernel, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    before = sorted(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(os, "eventfd", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        KernelSync()
    assert sorted(Path("/proc/self/fd").iterdir()) == before

"""Syncs by the kernel, and what a system without them says."""

from __future__ import annotations

import errno
import os

import pytest

from broker_core.platform import kernel_sync
from broker_core.platform.io_uring import KernelSync


def test_linux_has_io_uring():
    assert kernel_sync.open_kernel_sync is KernelSync


def test_another_system_says_so():
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)):
        kernel_sync.plain_open_kernel_sync()

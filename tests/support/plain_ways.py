"""Takes away what only some systems have, so that a test runs the plain ways of `broker_core.platform`."""

from __future__ import annotations

import errno
import fcntl
import importlib
import mmap
import os
import pkgutil
import socket
import struct
from types import ModuleType

import psutil  # noqa: F401  its import needs what is hidden
import pytest

from broker_core import platform
from broker_core.platform import local_sockets, locks, ways

PREFIX = "plain_"
HIDDEN: dict[ModuleType, tuple[str, ...]] = {
    os: (
        "pread", "preadv", "pwrite", "pwritev", "readv", "writev", "fdatasync", "posix_fallocate", "posix_fadvise", "SEEK_DATA",
        "SEEK_HOLE", "memfd_create", "eventfd", "eventfd_read", "fork", "forkpty", "killpg", "nice", "sched_getaffinity",
        "fstatvfs", "sysconf", "sendfile",
    ),
    mmap: ("MADV_RANDOM", "MADV_DONTNEED"),
    fcntl: ("flock", "lockf"),
    socket: ("AF_UNIX",),
}  # fmt: skip
"""What a test with plain ways does not find, by module: Windows has none of it."""

_FLOCK = struct.Struct("hh4xqqi4x")


def platform_modules() -> list[ModuleType]:
    """The modules of `broker_core.platform`."""
    found = pkgutil.iter_modules(platform.__path__, f"{platform.__name__}.")
    return [importlib.import_module(one.name) for one in found]


def plain_names(module: ModuleType) -> list[str]:
    """What a module has a plain way for."""
    return [name.removeprefix(PREFIX) for name in vars(module) if name.startswith(PREFIX)]


def take_plain_ways(patch: pytest.MonkeyPatch) -> None:
    """Put the plain ways in the place of the system's own, in this process and, but for locks, in its children."""
    for module in platform_modules():
        for name in plain_names(module):
            patch.setattr(module, name, getattr(module, PREFIX + name))
    patch.setattr(locks, "locking", byte_locking)
    patch.setattr(socket, "socketpair", local_sockets.plain_socket_pair)  # event loops make one
    patch.setenv(ways.SWITCH, "plain")
    for module, names in HIDDEN.items():
        for name in names:
            patch.delattr(module, name)


def byte_locking(descriptor: int, _kind: int, count: int) -> None:
    """Lock bytes as ``locking`` of Windows' msvcrt does: from the position on, for this open file, without waiting."""
    lock = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, os.lseek(descriptor, 0, os.SEEK_CUR), count, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)
    except OSError as error:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error

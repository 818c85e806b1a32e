"""Write access to a store directory: recognition, lock, owner, abort file.

RocketMQ's own lock is one of the first byte of ``lock``; it excludes a Java broker. On some systems such locks do not exclude a
second opener in the same process, so ``orbit.owner`` is locked as well; it also holds the owner's process id.

Source: docs/spec/store.md §1.5, §1.6.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from broker_core.engine.store.disk import is_no_space
from broker_core.engine.store.newer_layouts import ENTRIES, check_layout
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import ForeignStoreError, StoreError, StoreFullError, StoreLockedError, StorePermissionError
from broker_core.platform import files, locks, owners
from broker_core.protocol.message.properties import number_of
from broker_core.shortage import shortage_text

_LOCK_CONTENT = b"lock"

_STORE_ENTRIES = frozenset(
    (
        "abort", "checkpoint", "lock", "commitlog", "consumequeue", "consumequeue_ext", "index", "config", "orbit.owner",
        "orbit.faults", *ENTRIES,
    )
)  # fmt: skip
_NAMED_MAX = 4


def check_directory(root: Path, *, read_only: bool, logs: Sequence[Path] = ()) -> None:
    """Check that a directory is a RocketMQ store, or may become one.

    ``logs`` are the directories of the commit log; by default the one in ``root``.

    Raises:
        ForeignStoreError: It holds other things, or nothing to read.
        StorePermissionError: It cannot be read, or not be written though ``read_only`` is false.
    """
    try:
        _check_kind(root, logs or [StorePaths(root).commit_log], read_only=read_only)
    except PermissionError as error:
        raise StorePermissionError(
            f"the store directory {root} cannot be read: {error.strerror}. Choose another directory or change its permissions",
            path=str(root),
        ) from error
    if not read_only:
        _check_writable(root)


def _check_kind(root: Path, logs: Sequence[Path], *, read_only: bool) -> None:
    if not root.exists():
        if read_only:
            raise ForeignStoreError(f"there is no directory {root}. Choose the directory that holds commitlog/", path=str(root))
        return
    if not root.is_dir():
        raise ForeignStoreError(f"{root} is a file; a store is a directory. Choose another path", path=str(root))
    names = sorted(entry.name for entry in root.iterdir() if entry.name != "lost+found")
    if names and not _STORE_ENTRIES.intersection(names):
        shown = ", ".join(names[:_NAMED_MAX]) + (" …" if len(names) > _NAMED_MAX else "")
        raise ForeignStoreError(
            f"{root} belongs to something else: it holds {shown}, and no commitlog. Choose an empty directory "
            "or a RocketMQ store",
            path=str(root),
        )
    if read_only and not any(directory.exists() for directory in logs):
        raise ForeignStoreError(f"{root} has no commit log directory, so there is nothing to read", path=str(root))
    for directory in logs:
        _check_commit_log(directory)
    if not read_only:
        check_layout(root)


def _check_commit_log(directory: Path) -> None:
    if not directory.exists():
        return
    if not directory.is_dir():
        raise ForeignStoreError(f"{directory} is a file; in a RocketMQ store it is a directory", path=str(directory))
    strange = sorted(entry.name for entry in directory.iterdir() if not (entry.name.isdecimal() and len(entry.name) == 20))
    if strange:
        raise ForeignStoreError(
            f"{directory / strange[0]} is no commit log file: those are named by 20 digits. Move it away if the store is "
            "RocketMQ's, else choose another directory",
            path=str(directory),
        )


def _check_writable(root: Path) -> None:
    place = root
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK):
        raise StorePermissionError(
            f"the store directory {root} cannot be written by {owners.user_text()}. Choose another directory or "
            f"change the permissions of {place}",
            path=str(root),
        )


def open_failed(root: Path, error: OSError) -> StoreError:
    """The error for a fault of the operating system while a store is opened."""
    place = error.filename or root
    if isinstance(error, PermissionError):
        return StorePermissionError(
            f"{place} cannot be opened: {error.strerror}. Choose another store directory or change the permissions",
            path=str(place),
        )
    if is_no_space(error):
        return StoreFullError(
            f"there is no room to open the store {root}: {error.strerror}. Free some room on the disk", path=str(root)
        )
    return StoreError(f"the store {root} cannot be opened: {shortage_text(error) or error}", path=str(root))


class StoreOwnership:
    """The right to write to a store, held until `release`.

    Raises:
        StoreLockedError: Another process, or another part of this one, holds it.
        StorePermissionError: The lock files cannot be opened.
    """

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self._descriptors: list[int] = []
        try:
            self._lock_ours()
            self._lock_rocketmq()
        except OSError as error:
            self.release()
            raise StorePermissionError(
                f"the lock of the store {paths.root} cannot be taken: {error.strerror}. Choose another directory or change its "
                "permissions",
                path=str(paths.root),
            ) from error
        except StoreLockedError:
            self.release()
            raise

    def _lock_ours(self) -> None:
        descriptor = self._open(self._paths.owner)
        try:
            locks.lock_file(descriptor)
        except BlockingIOError as error:
            raise _locked(self._paths.root, _pid_in(descriptor)) from error
        os.ftruncate(descriptor, 0)
        files.write_at(descriptor, f"{os.getpid()}\n".encode(), 0)

    def _lock_rocketmq(self) -> None:
        descriptor = self._open(self._paths.lock)
        try:
            locks.lock_first_byte(descriptor)
        except BlockingIOError as error:
            raise _locked(self._paths.root, locks.first_byte_holder(descriptor)) from error
        files.write_at(descriptor, _LOCK_CONTENT, 0)

    def _open(self, path: Path) -> int:
        descriptor = files.open_to_write(path)
        self._descriptors.append(descriptor)
        return descriptor

    def release(self) -> None:
        """Release the locks. The files stay, as RocketMQ's do."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


def _locked(root: Path, pid: int) -> StoreLockedError:
    who = f"process {pid}" if pid > 0 else "another process"
    return StoreLockedError(
        f"the store {root} is in use by {who}; a store has one owner. Stop that process or choose another directory",
        path=str(root),
        pid=pid,
    )


def _pid_in(descriptor: int) -> int:
    return number_of(files.read_at(descriptor, 32, 0).strip(), 0)

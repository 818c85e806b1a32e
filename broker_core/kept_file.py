"""`KeptFile`: a file that is replaced as a whole, with its former content in ``.bak``.

    write   new content beside the file, synced → renamed into its place → the former content becomes ``.bak``
    read    the file; where it is damaged or missing, ``.bak``
    mend    the damaged file becomes ``NAME.damaged-TIME``, a copy of ``.bak`` takes its place

A kill between two steps leaves a good file, because ``.bak`` is replaced only after the new content is on the disk, and never
by content that cannot be read. Source: docs/spec/store.md §7.1 (names, and the order of reading).
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from broker_core.errors import CodecError
from broker_core.platform import files, replacing

DAMAGED_MAX = 5
"""Damaged files of one name that are kept; older ones are deleted."""

EMPTY = "it is empty"
"""The fault of a file without bytes, or with blanks only."""

_RANDOM_BYTES = 6
_YEAR_9999 = 253_402_300_799
_DAMAGE = (ValueError, RecursionError, CodecError)

Value = TypeVar("Value")
Stamp = tuple[int, int, int]


class Replace(Protocol):
    """Puts data in place of a file at once, on the disk when it returns; raises `OSError`."""

    def __call__(self, path: Path, data: bytes, *, mode: int = ...) -> None: ...


@dataclass(frozen=True, slots=True)
class Found(Generic[Value]):
    """What a file and its backup hold.

    Attributes:
        value: Of the file, else of the backup; None where neither can be used.
        data: The bytes of ``value``.
        faults: What is wrong with the file and its backup, by name; one that is missing has no fault.
        is_backup: Whether ``value`` is the backup's.
    """

    value: Value | None
    data: bytes
    faults: Mapping[str, str]
    is_backup: bool = False

    @property
    def faults_text(self) -> str:
        """All faults in one line."""
        return "; ".join(f"{name}: {fault}" for name, fault in self.faults.items())


def backup_path(path: Path) -> Path:
    """Where the former content is kept."""
    return path.with_name(f"{path.name}.bak")


def read_content(path: Path, *, is_text: bool = True) -> bytes:
    """Bytes of a file.

    Raises:
        FileNotFoundError: It is missing.
        OSError: The operating system refuses.
        ValueError: It is empty, no file, or text with NUL bytes, as a power cut leaves them.
    """
    if path.is_symlink() and not path.exists():
        raise ValueError("it is a link to nothing")
    if path.exists() and not path.is_file():
        raise ValueError("it is no file")
    data = path.read_bytes()
    if not data.strip():
        raise ValueError(EMPTY)
    if is_text and b"\0" in data:
        raise ValueError(f"byte {data.index(0):,} of {len(data):,} is NUL")
    return data


def replace_file(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o644,
    write: Callable[[int, bytes, int], None] = files.write_all_at,
    sync: Callable[[int], None] | None = None,
    sync_names: Callable[[Path], None] | None = None,
) -> None:
    """Put ``data`` in place of a file at once: temporary file, sync, rename, sync of the directory.

    Args:
        path: The file.
        data: All of its content.
        mode: Permissions; the mask of the process takes away what it denies.
        write: Writes data at a position of an open file.
        sync: Returns when an open file is on the disk; the system's way by default.
        sync_names: Returns when the names of a directory are on the disk; the system's way by default.

    Raises:
        OSError: It cannot be written; the former file is still in place.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(_RANDOM_BYTES).hex()}")
    descriptor = files.open_new(temporary, mode)
    try:
        try:
            write(descriptor, data, 0)
            (sync or files.sync_data)(descriptor)
        finally:
            os.close(descriptor)
        replacing.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    (sync_names or files.sync_directory)(path.parent)


class KeptFile(Generic[Value]):
    """See the module. One process owns the file, and calls `write` from one thread at a time.

    Args:
        path: The file.
        parse: Makes the value of its bytes; raises ValueError, RecursionError or CodecError where they are damaged.
        replace: Puts data in place of a file.
        mode: Permissions of a new file, as in `replace_file`.
        is_text: Bytes of NUL are damage.
    """

    def __init__(
        self,
        path: Path,
        parse: Callable[[bytes], Value],
        *,
        replace: Replace = replace_file,
        mode: int = 0o644,
        is_text: bool = True,
    ) -> None:
        self.path = path
        self._parse = parse
        self._is_text = is_text
        self._replace = replace
        self._mode = mode
        self._good: Stamp | None = None

    def read(self, take: Callable[[Value], object] = lambda _value: None) -> Found[Value]:
        """Value of the file, else of its backup; nothing on the disk is changed.

        Args:
            take: Takes the value over; raises as ``parse`` does, and changes nothing then.

        Raises:
            OSError: The operating system refuses to read one of them.
        """
        faults: dict[str, str] = {}
        for candidate in (self.path, backup_path(self.path)):
            try:
                data = read_content(candidate, is_text=self._is_text)
                value = self._parse(data)
                take(value)
            except FileNotFoundError:
                continue
            except _DAMAGE as error:
                faults[candidate.name] = str(error)
            else:
                is_backup = candidate is not self.path
                self._good = self._good if is_backup else _stamp_of(self.path)
                return Found(value, data, faults, is_backup=is_backup)
        return Found(None, b"", faults)

    def mend(self, found: Found[Value]) -> list[Path]:
        """Set aside what `read` found damaged, and copy a backup that was used into its place; returns the new names.

        Raises:
            OSError: The operating system refuses.
        """
        damaged = [path for path in (self.path, backup_path(self.path)) if path.name in found.faults]
        kept = [_set_aside(path) for path in damaged]
        if found.is_backup:
            self._put(found.data)
        return kept

    def write(self, data: bytes) -> None:
        """Replace the file; the former content becomes the backup, or is set aside where it is damaged.

        Raises:
            OSError: It cannot be written; the former file and its backup are still in place.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for path in (self.path, backup_path(self.path)):
            if path.is_dir():
                _set_aside(path)
        is_good, former = self._is_good(), self._hold_former()
        try:
            self._put(data)
        except OSError:
            if former is not None:
                former.unlink(missing_ok=True)
            raise
        if former is not None and is_good:
            replacing.replace(former, backup_path(self.path))
        elif former is not None:
            replacing.replace(former, _free_name(self.path, former))

    def sweep(self) -> None:
        """Delete temporary files that a kill left."""
        for left in self.path.parent.glob(f".{glob.escape(self.path.name)}.*"):
            left.unlink(missing_ok=True)

    def _put(self, data: bytes) -> None:
        self._replace(self.path, data, mode=self._mode)
        self._good = _stamp_of(self.path)

    def _is_good(self) -> bool:
        """Whether the file may become the backup. It is read only where somebody else has changed it."""
        try:
            if _stamp_of(self.path) != self._good:
                self._parse(read_content(self.path, is_text=self._is_text))
        except (OSError, *_DAMAGE):
            return False
        return True

    def _hold_former(self) -> Path | None:
        """A second name for the former file, which its replacement leaves alone; None where there is no file."""
        staged = self.path.with_name(f".{backup_path(self.path).name}.new")
        staged.unlink(missing_ok=True)
        try:
            replacing.second_name(self.path, staged)
        except FileNotFoundError:
            return None
        return staged


def _stamp_of(path: Path) -> Stamp:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _set_aside(path: Path) -> Path:
    target = _free_name(path, path)
    return path.rename(target)


def _free_name(path: Path, damaged: Path) -> Path:
    """Name to keep a damaged file under: that of ``path``, with the time of its last change. The oldest ones are deleted.

    Args:
        path: Whose name it gets.
        damaged: The file, under the name that it has now.
    """
    changed = time.gmtime(min(max(damaged.lstat().st_mtime, 0), _YEAR_9999))
    base = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', changed)}")
    kept = sorted(path.parent.glob(f"{glob.escape(path.name)}.damaged-*"))
    for old in kept[: max(0, len(kept) - DAMAGED_MAX + 1)]:
        with contextlib.suppress(OSError):  # a directory that is not empty stays
            old.rmdir() if old.is_dir() and not old.is_symlink() else old.unlink()
    numbered = (base.with_name(f"{base.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain((base,), numbered) if not os.path.lexists(name))

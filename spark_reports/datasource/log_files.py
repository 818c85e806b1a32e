"""The log files of a store on the disk: in ``commitlog`` of its directory, or in several directories.

A broker whose storePathCommitLog names several directories spreads its files over them. Only its settings name them, so the
caller passes them.

Source: docs/spec/store.md §1.2.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from broker_core.engine.store.layout import commit_log_files, map_file, scan_records
from broker_core.errors import ForeignStoreError, StoreError, StorePermissionError, UsageError

_BLOCK_BYTES = 512
"""Unit of ``st_blocks``."""


@dataclass(frozen=True, slots=True)
class CommitLogFile:
    """One log file.

    Attributes:
        base: Physical offset of its first byte.
        written_bytes: Bytes allocated on the disk, if the file system reports them: a broker creates files at their full size
            and fills them later.
    """

    path: Path
    base: int
    size: int
    written_bytes: int


def log_files(root: Path, directories: Sequence[Path] = ()) -> list[CommitLogFile]:
    """Log files of one store that hold bytes, oldest first.

    By default ``commitlog`` in the store's directory is the only directory of its commit log.

    Raises:
        ForeignStoreError: A directory is missing or is no RocketMQ store.
        StorePermissionError: It cannot be read.
        CorruptStoreError: A file lies in two directories.
    """
    require_store(root)
    try:
        _check(root, directories)
        found = [_log_file(path, base) for path, base in commit_log_files(root, directories)]
        for file in found[-1:]:
            file.path.open("rb").close()
    except PermissionError as error:
        raise StorePermissionError(
            f"{error.filename or root} cannot be read by this user. Run the report as the broker's user, "
            "or give this user read access.",
            path=str(root),
        ) from error
    return [file for file in found if file.size > 0]


def _log_file(path: Path, base: int) -> CommitLogFile:
    found = path.stat()
    blocks: int | None = getattr(found, "st_blocks", None)
    return CommitLogFile(
        path, base, found.st_size, found.st_size if blocks is None else min(found.st_size, blocks * _BLOCK_BYTES)
    )


def require_store(root: Path) -> None:
    """Raise `ForeignStoreError` if a store directory does not exist."""
    if not root.is_dir():
        raise ForeignStoreError(f"there is no store at {root}: the directory does not exist. Check the path.", path=str(root))


def _check(root: Path, directories: Sequence[Path]) -> None:
    for directory in directories:
        if not directory.is_dir():
            raise ForeignStoreError(
                f"there is no commit log directory {directory}. Name those of the broker's storePathCommitLog.",
                path=str(directory),
            )
    if not directories and not (root / "commitlog").is_dir():
        raise ForeignStoreError(
            f"{root} is not a RocketMQ store: it has no folder “commitlog”. "
            "Name the storePathRootDir of a broker, the folder that holds commitlog and consumequeue; "
            "if its log lies elsewhere (storePathCommitLog), name its log directories, too.",
            path=str(root),
        )


def directories_of(text: str, roots: Sequence[str | Path]) -> tuple[Path, ...]:
    """Directories of a commit log from text, separated by commas as in storePathCommitLog; empty for the store's own.

    Raises `UsageError` if there are several stores, so that the directories' store is unknown.
    """
    found = tuple(Path(part.strip()) for part in text.split(",") if part.strip())
    if found and len(roots) != 1:
        raise UsageError(f"commit log directories belong to one store, and {len(roots)} are read. Read the stores one by one.")
    return found


def first_offset(root: str | Path, directories: Sequence[Path] = ()) -> int:
    """Physical offset of the begin of a store's log."""
    files = log_files(Path(root), directories)
    return files[0].base if files else 0


def mapped(path: str) -> mmap.mmap:
    try:
        return map_file(Path(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(
            f"{path} could not be read: {error.strerror}. Check the disk and the permissions.", path=path
        ) from error


def head_at(file: CommitLogFile, offset: int, byte_count: int) -> tuple[int, int, int] | None:
    """Bytes, store time (epoch milliseconds) and body checksum of the record at a physical offset of a file; None without one.

    ``byte_count`` is the length of the record.
    """
    position = offset - file.base
    with mapped(str(file.path)) as buffer:
        heads = scan_records(buffer, file.base, position, min(len(buffer), position + byte_count))
        found = list(zip(heads.size.tolist(), heads.store_ms.tolist(), heads.body_crc.tolist(), strict=True))
        del heads  # the mapping closes only when nothing looks into it
    return found[0] if len(found) == 1 else None

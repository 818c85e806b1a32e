"""The directories of a commit log's files: one, or several, which may be on other disks.

    writable     the directories of storePathCommitLog, without those of readOnlyCommitLogStorePaths and those on full disks
    file at b    in directory (b / file size) mod n of the n writable ones, in the order of their names
    reading      all directories together, by file name

Source: docs/spec/store.md §1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.paths import offset_files, offset_name
from broker_core.errors import CorruptStoreError

SEPARATOR = ","


class LogPlaces:
    """Directories of one commit log.

    Args:
        directories: Those that may hold its files.
        read_only: Those of them, or further ones, that get no new file.
        is_full: Whether a directory's disk has no room for a new file; called only for several directories.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        read_only: Sequence[Path] = (),
        is_full: Callable[[Path], bool] = lambda _: False,
    ) -> None:
        self.directories = list(dict.fromkeys((*directories, *read_only)))
        self._writable = sorted(path for path in dict.fromkeys(directories) if path not in read_only) or list(directories)
        self._is_full = is_full
        self._found = dict(sorted((base, path) for path, base in self.files()))

    @classmethod
    def of(cls, config: StoreConfig, default: Path, is_full: Callable[[Path], bool]) -> LogPlaces:
        """The directories of the settings; ``default`` without settings."""
        directories = paths_of(config.commit_log_paths) or [default]
        return cls(directories, paths_of(config.commit_log_paths_read_only), is_full)

    def files(self) -> list[tuple[Path, int]]:
        """All files, by ascending base offset.

        Raises:
            CorruptStoreError: A file lies in two directories.
        """
        found: dict[int, Path] = {}
        for directory in self.directories:
            for path, base in offset_files(directory):
                if base in found:
                    raise CorruptStoreError(
                        f"{path} and {found[base]} have one name; a commit log has each file once. Move one of them away",
                        file=str(path),
                        position=0,
                    )
                found[base] = path
        return [(found[base], base) for base in sorted(found)]

    def path(self, base: int, file_bytes: int) -> Path:
        """Path of the file at a base offset, existing or to be created."""
        path = self._found.get(base)
        if path is None:
            path = self._found[base] = self._choose(base // file_bytes) / offset_name(base)
        return path

    def _choose(self, number: int) -> Path:
        writable = self._writable
        if len(writable) > 1:
            writable = [path for path in writable if not self._is_full(path)] or writable
        return writable[number % len(writable)]

    def forget(self, base: int) -> None:
        """Note that a file was deleted."""
        self._found.pop(base, None)


def log_directories(config: StoreConfig, default: Path) -> list[Path]:
    """All directories of a store's commit log; ``default`` without settings."""
    return [*(paths_of(config.commit_log_paths) or [default]), *paths_of(config.commit_log_paths_read_only)]


def holds_records(config: StoreConfig, default: Path) -> bool:
    """Whether a commit log holds, or held, a record. It need not be open."""
    files = [file for directory in log_directories(config, default) for file in offset_files(directory)]
    return any(base or any(_first_bytes(path)) for path, base in files)


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)


def paths_of(text: str) -> list[Path]:
    """Directories of a setting, separated by commas."""
    return [Path(part.strip()).absolute() for part in text.split(SEPARATOR) if part.strip()]

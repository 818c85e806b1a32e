"""`LineFile`: a growing file of JSON lines, owned by one process at a time: the receipts of replays and copies.

A line counts when its line break is there; a rest without one, left by a kill, is cut off at the next read. A damaged line is
refused, because the lines after it record what was done, and must not be lost.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

from broker_core.errors import CodecError
from broker_core.outside import read_json
from broker_core.platform import locks

Line = Mapping[str, Any]


class LineFile:
    """An open file, locked until it is closed; ``a+b`` opens it or makes it, ``r+b`` must find it, ``x+b`` must not.

    Raises `BlockingIOError` when another process works on it, and `OSError` with its name when it cannot be opened or written.
    """

    def __init__(self, path: Path, mode: Literal["a+b", "r+b", "x+b"]) -> None:
        self._path = path
        with contextlib.ExitStack() as files:
            self._file: BinaryIO = files.enter_context(path.open(mode))
            locks.lock_file(self._file.fileno())
            files.pop_all()
        self._file.seek(0)

    def first(self) -> Line | None:
        """The first line, or None. Call it before `take_in`, which continues after it."""
        return _values(self._file.readline())

    def take_in(self, take: Callable[[Line], None]) -> None:
        """Read the lines to the end and cut off an unfinished last one; `write` appends after them.

        ``take`` gets each, and reports an unreadable line by `KeyError`, `IndexError`, `TypeError` or `ValueError`, which
        becomes a `CodecError`, as for a damaged line.
        """
        end = self._file.tell()
        for data in self._file:
            if not data.endswith(b"\n"):
                break
            values = _values(data)
            if values is None:
                raise self._damaged(end)
            try:
                take(values)
            except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
                raise self._damaged(end) from error
            end += len(data)
        self._file.truncate(end)
        self._file.seek(end)

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines and pass them to the system, so that a kill of the process loses none."""
        with self._named():
            for line in lines:
                self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            self._file.flush()

    def sync(self) -> None:
        with self._named():
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        with self._named():
            self._file.close()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def _damaged(self, position: int) -> CodecError:
        return CodecError(f"{self._path} has a damaged line at byte {position:,}: nothing can go on from it")


def _values(data: bytes) -> Line | None:
    try:
        values = read_json(data) if data.endswith(b"\n") else None
    except ValueError:
        return None
    return values if isinstance(values, dict) else None

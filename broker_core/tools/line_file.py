"""`LineFile`: a file of JSON lines that grows, and that one process at a time works on: the receipts of replays and copies.

A line counts when its line break is there. What a kill cut off is taken away when the file is read again. A damaged line is
refused: those behind it say what was done, and it must not be done once more.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

from broker_core.errors import CodecError

Line = Mapping[str, Any]


class LineFile:
    """An open file, locked until it is closed.

    Args:
        path: Of the file.
        mode: ``a+b`` opens it or makes it, ``r+b`` must find it, ``x+b`` must not.

    Raises:
        BlockingIOError: Another process works on it.
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path, mode: Literal["a+b", "r+b", "x+b"]) -> None:
        self._path = path
        with contextlib.ExitStack() as files:
            self._file: BinaryIO = files.enter_context(path.open(mode))
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            files.pop_all()
        self._file.seek(0)

    def first(self) -> Line | None:
        """The first line; None where it is none. To be called before `take_in`, which goes on behind it."""
        return _values(self._file.readline())

    def take_in(self, take: Callable[[Line], None]) -> None:
        """Read the lines to the end and cut off a last one that was not finished; further ones are written behind them.

        Args:
            take: Given each; what it cannot read it says by a `KeyError`, `IndexError`, `TypeError` or `ValueError`.

        Raises:
            CodecError: A line is damaged.
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
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise self._damaged(end) from error
            end += len(data)
        self._file.truncate(end)
        self._file.seek(end)

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines, and have the system know them: a kill of the process loses none."""
        for line in lines:
            self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def sync(self) -> None:
        """Have all of it on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let others work on it."""
        self._file.close()

    def _damaged(self, position: int) -> CodecError:
        return CodecError(f"{self._path} has a damaged line at byte {position:,}: nothing can go on from it")


def _values(data: bytes) -> Line | None:
    try:
        values = json.loads(data) if data.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None

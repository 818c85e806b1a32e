"""Actions of a person on pending messages: one JSON line each, kept in the store's ``config`` directory.

    {"atMs":1700000000123,"action":"delay.cancel","subject":"level 3","details":{"count":2}}

RocketMQ does not read this file. The broker records an action before it carries it out, and records a failure afterwards.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from broker_core.errors import StoreError
from broker_core.outside import read_json
from broker_core.platform import files, replacing

JOURNAL_FILE = "orbitActions.log"
BYTES_MAX = 16 * 1024 * 1024
"""A larger journal is renamed to ``orbitActions.log.1``, which replaces an older one."""
UNTOLD_MAX = 1_000
"""Entries kept for `take_untold`; older ones are in the file only."""

Detail = str | int | float | bool | None | list[int] | list[str]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One recorded action, for example ``delay.cancel``; ``.failed`` is appended when it did not succeed."""

    at_ms: int
    action: str
    subject: str
    details: Mapping[str, Detail]


class ActionJournal:
    def __init__(self, directory: Path, *, clock: Callable[[], int], bytes_max: int = BYTES_MAX) -> None:
        self._path = directory / JOURNAL_FILE
        self._clock = clock
        self._bytes_max = bytes_max
        self._writing = asyncio.Lock()
        self._untold: deque[JournalEntry] = deque(maxlen=UNTOLD_MAX)

    async def record(self, action: str, subject: str, **details: Detail) -> None:
        """Write one line; it is on disk when this returns.

        Raises:
            StoreError: The line cannot be written; the caller should not carry the action out then.
        """
        at_ms = self._clock()
        entry = {"atMs": at_ms, "action": action, "subject": subject, "details": details}
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"
        async with self._writing:
            await asyncio.to_thread(self._append, line.encode())
        self._untold.append(JournalEntry(at_ms, action, subject, details))

    def take_untold(self) -> list[JournalEntry]:
        """Entries recorded since the last call, in order. On the loop."""
        untold = list(self._untold)
        self._untold.clear()
        return untold

    def last(self, count: int) -> list[JournalEntry]:
        """The newest entries, oldest first; incomplete lines (after a crash) are skipped. Any thread."""
        try:
            lines = self._path.read_bytes().splitlines()[-count:]
        except FileNotFoundError:
            return []
        return [entry for entry in map(_entry, lines) if entry is not None]

    def _append(self, line: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size + len(line) > self._bytes_max:
                replacing.replace(self._path, self._path.with_name(f"{JOURNAL_FILE}.1"))
            with self._path.open("a+b") as file:
                # A line that a crash cut off must not run into this one.
                if file.tell() and not _ends_line(file.fileno(), file.tell()):
                    line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(
                f"the action is not carried out, because {self._path} cannot be written: {error.strerror}", file=str(self._path)
            ) from error


def _ends_line(descriptor: int, size: int) -> bool:
    return files.read_at(descriptor, 1, size - 1) == b"\n"


def _entry(line: bytes) -> JournalEntry | None:
    try:
        value = read_json(line)
        return JournalEntry(int(value["atMs"]), str(value["action"]), str(value["subject"]), dict(value["details"]))
    except (ValueError, OverflowError, TypeError, KeyError):
        logger.warning("a line of %s cannot be read: %r", JOURNAL_FILE, line[:80])
        return None

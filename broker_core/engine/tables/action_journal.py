"""What a person did from the console to messages that wait in the broker: one JSON line for each action, for ever readable.

    {"atMs":1700000000123,"action":"delay.cancel","subject":"level 3","details":{"count":2}}

The file lies in the store's ``config`` directory under a name that no RocketMQ broker looks at. An action is recorded before it
is carried out, so that none can happen unrecorded; what fails afterwards is recorded as well.
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

JOURNAL_FILE = "orbitActions.log"
BYTES_MAX = 16 * 1024 * 1024
"""A larger journal becomes ``orbitActions.log.1``, in the place of an older one."""
UNTOLD_MAX = 1_000
"""Entries kept for whoever passes them on; older ones are only in the file."""

Detail = str | int | float | bool | None | list[int] | list[str]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One recorded action.

    Attributes:
        at_ms: When, ms since the epoch.
        action: What, for example ``delay.cancel``; with ``.failed`` behind it the action did not succeed.
        subject: On what.
        details: Figures and names.
    """

    at_ms: int
    action: str
    subject: str
    details: Mapping[str, Detail]


class ActionJournal:
    """The journal of one store.

    Args:
        directory: The store's ``config`` directory.
        clock: Time in ms since the epoch.
        bytes_max: Size from which on a new file is begun.
    """

    def __init__(self, directory: Path, *, clock: Callable[[], int], bytes_max: int = BYTES_MAX) -> None:
        self._path = directory / JOURNAL_FILE
        self._clock = clock
        self._bytes_max = bytes_max
        self._writing = asyncio.Lock()
        self._untold: deque[JournalEntry] = deque(maxlen=UNTOLD_MAX)

    async def record(self, action: str, subject: str, **details: Detail) -> None:
        """Write one line, on disk when this returns.

        Raises:
            StoreError: It cannot be written; the action should not be carried out then.
        """
        at_ms = self._clock()
        entry = {"atMs": at_ms, "action": action, "subject": subject, "details": details}
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"
        async with self._writing:
            await asyncio.to_thread(self._append, line.encode())
        self._untold.append(JournalEntry(at_ms, action, subject, details))

    def take_untold(self) -> list[JournalEntry]:
        """Entries recorded since the last call, in their order. On the loop."""
        untold = list(self._untold)
        self._untold.clear()
        return untold

    def last(self, count: int) -> list[JournalEntry]:
        """The newest entries, in the order of time; lines that a crash left incomplete are passed over. Any thread."""
        try:
            lines = self._path.read_bytes().splitlines()[-count:]
        except FileNotFoundError:
            return []
        return [entry for entry in map(_entry, lines) if entry is not None]

    def _append(self, line: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size + len(line) > self._bytes_max:
                self._path.replace(self._path.with_name(f"{JOURNAL_FILE}.1"))
            with self._path.open("a+b") as file:
                # A line that a crash cut off must not swallow this one.
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
    return os.pread(descriptor, 1, size - 1) == b"\n"


def _entry(line: bytes) -> JournalEntry | None:
    try:
        value = json.loads(line)
        return JournalEntry(int(value["atMs"]), str(value["action"]), str(value["subject"]), dict(value["details"]))
    except (ValueError, TypeError, KeyError):
        logger.warning("a line of %s cannot be read: %r", JOURNAL_FILE, line[:80])
        return None

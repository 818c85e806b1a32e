"""Writes the broker's tables to their files, off the loop.

A change marks its file. One task writes the marked files from snapshots taken on the loop, `WRITE_INTERVAL_SECONDS` apart, so
that a burst of changes (a thousand topics created by their first messages) becomes a few writes.

`ConfigFiles.when_written` begins the write at once. A caller that arrives during a write waits for the next one, which contains
all changes. A failed write is reported to its waiters and retried after `RETRY_SECONDS`, or with the next change that has a
waiter; the tables in memory stay right.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker_core.engine.store.config_file import ConfigFile, ConfigRule, Take, report_of
from broker_core.errors import StoreError
from broker_core.transport.event_loop import finished

logger = logging.getLogger(__name__)

WRITE_INTERVAL_SECONDS = 0.2
RETRY_SECONDS = 5.0

Written = Callable[[StoreError | None], None]
"""Called on the loop with None when a change is on disk, else with the reason why it is not."""


class ConfigFiles:
    """The files below ``config/`` of a store. Belongs to the loop's thread.

    Args:
        directory: The ``config`` directory.
        holds_messages: Whether the store holds messages: an empty file is damage then.
        read_only: Only read: no file is set aside or refused.
        stored_as: By name: the file to write, then those to read where it and its backup are missing.

    Attributes:
        reports: Facts about the loaded files that a person must know.
    """

    def __init__(
        self,
        directory: Path,
        *,
        holds_messages: Callable[[], bool] = lambda: True,
        read_only: bool = False,
        stored_as: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._directory = directory
        self._stored_as = stored_as or {}
        self._holds_messages = holds_messages
        self._read_only = read_only
        self.reports: list[str] = []
        self._files: dict[str, ConfigFile] = {}
        self._loaded_ms: dict[str, int] = {}
        self._refused: set[str] = set()
        self._snapshots: dict[str, Callable[[], Mapping[str, Any]]] = {}
        self._marked: set[str] = set()
        self._waiting: dict[str, list[Written]] = {}
        self._under_way: dict[str, list[Written]] = {}
        self._failing: set[str] = set()
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def load(self, name: str, take: Take, rule: ConfigRule) -> Mapping[str, Any]:
        """Content of a file, or of its backup if the file is missing or damaged; empty if both are missing.

        Args:
            name: File name.
            take: Applies the content; raises CodecError, with nothing changed, if it is invalid. Not called without content.
            rule: What to do when neither the file nor its backup can be used.

        Raises:
            CorruptStoreError: Neither can be used, and the rule forbids the start. The file is not written any more.
            StoreError: The operating system refuses; likewise.
        """
        file = self._file_to_read(name)
        self._loaded_ms[name] = _modified_ms(file.path)
        if self._read_only:
            found = file.look(take)
            content, report = found.value or {}, report_of(file.path, found, rule)
        else:
            try:
                content, report = file.load(take, rule, holds_messages=self._holds_messages)
            except StoreError:
                self._refused.add(name)
                raise
        if report:
            self.report(report)
        return content

    def loaded_ms(self, name: str) -> int:
        """When the content of a loaded file was written, ms since the epoch; -1 if it was missing."""
        return self._loaded_ms.get(name, -1)

    def report(self, text: str) -> None:
        """Log a fact about a file and keep it for a person."""
        logger.warning("%s", text)
        self.reports.append(text)

    def _file(self, name: str) -> ConfigFile:
        path = self._directory / next(iter(self._stored_as.get(name, ())), name)
        return self._files.setdefault(name, ConfigFile(path))

    def _file_to_read(self, name: str) -> ConfigFile:
        own = self._file(name)
        others = (self._directory / other for other in self._stored_as.get(name, ())[1:])
        if found := next((path for path in others if not own.is_there and ConfigFile(path).is_there), None):
            self.report(f"config/{own.path.name} is missing: config/{found.name} is read")
            return ConfigFile(found)
        return own

    def serve(self, name: str, snapshot: Callable[[], Mapping[str, Any]]) -> None:
        """Write ``snapshot`` to ``name`` whenever that is marked."""
        self._snapshots[name] = snapshot

    def mark(self, name: str) -> None:
        """Have a file written soon, if it is served and was not refused: a person has to decide about a refused one."""
        if name in self._snapshots and name not in self._refused:
            self._marked.add(name)
            self._wake.set()

    def when_written(self, names: Collection[str], written: Written) -> bool:
        """Call ``written`` once all changes of some files that are marked now are on disk.

        Returns:
            False when they are there already; ``written`` is not called then.
        """
        stale = [name for name in names if name in self._marked or name in self._under_way]
        if not stale:
            return False
        tell = written if len(stale) == 1 else _after_all(len(stale), written)
        for name in stale:
            # A mark is newer than the write in progress: only the next write contains it.
            waiting = self._waiting.setdefault(name, []) if name in self._marked else self._under_way[name]
            waiting.append(tell)
        if self._waiting:
            self._wake.set()
            self._hurry.set()
        return True

    async def wait_written(self, names: Collection[str]) -> None:
        """Wait until all changes of some files that are marked now are on disk.

        Raises:
            StoreError: A file cannot be written; it is retried.
        """
        told: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
        if not self.when_written(names, lambda fault: None if told.done() else told.set_result(fault)):
            return
        fault = await told
        if fault is not None:
            raise fault

    async def write(self, name: str) -> None:
        """Write a file now; it is on disk when this returns.

        Raises:
            StoreError: It cannot be written; its former content is in place.
        """
        await finished(self._write(name))

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="config files")

    async def settle(self) -> None:
        """Write the files that have waiters; these are called in the loop's next turn."""
        await finished(self._write_all(self._waiting))
        async with self._writing:
            """The write of another task is over, too."""

    async def stop(self) -> None:
        """Write the marked files and stop; what cannot be written is lost, and an error says so. Safe to call again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._write_all(self._marked)
        for name in self.unwritten:
            logger.error("%s is not written at the stop: what changed since its last write is lost", self._directory / name)

    @property
    def unwritten(self) -> list[str]:
        """Names of the files with changes that are not on disk."""
        return sorted(self._marked)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._hurry.clear()
            # Shielded: a stop in mid-write waits for it, or two threads could write one file.
            done = await finished(self._write_all(self._marked))
            await self._rest(WRITE_INTERVAL_SECONDS if done else RETRY_SECONDS)
            if not done:
                self._wake.set()

    async def _rest(self, seconds: float) -> None:
        """Let changes gather, unless there is a waiter."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()

    async def _write_all(self, names: Collection[str]) -> bool:
        done = True
        for name in sorted(names, key=lambda name: (name not in self._waiting, name)):
            if name not in self._marked:
                continue  # written meanwhile by somebody who wanted it now
            try:
                await self._write(name)
            except StoreError as error:
                if name not in self._failing:
                    self._failing.add(name)
                    logger.error("%s is not written, it is tried again: %s", self._directory / name, error)
                done = False
        return done

    async def _write(self, name: str) -> None:
        async with self._writing:
            is_stale = name in self._marked
            self._marked.discard(name)
            told = self._under_way[name] = self._waiting.pop(name, [])
            fault: StoreError | None = None
            try:
                content = self._snapshots[name]()
                await asyncio.to_thread(self._file(name).save, content)
            except StoreError as error:
                fault = error
            except Exception as error:
                # A fault of this program, not of the disk. Waiters must be answered and the other files written all the same.
                logger.exception("%s cannot be written", self._directory / name)
                fault = StoreError(f"{name} cannot be written: {error!r}", file=name)
            del self._under_way[name]
            if fault is not None and (is_stale or told):
                self.mark(name)
            elif fault is None and name in self._failing:
                self._failing.discard(name)
                logger.info("%s is written again", self._directory / name)
            for written in told:
                # Not called here: an exception in one must not end the writing or skip the others.
                asyncio.get_running_loop().call_soon(written, fault)
        if fault is not None:
            raise fault


def _modified_ms(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return -1


def _after_all(count: int, written: Written) -> Written:
    """Call ``written`` after ``count`` calls, with the first fault."""
    faults: list[StoreError | None] = []

    def tell(fault: StoreError | None) -> None:
        faults.append(fault)
        if len(faults) == count:
            written(next(filter(None, faults), None))

    return tell

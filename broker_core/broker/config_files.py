"""Writes the broker's tables to their files, off the loop.

A change marks its file; one task writes what is marked, each file from a snapshot taken on the loop. Bursts of changes, such
as a thousand topics made by their first messages, become a few writes. A write that fails is logged and tried again; the tables
in memory stay right meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from broker_core.errors import StoreError
from broker_core.store.config_file import load_config, save_config

logger = logging.getLogger(__name__)

WRITE_INTERVAL_SECONDS = 0.2
RETRY_SECONDS = 5.0


class ConfigFiles:
    """The files below ``config/`` of a store.

    Args:
        directory: Where they are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._snapshots: dict[str, Callable[[], Mapping[str, Any]]] = {}
        self._marked: set[str] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def read(self, name: str) -> Mapping[str, Any]:
        """Content of a file, empty when it is not there.

        Raises:
            CorruptStoreError: Neither the file nor its backup can be read.
        """
        return load_config(self._directory / name) or {}

    def serve(self, name: str, snapshot: Callable[[], Mapping[str, Any]]) -> None:
        """Have ``snapshot`` written to ``name`` whenever it is marked."""
        self._snapshots[name] = snapshot

    def mark(self, name: str) -> None:
        """Have a file written soon."""
        self._marked.add(name)
        self._wake.set()

    async def write(self, name: str) -> None:
        """Write a file now; it is on disk when this returns.

        Raises:
            StoreError: It cannot be written; its former content is in place.
        """
        await _finish(self._write(name))

    def start(self) -> None:
        """Start writing."""
        self._task = asyncio.create_task(self._run(), name="config files")

    async def stop(self) -> None:
        """Write what is marked and stop. Safe to call again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._write_marked()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            # Shielded: a stop in mid-write waits for it, or two threads could write one file.
            done = await _finish(self._write_marked())
            await asyncio.sleep(WRITE_INTERVAL_SECONDS if done else RETRY_SECONDS)
            if not done:
                self._wake.set()

    async def _write_marked(self) -> bool:
        names, self._marked = sorted(self._marked), set()
        done = True
        for name in names:
            try:
                await self._write(name)
            except StoreError as error:
                logger.error("%s is not written, it is tried again: %s", self._directory / name, error)  # noqa: TRY400  the text says all
                self._marked.add(name)
                done = False
        return done

    async def _write(self, name: str) -> None:
        async with self._writing:
            content = self._snapshots[name]()
            await asyncio.to_thread(save_config, self._directory / name, content)


async def _finish(work: Any) -> Any:  # noqa: ANN401  result of whatever it awaits
    """Await to the end even if the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise

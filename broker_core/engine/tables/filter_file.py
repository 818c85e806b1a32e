"""Keeps ``consumerFilter.json``: read at the start, written every ten seconds when something changed, and at the end."""

from __future__ import annotations

import asyncio

from broker_core.engine.store.config_file import ConfigRule
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.tables.consumer_filters import ConsumerFilters

FILTERS_FILE = "consumerFilter.json"
FILTERS_RULE = ConfigRule("filters come back with the next heartbeat of their groups", is_rebuilt=True)
WRITE_SECONDS = 10.0


class FilterFile:
    """Reads and writes the file."""

    def __init__(self, filters: ConsumerFilters, files: ConfigFiles) -> None:
        self._filters = filters
        self._files = files
        self._written_changes = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Read the file and start the timer."""
        self._files.serve(FILTERS_FILE, self._filters.to_json)
        self._files.load(FILTERS_FILE, self._filters.load, FILTERS_RULE)
        self._written_changes = self._filters.changes
        self._plan()

    async def stop(self) -> None:
        """Mark the file if it changed; the end of `ConfigFiles` writes it."""
        if self._timer is not None:
            self._timer.cancel()
        self._mark()

    def _plan(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(WRITE_SECONDS, self._tick)

    def _tick(self) -> None:
        self._plan()
        self._mark()

    def _mark(self) -> None:
        self._filters.expire()
        if self._filters.changes != self._written_changes:
            self._written_changes = self._filters.changes
            self._files.mark(FILTERS_FILE)

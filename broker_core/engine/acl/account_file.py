"""Changes the accounts, writes them to their file and reads them again, off the loop.

A change counts, and is reported, when the file holds it; one write serves all pending changes. Where the disk refuses it, the
accounts stay as they were. The broker's tables behave otherwise (`broker_core.engine.processors.written_answers`), but an
account that works only until the next start would be worse than a refused one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from broker_core.engine.acl.access_control import AccessControl
from broker_core.engine.acl.accounts import AccessRules
from broker_core.errors import OrbitError, StoreError, UsageError

logger = logging.getLogger(__name__)

WAITING_BYTES_MAX = 256 * 1024
"""Memory bound of pending changes; further ones are refused."""

CHANGE_BYTES = 512

Change = Callable[[AccessRules], AccessRules]
"""Makes new rules of the present ones; raises `UsageError` where that is not possible."""

Told = Callable[[OrbitError | None], None]
"""Called on the loop with None once the change is made, or with the reason of its refusal."""


class AccountFile:
    """The file of a broker's accounts, which nothing else changes. Belongs to the loop's thread."""

    def __init__(self, access: AccessControl) -> None:
        self.access = access
        self._changes: list[tuple[Change, Told]] = []
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None

    def change(self, make: Change, told: Told, *, text_bytes: int) -> None:
        """Have a change made and written, then call ``told``.

        Args:
            make: Makes it.
            told: Gets the result.
            text_bytes: Estimated size of what ``make`` holds.

        Raises:
            UsageError: Too many changes are pending; ``told`` is not called.
        """
        size = CHANGE_BYTES + text_bytes
        if self._changes and self._waiting_bytes + size > WAITING_BYTES_MAX:
            waiting = f"{len(self._changes):,} changes of accounts wait for the disk already"
            raise UsageError(f"{waiting}: ask again when they are answered")
        self._waiting_bytes += size
        self._changes.append((make, told))
        self._run_soon()

    def look(self) -> None:
        """Read the file again if another program has changed it; to be called now and then."""
        if self.access.is_stale:
            self._run_soon()

    async def settle(self) -> None:
        """Wait until no change is pending; the last results are reported in the loop's next turn."""
        while self._task is not None:
            await asyncio.wait([self._task])

    def _run_soon(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="accounts")

    async def _run(self) -> None:
        try:
            while self._changes or self.access.is_stale:
                await self._read_if_stale()
                await self._write()
        finally:
            self._task = None

    async def _read_if_stale(self) -> None:
        """Changes are made on top of those that a person has written by hand."""
        if not self.access.is_stale:
            return
        try:
            rules, stamp = await asyncio.to_thread(self.access.read)
        except UsageError as error:
            logger.error("%s; the accounts stay as they were", error.message)
            return
        self.access.take(rules, stamp)

    async def _write(self) -> None:
        changes, self._changes, self._waiting_bytes = self._changes, [], 0
        tell_soon = asyncio.get_running_loop().call_soon
        rules, told = self.access.rules, []
        for make, tell in changes:
            try:
                rules = make(rules)
            except UsageError as error:
                tell_soon(tell, error)
            else:
                told.append(tell)
        fault = await self._written(rules) if told else None
        for tell in told:
            tell_soon(tell, fault)

    async def _written(self, rules: AccessRules) -> OrbitError | None:
        try:
            stamp = await asyncio.to_thread(self.access.write, rules)
        except StoreError as error:
            return error
        except Exception as error:
            # Our fault, not the disk's; no change may stay pending because of it.
            logger.exception("the accounts cannot be written")
            return StoreError(f"the accounts cannot be written, and stay as they were: {error!r}")
        self.access.take(rules, stamp)
        return None

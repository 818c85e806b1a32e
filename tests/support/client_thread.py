"""Runs a program's clients on a thread with a loop of its own, so that a window's test can call them and go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Self, TypeVar

_T = TypeVar("_T")
CALL_SECONDS = 60


class ClientThread:
    """Use it as a context manager; what was started in it is closed by the test before its end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="clients of a test", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_SECONDS)
        self._loop.close()

    def begin(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run something there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run something there and wait for it."""
        return self.begin(work).result(CALL_SECONDS)

"""Event loops, and standard input read on one.

need          own way (Linux, macOS)            plain way (Windows)
new_loop      uvloop's                          asyncio's
read_input    the loop reads standard input     a thread reads it, because a loop cannot wait for a pipe
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from broker_core.platform.ways import PLAIN

_READ_BYTES: Final = 4096


class Reading(Protocol):
    """Standard input that is being read."""

    def close(self) -> None:
        """End the reading; the protocol gets nothing more."""


def plain_new_loop() -> asyncio.AbstractEventLoop:
    """An event loop, as fast as the system has one."""
    return asyncio.new_event_loop()


async def plain_read_input(protocol: asyncio.Protocol) -> Reading:
    """Give a protocol what comes on standard input, and ``connection_lost`` at its end. On the loop.

    Raises:
        OSError: Standard input is closed.
        ValueError: It is none that a loop can wait for.
    """
    descriptor = sys.stdin.fileno()
    os.fstat(descriptor)
    return _InputThread(asyncio.get_running_loop(), protocol, descriptor)


class _InputThread:
    """A thread that ends with the input, or with the process."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, descriptor: int) -> None:
        self._loop = loop
        self._protocol = protocol
        self._descriptor = descriptor
        self._is_closed = False
        threading.Thread(target=self._run, name="standard-input", daemon=True).start()

    def close(self) -> None:
        self._is_closed = True

    def _run(self) -> None:
        try:
            while data := os.read(self._descriptor, _READ_BYTES):
                self._loop.call_soon_threadsafe(self._take, data)
        except OSError:  # it was closed: the end
            pass
        except RuntimeError:  # the loop has ended
            return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, b"")

    def _take(self, data: bytes) -> None:
        if self._is_closed:
            return
        if data:
            self._protocol.data_received(data)
        else:
            self.close()
            self._protocol.connection_lost(None)


new_loop: Callable[[], asyncio.AbstractEventLoop] = plain_new_loop
read_input: Callable[[asyncio.Protocol], Awaitable[Reading]] = plain_read_input

if sys.platform != "win32" and not PLAIN:

    def _new_loop() -> asyncio.AbstractEventLoop:
        import uvloop

        made: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return made

    async def _read_input(protocol: asyncio.Protocol) -> Reading:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
        return transport

    new_loop, read_input = _new_loop, _read_input

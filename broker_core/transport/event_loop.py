"""The event loop of the engine: uvloop where it exists."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop loop, or asyncio's own on systems without uvloop."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def on_stop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[str], None]) -> None:
    """Call ``stop`` with the signal's name, on the loop, at SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        if sys.platform == "win32":
            signal.signal(number, lambda n, _frame: loop.call_soon_threadsafe(stop, signal.Signals(n).name))
        else:
            loop.add_signal_handler(number, stop, number.name)


@contextlib.contextmanager
def interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at SIGINT and SIGTERM while the block lasts; only the main thread can."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def unless_stopped(beginning: Coroutine[Any, Any, None], stop: asyncio.Event) -> bool:
    """Run something to its end; False when ``stop`` was set before, after its cancellation."""
    starting, stopping = asyncio.create_task(beginning), asyncio.create_task(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait((starting,))
        return False
    await starting
    return True


async def finished(work: Coroutine[Any, Any, _T]) -> _T:
    """Await to the end even if the caller is cancelled meanwhile; the cancellation is raised afterwards.

    A thread cannot be cancelled: who awaits one without this goes on beside it.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise

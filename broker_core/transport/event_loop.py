"""The event loop of the engine: uvloop where it exists."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any, TypeVar

from broker_core.platform import event_loops, signals

_T = TypeVar("_T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop loop, or asyncio's own on systems without uvloop."""
    return event_loops.new_loop()


def on_stop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[str], None]) -> None:
    """Call ``stop`` with the signal's name, on the loop, at the signals that stop a server (SIGTERM, SIGINT)."""
    for number in signals.STOP_SIGNALS:
        signals.on_signal(loop, number, partial(stop, number.name))


@contextlib.contextmanager
def interrupts(stop: Callable[[], object]) -> Iterator[None]:
    """Call ``stop`` at SIGINT and SIGTERM while the block lasts; only the main thread can."""
    loop = asyncio.get_running_loop()
    numbers = signals.STOP_SIGNALS if threading.current_thread() is threading.main_thread() else ()
    for number in numbers:
        signals.on_signal(loop, number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signals.off_signal(loop, number)


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

"""Pause, resume and stop of long commands: by signals, and by lines on standard input from the window."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import datetime
from typing import Any, Protocol

from broker_core.errors import UsageError
from broker_core.platform import event_loops
from broker_core.transport.event_loop import interrupts

STOPPED = "it was stopped"
_WORDS = ("pause", "resume", "stop")


def say(text: str) -> None:
    """Print a line for people, at once."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def names_by_time() -> Iterator[str]:
    """A thousand names for what begins now: the time, and the time with -2, -3 and so on."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    yield stamp
    yield from (f"{stamp}-{number}" for number in range(2, 1_001))


class Wakeable:
    """Waits that a command ends early."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait for a time in seconds, or until `wake`."""
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def wake(self) -> None:
        self._changed.set()


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Cancel the task of the block at SIGINT and SIGTERM, so that it ends in order.

    asyncio's own handler of SIGINT is not set where the signal is ignored at the start, as a shell has it for ``command &``.
    """
    task = asyncio.current_task()
    assert task is not None
    with interrupts(task.cancel):
        yield


class _CommandLines(asyncio.Protocol):
    """Commands on standard input; its end is a stop, because the process that started this one has ended."""

    def __init__(self, command: Callable[[str], None], say: Callable[[str], None]) -> None:
        self._command = command
        self._say = say
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word = line.strip().decode("ascii", "replace")
            if word in _WORDS:
                self._command(word)
            elif word:
                self._say(f"there is no command {json.dumps(word[:40])}: pause, resume and stop")

    def connection_lost(self, _exc: Exception | None) -> None:
        self._command("stop")


async def listen(command: Callable[[str], None], say: Callable[[str], None]) -> event_loops.Reading:
    """Take ``pause``, ``resume`` and ``stop`` as lines of standard input.

    ``command`` is called with each of them, and with stop when the input ends; ``say`` gets a text on any other line. Raises
    `UsageError` when standard input cannot be read asynchronously.
    """
    try:
        return await event_loops.read_input(_CommandLines(command, say))
    except (ValueError, OSError) as error:
        raise UsageError(f"standard input cannot be read ({error}): --control is for programs with a pipe") from error


class Steered(Protocol):
    """A job that a user pauses, resumes and stops."""

    @property
    def is_paused(self) -> bool: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self, reason: str) -> None: ...


@contextlib.asynccontextmanager
async def steered(job: Steered, wakeable: Wakeable, watch: Coroutine[Any, Any, None], *, by_input: bool) -> AsyncIterator[None]:
    """While the block lasts, run ``watch``, and steer the job by signals and, if ``by_input``, by lines of standard input."""

    def command(word: str) -> None:
        if word == "pause":
            job.pause()
        elif word == "resume":
            job.resume()
        else:
            job.stop(STOPPED)
        wakeable.wake()

    with interrupts(lambda: command("stop")), contextlib.ExitStack() as stack:
        stack.callback(asyncio.create_task(watch, name="progress").cancel)
        if by_input:
            stack.callback((await listen(command, say)).close)
        yield

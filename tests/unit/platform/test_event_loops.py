"""Event loops, and standard input as lines on one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

import pytest

from broker_core.platform import event_loops

SECONDS = 10.0

pytestmark = pytest.mark.usefixtures("both_platforms")


def ran(work):
    with asyncio.Runner(loop_factory=event_loops.new_loop) as runner:
        return runner.run(work)


class Heard(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = b""
        self.some = asyncio.Event()
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.data += data
        self.some.set()

    def connection_lost(self, _exc: Exception | None) -> None:
        self.ended.set()


@pytest.fixture
def pipe(monkeypatch):
    """A pipe as standard input; the writing end."""
    reading, writing = os.pipe()
    given = os.fdopen(reading)
    monkeypatch.setattr(sys, "stdin", given)
    yield writing
    with contextlib.suppress(OSError):  # a test may have closed it
        os.close(writing)
    given.close()


def test_a_loop_runs():
    loop = event_loops.new_loop()
    try:
        assert loop.run_until_complete(asyncio.sleep(0, 7)) == 7
    finally:
        loop.close()


def test_a_protocol_gets_the_input_and_its_end(pipe):
    async def run() -> bytes:
        heard = Heard()
        reading = await event_loops.read_input(heard)
        os.write(pipe, b"pause\n")
        async with asyncio.timeout(SECONDS):
            await heard.some.wait()
            os.close(pipe)
            await heard.ended.wait()
        reading.close()
        return heard.data

    assert ran(run()) == b"pause\n"


def test_a_reading_that_was_closed_gives_nothing_more(pipe):
    async def run() -> bytes:
        heard = Heard()
        reading = await event_loops.read_input(heard)
        reading.close()
        os.write(pipe, b"pause\n")
        for _ in range(10):
            await asyncio.sleep(0)
        return heard.data

    assert ran(run()) == b""


def test_a_closed_input_is_refused(monkeypatch):
    reading, writing = os.pipe()
    given = os.fdopen(reading)
    given.close()
    os.close(writing)
    monkeypatch.setattr(sys, "stdin", given)

    async def run() -> None:
        with pytest.raises((ValueError, OSError)):
            await event_loops.read_input(Heard())

    ran(run())

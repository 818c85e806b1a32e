"""Programs that use a third-party client, run as child processes: they print lines, and consumers end with their input."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from tests.support.cpp_client import TAGS, body

_RUN_SECONDS = 110
_CONSUME_SECONDS = 60.0


def case_results(command: Sequence[str], environment: Mapping[str, str], *, seconds: float = 280) -> dict[str, str]:
    """Run a program that tries cases, and prints ``case NAME RESULT`` for each; results by name."""
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    rows = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith("case ")]
    return {name: result for _, name, result in rows}


class ForeignClient:
    """One such program; every line of result begins with ``sent`` or ``got``, anything else is its log."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = list(command)
        self._environment = dict(environment)

    def run(self, *arguments: object) -> list[list[str]]:
        """Run it to its end; the words of each line of result."""
        command = [*self._command, *map(str, arguments)]
        done = subprocess.run(command, check=False, env=self._environment, capture_output=True, text=True, timeout=_RUN_SECONDS)
        assert done.returncode == 0, done.stderr[-3000:]
        return [words for line in done.stdout.splitlines() if (words := _words(line)) is not None]

    def consume_until(self, done: Callable[[list[list[str]]], bool], *arguments: object) -> list[list[str]]:
        """Let it consume until ``done`` says so of the words of its lines so far, then let it end."""
        got: list[list[str]] = []
        command = [*self._command, "consume", *map(str, arguments)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, env=self._environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        output = process.stdout

        def read() -> None:
            got.extend(words for line in output if (words := _words(line)) is not None)

        reader = threading.Thread(target=read, name="consumer output")
        reader.start()
        try:
            _wait_for(lambda: done(got))
            process.stdin.close()
            assert process.wait(_CONSUME_SECONDS) == 0
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdin.close()
            process.stdout.close()
        return got


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _CONSUME_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)


def _words(line: str) -> list[str] | None:
    kind, *words = line.rstrip("\n").split(" ", 6)
    return words if kind in ("sent", "got") else None


def produce(name_server: str, topic: str, numbers: Sequence[int]) -> None:
    """Send messages with our client, as the foreign programs would: body, tag and key follow from the number."""

    async def send() -> None:
        async with Producer(name_server) as producer:
            for number in numbers:
                await producer.send(Message(topic, body(number).encode(), tags=TAGS[number % 2], keys=(f"key-{number}",)))

    asyncio.run(send())


def lag(name_server: str, topic: str, group: str) -> int:
    """Messages of a topic that a group has not consumed."""

    async def ask() -> int:
        async with AdminClient(name_server) as admin:
            stats = await admin.consume_stats(group, topic)
            return sum(offset.lag_messages for offset in stats.values())

    return asyncio.run(ask())

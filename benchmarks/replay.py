"""Replays against plain sends of the same messages, side by side against one broker process.

    python -m benchmarks.replay [--messages 20000]

``put`` sends each message of its own, as many at once as the producer allows; ``batched put`` sends them as the producer's
batches. ``replay`` sends what a journal holds, unlimited; its gathering is measured on its own. Prints messages a second and
the ratio of each replay to both.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.tools.commands.replay import main as replay
from broker_core.tools.commands.search import main as search
from tests.support.broker_process import running_broker

BODY = b"x" * 256
QUEUES = 8
AT_ONCE = 64
BATCH = 64


def _messages(count: int) -> list[Message]:
    return [Message("origin", BODY, "tag", (f"key-{number}",), {"region": "eu"}) for number in range(count)]


async def _put(name_server: str, count: int, *, batch: int) -> float:
    async with Producer(name_server) as producer:
        await producer.send(Message("origin", BODY))
        messages = _messages(count)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(start: int) -> None:
            try:
                if batch == 1:
                    await producer.send(messages[start])
                else:
                    await producer.send_batch(messages[start : start + batch])
            finally:
                slots.release()

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for start in range(0, count, batch):
                await slots.acquire()
                group.create_task(one(start))
        return time.perf_counter() - began


async def _topics(name_server: str) -> None:
    async with AdminClient(name_server) as admin:
        for topic in ("origin", "copy"):
            await admin.create_topic(topic, queues=QUEUES)


def _timed(work: object, line: list[str]) -> float:
    assert callable(work)
    began = time.perf_counter()
    if work(line) != 0:
        raise SystemExit("it failed")
    return time.perf_counter() - began


def measured(count: int) -> float:
    """Print all; the rate of an unlimited replay as a share of the rate of single sends."""
    shares = []
    with tempfile.TemporaryDirectory() as folder, running_broker(Path(folder) / "store") as broker:
        name_server = broker.name_server
        asyncio.run(_topics(name_server))
        single = count / asyncio.run(_put(name_server, count, batch=1))
        batched = count / asyncio.run(_put(name_server, count, batch=BATCH))
        file = Path(folder) / "hits.jsonl"
        filter_text = f'topic = "origin" and offset < {count // QUEUES}'
        _timed(search, ["--ns", name_server, filter_text, "--out", str(file)])
        line = ["--from-file", str(file), "--to", "copy", "--to-ns", name_server]
        gathering = _timed(replay, [*line, "--dry-run"])
        print(f"put: {single:,.0f}/s; batched put: {batched:,.0f}/s; reading the file: {count / gathering:,.0f}/s")
        for name, more in (("born as before", []), ("born now", ["--born-now"])):
            took = _timed(replay, [*line, *more, "--journal", str(Path(folder) / f"journal-{len(more)}")])
            sending = count / max(took - gathering, 1e-9)
            print(f"replay, {name}: {sending:,.0f}/s sending, {count / took:,.0f}/s with reading;", end=" ")
            print(f"{sending / single:.2f} of put, {sending / batched:.2f} of batched put")
            shares.append(sending / single)
    return min(shares)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=20_000)
    measured(parser.parse_args().messages)


if __name__ == "__main__":
    main()

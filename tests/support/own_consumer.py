"""A consumer of our own client on a thread with a loop of its own, for tests whose thread belongs to the window."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.config import ClientConfig

CONFIG = ClientConfig(commit_interval_ms=50)


@contextlib.contextmanager
def own_consumer(
    name_server: str, group: str, topic: str, expression: str = "*", *, instance: str = ""
) -> Iterator[list[bytes]]:
    """Consume from the first offset while the block lasts; gives the list that the bodies go to."""
    bodies: list[bytes] = []
    begun, end = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    async def consume() -> None:
        consumer = PushConsumer(
            name_server,
            group,
            {topic: expression},
            lambda messages: bodies.extend(bytes(message.body) for message in messages),
            consume_from=ConsumeFrom.FIRST_OFFSET,
            instance_name=instance or None,
            config=CONFIG,
        )
        async with consumer:
            begun.set()
            await asyncio.to_thread(end.wait)

    def run() -> None:
        try:
            asyncio.run(consume())
        except BaseException as error:
            failed.append(error)
            begun.set()
            raise

    thread = threading.Thread(target=run, name=f"consumer {group}", daemon=True)
    thread.start()
    try:
        assert begun.wait(60), "the consumer does not start"
        assert not failed, failed
        yield bodies
    finally:
        end.set()
        thread.join(60)

"""Clients for programs without asyncio: the same calls, each returning when it is done.

A thread of their own runs the loop; every method may be called from any thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from broker_core.client.message import Message, SendResult
from broker_core.client.producer import DEFAULT_GROUP, Producer, Selector
from broker_core.config import ClientConfig
from broker_core.errors import UsageError
from broker_core.protocol.json_body import MessageQueue

T = TypeVar("T")


class LoopThread:
    """A thread with this ``name`` that runs an event loop."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        return not self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; the future has its result or error."""
        if self._loop.is_closed():
            work.close()
            raise UsageError("the client is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop and the thread. Safe to call again."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


class SyncProducer:
    """A `Producer` for programs without asyncio: its loop runs on a thread, and calls may come from any thread.

    Use it as a context manager, or call `start` and `close`.
    """

    def __init__(
        self,
        name_servers: str,
        group: str = DEFAULT_GROUP,
        *,
        config: ClientConfig | None = None,
        **options: Any,
    ) -> None:
        self._thread = LoopThread(f"producer {group}")

        async def made() -> Producer:
            return Producer(name_servers, group, config=config, **options)

        try:
            self._producer = self._thread.run(made())
        except BaseException:
            self._thread.close()
            raise

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """As `Producer.start`; after a failure, as after `close`, the client cannot be started again."""
        try:
            self._thread.run(self._producer.start())
        except BaseException:
            self._thread.close()
            raise

    def close(self) -> None:
        try:
            self._thread.run(self._producer.close())
        except UsageError:
            return
        self._thread.close()

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        sharding_key: str | None = None,
        selector: Selector | None = None,
        timeout_ms: int | None = None,
    ) -> SendResult:
        sent = self._producer.send(message, queue=queue, sharding_key=sharding_key, selector=selector, timeout_ms=timeout_ms)
        return self._thread.run(sent)

    def send_batch(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> SendResult:
        return self._thread.run(self._producer.send_batch(messages, queue=queue, timeout_ms=timeout_ms))

    def send_oneway(self, message: Message, *, queue: MessageQueue | None = None, selector: Selector | None = None) -> None:
        self._thread.run(self._producer.send_oneway(message, queue=queue, selector=selector))

    def request(self, message: Message, *, queue: MessageQueue | None = None, timeout_ms: int | None = None) -> bytes:
        return self._thread.run(self._producer.request(message, queue=queue, timeout_ms=timeout_ms))

    def queues(self, topic: str) -> list[MessageQueue]:
        return self._thread.run(self._producer.queues(topic))

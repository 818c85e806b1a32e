"""How messages reach a listener: several calls at once, or one after the other in each queue.

Both work on process queues that their consumer fills. ``failed`` gets a failed message and returns it unless it has moved it
elsewhere; a returned message is consumed again here, after a pause.

Source: docs/spec/broker.md §6.2, §6.3.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from broker_core.client.message import ReceivedMessage
from broker_core.client.process_queue import ProcessQueue
from broker_core.config import ClientConfig

logger = logging.getLogger(__name__)

_RETRY_DOUBLINGS_MAX = 16


class ConsumeResult(Enum):
    """What a listener may return; None is `DONE`."""

    DONE = "done"
    AGAIN_LATER = "again later"


Listener = Callable[[Sequence[ReceivedMessage]], Awaitable[ConsumeResult | None] | ConsumeResult | None]
"""Consumes messages of one queue. A return means consumed; an exception, or AGAIN_LATER, means again later."""

Failed = Callable[[ProcessQueue, Sequence[ReceivedMessage]], Awaitable[Sequence[ReceivedMessage]]]
"""Handles failed messages; returns those that must be consumed again here."""


@dataclass(slots=True)
class _TopicFigures:
    consumed: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class ConsumerFigures:
    """Counts calls of a listener: consumed messages, and calls that raised or requested the messages again."""

    clock: Callable[[], int]
    consumed_messages: int = 0
    failed_calls: int = 0
    topics: dict[str, _TopicFigures] = field(default_factory=dict)

    def returned(self, messages: Sequence[ReceivedMessage], *, done: bool, seconds: float) -> None:
        figures = self.topics.setdefault(messages[0].topic, _TopicFigures())
        figures.seconds += seconds
        if done:
            self.consumed_messages += len(messages)
            figures.consumed += len(messages)
        else:
            self.failed_calls += 1
            figures.failed += len(messages)

    def status(self, topic: str, seconds: float) -> dict[str, float]:
        """ConsumeStatus of a topic; rates since the start ``seconds`` ago."""
        figures = self.topics.get(topic, _TopicFigures())
        handled = figures.consumed + figures.failed
        return {
            "consumeFailedMsgs": figures.failed,
            "consumeFailedTPS": figures.failed / seconds,
            "consumeOKTPS": figures.consumed / seconds,
            "consumeRT": figures.seconds * 1000 / handled if handled else 0.0,
            "pullRT": 0.0,
            "pullTPS": handled / seconds,
        }


class ListenerCaller:
    """Calls a listener for a group and counts the calls."""

    def __init__(self, group: str, listener: Listener, figures: ConsumerFigures) -> None:
        self.group = group
        self._listener = listener
        self._figures = figures

    async def __call__(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> bool:
        """Call the listener; True when the messages are consumed."""
        clock = asyncio.get_running_loop().time
        started = clock()
        process_queue.last_consume_ms = self._figures.clock()
        done = False
        try:
            result = self._listener(messages)
            if inspect.isawaitable(result):
                result = await result
            done = result is not ConsumeResult.AGAIN_LATER
        except Exception:
            logger.exception(
                "the listener of group %s failed on %d messages of %s from offset %d",
                self.group, len(messages), process_queue.queue, messages[0].queue_offset,
            )  # fmt: skip
        self._figures.returned(messages, done=done, seconds=clock() - started)
        return done


class Concurrently:
    """Messages in slices of ``batch_messages``, ``concurrency`` of them at once, in any order."""

    def __init__(
        self, call: ListenerCaller, failed: Failed, config: ClientConfig, *, batch_messages: int, concurrency: int
    ) -> None:
        self._call = call
        self._failed = failed
        self._config = config
        self._batch_messages = batch_messages
        self._concurrency = concurrency
        # Not bounded here, because the flow control of each queue bounds the fetched messages and so the pending ones.
        self._work: asyncio.Queue[tuple[ProcessQueue, Sequence[ReceivedMessage]] | None] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._retries: set[asyncio.TimerHandle] = set()
        self._closing = False

    def start(self) -> None:
        for _ in range(self._concurrency):
            self._workers.append(asyncio.create_task(self._run(), name=f"{self._call.group} consume"))

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        for start in range(0, len(messages), self._batch_messages):
            self._work.put_nowait((process_queue, messages[start : start + self._batch_messages]))

    async def finish_queue(self, _process_queue: ProcessQueue) -> bool:
        return True

    async def close(self) -> None:
        self._closing = True
        for timer in self._retries:
            timer.cancel()
        for _ in self._workers:
            self._work.put_nowait(None)
        if self._workers:
            await asyncio.wait(self._workers, timeout=self._config.close_wait_ms / 1000)
        await cancel(self._workers)

    async def _run(self) -> None:
        while not self._closing:
            work = await self._work.get()
            if work is None or self._closing:
                return
            process_queue, messages = work
            if not process_queue.dropped:
                await self._consume(process_queue, messages)
            # Lets the loop run others, because a listener may never await.
            await asyncio.sleep(0)

    async def _consume(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        if await self._call(process_queue, messages):
            process_queue.remove(messages)
            return
        left = await self._failed(process_queue, messages)
        kept = set(map(id, left))
        process_queue.remove([message for message in messages if id(message) not in kept])
        if left:
            self._again(process_queue, left)

    def retry_delay_ms(self, attempts: int) -> int:
        """Pause before the next call with messages that failed ``attempts`` times before."""
        doubled = self._config.consume_retry_ms << min(attempts, _RETRY_DOUBLINGS_MAX)
        return min(doubled, self._config.consume_retry_max_ms)

    def _again(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        delay_ms = self.retry_delay_ms(messages[0].attempts)
        logger.info("%d messages of %s are consumed again in %d ms", len(messages), process_queue.queue, delay_ms)
        for message in messages:
            message.attempts += 1

        def again() -> None:
            self._retries.discard(timer)
            self._work.put_nowait((process_queue, messages))

        timer = asyncio.get_running_loop().call_later(delay_ms / 1000, again)
        self._retries.add(timer)


class Orderly:
    """Each queue's messages one call after the other, lowest offset first; ``concurrency`` queues at once.

    ``may_consume`` says whether this member holds the lock of a queue now.
    """

    def __init__(
        self,
        call: ListenerCaller,
        failed: Failed,
        config: ClientConfig,
        may_consume: Callable[[ProcessQueue], bool],
        *,
        batch_messages: int,
        concurrency: int,
    ) -> None:
        self._call = call
        self._failed = failed
        self._config = config
        self._may_consume = may_consume
        self._batch_messages = batch_messages
        self._slots = asyncio.Semaphore(concurrency)
        self._lanes: dict[ProcessQueue, _Lane] = {}
        self._closing = False

    def start(self) -> None:
        """Do nothing: work begins with the first message of a queue."""

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        if messages and process_queue not in self._lanes and not self._closing:
            name = f"{self._call.group} consume {process_queue.queue.topic} {process_queue.queue.queue_id}"
            stop = asyncio.Event()
            self._lanes[process_queue] = _Lane(asyncio.create_task(self._run(process_queue, stop), name=name), stop)

    async def finish_queue(self, process_queue: ProcessQueue) -> bool:
        """Wait until the listener has no message of a queue, and begin no call; False when that takes too long."""
        lane = self._lanes.get(process_queue)
        if lane is None:
            return True
        lane.stop.set()
        await asyncio.wait([lane.task], timeout=self._config.give_up_wait_ms / 1000)
        if not lane.task.done():
            lane.stop.clear()
        return lane.task.done()

    async def close(self) -> None:
        self._closing = True
        lanes = list(self._lanes.values())
        for lane in lanes:
            lane.stop.set()
        if lanes:
            await asyncio.wait([lane.task for lane in lanes], timeout=self._config.close_wait_ms / 1000)
        await cancel([lane.task for lane in lanes])

    async def _run(self, process_queue: ProcessQueue, stop: asyncio.Event) -> None:
        try:
            while not stop.is_set() and not process_queue.dropped and len(process_queue):
                if not self._may_consume(process_queue):
                    await _pause(self._config.lock_retry_ms, stop)
                    continue
                async with self._slots:
                    pause_ms = await self._consume(process_queue, process_queue.first(self._batch_messages))
                await _pause(pause_ms, stop)
        finally:
            del self._lanes[process_queue]

    async def _consume(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> int:
        """Call the listener once; returns the pause before the next call in ms."""
        if await self._call(process_queue, messages):
            process_queue.remove(messages)
            return 0
        for message in messages:
            message.attempts += 1
        left = set(map(id, await self._failed(process_queue, messages)))
        process_queue.remove([message for message in messages if id(message) not in left])
        return self._config.suspend_queue_ms if left else 0


Consuming = Concurrently | Orderly


class _Lane(NamedTuple):
    task: asyncio.Task[None]
    stop: asyncio.Event


async def _pause(pause_ms: int, stop: asyncio.Event) -> None:
    """Wait until the time has passed or ``stop`` is set; yield to the loop in any case."""
    await asyncio.sleep(0)
    if pause_ms:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_ms / 1000):
                await stop.wait()


async def cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

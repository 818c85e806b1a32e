"""The push consumer: a pull loop per queue that passes messages to a listener.

A failed message returns to its broker, which delivers it again after a pause and at last makes it a dead letter; if the broker
refuses it, it is consumed again here, and the offset of its queue does not pass it. An orderly consumer keeps it and retries.
In broadcasting mode, where every member has every queue and its offsets in a file, a failed message is dropped. Pulls go to the
master. Asyncio; all on one loop.

Source: docs/spec/broker.md §6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from broker_core.client.consumer_services import ConsumerServices
from broker_core.client.consuming import (
    Concurrently,
    ConsumeResult,
    ConsumerFigures,
    Consuming,
    Listener,
    ListenerCaller,
    Orderly,
    cancel,
)
from broker_core.client.group_consumer import GroupConsumer
from broker_core.client.instance import ClientInstance, ClientSecurity, repeat
from broker_core.client.message import ReceivedMessage
from broker_core.client.offsets import ConsumeFrom, LocalOffsets, local_offsets_path
from broker_core.client.process_queue import ProcessQueue
from broker_core.client.pulling import PullStatus, QueuePuller
from broker_core.client.queue_locks import HeldLocks
from broker_core.client.rebalancing import Rebalancer
from broker_core.client.send_back import DEFAULT_RECONSUME_TIMES, SendBack
from broker_core.client.subscription import Wanted, subscribe
from broker_core.clock import wall_clock_ms
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.protocol.allocation import Strategy, allocate_average
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import check_group, check_topic, retry_topic
from broker_core.protocol.subscription import Subscription

__all__ = ["ConsumeFrom", "ConsumeResult", "Listener", "MessageModel", "PushConsumer"]

logger = logging.getLogger(__name__)

DEFAULT_CONCURRENCY = 20
BROADCASTING_NAME = "DEFAULT"
"""Instance name of broadcasting consumers, so that they find their offsets after a restart."""


class MessageModel(StrEnum):
    """Whether members share the messages or each gets all of them."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class PushConsumer(GroupConsumer):
    """Consumes topics as a member of a group. Use it as an async context manager, or call `start` and `close`.

    Args:
        group: Consumer group; its members share the queues.
        subscriptions: Topic → tag expression (``*``, or tags with ``||`` between them), or a `Sql` filter.
        listener: Called with 1 to ``batch_messages`` messages of one queue; a coroutine function or a quick function.
        orderly: One call at a time for each queue, in the order of its messages, under a lock at the broker.
        concurrency: Calls of a coroutine listener that run at once.
        consume_from: Where to begin in queues for which the group has no offset.
        consume_from_ms: The time for `ConsumeFrom.TIMESTAMP`.
        reconsume_times_max: Retries of a message before it becomes a dead letter; None means 16, and no limit for an orderly
            consumer.
        strategy: Allocates queues to members; must be the same in all of them.
        instance_name: Makes the client id the same after a restart; broadcasting consumers have one anyway.
        offsets_directory: For the offsets of a broadcasting consumer, instead of ``~/.rocketmq_offsets``.
    """

    def __init__(
        self,
        name_servers: str,
        group: str,
        subscriptions: Mapping[str, Wanted],
        listener: Listener,
        *,
        orderly: bool = False,
        model: MessageModel = MessageModel.CLUSTERING,
        batch_messages: int = 1,
        concurrency: int = DEFAULT_CONCURRENCY,
        consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET,
        consume_from_ms: int = 0,
        reconsume_times_max: int | None = None,
        strategy: Strategy = allocate_average,
        instance_name: str | None = None,
        offsets_directory: Path | None = None,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        check_group(group)
        if not subscriptions:
            raise UsageError(f"group {group} subscribes to no topic: give at least one")
        if batch_messages < 1 or concurrency < 1:
            raise UsageError(f"batch_messages and concurrency start at 1, given are {batch_messages} and {concurrency}")
        self._broadcasting = model is MessageModel.BROADCASTING
        self._model = model
        name = instance_name or (BROADCASTING_NAME if self._broadcasting else None)
        instance = ClientInstance(name_servers, member=self, config=config, limits=limits, security=security, name=name)
        wanted = self._all_subscriptions(group, subscriptions, clock())
        shared_by = None if self._broadcasting else strategy
        rebalancer = Rebalancer(instance, group, wanted, self, strategy=shared_by, clock=clock)
        super().__init__(group, instance, rebalancer, consume_from, consume_from_ms)
        self._clock = clock
        self._orderly = orderly
        self._reconsume_times_max = reconsume_times_max
        self._offsets_directory = offsets_directory
        self._puller = QueuePuller(self._instance, group)
        limit = DEFAULT_RECONSUME_TIMES if reconsume_times_max is None else reconsume_times_max
        self._send_back = SendBack(self._instance, group, reconsume_times_max=limit)
        self._locks = HeldLocks(self._instance, group) if orderly and not self._broadcasting else None
        self._figures = ConsumerFigures(clock)
        self._caller = ListenerCaller(group, listener, self._figures)
        self._consuming = self._consuming_with(batch_messages, concurrency)
        self._services = ConsumerServices(self, self._instance, self._caller, self._figures)

    @property
    def client_id(self) -> str:
        return self._instance.client_id

    @property
    def orderly(self) -> bool:
        return self._orderly

    @property
    def queues(self) -> list[MessageQueue]:
        """Queues it consumes now, sorted."""
        return sorted(self._process_queues)

    @property
    def process_queues(self) -> Mapping[MessageQueue, ProcessQueue]:
        return self._process_queues

    @property
    def waiting_messages(self) -> int:
        """Fetched, unconsumed messages."""
        return sum(map(len, self._process_queues.values()))

    @property
    def consumed_messages(self) -> int:
        """Messages that the listener consumed."""
        return self._figures.consumed_messages

    @property
    def failed_calls(self) -> int:
        """Calls of the listener that raised, or requested the messages again."""
        return self._figures.failed_calls

    async def start(self) -> None:
        """Join the group and begin to consume; a topic that does not exist yet is consumed when it appears.

        Raises `NetworkError` when no name server can be reached, and `RemoteError` when a broker does not serve a SQL filter.
        """
        await self._connect()
        if self._broadcasting:
            self._offsets = LocalOffsets(local_offsets_path(self._offsets_directory, self.client_id, self.group))
        self._consuming.start()
        await self._rebalancer.rebalance()
        self._background = [
            asyncio.create_task(self._rebalancer.run(), name=f"{self.group} rebalance"),
            asyncio.create_task(repeat(self._config.commit_interval_ms, self.commit), name=f"{self.group} commit"),
        ]
        if self._locks is not None:
            renew = repeat(self._config.lock_interval_ms, self._renew_locks)
            self._background.append(asyncio.create_task(renew, name=f"{self.group} locks"))

    async def close(self) -> None:
        """Finish running calls of the listener, commit offsets, leave the group. Safe to call again."""
        if self._closing:
            return
        self._closing = True
        await cancel([*self._background, *self._pulls.values()])
        await self._services.close()
        await self._consuming.close()
        await self.commit()
        if self._locks is not None:
            await self._locks.unlock(self._process_queues)
        self._process_queues.clear()
        await self._instance.unregister()
        await self._instance.close()

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def rebalance(self) -> None:
        """Allocate the queues, give up those of others, take up new ones."""
        await self._rebalancer.rebalance()

    async def take_up(self, queue: MessageQueue) -> bool:
        """Begin to consume a queue; False when another member still has its lock."""
        if self._locks is not None:
            await self._locks.lock([queue])
            if not self._locks.holds(queue):
                logger.info("queue %s is still locked by another member of group %s", queue, self.group)
                return False
        self._begin(ProcessQueue(queue, await self._start_offset(queue)))
        return True

    async def give_up(self, queue: MessageQueue) -> bool:
        """End with a queue; False while an orderly listener uses it."""
        process_queue = self._process_queues[queue]
        if not await self._consuming.finish_queue(process_queue):
            return False
        await self.drop(queue)
        if self._locks is not None:
            await self._locks.unlock([queue])
        return True

    async def drop(self, queue: MessageQueue, *, offset: int | None = None) -> None:
        """Forget a queue, which the next rebalance takes up again, and commit ``offset``; None: the offset it has reached."""
        process_queue = self._process_queues.pop(queue)
        await cancel([self._pulls.pop(queue)])
        if offset is None:
            await self._commit(process_queue)
        else:
            await self._offsets.write(queue, offset, confirmed=True)
        process_queue.dropped = True

    def wake_rebalance(self) -> None:
        """Have the queues allocated again soon."""
        self._rebalancer.wake()

    def _all_subscriptions(self, group: str, wanted: Mapping[str, Wanted], version: int) -> dict[str, Subscription]:
        topics: dict[str, Wanted] = {check_topic(topic): item for topic, item in wanted.items()}
        if not self._broadcasting:
            topics[retry_topic(group)] = "*"
        return {topic: subscribe(topic, item, version) for topic, item in topics.items()}

    async def _renew_locks(self) -> None:
        if self._locks is None:
            return
        for queue in await self._locks.lock(list(self._process_queues)):
            if queue in self._process_queues:
                logger.warning("the lock of %s in group %s is lost; the queue is taken up anew", queue, self.group)
                await self.drop(queue)
                self._rebalancer.wake()

    # ── offsets ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def commit(self) -> None:
        """Store the offsets that changed since the last commit."""
        for process_queue in list(self._process_queues.values()):
            await self._commit(process_queue)

    async def _commit(self, process_queue: ProcessQueue) -> None:
        offset = process_queue.committable_offset
        if offset == process_queue.committed_offset:
            return
        try:
            await self._offsets.write(process_queue.queue, offset)
        except (NetworkError, RemoteError, OSError) as error:
            logger.warning("offset %d of %s is not committed yet: %s", offset, process_queue.queue, error)
            return
        process_queue.committed_offset = offset

    # ── pulling ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _pull(self, process_queue: ProcessQueue) -> ProcessQueue:
        queue = process_queue.queue
        result = await self._puller.pull(
            queue,
            process_queue.next_offset,
            self.subscriptions[queue.topic],
            messages_max=self._config.pull_batch_messages,
            suspend_ms=self._config.pull_suspend_ms,
            commit_offset=0 if self._broadcasting else process_queue.committable_offset,
        )
        process_queue.last_pull_ms = self._clock()
        if result.status is PullStatus.OFFSET_ILLEGAL:
            return await self._move(process_queue, result.next_offset)
        process_queue.add(result.messages, result.next_offset)
        if result.messages:
            self._consuming.submit(process_queue, result.messages)
        return process_queue

    async def _move(self, process_queue: ProcessQueue, offset: int) -> ProcessQueue:
        """Continue at the offset of the broker; earlier fetched messages no longer count for commits."""
        queue = process_queue.queue
        logger.warning(
            "offset %d of %s in group %s does not exist at the broker, it goes on at %d",
            process_queue.next_offset, queue, self.group, offset,
        )  # fmt: skip
        process_queue.dropped = True
        moved = ProcessQueue(queue, offset)
        self._process_queues[queue] = moved
        await self._commit(moved)
        return moved

    # ── consuming ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _consuming_with(self, batch_messages: int, concurrency: int) -> Consuming:
        if not self._orderly:
            return Concurrently(
                self._caller, self._failed, self._config, batch_messages=batch_messages, concurrency=concurrency
            )
        return Orderly(
            self._caller,
            self._failed_in_order,
            self._config,
            lambda process_queue: self._locks is None or self._locks.holds(process_queue.queue),
            batch_messages=batch_messages,
            concurrency=concurrency,
        )

    async def _failed(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> Sequence[ReceivedMessage]:
        if self._broadcasting:
            logger.warning("%d messages of %s failed and are dropped", len(messages), process_queue.queue)
            return ()
        return [message for message in messages if not await self._send_back.later(message)]

    async def _failed_in_order(
        self, _process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]
    ) -> Sequence[ReceivedMessage]:
        if self._reconsume_times_max is None or messages[0].attempts <= self._reconsume_times_max:
            return messages
        return [message for message in messages if not await self._send_back.bury(message)]

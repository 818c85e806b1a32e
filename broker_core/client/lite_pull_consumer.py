"""The lite pull consumer: fetches ahead, and returns messages when polled.

Its queues are allocated in the group, as those of a push consumer (``subscriptions``), or are the caller's own (`assign`). The
messages of one poll count as consumed at the next; offsets are committed at an interval, or by the caller. One task at a time
may poll. Asyncio.

Source: docs/spec/broker.md §6.6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from broker_core.client.consuming import cancel
from broker_core.client.group_consumer import GroupConsumer
from broker_core.client.instance import ClientInstance, ClientSecurity, repeat
from broker_core.client.message import ReceivedMessage
from broker_core.client.offsets import ConsumeFrom
from broker_core.client.process_queue import ProcessQueue
from broker_core.client.pull_consumer import QueueReads
from broker_core.client.pulling import PullStatus, QueuePuller
from broker_core.client.rebalancing import Rebalancer
from broker_core.client.subscription import Wanted, subscribe
from broker_core.clock import wall_clock_ms
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.protocol.allocation import Strategy, allocate_average
from broker_core.protocol.filter.rejection import ALL_TAGS
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import check_group, check_topic
from broker_core.protocol.subscription import Subscription

logger = logging.getLogger(__name__)

DEFAULT_POLL_MS = 5_000


class LitePullConsumer(GroupConsumer, QueueReads):
    """Polls topics as a member of a group, or queues of its own. Use it as an async context manager.

    Args:
        group: Consumer group.
        subscriptions: Topic → tags or a `Sql` filter; empty for a consumer that uses `assign`.
        auto_commit: Commit what was polled every ``auto_commit_interval_ms`` and at the end.
        consume_from: Where to begin in queues for which the group has no offset.
        consume_from_ms: The time for `ConsumeFrom.TIMESTAMP`.
        strategy: Allocates queues to members; must be the same in all of them.
    """

    _consume_type = "CONSUME_ACTIVELY"

    def __init__(
        self,
        name_servers: str,
        group: str,
        subscriptions: Mapping[str, Wanted] | None = None,
        *,
        auto_commit: bool = True,
        consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET,
        consume_from_ms: int = 0,
        strategy: Strategy = allocate_average,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        check_group(group)
        version = clock()
        self._subscribed = {
            topic: subscribe(check_topic(topic), item, version) for topic, item in (subscriptions or {}).items()
        }
        instance = ClientInstance(name_servers, member=self, config=config, limits=limits, security=security)
        rebalancer = Rebalancer(instance, group, self._subscribed, self, strategy=strategy, clock=clock)
        super().__init__(group, instance, rebalancer, consume_from, consume_from_ms)
        self._clock = clock
        self._auto_commit = auto_commit
        self._assigned: dict[str, Subscription] = {}
        self._puller = QueuePuller(self._instance, group, lite=True)
        self._ready: list[tuple[ProcessQueue, ReceivedMessage]] = []
        self._polled: list[tuple[ProcessQueue, ReceivedMessage]] = []
        self._arrived = asyncio.Event()
        self._paused: set[MessageQueue] = set()

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        return super().subscriptions if self._subscribed else self._assigned

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._polled = []  # these messages failed and must be delivered again
        await self.close()

    async def start(self) -> None:
        """Connect, and with subscriptions join the group and begin to fetch.

        Raises `NetworkError` when no name server can be reached, and `RemoteError` when a broker does not serve a SQL filter.
        """
        await self._connect()
        if self._subscribed:
            await self._rebalancer.rebalance()
            self._background.append(asyncio.create_task(self._rebalancer.run(), name=f"{self.group} rebalance"))
        if self._auto_commit:
            work = repeat(self._config.auto_commit_interval_ms, self._commit_settled)
            self._background.append(asyncio.create_task(work, name=f"{self.group} commit"))

    async def close(self) -> None:
        """Commit what was polled if ``auto_commit``, and leave the group. Safe to call again.

        Leaving ``async with`` by an error commits only what was polled before the last poll.
        """
        if self._closing:
            return
        self._closing = True
        await cancel([*self._background, *self._pulls.values()])
        if self._auto_commit:
            await repeat(0, self.commit, rounds=1)
        self._process_queues.clear()
        await self._instance.unregister()
        await self._instance.close()

    # ── queues and polls ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def assignment(self) -> list[MessageQueue]:
        """Queues it fetches from, sorted."""
        return sorted(self._process_queues)

    async def assign(self, queues: Iterable[MessageQueue], wanted: Wanted = ALL_TAGS) -> None:
        """Fetch from these queues and no others; fetching continues in those that it fetches from already.

        Raises `UsageError` for a consumer with subscriptions, else as `seek`.
        """
        if self._subscribed:
            raise UsageError(f"the queues of group {self.group} come from its subscriptions: give none to assign queues")
        mine = set(queues)
        version = self._clock()
        self._assigned = {queue.topic: subscribe(queue.topic, wanted, version) for queue in mine}
        for queue in set(self._process_queues) - mine:
            await self.give_up(queue)
        for queue in sorted(mine - set(self._process_queues)):
            await self.take_up(queue)
        await self._instance.heartbeat()

    async def poll(self, timeout_ms: int = DEFAULT_POLL_MS) -> list[ReceivedMessage]:
        """Return the next messages, oldest first within each queue; none when no message arrives in time.

        The messages of the poll before count as consumed now.
        """
        self._settle()
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        while not (batch := self._next_batch()):
            self._arrived.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._arrived.wait()
            except TimeoutError:
                return []
        self._polled = batch
        return [message for _, message in batch]

    def _settle(self) -> None:
        for process_queue, message in self._polled:
            process_queue.remove([message])
        self._polled = []

    def _next_batch(self) -> list[tuple[ProcessQueue, ReceivedMessage]]:
        batch: list[tuple[ProcessQueue, ReceivedMessage]] = []
        left = []
        for item in self._ready:
            process_queue = item[0]
            if process_queue.dropped:
                continue
            if len(batch) < self._config.lite_pull_batch_messages and process_queue.queue not in self._paused:
                batch.append(item)
            else:
                left.append(item)
        self._ready = left
        return batch

    # ── positions ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue at an offset of a queue; fetched messages of it are dropped.

        Raises `UsageError` when the queue is not this consumer's, or the offset is outside the queue, `RemoteError` when the
        broker is not known or refuses, and `NetworkError` when no server answers.
        """
        if queue not in self._process_queues:
            raise UsageError(f"queue {queue} is not among the {len(self._process_queues)} queues of this consumer")
        first, end = await self.min_offset(queue), await self.max_offset(queue)
        if not first <= offset <= end:
            raise UsageError(f"offset {offset} is outside queue {queue}, which goes from {first} to {end}")
        await self._stop(queue)
        self._begin(ProcessQueue(queue, offset))

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue at the lowest offset of a queue; raises as `seek`."""
        await self.seek(queue, await self.min_offset(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue after the last message of a queue; raises as `seek`."""
        await self.seek(queue, await self.max_offset(queue))

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Return no messages of these queues until `resume`; they are fetched up to the bounds."""
        self._paused.update(queues)

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Return messages of these queues again."""
        self._paused.difference_update(queues)
        self._arrived.set()

    async def commit(self, offsets: Mapping[MessageQueue, int] | None = None) -> None:
        """Store offsets by queue, and return when they are stored. Raises `RemoteError` and `NetworkError`.

        None counts all that was polled as consumed and stores the offset of each queue.
        """
        if offsets is not None:
            for queue, offset in offsets.items():
                await self._offsets.write(queue, offset, confirmed=True)
            return
        self._settle()
        await self._commit_settled()

    async def _commit_settled(self) -> None:
        """Store the offset of each queue; a refusal of one raises after the others, because it must not hold them back."""
        refusals: list[RemoteError] = []
        for process_queue in list(self._process_queues.values()):
            try:
                await self._commit(process_queue)
            except RemoteError as error:
                refusals.append(error)
        if refusals:
            raise refusals[0]

    async def _commit(self, process_queue: ProcessQueue) -> None:
        offset = process_queue.committable_offset
        if offset != process_queue.committed_offset:
            await self._offsets.write(process_queue.queue, offset, confirmed=True)
            process_queue.committed_offset = offset

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def take_up(self, queue: MessageQueue) -> bool:
        self._begin(ProcessQueue(queue, await self._start_offset(queue)))
        return True

    async def give_up(self, queue: MessageQueue) -> bool:
        """End with a queue; its polled, unsettled messages are delivered again to its next owner."""
        process_queue = self._process_queues[queue]
        if self._auto_commit:
            try:
                await self._commit(process_queue)
            except (NetworkError, RemoteError) as error:
                logger.warning("the offset of %s is not committed: %s", queue, error)
        await self._stop(queue)
        return True

    # ── fetching ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _stop(self, queue: MessageQueue) -> None:
        self._process_queues.pop(queue).dropped = True
        await cancel([self._pulls.pop(queue)])

    async def _pull(self, process_queue: ProcessQueue) -> ProcessQueue:
        queue = process_queue.queue
        result = await self._puller.pull(
            queue,
            process_queue.next_offset,
            self.subscriptions[queue.topic],
            messages_max=self._config.lite_pull_batch_messages,
            suspend_ms=self._config.lite_pull_suspend_ms,
        )
        if result.status is PullStatus.OFFSET_ILLEGAL:
            logger.warning(
                "offset %d of %s does not exist, it goes on at %d", process_queue.next_offset, queue, result.next_offset
            )
        process_queue.add(result.messages, result.next_offset)
        if result.messages:
            self._ready.extend((process_queue, message) for message in result.messages)
            self._arrived.set()
        return process_queue

"""The pull consumer: one pull at a time, at an offset of the caller; it stores only the offsets that the caller commits.

It joins no group, has no allocated queues and starts no tasks. Asyncio (Source: docs/spec/broker.md §6.6).
"""

from __future__ import annotations

import asyncio

from broker_core.client.instance import ClientInstance, ClientSecurity, answer_error
from broker_core.client.lifecycle import OpenedClient
from broker_core.client.offsets import BrokerOffsets, OffsetStore, first_stored_from, queue_offset
from broker_core.client.pulling import PullResult, QueuePuller, number
from broker_core.client.subscription import Wanted, subscribe
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import RemoteError
from broker_core.protocol.atomic import Refusal
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import ALL_TAGS
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import check_group, check_readable_topic

DEFAULT_PULL_MESSAGES = 32
_PLAIN_PULL_TIMEOUT_MS = 10_000
_UNSTABLE_SECONDS = 0.02


class QueueReads(OpenedClient):
    """Reads of a consumer about single queues; a subclass sets ``group`` and ``_offsets``."""

    group: str
    _offsets: OffsetStore

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Queues of a topic that can be read."""
        route = await self._instance.route(check_readable_topic(topic), fresh=True)
        if route is None:
            raise RemoteError(f"there is no topic {topic}", code=int(ResponseCode.TOPIC_NOT_EXIST), topic=topic)
        return route.subscribe_queues()

    async def committed(self, queue: MessageQueue) -> int | None:
        """The group's offset in a queue; None when it has none."""
        return await self._offsets.read(queue)

    async def min_offset(self, queue: MessageQueue) -> int:
        """The lowest offset that can be read."""
        return await queue_offset(self._instance, RequestCode.GET_MIN_OFFSET, queue)

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message gets."""
        return await queue_offset(self._instance, RequestCode.GET_MAX_OFFSET, queue)

    async def offset_by_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """The first offset stored at or after a time, the max offset if there is none; raises `CodecError` as a pull."""
        return await first_stored_from(self._instance, self.group, queue, timestamp_ms)


class PullConsumer(QueueReads):
    """Pulls from queues. Use it as an async context manager, or call `start` and `close`.

    Every method raises `NetworkError` when no server answers and `RemoteError` when the answer is an error code.
    """

    def __init__(
        self,
        name_servers: str,
        group: str,
        *,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
    ) -> None:
        self.group = check_group(group)
        self._instance = ClientInstance(name_servers, config=config, limits=limits, security=security)
        self._puller = QueuePuller(self._instance, group)
        self._offsets = BrokerOffsets(self._instance, group)

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        *,
        wanted: Wanted = ALL_TAGS,
        messages_max: int = DEFAULT_PULL_MESSAGES,
        block: bool = False,
        uncommitted: bool = False,
    ) -> PullResult:
        """Pull once; raises `CodecError` when the answer holds no records.

        Args:
            queue: Where from.
            offset: The first offset to read.
            wanted: Tags, or a `Sql` filter.
            messages_max: Most messages.
            block: Wait up to ``lite_pull_suspend_ms`` for a message when there is none.
            uncommitted: Get messages of open and aborted atomic transactions as well; does not wait. Orbit's broker only.
        """
        subscription = subscribe(queue.topic, wanted, 0)
        if not block or uncommitted:
            return await self._puller.pull(
                queue,
                offset,
                subscription,
                messages_max=messages_max,
                timeout_ms=_PLAIN_PULL_TIMEOUT_MS,
                uncommitted=uncommitted,
            )
        suspend_ms = self._instance.config.lite_pull_suspend_ms
        return await self._puller.pull(queue, offset, subscription, messages_max=messages_max, suspend_ms=suspend_ms)

    async def stable(self, queue: MessageQueue) -> int | None:
        """As `committed`, after all open atomic transactions that can change it have ended. Orbit's broker only."""
        fields = {"consumerGroup": self.group, "topic": queue.topic, "queueId": str(queue.queue_id)}
        address = await self._instance.address_of(queue)
        while True:
            command = RemotingCommand(RequestCode.STABLE_OFFSET, dict(fields))
            response = await self._instance.request(address, command)
            if response.code == ResponseCode.SUCCESS:
                offset = number(response, "offset", address)
                return None if offset < 0 else offset
            if response.code != Refusal.UNSTABLE_OFFSET:
                raise answer_error(address, command.code, response)
            await asyncio.sleep(_UNSTABLE_SECONDS)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Store the group's offset in a queue, and return when it is stored."""
        await self._offsets.write(queue, offset, confirmed=True)

"""The common part of push and lite pull consumers: membership of a group, and one pull loop for each queue."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from broker_core.client.instance import ClientInstance
from broker_core.client.lifecycle import OpenedClient
from broker_core.client.offsets import BrokerOffsets, ConsumeFrom, OffsetStore, first_offset
from broker_core.client.process_queue import ProcessQueue
from broker_core.client.rebalancing import Rebalancer
from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.subscription import Subscription

logger = logging.getLogger(__name__)


class GroupConsumer(OpenedClient):
    """Member of a group; a subclass starts and ends it, pulls, and handles the messages."""

    _consume_type = "CONSUME_PASSIVELY"
    _model: str = "CLUSTERING"

    def __init__(
        self, group: str, instance: ClientInstance, rebalancer: Rebalancer, consume_from: ConsumeFrom, consume_from_ms: int
    ) -> None:
        self.group = group
        self._instance = instance
        self._config = instance.config
        self._rebalancer = rebalancer
        self._consume_from = consume_from
        self._consume_from_ms = consume_from_ms
        self._offsets: OffsetStore = BrokerOffsets(instance, group)
        self._process_queues: dict[MessageQueue, ProcessQueue] = {}
        self._pulls: dict[MessageQueue, asyncio.Task[None]] = {}
        self._background: list[asyncio.Task[None]] = []
        self._closing = False

    @property
    def subscriptions(self) -> Mapping[str, Subscription]:
        return self._rebalancer.subscriptions

    async def _connect(self) -> None:
        """Connect, and check the SQL filters; raises as `Rebalancer.check_filters`."""
        await self._instance.start()
        try:
            await self._rebalancer.check_filters()
        except BaseException:
            await self._instance.close()
            raise

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def producer_group(self) -> str | None:
        return None

    def consumer_data(self) -> dict[str, Any] | None:
        """ConsumerData of the heartbeat (Source: docs/spec/remoting.md §4.5)."""
        return {
            "consumeFromWhere": str(self._consume_from),
            "consumeType": self._consume_type,
            "groupName": self.group,
            "messageModel": str(self._model),
            "subscriptionDataSet": [item.to_json() for item in self.subscriptions.values()],
            "unitMode": False,
        }

    def group_changed(self, group: str) -> None:
        """Have the queues allocated again, because members joined or left."""
        if group == self.group:
            self._rebalancer.wake()

    def owned_queues(self) -> set[MessageQueue]:
        return set(self._process_queues)

    # ── pulling ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _start_offset(self, queue: MessageQueue) -> int:
        stored = await self._offsets.read(queue)
        if stored is not None:
            return stored
        return await first_offset(self._instance, self.group, queue, self._consume_from, self._consume_from_ms)

    def _begin(self, process_queue: ProcessQueue) -> None:
        queue = process_queue.queue
        self._process_queues[queue] = process_queue
        name = f"{self.group} pull {queue.topic} {queue.queue_id}"
        self._pulls[queue] = asyncio.create_task(self._pull_loop(process_queue), name=name)

    async def _pull_loop(self, process_queue: ProcessQueue) -> None:
        logged = ""  # the reason that was logged since the last pull that worked
        while not process_queue.dropped:
            if not process_queue.has_room(self._config):
                await asyncio.sleep(self._config.flow_control_pause_ms / 1000)
                continue
            before = process_queue.next_offset
            try:
                process_queue = await self._pull(process_queue)
            except (NetworkError, RemoteError, CodecError) as error:
                if error.message != logged:
                    logger.warning("pull from %s is tried again until it works: %s", process_queue.queue, error)
                    logged = error.message
                await asyncio.sleep(self._config.pull_retry_ms / 1000)
                continue
            logged = ""
            if process_queue.next_offset == before:
                # A broker that does not hold pulls must not be asked in a tight loop.
                await asyncio.sleep(self._config.flow_control_pause_ms / 1000)

    @abstractmethod
    async def _pull(self, process_queue: ProcessQueue) -> ProcessQueue:
        """Pull once; returns the process queue of the next pull: a new one after the broker has moved the offset."""

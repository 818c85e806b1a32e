"""Requests of brokers to a consumer, sent for administrators: its state, one message to consume now, other offsets.

Source: docs/spec/remoting.md §2.4, §4.8.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from broker_core.client.consuming import ConsumerFigures, ListenerCaller
from broker_core.client.instance import ClientInstance
from broker_core.client.message import ReceivedMessage
from broker_core.client.process_queue import ProcessQueue
from broker_core.errors import OrbitError
from broker_core.protocol.admin.offsets import read_reset_offsets
from broker_core.protocol.codes import MQ_VERSION, RequestCode, ResponseCode, version_name
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.subscription import Subscription
from broker_core.transport.connection import Connection, Handler

logger = logging.getLogger(__name__)

_MIB = 1024 * 1024
_FRAMES_MAX = 100


class ServedConsumer(Protocol):
    """The part of a consumer that its services use."""

    group: str

    @property
    def orderly(self) -> bool: ...
    @property
    def subscriptions(self) -> Mapping[str, Subscription]: ...
    @property
    def process_queues(self) -> Mapping[MessageQueue, ProcessQueue]: ...
    async def drop(self, queue: MessageQueue, *, offset: int | None = None) -> None: ...
    def wake_rebalance(self) -> None: ...


class ConsumerServices:
    """Answers brokers' requests about a consumer."""

    def __init__(
        self, consumer: ServedConsumer, instance: ClientInstance, call: ListenerCaller, figures: ConsumerFigures
    ) -> None:
        self._consumer = consumer
        self._call = call
        self._figures = figures
        self._started_ms = figures.clock()
        self._tasks: set[asyncio.Task[None]] = set()
        instance.on_request(RequestCode.GET_CONSUMER_RUNNING_INFO, self._for_group("consumerGroup", self._running_info))
        instance.on_request(RequestCode.CONSUME_MESSAGE_DIRECTLY, self._for_group("consumerGroup", self._consume_directly))
        instance.on_request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, self._for_group("group", self._status))
        instance.on_request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, self._for_group("group", self._reset_offsets))

    async def close(self) -> None:
        """Cancel pending answers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"{self._consumer.group} service")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _for_group(self, name: str, serve: Handler) -> Handler:
        def served(connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
            group = command.ext_fields.get(name, "")
            if group == self._consumer.group:
                return serve(connection, command)
            return command.reply(ResponseCode.SYSTEM_ERROR, f"The Consumer Group <{group}> not exist in this consumer")

        return served

    def _running_info(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        consumer = self._consumer
        seconds = max(self._figures.clock() - self._started_ms, 1) / 1000
        body: dict[str, Any] = {
            "mqTable": {queue: self._queue_info(item) for queue, item in consumer.process_queues.items()},
            "properties": {
                "PROP_CLIENT_VERSION": version_name(MQ_VERSION),
                "PROP_CONSUMEORDERLY": str(consumer.orderly).lower(),
                "PROP_CONSUMER_START_TIMESTAMP": str(self._started_ms),
                "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            },
            "statusTable": {topic: self._figures.status(topic, seconds) for topic in consumer.subscriptions},
            "subscriptionSet": [item.to_json() for _, item in sorted(consumer.subscriptions.items())],
        }
        if command.ext_fields.get("jstackEnable", "").lower() == "true":
            body["jstack"] = stacks_text()
        return command.reply(body=emit(body))

    def _queue_info(self, item: ProcessQueue) -> dict[str, int | bool]:
        first, last = item.offsets
        return {
            "cachedMsgCount": len(item),
            "cachedMsgMaxOffset": last,
            "cachedMsgMinOffset": first,
            "cachedMsgSizeInMiB": item.waiting_bytes // _MIB,
            "commitOffset": item.committable_offset,
            "droped": item.dropped,
            "lastConsumeTimestamp": item.last_consume_ms,
            "lastLockTimestamp": item.last_pull_ms,
            "lastPullTimestamp": item.last_pull_ms,
            "locked": self._consumer.orderly,
            "transactionMsgCount": 0,
            "transactionMsgMaxOffset": 0,
            "transactionMsgMinOffset": 0,
            "tryUnlockTimes": 0,
        }

    def _status(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        topic = command.ext_fields.get("topic", "")
        table = {
            queue: item.committable_offset for queue, item in self._consumer.process_queues.items() if queue.topic == topic
        }
        return command.reply(body=emit({"consumerTable": {}, "messageQueueTable": table}))

    def _consume_directly(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        stored = decode_record(command.body)
        queue = MessageQueue(stored.topic, command.ext_fields.get("brokerName", ""), stored.queue_id)
        self._spawn(self._consume_one(connection, command, ReceivedMessage(stored, queue)))
        return None

    async def _consume_one(self, connection: Connection, command: RemotingCommand, message: ReceivedMessage) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        done = await self._call(ProcessQueue(message.queue, message.queue_offset), [message])
        result = {
            "autoCommit": True,
            "consumeResult": "CR_SUCCESS" if done else "CR_LATER",
            "order": self._consumer.orderly,
            "spentTimeMills": round((clock() - started) * 1000),
        }
        connection.send(command.reply(body=emit(result)))

    def _reset_offsets(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        self._spawn(self._reset(read_reset_offsets(command.body)))
        return command.reply()

    async def _reset(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Drop the queues with their new offsets; the rebalance takes them up there."""
        for queue, offset in offsets.items():
            if queue not in self._consumer.process_queues:
                continue
            try:
                await self._consumer.drop(queue, offset=offset)
            except OrbitError as error:
                logger.warning("offset %d of %s is not set: %s", offset, queue, error)
        self._consumer.wake_rebalance()


def stacks_text() -> str:
    """Stacks of the threads of this process, as Java clients write them (Source: docs/spec/remoting.md §4.8, ``jstack``).

    A block for each thread: ``name TID: 42 STATE: RUNNABLE``, then its frames, innermost first.
    """
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    blocks = []
    for identity, frame in sys._current_frames().items():  # noqa: SLF001  the only way to the frames of other threads
        name = names.get(identity, "thread")
        frames = reversed(traceback.extract_stack(frame)[-_FRAMES_MAX:])
        lines = [f"{name:<40} {one.name}({one.filename.rpartition('/')[2]}:{one.lineno})" for one in frames]
        blocks.append("\n".join([f"{name:<40} TID: {identity} STATE: RUNNABLE", *lines]))
    return "\n\n".join(sorted(blocks)) + "\n"

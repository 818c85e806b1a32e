"""The producer: sends messages to the queues of a topic, and requests that a consumer answers.

Transactions are in `broker_core.client.transaction` and `broker_core.client.atomic_producer`.
Asyncio; every method belongs to the loop it was started on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.client.fault_tolerance import FaultTolerance
from broker_core.client.instance import DEFAULT_TOPIC_QUEUES, ClientInstance, ClientSecurity, answer_error
from broker_core.client.lifecycle import OpenedClient
from broker_core.client.message import Message, RawMessage, SendResult, SendStatus, message_properties
from broker_core.client.request_reply import Requests
from broker_core.client.send_outcome import may_be_stored
from broker_core.clock import wall_clock_ms
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.protocol.admin.routes import Route
from broker_core.protocol.codes import RETRYABLE_SEND_CODES, STORED_CODES, RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.message_id import UniqueIdGenerator
from broker_core.protocol.message.properties import DELAY, WAIT, encode_properties
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.names import AUTO_CREATE_TOPIC, check_group
from broker_core.transport.connection import RequestTimeoutError

logger = logging.getLogger(__name__)

DEFAULT_GROUP = "orbit-producer"
_LAST_ATTEMPT_SECONDS = 0.002  # less than this is no time for another attempt
_STATUS = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
}


Selector = Callable[[Sequence[MessageQueue]], MessageQueue]
"""Chooses the queue of a message among those of its topic."""


def by_key(key: str) -> Selector:
    """The selector of one queue for all messages with a key, the same queue as the Java client's for that text."""
    return lambda queues: queues[abs(java_string_hash(key)) % len(queues)]


@dataclass(slots=True)
class _Sending:
    topic: str
    command: RemotingCommand
    message_id: str
    queue: MessageQueue | None = None
    selector: Selector | None = None
    last_broker: str | None = None


class Producer(OpenedClient):
    """Sends messages. Use it as an async context manager, or call `start` and `close`.

    Args:
        clock: Milliseconds since the epoch, for born timestamps and unique ids.
        seed: For the first queue used; None: random.
        creates_topics: Whether a send to an unknown topic may make brokers create it.
    """

    def __init__(
        self,
        name_servers: str,
        group: str = DEFAULT_GROUP,
        *,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        clock: Callable[[], int] = wall_clock_ms,
        seed: int | None = None,
        creates_topics: bool = True,
    ) -> None:
        self.group = check_group(group)
        self._creates_topics = creates_topics
        self._instance = ClientInstance(name_servers, member=self, config=config, limits=limits, security=security)
        self._config = self._instance.config
        self._clock = clock
        self._random = random.Random(seed)
        self._next_index = self._random.randrange(1 << 16)
        self._in_flight = asyncio.Semaphore(self._config.sends_in_flight_max)
        self._unique_ids: UniqueIdGenerator | None = None
        self._heartbeat_seen: frozenset[str] = frozenset()
        self._faults = FaultTolerance() if self._config.latency_fault_tolerance else None
        self._requests = Requests()
        self._instance.on_request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, self._requests.arrived)

    async def start(self) -> None:
        """Connect to a name server; raises `NetworkError` when there is none."""
        await self._instance.start()
        number = self._random.randrange(-(1 << 31), 1 << 31)
        self._unique_ids = UniqueIdGenerator(self._instance.ip, os.getpid(), number, self._clock)

    async def close(self) -> None:
        """Unregister at the brokers and end all connections; running sends and requests fail. Safe to call again."""
        self._requests.close()
        await self._instance.unregister()
        await self._instance.close()

    async def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        sharding_key: str | None = None,
        selector: Selector | None = None,
        timeout_ms: int | None = None,
    ) -> SendResult:
        """Send one message and wait until the broker has it. After more than one attempt it may be stored twice.

        Run many at once for throughput: they are pipelined on one connection, up to ``sends_in_flight_max``.

        Args:
            message: What to send.
            queue: The queue to use; None: the queues in turn.
            sharding_key: Messages with one key enter one queue; send the next after the answer to the one before.
            selector: Chooses the queue otherwise, once, and no other queue is tried after a failure.
            timeout_ms: For all attempts together; default ``send_timeout_ms``.

        Raises:
            UsageError: The message cannot be sent.
            RemoteError: The broker refused it, or there is no route.
            NetworkError: Not reachable, or no answer in time.
        """
        unique_key = self._new_id()
        command = self._single(message, unique_key)
        async with self._in_flight:
            choose = by_key(sharding_key) if sharding_key is not None else selector
            return await self._send(_Sending(message.topic, command, unique_key, queue, choose), timeout_ms)

    async def send_batch(
        self, messages: Sequence[Message], *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> SendResult:
        """Send messages of one topic together to one queue, in order; otherwise as `send`.

        Raises `UsageError` for no message, several topics, or a member with a delay.
        """
        if not messages:
            raise UsageError("a batch needs at least one message")
        keys = [self._new_id() for _ in messages]
        command = self._batch(messages, keys)
        async with self._in_flight:
            return await self._send(_Sending(messages[0].topic, command, ",".join(keys), queue), timeout_ms)

    async def send_raw(self, message: RawMessage, queue: MessageQueue, *, timeout_ms: int | None = None) -> SendResult:
        """Send an encoded message once to one queue; its unique ids are those in its properties.

        Raises as `send`; without an answer in time it may be stored nevertheless.
        """
        batch = message.is_batch
        fields = self._fields(message.topic, message.properties, flag=message.flag, sys_flag=message.sys_flag, batch=batch)
        if message.born_timestamp_ms is not None:
            fields["g"] = str(message.born_timestamp_ms)
        code = RequestCode.SEND_BATCH_MESSAGE if batch else RequestCode.SEND_MESSAGE_V2
        async with self._in_flight:
            return await self._send(_Sending(message.topic, RemotingCommand(code, fields, message.body), "", queue), timeout_ms)

    async def send_oneway(
        self, message: Message, *, queue: MessageQueue | None = None, selector: Selector | None = None
    ) -> None:
        """Send one message without waiting for an answer, so that it may be lost unnoticed. Raises as `send`."""
        command = self._single(message, self._new_id())
        route = await self._route(message.topic)
        chosen = queue or self._choose(route, selector, avoid=None)
        self._address_to(command, chosen)
        await self._instance.send_oneway(_address(route, chosen), command)

    async def request(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selector | None = None,
        timeout_ms: int | None = None,
    ) -> bytes:
        """Send one message and return the body of a consumer's reply; queue and selector are as in `send`.

        ``timeout_ms`` is for the send and the reply together, by default ``request_timeout_ms``. Raises as `send`, and
        `RequestTimeoutError` when no reply arrives in time; the message may be consumed nevertheless.
        """
        limit_ms = self._config.request_timeout_ms if timeout_ms is None else timeout_ms
        prepared, reply = self._requests.prepare(message, self._instance.client_id, limit_ms)
        try:
            async with asyncio.timeout(limit_ms / 1000):
                await self.send(prepared, queue=queue, selector=selector, timeout_ms=limit_ms)
                return await reply
        except TimeoutError as error:
            text = f"no reply to the request on {message.topic} came within {limit_ms:,} ms: is a consumer there that replies?"
            raise RequestTimeoutError(text) from error
        finally:
            self._requests.forget(prepared)

    async def send_reply(self, reply: Message, *, timeout_ms: int | None = None) -> SendResult:
        """Send a reply made by `reply_to`; raises as `send`, and `RemoteError` when the requester is disconnected."""
        unique_key = self._new_id()
        command = self._single(reply, unique_key)
        command.code = RequestCode.SEND_REPLY_MESSAGE_V2
        async with self._in_flight:
            return await self._send(_Sending(reply.topic, command, unique_key), timeout_ms)

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Return the queues for messages of ``topic``; raises as `send`."""
        return (await self._instance.publish_route(topic)).publish_queues()

    @property
    def producer_group(self) -> str | None:
        return self.group

    def consumer_data(self) -> dict[str, Any] | None:
        """None: it consumes nothing."""
        return None

    def group_changed(self, group: str) -> None:
        """Do nothing: it owns no queues."""

    async def _send(self, sending: _Sending, timeout_ms: int | None) -> SendResult:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self._config.send_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        attempts_max = 1 if sending.queue or sending.selector else 1 + self._config.send_retries
        for attempt in range(1, attempts_max + 1):
            try:
                result = await self._attempt(sending, attempt, deadline)
                elsewhere = result.status is not SendStatus.SEND_OK and self._config.retry_when_not_stored_ok
                if not elsewhere or attempt == attempts_max or loop.time() >= deadline - _LAST_ATTEMPT_SECONDS:
                    return result
            except (RemoteError, NetworkError) as error:
                if not self._is_repeated(error) or attempt == attempts_max or loop.time() >= deadline - _LAST_ATTEMPT_SECONDS:
                    raise
                logger.info("send to %s is repeated: %s", sending.topic, error)
        raise AssertionError("the loop returns or raises")

    def _is_repeated(self, error: RemoteError | NetworkError) -> bool:
        if isinstance(error, RemoteError) and error.context.get("code") not in RETRYABLE_SEND_CODES:
            return False
        return self._config.repeats_unanswered or not may_be_stored(error)

    async def _attempt(self, sending: _Sending, attempt: int, deadline: float) -> SendResult:
        route = await self._route(sending.topic)
        queue = sending.queue or self._choose(route, sending.selector, sending.last_broker)
        sending.last_broker = queue.broker_name
        address = _address(route, queue)
        self._address_to(sending.command, queue)
        left_ms = int((deadline - asyncio.get_running_loop().time()) * 1000)
        if left_ms <= 0:
            raise RequestTimeoutError(f"the time for sending to {queue.topic} is over before attempt {attempt}")
        response = await self._timed(address, queue.broker_name, sending.command, left_ms)
        if response.code not in STORED_CODES:
            raise answer_error(address, sending.command.code, response)
        return _result(response, address, sending, queue, attempt)

    async def _timed(self, address: str, broker_name: str, command: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        """Send a request, and record its latency and outcome for the choice of later queues."""
        if self._faults is None:
            return await self._instance.request(address, command, timeout_ms)
        clock = asyncio.get_running_loop().time
        started, failed = clock(), True
        try:
            response = await self._instance.request(address, command, timeout_ms)
            failed = response.code not in STORED_CODES
        finally:
            self._faults.sent(broker_name, (clock() - started) * 1000, clock() * 1000, failed=failed)
        return response

    async def _route(self, topic: str) -> Route:
        route = await self._instance.publish_route(topic)
        brokers = frozenset(route.brokers)
        if not brokers <= self._heartbeat_seen and await self._instance.route(topic) is not None:
            self._heartbeat_seen |= brokers
            await self._instance.heartbeat()
        return route

    def _choose(self, route: Route, selector: Selector | None, avoid: str | None) -> MessageQueue:
        """Take the next queue in turn; after a failure, one of another broker if there is any."""
        queues = route.publish_queues()
        if selector is not None:
            return selector(queues)
        candidates = [queue for queue in queues if queue.broker_name != avoid] or queues
        self._next_index += 1
        if self._faults is not None:
            return self._faults.choose(candidates, self._next_index, asyncio.get_running_loop().time() * 1000)
        return candidates[self._next_index % len(candidates)]

    def _single(self, message: Message, unique_key: str) -> RemotingCommand:
        self._check_body(message)
        properties = message_properties(message, unique_key)
        body, sys_flag = message.body, 0
        if len(body) >= self._config.compress_body_bytes:
            compressed = compress_body(body)
            if len(compressed) < len(body):
                body, sys_flag = compressed, with_compression(0, Compression.ZLIB)
        fields = self._fields(message.topic, properties, flag=message.flag, sys_flag=sys_flag, batch=False)
        return RemotingCommand(RequestCode.SEND_MESSAGE_V2, fields, body)

    def _batch(self, messages: Sequence[Message], unique_keys: Sequence[str]) -> RemotingCommand:
        topic = messages[0].topic
        members = []
        for message, unique_key in zip(messages, unique_keys, strict=True):
            self._check_body(message)
            if message.topic != topic:
                raise UsageError(f"a batch goes to one topic, this one to {topic} and {message.topic}: send two batches")
            if DELAY in message.properties:
                raise UsageError("a message with a delay cannot be in a batch: send it alone")
            members.append(BatchMember(message.flag, message.body, message_properties(message, unique_key)))
        body = encode_batch(members)
        if len(body) > self._config.message_bytes_max:
            text = f"a batch of {len(body):,} bytes is more than the {self._config.message_bytes_max:,} allowed: split it"
            raise UsageError(text)
        fields = self._fields(topic, encode_properties({WAIT: "true"}), flag=0, sys_flag=0, batch=True)
        return RemotingCommand(RequestCode.SEND_BATCH_MESSAGE, fields, body)

    def _fields(self, topic: str, properties: bytes, *, flag: int, sys_flag: int, batch: bool) -> dict[str, str]:
        """Header of a send, short names (Source: docs/spec/remoting.md §2.2.1); each attempt adds queue and broker."""
        return {
            "a": self.group,
            "b": topic,
            # Brokers do not create a topic that is its own template; they answer that it does not exist.
            "c": AUTO_CREATE_TOPIC if self._creates_topics else topic,
            "d": str(DEFAULT_TOPIC_QUEUES),
            "f": str(sys_flag),
            "g": str(self._clock()),
            "h": str(flag),
            "i": properties.decode(),
            "j": "0",
            "k": "false",
            "m": "true" if batch else "false",
        }

    @staticmethod
    def _address_to(command: RemotingCommand, queue: MessageQueue) -> None:
        command.ext_fields["e"] = str(queue.queue_id)
        command.ext_fields["n"] = queue.broker_name

    def _check_body(self, message: Message) -> None:
        if not message.body:
            raise UsageError(f"a message for {message.topic} has no body: give at least one byte")
        if len(message.body) > self._config.message_bytes_max:
            text = f"a body of {len(message.body):,} bytes is more than the {self._config.message_bytes_max:,} allowed"
            raise UsageError(text)

    def _new_id(self) -> str:
        if self._unique_ids is None:
            raise UsageError("the producer is not started: call start(), or use it in “async with”")
        return self._unique_ids.next_id()


def _address(route: Route, queue: MessageQueue) -> str:
    address = route.address_of(queue.broker_name)
    if address is None:
        names = ", ".join(sorted(route.brokers))
        raise UsageError(f"no broker {queue.broker_name} serves topic {queue.topic}; those that do: {names}")
    return address


def _result(response: RemotingCommand, address: str, sending: _Sending, queue: MessageQueue, attempt: int) -> SendResult:
    fields = response.ext_fields
    try:
        return SendResult(
            status=_STATUS[ResponseCode(response.code)],
            message_id=sending.message_id,
            offset_message_id=fields["msgId"],
            queue=queue._replace(queue_id=int(fields["queueId"])),
            queue_offset=int(fields["queueOffset"]),
            attempts=attempt,
        )
    except (KeyError, ValueError) as error:
        text = f"{address} took a message without saying where it is: {fields}"
        raise RemoteError(text, code=response.code, address=address) from error

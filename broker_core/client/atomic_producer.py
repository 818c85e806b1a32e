"""A producer whose messages are stored exactly once, and visible all together or never.

Needs a broker of Orbit with ``orbitAtomicTransactions=true``, and topics that take part (`AtomicProducer.create_topic`).
Several topics, several queues and the offsets of a consumer group can be in one transaction:

    async with AtomicProducer("127.0.0.1:9876", "shop-1") as producer:
        async with producer.transaction():
            await producer.send(Message("orders", b"..."))
            await producer.send(Message("audit", b"..."))
            await producer.send_offsets("shop", {queue: next_offset})

A second instance with the same transactional id takes over: the broker aborts the first one's open transaction and refuses
its further requests. Asyncio; every method belongs to the loop it was started on, and one transaction is open at a time.

Source: docs/spec/kafka.md §1.16, §3.8.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self

from broker_core.client.instance import ClientInstance, ClientSecurity, answer_error
from broker_core.client.lifecycle import OpenedClient
from broker_core.client.message import Message, SendResult, SendStatus, message_properties
from broker_core.client.pulling import number
from broker_core.clock import wall_clock_ms
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.protocol.admin.brokers import read_brokers
from broker_core.protocol.atomic import ABORTABLE, RETRIABLE, SEQUENCE_MASK, Identity, QueueKey, Refusal
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.message_id import UniqueIdGenerator
from broker_core.protocol.message.tags import java_string_hash

logger = logging.getLogger(__name__)

TIMEOUT_MS = 60_000
RETRY_SECONDS = 0.05
REQUEST_SECONDS = 30.0

_BUSY = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE})


class AtomicError(RemoteError):
    """The broker refused a request of an atomic transaction; ``context["code"]`` has the number."""


class AbortNeededError(AtomicError):
    """The open transaction cannot be committed any more: abort it, then begin again."""


class FencedError(AtomicError):
    """Another instance with the same transactional id took over, or the producer is unknown: close this one."""


class AtomicProducer(OpenedClient):
    """Sends messages exactly once. Use it as an async context manager, or call `start` and `close`.

    Args:
        transactional_id: Names the logical producer over all its restarts; None for one that is only idempotent: its messages
            are stored once each, without transactions.
        timeout_ms: The broker aborts a transaction that is open for longer.
        group: Producer group, as records of the broker show it.
    """

    def __init__(
        self,
        name_servers: str,
        transactional_id: str | None,
        *,
        timeout_ms: int = TIMEOUT_MS,
        group: str = "orbit-atomic",
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self.transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._group = group
        self._instance = ClientInstance(name_servers, config=config, limits=limits, security=security)
        self._clock = clock
        self._unique_ids: UniqueIdGenerator | None = None
        self._identity = Identity(-1, -1)
        self._address = ""
        self._broker_name = ""
        self._sequences: dict[QueueKey, int] = {}
        self._order: defaultdict[QueueKey, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._is_open = False
        self._has_joined = False
        self._needs_abort: AbortNeededError | None = None
        self._fenced: FencedError | None = None
        self._next_queue = random.randrange(1 << 16)

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def broker_address(self) -> str:
        """The broker that keeps the transactions; known after `start`."""
        return self._address

    @property
    def client_id(self) -> str:
        return self._instance.client_id

    async def start(self) -> None:
        """Connect and take over the transactional id.

        Raises `NetworkError` when no name server or no broker can be reached, and `AtomicError` when the broker refuses; it may
        have atomic transactions switched off.
        """
        await self._instance.start()
        self._unique_ids = UniqueIdGenerator(self._instance.ip, os.getpid(), random.getrandbits(31), self._clock)
        await self._find_broker()
        fields = {"timeoutMs": str(self._timeout_ms)}
        if self.transactional_id is not None:
            fields["tid"] = self.transactional_id
        self._adopt(await self._ask(RequestCode.INIT_ATOMIC_PRODUCER, fields))

    async def close(self) -> None:
        """Abort the open transaction and end all connections. Safe to call again."""
        if self._is_open and self._fenced is None:
            try:
                await self.abort()
            except (RemoteError, NetworkError) as error:
                logger.info("the open transaction of %s is left to its time-out: %s", self.transactional_id, error)
        await self._instance.close()

    async def create_topic(self, topic: str, *, queues: int = 4) -> None:
        """Create a topic for atomic transactions, or let an existing one take part; raises `AtomicError`."""
        await self._ask(RequestCode.LET_TOPIC_TAKE_PART, {"topic": topic, "queues": str(queues)})

    # ---- a transaction ----

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """Begin; commit at the end of the block, abort if it raises."""
        self.begin()
        try:
            yield self
        except BaseException:
            if self._fenced is None:
                await self.abort()
            raise
        await self.commit()

    def begin(self) -> None:
        """Begin a transaction, of which the broker learns by the first message.

        Raises `UsageError` when one is open already, or without a transactional id; `FencedError` when another instance took
        over.
        """
        if self.transactional_id is None:
            raise UsageError("the producer has no transactional id: give one to have transactions")
        self._check_alive()
        if self._is_open:
            raise UsageError(f"a transaction of {self.transactional_id} is open: commit or abort it first")
        self._is_open = True
        self._needs_abort = None

    async def send(self, message: Message, *, queue: MessageQueue | None = None, sharding_key: str | None = None) -> SendResult:
        """Store one message exactly once, also after lost answers.

        Args:
            message: What to send.
            queue: The queue to use; None: the queues in turn.
            sharding_key: Messages with one key enter one queue.

        Raises:
            UsageError: No transaction is open, the message cannot be sent, or the queue is another broker's.
            AbortNeededError: The transaction must be aborted.
            FencedError: Another instance took over.
            NetworkError: The broker does not answer in time; the transaction must be aborted.
        """
        return await self._send([message], queue, sharding_key)

    async def send_batch(self, messages: Sequence[Message], *, queue: MessageQueue | None = None) -> SendResult:
        """Store messages of one topic together in one queue, otherwise as `send`."""
        topics = {message.topic for message in messages}
        if len(topics) != 1:
            raise UsageError("a batch needs messages of one topic")
        return await self._send(messages, queue, None)

    async def send_offsets(self, group: str, offsets: Mapping[MessageQueue, int], *, client_id: str | None = None) -> None:
        """Add offsets of a consumer group to the transaction, which sets them when it commits; raises as `send`.

        ``offsets`` are those of the next messages to consume. The broker refuses a consumer ``client_id`` that has lost the
        queues.
        """
        self._check_open()
        if not offsets:
            return
        for queue in offsets:
            self._check_queue(queue)
        body = emit({"offsets": [[queue.topic, queue.queue_id, offset] for queue, offset in offsets.items()]})
        fields = {**self._shown(), "group": group, "clientId": client_id or self.client_id}
        # Noted before the answer, because offsets that may have joined need a decision, also without any message.
        self._has_joined = True
        await self._ask(RequestCode.ADD_ATOMIC_OFFSETS, fields, body)

    async def commit(self) -> None:
        """Make everything visible; returns when that is durable. Raises as `send`.

        After a `NetworkError` the outcome is not known: call it again, or `start` a new instance.
        """
        self._check_open()
        if not self._has_joined:
            self._is_open = False
            return
        await self._end(commit=True)

    async def abort(self) -> None:
        """Drop everything that was sent; raises as `commit`."""
        self._check_alive()
        if not self._is_open:
            raise UsageError("no transaction is open")
        if self._needs_abort is not None and self._needs_abort.context.get("code") == Refusal.OLD_EPOCH:
            # The broker has aborted it by itself; only a new identity is missing.
            fields = {**self._shown(), "timeoutMs": str(self._timeout_ms)}
            self._adopt(await self._ask(RequestCode.INIT_ATOMIC_PRODUCER, fields))
        elif self._has_joined or self._needs_abort is not None:
            await self._end(commit=False)
        self._is_open = False
        self._needs_abort = None

    async def _end(self, *, commit: bool) -> None:
        fields = {**self._shown(), "commit": "true" if commit else "false"}
        self._adopt(await self._ask(RequestCode.END_ATOMIC, fields))
        self._is_open = False

    # ---- sending ----

    async def _send(self, messages: Sequence[Message], queue: MessageQueue | None, sharding_key: str | None) -> SendResult:
        if self.transactional_id is not None:
            self._check_open()
        self._check_alive()
        assert self._unique_ids is not None
        if queue is not None:
            self._check_queue(queue)
        target = queue or await self._choose(messages[0].topic, sharding_key)
        key = QueueKey(target.topic, target.queue_id)
        ids = [self._unique_ids.next_id() for _ in messages]
        command = self._command(messages, ids, target)
        async with self._order[key]:
            base = self._sequences.get(key, 0)
            command.ext_fields |= {"kp": str(self._identity.producer_id), "ke": str(self._identity.epoch), "ks": str(base)}
            if self.transactional_id is not None:
                command.ext_fields["kt"] = self.transactional_id
            # Noted before the answer, because a transaction with a message that may be stored must be ended.
            self._has_joined = True
            answer = await self._request(command)
            self._sequences[key] = (base + len(messages)) & SEQUENCE_MASK
        offset = number(answer, "queueOffset", self._address)
        return SendResult(SendStatus.SEND_OK, ",".join(ids), answer.ext_fields.get("msgId", ""), target, offset, 1)

    def _command(self, messages: Sequence[Message], ids: Sequence[str], queue: MessageQueue) -> RemotingCommand:
        members = [
            BatchMember(message.flag, message.body, message_properties(message, unique_id))
            for message, unique_id in zip(messages, ids, strict=True)
        ]
        is_batch = len(members) > 1
        fields = {
            "a": self._group,
            "b": queue.topic,
            "c": "",
            "d": "0",
            "e": str(queue.queue_id),
            "f": "0",
            "g": str(self._clock()),
            "h": str(messages[0].flag),
            "i": "" if is_batch else members[0].properties.decode(),
            "j": "0",
            "m": "true" if is_batch else "false",
        }
        return RemotingCommand(RequestCode.SEND_ATOMIC_MESSAGE, fields, encode_batch(members) if is_batch else messages[0].body)

    async def _choose(self, topic: str, sharding_key: str | None) -> MessageQueue:
        route = await self._instance.publish_route(topic)
        queues = [queue for queue in route.publish_queues() if queue.broker_name == self._broker_name]
        if not queues:
            raise UsageError(f"topic {topic} has no queue on broker {self._broker_name}, which keeps the transaction")
        if sharding_key is not None:
            return queues[abs(java_string_hash(sharding_key)) % len(queues)]
        self._next_queue += 1
        return queues[self._next_queue % len(queues)]

    # ---- requests ----

    async def _find_broker(self) -> None:
        """Choose the broker that keeps the transactions of this id: the same one as long as the brokers stay the same."""
        answer = await self._instance.call_name_server(RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO))
        masters = [(broker.name, broker.address) for broker in read_brokers(answer.body) if broker.has_master]
        if not masters:
            raise NetworkError("the name server knows no broker that takes messages")
        place = abs(java_string_hash(self.transactional_id or "")) % len(masters)
        self._broker_name, self._address = masters[place]

    async def _ask(self, code: RequestCode, fields: dict[str, str], body: bytes = b"") -> RemotingCommand:
        return await self._request(RemotingCommand(code, dict(fields), body))

    async def _request(self, command: RemotingCommand) -> RemotingCommand:
        """Repeat a request until its answer is final; the broker recognises a repeated request."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + REQUEST_SECONDS
        while True:
            try:
                answer = await self._instance.request(self._address, command)
                if answer.code == ResponseCode.SUCCESS:
                    return answer
                error = self._classified(answer, command.code)
                if answer.code not in RETRIABLE and answer.code not in _BUSY:
                    raise error
            except NetworkError as lost:
                if loop.time() > deadline:
                    self._mark(AbortNeededError(lost.message, **lost.context))
                    raise
                logger.info("request %d is repeated: %s", command.code, lost)
            else:
                if loop.time() > deadline:
                    raise error
            await asyncio.sleep(RETRY_SECONDS)

    def _classified(self, answer: RemotingCommand, request_code: int) -> AtomicError:
        told = answer_error(self._address, request_code, answer)
        if answer.code in RETRIABLE or answer.code in _BUSY:
            return AtomicError(told.message, **told.context)
        if answer.code in ABORTABLE:
            error = AbortNeededError(told.message, **told.context)
            self._mark(error)
            return error
        if answer.code in (Refusal.FENCED, Refusal.UNKNOWN_ID):
            self._fenced = FencedError(told.message, **told.context)
            return self._fenced
        return AtomicError(told.message, **told.context)

    def _mark(self, error: AbortNeededError) -> None:
        if self._is_open and self._needs_abort is None:
            self._needs_abort = error

    def _adopt(self, answer: RemotingCommand) -> None:
        self._identity = Identity(number(answer, "pid", self._address), number(answer, "epoch", self._address))
        self._sequences.clear()
        self._has_joined = False

    def _check_queue(self, queue: MessageQueue) -> None:
        """Refuse a queue of another broker, because one decision record in one log holds a transaction together."""
        if queue.broker_name != self._broker_name:
            raise UsageError(
                f"queue {queue.queue_id} of {queue.topic} is on broker {queue.broker_name}, this producer works with "
                f"{self._broker_name} alone, which keeps its transactions: take a queue there"
            )

    def _shown(self) -> dict[str, str]:
        identity = {"pid": str(self._identity.producer_id), "epoch": str(self._identity.epoch)}
        return {"tid": self.transactional_id or "", **identity}

    def _check_alive(self) -> None:
        if self._fenced is not None:
            raise self._fenced

    def _check_open(self) -> None:
        self._check_alive()
        if not self._is_open:
            raise UsageError("no transaction is open: call begin() first")
        if self._needs_abort is not None:
            raise self._needs_abort

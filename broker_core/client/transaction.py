"""The transactional producer: consumers get a message only after its local transaction is committed.

    begin     the half message is stored; consumers do not see it
    execute   the program's own transaction, for example in its database
    end       commit, roll back, or nothing when that is not known yet
    check     the broker checks half messages without an end later, at any connected producer of the group

A lost end, or a producer that dies between the steps, decides nothing: the checker does. It must read the state where the local
transaction wrote it, because the broker may check at another instance of the group. In rare cases a message is delivered
twice; consumers must accept that.

Source: docs/spec/broker.md §4.3, §4.7 steps 5 and 6.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from broker_core.client.message import Message, ReceivedMessage, SendResult, SendStatus
from broker_core.client.producer import Producer
from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.fields import text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.properties import DELAY, PRODUCER_GROUP, TRANSACTION_PREPARED
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.sys_flag import TransactionType
from broker_core.transport.connection import Connection

logger = logging.getLogger(__name__)

CHECKS_WAITING_MAX = 2_000
"""Pending checks of brokers; further ones are dropped, because the broker repeats them."""


class LocalState(Enum):
    """State of a local transaction; the value is the one in END_TRANSACTION."""

    COMMIT = 8
    ROLLBACK = 12
    UNKNOWN = 0


Execute = Callable[[Message], LocalState | Awaitable[LocalState | None] | None]
"""Carries out the local transaction: a plain function on a thread, a coroutine function on the loop. None and an exception mean
unknown.
"""

Check = Callable[[ReceivedMessage], LocalState | Awaitable[LocalState | None] | None]
"""Returns the state of a half message's local transaction; otherwise as `Execute`."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A stored half message; the queue in ``sent`` is the requested one."""

    message: Message
    sent: SendResult


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """How a transaction ended here; the broker decides an unknown one later.

    ``remark`` says why the state is unknown or a rollback, when the program gave no reason.
    """

    sent: SendResult
    state: LocalState
    remark: str = ""


class TransactionProducer(Producer):
    """Sends messages in transactions, and ordinary ones as well.

    Args:
        group: Producer group; all its instances must have the same checker.
        check: Answers the broker's checks, on a thread of its own unless it is a coroutine function.
    """

    def __init__(self, name_servers: str, group: str, check: Check, **options: Any) -> None:
        super().__init__(name_servers, group, **options)
        self._check = check
        self._checks: set[asyncio.Task[None]] = set()
        self._known_to: set[str] = set()
        self._checker = ThreadPoolExecutor(1, thread_name_prefix=f"checks of {group}")
        self._instance.on_request(RequestCode.CHECK_TRANSACTION_STATE, self._asked)

    async def close(self) -> None:
        """As `Producer.close`; the broker repeats pending checks at another instance of the group."""
        for task in self._checks:
            task.cancel()
        await asyncio.gather(*self._checks, return_exceptions=True)
        self._checker.shutdown(wait=False, cancel_futures=True)
        await super().close()

    async def send_in_transaction(
        self, message: Message, execute: Execute, *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> TransactionResult:
        """Store a half message, carry out the local transaction, and send its outcome to the broker.

        A delay level of the message is left out. ``timeout_ms`` does not include the local transaction. Raises as `send`; the
        local transaction then was not begun, and the broker checks a half message that was stored nevertheless.
        """
        transaction = await self.begin(message, queue=queue, timeout_ms=timeout_ms)
        if transaction.sent.status is not SendStatus.SEND_OK:
            return await self.end(transaction, LocalState.ROLLBACK, _not_safe(transaction.sent))
        state, remark = await self._run(execute, message, None)
        return await self.end(transaction, state, remark)

    async def answer_checks(self, topic: str) -> None:
        """Register this producer with the brokers of a topic, so that they send it checks of its group. Raises as `send`.

        A restarted program calls this for its topics; `begin` does it by itself.
        """
        route = await self._instance.publish_route(topic)
        for broker_name in route.brokers:
            address = route.address_of(broker_name)
            if address is not None and address not in self._known_to:
                await self._instance.heartbeat_to(address)
                self._known_to.add(address)

    async def begin(
        self, message: Message, *, queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> OpenTransaction:
        """Store a half message; `end` must follow. Raises as `send_in_transaction`."""
        await self.answer_checks(message.topic)
        properties = {name: value for name, value in message.properties.items() if name != DELAY}
        properties |= {TRANSACTION_PREPARED: "true", PRODUCER_GROUP: self.group}
        half = replace(message, properties=properties)
        return OpenTransaction(message, await self._send_prepared(half, queue, timeout_ms))

    async def end(self, transaction: OpenTransaction, state: LocalState, remark: str = "") -> TransactionResult:
        """Send the outcome of a transaction to the broker. A lost outcome is no error, because the broker checks then."""
        sent = transaction.sent
        _host, physical_offset = parse_offset_message_id(sent.offset_message_id)
        fields = {
            "producerGroup": self.group,
            "tranStateTableOffset": str(sent.queue_offset),
            "commitLogOffset": str(physical_offset),
            "commitOrRollback": str(state.value),
            "fromTransactionCheck": "false",
            "msgId": sent.message_id,
            "transactionId": sent.message_id,
        }
        command = RemotingCommand(RequestCode.END_TRANSACTION, fields, remark=remark or None)
        try:
            route = await self._instance.publish_route(transaction.message.topic)
            address = route.address_of(sent.queue.broker_name)
            if address is None:
                raise NetworkError(
                    f"broker {sent.queue.broker_name} is not in the route of {transaction.message.topic} any more"
                )
            await self._instance.send_oneway(address, command)
        except (NetworkError, RemoteError) as error:
            logger.warning("the broker was not told that %s is %s, it will ask: %s", sent.message_id, state.name, error)
        return TransactionResult(sent, state, remark)

    # ---- checks ----

    def _asked(self, connection: Connection, command: RemotingCommand) -> None:
        """Start the answer to a broker's check: a one-way END_TRANSACTION on the same connection."""
        if len(self._checks) >= CHECKS_WAITING_MAX:
            logger.warning("%d questions about transactions wait already; one more is left to a later round", len(self._checks))
            return
        task = asyncio.create_task(self._answer(connection, command), name=f"check of {self.group}")
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _answer(self, connection: Connection, command: RemotingCommand) -> None:
        try:
            stored = decode_record(command.body)
            fields = {name: text_field(command.ext_fields, name) for name in ("tranStateTableOffset", "commitLogOffset")}
        except OrbitError as error:
            logger.warning("%s asks about a transaction that cannot be read: %s", connection.remote_address, error)
            return
        if stored.properties.get(PRODUCER_GROUP) != self.group:
            logger.warning("%s asks about a transaction of group %s", connection.remote_address, stored.properties)
            return
        message = ReceivedMessage(stored, MessageQueue(stored.topic, "", stored.queue_id))
        state, remark = await self._run(self._check, message, self._checker)
        fields |= {
            "producerGroup": self.group,
            "commitOrRollback": str(state.value),
            "fromTransactionCheck": "true",
            "msgId": message.message_id or command.ext_fields.get("msgId", ""),
            "transactionId": command.ext_fields.get("transactionId", ""),
        }
        connection.send_oneway(RemotingCommand(RequestCode.END_TRANSACTION, fields, remark=remark or None))

    @staticmethod
    async def _run(work: Callable[[Any], Any], argument: object, pool: ThreadPoolExecutor | None) -> tuple[LocalState, str]:
        """Call the program; an exception means an unknown state."""
        try:
            if inspect.iscoroutinefunction(work):
                state = await work(argument)
            else:
                state = await asyncio.get_running_loop().run_in_executor(pool, work, argument)
                if inspect.isawaitable(state):
                    state = await state
        except Exception as error:
            # The root of a call into the program: its fault must not end the producer.
            logger.exception("the state of a transaction is unknown, because the program failed")
            return LocalState.UNKNOWN, repr(error)[:500]
        return (state, "") if isinstance(state, LocalState) else (LocalState.UNKNOWN, "")

    def _single(self, message: Message, unique_key: str) -> RemotingCommand:
        command = super()._single(message, unique_key)
        if message.properties.get(TRANSACTION_PREPARED) == "true":
            command.ext_fields["f"] = str(int(command.ext_fields["f"]) | TransactionType.PREPARED)
        return command

    async def _send_prepared(self, half: Message, queue: MessageQueue | None, timeout_ms: int | None) -> SendResult:
        sent = await self.send(half, queue=queue, timeout_ms=timeout_ms)
        try:
            parse_offset_message_id(sent.offset_message_id)
        except CodecError as error:
            raise RemoteError(f"the broker does not say where it stored the half message: {error}", code=0) from error
        return sent


def _not_safe(sent: SendResult) -> str:
    return f"the half message is stored, but not safely ({sent.status.value}); the local transaction was not begun"

"""One client of gRPC as the broker's tables know it: a peer whose notices and questions go to its telemetry stream.

Source: docs/spec/grpc.md §4.3, §4.4.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from broker_core.engine.grpc.bridge import VERSION
from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.outgoing import outgoing
from broker_core.engine.tables.peer import UnpacedPeer
from broker_core.errors import OrbitError, RecordError
from broker_core.protocol import names
from broker_core.protocol.codes import RequestCode, ResponseCode, SerializeType, version_ordinal
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.json_body import emit
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.record import decode_record

logger = logging.getLogger(__name__)

ANSWER_MS_MAX: Final = 5_000
"""A client that has not answered a question after this time is not waited for."""
QUESTIONS_MAX: Final = 64
"""Unanswered questions to one client."""
_RESULTS: Final = {pb.OK: "CR_SUCCESS", pb.FAILED_TO_CONSUME_MESSAGE: "CR_LATER", pb.MESSAGE_CORRUPTED: "CR_RETURN_NULL"}

_KINDS: Final = {
    pb.PRODUCER: "producer",
    pb.PUSH_CONSUMER: "push consumer",
    pb.SIMPLE_CONSUMER: "simple consumer",
    pb.PULL_CONSUMER: "pull consumer",
}

Answered = Callable[[RemotingCommand | OrbitError], None]
Asked = Callable[[str, tuple[int, int]], None]
"""Called with the id of a transaction, and queue offset and physical offset of its half message, when a client is asked."""


class CommandStream(Protocol):
    def command(self, command: pb.TelemetryCommand) -> bool:
        """Send a command; False when the stream has ended, or its client reads slowly."""


@dataclass(frozen=True, slots=True)
class _Question:
    command: RemotingCommand
    answered: Answered
    timer: asyncio.TimerHandle


class GrpcClient(UnpacedPeer):
    """A client that announced its settings. Hashable by identity; a peer of the tables of consumers and producers.

    Attributes:
        client_id: As it states itself.
        connection: Of its last settings or heartbeat.
        sdk_version: Of its SDK, as text.
        settings: As announced, with the broker's fields.
        last_heard_ms: Time of its last settings or heartbeat.
        stream: Where commands go; None while it has no telemetry stream.
        is_adopted: Whether it has not announced itself to this process, and its receives describe it.
    """

    serialize_type = SerializeType.ROCKETMQ

    def __init__(self, caller: Caller, *, clock: Callable[[], int], asked: Asked) -> None:
        self.client_id = caller.client_id
        self.connection = caller.connection
        self.language = caller.language
        self.sdk_version = caller.sdk_version
        self.version = version_ordinal(caller.sdk_version) or VERSION
        self.settings = pb.Settings()
        self._clock = clock
        self._asked = asked
        self.last_heard_ms = clock()
        self.stream: CommandStream | None = None
        self.is_adopted = False
        self._questions: dict[str, _Question] = {}

    @property
    def group(self) -> str:
        """Its consumer group; empty for a producer."""
        return self.settings.subscription.group.name

    @property
    def is_producer(self) -> bool:
        """Whether it announced topics to publish to."""
        return self.settings.HasField("publishing")

    @property
    def kind(self) -> str:
        """Its type in words, such as ``push consumer``; empty for none."""
        return _KINDS.get(self.settings.client_type, "")

    @property
    def has_renewals(self) -> bool:
        """Whether its deliveries stay invisible until it acknowledges them: those of push consumers."""
        return self.settings.client_type == pb.PUSH_CONSUMER

    @property
    def topics(self) -> list[str]:
        return [topic.name for topic in self.settings.publishing.topics]

    # ---- a connection, for whoever lists these: as `broker_core.transport.grpc_connection.GrpcConnection` ----

    @property
    def remote_address(self) -> str:
        return self.connection.remote_address

    @property
    def local_address(self) -> str:
        return self.connection.local_address

    @property
    def connected_at(self) -> float:
        return self.connection.connected_at

    @property
    def last_active(self) -> float:
        return self.connection.last_active

    @property
    def bytes_in(self) -> int:
        return self.connection.bytes_in

    @property
    def bytes_out(self) -> int:
        return self.connection.bytes_out

    @property
    def requests_in(self) -> int:
        """Calls of the connection so far."""
        return self.connection.requests_in

    def close(self, reason: str = "closed by this side") -> None:
        self.connection.close(reason)

    # ---- a peer ----

    def send(self, _command: RemotingCommand) -> bool:
        """Drop an answer: each call has a peer of its own."""
        return False

    def send_now(self, command: RemotingCommand) -> bool:
        return self.send(command)

    def send_oneway(self, command: RemotingCommand) -> bool:
        """Pass a check of a transaction on. Other notices have no translation; False for one that others act on."""
        if command.code != RequestCode.CHECK_TRANSACTION_STATE:
            return self.stream is not None and command.code != RequestCode.RESET_CONSUMER_CLIENT_OFFSET
        try:
            half = decode_record(command.body)
        except RecordError:
            logger.exception("the half message of a check cannot be read")
            return False
        topic = half.properties.get(props.REAL_TOPIC, half.topic)
        message = outgoing(half, topic, now_ms=self._clock())
        transaction_id = command.ext_fields.get("transactionId") or message.system_properties.message_id
        self._asked(transaction_id, (half.queue_offset, half.physical_offset))
        recover = pb.RecoverOrphanedTransactionCommand(message=message, transaction_id=transaction_id)
        return self._command(pb.TelemetryCommand(recover_orphaned_transaction_command=recover))

    def ask(self, command: RemotingCommand, timeout_ms: int, answered: Answered) -> None:
        """Ask for stacks or for the trial of a message; the broker itself knows the rest of its state."""
        if command.code == RequestCode.CONSUME_MESSAGE_DIRECTLY:
            nonce = self._await(command, timeout_ms, answered)
            verify = pb.VerifyMessageCommand(nonce=nonce, message=self._message_of(command))
            self._put(nonce, pb.TelemetryCommand(verify_message_command=verify))
        elif command.ext_fields.get("jstackEnable") == "true":
            nonce = self._await(command, timeout_ms, answered)
            stacks = pb.PrintThreadStackTraceCommand(nonce=nonce)
            self._put(nonce, pb.TelemetryCommand(print_thread_stack_trace_command=stacks))
        else:
            answered(command.reply(body=self._running_info("")))

    def _message_of(self, command: RemotingCommand) -> pb.Message:
        stored = decode_record(command.body)
        topic = stored.properties.get(props.RETRY_TOPIC, stored.topic)
        if not topic.startswith(names.RETRY_PREFIX):
            return outgoing(stored, topic, now_ms=self._clock())
        return outgoing(stored, stored.topic, now_ms=self._clock())

    def _running_info(self, stacks: str) -> bytes:
        consume_type = "CONSUME_ACTIVELY" if self.settings.client_type == pb.SIMPLE_CONSUMER else "CONSUME_PASSIVELY"
        subscriptions = [
            {"topic": entry.topic.name, "subString": entry.expression.expression or "*", "expressionType": "TAG"}
            for entry in self.settings.subscription.subscriptions
        ]
        properties = {"PROP_CONSUME_TYPE": consume_type, "PROP_CLIENT_VERSION": self.sdk_version, "PROTOCOL": "gRPC"}
        info = {"properties": properties, "subscriptionSet": subscriptions, "mqTable": {}, "statusTable": {}, "jstack": stacks}
        return emit(info)

    # ---- questions ----

    def _await(self, command: RemotingCommand, timeout_ms: int, answered: Answered) -> str:
        nonce = uuid.uuid4().hex
        wait_ms = min(timeout_ms, ANSWER_MS_MAX)
        timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._fail, nonce, f"no answer in {wait_ms:,} ms")
        self._questions[nonce] = _Question(command, answered, timer)
        return nonce

    def _put(self, nonce: str, command: pb.TelemetryCommand) -> None:
        if len(self._questions) > QUESTIONS_MAX:
            self._fail(nonce, f"{QUESTIONS_MAX} questions wait for an answer already")
        elif not self._command(command):
            self._fail(nonce, "it has no telemetry stream, or does not read it")

    def _command(self, command: pb.TelemetryCommand) -> bool:
        return self.stream is not None and self.stream.command(command)

    def _fail(self, nonce: str, why: str) -> None:
        question = self._questions.pop(nonce, None)
        if question is not None:
            question.timer.cancel()
            remark = f"call remote timeout: client {self.client_id}: {why}"
            question.answered(question.command.reply(ResponseCode.SYSTEM_BUSY, remark))

    def stacks(self, status: pb.Status, trace: pb.ThreadStackTrace) -> None:
        """Take the answer to a request for stacks."""
        question = self._questions.pop(trace.nonce, None)
        if question is None:
            return
        question.timer.cancel()
        if status.code in (pb.OK, pb.CODE_UNSPECIFIED):
            question.answered(question.command.reply(body=self._running_info(trace.thread_stack_trace)))
        else:
            question.answered(question.command.reply(ResponseCode.SYSTEM_ERROR, status.message))

    def verified(self, status: pb.Status, result: pb.VerifyMessageResult) -> None:
        question = self._questions.pop(result.nonce, None)
        if question is None:
            return
        question.timer.cancel()
        body = {"consumeResult": _RESULTS.get(status.code), "order": False, "autoCommit": True, "remark": "from gRPC client"}
        question.answered(question.command.reply(body=emit(body)))

    def ended(self) -> None:
        """Answer all questions: the client is gone."""
        for nonce in list(self._questions):
            self._fail(nonce, "it has left")

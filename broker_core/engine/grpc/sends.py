"""Sends: checks, the choice of the queue, the put by the processor of remoting (Source: docs/spec/grpc.md §3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Final

from broker_core.engine.grpc.bridge import Bridge, CallPeer
from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.clients import GrpcClients
from broker_core.engine.grpc.incoming import IncomingMessage, incoming
from broker_core.engine.grpc.message_types import type_fault
from broker_core.engine.grpc.names_check import checked_topic
from broker_core.engine.grpc.outcome import CODES, OK, common_status, refuse
from broker_core.engine.grpc.transactions import Transactions
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import VERSION_TOPIC_MAPPING, RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.sys_flag import TransactionType
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.names import AUTO_CREATE_TOPIC

MESSAGES_MAX: Final = 1_024
_STORED: Final = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
)
_FACTOR: Final = 2_862_933_555_777_941_757
_WORD: Final = (1 << 64) - 1

Reply = Callable[[pb.SendMessageResponse], None]


class Sends:
    """Serves SendMessage. For the loop's thread."""

    def __init__(self, state: BrokerState, bridge: Bridge, clients: GrpcClients, transactions: Transactions) -> None:
        self._state = state
        self._bridge = bridge
        self._clients = clients
        self._transactions = transactions
        self._turn = count()

    def send(self, caller: Caller, request: pb.SendMessageRequest, reply: Reply) -> None:
        """Store the messages of a request, each on its own; the reply has an entry for each, in order."""
        messages, topic = self._checked(caller, request)
        if messages[0].sys_flag & TransactionType.PREPARED:
            client = self._clients.find(caller.client_id)
            if client is not None and topic.name not in client.topics:
                self._clients.produces(client, topic.name)
        _Puts(self, caller, topic, messages, reply).start()

    def _checked(self, caller: Caller, request: pb.SendMessageRequest) -> tuple[list[IncomingMessage], TopicConfig]:
        if not request.messages:
            refuse(pb.MESSAGE_CORRUPTED, "no message to send")
        if len(request.messages) > MESSAGES_MAX:
            refuse(pb.MESSAGE_CORRUPTED, f"{len(request.messages):,} messages in one request, allowed are {MESSAGES_MAX:,}")
        resource = request.messages[0].topic
        name = checked_topic(resource)
        if any(message.topic != resource for message in request.messages):
            refuse(pb.MESSAGE_CORRUPTED, "topic in message is not same")
        size, now_ms = self._state.config.store.max_message_bytes, self._state.clock()
        messages = [
            incoming(message, name, address=caller.address, now_ms=now_ms, body_bytes_max=size) for message in request.messages
        ]
        topic = self._state.topics.get(name)
        if topic is None:
            refuse(pb.TOPIC_NOT_FOUND, f"topic[{name}] not exist, apply first please!")
        fault = next(filter(None, (type_fault(topic, message.properties) for message in messages)), None)
        if fault is not None:
            refuse(pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, fault)
        if not topic.writable or not topic.write_queues:
            refuse(pb.FORBIDDEN, "no writable queue")
        return messages, topic

    def put(
        self, caller: Caller, topic: TopicConfig, message: IncomingMessage, answered: Callable[[RemotingCommand], None]
    ) -> None:
        """Have one message stored."""
        queues = topic.write_queues
        group = message.message_group
        queue_id = consistent_bucket(java_string_hash(group), queues) if group else next(self._turn) % queues
        fields = {
            "a": topic.name,
            "b": topic.name,
            "c": AUTO_CREATE_TOPIC,
            "d": "4",
            "e": str(queue_id),
            "f": str(message.sys_flag),
            "g": str(message.born_ms),
            "h": "0",
            "i": props.encode_properties(message.properties).decode(),
            "j": str(message.reconsume_times),
            "k": "false",
            "m": "false",
        }
        peer = CallPeer(caller.address, caller.language, answered)
        self._bridge.ask(peer, RequestCode.SEND_MESSAGE_V2, fields, message.body, version=VERSION_TOPIC_MAPPING)

    def entry(self, message: IncomingMessage, answer: RemotingCommand) -> pb.SendResultEntry:
        """The result of one put."""
        fields = answer.ext_fields
        if answer.code not in _STORED or "queueOffset" not in fields:
            return pb.SendResultEntry(status=_refusal(message, answer))
        offset = int(fields["queueOffset"])
        if message.sys_flag & TransactionType.PREPARED:
            self._transactions.began(message.message_id, (offset, parse_offset_message_id(fields["msgId"])[1]))
        status = OK if answer.code == ResponseCode.SUCCESS else pb.Status(code=CODES[answer.code], message=answer.remark or "")
        return pb.SendResultEntry(
            status=status,
            message_id=message.message_id,
            transaction_id=message.message_id,
            offset=offset,
            recall_handle=fields.get("recallHandle", ""),
        )


class _Puts:
    """The puts of one request, whose answers may come later and in any order."""

    def __init__(
        self, sends: Sends, caller: Caller, topic: TopicConfig, messages: Sequence[IncomingMessage], reply: Reply
    ) -> None:
        self._sends = sends
        self._caller = caller
        self._topic = topic
        self._messages = messages
        self._reply = reply
        self._entries: dict[int, pb.SendResultEntry] = {}

    def start(self) -> None:
        for number, message in enumerate(self._messages):
            self._sends.put(self._caller, self._topic, message, partial(self._done, number))

    def _done(self, number: int, answer: RemotingCommand) -> None:
        self._entries[number] = self._sends.entry(self._messages[number], answer)
        if len(self._entries) == len(self._messages):
            entries = [self._entries[place] for place in range(len(self._messages))]
            self._reply(pb.SendMessageResponse(status=common_status(entry.status for entry in entries), entries=entries))


def _refusal(message: IncomingMessage, answer: RemotingCommand) -> pb.Status:
    code = CODES.get(answer.code, pb.INTERNAL_SERVER_ERROR)
    if answer.code == ResponseCode.MESSAGE_ILLEGAL:
        code = pb.ILLEGAL_DELIVERY_TIME if "TIMER_DELIVER_MS" in message.properties else pb.MESSAGE_PROPERTIES_TOO_LARGE
    return pb.Status(code=code, message=answer.remark or f"the broker answered {answer.code}")


def consistent_bucket(key: int, buckets: int) -> int:
    """A bucket that stays the same for most keys when buckets are added (jump consistent hash).

    RocketMQ's proxy uses the same, so that a message group keeps its queue when a store changes hands.
    """
    state, candidate = key & _WORD, 0
    while True:
        state = (_FACTOR * state + 1) & _WORD
        following = int((candidate + 1) / (((state >> 33) + 1) / (1 << 31)))
        if not 0 <= following < buckets:
            return candidate
        candidate = following

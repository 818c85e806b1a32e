"""Sends: checks, the choice of the queue, the put by the processor of remoting (Source: docs/spec/grpc.md §3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Final

from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.clients import GrpcClients
from broker_core.engine.grpc.incoming import IncomingMessage, incoming
from broker_core.engine.grpc.message_types import type_fault
from broker_core.engine.grpc.names_check import checked_topic
from broker_core.engine.grpc.outcome import CODES, OK, common_status, refuse
from broker_core.engine.grpc.transactions import Transactions
from broker_core.engine.processors.send_header import SendHeader
from broker_core.engine.processors.send_processor import SendOutcome, SendProcessor
from broker_core.engine.schedule.timer.accept import TimerFault
from broker_core.engine.store.results import PutStatus
from broker_core.engine.tables.peer import host_of_address
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.sys_flag import TransactionType
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.names import AUTO_CREATE_TOPIC

MESSAGES_MAX: Final = 1_024
_CODES: Final[Mapping[str, pb.Code]] = {
    PutStatus.PROPERTIES_SIZE_EXCEEDED.value: pb.MESSAGE_PROPERTIES_TOO_LARGE,
    PutStatus.MESSAGE_ILLEGAL.value: pb.MESSAGE_BODY_TOO_LARGE,
    TimerFault.ILLEGAL.value: pb.ILLEGAL_DELIVERY_TIME,
    TimerFault.NOT_ENABLED.value: pb.ILLEGAL_DELIVERY_TIME,
    TimerFault.FLOW_CONTROL.value: pb.TOO_MANY_REQUESTS,
}
"""By put status; any other refusal has that of its response code."""
_FACTOR: Final = 2_862_933_555_777_941_757
_WORD: Final = (1 << 64) - 1

Reply = Callable[[pb.SendMessageResponse], None]


class Sends:
    """Serves SendMessage. For the loop's thread."""

    def __init__(self, state: BrokerState, processor: SendProcessor, clients: GrpcClients, transactions: Transactions) -> None:
        self._state = state
        self._processor = processor
        self._clients = clients
        self._transactions = transactions
        self._turn = count()

    def send(self, caller: Caller, request: pb.SendMessageRequest, reply: Reply) -> None:
        """Store the messages of a request, each on its own; the reply has an entry for each, in order."""
        messages, topic = self._checked(caller, request)
        first = messages[0]
        if any(one.sys_flag & TransactionType.PREPARED for one in messages):
            client = self._clients.find(caller.client_id)
            if client is not None and topic.name not in client.topics:
                self._clients.produces(client, topic.name)
        if len(messages) > 1:
            _Puts(self, caller, topic, messages, reply).start()
            return

        def answered(outcome: SendOutcome) -> None:
            entry = self.entry(first, outcome)
            reply(pb.SendMessageResponse(status=entry.status, entries=(entry,)))

        self.put(caller, topic, first, answered)

    def _checked(self, caller: Caller, request: pb.SendMessageRequest) -> tuple[list[IncomingMessage], TopicConfig]:
        if not request.messages:
            refuse(pb.MESSAGE_CORRUPTED, "no message to send")
        if len(request.messages) > MESSAGES_MAX:
            refuse(pb.MESSAGE_CORRUPTED, f"{len(request.messages):,} messages in one request, allowed are {MESSAGES_MAX:,}")
        resource = request.messages[0].topic
        name = checked_topic(resource)
        if len(request.messages) > 1 and any(message.topic != resource for message in request.messages):
            refuse(pb.MESSAGE_CORRUPTED, "topic in message is not same")
        size, now_ms = self._state.config.store.max_message_bytes, self._state.clock()
        messages = [
            incoming(message, name, address=caller.address, now_ms=now_ms, body_bytes_max=size) for message in request.messages
        ]
        topic = self._state.topics.get(name)
        if topic is None:
            refuse(pb.TOPIC_NOT_FOUND, f"topic[{name}] not exist, apply first please!")
        for message in messages:
            fault = type_fault(topic, message.properties)
            if fault is not None:
                refuse(pb.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, fault)
        if not topic.writable or not topic.write_queues:
            refuse(pb.FORBIDDEN, "no writable queue")
        return messages, topic

    def put(
        self, caller: Caller, topic: TopicConfig, message: IncomingMessage, answered: Callable[[SendOutcome], None]
    ) -> None:
        """Have one message stored."""
        queues = topic.write_queues
        group = message.message_group
        queue_id = consistent_bucket(java_string_hash(group), queues) if group else next(self._turn) % queues
        header = SendHeader(
            topic=topic.name,
            queue_id=queue_id,
            default_topic=AUTO_CREATE_TOPIC,
            default_topic_queues=4,
            sys_flag=message.sys_flag,
            born_timestamp_ms=message.born_ms,
            flag=0,
            properties=props.encode_properties(message.properties).decode(),
            reconsume_times=message.reconsume_times,
            reconsume_times_max=None,
            batch=False,
        )
        self._processor.serve(header, message.body, host_of_address(caller.address), answered)

    def entry(self, message: IncomingMessage, outcome: SendOutcome) -> pb.SendResultEntry:
        """The result of one put."""
        if outcome.queue_offset < 0 or outcome.code == ResponseCode.SERVICE_NOT_AVAILABLE:
            return pb.SendResultEntry(status=_refusal(outcome))
        offset = outcome.queue_offset
        if message.sys_flag & TransactionType.PREPARED:
            self._transactions.began(message.message_id, (offset, outcome.physical_offset))
        is_well = outcome.code == ResponseCode.SUCCESS
        return pb.SendResultEntry(
            status=OK if is_well else pb.Status(code=CODES[outcome.code], message=outcome.remark),
            message_id=message.message_id,
            transaction_id=message.message_id,
            offset=offset,
            recall_handle=outcome.recall_handle,
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

    def _done(self, number: int, outcome: SendOutcome) -> None:
        self._entries[number] = self._sends.entry(self._messages[number], outcome)
        if len(self._entries) == len(self._messages):
            entries = [self._entries[place] for place in range(len(self._messages))]
            self._reply(pb.SendMessageResponse(status=common_status(entry.status for entry in entries), entries=entries))


def _refusal(outcome: SendOutcome) -> pb.Status:
    code = _CODES.get(outcome.put_status) or CODES.get(outcome.code, pb.INTERNAL_SERVER_ERROR)
    return pb.Status(code=code, message=outcome.remark)


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

"""Receives: the time to wait, the pop by the processor of remoting, the answer's stream.

Source: docs/spec/grpc.md §3.5.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from broker_core.engine.grpc.bridge import Bridge, RequestPeer
from broker_core.engine.grpc.caller import Caller
from broker_core.engine.grpc.client import GrpcClient
from broker_core.engine.grpc.clients import RECEIVE_BATCH, GrpcClients, attempts_max
from broker_core.engine.grpc.handles import Delivery, handle_text
from broker_core.engine.grpc.incoming import ms_of
from broker_core.engine.grpc.leases import Leases
from broker_core.engine.grpc.names_check import check_pair, checked_group, checked_topic
from broker_core.engine.grpc.outcome import CODES, OK, refuse
from broker_core.engine.grpc.outgoing import outgoing, timestamp
from broker_core.engine.grpc.renewals import INVISIBLE_MS, Renewal
from broker_core.engine.processors.pop.pop_holds import HELD_BYTES_PER_PEER_MAX
from broker_core.engine.processors.pop.request import REMEMBERED_CHARS_MAX, own_filter_bytes
from broker_core.engine.tables.state import BrokerState
from broker_core.outside import whole_of
from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.codes import LanguageCode, RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.grpc.framing import GrpcStatus
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.popped import popped_messages
from broker_core.protocol.message.receipt_handle import ReceiptHandle
from broker_core.transport.grpc_connection import GrpcCall

POLL_MS_MIN: Final = 5_000
POLL_MS_MAX: Final = 20_000
INVISIBLE_MS_MIN: Final = 10_000
INVISIBLE_MS_MAX: Final = 43_200_000
CROWDED_POLL_MS: Final = 200
"""Of a connection with so many calls that others would wait for these to end: its acks and the receives of further queues."""
EARLY_MS: Final = 200
"""A poll ends so long before its client gives up."""
_REQUEST_MS: Final = 3_000
_SINCE_POLLING_CODE: Final = "5.0.3"
_TAG_PROPERTY: Final = "TAGS"
_ALL_TAGS: Final[frozenset[str]] = frozenset()
_TAGS_KEPT: Final = 1_024
"""Short expressions whose tags are shared by the receives that wait."""


class Receive(RequestPeer):
    """A checked receive, and the peer of its pop. Many wait at once, so it keeps no more than it needs.

    Attributes:
        tags: Those that it wants; empty for all.
        is_over: Whether it is answered, or cancelled.
    """

    __slots__ = ("_receives", "auto_renew", "call", "caller", "client", "group", "is_over", "tags", "topic")

    def __init__(
        self,
        call: GrpcCall,
        caller: Caller,
        client: GrpcClient,
        group: GroupConfig,
        topic: str,
        *,
        tags: frozenset[str],
        auto_renew: bool,
        receives: Receives,
    ) -> None:
        self.call = call
        self.caller = caller
        self.client = client
        self.group = group
        self.topic = topic
        self.tags = tags
        self.auto_renew = auto_renew
        self.is_over = False
        self._receives = receives

    def delivery(self, handle: ReceiptHandle) -> Delivery:
        return Delivery(self.group.name, self.topic, handle)

    # ---- a peer ----

    @property
    def language(self) -> LanguageCode:
        return self.caller.language

    @property
    def remote_address(self) -> str:
        return self.caller.address

    @property
    def reads_slowly(self) -> bool:
        return self.call.connection.reads_slowly

    def send(self, command: RemotingCommand) -> bool:
        """Answer the call; False when it is over."""
        if self.is_over:
            return False
        self.is_over = True
        self._receives.answer(self, command)
        return True

    def send_now(self, command: RemotingCommand) -> bool:
        """Answer the call at once, because its client waits for the message."""
        is_sent = self.send(command)
        self.call.connection.flush_now()
        return is_sent


class Receives:
    """Serves ReceiveMessage. For the loop's thread."""

    def __init__(self, state: BrokerState, bridge: Bridge, clients: GrpcClients, leases: Leases) -> None:
        self._state = state
        self._bridge = bridge
        self._clients = clients
        self._leases = leases

    def receive(self, call: GrpcCall, caller: Caller, request: pb.ReceiveMessageRequest) -> Receive | None:
        """Answer now or when a message arrives; returns a receive that waits.

        Raises:
            CallRefusedError: A check failed.
        """
        receive, fields = self._checked(call, caller, request)
        if request.batch_size <= 0:
            end_empty(call, pb.Status(code=pb.MESSAGE_NOT_FOUND, message="no new message"), self._state.clock())
            return None
        size = own_filter_bytes(fields)
        if size <= HELD_BYTES_PER_PEER_MAX and not call.hold(size):  # the pop refuses one that is too long alone
            refuse(pb.TOO_MANY_REQUESTS, "the filters of the requests that wait on this connection are too long together")
        self._bridge.ask(receive, RequestCode.POP_MESSAGE, fields)
        return None if receive.is_over else receive

    def _checked(self, call: GrpcCall, caller: Caller, request: pb.ReceiveMessageRequest) -> tuple[Receive, dict[str, str]]:
        client = self._clients.consumer(caller, request)
        poll_ms = _poll_ms(call, caller, client, request)
        topic, group = checked_topic(request.message_queue.topic), checked_group(request.group)
        check_pair(group, topic)
        invisible_ms = _invisible_ms(request)
        expression = request.filter_expression
        tags = _ALL_TAGS
        if expression.type != pb.SQL and expression.expression not in ("", "*"):
            is_short = len(expression.expression) <= REMEMBERED_CHARS_MAX
            tags = (_tags if is_short else _tags.__wrapped__)(expression.expression)
            if not tags:
                refuse(pb.ILLEGAL_FILTER_EXPRESSION, f"the expression {expression.expression!r} names no tag")
        config = self._state.groups.find(group)
        if config is None:
            refuse(pb.CONSUMER_GROUP_NOT_FOUND, f"subscription group [{group}] does not exist")
        known = self._state.topics.get(topic)
        receive = Receive(
            call,
            caller,
            client,
            config,
            topic if known is None else known.name,  # one text for all that wait
            tags=tags,
            auto_renew=request.auto_renew,
            receives=self,
        )
        return receive, self._fields(receive, request, invisible_ms, poll_ms)

    def _fields(self, receive: Receive, request: pb.ReceiveMessageRequest, invisible_ms: int, poll_ms: int) -> dict[str, str]:
        expression = request.filter_expression
        fields = {
            "consumerGroup": receive.group.name,
            "topic": receive.topic,
            "queueId": "-1",
            "maxMsgNums": str(min(request.batch_size, RECEIVE_BATCH)),
            "invisibleTime": str(invisible_ms),
            "pollTime": str(poll_ms),
            "bornTime": str(self._state.clock()),
            "initMode": "1",
            "exp": expression.expression or "*",
            "expType": "SQL92" if expression.type == pb.SQL else "TAG",
            "order": str(receive.group.orderly).lower(),
        }
        if request.HasField("attempt_id"):
            fields["attemptId"] = request.attempt_id
        return fields

    def answer(self, receive: Receive, answer: RemotingCommand) -> None:
        """Answer a receive's call with what its pop found."""
        now_ms, call = self._state.clock(), receive.call
        if answer.code != ResponseCode.SUCCESS:
            end_empty(call, _empty_status(answer), now_ms)
            return
        records = b"".join([bytes(answer.body), *map(bytes, answer.body_slices)])
        broker = self._state.config.broker_name
        popped = list(popped_messages(answer.ext_fields, records, receive.group.name, broker))
        if call.is_over:  # cancelled between the pop and its answer
            for _, handle in popped:
                self._leases.give_back(receive.caller, receive.delivery(handle))
            return
        attempts = _order_attempts(answer.ext_fields)
        deliveries = deque(
            _Handed(stored, handle, _attempt(stored, handle, attempts))
            for stored, handle in popped
            if self._is_deliverable(receive, stored, handle)
        )
        if not deliveries:
            end_empty(call, pb.Status(code=pb.MESSAGE_NOT_FOUND, message="no match message"), now_ms)
            return
        _Answer(self._state, self._leases, receive, deliveries).begin()

    def _is_deliverable(self, receive: Receive, stored: StoredMessage, handle: ReceiptHandle) -> bool:
        """Whether a message is for the client; one of another tag is acked, one without an attempt left is a dead letter."""
        if receive.tags and stored.properties.get(_TAG_PROPERTY) not in receive.tags:
            self._leases.settle(receive.caller, receive.delivery(handle))
            return False
        if stored.reconsume_times >= attempts_max(receive.group) and not handle.is_order:
            self._leases.bury(receive.caller, receive.delivery(handle), stored.physical_offset)
            return False
        return True


class _Handed(NamedTuple):
    """A message that a pop handed out for one client; ``attempt`` is None for that of its retries."""

    stored: StoredMessage
    handle: ReceiptHandle
    attempt: int | None


@dataclass(slots=True)
class _Answer:
    """Sends the messages of a receive no faster than its client reads, because bodies may be much larger than stored."""

    state: BrokerState
    leases: Leases
    receive: Receive
    left: deque[_Handed]
    handles: list[str] = field(default_factory=list)
    """Of messages that were sent."""
    is_whole: bool = False
    """Whether the last piece, the time, was sent."""

    @property
    def call(self) -> GrpcCall:
        return self.receive.call

    def begin(self) -> None:
        self.call.unread = self._unread
        self.call.send(pb.ReceiveMessageResponse(status=OK).SerializeToString())
        self._go_on()

    def _go_on(self) -> None:
        while self.left and not self.call.is_over:
            if self.call.connection.reads_slowly:
                self.call.connection.when_read(self.call, self._go_on)
                return
            message = self._message(self.left.popleft())
            self.call.send(pb.ReceiveMessageResponse(message=message).SerializeToString())
        self._give_back_left()
        if not self.call.is_over:
            self.is_whole = True
            _end(self.call, self.state.clock())

    def _message(self, handed: _Handed) -> pb.Message:
        receive, now_ms = self.receive, self.state.clock()
        text = handle_text(handed.handle, handed.stored.physical_offset)
        self.handles.append(text)
        if receive.auto_renew:
            self.leases.keep(Renewal(receive.client, text, receive.delivery(handed.handle), now_ms))
        return outgoing(handed.stored, receive.topic, now_ms=now_ms, receipt_handle=text, attempt=handed.attempt)

    def _unread(self, unsent: int) -> None:
        messages = unsent - 1 if self.is_whole else unsent
        receive = self.receive
        self.leases.unread(receive.caller, receive.group.name, receive.topic, self.handles, messages)
        self._give_back_left()

    def _give_back_left(self) -> None:
        while self.left:
            self.leases.give_back(self.receive.caller, self.receive.delivery(self.left.popleft().handle))


@lru_cache(_TAGS_KEPT)
def _tags(expression: str) -> frozenset[str]:
    return frozenset(tag.strip() for tag in expression.split("||") if tag.strip())


def _attempt(stored: StoredMessage, handle: ReceiptHandle, attempts: dict[tuple[int, int], int]) -> int | None:
    return attempts.get((stored.queue_id, stored.queue_offset), 0) + 1 if handle.is_order else None


def _poll_ms(call: GrpcCall, caller: Caller, client: GrpcClient, request: pb.ReceiveMessageRequest) -> int:
    """How long a request may wait for a message.

    Raises:
        CallRefusedError: Its client gives up too soon.
    """
    left_ms = math.inf if math.isinf(call.deadline) else (call.deadline - asyncio.get_running_loop().time()) * 1000
    if request.HasField("long_polling_timeout"):
        wanted_ms: float = ms_of(request.long_polling_timeout)
    else:
        request_ms = ms_of(client.settings.request_timeout) or _REQUEST_MS
        wanted_ms = left_ms - request_ms / 2
    poll_ms = min(max(wanted_ms, POLL_MS_MIN), POLL_MS_MAX)
    if poll_ms > left_ms - EARLY_MS and left_ms < POLL_MS_MIN:
        is_new = bool(caller.sdk_version) and _version(caller.sdk_version) >= _version(_SINCE_POLLING_CODE)
        text = "The deadline time remaining is not enough for polling, please check network condition"
        refuse(pb.ILLEGAL_POLLING_TIME if is_new else pb.BAD_REQUEST, text)
    return int(min(poll_ms, left_ms - EARLY_MS, CROWDED_POLL_MS if call.connection.is_crowded else poll_ms))


def _version(text: str) -> tuple[int, ...]:
    return tuple(number for number in map(whole_of, text.split(".")) if number is not None)


def _invisible_ms(request: pb.ReceiveMessageRequest) -> int:
    if request.auto_renew:
        return INVISIBLE_MS
    invisible_ms = ms_of(request.invisible_duration)
    if invisible_ms < INVISIBLE_MS_MIN:
        refuse(pb.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {INVISIBLE_MS_MIN}")
    if invisible_ms > INVISIBLE_MS_MAX:
        refuse(pb.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {INVISIBLE_MS_MAX}")
    return invisible_ms


def _empty_status(answer: RemotingCommand) -> pb.Status:
    if answer.code == ResponseCode.POLLING_TIMEOUT:
        return pb.Status(code=pb.MESSAGE_NOT_FOUND, message="no new message")
    if answer.code == ResponseCode.POLLING_FULL:
        return pb.Status(code=pb.TOO_MANY_REQUESTS, message="polling full")
    return pb.Status(code=CODES.get(answer.code, pb.INTERNAL_SERVER_ERROR), message=answer.remark or "")


def _order_attempts(fields: dict[str, str]) -> dict[tuple[int, int], int]:
    """How often messages were handed out in order before, by queue id and offset (docs/spec/remoting.md §2.6.1)."""
    found = {}
    for item in filter(None, fields.get("orderCountInfo", "").split(";")):
        words = item.split(" ")
        queue, _, offset = words[1].removeprefix("qo").partition("%")
        if offset:
            found[int(queue), int(offset)] = int(words[2])
    return found


def end_empty(call: GrpcCall, status: pb.Status, now_ms: int) -> None:
    """End a receive without messages: the reason, then the time."""
    call.send(pb.ReceiveMessageResponse(status=status).SerializeToString())
    _end(call, now_ms)


def _end(call: GrpcCall, now_ms: int) -> None:
    call.send(pb.ReceiveMessageResponse(delivery_timestamp=timestamp(now_ms)).SerializeToString())
    call.finish(GrpcStatus.OK)

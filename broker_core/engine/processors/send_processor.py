"""Sends: checks, topic creation, the put, the answer.

Delayed and half messages are stored elsewhere first; `broker_core.engine.processors.put_rewrites` says where.

Source: docs/spec/broker.md §2.3, §2.8, §2.9, docs/spec/remoting.md §2.2.1.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import NamedTuple

from broker_core.config import BrokerConfig
from broker_core.engine.nameserver.registration import PERM_WRITE, TopicConfig
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.put_rewrites import TIMER_PROPERTIES, Draft, PutRewrites
from broker_core.engine.processors.send_flow import Defer, SendFlow
from broker_core.engine.processors.send_header import SendHeader, parse_send_header
from broker_core.engine.schedule.timer.recall_handle import recall_fields
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.engine.tables.peer import Peer, host_of
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.codes import VERSION_TOPIC_MAPPING, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.batch import decode_batch
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.sys_flag import HOST_V6_MASK, INNER_BATCH, NEED_UNWRAP, TRANSACTION_MASK
from broker_core.protocol.names import WHEEL_TIMER_TOPIC

_NOT_STORED = re.compile(rf"(?:^|\x02)(?:{props.WAIT}|{props.CLUSTER})\x01[^\x02]*")
OWN_BITS = HOST_V6_MASK | NEED_UNWRAP | INNER_BATCH
"""sysFlag bits that only a broker may set."""
REWRITE_MARKS = ("DELAY", "TRAN_MSG", "TIMER_DELIVER", "KTX")
"""Properties without any of these in them need no look at their names: the message is stored as it is."""

_CODES = {
    PutStatus.PUT_OK: ResponseCode.SUCCESS,
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.SERVICE_NOT_AVAILABLE: ResponseCode.SERVICE_NOT_AVAILABLE,
    PutStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.CREATE_MAPPED_FILE_FAILED: ResponseCode.SYSTEM_ERROR,
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: ResponseCode.SYSTEM_ERROR,
    PutStatus.UNKNOWN_ERROR: ResponseCode.SYSTEM_ERROR,
}


class Target(NamedTuple):
    """Where a message goes after all checks, and with which properties.

    Attributes:
        topic, queue_id: Where it is stored, which is an internal queue for a delayed or a half message.
        properties, sys_flag: As they are stored.
        wait: Whether the producer waits for the disk.
        told_queue_id: The queue that the producer is told: the one it asked for.
    """

    topic: str
    queue_id: int
    properties: bytes
    sys_flag: int
    wait: bool
    told_queue_id: int


class SendProcessor:
    """Serves SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE.

    Args:
        state: What processors share.
        durable: Holds answers back until their message is on disk; None answers at once (ASYNC_FLUSH).
        rewrites: Where delayed and half messages are stored.
        choose: Picks a number below its argument, for requests that leave the queue to the broker.
        defer: For flow control; see `SendFlow`.
    """

    def __init__(
        self,
        state: BrokerState,
        durable: DurableAnswers | None,
        rewrites: PutRewrites,
        *,
        choose: Callable[[int], int] = random.randrange,
        defer: Defer | None = None,
    ) -> None:
        self._state = state
        self.flow = SendFlow(state, defer)
        self._rewrites = rewrites
        self._store = state.store
        self._topics = state.topics
        self._counters = state.counters
        self._durable = durable
        self._choose = choose
        self.store_host = state.store_host
        self.reserved: tuple[str, ...] = ()
        """Properties that only the broker writes."""
        self._own_properties = f"{props.CLUSTER}\x01{state.config.cluster_name}"
        self.own_properties_bytes = self._own_properties.encode()
        self._host_hex = state.store_host.packed.hex().upper()
        self._born_hosts: dict[Peer, HostAddress] = {}
        self._region = state.config.region_id
        self._traced_properties = f"{props.MESSAGE_REGION}\x01{self._region}\x02{props.TRACE_ON}\x01true"
        self.is_writable = bool(state.config.permission & PERM_WRITE)

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve one send; None when the answer comes once the message is on disk."""
        started = perf_counter()
        try:
            self.flow.check(started)
            header = parse_send_header(command)
            if command.version >= VERSION_TOPIC_MAPPING:
                header = self._as_stored_by_5x(header)
            target = self.admit(header)
            result = self.put(peer, header, target, command.body)
        except RequestRefusedError as refusal:
            self._counters.put_failed += 1
            return command.reply(refusal.code, refusal.message, self.extra_fields())
        except CodecError as error:
            self._counters.put_failed += 1
            return command.reply(ResponseCode.MESSAGE_ILLEGAL, error.message, self.extra_fields())
        if result.status is not PutStatus.PUT_OK:
            self._counters.put_failed += 1
            return command.reply(_CODES[result.status], self.put_remark(result), self.extra_fields())
        self._counters.put(target.topic, result.message_count, result.wrote_bytes)
        fields = self.stored_fields(result, target.told_queue_id)
        if target.topic == WHEEL_TIMER_TOPIC:
            fields |= recall_fields(target.properties, self._state.config.broker_name)
        answer = command.reply(ext_fields=fields)
        if self._durable is None or not target.wait:
            now = perf_counter()
            self._counters.put_took(now - started, now)
            return answer
        self._durable.wait(result.physical_offset + result.wrote_bytes, partial(self._answer, peer, command, answer, started))
        return None

    def _as_stored_by_5x(self, header: SendHeader) -> SendHeader:
        """Keep region and trace switch with a 5.x client's message: consumers of 5.x trace only those that have a region.

        A broker of 5.3.3 writes both into whatever any client sends, in place of what the client wrote there; one of 4.9.4 adds
        neither and keeps the client's. Each client finds here what brokers of its own line store.
        """
        text = header.properties
        for name in (props.MESSAGE_REGION, props.TRACE_ON):
            if f"{name}\x01" in text:
                text = _without(text, name)
        text = text.removesuffix("\x02")
        added = self._traced_properties
        return replace(header, properties=f"{text}\x02{added}" if text else added)

    def reconfigure(self, config: BrokerConfig) -> None:
        """Take over changed settings."""
        self.is_writable = bool(config.permission & PERM_WRITE)
        self.flow.reconfigure(config)

    def forget(self, peer: Peer) -> None:
        """Drop what is kept of a connection that ended."""
        self._born_hosts.pop(peer, None)

    def _answer(self, peer: Peer, command: RemotingCommand, answer: RemotingCommand, started: float, durable: bool) -> None:
        now = perf_counter()
        self._counters.put_took(now - started, now)
        if not durable:
            self.not_durable(answer)
        if not command.is_oneway:
            peer.send(answer)

    def not_durable(self, answer: RemotingCommand) -> RemotingCommand:
        """Make an answer say that the disk has not confirmed the message.

        A late sync leaves it stored. After a failed one it may be lost: the producer must send it elsewhere.
        """
        refusal = self._store.write_refusal
        answer.code = ResponseCode.SERVICE_NOT_AVAILABLE if refusal else ResponseCode.FLUSH_DISK_TIMEOUT
        answer.remark = refusal or "the message is stored, the disk has not confirmed it in time"
        return answer

    # ---- checks, in the order that decides which code a client sees ----

    def admit(self, header: SendHeader) -> Target:
        """Check a send and say where it goes.

        Raises:
            RequestRefusedError: It may not be stored; with the code and remark for the client.
        """
        topic = self._topics.get(header.topic)
        if topic is None or header.topic in names.NOT_SENDABLE_TOPICS or not self.is_writable:
            topic = self._checked_topic(header, topic)
        queues = max(topic.read_queues, topic.write_queues)
        if header.queue_id >= queues or (header.queue_id < 0 and not topic.write_queues):
            remark = f"request queueId[{header.queue_id}] is illegal, {_describe(topic)}"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        queue_id = header.queue_id if header.queue_id >= 0 else self._choose(topic.write_queues)
        text = header.properties
        name = header.topic
        if name.startswith(names.RETRY_PREFIX) and self._is_dead(header):
            # A message that failed for good is stored at once: a delay left in it by the client would hold it back once more.
            name, queue_id = self._dead_letter_queue(name.removeprefix(names.RETRY_PREFIX))
            text = _without(text, props.DELAY)
        properties = self._stored_properties(text)
        sys_flag = header.sys_flag & ~OWN_BITS
        wait = f"{props.WAIT}\x01false" not in text
        if sys_flag & TRANSACTION_MASK or any(map(text.__contains__, REWRITE_MARKS)):
            return self._rewritten(header, Target(name, queue_id, properties, sys_flag, wait, queue_id))
        return Target(name, queue_id, properties, sys_flag, wait, queue_id)

    def _rewritten(self, header: SendHeader, target: Target) -> Target:
        draft = Draft(
            topic=target.topic,
            queue_id=target.queue_id,
            properties=props.decode_properties(target.properties),
            sys_flag=target.sys_flag,
            reconsume_times=header.reconsume_times,
            is_batch=header.batch,
        )
        reserved = next((name for name in self.reserved if name in draft.properties), None)
        if reserved is not None:
            remark = f"the property {reserved} is reserved for the broker: send without it"
            raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)
        placed = self._rewrites.place(draft)
        if placed is draft:
            return target
        stored = props.encode_properties(placed.properties)
        return Target(placed.topic, placed.queue_id, stored, placed.sys_flag, target.wait, target.told_queue_id)

    def _checked_topic(self, header: SendHeader, topic: TopicConfig | None) -> TopicConfig:
        name = header.topic
        if not self.is_writable and topic is not None and topic.order:
            remark = f"the broker[{self._state.config.advertised_host}] sending message is forbidden"
            raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
        fault = names.topic_name_fault(name)
        if fault is not None:
            raise RequestRefusedError(fault, code=ResponseCode.SYSTEM_ERROR)
        if name in names.NOT_SENDABLE_TOPICS:
            raise RequestRefusedError(f"Sending message to topic[{name}] is forbidden.", code=ResponseCode.NO_PERMISSION)
        if topic is None:
            topic = self._topics.create_for_send(name, header.default_topic, header.default_topic_queues)
        if topic is None and name.startswith(names.RETRY_PREFIX) and not self._topics.is_full:
            topic = self._topics.ensure(name, queues=1)
        if topic is None:
            remark = f"topic[{name}] not exist, apply first please! See {names.FAQ_URL} for further details."
            if self._topics.is_full:
                remark += f" The broker has {len(self._topics):,} topics: more are made by an administrator only, "
                remark += "or after orbitAutoCreateTopicsMax was raised."
            raise RequestRefusedError(remark, code=ResponseCode.TOPIC_NOT_EXIST)
        return topic

    def _is_dead(self, header: SendHeader) -> bool:
        group = header.topic.removeprefix(names.RETRY_PREFIX)
        config = self._state.groups.find(group)
        if config is None:
            remark = f"subscription group not exist, {group} See {names.FAQ_URL} for further details."
            raise RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        limit = config.retry_times_max if header.reconsume_times_max is None else header.reconsume_times_max
        return header.reconsume_times >= limit

    def _dead_letter_queue(self, group: str) -> tuple[str, int]:
        return self._topics.ensure(names.DLQ_PREFIX + group, queues=1).name, 0

    def _stored_properties(self, text: str) -> bytes:
        """The client's properties without WAIT, followed by the broker's own (Source: docs/spec/broker.md §2.8 step 7)."""
        if not text:
            return self.own_properties_bytes
        # Clients put WAIT=true somewhere into every message: a plain replace takes 0.2 µs, the expression below 1.2.
        text = text.replace("\x02WAIT\x01true\x02", "\x02").removesuffix("\x02WAIT\x01true")
        if "WAIT\x01" in text or "CLUSTER\x01" in text:
            text = _NOT_STORED.sub("", text).removeprefix("\x02")
        text = text.removesuffix("\x02")
        return f"{text}\x02{self._own_properties}".encode() if text else self.own_properties_bytes

    # ---- the put ----

    def put(self, peer: Peer, header: SendHeader, target: Target, body: bytes | bytearray | memoryview) -> PutResult:
        """Put an admitted message of a client; raises as `store`."""
        return self.store(header, target, body, self.born_host(peer))

    def born_host(self, peer: Peer) -> HostAddress:
        """Address of a client, as records hold it."""
        found = self._born_hosts.get(peer)
        if found is None:
            found = self._born_hosts[peer] = host_of(peer)
        return found

    def store(
        self, header: SendHeader, target: Target, body: bytes | bytearray | memoryview, born_host: HostAddress
    ) -> PutResult:
        """Put an admitted message.

        Raises:
            RequestRefusedError: It has no body, or a member of a batch asks for what batches may not.
            CodecError: The body is no batch although the header says so.
        """
        if not body:
            raise RequestRefusedError("the message has no body: send at least one byte", code=ResponseCode.MESSAGE_ILLEGAL)
        message = MessageToStore(
            target.topic,
            target.queue_id,
            header.flag,
            target.sys_flag,
            header.born_timestamp_ms,
            born_host,
            self._state.store_host,
            header.reconsume_times,
            0,
            body,
            target.properties,
        )
        if not header.batch:
            return self._store.put(message)
        if header.topic.startswith(names.RETRY_PREFIX):
            raise RequestRefusedError("batch request does not support retry group", code=ResponseCode.MESSAGE_ILLEGAL)
        _check_batch(body, self.reserved)
        return self._store.put_batch(message)

    def put_code(self, result: PutResult) -> ResponseCode:
        """Response code of a put's status."""
        return _CODES[result.status]

    def put_remark(self, result: PutResult) -> str:
        """Why a put did not store, for the client."""
        if result.status is PutStatus.SERVICE_NOT_AVAILABLE:
            why = self._store.write_refusal or "the store does not take messages"
            return f"service not available now: {why}"
        if result.status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
            limit = self._state.config.store.max_message_bytes
            return (
                f"the message is illegal, maybe msg body or properties length not matched: a body may have {limit:,} bytes "
                f"(maxMessageSize), properties {props.PROPERTIES_BYTES_MAX:,} ({result.status.value})"
            )
        why = self._store.write_refusal
        return f"the store failed: {result.status.value}{f', {why}' if why else ''}"

    def stored_fields(self, result: PutResult, queue_id: int) -> dict[str, str]:
        """Header of the answer to a send that was stored."""
        if result.message_count == 1:
            message_id = f"{self._host_hex}{result.physical_offset:016X}"
        else:
            host = self._state.store_host
            message_id = ",".join([offset_message_id(host, offset) for offset in result.physical_offsets])
        return {
            "msgId": message_id,
            "queueId": str(queue_id),
            "queueOffset": str(result.queue_offset),
            props.MESSAGE_REGION: self._region,
            props.TRACE_ON: "true",
        }

    def extra_fields(self) -> dict[str, str]:
        """What every answer to a send carries."""
        return {props.MESSAGE_REGION: self._region, props.TRACE_ON: "true"}


def header_for_console(topic: str, queue_id: int, properties: Mapping[str, str], flag: int, now_ms: int) -> SendHeader:
    """Header of a message sent from the console: a producer's with the usual template topic."""
    return SendHeader(
        topic=topic,
        queue_id=queue_id,
        default_topic=names.AUTO_CREATE_TOPIC,
        default_topic_queues=4,
        sys_flag=0,
        born_timestamp_ms=now_ms,
        flag=flag,
        properties=props.encode_properties(properties).decode(),
        reconsume_times=0,
        reconsume_times_max=None,
        batch=False,
    )


def _describe(topic: TopicConfig) -> str:
    return f"topic {topic.name} has {topic.read_queues} read and {topic.write_queues} write queues"


def _without(text: str, name: str) -> str:
    return re.sub(rf"(?:^|\x02){name}\x01[^\x02]*", "", text).removeprefix("\x02")


def _check_batch(body: bytes | bytearray | memoryview, reserved: tuple[str, ...]) -> None:
    """Refuse members that a batch may not have; looks into them only when a forbidden name occurs at all."""
    data = bytes(body)
    forbidden = (props.DELAY, props.TRANSACTION_PREPARED, *TIMER_PROPERTIES, *reserved)
    if not any(f"{name}\x01".encode() in data for name in forbidden):
        return
    for number, member in enumerate(decode_batch(data)):
        found = props.decode_properties(member.properties)
        wrong = next((name for name in forbidden if found.get(name, "0") != "0"), None)
        if wrong is not None:
            remark = f"a batch may hold plain messages only; member {number} has {wrong}={found[wrong]}"
            raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)

"""Admission of sends: checks, topic creation, and the place of a message (Source: docs/spec/broker.md §2.3, §2.8, §2.9).

Delayed and half messages are stored elsewhere first (`broker_core.engine.processors.put_rewrites`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import NamedTuple

from broker_core.config import BrokerConfig
from broker_core.engine.processors.put_rewrites import TIMER_PROPERTIES, PutDraft, PutRewrites, delay_level, is_half
from broker_core.engine.processors.send_header import SendHeader
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.admin.topics import PERM_WRITE, TopicConfig
from broker_core.protocol.atomic import PROPERTY
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.batch import decode_batch
from broker_core.protocol.message.sys_flag import HOST_V6_MASK, INNER_BATCH, NEED_UNWRAP, TRANSACTION_MASK

_NOT_STORED = re.compile(rf"(?:^|\x02)(?:{props.WAIT}|{props.CLUSTER})\x01[^\x02]*")
_OWN_BITS = HOST_V6_MASK | NEED_UNWRAP | INNER_BATCH
"""sysFlag bits that only a broker may set."""
_NO_WAIT = f"{props.WAIT}\x01false"
_new_tuple = tuple.__new__
"""Makes a named tuple without a call into Python."""


class SendTarget(NamedTuple):
    """The place of a message after all checks, and its properties.

    Attributes:
        topic, queue_id: Where it is stored, which is an internal queue for a delayed or a half message.
        properties, sys_flag: As they are stored.
        wait: Whether the producer waits for the disk.
        told_queue_id: The queue in the answer to the producer: the requested one.
    """

    topic: str
    queue_id: int
    properties: bytes
    sys_flag: int
    wait: bool
    told_queue_id: int


class SendAdmission:
    """Checks sends, in the order that decides which code a client sees.

    ``choose`` picks a number below its argument, for requests that leave the queue to the broker. ``reserved`` are properties
    that only the broker writes.
    """

    def __init__(self, state: BrokerState, rewrites: PutRewrites, *, choose: Callable[[int], int] = random.randrange) -> None:
        self._state = state
        self._topics = state.topics
        self._rewrites = rewrites
        self._choose = choose
        self._own_properties = f"{props.CLUSTER}\x01{state.config.cluster_name}"
        self._own_properties_bytes = self._own_properties.encode()
        self.reserved: tuple[str, ...] = (PROPERTY,) if state.config.atomic_transactions else ()
        self.reconfigure(state.config)

    def reconfigure(self, config: BrokerConfig) -> None:
        self._is_writable = bool(config.permission & PERM_WRITE)

    @property
    def own_properties(self) -> str:
        """What the broker adds to the properties of each message."""
        return self._own_properties

    def lasting_flags(self, name: str, queue_id: int, sys_flag: int) -> int | None:
        """The sysFlag that sends to a queue are stored with, as long as topics and settings stay as they are.

        None where they are refused, or `admit` looks at more of each send than its properties.
        """
        topic = self._topics.get(name)
        if topic is None or not self._is_writable or name in names.NOT_SENDABLE_TOPICS or name.startswith(names.RETRY_PREFIX):
            return None
        stored = sys_flag & ~_OWN_BITS
        is_there = 0 <= queue_id < max(topic.read_queues, topic.write_queues)
        return stored if is_there and not stored & TRANSACTION_MASK else None

    def admit(self, header: SendHeader) -> SendTarget:
        """Check a send; returns the place of its message. Raises `RequestRefusedError` with code and remark."""
        topic = self._topics.get(header.topic)
        if topic is None or header.topic in names.NOT_SENDABLE_TOPICS or not self._is_writable:
            topic = self._checked_topic(header, topic)
        queues = max(topic.read_queues, topic.write_queues)
        if header.queue_id >= queues or (header.queue_id < 0 and not topic.write_queues):
            remark = f"request queueId[{header.queue_id}] is illegal, {_describe(topic)}"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        queue_id = header.queue_id if header.queue_id >= 0 else self._choose(topic.write_queues)
        text = header.properties
        name = header.topic
        if name.startswith(names.RETRY_PREFIX) and self._is_dead(header):
            # A message that failed for good is stored at once: a delay that the client left in it would hold it back once more.
            name, queue_id = self._dead_letter_queue(name.removeprefix(names.RETRY_PREFIX))
            text = without_property(text, props.DELAY)
        properties = self._stored_properties(text)
        sys_flag = header.sys_flag & ~_OWN_BITS
        wait = _NO_WAIT not in text
        # Properties without any of these are not decoded: the message is stored as it is.
        if sys_flag & TRANSACTION_MASK or "DELAY" in text or "TRAN_MSG" in text or "TIMER_DELIVER" in text or "KTX" in text:
            return self._rewritten(header, SendTarget(name, queue_id, properties, sys_flag, wait, queue_id))
        return _new_tuple(SendTarget, (name, queue_id, properties, sys_flag, wait, queue_id))

    def _rewritten(self, header: SendHeader, target: SendTarget) -> SendTarget:
        draft = PutDraft(
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
        return SendTarget(placed.topic, placed.queue_id, stored, placed.sys_flag, target.wait, target.told_queue_id)

    def _checked_topic(self, header: SendHeader, topic: TopicConfig | None) -> TopicConfig:
        name = header.topic
        if not self._is_writable and topic is not None and topic.order:
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
            return self._own_properties_bytes
        # Clients put WAIT=true somewhere into every message: a plain replace takes 0.2 µs, the expression below 1.2.
        text = text.replace("\x02WAIT\x01true\x02", "\x02").removesuffix("\x02WAIT\x01true")
        if "WAIT\x01" in text or "CLUSTER\x01" in text:
            text = _NOT_STORED.sub("", text).removeprefix("\x02")
        text = text.removesuffix("\x02")
        return f"{text}\x02{self._own_properties}".encode() if text else self._own_properties_bytes


def _describe(topic: TopicConfig) -> str:
    return f"topic {topic.name} has {topic.read_queues} read and {topic.write_queues} write queues"


def without_property(text: str, name: str) -> str:
    """Encoded properties without one of them."""
    return re.sub(rf"(?:^|\x02){name}\x01[^\x02]*", "", text).removeprefix("\x02")


def check_batch(body: bytes | bytearray | memoryview, reserved: tuple[str, ...]) -> None:
    """Refuse members that a batch may not have; decodes them only when a forbidden name occurs at all.

    A property counts where it would move a single message to a queue of the broker's own: not a delay level of 0, for example.

    Raises `RequestRefusedError` for a forbidden property of a member, `CodecError` where the body is no batch.
    """
    data = bytes(body)
    forbidden = (props.DELAY, props.TRANSACTION_PREPARED, *TIMER_PROPERTIES, *reserved)
    if not any(f"{name}\x01".encode() in data for name in forbidden):
        return
    for number, member in enumerate(decode_batch(data)):
        found = props.decode_properties(member.properties)
        draft = PutDraft(topic="", queue_id=0, properties=found)
        plain = {props.DELAY: delay_level(draft) <= 0, props.TRANSACTION_PREPARED: not is_half(draft)}
        wrong = next((name for name in forbidden if name in found and not plain.get(name, False)), None)
        if wrong is not None:
            remark = f"a batch may hold plain messages only; member {number} has {wrong}={found[wrong]}"
            raise RequestRefusedError(remark, code=ResponseCode.MESSAGE_ILLEGAL)


def batch_fault(body: bytes | bytearray | memoryview, added: bytes) -> str:
    """Why the store refuses a batch, by the first member that a single message could not be; empty where none is.

    Args:
        body: The framed batch.
        added: Properties that the broker adds to those of each member.

    Raises:
        CodecError: The body is no batch.
    """
    for number, member in enumerate(decode_batch(body)):
        size = len(props.append_properties(member.properties, added))
        if not member.body:
            return f"member {number} of the batch has no body: send at least one byte"
        if size > props.PROPERTIES_BYTES_MAX:
            return f"member {number} of the batch has {size:,} bytes of properties; {props.PROPERTIES_BYTES_MAX:,} are the most"
        try:
            member.properties.decode()
        except UnicodeDecodeError:
            return f"the properties of member {number} of the batch are no UTF-8"
    return ""

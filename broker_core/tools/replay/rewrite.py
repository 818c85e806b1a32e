"""The new message of a found one: pure, and the same for a dry run and the run.

Kept: body and its compression, flag, tag, keys, all properties of producers, the queue as far as the target has it. Left out:
properties that brokers and consumers added, because a broker would act on them again (a half message would wait for its
transaction, a retry would count on).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from broker_core.errors import CodecError, UsageError
from broker_core.outside import whole_of
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.resent_properties import TIMED, resent_properties
from broker_core.protocol.message.sys_flag import COMPRESSED, COMPRESSION_MASK, MULTI_TAGS
from broker_core.protocol.names import DLQ_PREFIX, RETRY_PREFIX
from broker_core.protocol.retry_names import first_topic as topic_of_retry
from broker_core.protocol.retry_names import origin_of, owners_text, possible_owners
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.search.fields import state_of_topic

_PRODUCER_BITS = COMPRESSED | COMPRESSION_MASK | MULTI_TAGS
_SENT_ALONE = TIMED | {props.INNER_MULTI_DISPATCH}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTarget:
    """Where messages are sent, and how they change. Exactly one of the first three is set.

    Attributes:
        topic: One topic for all.
        group: A consumer group: they are sent to its retry topic, so that no other group gets them.
        to_origin: Each is sent to the topic it was first sent to.
        new_ids: A new unique id for each; else they keep those of their producers.
        born_now: Born at the send; else when the originals were.
        without_delay: Delivered at once, also delayed messages.
        link: Carry `broker_core.protocol.message.resent_properties.ORIGIN_LINK`.
        any_queue: They are spread over the queues of their topics; else each is sent to that of its original.
    """

    topic: str = ""
    group: str = ""
    to_origin: bool = False
    new_ids: bool = False
    born_now: bool = False
    without_delay: bool = False
    link: bool = True
    any_queue: bool = False

    def __post_init__(self) -> None:
        if bool(self.topic) + bool(self.group) + self.to_origin != 1:
            raise UsageError("a replay goes to one topic, to a group, or to the topics of origin: name one of them")

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ReplayTarget:
        """Target of a plan's file; raises `CodecError` when it is none."""
        try:
            return cls(**values)
        except (TypeError, UsageError) as error:
            raise CodecError(f"the plan of a replay names no target: {error}") from error


class Outgoing(NamedTuple):
    """A message to send; its queue is ``queue_id``, that of the original, modulo the number of queues of the topic.

    ``born_timestamp_ms`` is that of the original; None for the time of the send.
    """

    topic: str
    queue_id: int
    born_timestamp_ms: int | None
    flag: int
    sys_flag: int
    body: bytes
    properties: dict[str, str]

    @property
    def can_be_batched(self) -> bool:
        """Whether it may be in a batch: brokers refuse batches with delays, to retry topics, and of compressed bodies."""
        return not self.sys_flag and _SENT_ALONE.isdisjoint(self.properties) and not self.topic.startswith(RETRY_PREFIX)


class Skipped(NamedTuple):
    """Why a message is not sent."""

    reason: str


def first_topic(item: ReplayItem) -> str:
    """The topic a message was first sent to, however often it was delayed or retried since."""
    properties = item.properties
    found = topic_of_retry(item.topic, properties)
    if found:
        return found
    return properties.get(props.REAL_TOPIC, item.topic) if state_of_topic(item.topic) != "normal" else item.topic


def shared_origin(item: ReplayItem) -> str:
    """Why a dead letter may be of another topic than `first_topic`, as the end of a sentence; empty where that is certain.

    A replay knows no groups and topics that would tell the pairs of a shared retry topic apart.
    """
    named = origin_of(item.properties)
    owners = [owner for owner in possible_owners(named) if owner.topic] if item.topic.startswith(DLQ_PREFIX) else []
    if len(owners) < 2:
        return ""
    return f"of retry topic {named}, which fits several pairs of group and topic: {owners_text(owners)}"


def outgoing(item: ReplayItem, target: ReplayTarget) -> Outgoing | Skipped:
    """The new message, or why the original is left out."""
    if not item.body:
        return Skipped("it has no body, and brokers refuse empty ones")
    if state_of_topic(item.topic) == "op":
        return Skipped("it is a note of a transaction, not a message of a producer")
    origin = first_topic(item)
    topic = f"{RETRY_PREFIX}{target.group}" if target.group else target.topic or origin
    if target.to_origin and topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        return Skipped(f"it does not say which topic it was first sent to; it is in {item.topic}")
    properties = _properties(item, target)
    if target.group:
        properties[props.RETRY_TOPIC] = origin
    born = None if target.born_now else item.born_timestamp_ms
    return Outgoing(topic, _queue_id(item), born, item.flag, producer_flags(item.sys_flag), item.body, properties)


def producer_flags(sys_flag: int) -> int:
    """Bits of a stored SYSFLAG that its producer set."""
    return sys_flag & (_PRODUCER_BITS if sys_flag & COMPRESSED else MULTI_TAGS)


def _properties(item: ReplayItem, target: ReplayTarget) -> dict[str, str]:
    origin_id = item.origin_id if target.link else ""
    kept = resent_properties(item.properties, origin_id, without_delay=target.without_delay or _is_retry(item))
    if target.new_ids:
        kept.pop(props.UNIQUE_KEY, None)
    return kept


def _is_retry(item: ReplayItem) -> bool:
    """Whether a consumer failed on it, so that its delay is that of the retry."""
    stored_for = item.properties.get(props.REAL_TOPIC, item.topic)
    return props.RETRY_TOPIC in item.properties or stored_for.startswith((RETRY_PREFIX, DLQ_PREFIX))


def _queue_id(item: ReplayItem) -> int:
    """Queue of its producer's choice, which is in the properties of a delayed message."""
    if state_of_topic(item.topic) == "normal":
        return item.queue_id
    queue_id = whole_of(item.properties.get(props.REAL_QUEUE_ID, ""))
    return item.queue_id if queue_id is None else queue_id

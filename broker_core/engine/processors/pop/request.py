"""Pops, notifications and peeks, parsed and checked.

Source: docs/spec/remoting.md §2.6.1, docs/spec/broker.md §6.7; remarks of 5.3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from broker_core.engine.processors.message_filter import EVERYTHING, MessageFilter, sql_filter, tag_filter
from broker_core.engine.processors.pop.pop_holds import HELD_BYTES_PER_PEER_MAX
from broker_core.engine.processors.pull_admission import filter_off_remark
from broker_core.engine.processors.pull_request import filter_bytes
from broker_core.engine.store.paths import TOPIC_CHARACTERS_MAX
from broker_core.engine.tables.consumer_filters import SQL92
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.admin.topics import PERM_READ, TopicConfig
from broker_core.protocol.codes import ResponseCode, SerializeType
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.filter.evaluator import compile_filter
from broker_core.protocol.filter.rejection import TAG
from broker_core.protocol.frame import Buffer, RemotingCommand, reply_to
from broker_core.protocol.message.receipt_handle import FLAG_RETRY_V1, pop_retry_topic
from broker_core.protocol.names import FAQ_URL
from broker_core.protocol.subscription import parse_subscription

MESSAGES_MAX = 32
POLL_MS_MAX = 300_000
INVISIBLE_MS_MAX = 7 * 24 * 3_600_000
"""Longest invisible time."""

LATE_MS = 500
"""A request that arrives so much later than its poll time has ended: its client has given up."""

ANY_QUEUE = -1
INIT_MIN = 0

_PARSED_EXPRESSIONS = 4096
REMEMBERED_CHARS_MAX = 256
"""Longer expressions are parsed for each request, because they could fill the memory."""

_HELD_BYTES = 1_024
"""Of a held request with its entries in the tables, beside its texts and its filter."""


@dataclass(frozen=True, slots=True)
class PopRequest:
    """A request that passed all checks.

    Attributes:
        opaque, serialize_type: Of its command, which is not kept, because a request may wait for long.
        queue_id: Queue, -1 for any.
        count_max: Messages at most.
        from_min: Whether a group without an offset begins with the oldest message, else with the newest.
        attempt_id: Equal in a repetition of an orderly pop.
        wanted_bytes: Estimated memory of a filter that it shares with no other.
    """

    opaque: int
    serialize_type: SerializeType
    group: str
    topic: str
    queue_id: int
    count_max: int = 1
    invisible_ms: int = 0
    deadline_ms: int = 0
    from_min: bool = True
    order: bool = False
    attempt_id: str | None = None
    wanted: MessageFilter = EVERYTHING
    wanted_bytes: int = 0

    @property
    def size(self) -> int:
        """Approximate bytes while held."""
        return _HELD_BYTES + 3 * len(self.group + self.topic) + 4 * len(self.attempt_id or "") + self.wanted_bytes

    def reply(
        self,
        code: int = ResponseCode.SUCCESS,
        remark: str | None = None,
        fields: dict[str, str] | None = None,
        *,
        body_slices: Sequence[Buffer] = (),
    ) -> RemotingCommand:
        """Its answer."""
        return reply_to(self.opaque, self.serialize_type, code, remark, fields, body_slices=body_slices)


def parse_pop(state: BrokerState, peer: Peer, command: RemotingCommand) -> PopRequest:
    """Parse and check a pop.

    Raises:
        RequestRefusedError: It cannot be served; code and remark are those of 5.3.3.
    """
    fields = command.ext_fields
    group, topic = text_field(fields, "consumerGroup"), text_field(fields, "topic")
    queue_id, count = int_field(fields, "queueId"), int_field(fields, "maxMsgNums")
    invisible_ms = long_field(fields, "invisibleTime")
    deadline_ms = _deadline(state, command, "pop")
    host = state.config.advertised_host
    _check_readable(state)
    if not 0 < count <= MESSAGES_MAX:
        what = f"greater than {MESSAGES_MAX}" if count > 0 else f"{count}, allowed are 1 to {MESSAGES_MAX}"
        refuse(ResponseCode.INVALID_PARAMETER, f"the broker[{host}] pop message's num is {what}")
    if not 0 <= invisible_ms <= INVISIBLE_MS_MAX:
        remark = f"the broker[{host}] pop message's invisibleTime is {invisible_ms} ms, allowed are 0 to {INVISIBLE_MS_MAX}"
        refuse(ResponseCode.INVALID_PARAMETER, remark)
    check_queue(state, peer, group, topic, queue_id)
    is_order = bool_field(fields, "order")
    request = PopRequest(
        opaque=command.opaque,
        serialize_type=command.serialize_type,
        group=group,
        topic=topic,
        queue_id=max(queue_id, ANY_QUEUE),
        count_max=count,
        invisible_ms=invisible_ms,
        deadline_ms=deadline_ms,
        from_min=int_field(fields, "initMode", INIT_MIN) == INIT_MIN,
        order=is_order,
        attempt_id=(fields.get("attemptId") or None) if is_order else None,
        wanted=_wanted(state, topic, fields.get("exp"), fields.get("expType")),
        wanted_bytes=own_filter_bytes(fields),
    )
    _check_filter(request, fields)
    return request


def _check_filter(request: PopRequest, fields: Mapping[str, str]) -> None:
    """Refuse a filter with which a request cannot wait. Answered as full, a client would repeat it at once and without end."""
    if request.wanted_bytes and request.deadline_ms and request.size > HELD_BYTES_PER_PEER_MAX:
        characters = len(fields["exp"])
        raise _parse_failed(f"a filter of {characters:,} characters is too long for a request that waits: shorten it")


def own_filter_bytes(fields: Mapping[str, str]) -> int:
    """Estimated memory of a request's filter; 0 for a short one, which requests share."""
    expression = fields.get("exp") or ""
    return filter_bytes(expression, fields.get("expType")) if len(expression) > REMEMBERED_CHARS_MAX else 0


def parse_notification(state: BrokerState, peer: Peer, command: RemotingCommand) -> PopRequest:
    """Parse and check a notification request.

    Raises:
        RequestRefusedError: As for `parse_pop`.
    """
    fields = command.ext_fields
    group, topic = text_field(fields, "consumerGroup"), text_field(fields, "topic")
    queue_id = int_field(fields, "queueId")
    deadline_ms = _deadline(state, command, "notification")
    _check_readable(state)
    check_queue(state, peer, group, topic, queue_id)
    is_order = bool_field(fields, "order")
    request = PopRequest(
        opaque=command.opaque,
        serialize_type=command.serialize_type,
        group=group,
        topic=topic,
        queue_id=max(queue_id, ANY_QUEUE),
        deadline_ms=deadline_ms,
        order=is_order,
        attempt_id=(fields.get("attemptId") or None) if is_order else None,
        wanted=_wanted(state, topic, fields.get("exp"), fields.get("expType")),
        wanted_bytes=own_filter_bytes(fields),
    )
    _check_filter(request, fields)
    return request


def parse_peek(state: BrokerState, peer: Peer, command: RemotingCommand) -> PopRequest:
    """Parse and check a peek.

    Raises:
        RequestRefusedError: As for `parse_pop`.
    """
    fields = command.ext_fields
    group, topic = text_field(fields, "consumerGroup"), text_field(fields, "topic")
    queue_id, count = int_field(fields, "queueId"), int_field(fields, "maxMsgNums")
    _check_readable(state)
    check_queue(state, peer, group, topic, queue_id)
    return PopRequest(
        opaque=command.opaque,
        serialize_type=command.serialize_type,
        group=group,
        topic=topic,
        queue_id=max(queue_id, ANY_QUEUE),
        count_max=min(max(count, 0), MESSAGES_MAX),
    )


def check_queue(state: BrokerState, peer: Peer, group: str, topic: str, queue_id: int) -> None:
    """Check that a group may read a topic's queue.

    Raises:
        RequestRefusedError: It may not.
    """
    config = find_topic(state, topic)
    if not config.permission & PERM_READ:
        refuse(ResponseCode.NO_PERMISSION, f"the topic[{topic}] peeking message is forbidden")
    if queue_id >= config.read_queues:
        refuse(ResponseCode.INVALID_PARAMETER, queue_remark(config, queue_id, peer))
    group_config = state.groups.find(group)
    if group_config is None:
        refuse(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{group}] does not exist, See {FAQ_URL}")
    if not group_config.consume_enabled:
        refuse(ResponseCode.NO_PERMISSION, f"subscription group no permission, {group}")
    fault = pair_fault(group, topic)
    if fault is not None:
        refuse(ResponseCode.INVALID_PARAMETER, fault)


def pair_fault(group: str, topic: str) -> str | None:
    """Why a group may not pop a topic whose name is allowed; None when it may.

    5.3.3 delivers such messages once: no retry of them can be stored, and no dead letter.
    """
    beyond = len(pop_retry_topic(group, topic, flag=FLAG_RETRY_V1)) - TOPIC_CHARACTERS_MAX
    if beyond <= 0:
        return None
    names = len(group) + len(topic)
    return (
        f"the names of group and topic have {names} characters, and the retry topic made of both would be too long: "
        f"choose names with {names - beyond} characters together"
    )


def find_topic(state: BrokerState, topic: str) -> TopicConfig:
    """The config of a topic.

    Raises:
        RequestRefusedError: There is no such topic.
    """
    config = state.topics.get(topic)
    if config is None:
        remark = f"topic[{topic}] not exist, apply first please! See {FAQ_URL} for further details."
        refuse(ResponseCode.TOPIC_NOT_EXIST, remark)
    return config


def queue_remark(config: TopicConfig, queue_id: int, peer: Peer) -> str:
    """Remark of a refusal for a queue that the topic does not have."""
    return (
        f"queueId[{queue_id}] is illegal, topic:[{config.name}] topicConfig.readQueueNums:[{config.read_queues}] "
        f"consumer:[/{peer.remote_address}]"
    )


def _deadline(state: BrokerState, command: RemotingCommand, what: str) -> int:
    fields = command.ext_fields
    now_ms = state.clock()
    poll_ms = min(max(long_field(fields, "pollTime", 0), 0), POLL_MS_MAX)
    born_ms = long_field(fields, "bornTime", 0) or now_ms
    if now_ms - born_ms - poll_ms > LATE_MS:
        refuse(ResponseCode.POLLING_TIMEOUT, f"the broker[{state.config.advertised_host}] {what} message is timeout too much")
    # From now on: the clocks of client and broker may differ, and a client waits longer than its poll time.
    return now_ms + poll_ms if poll_ms else 0


def _check_readable(state: BrokerState) -> None:
    if not state.config.permission & PERM_READ:
        refuse(ResponseCode.NO_PERMISSION, f"the broker[{state.config.advertised_host}] pop message is forbidden")


def _wanted(state: BrokerState, topic: str, expression: str | None, expression_type: str | None) -> MessageFilter:
    kind = expression_type or TAG
    if kind not in (TAG, SQL92):
        raise _parse_failed(f"there is no filter type {kind[:40]}; write TAG or SQL92")
    if kind == SQL92 and not state.config.property_filter:
        refuse(ResponseCode.SYSTEM_ERROR, filter_off_remark(kind))
    try:
        parse = _parsed if len(expression or "") <= REMEMBERED_CHARS_MAX else _parsed.__wrapped__
        return parse(topic, expression, kind)
    except CodecError as error:
        raise _parse_failed(error.message) from error


@lru_cache(maxsize=_PARSED_EXPRESSIONS)
def _parsed(topic: str, expression: str | None, kind: str) -> MessageFilter:
    # Each pop sends its expression.
    if kind == SQL92:
        is_short = len(expression or "") <= REMEMBERED_CHARS_MAX
        return sql_filter((compile_filter if is_short else compile_filter.__wrapped__)(expression or ""))
    return tag_filter(topic, parse_subscription(topic, expression))


def _parse_failed(why: str) -> RequestRefusedError:
    return RequestRefusedError(f"parse the consumer's subscription failed: {why}", code=ResponseCode.SUBSCRIPTION_PARSE_FAILED)


def refuse(code: ResponseCode, remark: str) -> NoReturn:
    raise RequestRefusedError(remark, code=code)

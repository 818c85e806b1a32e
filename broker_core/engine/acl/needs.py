"""The permissions of each request: the topics and groups that it touches and how, or an administrator.

A request that is not listed here needs an administrator. Brokers of RocketMQ 4.9 leave unlisted requests open:
END_TRANSACTION, batches, most reads.

Source: docs/spec/broker.md §16.1, docs/spec/remoting.md §7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from broker_core.engine.acl.accounts import Permission
from broker_core.errors import CodecError, RecordError
from broker_core.outside import whole_of
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import Buffer, RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import DLQ_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC

_HOLDING_TOPICS = frozenset({HALF_TOPIC, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC})
"""Messages wait here, with their own topic in a property that only the broker sets; elsewhere a producer may have set it."""

RecordAt = Callable[[int], Buffer | None]


class Need(NamedTuple):
    """One of several permissions on one topic or group; any of them suffices."""

    name: str
    is_group: bool
    permissions: tuple[Permission, ...]


Needs = tuple[Need, ...]

OPEN = frozenset({int(RequestCode.GET_ROUTEINFO_BY_TOPIC)})
"""Served to anyone, because some clients do not sign route requests. The answer holds addresses and queue numbers only."""

SIGNED = frozenset(
    {
        int(code)
        for code in (
            RequestCode.GET_ALL_TOPIC_CONFIG,
            RequestCode.GET_BROKER_RUNTIME_INFO,
            RequestCode.GET_ALL_CONSUMER_OFFSET,
            RequestCode.GET_ALL_DELAY_OFFSET,
            RequestCode.CHECK_CLIENT_CONFIG,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
            RequestCode.GET_BROKER_CLUSTER_INFO,
            RequestCode.GET_BROKER_MEMBER_GROUP,
            RequestCode.GET_KV_CONFIG,
            RequestCode.GET_KVLIST_BY_NAMESPACE,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
            RequestCode.GET_TOPIC_STATS_INFO,
            RequestCode.GET_CONSUMER_CONNECTION_LIST,
            RequestCode.GET_PRODUCER_CONNECTION_LIST,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
            RequestCode.GET_CONSUME_STATS,
            RequestCode.GET_TOPICS_BY_CLUSTER,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
            RequestCode.QUERY_CONSUME_TIME_SPAN,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
            RequestCode.GET_CONSUMER_RUNNING_INFO,
            RequestCode.QUERY_CORRECTION_OFFSET,
            RequestCode.GET_UNIT_TOPIC_LIST,
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
            RequestCode.VIEW_BROKER_STATS_DATA,
            RequestCode.GET_BROKER_CONSUME_STATS,
            RequestCode.GET_ALL_PRODUCER_INFO,
            RequestCode.QUERY_TOPICS_BY_CONSUMER,
            RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,
            RequestCode.GET_TOPIC_CONFIG,
            RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,
            RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS,
            RequestCode.INIT_ATOMIC_PRODUCER,
            RequestCode.END_ATOMIC,
            RequestCode.LIST_ATOMIC,
        )
    }
)
"""Reads of names and figures: any account may. Requests that show settings, secrets or message bodies are not among them."""


def needs_of(command: RemotingCommand, record_at: RecordAt) -> Needs | None:
    """The permissions that a request needs beside a valid signature; None when it needs an administrator.

    ``record_at`` returns the stored record that a request names by its position, None where there is none.
    """
    if command.code in SIGNED:
        return ()
    read = _READERS.get(command.code)
    if read is None:
        return None
    try:
        return tuple(read(command, record_at))
    except _UnknownNeedsError:
        return None
    except CodecError:
        return ()  # its processor says what is wrong with it


def _topic(name: str | None, *permissions: Permission) -> Iterable[Need]:
    """A topic; a retry or dead letter topic belongs to its group."""
    if not name:
        return
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            yield from _group(name.removeprefix(prefix))
            return
    yield Need(name, is_group=False, permissions=permissions)


def _group(name: str | None) -> Iterable[Need]:
    if name:
        yield Need(name.removeprefix(RETRY_PREFIX), is_group=True, permissions=(Permission.SUB,))


class _UnknownNeedsError(Exception):
    """The touched topics and groups cannot be determined, so an administrator is needed."""


_Reader = Callable[[RemotingCommand, RecordAt], Iterable[Need]]


def _topic_only(permission: Permission, *others: Permission, name: str = "topic") -> _Reader:
    """The topic in one field: the field that the request's processor reads, and no other."""

    def read(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
        return _topic(command.ext_fields.get(name), permission, *others)

    return read


_send = _topic_only(Permission.PUB)
_send_short = _topic_only(Permission.PUB, name="b")


def _group_and_topic(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    fields = command.ext_fields
    yield from _group(fields.get("consumerGroup"))
    yield from _topic(fields.get("topic"), Permission.SUB)


def _send_back(command: RemotingCommand, record_at: RecordAt) -> Iterable[Need]:
    """The group reads the message in its retry topic afterwards, so it must have been allowed to read it before."""
    yield from _group(command.ext_fields.get("group"))
    yield from _position("offset", Permission.SUB)(command, record_at)


def _consumer_group(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    return _group(command.ext_fields.get("consumerGroup"))


def _position(name: str, permission: Permission) -> _Reader:
    """The topic of the record that the request names by its position in the commit log."""

    def read(command: RemotingCommand, record_at: RecordAt) -> Iterable[Need]:
        position = whole_of(command.ext_fields.get(name, ""))
        record = None if position is None else record_at(position)
        if record is None:
            return
        try:
            message = decode_record(record)
        except RecordError as error:
            raise _UnknownNeedsError from error
        topic = message.topic
        if topic in _HOLDING_TOPICS:
            topic = message.properties.get(props.REAL_TOPIC, topic)
        yield from _topic(topic, permission)

    return read


def _heart_beat(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    for consumer in _objects(parse_object(command.body).get("consumerDataSet")):
        yield from _group(_text(consumer.get("groupName")))
        for subscription in _objects(consumer.get("subscriptionDataSet")):
            yield from _topic(_text(subscription.get("topic")), Permission.SUB)


def _locks(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    body = parse_object(command.body)
    yield from _group(_text(body.get("consumerGroup")))
    for queue in _objects(body.get("mqSet")):
        yield from _topic(_text(queue.get("topic")), Permission.SUB)


def _assignment(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    body = parse_object(command.body)
    yield from _group(_text(body.get("consumerGroup")))
    yield from _topic(_text(body.get("topic")), Permission.SUB)


def _batch_ack(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    for ack in _objects(parse_object(command.body).get("acks")):
        yield from _group(_text(ack.get("c") or ack.get("consumerGroup")))
        yield from _topic(_text(ack.get("t") or ack.get("topic")), Permission.SUB)


def _atomic_offsets(command: RemotingCommand, _record_at: RecordAt) -> Iterable[Need]:
    yield from _group(command.ext_fields.get("group"))
    offsets = parse_object(command.body).get("offsets")
    for item in offsets if isinstance(offsets, list) else ():
        if isinstance(item, list) and item:
            yield from _topic(_text(item[0]), Permission.SUB)


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    """As processors read a name, because numbers are names, too."""
    return None if value is None else str(value)


_READERS: dict[int, _Reader] = {
    RequestCode.SEND_MESSAGE: _send,
    RequestCode.SEND_MESSAGE_V2: _send_short,
    RequestCode.SEND_BATCH_MESSAGE: _send_short,
    RequestCode.SEND_REPLY_MESSAGE: _send,
    RequestCode.SEND_REPLY_MESSAGE_V2: _send_short,
    RequestCode.SEND_ATOMIC_MESSAGE: _send_short,
    RequestCode.ADD_ATOMIC_OFFSETS: _atomic_offsets,
    RequestCode.PULL_UNCOMMITTED: _topic_only(Permission.SUB),
    RequestCode.STABLE_OFFSET: _group_and_topic,
    RequestCode.RECALL_MESSAGE: _topic_only(Permission.PUB),
    RequestCode.END_TRANSACTION: _position("commitLogOffset", Permission.PUB),
    RequestCode.CONSUMER_SEND_MSG_BACK: _send_back,
    RequestCode.PULL_MESSAGE: _group_and_topic,
    RequestCode.LITE_PULL_MESSAGE: _group_and_topic,
    RequestCode.QUERY_MESSAGE: _topic_only(Permission.SUB),
    RequestCode.VIEW_MESSAGE_BY_ID: _position("offset", Permission.SUB),
    RequestCode.QUERY_CONSUMER_OFFSET: _group_and_topic,
    RequestCode.UPDATE_CONSUMER_OFFSET: _group_and_topic,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _topic_only(Permission.SUB, Permission.PUB),
    RequestCode.GET_MAX_OFFSET: _topic_only(Permission.SUB, Permission.PUB),
    RequestCode.GET_MIN_OFFSET: _topic_only(Permission.SUB, Permission.PUB),
    RequestCode.GET_EARLIEST_MSG_STORETIME: _topic_only(Permission.SUB, Permission.PUB),
    RequestCode.HEART_BEAT: _heart_beat,
    RequestCode.UNREGISTER_CLIENT: _consumer_group,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _consumer_group,
    RequestCode.LOCK_BATCH_MQ: _locks,
    RequestCode.UNLOCK_BATCH_MQ: _locks,
    RequestCode.QUERY_CONSUME_QUEUE: _topic_only(Permission.SUB),
    RequestCode.QUERY_ASSIGNMENT: _assignment,
    RequestCode.POP_MESSAGE: _group_and_topic,
    RequestCode.PEEK_MESSAGE: _group_and_topic,
    RequestCode.ACK_MESSAGE: _group_and_topic,
    RequestCode.BATCH_ACK_MESSAGE: _batch_ack,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: _group_and_topic,
    RequestCode.NOTIFICATION: _group_and_topic,
    RequestCode.POLLING_INFO: _group_and_topic,
}

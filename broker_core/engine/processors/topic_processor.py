from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.admin.topics import FILTER_TYPES, MESSAGE_TYPE, MESSAGE_TYPES, TopicConfig
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import bool_field, int_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit, parse_object
from broker_core.protocol.message.receipt_handle import FLAG_RETRY_V1, FLAG_RETRY_V2, pop_retry_topic
from broker_core.protocol.retry_names import KnownNames, owners_of

TOPIC_QUEUES_MAX = 4096
"""Bound on the queues of a topic: each costs files on disk."""

ATTRIBUTES_MAX = 64

_PERMISSIONS = range(16)


class TopicProcessor:
    """Serves creation, change, deletion, listing and statistics of topics.

    Source: docs/spec/remoting.md §2.5.1, docs/spec/broker.md §15.8.
    """

    def __init__(self, state: BrokerState) -> None:
        self._state = state

    def create(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        fields = command.ext_fields
        known = self._state.topics.get(fields.get("topic", ""))
        topic = TopicConfig(
            name=fields.get("topic", ""),
            read_queues=int_field(fields, "readQueueNums"),
            write_queues=int_field(fields, "writeQueueNums"),
            permission=int_field(fields, "perm"),
            filter_type=text_field(fields, "topicFilterType"),
            sys_flag=int_field(fields, "topicSysFlag", 0),
            order=bool_field(fields, "order"),
            attributes=_changed({} if known is None else known.attributes, fields.get("attributes", "")),
        )
        self.put(topic)
        return command.reply()

    def create_all(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Create or change several topics, all of them or none."""
        items = parse_object(command.body).get("topicConfigList")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            _refuse("topicConfigList is not a list of topic configs")
        topics = [self._given(TopicConfig.from_json(item)) for item in items]
        for topic in topics:
            self._check(topic)
        for topic in topics:
            self._state.topics.put(topic)
        return command.reply()

    def _given(self, topic: TopicConfig) -> TopicConfig:
        """A config of a request: its attributes are changes (``+key``, ``-key``) of the present ones."""
        known = self._state.topics.get(topic.name)
        text = ",".join(f"{key}={value}" if value else key for key, value in topic.attributes.items())
        return replace(topic, attributes=_changed({} if known is None else known.attributes, text))

    def put(self, topic: TopicConfig) -> None:
        """Create or change a topic, after the checks that every way to it shares; raises `RequestRefusedError`."""
        self._check(topic)
        self._state.topics.put(topic)

    def _check(self, topic: TopicConfig) -> None:
        self._check_name(topic.name)
        for name, count in (("readQueueNums", topic.read_queues), ("writeQueueNums", topic.write_queues)):
            if not 0 <= count <= TOPIC_QUEUES_MAX:
                _refuse(f"{name} of topic {topic.name} is {count}, allowed are 0 to {TOPIC_QUEUES_MAX:,}")
        if topic.permission not in _PERMISSIONS:
            _refuse(f"perm of topic {topic.name} is {topic.permission}, allowed are 0 to 15 (2 write, 4 read, 6 both)")
        if topic.filter_type not in FILTER_TYPES:
            kinds = " and ".join(FILTER_TYPES)
            _refuse(f"topicFilterType of topic {topic.name} is “{topic.filter_type[:100]}”, allowed are {kinds}")
        self._check_type(topic)

    def _check_type(self, topic: TopicConfig) -> None:
        """Refuse a type of messages that there is not; one that a newer broker declared stays as it is."""
        kind, known = topic.attributes.get(MESSAGE_TYPE), self._state.topics.get(topic.name)
        if kind is None or kind in MESSAGE_TYPES or (known is not None and known.attributes.get(MESSAGE_TYPE) == kind):
            return
        _refuse(f"{MESSAGE_TYPE} of topic {topic.name} is “{kind[:100]}”, allowed are {', '.join(MESSAGE_TYPES)}")

    def _check_name(self, name: str) -> None:
        fault = names.topic_name_fault(name)
        if fault is not None:
            _refuse(fault)
        if self._state.topics.is_system(name):
            _refuse(f"The topic[{name}] is conflict with system topic.")

    def delete(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Delete a topic: its config, queues and offsets, and its retry topics of pops. A missing topic is a success."""
        name = text_field(command.ext_fields, "topic")
        self._check_name(name)
        for retry in self._pop_retry_topics(name):
            self._remove(retry)
        self._remove(name)
        return command.reply()

    def _pop_retry_topics(self, name: str) -> list[str]:
        """Topics with messages of this one that groups popped and did not ack; those that another topic may share stay."""
        groups = {*self._state.groups.all(), *self._state.offsets.groups_of(name)}
        names_of = (pop_retry_topic(group, name, flag=flag) for group in groups for flag in (FLAG_RETRY_V1, FLAG_RETRY_V2))
        found = [retry for retry in names_of if retry in self._state.topics]
        if not found:
            return []
        groups |= self._state.offsets.groups()
        known = KnownNames(groups, {*self._state.topics.all(), name})
        return [retry for retry in found if {owner.topic for owner in owners_of(retry, known)} == {name}]

    def _remove(self, name: str) -> None:
        if self._state.topics.remove(name):
            self._state.store.remove_topic(name)
            self._state.offsets.remove_topic(name)
            self._state.counters.forget_topic(name)

    def all(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=emit(self._state.topics.to_json()))

    def one(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """One topic's config; tools of 5.x ask every broker for it."""
        name = text_field(command.ext_fields, "topic")
        topic = self._state.topics.get(name)
        if topic is None:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {name}")
        return command.reply(body=emit({"attributes": {}, **topic.to_json()}))

    def system_topics(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Names of the reserved topics."""
        return command.reply(body=emit({"topicList": self._state.topics.system_topics()}))

    def stats(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Min and max offset and time of the last message of each queue."""
        name = text_field(command.ext_fields, "topic")
        topic = self._state.topics.get(name)
        if topic is None:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist")
        table = {}
        for queue_id in range(topic.write_queues):
            low, high, last_ms = (max(figure, 0) for figure in self._state.store.standing(name, queue_id))
            queue = MessageQueue(name, self._state.config.broker_name, queue_id)
            table[queue] = {"lastUpdateTimestamp": last_ms, "maxOffset": high, "minOffset": low}
        return command.reply(body=emit({"offsetTable": table}))

    def consumers_of(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Groups that consume a topic: those online and those that have offsets."""
        name = text_field(command.ext_fields, "topic")
        groups = {*self._state.consumers.groups_of_topic(name), *self._state.offsets.groups_of(name)}
        return command.reply(body=emit({"groupList": sorted(groups)}))


def _changed(attributes: Mapping[str, str], changes: str) -> dict[str, str]:
    """Attributes after ``+key=value`` (set) and ``-key`` (delete), divided by commas, as 5.x tools send them."""
    result = dict(attributes)
    for change in filter(None, (part.strip() for part in changes.split(","))):
        key, _, value = change[1:].partition("=")
        if change[0] == "+" and key and value:
            result[key] = value
        elif change[0] == "-" and key:
            result.pop(key, None)
        else:
            _refuse(f"the attribute “{change[:100]}” cannot be read: write +key=value to set one, -key to delete it")
    if len(result) > ATTRIBUTES_MAX:
        _refuse(f"a topic takes {ATTRIBUTES_MAX} attributes, not {len(result)}")
    return result


def _refuse(remark: str) -> NoReturn:
    raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)

"""Administration of consumer and producer groups: configs, connections, progress.

Source: docs/spec/remoting.md §2.5.4, §2.5.6.
"""

from __future__ import annotations

from broker_core.engine.tables.clients import Client
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import bool_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit, parse_object

RETRY_QUEUES_MAX = 4096
"""Bound on the retry queues of a group: each costs files on disk."""


class GroupProcessor:
    """Serves configs, members and progress of groups."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state

    def create(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Create or change a consumer group's config."""
        self._state.groups.put(_checked(GroupConfig.from_json(parse_object(command.body))))
        return command.reply()

    def create_all(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Create or change several groups, all of them or none."""
        items = parse_object(command.body).get("groupConfigList")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise RequestRefusedError("groupConfigList is not a list of group configs", code=ResponseCode.SYSTEM_ERROR)
        for config in [_checked(GroupConfig.from_json(item)) for item in items]:
            self._state.groups.put(config)
        return command.reply()

    def delete(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Delete a group's config, and its offsets on request (4.9 and 5.x spell that differently)."""
        fields = command.ext_fields
        name = text_field(fields, "groupName")
        self._state.groups.remove(name)
        if bool_field(fields, "removeOffset") or bool_field(fields, "cleanOffset"):
            self._state.offsets.remove_group(name)
        self._state.counters.forget_group(name)
        return command.reply()

    def all(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=emit(self._state.groups.to_json()))

    def one(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Config of one group, for tools of 5.x."""
        name = text_field(command.ext_fields, "group")
        config = self._state.groups.get(name)
        if config is None:
            remark = f"No group in this broker. group: {name}"
            return command.reply(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        return command.reply(body=emit(config.to_json()))

    def consumer_connections(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Members of a consumer group and its subscriptions."""
        name = text_field(command.ext_fields, "consumerGroup")
        group = self._state.consumers.group(name)
        if group is None:
            return command.reply(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online")
        body = {
            "connectionSet": [_connection(client) for client in group.members.values()],
            "consumeFromWhere": group.consume_from_where,
            "consumeType": group.consume_type,
            "messageModel": group.message_model,
            "subscriptionTable": {topic: item.to_json() for topic, item in group.subscriptions.items()},
        }
        return command.reply(body=emit(body))

    def producer_connections(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        name = text_field(command.ext_fields, "producerGroup")
        members = self._state.producers.members(name)
        if members is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")
        return command.reply(body=emit({"connectionSet": [_connection(client) for client in members]}))

    def all_producers(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        table = {
            group: [
                {
                    "clientId": client.client_id,
                    "language": client.language,
                    "lastUpdateTimestamp": client.last_heartbeat_ms,
                    "remoteIP": client.address,
                    "version": client.version,
                }
                for client in members
            ]
            for group, members in self._state.producers.groups().items()
        }
        return command.reply(body=emit({"data": table}))

    def progress(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The progress of a group in each queue: GET_CONSUME_STATS (Source: docs/spec/broker.md §11.4)."""
        fields = command.ext_fields
        group = text_field(fields, "consumerGroup")
        asked = [fields["topic"]] if fields.get("topic") else [t for t in fields.get("topicList", "").split(";") if t]
        rate, table = self.progress_of(group, asked or self._state.offsets.topics_of(group))
        return command.reply(body=emit({"consumeTps": rate, "offsetTable": table}))

    def progress_of(self, group: str, topics: list[str]) -> tuple[float, dict[MessageQueue, dict[str, int]]]:
        """Messages per second of the last minute, and the figures of each queue, without topics that the group left."""
        online = self._state.consumers.group(group)
        table: dict[MessageQueue, dict[str, int]] = {}
        rate = 0.0
        for name in topics:
            config = self._state.topics.get(name)
            if config is None or (online is not None and online.subscriptions and name not in online.subscriptions):
                continue
            for queue_id in range(config.read_queues):
                queue = MessageQueue(name, self._state.config.broker_name, queue_id)
                table[queue] = self._queue_progress(group, name, queue_id)
            rate += self._state.counters.pull_rate(name, group, self._state.clock())
        return rate, table

    def _queue_progress(self, group: str, topic: str, queue_id: int) -> dict[str, int]:
        store = self._state.store
        consumed = max(self._state.offsets.get(group, topic, queue_id), 0)
        last_ms = store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else 0
        return {
            "brokerOffset": max(store.max_offset(topic, queue_id), 0),
            "consumerOffset": consumed,
            "lastTimestamp": max(last_ms, 0),
        }


def _checked(config: GroupConfig) -> GroupConfig:
    fault = names.group_name_fault(config.name)
    if fault is None and not 0 <= config.retry_queues <= RETRY_QUEUES_MAX:
        fault = f"retryQueueNums of group {config.name} is {config.retry_queues}, allowed are 0 to {RETRY_QUEUES_MAX:,}"
    if fault is not None:
        raise RequestRefusedError(fault, code=ResponseCode.SYSTEM_ERROR)
    return config


def _connection(client: Client) -> dict[str, str | int]:
    return {
        "clientAddr": client.address,
        "clientId": client.client_id,
        "language": client.language,
        "version": client.version,
    }

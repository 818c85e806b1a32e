"""Heartbeats, leaving clients, members and orderly locks.

Source: docs/spec/broker.md §7, §10, docs/spec/remoting.md §2.2.7, §2.2.9.
"""

from __future__ import annotations

from broker_core.engine.processors.pull_admission import filter_off_remark
from broker_core.engine.tables.clients import Client
from broker_core.engine.tables.consumer_filters import SQL92, ConsumerFilters
from broker_core.engine.tables.heartbeat import Heartbeat, parse_heartbeat
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import FilterSyntaxError, RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.codes import ANNOUNCED_VERSIONS, RequestCode, ResponseCode
from broker_core.protocol.fields import text_field
from broker_core.protocol.filter.evaluator import compile_filter
from broker_core.protocol.filter.rejection import TAG
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonValue, MessageQueue, as_message_queue, emit, parse_object

LOCK_QUEUES_MAX = 100_000


class ClientProcessor:
    """Serves HEART_BEAT, UNREGISTER_CLIENT, GET_CONSUMER_LIST_BY_GROUP, CHECK_CLIENT_CONFIG and the queue locks.

    ``filters`` gets the SQL92 filters of heartbeats.
    """

    def __init__(self, state: BrokerState, filters: ConsumerFilters) -> None:
        self._state = state
        self._filters = filters

    def heart_beat(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Register a client's groups; creates group configs and retry topics at their first use.

        The answer carries the announced version, because clients read a broker's version from it.
        """
        self.register(peer, parse_heartbeat(command.body), language=command.language.name, version=command.version)
        answer = command.reply()
        answer.version = ANNOUNCED_VERSIONS[self._state.config.announced_version]
        return answer

    def register(self, peer: Peer, heartbeat: Heartbeat, *, language: str, version: int) -> None:
        """Register a client's groups, as it describes itself.

        Raises:
            RequestRefusedError: A consumer group is unknown and may not be created.
        """
        client = Client(heartbeat.client_id, peer.remote_address, language, version, self._state.clock())
        for data in heartbeat.consumers:
            config = self._state.groups.find(data.group)
            if config is None:
                fault = names.group_name_fault(data.group) or self._why_unknown()
                remark = f"the consumer group[{data.group}] cannot be used: {fault}"
                raise RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
            if config.retry_queues > 0 and names.topic_name_fault(names.retry_topic(data.group)) is None:
                self._state.topics.ensure(names.retry_topic(data.group), queues=config.retry_queues)
            if self._state.consumers.register(peer, client, data):
                self.notify_members(data.group)
            self._filters.register(data.group, data.subscriptions)
        for group in heartbeat.producer_groups:
            self._state.producers.register(peer, client, group)

    def _why_unknown(self) -> str:
        groups = self._state.groups
        if groups.auto_create and groups.is_full:
            count = len(groups.all())
            return f"the broker has {count:,} groups; make it as an administrator, or raise orbitAutoCreateGroupsMax"
        return "it is unknown and autoCreateSubscriptionGroup is false"

    def unregister(self, peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Remove a client from its groups; C++ clients send the unused group as an empty text."""
        producer_group = command.ext_fields.get("producerGroup")
        consumer_group = command.ext_fields.get("consumerGroup")
        if producer_group:
            self._state.producers.unregister(peer, producer_group)
        if consumer_group and self._state.consumers.unregister(peer, consumer_group):
            self._member_left(consumer_group)
        return command.reply()

    def disconnected(self, peer: Peer) -> None:
        self._state.producers.connection_lost(peer)
        for group in self._state.consumers.connection_lost(peer):
            self._member_left(group)

    def _member_left(self, group: str) -> None:
        if self._state.consumers.group(group) is None:
            self._filters.unregister(group)
        self.notify_members(group)

    def notify_members(self, group: str) -> None:
        """Notify all members of a group that its members or subscriptions changed, so that they divide the queues again."""
        config = self._state.groups.get(group)
        members = self._state.consumers.group(group)
        if members is None or (config is not None and not config.notify_members):
            return
        for peer in list(members.members):
            fields = {"consumerGroup": group}
            peer.send_oneway(
                RemotingCommand(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, fields, serialize_type=peer.serialize_type)
            )

    def consumer_list(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Client ids of a group's members."""
        name = text_field(command.ext_fields, "consumerGroup")
        group = self._state.consumers.group(name)
        if group is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {name}")
        return command.reply(body=emit({"consumerIdList": group.client_ids}))

    def check_client_config(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Check before a consumer starts whether its filter can be served."""
        data = parse_object(command.body).get("subscriptionData")
        if not isinstance(data, dict) or data.get("expressionType") in (None, "", TAG):
            return command.reply()
        kind = str(data["expressionType"])
        if not self._state.config.property_filter:
            return command.reply(ResponseCode.SYSTEM_ERROR, filter_off_remark(kind))
        if kind != SQL92:
            remark = f"there is no filter type {kind[:40]}; write TAG or SQL92"
            return command.reply(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark)
        try:
            compile_filter(str(data.get("subString") or ""))
        except FilterSyntaxError as error:
            return command.reply(ResponseCode.SUBSCRIPTION_PARSE_FAILED, error.message)
        return command.reply()

    def lock_queues(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Lock queues for an orderly consumer; answers those that it holds now."""
        group, client_id, queues = _lock_request(parse_object(command.body))
        locked = self._state.locks.lock(group, client_id, queues, now_ms=self._state.clock())
        return command.reply(body=emit({"lockOKMQSet": locked}))

    def unlock_queues(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Unlock queues of an orderly consumer."""
        group, client_id, queues = _lock_request(parse_object(command.body))
        self._state.locks.unlock(group, client_id, queues)
        return command.reply()


def _lock_request(body: dict[str, JsonValue]) -> tuple[str, str, list[MessageQueue]]:
    group, client_id, items = body.get("consumerGroup"), body.get("clientId"), body.get("mqSet")
    if not group or not client_id or not isinstance(items, list) or len(items) > LOCK_QUEUES_MAX:
        remark = f"a lock request needs consumerGroup, clientId and an mqSet of at most {LOCK_QUEUES_MAX:,} queues"
        raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
    queues = [queue for queue in map(as_message_queue, items) if queue is not None]
    return str(group), str(client_id), queues

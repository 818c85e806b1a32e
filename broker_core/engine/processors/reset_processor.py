"""Offsets of whole groups: resets, copies, corrections.

Source: docs/spec/remoting.md §2.5.7, docs/spec/broker.md §12.3, §12.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from broker_core.engine.processors.client_commits import commit_of_client
from broker_core.engine.tables.clients import Client
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import OrbitError, RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import VERSION_RESET_OFFSET, RequestCode, ResponseCode, version_name
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonValue, MessageQueue, emit, parse_object

STATUS_TIMEOUT_MS = 5_000

_TO_THE_END = -1
"""A time before all messages otherwise: the tools look for the first message at or after it where a group is offline."""
_UNREACHABLE = (1 << 63) - 1
_LIST_LANGUAGE = "CPP"
"""Clients in this language read an offset table as a list only (Source: docs/spec/remoting.md §4.3)."""


class ResetProcessor:
    """Serves resets, the offsets that members hold, copies of offsets and QUERY_CORRECTION_OFFSET.

    ``is_popped`` says whether the members of a group pop a topic.
    """

    def __init__(self, state: BrokerState, *, is_popped: Callable[[str, str], bool]) -> None:
        self._state = state
        self._is_popped = is_popped

    # ---- reset ----

    def reset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Have the members of a group move to the first messages at or after a time, or with -1 to the end.

        Each member drops its queues, takes the offsets and commits them. Members that pop have no queues, and clients of gRPC
        get no notice: the broker then sets the offsets itself. For an offline group the answer is CONSUMER_NOT_ONLINE, upon
        which tools commit the offsets themselves; only a request for one queue and one offset, which tools of 5.x send and do
        not repeat, is then carried out here.
        """
        fields = command.ext_fields
        topic, group = self._topic(command), text_field(fields, "group")
        table = self._targets(topic, group, command)
        members = self._state.consumers.group(group)
        if members is None and "offset" in fields and 0 <= int_field(fields, "queueId", -1) < topic.read_queues:
            self._set(group, table, force=True)
            return command.reply(body=emit({"offsetTable": table}))
        if members is None:
            remark = (
                f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic.name} Timestamp: {_time(command)}"
            )
            raise RequestRefusedError(remark, code=ResponseCode.CONSUMER_NOT_ONLINE)
        if (only := int_field(fields, "queueId", -1)) >= max(topic.read_queues, topic.write_queues):
            remark = f"queueId {only} of topic {topic.name} is illegal: it has {topic.read_queues} read queues"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        _check_versions(members.members.values())
        push = {"topic": topic.name, "group": group, "timestamp": str(_time(command)), "isForce": "false"}
        listed = [
            {"brokerName": queue.broker_name, "offset": offset, "queueId": queue.queue_id, "topic": queue.topic}
            for queue, offset in table.items()
        ]
        are_told = []
        for peer, client in list(members.members.items()):
            as_list = _LIST_LANGUAGE in (client.language, command.language.name)
            body = emit({"offsetTable": listed if as_list else table})
            notice = RemotingCommand(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, push, body, serialize_type=peer.serialize_type)
            are_told.append(peer.send_oneway(notice))
        if not all(are_told) or self._is_popped(topic.name, group):
            self._set(group, table, force=bool_field(fields, "isForce"))
        return command.reply(body=emit({"offsetTable": table}))

    def _set(self, group: str, table: dict[MessageQueue, int], *, force: bool) -> None:
        offsets = self._state.offsets
        for queue, offset in table.items():
            if force or offset != offsets.get(group, queue.topic, queue.queue_id):
                offsets.reset(group, queue.topic, queue.queue_id, offset)

    def _targets(self, topic: TopicConfig, group: str, command: RemotingCommand) -> dict[MessageQueue, int]:
        fields, state = command.ext_fields, self._state
        only = int_field(fields, "queueId", -1)
        given = long_field(fields, "offset", -1) if only >= 0 else -1
        force = bool_field(fields, "isForce")
        count = max(topic.read_queues, topic.write_queues)
        queues = range(count) if only < 0 else (only,)
        current = {queue_id: state.offsets.get(group, topic.name, queue_id) for queue_id in queues}
        known = group in state.groups.all() or state.consumers.group(group) is not None
        if not known and all(offset < 0 for offset in current.values()):
            raise RequestRefusedError(f"THe consumer group <{group}> not exist", code=ResponseCode.SYSTEM_ERROR)
        table = {}
        if given >= 0 and only < count:
            self._check_target(topic.name, only, given)
        for queue_id, offset in current.items():
            target = given if given >= 0 else self._at(topic.name, queue_id, _time(command))
            # A queue without an offset was never consumed, so there is nothing to keep.
            keeps = not force and 0 <= offset <= target
            table[MessageQueue(topic.name, state.config.broker_name, queue_id)] = offset if keeps else target
        return table

    def _check_target(self, topic: str, queue_id: int, offset: int) -> None:
        first, end = self._state.store.min_offset(topic, queue_id), self._state.store.max_offset(topic, queue_id)
        if not first <= offset <= end:
            remark = f"Target offset {offset} not in consume queue range [{first}-{end}]"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)

    def _at(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        store = self._state.store
        is_end = timestamp_ms == _TO_THE_END
        found = store.max_offset(topic, queue_id) if is_end else store.offset_by_time(topic, queue_id, timestamp_ms)
        return max(found, 0)

    def _topic(self, command: RemotingCommand) -> TopicConfig:
        name = text_field(command.ext_fields, "topic")
        topic = self._state.topics.get(name)
        if topic is None:
            raise RequestRefusedError(f"[reset-offset] reset offset failed, no topic in this broker. topic={name}", code=1)
        return topic

    # ---- offsets of members ----

    def status(self, peer: Peer, command: RemotingCommand) -> None:
        """Ask the members of a group, or one, for their offsets; the answer leaves out those that do not answer in time."""
        fields = command.ext_fields
        topic, group, wanted = text_field(fields, "topic"), text_field(fields, "group"), fields.get("clientAddr")
        members = self._state.consumers.group(group)
        asked = {} if members is None else {p: c for p, c in members.members.items() if not wanted or c.client_id == wanted}
        if not asked:
            remark = f"No Any Consumer online in the consumer group: [{group}]"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        _check_versions(asked.values())
        collected = _Collected(peer, command, len(asked))
        for member, client in asked.items():
            question = RemotingCommand(
                RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
                {"topic": topic, "group": group, "clientAddr": client.address},
                serialize_type=member.serialize_type,
            )
            member.ask(question, STATUS_TIMEOUT_MS, partial(collected.take, client.client_id))

    # ---- offsets of other groups ----

    def clone(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Copy a group's offsets to another group: of one topic, or of all.

        It skips a deleted topic and, unless ``offline`` is set, one that the online source group does not subscribe. It also
        skips an offset that its queue cannot have.
        """
        fields, state = command.ext_fields, self._state
        source, target = text_field(fields, "srcGroup"), text_field(fields, "destGroup")
        fault = names.group_name_fault(target)
        if fault is not None:
            raise RequestRefusedError(fault, code=ResponseCode.SYSTEM_ERROR)
        if state.groups.find(target) is None:
            remark = f"Group {target} not exist!"
            raise RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        online = None if bool_field(fields, "offline") else state.consumers.group(source)
        for topic, group, offsets in state.offsets.items():
            if group != source or topic not in state.topics or fields.get("topic") not in (None, "", topic):
                continue
            if online is not None and topic not in online.subscriptions:
                continue
            for queue_id, offset in list(offsets.items()):
                commit_of_client(state, target, topic, queue_id, offset)
        return command.reply()

    def correction(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The smallest offset of all groups in each queue of a topic; beyond reach where the compared group is behind it."""
        fields, state = command.ext_fields, self._state
        topic, compared = text_field(fields, "topic"), text_field(fields, "compareGroup")
        left_out = {name for name in fields.get("filterGroups", "").split(",") if name}
        least: dict[int, int] = {}
        own: dict[int, int] = {}
        for known, group, offsets in state.offsets.items():
            if known != topic:
                continue
            if group == compared:
                own = offsets
            for queue_id, offset in offsets.items() if group not in left_out else ():
                if offset >= state.store.min_offset(topic, queue_id):
                    least[queue_id] = min(least.get(queue_id, offset), offset)
        corrections = {q: _UNREACHABLE if q in own and o > own[q] else o for q, o in least.items()}
        return command.reply(body=emit({"correctionOffsets": corrections}))


class _Collected:
    """Answers of a group's members, sent on after the last one or its time-out."""

    def __init__(self, peer: Peer, command: RemotingCommand, expected: int) -> None:
        self._peer = peer
        self._command = command
        self._waiting = expected
        self._tables: dict[str, JsonValue] = {}

    def take(self, client_id: str, answer: RemotingCommand | OrbitError) -> None:
        if isinstance(answer, RemotingCommand) and answer.code == ResponseCode.SUCCESS:
            try:
                self._tables[client_id] = parse_object(answer.body).get("messageQueueTable", {})
            except OrbitError:
                # An unreadable answer counts as none.
                self._tables.pop(client_id, None)
        self._waiting -= 1
        if not self._waiting and not self._command.is_oneway:
            self._peer.send(self._command.reply(body=emit({"consumerTable": self._tables, "messageQueueTable": {}})))


def _check_versions(clients: Iterable[Client]) -> None:
    for client in clients:
        if client.version < VERSION_RESET_OFFSET:
            remark = f"the client does not support this feature. version={version_name(client.version)}"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)


def _time(command: RemotingCommand) -> int:
    return long_field(command.ext_fields, "timestamp")

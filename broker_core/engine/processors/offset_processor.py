"""Offsets and single messages: offsets of groups, begin and end of queues.

Source: docs/spec/remoting.md §2.2.4 to §2.2.6.
"""

from __future__ import annotations

from broker_core.engine.processors.client_commits import commit_of_client
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.admin.offsets import NO_OFFSETS
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import Fields, bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message.record import read_head


class OffsetProcessor:
    """Serves the offset requests, VIEW_MESSAGE_BY_ID and the dump of all consumer offsets.

    A message within ``memory_bytes`` of the end of the commit log counts as still in memory.
    """

    def __init__(self, state: BrokerState, *, memory_bytes: int) -> None:
        self._state = state
        self._memory_bytes = memory_bytes

    def query_consumer_offset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """A group's offset in a queue; 0 for a group without one on a young queue (Source: docs/spec/broker.md §6.4)."""
        fields = command.ext_fields
        topic, queue_id = _queue(fields)
        offset = self._state.offsets.get(text_field(fields, "consumerGroup"), topic, queue_id)
        if offset < 0 and bool_field(fields, "setZeroIfNotFound", default=True) and self._is_young(topic, queue_id):
            offset = 0
        if offset < 0:
            remark = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
            return command.reply(ResponseCode.QUERY_NOT_FOUND, remark)
        return _offset_reply(command, offset)

    def _is_young(self, topic: str, queue_id: int) -> bool:
        """Whether the queue still has its first message of all, and that is recent, or it never had one."""
        store = self._state.store
        if store.min_offset(topic, queue_id) > 0:
            return False
        first = store.get_messages(topic, queue_id, 0, 1).records
        if not first:
            return store.max_offset(topic, queue_id) == 0
        return store.commit_log_max_offset - read_head(first[0], 0).physical_offset <= self._memory_bytes

    def update_consumer_offset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Store a group's offset, whatever it was before, if its queue can have it.

        Topic, queue and group must exist, as 5.x demands: 4.x stores anything, and so any client could fill the table.
        """
        fields = command.ext_fields
        topic, queue_id = _queue(fields)
        group = text_field(fields, "consumerGroup")
        config = self._state.topics.get(topic)
        if config is None:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
        if not 0 <= queue_id < max(config.read_queues, config.write_queues):
            remark = f"queueId {queue_id} of topic {topic} is illegal: it has {config.read_queues} read queues"
            return command.reply(ResponseCode.SYSTEM_ERROR, remark)
        if self._state.groups.find(group) is None:
            return command.reply(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {group} not exist!")
        fault = commit_of_client(self._state, group, topic, queue_id, long_field(fields, "commitOffset"))
        return command.reply() if fault is None else command.reply(ResponseCode.SYSTEM_ERROR, fault)

    def all_consumer_offsets(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Every group's offsets, in the form that slaves and backups read."""
        if not self._state.offsets.items():
            return command.reply(ResponseCode.SYSTEM_ERROR, NO_OFFSETS)
        return command.reply(body=emit(self._state.offsets.to_json()))

    def max_offset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Offset that the next message of a queue will get; 0 for an unknown queue."""
        return _offset_reply(command, max(self._state.store.max_offset(*_queue(command.ext_fields)), 0))

    def min_offset(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Offset of a queue's oldest message; 0 for an unknown queue."""
        return _offset_reply(command, max(self._state.store.min_offset(*_queue(command.ext_fields)), 0))

    def offset_by_time(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """First offset of a queue at or after a time, or with UPPER the last at or before it; 0 without a queue."""
        fields = command.ext_fields
        topic, queue_id = _queue(fields)
        upper = fields.get("boundaryType", "").upper() == "UPPER"
        found = self._state.store.offset_by_time(topic, queue_id, long_field(fields, "timestamp"), upper=upper)
        return _offset_reply(command, max(found, 0))

    def earliest_store_time(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Store time of a queue's oldest message, -1 when it has none."""
        store = self._state.store
        topic, queue_id = _queue(command.ext_fields)
        first, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        timestamp = store.store_time(topic, queue_id, first) if 0 <= first < end else -1
        return command.reply(ext_fields={"timestamp": str(timestamp)})

    def view_message(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The record at a commit log offset, which an offset message id carries."""
        offset = long_field(command.ext_fields, "offset")
        record = self._state.store.record_at(offset) if offset >= 0 else None
        visibility = self._state.store.visibility
        if record is None or (visibility is not None and visibility.hides_record(record)):
            return command.reply(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}")
        return command.reply(body_slices=[record])


def _queue(fields: Fields) -> tuple[str, int]:
    return text_field(fields, "topic"), int_field(fields, "queueId")


def _offset_reply(command: RemotingCommand, offset: int) -> RemotingCommand:
    return command.reply(ext_fields={"offset": str(offset)})

"""Reports on consumption: statistics, time spans, queue entries, who subscribes what.

Source: docs/spec/remoting.md §2.5.3, §2.5.6.
"""

from __future__ import annotations

from broker_core.engine.processors.group_processor import GroupProcessor
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.engine.tables.stats_windows import StatsWindow
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonValue, MessageQueue, emit

QUEUE_ENTRIES_MAX = 1_000


class ConsumeReportProcessor:
    """Serves statistics, progress, time spans, queue entries and subscriptions for tools."""

    def __init__(self, state: BrokerState, groups: GroupProcessor) -> None:
        self._state = state
        self._groups = groups

    def statistics(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Last minute, hour and day of one item."""
        name, key = text_field(command.ext_fields, "statsName"), text_field(command.ext_fields, "statsKey")
        view = self._state.counters.stats.view(name, key, self._state.clock())
        if view is None:
            return command.reply(ResponseCode.SYSTEM_ERROR, f"The stats <{name}> <{key}> not exist")
        body = {"statsDay": _window(view.day), "statsHour": _window(view.hour), "statsMinute": _window(view.minute)}
        return command.reply(body=emit(body))

    def all_progress(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The progress of every group in each of its topics, or only in ordered ones."""
        state = self._state
        only_ordered = bool_field(command.ext_fields, "isOrder")
        groups: list[JsonValue] = []
        total_lag = 0
        for group in sorted(state.groups.all()):
            found: list[JsonValue] = []
            for topic in state.offsets.topics_of(group):
                config = state.topics.get(topic)
                if config is None or (only_ordered and not config.order):
                    continue
                rate, table = self._groups.progress_of(group, [topic])
                found.append({"consumeTps": rate, "offsetTable": table})
                total_lag += sum(queue["brokerOffset"] - queue["consumerOffset"] for queue in table.values())
            groups.append({group: found})
        address = f"{state.config.advertised_host}:{state.config.listen_port}"
        return command.reply(body=emit({"brokerAddr": address, "consumeStatsList": groups, "totalDiff": total_lag}))

    def time_span(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Per queue: times of the first and last message, of the last consumed one, and how long the next one has waited."""
        topic, group = text_field(command.ext_fields, "topic"), text_field(command.ext_fields, "group")
        config = self._state.topics.get(topic)
        if config is None:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        spans = [self._span(topic, group, queue_id) for queue_id in range(config.write_queues)]
        return command.reply(body=emit({"consumeTimeSpanSet": spans}))

    def _span(self, topic: str, group: str, queue_id: int) -> dict[str, JsonValue]:
        store = self._state.store
        first, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        first_ms = store.store_time(topic, queue_id, first) if first < end else -1
        last_ms = store.store_time(topic, queue_id, end - 1) if first < end else -1
        offset = max(self._state.offsets.get(group, topic, queue_id), first)
        consumed_ms = store.store_time(topic, queue_id, offset - 1) if offset > first else first_ms
        waited_ms = self._state.clock() - store.store_time(topic, queue_id, offset) if offset < end else 0
        return {
            "consumeTimeStamp": consumed_ms,
            "delayTime": max(waited_ms, 0),
            "maxTimeStamp": last_ms,
            "messageQueue": MessageQueue(topic, self._state.config.broker_name, queue_id),
            "minTimeStamp": first_ms,
        }

    def queue_entries(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Entries of a consume queue, and whether a group's subscription accepts them."""
        fields, state = command.ext_fields, self._state
        topic, queue_id = text_field(fields, "topic"), int_field(fields, "queueId")
        if (topic, queue_id) not in state.store.queues():
            return command.reply(ResponseCode.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
        group = fields.get("consumerGroup")
        members = state.consumers.group(group) if group else None
        subscription = None if members is None else members.subscriptions.get(topic)
        accepts = None if subscription is None else subscription.accepts()
        count = min(max(int_field(fields, "count"), 0), QUEUE_ENTRIES_MAX)
        first = max(long_field(fields, "index"), state.store.min_offset(topic, queue_id))
        units = state.store.queue_units(topic, queue_id, first, count)
        entries = [
            {
                "eval": subscription is not None and (accepts is None or accepts(unit.tags_code)),
                "physicOffset": unit.physical_offset,
                "physicSize": unit.record_bytes,
                "tagsCode": unit.tags_code,
            }
            for unit in units
        ]
        body = {
            "filterData": _filter_text(group, topic, online=subscription is not None),
            "maxQueueIndex": state.store.max_offset(topic, queue_id),
            "minQueueIndex": state.store.min_offset(topic, queue_id),
            "queueData": entries,
            "subscriptionData": None if subscription is None else subscription.to_json(),
        }
        return command.reply(body=emit(body))

    def topics_of_group(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        group = text_field(command.ext_fields, "group")
        return command.reply(body=emit({"topicList": sorted(self._state.offsets.topics_of(group))}))

    def subscription(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """The subscription of an online group to a topic."""
        group, topic = text_field(command.ext_fields, "group"), text_field(command.ext_fields, "topic")
        members = self._state.consumers.group(group)
        found = None if members is None else members.subscriptions.get(topic)
        body = {"group": group, "subscriptionData": None if found is None else found.to_json(), "topic": topic}
        return command.reply(body=emit(body))

    def may_read(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Whether a group may read a topic, after setting it if the request says so."""
        fields, state = command.ext_fields, self._state
        group, topic = text_field(fields, "group"), text_field(fields, "topic")
        if fields.get("readable"):
            if state.groups.get(group) is None or topic not in state.topics:
                remark = f"there is no group {group} or no topic {topic} here: create it first"
                raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
            state.groups.forbid_reading(group, topic, forbidden=not bool_field(fields, "readable"))
        return command.reply(body=emit({"group": group, "readable": state.groups.may_read(group, topic), "topic": topic}))


def _filter_text(group: str | None, topic: str, *, online: bool) -> str | None:
    if not group:
        return None
    return "null" if online else f"{group}@{topic} is not online!"


def _window(window: StatsWindow) -> dict[str, float]:
    return {"avgpt": window.average, "sum": window.sum, "tps": window.tps}

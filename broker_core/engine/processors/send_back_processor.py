"""Messages that a consumer returns: CONSUMER_SEND_MSG_BACK (Source: docs/spec/broker.md §8.1, docs/spec/remoting.md §2.2.2).

retries left    a full copy to %RETRY%group, by way of a delay level
none left       a full copy to %DLQ%group, at once
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.put_rewrites import PutDraft, PutRewrites
from broker_core.engine.processors.retried_copies import put_counted, put_dead_letter, retried_copy
from broker_core.engine.store.paths import is_topic_name
from broker_core.engine.store.results import NEVER_STORED, PutResult, PutStatus
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.set_aside import dead_letter_of, why_never
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.admin.topics import PERM_WRITE, TopicConfig
from broker_core.protocol.codes import VERSION_MAX_RECONSUME_TIMES, ResponseCode
from broker_core.protocol.fields import bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record

FIRST_RETRY_LEVEL = 3
UNIT_SUBSCRIPTION = 2
"""topicSysFlag of a retry topic whose group consumes in unit mode."""


@dataclass(frozen=True, slots=True)
class _SendBack:
    group: str
    offset: int
    delay_level: int
    reconsume_times_max: int

    def is_last(self, message: StoredMessage) -> bool:
        """Whether the message has no retry left, or the consumer declares it dead."""
        return self.delay_level < 0 or message.reconsume_times >= self.reconsume_times_max


class SendBackProcessor:
    """Serves CONSUMER_SEND_MSG_BACK; ``durable`` is None where answers need not wait for the disk (ASYNC_FLUSH).

    ``choose`` picks a number below its argument: the retry queue.
    """

    def __init__(
        self,
        state: BrokerState,
        durable: DurableAnswers | None,
        rewrites: PutRewrites,
        *,
        choose: Callable[[int], int] = random.randrange,
    ) -> None:
        self._state = state
        self._durable = durable
        self._rewrites = rewrites
        self._choose = choose

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Store a returned message as a retry or as a dead letter."""
        fields = command.ext_fields
        group = text_field(fields, "group")
        config = self._state.groups.find(group)
        if config is None:
            remark = f"subscription group not exist, {group} See {names.FAQ_URL} for further details."
            raise RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        if not self._state.config.permission & PERM_WRITE:
            remark = f"the broker[{self._state.config.advertised_host}] sending message is forbidden"
            raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
        if config.retry_queues <= 0:
            self._state.counters.consume_failed(group)
            return command.reply()
        given = fields.get("maxReconsumeTimes") and command.version >= VERSION_MAX_RECONSUME_TIMES
        limit = int_field(fields, "maxReconsumeTimes") if given else config.retry_times_max
        request = _SendBack(group, long_field(fields, "offset"), int_field(fields, "delayLevel"), limit)
        topic = self._retry_topic(config, unit_mode=bool_field(fields, "unitMode"))
        message = self._message_at(request.offset)
        result = self._put_back(request, message, topic)
        if result.status is not PutStatus.PUT_OK:
            why = why_never(result.status) if result.status in NEVER_STORED else self._state.store.write_refusal
            return command.reply(ResponseCode.SYSTEM_ERROR, f"{result.status.value} {why}".rstrip())
        self._state.counters.consume_failed(group, message.properties.get(props.RETRY_TOPIC, message.topic))
        if self._durable is None:
            return command.reply()
        self._answer_later(peer, command, result, self._durable)
        return None

    def _retry_topic(self, config: GroupConfig, *, unit_mode: bool) -> TopicConfig | None:
        """The group's retry topic; None where no topic can have its name."""
        name = names.retry_topic(config.name)
        if not is_topic_name(name):
            return None
        sys_flag = UNIT_SUBSCRIPTION if unit_mode else 0
        topic = self._state.topics.ensure(name, queues=config.retry_queues, sys_flag=sys_flag)
        if not topic.writable:
            remark = f"the topic[{topic.name}] sending message is forbidden"
            raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
        return topic

    def _message_at(self, offset: int) -> StoredMessage:
        record = self._state.store.record_at(offset) if offset >= 0 else None
        if record is None:
            raise RequestRefusedError(f"look message by offset failed, {offset}", code=ResponseCode.SYSTEM_ERROR)
        return decode_record(record)

    def _put_back(self, request: _SendBack, message: StoredMessage, topic: TopicConfig | None) -> PutResult:
        """Store the retry; where it has none left, or no retry of it can be stored, the dead letter."""
        retry_status = None
        if not request.is_last(message):
            result = self._put_retry(request, message, topic)
            if result.status not in NEVER_STORED:
                return result
            retry_status = result.status
        result = put_dead_letter(self._state, message, request.group, _properties(message), message.store_host)
        if retry_status is not None and result.status is PutStatus.PUT_OK:
            retry_topic, outcome = names.retry_topic(request.group), dead_letter_of(request.group)
            self._state.set_aside.note(message.physical_offset, retry_topic, retry_status, outcome)
        return result

    def _put_retry(self, request: _SendBack, message: StoredMessage, topic: TopicConfig | None) -> PutResult:
        if topic is None:
            return PutResult(PutStatus.MESSAGE_ILLEGAL)
        level = request.delay_level or FIRST_RETRY_LEVEL + message.reconsume_times
        properties = _properties(message) | {props.DELAY: str(level)}
        # A topic may have been changed to have no write queues; its first read queue is consumed nevertheless.
        queue_id = self._choose(max(topic.write_queues, 1))
        draft = self._rewrites.schedule(PutDraft(topic=topic.name, queue_id=queue_id, properties=properties))
        encoded = props.encode_fitting(draft.properties)
        if encoded is None:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED)
        return put_counted(self._state, retried_copy(message, draft.topic, draft.queue_id, encoded, message.store_host))

    def _answer_later(self, peer: Peer, command: RemotingCommand, result: PutResult, durable: DurableAnswers) -> None:
        def answer(is_durable: bool) -> None:
            if is_durable:
                peer.send(command.reply())
            else:
                peer.send(command.reply(ResponseCode.SYSTEM_ERROR, PutStatus.FLUSH_DISK_TIMEOUT.value))

        durable.wait(result.physical_offset + result.wrote_bytes, answer)


def _properties(message: StoredMessage) -> dict[str, str]:
    """Properties of the copy, which keep the first topic and id of the message over all its retries."""
    properties = dict(message.properties)
    properties.setdefault(props.RETRY_TOPIC, message.topic)
    properties.setdefault(props.ORIGIN_MESSAGE_ID, offset_message_id(message.store_host, message.physical_offset))
    properties.pop(props.DELAY, None)
    return properties

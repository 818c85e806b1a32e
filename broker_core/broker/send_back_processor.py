"""Messages that a consumer gives back: CONSUMER_SEND_MSG_BACK (Source: spec broker §8.1).

A retry comes back after a delay, and delays are not there yet: a message that may be retried is refused with SYSTEM_ERROR, upon
which clients keep it and consume it again themselves after 5 s, so nothing is lost. A message without a retry left goes to the
dead letter topic at once, as it should.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.broker import names
from broker_core.broker.durable_answers import DurableAnswers
from broker_core.broker.peer import Peer
from broker_core.broker.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.message import properties as props
from broker_core.message.message_id import offset_message_id
from broker_core.message.model import MessageToStore, StoredMessage
from broker_core.message.record import decode_record
from broker_core.nameserver.registration import PERM_WRITE
from broker_core.remoting.codes import VERSION_MAX_RECONSUME_TIMES, ResponseCode
from broker_core.remoting.fields import int_field, long_field, text_field
from broker_core.remoting.frame import RemotingCommand
from broker_core.store.results import PutResult, PutStatus


@dataclass(frozen=True, slots=True)
class _SendBack:
    """What the consumer says."""

    group: str
    offset: int
    delay_level: int
    reconsume_times_max: int


class SendBackProcessor:
    """Serves CONSUMER_SEND_MSG_BACK.

    Args:
        state: What processors share.
        durable: Holds answers back until their message is on disk; None answers at once (ASYNC_FLUSH).
    """

    def __init__(self, state: BrokerState, durable: DurableAnswers | None) -> None:
        self._state = state
        self._durable = durable

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Take a message back: refuse it when it has retries left, bury it when not."""
        fields = command.ext_fields
        group = text_field(fields, "group")
        config = self._state.groups.find(group)
        if config is None:
            remark = f"subscription group not exist, {group} See {names.FAQ_URL} for further details."
            raise RequestRefusedError(remark, code=ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        if not self._state.config.permission & PERM_WRITE:
            remark = f"the broker[{self._state.config.advertised_host}] sending message is forbidden"
            raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
        self._state.counters.consume_failed(group)
        if config.retry_queues <= 0:
            return command.reply()
        given = fields.get("maxReconsumeTimes") and command.version >= VERSION_MAX_RECONSUME_TIMES
        limit = int_field(fields, "maxReconsumeTimes") if given else config.retry_times_max
        request = _SendBack(group, long_field(fields, "offset"), int_field(fields, "delayLevel", 0), limit)
        message = self._message_at(request.offset)
        if request.delay_level >= 0 and message.reconsume_times < request.reconsume_times_max:
            remark = (
                "retries with a delay are not supported by this version of the broker; "
                f"keep the message and consume it again (group {group}, offset {request.offset})"
            )
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        return self._bury(peer, command, request, message)

    def _message_at(self, offset: int) -> StoredMessage:
        record = self._state.store.record_at(offset) if offset >= 0 else None
        if record is None:
            raise RequestRefusedError(f"look message by offset failed, {offset}", code=ResponseCode.SYSTEM_ERROR)
        return decode_record(record)

    def _bury(self, peer: Peer, command: RemotingCommand, request: _SendBack, message: StoredMessage) -> RemotingCommand | None:
        topic = self._state.topics.ensure(names.DLQ_PREFIX + request.group, queues=1)
        result = self._state.store.put(self._dead_letter(topic.name, message))
        if result.status is not PutStatus.PUT_OK:
            return command.reply(ResponseCode.SYSTEM_ERROR, f"{result.status.value} {self._state.store.write_refusal}".rstrip())
        self._state.counters.put(topic.name, 1, result.wrote_bytes)
        if self._durable is None:
            return command.reply()
        self._answer_later(peer, command, result, self._durable)
        return None

    def _answer_later(self, peer: Peer, command: RemotingCommand, result: PutResult, durable: DurableAnswers) -> None:
        def answer(is_durable: bool) -> None:
            if is_durable:
                peer.send(command.reply())
            else:
                peer.send(command.reply(ResponseCode.SYSTEM_ERROR, PutStatus.FLUSH_DISK_TIMEOUT.value))

        durable.wait(result.physical_offset + result.wrote_bytes, answer)

    def _dead_letter(self, topic: str, message: StoredMessage) -> MessageToStore:
        properties = dict(message.properties)
        properties.setdefault(props.RETRY_TOPIC, message.topic)
        properties.setdefault(props.ORIGIN_MESSAGE_ID, offset_message_id(message.store_host, message.physical_offset))
        properties.pop(props.DELAY, None)
        return MessageToStore(
            topic=topic,
            queue_id=0,
            flag=message.flag,
            sys_flag=message.sys_flag,
            born_timestamp_ms=message.born_timestamp_ms,
            born_host=message.born_host,
            store_host=message.store_host,
            reconsume_times=message.reconsume_times + 1,
            prepared_transaction_offset=0,
            body=message.body,
            properties=props.encode_properties(properties),
        )

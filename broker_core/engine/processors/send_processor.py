"""Sends: the put, its counters, the answer (Source: docs/spec/broker.md §2.3, §2.8, §2.9, docs/spec/remoting.md §2.2.1).

`broker_core.engine.processors.send_admission` checks a send first and returns its place.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import NamedTuple

from broker_core.config import BrokerConfig
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.plain.requests import PlainSend
from broker_core.engine.processors.put_rewrites import PutRewrites
from broker_core.engine.processors.send_admission import SendAdmission, SendTarget, batch_fault, check_batch, without_property
from broker_core.engine.processors.send_flow import Defer, SendFlow
from broker_core.engine.processors.send_header import SendHeader, parse_send_header
from broker_core.engine.schedule.timer.recall_handle import recall_fields
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.engine.tables.peer import FramePeer, Peer, host_of
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.codes import VERSION_TOPIC_MAPPING, ResponseCode
from broker_core.protocol.frame import RemotingCommand, decode_frame, encode_command
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress, MessageToStore

_CODES = {
    PutStatus.PUT_OK: ResponseCode.SUCCESS,
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.SERVICE_NOT_AVAILABLE: ResponseCode.SERVICE_NOT_AVAILABLE,
    PutStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
    PutStatus.CREATE_MAPPED_FILE_FAILED: ResponseCode.SYSTEM_ERROR,
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: ResponseCode.SYSTEM_ERROR,
    PutStatus.UNKNOWN_ERROR: ResponseCode.SYSTEM_ERROR,
}
_PUT_OK = PutStatus.PUT_OK
_ILLEGAL = (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED)
_TOO_LARGE = PutResult(PutStatus.MESSAGE_ILLEGAL)


class SendOutcome(NamedTuple):
    """What became of a send. A named tuple, because one is made for each send.

    Attributes:
        queue_offset: -1 where nothing was stored.
        physical_offset: Likewise.
        put_status: Why store or timers refused, by the put statuses of 5.x; empty for every other send.
    """

    code: int
    remark: str
    queue_offset: int = -1
    physical_offset: int = -1
    recall_handle: str = ""
    put_status: str = ""


class SendProcessor:
    """Serves SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE; ``durable`` is None with ASYNC_FLUSH.

    ``choose`` picks a number below its argument, for requests that leave the queue to the broker; ``defer`` is for `SendFlow`.
    """

    def __init__(
        self,
        state: BrokerState,
        durable: DurableAnswers | None,
        rewrites: PutRewrites,
        *,
        choose: Callable[[int], int] = random.randrange,
        defer: Defer | None = None,
    ) -> None:
        self._state = state
        self.store_host = state.store_host
        self.admission = SendAdmission(state, rewrites, choose=choose)
        self.flow = SendFlow(state, defer)
        self._store = state.store
        self._counters = state.counters
        self._durable = durable
        self._host_hex = state.store_host.packed.hex().upper()
        self._region = state.config.region_id
        self._body_bytes_max = state.config.store.max_message_bytes
        self._traced_properties = f"{props.MESSAGE_REGION}\x01{self._region}\x02{props.TRACE_ON}\x01true"

    def handle(self, peer: Peer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve one send; None when the answer is sent once the message is on disk."""
        started = perf_counter()
        try:
            self.flow.check(started)
            header = parse_send_header(command)
            if command.version >= VERSION_TOPIC_MAPPING:
                header.properties = self._as_stored_by_5x(header.properties)
            target = self.admission.admit(header)
            result = self.put(header, target, command.body, host_of(peer))
        except (RequestRefusedError, CodecError) as error:
            return command.reply(*self._refusal(error), self.extra_fields())
        answer = command.reply(ext_fields=self._answer_fields(result, target))
        if self._durable is None or not target.wait:
            self._took(started)
            return answer
        send = partial(self._answer, peer, command, answer, started)
        self._durable.wait(result.physical_offset + result.wrote_bytes, send)
        return None

    def handle_plain(self, peer: FramePeer, send: PlainSend) -> RemotingCommand | None:
        """Serve a send of a codec: `handle` without fields. None when the answer is, or will be, sent as a frame."""
        started = perf_counter()
        header = send.header
        if send.version >= VERSION_TOPIC_MAPPING:
            header = replace(header, properties=self._as_stored_by_5x(header.properties))
        try:
            self.flow.check(started)
            target = self.admission.admit(header)
            result = self.put(header, target, send.body, host_of(peer))
        except (RequestRefusedError, CodecError) as error:
            return send.reply(*self._refusal(error), self.extra_fields())
        if target.topic == names.WHEEL_TIMER_TOPIC or target.told_queue_id != header.queue_id:
            frame = encode_command(send.reply(ext_fields=self._answer_fields(result, target)))
        else:
            frame = send.answers.answer(send.opaque, result.physical_offset, result.queue_offset)
        if self._durable is None or not target.wait:
            self._took(started)
            peer.send_frame(frame)
            return None
        answer = partial(self._answer_plain, peer, send, frame, started)
        self._durable.wait(result.physical_offset + result.wrote_bytes, answer)
        return None

    def serve(self, header: SendHeader, body: bytes, born_host: HostAddress, answered: Callable[[SendOutcome], None]) -> None:
        """Serve a send of a 5.x client that is no frame of remoting.

        Args:
            header: Its properties get what the broker adds.
            body: Of one message.
            born_host: Where it comes from.
            answered: Called now, or once the message is on disk.
        """
        started = perf_counter()
        header.properties = self._as_stored_by_5x(header.properties)
        try:
            self.flow.check(started)
            target = self.admission.admit(header)
            result = self.put(header, target, body, born_host)
        except (RequestRefusedError, CodecError) as error:
            answered(SendOutcome(*self._refusal(error), put_status=str(error.context.get("put_status", ""))))
            return
        recall_handle = ""
        if target.topic == names.WHEEL_TIMER_TOPIC:
            recall_handle = recall_fields(target.properties, self._state.config.broker_name).get("recallHandle", "")
        outcome = SendOutcome(ResponseCode.SUCCESS, "", result.queue_offset, result.physical_offset, recall_handle)
        if self._durable is None or not target.wait:
            self._took(started)
            answered(outcome)
            return

        def answer(is_durable: bool) -> None:
            self._took(started)
            if is_durable:
                answered(outcome)
            else:
                code, remark = self.not_durable()
                answered(outcome._replace(code=code, remark=remark))

        self._durable.wait(result.physical_offset + result.wrote_bytes, answer)

    def _refusal(self, error: RequestRefusedError | CodecError) -> tuple[int, str]:
        """Count a refused send; returns code and remark of its answer."""
        self._counters.put_failed += 1
        return error.code if isinstance(error, RequestRefusedError) else ResponseCode.MESSAGE_ILLEGAL, error.message

    def _took(self, started: float) -> None:
        now = perf_counter()
        self._counters.put_took(now - started, now)

    @property
    def own_properties(self) -> tuple[bytes, bytes]:
        """What the broker adds to the properties of a message: of a client before 5.0, and of others."""
        own = self.admission.own_properties
        return own.encode(), f"{self._traced_properties}\x02{own}".encode()

    def _as_stored_by_5x(self, text: str) -> str:
        """Add region and trace switch to a 5.x client's message, because consumers of 5.x trace only messages with a region.

        A broker of 5.3.3 writes both into the message of any client, in place of the client's own; one of 4.9.4 adds neither
        and keeps the client's. Each client finds here what brokers of its own line store.
        """
        for name in (props.MESSAGE_REGION, props.TRACE_ON):
            if f"{name}\x01" in text:
                text = without_property(text, name)
        text = text.removesuffix("\x02")
        added = self._traced_properties
        return f"{text}\x02{added}" if text else added

    def reconfigure(self, config: BrokerConfig) -> None:
        self._body_bytes_max = config.store.max_message_bytes
        self.admission.reconfigure(config)
        self.flow.reconfigure(config)

    def _answer(self, peer: Peer, command: RemotingCommand, answer: RemotingCommand, started: float, durable: bool) -> None:
        self._took(started)
        if not durable:
            answer.code, answer.remark = self.not_durable()
        if not command.is_oneway:
            peer.send(answer)

    def _answer_plain(self, peer: FramePeer, send: PlainSend, frame: bytes, started: float, durable: bool) -> None:
        self._took(started)
        if durable:
            peer.send_frame(frame)
        else:
            peer.send(send.reply(*self.not_durable(), decode_frame(frame, 0, len(frame) - 4).ext_fields))

    def not_durable(self) -> tuple[ResponseCode, str]:
        """Code and remark of an answer whose message the disk has not confirmed.

        A late sync leaves it stored. After a failed one it may be lost: the producer must send it to another broker.
        """
        refusal = self._store.write_refusal
        code = ResponseCode.SERVICE_NOT_AVAILABLE if refusal else ResponseCode.FLUSH_DISK_TIMEOUT
        return code, refusal or "the message is stored, the disk has not confirmed it in time"

    # ---- the put ----

    def put(
        self, header: SendHeader, target: SendTarget, body: bytes | bytearray | memoryview, born_host: HostAddress
    ) -> PutResult:
        """Put an admitted message, and count it. Raises `RequestRefusedError` where the store refuses it; else as `store`."""
        result = self.store(header, target, body, born_host)
        if result.status is not _PUT_OK:
            raise RequestRefusedError(self.put_remark(result), code=_CODES[result.status], put_status=result.status.value)
        self._counters.put(target.topic, result.message_count, result.wrote_bytes)
        return result

    def store(
        self, header: SendHeader, target: SendTarget, body: bytes | bytearray | memoryview, born_host: HostAddress
    ) -> PutResult:
        """Put an admitted message.

        Raises:
            RequestRefusedError: It has no body, or a member of a batch has a forbidden property.
            CodecError: The body is no batch although the header says so.
        """
        if not body:
            raise RequestRefusedError("the message has no body: send at least one byte", code=ResponseCode.MESSAGE_ILLEGAL)
        if len(body) > self._body_bytes_max:
            return _TOO_LARGE
        message = MessageToStore(
            target.topic,
            target.queue_id,
            header.flag,
            target.sys_flag,
            header.born_timestamp_ms,
            born_host,
            self.store_host,
            header.reconsume_times,
            0,
            body,
            target.properties,
        )
        if not header.batch:
            return self._store.put(message)
        if header.topic.startswith(names.RETRY_PREFIX):
            raise RequestRefusedError("batch request does not support retry group", code=ResponseCode.MESSAGE_ILLEGAL)
        check_batch(body, self.admission.reserved)
        result = self._store.put_batch(message)
        if result.status in _ILLEGAL and (fault := batch_fault(body, target.properties)):
            raise RequestRefusedError(fault, code=ResponseCode.MESSAGE_ILLEGAL)
        return result

    def put_remark(self, result: PutResult) -> str:
        """Why a put did not store, for the client."""
        if result.status is PutStatus.SERVICE_NOT_AVAILABLE:
            why = self._store.write_refusal or "the store does not take messages"
            return f"service not available now: {why}"
        if result.status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
            return (
                "the message is illegal, maybe msg body or properties length not matched: a body may have "
                f"{self._body_bytes_max:,} bytes (maxMessageSize), properties {props.PROPERTIES_BYTES_MAX:,} "
                f"({result.status.value})"
            )
        why = self._store.write_refusal
        return f"the store failed: {result.status.value}{f', {why}' if why else ''}"

    def _answer_fields(self, result: PutResult, target: SendTarget) -> dict[str, str]:
        fields = self.stored_fields(result, target.told_queue_id)
        if target.topic == names.WHEEL_TIMER_TOPIC:
            fields |= recall_fields(target.properties, self._state.config.broker_name)
        return fields

    def stored_fields(self, result: PutResult, queue_id: int) -> dict[str, str]:
        """Header of the answer to a send that was stored."""
        if result.message_count == 1:
            message_id = f"{self._host_hex}{result.physical_offset:016X}"
        else:
            host = self.store_host
            message_id = ",".join([offset_message_id(host, offset) for offset in result.physical_offsets])
        return {
            "msgId": message_id,
            "queueId": str(queue_id),
            "queueOffset": str(result.queue_offset),
            props.MESSAGE_REGION: self._region,
            props.TRACE_ON: "true",
        }

    def extra_fields(self) -> dict[str, str]:
        """Header fields of every answer to a send."""
        return {props.MESSAGE_REGION: self._region, props.TRACE_ON: "true"}


def header_for_console(topic: str, queue_id: int, properties: Mapping[str, str], flag: int, now_ms: int) -> SendHeader:
    """Header of a message sent from the console: a producer's with the usual template topic."""
    return SendHeader(
        topic=topic,
        queue_id=queue_id,
        default_topic=names.AUTO_CREATE_TOPIC,
        default_topic_queues=4,
        sys_flag=0,
        born_timestamp_ms=now_ms,
        flag=flag,
        properties=props.encode_properties(properties).decode(),
        reconsume_times=0,
        reconsume_times_max=None,
        batch=False,
    )

"""Replies of request-reply: pushed to the requesting producer, then stored.

Source: docs/spec/remoting.md §2.2.11, docs/spec/broker.md §2.7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.send_admission import SendTarget
from broker_core.engine.processors.send_header import SendHeader, parse_send_header
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.tables.peer import Peer, host_of
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import OrbitError, RequestRefusedError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message import properties as props
from broker_core.transport.connection import RequestTimeoutError

PUSH_TIMEOUT_MS = 10_000

REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
PUSH_REPLY_TIME = "PUSH_REPLY_TIME"

_LONG_NAMES = {"a": "producerGroup", "c": "defaultTopic", "k": "unitMode"}


@dataclass(slots=True)
class _Reply:
    peer: Peer
    command: RemotingCommand
    header: SendHeader
    target: SendTarget
    body: bytes


class ReplyProcessor:
    """Serves SEND_REPLY_MESSAGE and SEND_REPLY_MESSAGE_V2; ``durable`` is None where answers need not wait for the disk.

    The answer says whether the producer accepted the reply; it is stored either way, unless ``storeReplyMessageEnable`` is off.
    """

    def __init__(self, state: BrokerState, send: SendProcessor, durable: DurableAnswers | None) -> None:
        self._state = state
        self._send = send
        self._durable = durable

    def handle(self, peer: Peer, command: RemotingCommand) -> None:
        """Push one reply; the answer is sent when the producer has it."""
        header = parse_send_header(command)
        now_ms = self._state.clock()
        header.properties = _with(header.properties, PUSH_REPLY_TIME, str(now_ms))
        target = self._send.admission.admit(header)
        reply = _Reply(peer, command, header, target, bytes(command.body))
        client_id = _property(header.properties, REPLY_TO_CLIENT)
        if client_id is None:
            self._finish(reply, f"reply message properties[{REPLY_TO_CLIENT}] is null")
            return
        producer = self._state.producers.find(client_id)
        if producer is None:
            self._finish(reply, f"push reply message fail, channel of <{client_id}> not found.")
            return
        question = RemotingCommand(
            RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
            self._push_fields(reply, now_ms),
            reply.body,
            serialize_type=producer.serialize_type,
        )
        producer.ask(question, PUSH_TIMEOUT_MS, lambda answer: self._pushed(reply, client_id, answer))

    def _push_fields(self, reply: _Reply, now_ms: int) -> dict[str, str]:
        given, header = reply.command.ext_fields, reply.header
        more = {long: given.get(long) or given.get(short) for short, long in _LONG_NAMES.items()}
        return {
            **{name: value for name, value in more.items() if value},
            "bornHost": reply.peer.remote_address,
            "bornTimestamp": str(header.born_timestamp_ms),
            "defaultTopicQueueNums": str(header.default_topic_queues),
            "flag": str(header.flag),
            "properties": header.properties,
            "queueId": str(reply.target.told_queue_id),
            "reconsumeTimes": str(header.reconsume_times),
            "storeHost": str(self._state.store_host),
            "storeTimestamp": str(now_ms),
            "sysFlag": str(header.sys_flag),
            "topic": header.topic,
        }

    def _pushed(self, reply: _Reply, client_id: str, answer: RemotingCommand | OrbitError) -> None:
        if isinstance(answer, RequestTimeoutError):
            self._finish(reply, f"push reply message to <{client_id}> fail, it did not answer within {PUSH_TIMEOUT_MS:,} ms.")
        elif isinstance(answer, OrbitError):
            self._finish(reply, f"push reply message to <{client_id}> fail: {answer}")
        elif answer.code != ResponseCode.SUCCESS:
            self._finish(reply, f"push reply message to <{client_id}> fail: {answer.remark}")
        else:
            self._finish(reply, None)

    def _finish(self, reply: _Reply, fault: str | None) -> None:
        """Store the reply, then answer: an error if the producer did not accept it."""
        fields = {"msgId": "0", "queueId": str(reply.target.told_queue_id), "queueOffset": "0"} | self._send.extra_fields()
        code = ResponseCode.SUCCESS if fault is None else ResponseCode.SYSTEM_ERROR
        answer = reply.command.reply(code, fault, fields)
        if not self._state.config.store_reply_message:
            self._answer(reply, answer)
            return
        try:
            stored, end = self._store(reply)
        except RequestRefusedError as refusal:
            self._state.counters.put_failed += 1
            self._answer(reply, reply.command.reply(refusal.code, refusal.message, fields))
            return
        answer.ext_fields |= stored
        if self._durable is None:
            self._answer(reply, answer)
        else:
            self._durable.wait(end, lambda durable: self._answer(reply, answer if durable else _not_durable(reply, fields)))

    def _store(self, reply: _Reply) -> tuple[dict[str, str], int]:
        result = self._send.put(reply.header, reply.target, reply.body, host_of(reply.peer))
        return self._send.stored_fields(result, reply.target.told_queue_id), result.physical_offset + result.wrote_bytes

    def _answer(self, reply: _Reply, answer: RemotingCommand) -> None:
        if not reply.command.is_oneway:
            reply.peer.send(answer)


def _not_durable(reply: _Reply, fields: dict[str, str]) -> RemotingCommand:
    remark = "the reply is stored, the disk has not confirmed it in time"
    return reply.command.reply(ResponseCode.FLUSH_DISK_TIMEOUT, remark, fields)


def _property(text: str, name: str) -> str | None:
    return props.decode_properties(text.encode()).get(name) or None


def _with(text: str, name: str, value: str) -> str:
    rest = re.sub(rf"(?:^|\x02){name}\x01[^\x02]*", "", text).strip("\x02")
    return f"{rest}\x02{name}\x01{value}" if rest else f"{name}\x01{value}"

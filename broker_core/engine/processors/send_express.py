"""The short way of plain sends: from the bytes of a request to those of its answer, without header fields in between.

A send of code 310 of a client before 5.0, with a binary header or one in JSON, whose fields stand in the order in which Java
writes them; `broker_core.engine.processors.send_lanes` draws both.

What a producer says before its time and behind its properties is alike in all its sends to a queue. It is read and checked
once and found again by its bytes. Properties stay bytes. Whatever else a request has, is or needs (delays, transactions, other
flags, topics to be made, refusals of any kind) is left to `SendProcessor`, which knows all rules; a send that goes this way is
stored and answered with the same bytes there. It takes 11 µs of a processor (JSON: 14), there 20 (25).

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.1, docs/spec/broker.md §2.8.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from struct import Struct
from time import perf_counter
from typing import TypeVar

from broker_core.engine.processors.binary_head import HEAD, OPAQUE_BYTES, OPAQUE_POSITION
from broker_core.engine.processors.durable_answers import DurableAnswers
from broker_core.engine.processors.send_lanes import (
    BinaryLane,
    JsonEnd,
    JsonLane,
    Lane,
    PlainFields,
    is_plain_end_of_binary,
    plain_end_of_json,
    plain_start_of_binary,
    plain_start_of_json,
)
from broker_core.engine.processors.send_processor import REWRITE_MARKS, SendProcessor
from broker_core.engine.store.results import PutStatus
from broker_core.engine.tables.peer import ExpressPeer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol import names
from broker_core.protocol.codes import VERSION_TOPIC_MAPPING, LanguageCode, RequestCode, SerializeType
from broker_core.protocol.fields import INT32_MAX
from broker_core.protocol.frame import LANGUAGES_BY_NUMBER, decode_frame
from broker_core.protocol.message.model import MessageToStore

_PREFIX = Struct(">II")
_LENGTH = Struct(">I")
_BINARY, _JSON = int(SerializeType.ROCKETMQ), int(SerializeType.JSON)
_SEND = int(RequestCode.SEND_MESSAGE_V2)
_TIME = b"\0\1g\0\0\0\x0d"
_TIME_DIGITS = 13
_FLAG = b"\0\1h\0\0\0\x010\0\1i"
"""Between the time and the length of the properties: a flag of 0."""

_JSON_SEND = b'{"code":310,'
_JSON_TIME = b'"g":"'
_JSON_REST = re.compile(
    rb'([0-9]{13})","h":"0","i":"([^"\x00-\x1f\x80-\xff]*+)((?>"[^\x00-\x1f]*?"opaque":))(0|[1-9][0-9]{0,9})(,[^\x00-\x1f]*+)'
)
"""From the time on: time, properties, what is behind them, opaque, the rest. A quote within a text has a backslash before it,
and a backslash that is left in the properties sends them the long way. No part is tried twice: the time is that of one look."""

_KNOWN_MAX = 4096
_ALIKE_BYTES_MAX = 1024

_WAIT_INSIDE, _WAIT_AT_END = b"\x02WAIT\x01true\x02", b"\x02WAIT\x01true"
_UNUSUAL = (*(mark.encode() for mark in REWRITE_MARKS), b"WAIT\x01", b"CLUSTER\x01")
_PUT_OK = PutStatus.PUT_OK
_UNUSUAL_TOPICS = (names.RETRY_PREFIX, names.LMQ_PREFIX, names.SYSTEM_PREFIX)

_AnyLane = TypeVar("_AnyLane", BinaryLane, JsonLane)


class SendExpress:
    """Serves plain sends from their bytes. For the loop's thread.

    Args:
        state: What processors share.
        durable: As for `SendProcessor`.
        send: Serves all other sends; the rules are its.
    """

    def __init__(self, state: BrokerState, durable: DurableAnswers | None, send: SendProcessor) -> None:
        self._topics = state.topics
        self._counters = state.counters
        self._store = state.store
        self._store_host = state.store_host
        self._durable = durable
        self._send = send
        self._lanes: dict[bytes, BinaryLane | None] = {}
        """By the fields before the time; None for what does not go this way."""
        self._json_lanes: dict[bytes, JsonLane | None] = {}
        self._ends: dict[bytes, bool] = {}
        """Binary fields behind the properties, and whether such sends go this way."""
        self._json_ends: dict[tuple[bytes, bytes], JsonEnd | None] = {}
        """By what stands before and behind the opaque; None for what does not go this way."""

    def serve(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:
        """Serve the request in a frame, if it goes this way; else nothing has happened.

        Args:
            peer: Who sent it, and takes the answer.
            source: Holds the frame.
            position: Where its length stands.
            total: That length.
        """
        if total < HEAD.size:
            return False
        kind = source[position + _LENGTH.size]
        if kind == _BINARY:
            return self._serve_binary(peer, source, position, total)
        return kind == _JSON and self._serve_json(peer, source, position, total)

    def _serve_binary(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:
        started = perf_counter()
        _, word, code, language, version, _, flag, remark, size = HEAD.unpack_from(source, position)
        if code != _SEND or flag or remark or version >= VERSION_TOPIC_MAPPING:
            return False
        first = position + HEAD.size
        end = position + 8 + (word & 0xFFFFFF)
        frame_end = position + 4 + total
        time_at = source.find(_TIME, first, end)
        if end != first + size or end >= frame_end or time_at < 0:
            return False
        flag_at = time_at + len(_TIME) + _TIME_DIGITS
        properties_at = flag_at + len(_FLAG) + _LENGTH.size
        if properties_at > end or not source.startswith(_FLAG, flag_at):
            return False
        properties_end = properties_at + _LENGTH.unpack_from(source, properties_at - _LENGTH.size)[0]
        if properties_end > end:
            return False
        alike, behind = source[first:time_at], source[properties_end:end]
        lane = self._lanes.get(alike) or self._new_lane(self._lanes, alike, plain_start_of_binary, BinaryLane)
        if lane is None or not (self._ends.get(behind) or self._is_plain_end(behind)):
            return False
        if not self._is_open(lane):
            del self._lanes[alike]
            return False
        at = position + OPAQUE_POSITION
        opaque, time = source[at : at + OPAQUE_BYTES], source[time_at + len(_TIME) : flag_at]
        answered = self._put(peer, lane, started, time, source[properties_at:properties_end], source[end:frame_end], opaque)
        if answered:
            peer.version, peer.serialize_type = version, SerializeType.ROCKETMQ
            peer.language = LANGUAGES_BY_NUMBER.get(language, LanguageCode.OTHER)
        return answered

    def _serve_json(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:
        started = perf_counter()
        first = position + _PREFIX.size
        if not source.startswith(_JSON_SEND, first):
            return False
        end, frame_end = first + (_PREFIX.unpack_from(source, position)[1] & 0xFFFFFF), position + 4 + total
        time_at = source.find(_JSON_TIME, first, end)
        if end >= frame_end or time_at < 0:
            return False
        rest = _JSON_REST.fullmatch(source, time_at + len(_JSON_TIME), end)
        if rest is None:
            return False
        time, properties, middle, opaque, last = rest.groups()
        alike = source[first:time_at]
        lane = self._json_lanes.get(alike) or self._new_lane(self._json_lanes, alike, plain_start_of_json, JsonLane)
        told = self._json_ends.get((middle, last)) or self._json_end(middle, last)
        if lane is None or told is None or int(opaque) > INT32_MAX:
            return False
        if not self._is_open(lane):
            del self._json_lanes[alike]
            return False
        text = properties.replace(b"\\u0001", b"\1").replace(b"\\u0002", b"\2")
        if b"\\" in text:
            return False
        answered = self._put(peer, lane, started, time, text, source[end:frame_end], opaque)
        if answered:
            peer.version, peer.serialize_type, peer.language = told.version, SerializeType.JSON, told.language
        return answered

    def _is_open(self, lane: Lane) -> bool:
        """Whether its topic is as it was, and may be sent to."""
        return self._topics.get(lane.topic.name) is lane.topic and self._send.is_writable

    def _put(  # noqa: PLR0917  the hot path names no arguments
        self,
        peer: ExpressPeer,
        lane: BinaryLane | JsonLane,
        started: float,
        time: bytes,
        text: bytes,
        body: bytes,
        opaque: bytes,
    ) -> bool:
        """Store and answer; False when nothing was stored."""
        properties = self._stored_properties(text)
        if properties is None:
            return False
        try:
            born_ms = int(time)
            self._send.flow.check(started)
        except (ValueError, RequestRefusedError):
            return False
        name = lane.topic.name
        result = self._store.put(
            MessageToStore(
                name, lane.queue_id, 0, lane.sys_flag, born_ms, self._send.born_host(peer), self._store_host, 0, 0, body,
                properties,
            )
        )  # fmt: skip
        if result.status is not _PUT_OK:
            return False
        self._counters.put(name, 1, result.wrote_bytes)
        answer = lane.answer(opaque, result.physical_offset, result.queue_offset)
        if self._durable is not None:
            self._durable.wait(result.physical_offset + result.wrote_bytes, partial(self._answer, peer, answer, started))
            return True
        peer.send_frame(answer)
        now = perf_counter()
        self._counters.put_took(now - started, now)
        return True

    def _answer(self, peer: ExpressPeer, answer: bytes, started: float, durable: bool) -> None:
        now = perf_counter()
        self._counters.put_took(now - started, now)
        if durable:
            peer.send_frame(answer)
        else:
            peer.send(self._send.not_durable(decode_frame(answer, 0, len(answer) - 4)))

    def _stored_properties(self, text: bytes) -> bytes | None:
        """As `SendProcessor` makes them; None where more is to be done than to leave out the usual WAIT."""
        text = text.replace(_WAIT_INSIDE, b"\x02").removesuffix(_WAIT_AT_END)
        for mark in _UNUSUAL:
            if mark in text:
                return None
        if not text.isascii():
            return None
        text = text.removesuffix(b"\x02")
        own = self._send.own_properties_bytes
        return b"%b\x02%b" % (text, own) if text else own

    def _new_lane(
        self,
        lanes: dict[bytes, _AnyLane | None],
        alike: bytes,
        read: Callable[[bytes], PlainFields | None],
        kind: type[_AnyLane],
    ) -> _AnyLane | None:
        """Lane of a send whose start is met for the first time, or does not go this way."""
        if alike in lanes or len(alike) > _ALIKE_BYTES_MAX:
            return None
        if len(lanes) >= _KNOWN_MAX:
            lanes.clear()
        fields = read(alike)
        if fields is None:
            lanes[alike] = None
            return None
        name, queue_id, sys_flag = fields
        topic = self._topics.get(name)
        if topic is None or queue_id >= max(topic.read_queues, topic.write_queues):
            return None  # not kept: topics come, and grow
        if name in names.NOT_SENDABLE_TOPICS or name.startswith(_UNUSUAL_TOPICS):
            return None
        lane = lanes[alike] = kind(topic, queue_id, sys_flag, self._send)
        return lane

    def _is_plain_end(self, behind: bytes) -> bool:
        if behind in self._ends:
            return False
        is_plain = is_plain_end_of_binary(behind)
        if len(behind) <= _ALIKE_BYTES_MAX:
            if len(self._ends) >= _KNOWN_MAX:
                self._ends.clear()
            self._ends[behind] = is_plain
        return is_plain

    def _json_end(self, middle: bytes, last: bytes) -> JsonEnd | None:
        key = middle, last
        if key in self._json_ends or len(middle) + len(last) > _ALIKE_BYTES_MAX:
            return None
        if len(self._json_ends) >= _KNOWN_MAX:
            self._json_ends.clear()
        told = self._json_ends[key] = plain_end_of_json(middle, last)
        return told

"""Codec of plain sends: from the bytes of a request to a typed send, without header fields in between.

A plain send has code 310 and a binary or a JSON header whose fields have Java's order;
`broker_core.engine.processors.plain.send_lanes` draws both.

The fields before the time and after the properties are equal in all sends of a producer to a queue. They are read for the
first two of these and then found by their bytes. The general decoding reads all other sends and any text that is not
ASCII; it makes the same header of a plain send.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.1.
"""

from __future__ import annotations

import re
from struct import Struct
from typing import TypeVar

from broker_core.engine.processors.plain.learnt import LearntParts
from broker_core.engine.processors.plain.requests import HEAD, OPAQUE_BYTES, OPAQUE_POSITION, PlainSend
from broker_core.engine.processors.plain.send_lanes import (
    AnswerFields,
    BinaryLane,
    JsonEnd,
    JsonLane,
    SendLane,
    is_plain_end_of_binary,
    plain_end_of_json,
    plain_start_of_binary,
    plain_start_of_json,
)
from broker_core.engine.processors.send_header import SendHeader
from broker_core.protocol.codes import LanguageCode, RequestCode, SerializeType
from broker_core.protocol.fields import INT32_MAX
from broker_core.protocol.frame import LANGUAGES_BY_NUMBER

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
"""From the time on: time, properties, the text after them, opaque, the rest. A quote within a text has a backslash before it,
and properties with another backslash are decoded the general way. No part is tried twice, so one pass decides.
"""

_ANY_CLIENT = JsonEnd(0, LanguageCode.OTHER)

_new_tuple = tuple.__new__
"""Makes a named tuple without a call into Python."""
_new_header = SendHeader.__new__
"""Ten values set one by one take half the time of a call with ten arguments."""

_AnyLane = TypeVar("_AnyLane", BinaryLane, JsonLane)


class SendCodec:
    """Reads plain sends; ``answer_fields`` makes the fields of an answer to a stored send. For the loop's thread."""

    def __init__(self, answer_fields: AnswerFields) -> None:
        self._lanes = LearntParts[bytes, BinaryLane](lambda part: _lane(BinaryLane, plain_start_of_binary(part), answer_fields))
        self._json_lanes = LearntParts[bytes, JsonLane](lambda part: _lane(JsonLane, plain_start_of_json(part), answer_fields))
        self._ends = LearntParts[bytes, bool](is_plain_end_of_binary)
        """Binary fields after the properties."""
        self._json_ends = LearntParts[tuple[bytes, bytes], JsonEnd](lambda parts: plain_end_of_json(*parts), _size_of_parts)
        """By the text before and after the opaque."""
        self._answer_fields = answer_fields

    def batch_lane(self, kind: int, start: bytes) -> BinaryLane | JsonLane | None:
        """The lane of batches whose header begins with some bytes, if those are plain; ``kind`` is the header's."""
        if kind == _BINARY:
            return _lane(BinaryLane, plain_start_of_binary(start), self._answer_fields)
        return _lane(JsonLane, plain_start_of_json(start, batch=True), self._answer_fields)

    def batch_end(self, kind: int, end: bytes, last: bytes) -> JsonEnd | None:
        """As `known_end` for batches."""
        if kind == _BINARY:
            return _ANY_CLIENT if is_plain_end_of_binary(end, batch=True) else None
        return plain_end_of_json(end, last, batch=True)

    def known_lane(self, kind: int, start: bytes) -> BinaryLane | JsonLane | None:
        """The lane of sends whose header begins with some bytes, if one was read before; ``kind`` is the header's."""
        if kind == _BINARY:
            return self._lanes.again(start)
        return self._json_lanes.again(start)

    def forget_lane(self, kind: int, start: bytes) -> None:
        """Forget such a lane: machine code serves its sends."""
        (self._lanes if kind == _BINARY else self._json_lanes).pop(start, None)

    def known_end(self, kind: int, end: bytes, last: bytes) -> JsonEnd | None:
        """The client that the end of such a header names, if it is plain; binary headers name it at their start."""
        if kind == _BINARY:
            return _ANY_CLIENT if self._ends[end] else None
        return self._json_ends[end, last]

    def read(self, source: bytes, position: int, total: int) -> PlainSend | None:
        """The send in a frame with its length ``total`` at ``position``; None if it is not plain."""
        if total < HEAD.size:
            return None
        kind = source[position + _LENGTH.size]
        if kind == _BINARY:
            return self._read_binary(source, position, total)
        return self._read_json(source, position, total) if kind == _JSON else None

    def _read_binary(self, source: bytes, position: int, total: int) -> PlainSend | None:
        _, word, code, language, version, _, flag, remark, size = HEAD.unpack_from(source, position)
        if code != _SEND or flag or remark:
            return None
        first = position + HEAD.size
        end = position + 8 + (word & 0xFFFFFF)
        frame_end = position + 4 + total
        time_at = source.find(_TIME, first, end)
        if end != first + size or end >= frame_end or time_at < 0:
            return None
        flag_at = time_at + len(_TIME) + _TIME_DIGITS
        properties_at = flag_at + len(_FLAG) + _LENGTH.size
        if properties_at > end or not source.startswith(_FLAG, flag_at):
            return None
        properties_end = properties_at + _LENGTH.unpack_from(source, properties_at - _LENGTH.size)[0]
        if properties_end > end:
            return None
        lane = self._lanes[source[first:time_at]]
        if lane is None or not self._ends[source[properties_end:end]]:
            return None
        header = _header(lane, source[time_at + len(_TIME) : flag_at], source[properties_at:properties_end])
        if header is None:
            return None
        at = position + OPAQUE_POSITION
        known = LANGUAGES_BY_NUMBER.get(language, LanguageCode.OTHER)
        return _new_tuple(PlainSend, (header, source[end:frame_end], source[at : at + OPAQUE_BYTES], lane, version, known))

    def _read_json(self, source: bytes, position: int, total: int) -> PlainSend | None:
        first = position + _PREFIX.size
        if not source.startswith(_JSON_SEND, first):
            return None
        end, frame_end = first + (_PREFIX.unpack_from(source, position)[1] & 0xFFFFFF), position + 4 + total
        time_at = source.find(_JSON_TIME, first, end)
        if end >= frame_end or time_at < 0:
            return None
        rest = _JSON_REST.fullmatch(source, time_at + len(_JSON_TIME), end)
        if rest is None:
            return None
        time, properties, middle, opaque, last = rest.groups()
        lane, client = self._json_lanes[source[first:time_at]], self._json_ends[middle, last]
        if lane is None or client is None or int(opaque) > INT32_MAX:
            return None
        text = properties.replace(b"\\u0001", b"\1").replace(b"\\u0002", b"\2")
        header = None if b"\\" in text else _header(lane, time, text)
        return None if header is None else _new_tuple(PlainSend, (header, source[end:frame_end], opaque, lane, *client))


def _lane(kind: type[_AnyLane], start: SendHeader | None, answer_fields: AnswerFields) -> _AnyLane | None:
    return None if start is None else kind(start, answer_fields)


def _size_of_parts(parts: tuple[bytes, bytes]) -> int:
    return len(parts[0]) + len(parts[1])


def _header(lane: SendLane, time: bytes, properties: bytes) -> SendHeader | None:
    """Header of a send of a lane; None where the time is no number or the properties are not ASCII."""
    if not time.isdigit() or not properties.isascii():
        return None
    header = _new_header(SendHeader)
    header.born_timestamp_ms = int(time)
    header.properties = str(properties, "ascii")
    header.topic = lane.topic
    header.queue_id = lane.queue_id
    header.default_topic = lane.default_topic
    header.default_topic_queues = lane.default_topic_queues
    header.sys_flag = lane.sys_flag
    header.flag = header.reconsume_times = 0
    header.reconsume_times_max = None
    header.batch = False
    return header

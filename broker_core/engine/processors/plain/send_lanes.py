"""The common part of plain sends, learnt from the first.

`broker_core.engine.processors.plain.send_codec` finds it by its bytes. A lane stands for the sends of one producer to one
queue, and writes their answers from a template. An end is the text after the properties, which is equal in nearly all sends.
Requests with other fields, with a field twice, or with unusual values have neither; they are decoded the general way.

    binary  a b c d e f │ g: 13 digits │ h = 0 │ i: properties │ j = 0, k, m = false
    JSON    {"code":310,"extFields":{"a":… "f":…, │ "g":"13 digits" │ ,"h":"0","i":"properties │ ","j":"0", … "opaque": │ n │ …}

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.1.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, NamedTuple

from broker_core.engine.processors.plain.requests import HEAD, OPAQUE_BYTES, OPAQUE_POSITION
from broker_core.engine.processors.send_header import SendHeader
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.errors import FrameError
from broker_core.outside import whole_of
from broker_core.protocol.codes import LanguageCode, RequestCode, SerializeType
from broker_core.protocol.fields import INT32_MAX
from broker_core.protocol.frame import RemotingCommand, binary_fields, decode_frame, encode_command

_LENGTH = Struct(">I")
_PREFIX = Struct(">II")
_SEND, _BATCH = int(RequestCode.SEND_MESSAGE_V2), int(RequestCode.SEND_BATCH_MESSAGE)
_MEANT = frozenset("abcdefghijklm")
"""Names of fields of a send. Others mean nothing to a broker; clients of 5.0 and later send some."""
_BEFORE_TIME = frozenset("abcdef")
_BEHIND = frozenset("jkm")
_SAMPLE = 0x7EDCBA9876543210
"""A physical offset whose digits are found again in an answer."""
_SAMPLE_OPAQUE = 1_987_654_321
_TOP_NAMES = frozenset(("code", "extFields"))
_LAST_NAMES = frozenset(("extFields", "flag", "language", "opaque", "version"))
_TYPE_NAME = "serializeTypeCurrentRPC"

AnswerFields = Callable[[PutResult, int], dict[str, str]]
"""Header fields of the answer to a stored send, from the put's result and the queue."""


class AnswerParts(NamedTuple):
    """An answer in parts. Between them stand opaque, physical offset and queue offset; in JSON the opaque comes last.

    Attributes:
        texts: The parts, with a queue offset of one digit; in JSON without the eight bytes of lengths.
        fields_at: Where the length of the fields stands in a binary answer.
        fields_bytes: That length without the digit.
    """

    texts: tuple[bytes, bytes, bytes, bytes]
    fields_at: int = 0
    fields_bytes: int = 0


class SendLane:
    """The common part of sends of one producer to one queue; `BinaryLane` and `JsonLane` write their answers from templates.

    ``start`` has the fields before the time.
    """

    kind: SerializeType

    __slots__ = ("_answer_fields", "default_topic", "default_topic_queues", "queue_id", "sys_flag", "topic")

    def __init__(self, start: SendHeader, answer_fields: AnswerFields) -> None:
        # A store has thousands of queues: one object for each name, and for each template, is enough.
        self.topic = sys.intern(start.topic)
        self.queue_id = start.queue_id
        self.default_topic = sys.intern(start.default_topic)
        self.default_topic_queues = start.default_topic_queues
        self.sys_flag = start.sys_flag
        self._answer_fields = answer_fields

    def _sample_answer(self, offset: int) -> bytes:
        sample = PutResult(PutStatus.PUT_OK, _SAMPLE, 0, offset, 0, 1, (_SAMPLE,))
        request = RemotingCommand(_SEND, serialize_type=self.kind, opaque=_SAMPLE_OPAQUE)
        return encode_command(request.reply(ext_fields=self._answer_fields(sample, self.queue_id)))


class BinaryLane(SendLane):
    """Answers with binary headers, whose template is for queue offsets with the same number of digits."""

    kind = SerializeType.ROCKETMQ

    __slots__ = ("_template", "_template_from", "_template_to")

    def __init__(self, start: SendHeader, answer_fields: AnswerFields) -> None:
        super().__init__(start, answer_fields)
        self._template = b""
        self._template_from = self._template_to = 0

    def answer(self, opaque: bytes, physical_offset: int, queue_offset: int) -> bytes:
        """The frame that answers a send; ``opaque`` as in the request."""
        if not self._template_from <= queue_offset < self._template_to:
            self._make_template(queue_offset)
        return self._template % (opaque, physical_offset, queue_offset)

    def parts(self) -> AnswerParts:
        frame = self._sample_answer(0)
        fields_at = HEAD.size - _LENGTH.size
        return AnswerParts(self._cut(frame, 1), fields_at, _LENGTH.unpack_from(frame, fields_at)[0] - 1)

    def _cut(self, frame: bytes, digits: int) -> tuple[bytes, bytes, bytes, bytes]:
        place_at = frame.index(b"%016X" % _SAMPLE)
        offset_at = frame.index(b"queueOffset", place_at) + len(b"queueOffset") + _LENGTH.size
        return (
            frame[:OPAQUE_POSITION],
            frame[OPAQUE_POSITION + OPAQUE_BYTES : place_at],
            frame[place_at + 16 : offset_at],
            frame[offset_at + digits :],
        )

    def _make_template(self, offset: int) -> None:
        digits = len(str(offset))
        self._template_from, self._template_to = 10 ** (digits - 1) if digits > 1 else 0, 10**digits
        parts = self._cut(self._sample_answer(self._template_from), digits)
        first, second, third, last = (part.replace(b"%", b"%%") for part in parts)
        self._template = _shared(b"".join((first, b"%b", second, b"%016X", third, b"%d", last)))


class JsonLane(SendLane):
    """Answers with JSON headers."""

    kind = SerializeType.JSON

    __slots__ = ("_template",)

    def __init__(self, start: SendHeader, answer_fields: AnswerFields) -> None:
        super().__init__(start, answer_fields)
        first, second, third, last = (part.replace(b"%", b"%%") for part in self.parts().texts)
        self._template = _shared(b"".join((first, b"%016X", second, b"%d", third, b"%b", last)))

    def parts(self) -> AnswerParts:
        rest, parts = self._sample_answer(0)[_PREFIX.size :], []
        for name, sample in ((b"", b"%016X" % _SAMPLE), (b'"queueOffset":"', b"0"), (b'"opaque":', b"%d" % _SAMPLE_OPAQUE)):
            before, found, rest = rest.partition(name + sample)
            assert found
            parts.append(before + name)
        first, second, third = parts
        return AnswerParts((first, second, third, rest))

    def answer(self, opaque: bytes, physical_offset: int, queue_offset: int) -> bytes:
        """The frame that answers a send; ``opaque`` in decimal digits."""
        header = self._template % (physical_offset, queue_offset, opaque)
        size = len(header)
        return _PREFIX.pack(size + 4, size) + header


@functools.lru_cache(maxsize=1024)
def _shared(template: bytes) -> bytes:
    """One object for equal templates: those of queues with the same number."""
    return template


class JsonEnd(NamedTuple):
    """The client that the end of a JSON header names."""

    version: int
    language: LanguageCode


def plain_start_of_binary(alike: bytes) -> SendHeader | None:
    """The fields before the time as a header without the rest, if those are a plain send's."""
    fields = _binary_fields(alike)
    return None if fields is None else _plain_start(fields)


def is_plain_end_of_binary(behind: bytes, *, batch: bool = False) -> bool:
    """Whether the fields behind the properties are a plain send's, or a plain batch's."""
    fields = _binary_fields(behind)
    return fields is not None and _is_plain_end(fields, batch)


def plain_start_of_json(alike: bytes, *, batch: bool = False) -> SendHeader | None:
    """The same from the text in a JSON header before its time, for a send of code 310, or a batch of code 320."""
    header = _json_object(alike + b'"g":""}}')
    code = _BATCH if batch else _SEND
    if header is None or header.keys() != _TOP_NAMES or type(header["code"]) is not int or header["code"] != code:
        return None
    fields = header["extFields"]
    if not _are_texts(fields) or fields.pop("g", None) != "":
        return None
    return _plain_start(fields)


def plain_end_of_json(middle: bytes, last: bytes, *, batch: bool = False) -> JsonEnd | None:
    """The client that a JSON header names after its properties, if that is a plain send's, or a plain batch's.

    ``middle`` reaches from the quote after the properties to the colon of the opaque, ``last`` begins with the comma after it.
    """
    text = b'{"extFields":{"i":"%b0%b' % (middle, last)
    header = _json_object(text)
    if header is None or header.keys() - {_TYPE_NAME} != _LAST_NAMES:
        return None
    fields, flag, opaque = header["extFields"], header["flag"], header["opaque"]
    if not _are_texts(fields) or fields.pop("i", None) != "" or not _is_plain_end(fields, batch):
        return None
    if type(flag) is not int or flag or type(opaque) is not int:
        return None
    try:
        command = decode_frame(_PREFIX.pack(len(text) + 4, len(text)) + text, 0, len(text) + 4)
    except FrameError:
        return None
    return JsonEnd(command.version, command.language)


def _plain_start(fields: Mapping[str, str]) -> SendHeader | None:
    if fields.keys() & _MEANT != _BEFORE_TIME:
        return None
    queues, queue_id, sys_flag = (whole_of(fields[name]) for name in "def")
    if queues is None or queue_id is None or sys_flag is None:
        return None
    is_usual = fields["b"] and queues <= INT32_MAX and queue_id <= INT32_MAX and sys_flag <= INT32_MAX
    return SendHeader(fields["b"], queue_id, fields["c"], queues, sys_flag, 0, 0, "", 0, None, False) if is_usual else None


def _is_plain_end(fields: Mapping[str, str], batch: bool) -> bool:
    is_its = fields.get("m", "false") == ("true" if batch else "false")
    return is_its and fields.keys() & _MEANT <= _BEHIND and fields.get("j", "0") == "0"


def _binary_fields(part: bytes) -> dict[str, str] | None:
    try:
        return binary_fields(part)
    except FrameError:
        return None


def _json_object(text: bytes) -> dict[str, Any] | None:
    """An object whose names are all different, in itself and in those within."""
    try:
        found = json.loads(text.decode(), object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _are_texts(fields: object) -> bool:
    return isinstance(fields, dict) and all(type(value) is str for value in fields.values())

"""Headers of answers to pulls: their fields, and whole ones from a template for pulls that found messages.

The templates are made once, from what `broker_core.protocol.frame` writes: 1 µs an answer instead of 8.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from broker_core.engine.store.results import GetStatus
from broker_core.protocol.codes import ResponseCode, SerializeType
from broker_core.protocol.frame import encode_command, reply_to

_PREFIX = Struct(">II")
_BINARY_KIND = int(SerializeType.ROCKETMQ) << 24
_OPAQUE = 1_987_654_321
"""A number that is found again in an answer."""


def answer_fields(broker_id: int, next_offset: int, min_offset: int, max_offset: int) -> dict[str, str]:
    """Header fields of every answer to a pull; ``broker_id`` is where to pull next."""
    return {
        "suggestWhichBrokerId": str(broker_id),
        "nextBeginOffset": str(next_offset),
        "minOffset": str(min_offset),
        "maxOffset": str(max_offset),
    }


def _sample(kind: SerializeType) -> bytes:
    """Header of an answer with four numbers of one digit."""
    found = reply_to(_OPAQUE, kind, ResponseCode.SUCCESS, GetStatus.FOUND.value, answer_fields(0, 0, 0, 0))
    return encode_command(found)[_PREFIX.size :].replace(b"%", b"%%")


def _replaced(template: bytes, sample: bytes, place: bytes, count: int) -> bytes:
    assert template.count(sample) == count
    return template.replace(sample, place)


def _binary_template() -> tuple[bytes, int]:
    """The template, and the length of the header fields without their numbers."""
    template = _replaced(_sample(SerializeType.ROCKETMQ), _OPAQUE.to_bytes(4, "big"), b"%b", 1)
    fields_bytes = len(template) - template.index(b"\0\x14suggestWhichBrokerId")
    template = _replaced(template, b"\0\0\0\x010", b"\0\0\0%c%b", 4)
    own_bytes = fields_bytes - 4
    return _replaced(template, b"\0\0\0%c\0\x14" % fields_bytes, b"\0\0\0%c\0\x14", 1), own_bytes


def _json_template() -> bytes:
    template = _replaced(_sample(SerializeType.JSON), b"%d" % _OPAQUE, b"%b", 1)
    return _replaced(template, b'":"0"', b'":"%d"', 4)


_BINARY, _BINARY_FIELDS_BYTES = _binary_template()
_BINARY_BYTES = len(_BINARY % (bytes(4), 0, 0, b"", 0, b"", 0, b"", 0, b""))
_JSON = _json_template()


def binary_found(  # noqa: PLR0917  the hot path names no arguments
    opaque: bytes, broker_id: int, next_offset: int, min_offset: int, max_offset: int, body_bytes: int
) -> bytes:
    """Start of the frame, up to the body, that answers a pull with messages; ``opaque`` as in the request."""
    broker, start, low, high = b"%d" % broker_id, b"%d" % next_offset, b"%d" % min_offset, b"%d" % max_offset
    digits = len(broker) + len(start) + len(low) + len(high)
    header = _BINARY % (
        opaque, _BINARY_FIELDS_BYTES + digits, len(broker), broker, len(start), start, len(low), low, len(high), high
    )  # fmt: skip
    size = _BINARY_BYTES + digits
    return _PREFIX.pack(4 + size + body_bytes, _BINARY_KIND | size) + header


def json_found(  # noqa: PLR0917  as above
    opaque: bytes, broker_id: int, next_offset: int, min_offset: int, max_offset: int, body_bytes: int
) -> bytes:
    """The same for clients that write JSON headers; ``opaque`` in decimal digits."""
    header = _JSON % (broker_id, next_offset, min_offset, max_offset, opaque)
    size = len(header)
    return _PREFIX.pack(4 + size + body_bytes, size) + header


class AnswerParts(NamedTuple):
    """An answer to a pull, up to its body and without its numbers.

    Attributes:
        parts: Binary: before the opaque, and before each offset. JSON: before each offset, before the opaque and behind it.
        fields_at: Where in a binary frame the length of the fields stands.
    """

    parts: list[bytes]
    fields_at: int


_SAMPLES = 123_456_789_012_345, 234_567_890_123_456, 345_678_901_234_567
_LENGTH_BYTES = 4


@lru_cache
def answer_parts(kind: SerializeType, broker_id: int) -> AnswerParts:
    """The parts of the answer to a pull that found messages; ``broker_id`` is where to pull next."""
    fields = answer_fields(broker_id, *_SAMPLES)
    frame = encode_command(reply_to(_OPAQUE, kind, ResponseCode.SUCCESS, GetStatus.FOUND.value, fields))
    offsets = [b"%d" % sample for sample in _SAMPLES]
    if kind is SerializeType.JSON:
        return AnswerParts(_split(frame[_PREFIX.size :], [*offsets, b"%d" % _OPAQUE]), 0)
    *parts, last = _split(frame[_PREFIX.size :], [_OPAQUE.to_bytes(4, "big"), *offsets])
    assert not last
    return AnswerParts(parts, frame.index(b"\0\x14suggestWhichBrokerId") - _LENGTH_BYTES)


def _split(text: bytes, numbers: list[bytes]) -> list[bytes]:
    parts = []
    for number in numbers:
        part, found, text = text.partition(number)
        assert found
        parts.append(part)
    return [*parts, text]

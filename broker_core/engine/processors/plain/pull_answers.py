"""Headers of answers to pulls: their fields, and the parts that a kernel writes answers with messages from.

The parts are made once, from what `broker_core.protocol.frame` writes.

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

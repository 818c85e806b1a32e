"""What the pulls of a lane have in common, learnt from one of them by the general decoding.

A lane stands for the pulls of one consumer from one queue, which differ in three numbers: queue offset, commit offset, opaque.
That these three are what the decoding reads, and not other fields of the same name, is found out with numbers put in their
place: twice, because a constant field could be equal to one of them.

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3.
"""

from __future__ import annotations

from typing import NamedTuple

from broker_core.engine.processors.plain.requests import PullGrant
from broker_core.engine.processors.pull_request import PullTerms, TermsReader
from broker_core.errors import FrameError, RequestRefusedError
from broker_core.protocol.codes import LanguageCode, RequestCode, SerializeType
from broker_core.protocol.frame import RemotingCommand, decode_frame

OFFSET, COMMIT = "queueOffset", "commitOffset"
LITE = int(RequestCode.LITE_PULL_MESSAGE)
_PULLS = (int(RequestCode.PULL_MESSAGE), LITE)
_LENGTH_BYTES = 4


class PullLane(NamedTuple):
    """The common part of pulls of one consumer from one queue."""

    terms: PullTerms
    is_lite: bool
    kind: SerializeType
    version: int
    language: LanguageCode
    grant: PullGrant


class Places(NamedTuple):
    """Where the digits of the three numbers are in a frame, and how many: each is a start and a count."""

    offset: tuple[int, int]
    commit: tuple[int, int]
    opaque: tuple[int, int]


def lane_of(frame: bytes, places: Places, reader: TermsReader) -> PullLane | None:
    """The lane of a pull; None if it is no plain one. A binary header's opaque is no digits, and in no other place."""
    kind, command = SerializeType(frame[_LENGTH_BYTES]), None
    for first, second in ((b"1", b"2"), (b"3", b"4")):
        offset, commit = first * places.offset[1], second * places.commit[1]
        opaque = b"1" * (places.opaque[1] - 1) + second if kind is SerializeType.JSON else b""
        texts = [(places.offset[0], offset), (places.commit[0], commit), (places.opaque[0], opaque)]
        command = _decoded(frame, texts)
        if command is None or not _is_read(command, offset, commit, opaque):
            return None
    return None if command is None else _lane(command, kind, reader)


def _is_read(command: RemotingCommand, offset: bytes, commit: bytes, opaque: bytes) -> bool:
    """Whether the decoding read these numbers."""
    fields = command.ext_fields
    are_offsets = fields.get(OFFSET) == offset.decode() and fields.get(COMMIT) == commit.decode()
    return are_offsets and (not opaque or command.opaque == int(opaque))


def _decoded(frame: bytes, texts: list[tuple[int, bytes]]) -> RemotingCommand | None:
    """A frame with other texts at some places."""
    changed = bytearray(frame)
    for at, text in texts:
        changed[at : at + len(text)] = text
    try:
        return decode_frame(changed, 0, len(frame) - _LENGTH_BYTES)
    except FrameError:
        return None


def _lane(command: RemotingCommand, kind: SerializeType, reader: TermsReader) -> PullLane | None:
    if command.code not in _PULLS or command.flag or command.body:
        return None
    try:
        terms = reader.read(command.ext_fields)
    except RequestRefusedError:
        return None
    return PullLane(terms, command.code == LITE, kind, command.version, command.language, PullGrant())

"""The common part of plain pulls, learnt from repeated ones.

`broker_core.engine.processors.plain.pull_codec` finds it by its bytes. A lane stands for the pulls of one consumer from one
queue, which differ in three numbers; the bytes between these are equal.

    binary  … │ queueOffset │ … │ commitOffset │ …                       (the opaque has a place of its own)
    JSON    … │ "queueOffset":"n" │ … │ "commitOffset":"n" │ … │ "opaque":n │ …     (in any order)

Source: docs/spec/remoting.md §1.2, §1.3, §2.2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from broker_core.engine.processors.plain.requests import PullGrant
from broker_core.engine.processors.pull_request import PullTerms, TermsReader
from broker_core.errors import FrameError, RequestRefusedError
from broker_core.protocol.codes import LanguageCode, RequestCode, SerializeType
from broker_core.protocol.frame import binary_fields, decode_frame

OFFSET, COMMIT = "queueOffset", "commitOffset"
LITE = int(RequestCode.LITE_PULL_MESSAGE)

_PREFIX = Struct(">II")
_PULLS = (int(RequestCode.PULL_MESSAGE), LITE)
_JSON_KIND = int(SerializeType.JSON) << 24
_SAMPLES = (987_654_321_012_345, 876_543_210_123_456)
_SAMPLE_OPAQUE = 1_987_654_321


class PullLane:
    """The common part of pulls of one consumer from one queue. Only JSON has ``language`` and ``version`` in it."""

    __slots__ = ("grant", "is_lite", "language", "terms", "version")

    def __init__(self, terms: PullTerms, *, is_lite: bool, language: LanguageCode, version: int) -> None:
        self.terms = terms
        self.is_lite = is_lite
        self.language = language
        self.version = version
        self.grant = PullGrant()


def lane_of_binary(code: int, pieces: Sequence[bytes], reader: TermsReader) -> PullLane | None:
    """The lane of the fields before, between and after the two offsets, if they are a pull's."""
    if code not in _PULLS:
        return None
    fields: dict[str, str] = {}
    try:
        for piece in pieces:
            fields.update(binary_fields(piece))
        # Of an offset that occurs twice the last one counts, which is not the one that was found.
        terms = None if OFFSET in fields or COMMIT in fields else reader.read(fields)
    except (FrameError, RequestRefusedError):
        return None
    return None if terms is None else PullLane(terms, is_lite=code == LITE, language=LanguageCode.OTHER, version=0)


def lane_of_json(pieces: Sequence[bytes], order: Sequence[int], reader: TermsReader) -> PullLane | None:
    """The lane of a JSON header without its three numbers, if it is a pull's.

    ``order`` says which number follows each piece but the last: 0 queue offset, 1 commit offset, 2 opaque.
    """
    numbers = (*_SAMPLES, _SAMPLE_OPAQUE)
    text = b"".join(piece + b"%d" % numbers[number] for piece, number in zip(pieces, order, strict=False)) + pieces[-1]
    try:
        command = decode_frame(_PREFIX.pack(len(text) + 4, _JSON_KIND | len(text)) + text, 0, len(text) + 4)
        fields = command.ext_fields
        found = fields.get(OFFSET), fields.get(COMMIT), command.opaque
        if found != (*map(str, _SAMPLES), _SAMPLE_OPAQUE) or command.code not in _PULLS or command.flag:
            return None
        terms = reader.read(fields)
    except (FrameError, RequestRefusedError):
        return None
    return PullLane(terms, is_lite=command.code == LITE, language=command.language, version=command.version)

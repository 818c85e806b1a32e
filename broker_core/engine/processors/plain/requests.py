"""Plain sends and pulls as typed values, and the start of a binary header (Source: docs/spec/remoting.md §1.2, §1.3).

The codec of sends and the kernel of pulls make them from the bytes of a frame; `broker_core.engine.processors.send_processor`
and `broker_core.engine.processors.pull_processor` serve them. A codec knows the bytes of a request and of its answer, and
nothing of what a broker permits, stores or counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple, Protocol

from broker_core.engine.processors.pull_request import PullTerms
from broker_core.engine.processors.send_header import SendHeader
from broker_core.protocol.codes import LanguageCode, ResponseCode, SerializeType
from broker_core.protocol.frame import Buffer, RemotingCommand, reply_to

HEAD: Final = Struct(">IIhbhiiii")
"""Frame length, kind and header length; code, language, version, opaque, flag, remark length, fields length."""
assert HEAD.size == 29

OPAQUE_POSITION: Final = 13
OPAQUE_BYTES: Final = 4
"""Of the opaque in it."""


def _opaque_number(opaque: bytes, kind: SerializeType) -> int:
    return int(opaque) if kind is SerializeType.JSON else int.from_bytes(opaque, "big", signed=True)


class SendAnswers(Protocol):
    """Writes the answers to the sends of one producer to one queue."""

    kind: SerializeType

    def answer(self, opaque: bytes, physical_offset: int, queue_offset: int) -> bytes:
        """The frame that answers a stored send; ``opaque`` as in the request."""


class PlainSend(NamedTuple):
    """A send of one message. A named tuple, because one is made for each send.

    ``opaque`` is as in the frame: four bytes, or decimal digits in JSON.
    """

    header: SendHeader
    body: bytes
    opaque: bytes
    answers: SendAnswers
    version: int
    language: LanguageCode

    @property
    def serialize_type(self) -> SerializeType:
        """Encoding of the header, and of the answer's."""
        return self.answers.kind

    def reply(
        self, code: int = ResponseCode.SUCCESS, remark: str | None = None, ext_fields: dict[str, str] | None = None
    ) -> RemotingCommand:
        """Any other answer, as `RemotingCommand.reply` makes it."""
        kind = self.answers.kind
        return reply_to(_opaque_number(self.opaque, kind), kind, code, remark, ext_fields)


class PullGrant:
    """Whether pulls with the same terms may have every message; `PullAdmission` keeps it with their common part.

    ``seen`` is the state that decided it, empty before: when it has changed, the next pull is checked again.
    """

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: tuple[object, ...] = ()


class PlainPull(NamedTuple):
    """A pull; a named tuple, as `PlainSend`, with the same ``opaque``.

    Attributes:
        committed: The offset to commit, where the terms have `FLAG_COMMIT_OFFSET`.
        grant: Shared by all pulls that differ in their three numbers only.
    """

    terms: PullTerms
    is_lite: bool
    offset: int
    committed: int
    opaque: bytes
    grant: PullGrant
    serialize_type: SerializeType
    version: int
    language: LanguageCode

    @property
    def opaque_number(self) -> int:
        return _opaque_number(self.opaque, self.serialize_type)

    def reply(
        self,
        code: int = ResponseCode.SUCCESS,
        remark: str | None = None,
        ext_fields: dict[str, str] | None = None,
        *,
        body_slices: Sequence[Buffer] = (),
    ) -> RemotingCommand:
        """An answer, as `RemotingCommand.reply` makes it."""
        return reply_to(self.opaque_number, self.serialize_type, code, remark, ext_fields, body_slices=body_slices)

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from broker_core.engine.processors.plain.pull_codec import PullCodec
from broker_core.engine.processors.plain.requests import PlainPull, PlainSend
from broker_core.engine.processors.plain.send_codec import SendCodec
from broker_core.engine.processors.pull_processor import PullProcessor
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.tables.peer import FramePeer
from broker_core.errors import CodecError, RequestRefusedError, fault_remark
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand, encode_parts

logger = logging.getLogger(__name__)

_HEADER_AT = 8
_PULLS = (int(RequestCode.PULL_MESSAGE), int(RequestCode.LITE_PULL_MESSAGE))
_STARTS = (*(code.to_bytes(2, "big") for code in _PULLS), *(b'{"code":%d,' % code for code in _PULLS))
"""First bytes of headers of pulls; they only decide which codec reads."""

_Request = TypeVar("_Request", PlainSend, PlainPull)


class PlainRequests:
    """Serves plain sends and pulls from their frames. For the loop's thread."""

    def __init__(self, sends: SendProcessor, pulls: PullProcessor) -> None:
        self._read_send = SendCodec(sends.stored_fields).read
        self._read_pull = PullCodec(pulls.terms).read
        self._serve_send = sends.handle_plain
        self._serve_pull = pulls.handle_plain

    def serve(self, peer: FramePeer, source: bytes, position: int, total: int) -> bool:
        """Serve the request in a frame with its length ``total`` at ``position``; False, without effect, if it is not plain."""
        if source.startswith(_STARTS, position + _HEADER_AT):
            pull = self._read_pull(source, position, total)
            if pull is not None:
                _serve(peer, pull, self._serve_pull)
            return pull is not None
        send = self._read_send(source, position, total)
        if send is not None:
            _serve(peer, send, self._serve_send)
        return send is not None


def _serve(peer: FramePeer, request: _Request, handle: Callable[[FramePeer, _Request], RemotingCommand | None]) -> None:
    """Serve a request, with the same answers to faults as the general way."""
    peer.version, peer.serialize_type, peer.language = request.version, request.serialize_type, request.language
    try:
        answer = handle(peer, request)
    except RequestRefusedError as refusal:
        answer = request.reply(refusal.code, refusal.message)
    except CodecError as error:
        answer = request.reply(ResponseCode.SYSTEM_ERROR, error.message)
    except Exception as error:
        logger.exception("a request from %s failed", peer.remote_address)
        answer = request.reply(ResponseCode.SYSTEM_ERROR, fault_remark(error))
    if answer is not None:
        # Not `send`: a peer with much to receive in one turn of the loop is served further in the next one.
        parts = encode_parts(answer)
        peer.send_parts(parts, sum(map(len, parts)))

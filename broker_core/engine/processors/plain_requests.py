from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from broker_core.config import BrokerConfig
from broker_core.engine.processors.plain.requests import PlainPull, PlainSend
from broker_core.engine.processors.plain.send_codec import SendCodec
from broker_core.engine.processors.pull_kernel import PullKernel
from broker_core.engine.processors.pull_processor import PullProcessor
from broker_core.engine.processors.send_processor import SendProcessor
from broker_core.engine.processors.send_reads import SendReads
from broker_core.engine.tables.peer import FramePeer, Peer
from broker_core.errors import CodecError, RequestRefusedError, fault_remark
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand, encode_parts

logger = logging.getLogger(__name__)

_HEADER_AT = 8
_LENGTH_BYTES = 4
_SENDS = (int(RequestCode.SEND_MESSAGE_V2), int(RequestCode.SEND_BATCH_MESSAGE))
_PULLS = (int(RequestCode.PULL_MESSAGE), int(RequestCode.LITE_PULL_MESSAGE))
_SEND_STARTS, _PULL_STARTS = (
    (*(code.to_bytes(2, "big") for code in codes), *(b'{"code":%d,' % code for code in codes)) for codes in (_SENDS, _PULLS)
)
"""First bytes of headers; they only decide which codec reads."""

_Request = TypeVar("_Request", PlainSend, PlainPull)


class PlainRequests:
    """Serves plain sends and pulls from their frames. For the loop's thread."""

    def __init__(self, sends: SendProcessor, pulls: PullProcessor) -> None:
        self.send_codec = SendCodec(sends.stored_fields)
        self._read_send = self.send_codec.read
        self.reads: SendReads | None = None
        """Serves many sends at once, by machine code."""
        self.pull_kernel: PullKernel | None = None
        """Serves many pulls at once, likewise."""
        self._serve_send = sends.handle_plain
        self._serve_pull = pulls.handle_plain

    def serve(self, peer: FramePeer, source: bytes, position: int, total: int) -> int:
        """Serve the request in a frame with its length ``total`` at ``position``, and perhaps more requests behind it.

        Returns:
            The bytes of what was served; 0, without effect, if the request is not plain.
        """
        if source.startswith(_PULL_STARTS, position + _HEADER_AT):
            return 0 if self.pull_kernel is None else self._take_pulls(peer, self.pull_kernel, source, position)
        if self.reads is not None and source.startswith(_SEND_STARTS, position + _HEADER_AT):
            served = self.reads.serve(peer, source, position)
            if served:
                return served
        send = self._read_send(source, position, total)
        return 0 if send is None else _serve(peer, send, self._serve_send, total)

    def reconfigure(self, config: BrokerConfig) -> None:
        if self.reads is not None:
            self.reads.reconfigure(config)

    def forget(self, peer: Peer) -> None:
        if self.reads is not None:
            self.reads.forget(peer)

    def tick(self) -> None:
        """To be called once a second."""
        if self.pull_kernel is not None:
            self.pull_kernel.tick()

    def _take_pulls(self, peer: FramePeer, kernel: PullKernel, source: bytes, position: int) -> int:
        taken = kernel.take(peer, source, position)
        pull = kernel.known()
        if pull is None:
            return taken
        total = int.from_bytes(source[position + taken : position + taken + _LENGTH_BYTES], "big")
        return taken + _serve(peer, pull, self._serve_pull, total)


def _serve(
    peer: FramePeer, request: _Request, handle: Callable[[FramePeer, _Request], RemotingCommand | None], total: int
) -> int:
    """Serve a request, with the same answers to faults as the general way; returns the bytes of its frame."""
    peer.requests_in += 1
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
    return _LENGTH_BYTES + total

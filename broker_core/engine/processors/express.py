"""Who serves which requests from their bytes: plain sends and plain pulls, each in a short way of its own."""

from __future__ import annotations

from broker_core.engine.processors.pull_express import PullExpress
from broker_core.engine.processors.send_express import SendExpress
from broker_core.engine.tables.peer import ExpressPeer
from broker_core.protocol.codes import RequestCode, SerializeType

_PREFIX_BYTES, _KIND_AT = 8, 4
_BINARY = int(SerializeType.ROCKETMQ)
_PULLS = (int(RequestCode.PULL_MESSAGE), int(RequestCode.LITE_PULL_MESSAGE))
_BINARY_PULLS = tuple(code.to_bytes(2, "big") for code in _PULLS)
_JSON_PULLS = tuple(b'{"code":%d,' % code for code in _PULLS)
_STARTS = _BINARY_PULLS + _JSON_PULLS
"""What headers of pulls begin with; whose that is decides who is asked, and no more."""


class Express:
    """Offers frames to the short ways. For the loop's thread.

    Args:
        sends: Serves plain sends.
        pulls: Serves plain pulls.
    """

    def __init__(self, sends: SendExpress, pulls: PullExpress) -> None:
        self.sends = sends
        self.pulls = pulls

    def serve(self, peer: ExpressPeer, source: bytes, position: int, total: int) -> bool:
        """Serve the request in a frame, if it goes a short way; else nothing has happened.

        Args:
            peer: Who sent it, and takes the answer.
            source: Holds the frame.
            position: Where its length stands.
            total: That length.
        """
        if not source.startswith(_STARTS, position + _PREFIX_BYTES):
            return self.sends.serve(peer, source, position, total)
        is_binary = source[position + _KIND_AT] == _BINARY
        return (self.pulls.serve_binary if is_binary else self.pulls.serve_json)(peer, source, position, total)

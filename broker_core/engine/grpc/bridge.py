"""Requests of gRPC clients to the processors of remoting, which are the rules for both protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from broker_core.engine.tables.peer import Peer, UnpacedPeer
from broker_core.errors import OrbitError, WorkerError
from broker_core.protocol.codes import LanguageCode, RequestCode, SerializeType
from broker_core.protocol.frame import Buffer, RemotingCommand

Handle = Callable[[Peer, RemotingCommand], RemotingCommand | None]
Answered = Callable[[RemotingCommand], None]

VERSION: Final = RemotingCommand(0).version


class RequestPeer(UnpacedPeer):
    """The other end of one request, as processors see it: it takes the answer and nothing else."""

    __slots__ = ()
    serialize_type = SerializeType.ROCKETMQ
    version = VERSION

    def send_oneway(self, _command: RemotingCommand) -> bool:
        """Drop a notice: the client of the call gets it."""
        return False

    def ask(self, command: RemotingCommand, _timeout_ms: int, answered: Callable[[RemotingCommand | OrbitError], None]) -> None:
        """Refuse: a call answers no requests."""
        answered(WorkerError(f"a call answers no requests (code {command.code})"))


class CallPeer(RequestPeer):
    """Passes the answer on.

    Attributes:
        answered: Called once with the answer.
    """

    __slots__ = ("answered", "language", "remote_address")

    def __init__(self, address: str, language: LanguageCode, answered: Answered) -> None:
        self.remote_address = address
        self.language = language
        self.answered: Answered | None = answered

    def send(self, command: RemotingCommand) -> bool:
        """Pass an answer on; False when there was one, or nobody wants it."""
        answered, self.answered = self.answered, None
        if answered is None:
            return False
        answered(command)
        return True

    def send_now(self, command: RemotingCommand) -> bool:
        return self.send(command)


class Bridge:
    """Passes requests on; ``handle`` serves them."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def ask(self, peer: Peer, code: RequestCode, fields: dict[str, str], body: Buffer = b"", *, version: int = VERSION) -> None:
        """Serve a request of a peer, which is called with the answer now or later."""
        command = RemotingCommand(code, fields, body, language=peer.language, version=version)
        answer = self._handle(peer, command)
        if answer is not None:
            peer.send(answer)

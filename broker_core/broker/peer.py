"""The other end of a connection, as far as request processors see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from broker_core.errors import OrbitError
from broker_core.remoting.codes import LanguageCode, SerializeType
from broker_core.remoting.frame import RemotingCommand


class Peer(Protocol):
    """A client's connection: `broker_core.remoting.connection.Connection`, or a recorder in tests. Hashable by identity."""

    remote_address: str
    language: LanguageCode
    version: int
    serialize_type: SerializeType

    def send(self, command: RemotingCommand) -> bool:
        """Send a response; False when the connection has ended."""

    def send_now(self, command: RemotingCommand) -> bool:
        """Send a response at once, though that takes a system call of its own."""

    def slow_down(self) -> None:
        """Serve its next requests a little later."""

    def send_oneway(self, command: RemotingCommand) -> bool:
        """Send a request that is not answered."""

    def ask(self, command: RemotingCommand, timeout_ms: int, answered: Callable[[RemotingCommand | OrbitError], None]) -> None:
        """Send a request; ``answered`` is called with its response, or with why there is none."""

    def __hash__(self) -> int: ...

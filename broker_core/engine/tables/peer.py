"""The other end of a connection, as request processors see it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from broker_core.errors import OrbitError, UsageError
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.frame import Buffer, RemotingCommand
from broker_core.protocol.message.model import HostAddress

logger = logging.getLogger(__name__)

_ADDRESSES_MAX = 16_384
"""Addresses that are parsed once."""


class Peer(Protocol):
    """A client's connection: `broker_core.transport.connection.Connection`, or a recorder in tests. Hashable by identity."""

    version: int
    serialize_type: SerializeType

    @property
    def language(self) -> LanguageCode:
        """Of its SDK."""

    @property
    def remote_address(self) -> str:
        """``host:port`` of the client."""

    @property
    def reads_slowly(self) -> bool:
        """Whether much of what it was sent waits for it to read."""

    def send(self, command: RemotingCommand) -> bool:
        """Send a response; False when the connection has ended."""

    def send_now(self, command: RemotingCommand) -> bool:
        """Send a response at once, though that takes a system call of its own."""

    def slow_down(self) -> None:
        """Delay its next requests a little."""

    def hold_up(self) -> None:
        """Serve none of its requests that have not arrived yet, until `go_on`."""

    def go_on(self) -> None:
        """Serve its requests again."""

    def send_oneway(self, command: RemotingCommand) -> bool:
        """Send a request that needs no response."""

    def ask(self, command: RemotingCommand, timeout_ms: int, answered: Callable[[RemotingCommand | OrbitError], None]) -> None:
        """Send a request; ``answered`` is called with its response, or with the error."""

    def __hash__(self) -> int: ...


class UnpacedPeer:
    """The part of a peer that sends no more than is taken: one request at a time, or what the windows of HTTP/2 allow."""

    __slots__ = ()

    @property
    def reads_slowly(self) -> bool:
        """It does not, as far as is known here."""
        return False

    def slow_down(self) -> None:
        """Do nothing."""

    def hold_up(self) -> None:
        """Do nothing."""

    def go_on(self) -> None:
        """Do nothing."""


class FramePeer(Peer, Protocol):
    """A connection that takes answers as bytes, and counts the requests that are served from bytes."""

    language: LanguageCode
    requests_in: int

    def send_frame(self, frame: bytes) -> bool:
        """Send the bytes of one whole frame; False when the connection has ended."""

    def send_parts(self, parts: list[Buffer], size: int) -> bool:
        """Send one frame with a large body in pieces of ``size`` bytes together; False when the connection has ended."""

    def send_out(self, parts: list[Buffer], size: int) -> bool:
        """Send whole frames in parts, the first of which may change afterwards; else as `send_parts`."""


def host_of(peer: Peer) -> HostAddress:
    """Address of a client, as records hold it; ``0.0.0.0:0`` if it is not an IP address."""
    return host_of_address(peer.remote_address)


@lru_cache(maxsize=_ADDRESSES_MAX)
def host_of_address(text: str) -> HostAddress:
    """The same of ``host:port``."""
    try:
        return HostAddress.parse(text)
    except UsageError:
        logger.warning("the address of a producer, %s, is not an IP address; its messages name 0.0.0.0:0", text)
        return HostAddress(bytes(4), 0)

"""A real RocketMQ for the time of a block; needs Java, Maven and a gigabyte of memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.support.real_broker import RealBroker


@contextlib.contextmanager
def running_peer(version: str, directory: Path, **settings: str) -> Iterator[RealBroker]:
    """A real name server and broker. ``settings`` go into its ``broker.conf``; they may lead it to another name server."""
    peer = RealBroker(version, directory, settings)
    peer.start()
    try:
        yield peer
    finally:
        peer.stop()


@contextlib.contextmanager
def running_peer_addresses(version: str, directory: Path, **settings: str) -> Iterator[tuple[str, str]]:
    """The same when one has registered with the other; gives the addresses of name server and broker."""
    with running_peer(version, directory, **settings) as peer:
        peer.until_registered()
        yield peer.name_server, peer.address

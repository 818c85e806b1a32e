"""A real RocketMQ for the time of a block; needs Java, Maven and a gigabyte of memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.support.real_broker import RealBroker


@contextlib.contextmanager
def running_peer(version: str, directory: Path, **settings: str) -> Iterator[str]:
    """A real name server and broker; gives the broker's address. ``settings`` go into its ``broker.conf``."""
    with running_peer_addresses(version, directory, **settings) as (_name_server, broker):
        yield broker


@contextlib.contextmanager
def running_peer_addresses(version: str, directory: Path, **settings: str) -> Iterator[tuple[str, str]]:
    """The same; gives the addresses of name server and broker."""
    peer = RealBroker(version, directory, settings)
    peer.start()
    try:
        yield peer.name_server, peer.address
    finally:
        peer.stop()

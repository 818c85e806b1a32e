"""The broker that third-party clients are tried on: ours, or on demand a real RocketMQ, to prove the tests right."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.support.broker_process import running_broker
from tests.support.real_peer import running_peer, running_peer_addresses

PEER_VARIABLE = "ORBIT_INTEROP_PEER"


@contextlib.contextmanager
def running_target(folder: Path, **settings: str) -> Iterator[str]:
    """Start it in ``folder``; gives its name server.

    Args:
        folder: For the store.
        settings: Under their RocketMQ keys.
    """
    version = os.environ.get(PEER_VARIABLE)
    if version:
        with running_peer_addresses(version, folder, **settings, mappedFileSizeCommitLog="67108864") as (name_server, _broker):
            yield name_server
        return
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with running_broker(folder / "store", *options) as broker:
        yield broker.name_server


@contextlib.contextmanager
def running_grpc_target(folder: Path, **settings: str) -> Iterator[tuple[str, str]]:
    """The same for clients of gRPC, a real one with its proxy; gives name server and gRPC address."""
    version = os.environ.get(PEER_VARIABLE)
    if version:
        with running_peer(version, folder, **settings, mappedFileSizeCommitLog="67108864") as peer:
            peer.start_proxy()
            yield peer.name_server, f"127.0.0.1:{peer.grpc_port}"
        return
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with running_broker(folder / "store", *options) as broker:
        yield broker.name_server, broker.grpc

"""A real RocketMQ beside ours, from the shared ``peer`` program; needs Java, Maven and a gigabyte of memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shared import shared_dir

_START_SECONDS = 300
_STOP_SECONDS = 60


def free_port() -> int:
    """A free port with some free ones around it, as a real broker takes its neighbours too."""
    while True:
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            with contextlib.suppress(OSError):
                for neighbour in (port - 2, port + 1):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", neighbour))
                return port


@contextlib.contextmanager
def running_peer(version: str, directory: Path, **settings: str) -> Iterator[str]:
    """A real name server and broker; gives the broker's address. ``settings`` go into its ``broker.conf``."""
    with running_peer_addresses(version, directory, **settings) as (_name_server, broker):
        yield broker


@contextlib.contextmanager
def running_peer_addresses(version: str, directory: Path, **settings: str) -> Iterator[tuple[str, str]]:
    """The same; gives the addresses of name server and broker."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    peer = str(shared_dir() / "peer" / "peer")
    port, name_server_port = free_port(), free_port()
    ports = {"PEER_PORT": str(port), "PEER_NS_PORT": str(name_server_port)}
    environment = {**os.environ, **ports, "PEER_HEAP": "384m"}
    lines = [f"{key}={value}" for key, value in settings.items()]
    start = [peer, "start", version, str(directory), *lines]
    try:
        subprocess.run(start, check=True, capture_output=True, timeout=_START_SECONDS, env=environment)
        yield f"127.0.0.1:{name_server_port}", f"127.0.0.1:{port}"
    finally:
        subprocess.run([peer, "stop", str(directory)], check=False, capture_output=True, timeout=_STOP_SECONDS, env=environment)

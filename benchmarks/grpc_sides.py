"""The sides of a comparison over gRPC: our broker, and a real proxy with its broker where one is named.

    --proxy HOST:PORT --pid PID,PID     a proxy that runs, and its processes and those of its broker, which count together

Without ``--proxy`` only ours is measured. ``tests/support/peer/peer`` starts a real proxy; the topic `TOPIC` must exist there.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker

TOPIC = "bench"
BODY = bytes(128)


@dataclass(frozen=True, slots=True)
class Side:
    """One server: where it is, and its processes."""

    name: str
    host: str
    port: int
    pids: Sequence[int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that name the other side."""
    parser.add_argument("--proxy", default="", metavar="HOST:PORT")
    parser.add_argument("--pid", default="", metavar="PID,PID", help="processes of the proxy and its broker")


@contextmanager
def running_sides(given: argparse.Namespace) -> Iterator[list[Side]]:
    """Our broker, started for the time of the block with the topic, and the proxy of the arguments."""
    with TemporaryDirectory() as folder, running_broker(Path(folder) / "store") as running:
        asyncio.run(_make_topic(running.name_server))
        sides = [_side("orbit", running.grpc, [running.process.pid])]
        if given.proxy:
            sides.append(_side("proxy", given.proxy, [int(pid) for pid in given.pid.split(",")]))
        yield sides


def _side(name: str, address: str, pids: Sequence[int]) -> Side:
    host, _, port = address.rpartition(":")
    return Side(name, host, int(port), pids)


async def _make_topic(name_server: str) -> None:
    async with AdminClient(name_server) as admin:
        await admin.create_topic(TOPIC, queues=8)

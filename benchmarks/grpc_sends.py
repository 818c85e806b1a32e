"""Unary sends over gRPC: our broker against a real proxy with its broker, in turn.

    .venv/bin/python -m benchmarks.grpc_sends [--proxy HOST:PORT --pid PID,PID] [--calls N] [--rounds N]

Without ``--proxy`` only ours is measured. ``tests/support/peer/peer`` starts a real proxy; ``--pid`` names its processes and
those of its broker, whose processor time counts together. The topic ``bench`` must exist there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker

TOPIC = "bench"
METHOD = "/apache.rocketmq.v2.MessagingService/SendMessage"
IN_FLIGHT = 64
BODY = bytes(128)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Side:
    """One server: where it is, and what was measured."""

    name: str
    target: str
    pids: Sequence[int]
    rates: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)

    def processor_seconds(self) -> float:
        """Processor time of all its processes so far."""
        total = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS


def _request(client_id: str) -> tuple[pb.SendMessageRequest, tuple[tuple[str, str], ...]]:
    system = pb.SystemProperties(message_id=f"01{uuid.uuid4().hex.upper()}", born_host="bench", message_type=pb.NORMAL)
    message = pb.Message(topic=pb.Resource(name=TOPIC), system_properties=system, body=BODY)
    metadata = (
        ("x-mq-client-id", client_id),
        ("x-mq-language", "JAVA"),
        ("x-mq-client-version", "5.2.0"),
        ("x-mq-protocol", "v2"),
        ("x-mq-request-id", str(uuid.uuid4())),
    )
    return pb.SendMessageRequest(messages=[message]), metadata


async def _load(side: Side, calls: int) -> None:
    async with grpc.aio.insecure_channel(side.target) as channel:
        send = channel.unary_unary(
            METHOD,
            request_serializer=pb.SendMessageRequest.SerializeToString,
            response_deserializer=pb.SendMessageResponse.FromString,
        )

        async def some(count: int) -> None:
            for _ in range(count):
                request, metadata = _request(f"bench@{os.getpid()}")
                response = await send(request, timeout=30, metadata=metadata)
                assert response.status.code == pb.OK, response.status

        await some(200)
        began, used = time.perf_counter(), side.processor_seconds()
        await asyncio.gather(*(some(calls // IN_FLIGHT) for _ in range(IN_FLIGHT)))
        seconds = time.perf_counter() - began
        sent = calls // IN_FLIGHT * IN_FLIGHT
        side.rates.append(sent / seconds)
        side.processor_us.append((side.processor_seconds() - used) / sent * 1e6)


async def _make_topic(name_server: str) -> None:
    async with AdminClient(name_server) as admin:
        await admin.create_topic(TOPIC, queues=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proxy", default="", metavar="HOST:PORT")
    parser.add_argument("--pid", default="", metavar="PID,PID", help="processes of the proxy and its broker")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, running_broker(Path(folder) / "store") as running:
        asyncio.run(_make_topic(running.name_server))
        sides = [Side("orbit", running.grpc, [running.process.pid])]
        if given.proxy:
            sides.append(Side("proxy", given.proxy, [int(pid) for pid in given.pid.split(",")]))
        for _round in range(given.rounds):
            for side in sides:
                asyncio.run(_load(side, given.calls))
        for side in sides:
            rate, used = statistics.median(side.rates), statistics.median(side.processor_us)
            print(f"{side.name:8} {rate:10,.0f} sends/s {used:8.1f} µs of processor a send")
        if len(sides) > 1:
            ours, theirs = sides
            rates, times = (
                [statistics.median(values) for values in (ours.rates, theirs.rates)],
                [statistics.median(values) for values in (ours.processor_us, theirs.processor_us)],
            )
            print(f"ratio    {rates[0] / rates[1]:10.2f} of the rate {times[0] / times[1]:8.2f} of the processor")


if __name__ == "__main__":
    main()

"""Waiting receives and idle clients over gRPC: our broker against a real proxy with its broker, in turn.

    .venv/bin/python -m benchmarks.grpc_clients [--proxy HOST:PORT --pid PID,PID] [--wakes N] [--idle N]

A wake is the time from the write of a send to the first byte of the message at a consumer whose receive waited, over two
connections of one process. Idle clients have announced themselves and keep their stream; the figure is resident memory.
Without ``--proxy`` only ours is measured. The topic ``bench`` must exist there.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.grpc_load import OpenCalls, send_request
from benchmarks.grpc_sends import TOPIC, make_topic
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker
from tests.support.grpc_stub import resource

GROUP = "bench-waits"
BODY = bytes(128)
HELD_SECONDS = 0.02
"""A receive waits for so long before the message is sent."""
ROUNDS = 4
MIB = 1 << 20


@dataclass
class Side:
    """One server: where it is, and what was measured."""

    name: str
    target: str
    pids: Sequence[int]
    wakes_ms: list[float] = field(default_factory=list)
    idle_mib: float = 0.0

    def resident_bytes(self) -> int:
        """Resident memory of all its processes."""
        return sum(psutil.Process(pid).memory_info().rss for pid in self.pids)

    async def connection(self, client_id: str) -> OpenCalls:
        """A new connection."""
        host, _, port = self.target.rpartition(":")
        return await OpenCalls.connect(host, int(port), client_id)


def _settings(group: str) -> bytes:
    entry = pb.SubscriptionEntry(topic=resource(TOPIC), expression=pb.FilterExpression(expression="*"))
    subscription = pb.Subscription(group=resource(group), subscriptions=[entry])
    return pb.TelemetryCommand(
        settings=pb.Settings(client_type=pb.SIMPLE_CONSUMER, subscription=subscription)
    ).SerializeToString()


def _receive() -> bytes:
    request = pb.ReceiveMessageRequest(
        group=resource(GROUP), message_queue=pb.MessageQueue(topic=resource(TOPIC)), batch_size=1
    )
    request.long_polling_timeout.FromSeconds(20)
    request.invisible_duration.FromSeconds(3_600)
    return request.SerializeToString()


async def _wake(side: Side, count: int) -> None:
    consumer, producer = await side.connection("waits"), await side.connection("sends")
    await consumer.open("Telemetry", _settings(GROUP), is_end=False)
    await producer.open("SendMessage", send_request(TOPIC, BODY))
    for _ in range(count):
        received = consumer.open("ReceiveMessage", _receive())
        await asyncio.sleep(HELD_SECONDS)
        if received.done():  # a message of before
            continue
        began = time.perf_counter()
        sent = producer.open("SendMessage", send_request(TOPIC, BODY))
        await received
        side.wakes_ms.append((time.perf_counter() - began) * 1e3)
        await sent
    consumer.close()
    producer.close()


async def _idle(side: Side, count: int) -> None:
    await _wake(side, 4)
    before = side.resident_bytes()
    clients = []
    for number in range(count):
        client = await side.connection(f"idle-{number}")
        await client.open("Telemetry", _settings(f"{GROUP}-idle"), is_end=False)
        clients.append(client)
    side.idle_mib = (side.resident_bytes() - before) / MIB
    for client in clients:
        client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proxy", default="", metavar="HOST:PORT")
    parser.add_argument("--pid", default="", metavar="PID,PID", help="processes of the proxy and its broker")
    parser.add_argument("--wakes", type=int, default=200)
    parser.add_argument("--idle", type=int, default=1_000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, running_broker(Path(folder) / "store") as running:
        asyncio.run(make_topic(running.name_server))
        sides = [Side("orbit", running.grpc, [running.process.pid])]
        if given.proxy:
            sides.append(Side("proxy", given.proxy, [int(pid) for pid in given.pid.split(",")]))
        for _round in range(ROUNDS):
            for side in sides:
                asyncio.run(_wake(side, given.wakes // ROUNDS))
        for side in sides:
            asyncio.run(_idle(side, given.idle))
        for side in sides:
            half, last = statistics.median(side.wakes_ms), statistics.quantiles(side.wakes_ms, n=100)[98]
            wakes = f"wakes: median {half:6.2f} ms, p99 {last:6.2f} ms"
            print(f"{side.name:8} {wakes}; {given.idle:,} idle clients {side.idle_mib:6.1f} MiB")


if __name__ == "__main__":
    main()

"""Waiting receives and idle clients over gRPC: our broker against a real proxy with its broker, in turn.

    .venv/bin/python -m benchmarks.grpc_clients [--proxy HOST:PORT --pid PID,PID] [--wakes N] [--idle N]

A wake is the time from the write of a send to the first byte of the message at a consumer whose receive waited, over two
connections of one process. Idle clients have announced themselves and keep their stream; the figure is resident memory.
`benchmarks.grpc_sides` explains ``--proxy`` and ``--pid``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics

import psutil

from benchmarks.grpc_load import OpenCalls, send_request
from benchmarks.grpc_sides import BODY, TOPIC, Side, add_arguments, running_sides
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.grpc_stub import resource

GROUP = "bench-waits"
HELD_SECONDS = 0.02
"""A receive waits for so long before the message is sent."""
ROUNDS = 4
WARM_WAKES = 60
"""Wakes of each side that are not counted: code that runs for the first time takes several times as long."""
MIB = 1 << 20


def _resident_bytes(side: Side) -> int:
    """Resident memory of all processes of a side."""
    return sum(psutil.Process(pid).memory_info().rss for pid in side.pids)


async def _connection(side: Side, client_id: str) -> OpenCalls:
    return await OpenCalls.connect(side.host, side.port, client_id)


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


async def _wake(side: Side, count: int) -> list[float]:
    """Times of wakes, ms."""
    wakes_ms = []
    consumer, producer = await _connection(side, "waits"), await _connection(side, "sends")
    await consumer.open("Telemetry", _settings(GROUP), is_end=False)
    await producer.open("SendMessage", send_request(TOPIC, BODY))
    for _ in range(count):
        received = consumer.open("ReceiveMessage", _receive())
        await asyncio.sleep(HELD_SECONDS)
        if received.done():  # a message of before
            continue
        sent = producer.open("SendMessage", send_request(TOPIC, BODY))
        await received
        wakes_ms.append((consumer.read_at - producer.wrote_at) * 1e3)
        await sent
    consumer.close()
    producer.close()
    return wakes_ms


async def _idle(side: Side, count: int) -> float:
    """Memory of idle clients, MiB."""
    await _wake(side, 4)
    before = _resident_bytes(side)
    clients = []
    for number in range(count):
        client = await _connection(side, f"idle-{number}")
        await client.open("Telemetry", _settings(f"{GROUP}-idle"), is_end=False)
        clients.append(client)
    taken = (_resident_bytes(side) - before) / MIB
    for client in clients:
        client.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--wakes", type=int, default=400)
    parser.add_argument("--idle", type=int, default=1_000)
    given = parser.parse_args()
    with running_sides(given) as sides:
        wakes_ms: dict[str, list[float]] = {side.name: [] for side in sides}
        for side in sides:
            asyncio.run(_wake(side, WARM_WAKES))
        for _round in range(ROUNDS):
            for side in sides:
                wakes_ms[side.name] += asyncio.run(_wake(side, given.wakes // ROUNDS))
        for side in sides:
            idle_mib, found = asyncio.run(_idle(side, given.idle)), wakes_ms[side.name]
            half, last = statistics.median(found), statistics.quantiles(found, n=100)[98]
            wakes = f"wakes: median {half:6.2f} ms, p99 {last:6.2f} ms"
            print(f"{side.name:8} {wakes}; {given.idle:,} idle clients {idle_mib:6.1f} MiB")


if __name__ == "__main__":
    main()

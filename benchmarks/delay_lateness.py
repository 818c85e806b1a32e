"""How late delayed messages are delivered: `python -m benchmarks.delay_lateness [NAME=NAMESERVER ...]`.

Starts our broker, and takes other brokers by the address of their name server, for example ``rocketmq=127.0.0.1:19876`` (with
the default delay levels). In each it leaves 100,000 messages pending at the longest level, then sends at a steady pace at
level 1 and compares, on the broker's own clock, the time of storing at the real topic with the time of storing at the delay
level plus the delay. Nothing may be early. The brokers take turns; the figures are those of all rounds together.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.config import ClientConfig
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import connect
from broker_core.transport.connection import Connection

PENDING = 100_000
PENDING_LEVEL = 18
MEASURED_LEVEL = 1
DELAY_MS = 1_000
ROUNDS = 3
MESSAGES_A_ROUND = 2_000
PACE_SECONDS = 0.002
IN_FLIGHT = 64
SEND_TRIES = 20
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
QUEUES = 4
_WAIT_SECONDS = 60
_PULL_FOUND = 0


@dataclass
class Measured:
    """A broker and what was measured on it."""

    name: str
    name_server: str
    late_ms: list[int] = field(default_factory=list)


async def fill(producer: Producer) -> float:
    """Leave messages pending; returns the rate of the sends."""
    free = asyncio.Semaphore(IN_FLIGHT)

    async def send() -> None:
        async with free:
            message = Message("BenchPending", b"x" * 100, properties={"DELAY": str(PENDING_LEVEL)})
            for _ in range(SEND_TRIES):
                try:
                    await producer.send(message)
                except RemoteError:  # RocketMQ asks for a pause when its queue of sends is long
                    await asyncio.sleep(0.5)
                else:
                    return
            raise AssertionError(f"a message was refused {SEND_TRIES} times")

    began = time.perf_counter()
    await asyncio.gather(*(send() for _ in range(PENDING)))
    return PENDING / (time.perf_counter() - began)


async def measure(measured: Measured, producer: Producer, topic: str) -> None:
    """One round of steady sends."""
    sends = []
    for _ in range(MESSAGES_A_ROUND):
        message = Message(topic, b"x" * 100, properties={"DELAY": str(MEASURED_LEVEL)})
        sends.append(asyncio.create_task(producer.send(message)))
        await asyncio.sleep(PACE_SECONDS)
    results = await asyncio.gather(*sends)
    route = await producer.queues(topic)
    connection = await connect(await _address(producer, topic))
    try:
        offset = min(result.queue_offset for result in results)
        waiting = await stored(connection, SCHEDULE_TOPIC, MEASURED_LEVEL - 1, offset, MESSAGES_A_ROUND)
        ids = {result.message_id for result in results}
        delivered: dict[str, int] = {}
        deadline = time.monotonic() + _WAIT_SECONDS
        while not ids <= delivered.keys() and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
            delivered = {}
            for queue in route:
                delivered |= await stored(connection, topic, queue.queue_id, 0, MESSAGES_A_ROUND)
    finally:
        connection.close()
    assert ids <= delivered.keys(), f"{len(ids - delivered.keys())} messages were not delivered"
    measured.late_ms += [delivered[name] - waiting[name] - DELAY_MS for name in ids]


async def _address(producer: Producer, topic: str) -> str:
    (result,) = {(await producer.send(Message(topic, b"x"))).offset_message_id}
    host, port = bytes.fromhex(result[:8]), int(result[8:16], 16)
    return f"{'.'.join(map(str, host))}:{port}"


async def stored(connection: Connection, topic: str, queue_id: int, offset: int, count: int) -> dict[str, int]:
    """Store time of messages of a queue, by their unique key."""
    found: dict[str, int] = {}
    while len(found) < count:
        fields = {
            "consumerGroup": "CG-BENCH", "topic": topic, "queueId": str(queue_id), "queueOffset": str(offset),
            "maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*",
            "subVersion": "0", "expressionType": "TAG",
        }  # fmt: skip
        answer = await connection.request(RemotingCommand(RequestCode.PULL_MESSAGE, fields), 10_000)
        if answer.code != _PULL_FOUND:
            break
        for record in _records(bytes(answer.body)):
            found[record.properties.get("UNIQ_KEY", "")] = record.store_timestamp_ms
        offset = int(answer.ext_fields["nextBeginOffset"])
    return found


def _records(body: bytes) -> Iterator[StoredMessage]:
    position = 0
    while position < len(body):
        record = decode_record(body, position)
        position += record.store_size
        yield record


def report(measured: Measured) -> str:
    late = sorted(measured.late_ms)
    p50, p99 = late[len(late) // 2], late[len(late) * 99 // 100]
    early = sum(value < 0 for value in late)
    return f"{measured.name:<10} p50 {p50:>6} ms   p99 {p99:>6} ms   max {late[-1]:>6} ms   early {early}   of {len(late):,}"


async def run(brokers: list[Measured]) -> None:
    config = ClientConfig(send_timeout_ms=30_000)
    producers = [Producer(broker.name_server, config=config) for broker in brokers]
    for broker, producer in zip(brokers, producers, strict=True):
        await producer.start()
        print(f"{broker.name:<10} {await fill(producer):>9,.0f} delayed sends/s while {PENDING:,} are left pending", flush=True)
    for number in range(ROUNDS):
        for broker, producer in zip(brokers, producers, strict=True):
            await measure(broker, producer, f"BenchLate{number}")
    for producer in producers:
        await producer.close()
    for broker in brokers:
        print(report(broker))


def main() -> None:
    others = [Measured(name, address) for name, _, address in (argument.partition("=") for argument in sys.argv[1:])]
    with tempfile.TemporaryDirectory(prefix="orbit-delay-") as folder:
        command = [sys.executable, "main.py", "broker", "--ns-port", "0", "--port", "0", "--store", f"{folder}/store"]
        process = subprocess.Popen(command, cwd=Path(__file__).resolve().parents[1], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            match = re.match(r"ready name-server=(\S+)", process.stdout.readline())
            assert match, "our broker did not start"
            asyncio.run(run([Measured("orbit", match[1]), *others]))
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()


if __name__ == "__main__":
    main()

"""Reads a topic, writes what it made of it to others, its position in the same transaction; killed by its parent at any moment.

python transformer.py NAME_SERVER COUNT [POINT]     (POINT: of `tests.support.atomic_kill_points.PRODUCER`, where it dies)
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from broker_core.client.atomic_producer import AtomicError, AtomicProducer
from broker_core.client.message import Message
from broker_core.errors import NetworkError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import ConnectionPool

GROUP, SOURCE, TARGETS = "transform", "numbers", ("squares", "halves")
SOURCE_QUEUE = MessageQueue(SOURCE, "broker-a", 0)
BATCH = 7


async def position(pool: ConnectionPool, broker: str) -> int:
    """The group's position once no transaction can change it any more."""
    fields = {"consumerGroup": GROUP, "topic": SOURCE, "queueId": "0"}
    while True:
        answer = await pool.request(broker, RemotingCommand(RequestCode.STABLE_OFFSET, dict(fields)))
        if answer.code == ResponseCode.SUCCESS:
            return max(int(answer.ext_fields["offset"]), 0)
        await asyncio.sleep(0.02)


async def read(pool: ConnectionPool, broker: str, topic: str, offset: int, count: int) -> tuple[list[str], int]:
    """Committed messages of queue 0 from an offset on, and where to go on."""
    fields = {
        "consumerGroup": GROUP, "topic": topic, "queueId": "0", "queueOffset": str(offset), "maxMsgNums": str(count),
        "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0",
    }  # fmt: skip
    answer = await pool.request(broker, RemotingCommand(RequestCode.PULL_MESSAGE, fields))
    bodies, data = [], bytes(answer.body)
    while data:
        message = decode_record(data)
        bodies.append(message.body.decode())
        data = data[message.store_size :]
    return bodies, int(answer.ext_fields["nextBeginOffset"])


async def transform(name_server: str, count: int) -> None:
    """Work up to a number; raises what the producer raises."""
    pool = ConnectionPool()
    try:
        async with AtomicProducer(name_server, "transformer", timeout_ms=5_000) as producer:
            broker = producer.broker_address
            offset = await position(pool, broker)
            while offset < count:
                numbers, following = await read(pool, broker, SOURCE, offset, BATCH)
                if not numbers:
                    await asyncio.sleep(0.01)
                    continue
                async with producer.transaction():
                    for number in numbers:
                        for topic in TARGETS:
                            await producer.send(Message(topic, number.encode()), queue=MessageQueue(topic, "broker-a", 0))
                    await producer.send_offsets(GROUP, {SOURCE_QUEUE: following})
                offset = following
                print(offset, flush=True)
    finally:
        await pool.close()


if __name__ == "__main__":
    if sys.argv[3:] and sys.argv[3]:
        from tests.support.atomic_kill_points import PRODUCER

        PRODUCER[sys.argv[3]]()
    try:
        asyncio.run(transform(sys.argv[1], int(sys.argv[2])))
    except (AtomicError, NetworkError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)

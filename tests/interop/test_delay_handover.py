"""One store in turn with our broker and a real RocketMQ, while delayed messages wait in it: each is delivered once."""

import asyncio
import contextlib
import random

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.errors import OrbitError
from broker_core.protocol.json_body import MessageQueue
from tests.support.broker_process import running_broker
from tests.support.real_peer import running_peer_addresses
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(400)]

SETTINGS = {"messageDelayLevel": "1s 5s 20s", "mappedFileSizeCommitLog": "67108864"}
TOPIC = "handed-over"


async def send(name_server, level, names):
    async with Producer(name_server) as producer:
        for name in names:
            message = Message(TOPIC, name.encode(), tags="a", properties={"DELAY": str(level)})
            await producer.send(message, queue=MessageQueue(TOPIC, "broker-a", 0))


async def delivered(name_server, count):
    """Bodies of the topic's queue in order, once there are so many."""
    got = []

    def take(messages):
        got.extend(message.body.decode() for message in messages)

    consumer = PushConsumer(
        name_server, f"CG{random.randrange(1 << 30)}", {TOPIC: "a"}, take, consume_from=ConsumeFrom.FIRST_OFFSET
    )
    async with consumer:
        await eventually(lambda: len(got) >= count, seconds=60)
    return got


async def make_topic(name_server):
    async with AdminClient(name_server) as admin:
        await admin.create_topic(TOPIC, queues=1)


async def when_registered(name_server):
    async def known():
        async with AdminClient(name_server) as admin:
            with contextlib.suppress(OrbitError):
                return TOPIC in await admin.topics()
        return False

    for _ in range(600):
        if await known():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the broker has not registered its topics")


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_waiting_messages_are_handed_over_both_ways(tmp_path, version):
    done, first, second = ([f"{kind}-{number}" for number in range(5)] for kind in ("done", "first", "second"))
    ours = [option for key, value in SETTINGS.items() for option in ("--set", f"{key}={value}")]
    with running_broker(tmp_path / "store", *ours) as broker:
        asyncio.run(make_topic(broker.name_server))
        asyncio.run(send(broker.name_server, 1, done))
        assert asyncio.run(delivered(broker.name_server, 5)) == done
        asyncio.run(send(broker.name_server, 3, first))
    with running_peer_addresses(version, tmp_path, **SETTINGS) as (name_server, _broker):
        asyncio.run(when_registered(name_server))
        assert asyncio.run(delivered(name_server, 10)) == done + first
        asyncio.run(send(name_server, 3, second))
    with running_broker(tmp_path / "store", *ours) as broker:
        assert asyncio.run(delivered(broker.name_server, 15)) == done + first + second

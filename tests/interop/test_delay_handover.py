"""One store in turn with our broker and a real RocketMQ, while delayed messages wait in it: each is delivered once."""

import asyncio
import contextlib
import os
import random
import shutil
import socket
import subprocess

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.errors import OrbitError
from broker_core.remoting.json_body import MessageQueue
from tests.support.broker_process import running_broker
from tests.support.remoting_peer import eventually
from tests.support.shared import shared_dir

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(400)]

SETTINGS = ("messageDelayLevel=1s 5s 20s", "mappedFileSizeCommitLog=67108864")
TOPIC = "handed-over"


@contextlib.contextmanager
def real_broker(version, folder):
    program = shared_dir() / "peer" / "peer"
    if not program.exists() or not shutil.which("java") or not shutil.which("mvn"):
        pytest.skip("a real RocketMQ needs the shared peer program, Java and Maven")
    ports = {"PEER_NS_PORT": str(free_port()), "PEER_PORT": str(free_port()), "PEER_HEAP": "256m"}
    environment = {**os.environ, **ports}
    started = subprocess.run(
        [program, "start", version, folder, *SETTINGS], check=False, env=environment, capture_output=True, text=True
    )
    assert started.returncode == 0, started.stdout[-500:] + started.stderr[-500:]
    try:
        yield f"127.0.0.1:{ports['PEER_NS_PORT']}"
    finally:
        subprocess.run([program, "stop", folder], env=environment, check=True, timeout=60, capture_output=True)


def free_port():
    for _ in range(100):
        port = random.randrange(21_000, 32_000)
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            try:
                for used, number in ((first, port), (second, port + 1), (third, port - 2)):
                    used.bind(("127.0.0.1", number))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


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
    ours = [option for setting in SETTINGS for option in ("--set", setting)]
    with running_broker(tmp_path / "store", *ours) as broker:
        asyncio.run(make_topic(broker.name_server))
        asyncio.run(send(broker.name_server, 1, done))
        assert asyncio.run(delivered(broker.name_server, 5)) == done
        asyncio.run(send(broker.name_server, 3, first))
    with real_broker(version, tmp_path) as name_server:
        asyncio.run(when_registered(name_server))
        assert asyncio.run(delivered(name_server, 10)) == done + first
        asyncio.run(send(name_server, 3, second))
    with running_broker(tmp_path / "store", *ours) as broker:
        assert asyncio.run(delivered(broker.name_server, 15)) == done + first + second

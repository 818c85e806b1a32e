"""The Node client ali-ons against our name server and broker; needs Node, and npm's registry or cache."""

import asyncio
import os
import shutil
import subprocess

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from gui.views.welcome.samples import SAMPLES
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.cpp_client import body
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]

PACKAGES = ("ali-ons@3.12.0", "urllib@4.9.1")
COUNT = 40


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder in which the client is installed."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("node")
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        pytest.skip(f"npm cannot get the client: {done.stderr.strip()[-300:]}")
    return folder


@pytest.fixture
def node(packages, tmp_path):
    def run(script: str, *arguments: object) -> str:
        # The client writes its logs below HOME.
        environment = {**os.environ, "HOME": str(tmp_path), "NODE_PATH": str(packages / "node_modules")}
        command = ["node", script, *map(str, arguments)]
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


@pytest.fixture
def client(node):
    def run(*arguments: object) -> list[list[str]]:
        script = CHECKOUT / "tests" / "support" / "node_client.js"
        lines = [line.split(" ", 6) for line in node(str(script), *arguments).splitlines()]
        return [words[1:] for words in lines if words[0] in ("sent", "got")]

    return run


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store") as running:
        yield running


def test_it_sends_and_our_client_reads_every_message(broker, client):
    sent = client("send", broker.name_server, "node-orders", COUNT)
    assert len({message_id for message_id, _ in sent}) == COUNT

    async def read():
        got = []
        consumer = PushConsumer(
            broker.name_server,
            "CG",
            {"node-orders": "*"},
            lambda messages: got.extend((m.body.decode(), m.tags, m.keys) for m in messages),
            consume_from=ConsumeFrom.FIRST_OFFSET,
        )
        async with consumer:
            await eventually(lambda: len(got) >= COUNT, seconds=60)
        return sorted(got)

    expected = sorted((body(number), f"Tag{'AB'[number % 2]}", [f"key-{number}"]) for number in range(COUNT))
    assert asyncio.run(read()) == expected


def test_it_consumes_by_tag_and_goes_on_from_its_offsets_after_a_restart(broker, client):
    async def produce(numbers):
        async with Producer(broker.name_server) as producer:
            for number in numbers:
                tag = f"Tag{'AB'[number % 2]}"
                await producer.send(Message("our-orders", body(number).encode(), tags=tag, keys=(f"key-{number}",)))

    async def lag():
        async with AdminClient(broker.name_server) as admin:
            stats = await admin.consume_stats("CG-NODE", "our-orders")
            return sum(offset.lag_messages for offset in stats.values())

    def consumed(count):
        return sorted(words[3] for words in client("consume", broker.name_server, "our-orders", "CG-NODE", "TagA", count))

    asyncio.run(produce(range(40)))
    assert consumed(20) == sorted(f"key-{number}" for number in range(0, 40, 2))
    asyncio.run(produce(range(40, 60)))
    assert consumed(10) == sorted(f"key-{number}" for number in range(40, 60, 2))
    # A queue's last messages with the other tag are passed by without a commit of their own.
    assert asyncio.run(lag()) <= 4


def test_the_sample_program_runs_as_it_is_shown(broker, node, tmp_path):
    sample = next(sample for sample in SAMPLES if sample.title == "Node")
    program = tmp_path / "hello.js"
    program.write_text(sample.code(broker.name_server))
    assert "SEND_OK" in node(str(program))

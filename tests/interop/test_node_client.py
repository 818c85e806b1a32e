"""The Node client ali-ons against our name server and broker; needs Node, and npm's registry or cache."""

import asyncio
import os
import subprocess

import pytest

from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from gui.views.welcome.samples import SAMPLES
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.cpp_client import body
from tests.support.foreign_client import ForeignClient, lag, produce
from tests.support.remoting_peer import eventually
from tests.support.toolchains import node_packages

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

COUNT = 40


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return node_packages(tmp_path_factory.mktemp("node"))


@pytest.fixture
def environment(packages, tmp_path):
    # The client writes its logs below HOME.
    return {**os.environ, "HOME": str(tmp_path), "NODE_PATH": str(packages / "node_modules")}


@pytest.fixture
def node(environment):
    return ForeignClient(["node", str(CHECKOUT / "tests" / "support" / "node_client.js")], environment)


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store") as running:
        yield running


def test_it_sends_and_our_client_reads_every_message(broker, node):
    sent = node.run("send", broker.name_server, "node-orders", COUNT)
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


def test_its_tag_filter_leaves_others_out(broker, node):
    produce(broker.name_server, "tagged", range(40))
    got = node.consume_until(lambda got: len(got) >= 20, broker.name_server, "tagged", "CG-TAG", "TagB")
    assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(1, 40, 2))


def test_its_consumers_go_on_from_their_offsets_after_they_and_the_broker_were_restarted(tmp_path, node):
    def consume(broker, first, end):
        def all_consumed(got):
            return len(got) >= end - first and lag(broker.name_server, "our-orders", "CG-NODE") == 0

        produce(broker.name_server, "our-orders", range(first, end))
        got = node.consume_until(all_consumed, broker.name_server, "our-orders", "CG-NODE", "*")
        assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(first, end))

    with running_broker(tmp_path / "store") as broker:
        consume(broker, 0, 40)
    with running_broker(tmp_path / "store") as broker:
        consume(broker, 40, 60)


def test_the_sample_program_runs_as_it_is_shown(broker, environment, tmp_path):
    sample = next(sample for sample in SAMPLES if sample.title == "Node")
    program = tmp_path / "hello.js"
    program.write_text(sample.code(broker.name_server))
    done = subprocess.run(["node", str(program)], check=False, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "SEND_OK" in done.stdout

"""The unmodified C++ client against our name server and broker, over their real ports."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import connect
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.cpp_client import body
from tests.support.foreign_tools import need_package
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]
COUNT = 200


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store") as running:
        yield running


@pytest.fixture
def cpp_client(tmp_path):
    need_package("rocketmq")

    def run(*arguments: object) -> dict:
        script = CHECKOUT / "tests" / "support" / "cpp_client.py"
        # The client writes its logs below HOME.
        environment = {**os.environ, "HOME": str(tmp_path)}
        command = [sys.executable, str(script), *map(str, arguments)]
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_it_sends_and_our_client_reads_every_message(broker, cpp_client):
    sent = cpp_client("send", broker.name_server, "cpp-orders", COUNT)["results"]
    assert [status for status, _, _ in sent] == [0] * COUNT
    assert len({message_id for _, message_id, _ in sent}) == COUNT

    async def read():
        got = []
        consumer = PushConsumer(
            broker.name_server,
            "CG",
            {"cpp-orders": "*"},
            lambda messages: got.extend((m.body.decode(), m.tags, m.keys) for m in messages),
            consume_from=ConsumeFrom.FIRST_OFFSET,
        )
        async with consumer:
            await eventually(lambda: len(got) >= COUNT, seconds=60)
        return sorted(got)

    expected = sorted((body(number), f"Tag{'AB'[number % 2]}", [f"key-{number}"]) for number in range(COUNT))
    assert asyncio.run(read()) == expected


def test_it_consumes_what_our_client_sends_and_its_offsets_are_kept(broker, cpp_client):
    async def produce():
        async with Producer(broker.name_server) as producer:
            for start in range(0, COUNT, 20):
                batch = [
                    Message("our-orders", body(number).encode(), tags=f"Tag{'AB'[number % 2]}", keys=(f"key-{number}",))
                    for number in range(start, start + 20)
                ]
                await producer.send_batch(batch)
            # Long enough to be compressed, which batches never are.
            await producer.send(Message("our-orders", b"z" * 100_000, tags="TagA", keys=("long",)))

    async def lag():
        async with AdminClient(broker.name_server) as admin:
            stats = await admin.consume_stats("CG-CPP", "our-orders")
            return sum(offset.lag_messages for offset in stats.values())

    asyncio.run(produce())
    got = cpp_client("consume", broker.name_server, "our-orders", "CG-CPP", "*", COUNT + 1)["messages"]
    bodies = sorted(message[0] for message in got)
    assert bodies == sorted([*(body(number) for number in range(COUNT)), "z" * 100_000])
    assert asyncio.run(lag()) == 0


def test_its_tag_filter_leaves_others_out(broker, cpp_client):
    cpp_client("send", broker.name_server, "tagged", 40)
    got = cpp_client("consume", broker.name_server, "tagged", "CG-TAG", "TagB", 20)["messages"]
    assert [message[1] for message in got] == ["TagB"] * 20


def test_what_it_sent_is_there_after_a_restart(tmp_path, cpp_client):
    store: Path = tmp_path / "store"
    with running_broker(store) as broker:
        cpp_client("send", broker.name_server, "kept", 50)
    with running_broker(store) as broker:
        got = cpp_client("consume", broker.name_server, "kept", "CG-KEPT", "*", 50)["messages"]
    assert sorted(message[0] for message in got) == sorted(body(number) for number in range(50))


def test_without_a_way_to_the_broker_it_says_that_there_is_no_route(tmp_path, cpp_client):
    """Its words for a broker that it cannot connect to, here one on a network that leads nowhere; the route is there."""

    async def routed(name_server, address):
        connection = await connect(address)
        made = {"topic": "made", "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6"}
        made |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
        assert (await connection.request(RemotingCommand(Q.UPDATE_AND_CREATE_TOPIC, made), 10_000)).code == R.SUCCESS
        connection.close()
        connection = await connect(name_server)
        answer = await connection.request(RemotingCommand(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "made"}), 10_000)
        connection.close()
        return answer.code

    with running_broker(tmp_path / "store", "--set", "brokerIP1=192.0.2.77") as running:
        port = running.broker.rpartition(":")[2]
        assert asyncio.run(routed(running.name_server, f"127.0.0.1:{port}")) == R.SUCCESS
        with pytest.raises(AssertionError, match="No route info of this topic"):
            cpp_client("send", running.name_server, "made", 1)

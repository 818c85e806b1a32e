"""The official Java client against our name server and broker; needs Java, Maven, and Maven's repository or its cache."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from gui.views.welcome.samples import SAMPLES
from tests.support.broker_process import running_broker
from tests.support.cpp_client import body
from tests.support.remoting_peer import eventually
from tests.support.toolchains import compile_java, java_class_path, java_command

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

CLIENTS = [  # version, and how it writes headers
    ("4.9.4", "ROCKETMQ"),
    ("5.3.3", "JSON"),
    pytest.param(("4.9.8", "JSON"), marks=pytest.mark.slow),
    pytest.param(("4.9.8", "ROCKETMQ"), marks=pytest.mark.slow),
]
COUNT = 60


@pytest.fixture(scope="module", params=CLIENTS, ids="-".join)
def client(request):
    return request.param


@pytest.fixture(scope="module")
def class_path(client, tmp_path_factory):
    return java_class_path(tmp_path_factory.mktemp("java"), client[0], "JavaClient.java")


@pytest.fixture
def java(client, class_path, tmp_path):
    def run(main: str, *arguments: object) -> list[str]:
        start, environment = java_command(class_path, tmp_path, serialize=client[1])
        command = [*start, main, *map(str, arguments)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=280)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout.splitlines()

    return run


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store") as running:
        yield running


def results(lines: list[str], word: str) -> list[list[str]]:
    return [line.split(" ", 6)[1:] for line in lines if line.startswith(word + " ")]


def test_it_sends_and_our_client_reads_every_message(broker, java):
    sent = results(java("JavaClient", "send", broker.name_server, "java-orders", COUNT), "sent")
    assert len(sent) == COUNT + 1

    async def read():
        got = []
        consumer = PushConsumer(
            broker.name_server,
            "CG",
            {"java-orders": "*"},
            lambda messages: got.extend((m.body.decode(), m.tags, m.keys) for m in messages),
            consume_from=ConsumeFrom.FIRST_OFFSET,
        )
        async with consumer, AdminClient(broker.name_server) as admin:
            await eventually(lambda: len(got) >= COUNT + 10, seconds=60)
            first = await admin.message_by_offset_id(sent[0][0])
            assert first.body.decode() == body(0)
        return sorted(got)

    expected = sorted((body(number), f"Tag{'AB'[number % 2]}", [f"key-{number}"]) for number in range(COUNT + 10))
    assert asyncio.run(read()) == expected


@pytest.mark.parametrize("orderly", [False, True])
def test_it_consumes_by_tag_what_our_client_sends(broker, java, orderly):
    async def produce():
        async with Producer(broker.name_server) as producer:
            for number in range(COUNT):
                tag = f"Tag{'AB'[number % 2]}"
                await producer.send(Message("our-orders", body(number).encode(), tags=tag, keys=(f"key-{number}",)))

    async def lag():
        async with AdminClient(broker.name_server) as admin:
            stats = await admin.consume_stats("CG-JAVA", "our-orders")
            return sum(offset.lag_messages for offset in stats.values())

    asyncio.run(produce())
    more = ["orderly"] if orderly else []
    arguments = ["consume", broker.name_server, "our-orders", "CG-JAVA", "TagA", COUNT // 2, *more]
    got = results(java("JavaClient", *arguments), "got")
    assert {tag for _, _, tag, _, _, _ in got} == {"TagA"}
    assert sorted(key for _, _, _, key, _, _ in got) == sorted(f"key-{number}" for number in range(0, COUNT, 2))
    if orderly:
        for queue_id in {row[0] for row in got}:
            offsets = [int(row[1]) for row in got if row[0] == queue_id]
            assert offsets == sorted(offsets)
    assert asyncio.run(lag()) <= COUNT // 2


def test_its_pull_consumer_goes_on_from_what_it_committed(broker, java):
    async def produce(numbers):
        async with Producer(broker.name_server) as producer:
            for number in numbers:
                await producer.send(Message("polled", body(number).encode(), tags="TagA", keys=(f"key-{number}",)))

    for first, end in ((0, COUNT), (COUNT, COUNT + 10)):
        asyncio.run(produce(range(first, end)))
        got = results(java("JavaClient", "poll", broker.name_server, "polled", "CG-POLL", "*", end - first), "got")
        assert sorted(key for _, _, _, key, _, _ in got) == sorted(f"key-{number}" for number in range(first, end))


def test_the_sample_program_runs_as_it_is_shown(broker, java, class_path, tmp_path):
    sample = next(sample for sample in SAMPLES if sample.title == "Java")
    source = tmp_path / "Hello.java"
    source.write_text(sample.code(broker.name_server))
    compile_java(class_path, Path(class_path.split(os.pathsep)[0]), source)
    assert "SEND_OK" in "".join(java("Hello"))


def test_its_admin_tool_lists_creates_and_describes(broker, java):
    def admin(command, *arguments):
        tool = "org.apache.rocketmq.tools.command.MQAdminStartup"
        return "\n".join(java(tool, command, "-n", broker.name_server, *arguments))

    assert "success" in admin("updateTopic", "-b", broker.broker, "-t", "made-by-tool", "-r", "3", "-w", "3")
    assert "made-by-tool" in admin("topicList")
    assert "broker-a" in admin("clusterList")
    assert admin("topicStatus", "-t", "made-by-tool").count("broker-a") == 3
    assert "3" in admin("topicRoute", "-t", "made-by-tool")

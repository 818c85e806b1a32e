"""The official Java client of 5.x as a POP consumer, against our broker; needs Java, Maven, and its repository or cache."""

import asyncio
import contextlib
import signal

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX
from broker_core.transport.client import connect
from tests.support.broker_process import running_broker
from tests.support.java_tools import ADMIN_TOOL, JavaProgram
from tests.support.pop_consumer import PopConsumer

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

COUNT = 60


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    return JavaProgram.compile("PopClient.java", "5.3.3", tmp_path_factory.mktemp("java-pop"))


def send(name_server, topic, numbers):
    async def produce():
        async with Producer(name_server) as producer:
            for number in numbers:
                tag = f"Tag{'AB'[number % 2]}"
                await producer.send(Message(topic, b"body-%d" % number, tags=tag, keys=(f"key-{number}",)))

    asyncio.run(produce())


def ask(broker, code, body):
    async def request():
        connection = await connect(broker.broker)
        answer = await connection.request(RemotingCommand(code, {}, emit(body)))
        connection.close()
        await connection.wait_closed()
        return answer.code

    assert asyncio.run(request()) == ResponseCode.SUCCESS


def pop_by_default(broker, topic, group):
    """Have the broker divide the topic's queues among the group, which pops them."""
    mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0}
    ask(broker, RequestCode.SET_MESSAGE_REQUEST_MODE, mode)


def got(lines):
    """Key and number of earlier attempts of each message."""
    rows = [line.split() for line in lines if line.startswith("got ")]
    return [(row[4], int(row[5])) for row in rows]


def keys(numbers):
    return [(f"key-{number}", 0) for number in numbers]


@pytest.mark.parametrize("mode", ["ack", "orderly"])
def test_it_pops_every_message_once(java, tmp_path, mode):
    with running_broker(tmp_path / "store") as broker:
        send(broker.name_server, "popped", range(COUNT))
        tool = ["-n", broker.name_server, "-b", broker.broker, "-t", "popped", "-g", "CG-POP", "-m", "POP", "-q", 0]
        assert "success" in "\n".join(java.run(ADMIN_TOOL, "setConsumeMode", *tool))
        lines = java.run("PopClient", broker.name_server, "popped", "CG-POP", "*", COUNT, mode)
        assert sorted(got(lines)) == sorted(keys(range(COUNT)))


def test_it_pulls_by_default_and_pops_by_tag(java, tmp_path):
    with running_broker(tmp_path / "store") as broker:
        send(broker.name_server, "tagged", range(COUNT))
        for number, group in enumerate(("CG-PULL", "CG-TAG")):
            if number:
                pop_by_default(broker, "tagged", group)
            lines = java.run("PopClient", broker.name_server, "tagged", group, "TagA", COUNT // 2, "ack")
            assert sorted(got(lines)) == sorted(keys(range(0, COUNT, 2)))


def test_what_a_killed_client_had_comes_to_another_and_survives_a_killed_broker(java, tmp_path):
    store = tmp_path / "store"
    with contextlib.suppress(AssertionError), running_broker(store) as broker:
        ports = {
            "name_server_port": int(broker.name_server.rpartition(":")[2]),
            "port": int(broker.broker.rpartition(":")[2]),
        }
        send(broker.name_server, "kept", range(8))
        pop_by_default(broker, "kept", "CG-KEEP")
        client = java.start("PopClient", broker.name_server, "kept", "CG-KEEP", "*", 4, "keep")
        try:
            taken = [next(line for line in client.stdout if line.startswith("got ")) for _ in range(4)]
        finally:
            client.kill()
            client.wait()
            client.stdout.close()
        assert len(set(taken)) == 4
        broker.process.send_signal(signal.SIGKILL)
        broker.process.wait()
        # The exit code of the killed process fails the context; that is expected here.
    with running_broker(store, **ports) as broker:
        lines = java.run("PopClient", broker.name_server, "kept", "CG-KEEP", "*", 8, "ack")
    assert {key for key, _ in got(lines)} == {f"key-{number}" for number in range(8)}


def test_it_acks_repeated_messages_that_have_no_room_for_a_handle(java, tmp_path):
    async def pop_in_vain(name_server):
        async with Producer(name_server) as producer, PopConsumer(name_server, "CG-LONG") as consumer:
            for number, free in enumerate((20_000, 120, 20_000)):
                properties = {"long": "v" * (PROPERTIES_BYTES_MAX - free)}
                await producer.send(Message("long", b"body", tags="TagA", keys=(f"key-{number}",), properties=properties))
            found = []
            while len(found) < 3:
                found += await consumer.receive("long", invisible_ms=1_000)

    async def next_repeated(name_server):
        """A message that is due after all that the client took."""
        async with Producer(name_server) as producer, PopConsumer(name_server, "CG-LONG") as consumer:
            await producer.send(Message("long", b"end"))
            for invisible_ms in (6_000, 60_000):
                found = []
                while not found:
                    found = await consumer.receive("long", invisible_ms=invisible_ms)
            return [(bytes(message.body), message.reconsume_times) for message in found]

    with running_broker(tmp_path / "store") as broker:
        asyncio.run(pop_in_vain(broker.name_server))
        pop_by_default(broker, "long", "CG-LONG")
        lines = java.run("PopClient", broker.name_server, "long", "CG-LONG", "*", 3, "ack")
        assert sorted(got(lines)) == [(f"key-{number}", 1) for number in range(3)]
        assert asyncio.run(next_repeated(broker.name_server)) == [(b"end", 1)]


def test_what_it_fails_to_consume_comes_again_and_then_becomes_a_dead_letter(java, tmp_path):
    with running_broker(tmp_path / "store") as broker:
        send(broker.name_server, "failing", range(3))
        pop_by_default(broker, "failing", "CG-FAIL")
        ask(broker, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {"groupName": "CG-FAIL", "retryMaxTimes": 1})
        lines = java.run("PopClient", broker.name_server, "failing", "CG-FAIL", "*", 6, "fail")
        assert sorted(got(lines)) == sorted((f"key-{number}", times) for number in range(3) for times in (0, 1))
        assert asyncio.run(dead_letters(broker.name_server, "%DLQ%CG-FAIL", 3)) == 3


async def dead_letters(name_server, topic, count):
    """Messages of a topic, as soon as there are so many."""
    async with AdminClient(name_server) as admin:
        deadline = asyncio.get_running_loop().time() + 60
        while asyncio.get_running_loop().time() < deadline:
            if topic in await admin.topics():
                stats = await admin.topic_stats(topic)
                found = sum(offset.max_offset for offset in stats.values())
                if found >= count:
                    return found
            await asyncio.sleep(0.1)
    raise AssertionError(f"{topic} has not got {count} messages in time")

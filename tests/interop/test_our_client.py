"""Our client against our own broker and against a real RocketMQ: the same scenarios, the same outcome."""

import asyncio
import os
import random
import shutil
import socket
import subprocess

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.demo import GROUPS, play
from broker_core.client.message import Message, SendStatus
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.config import ClientConfig
from broker_core.errors import RemoteError
from broker_core.message.body import decompress_body
from broker_core.remoting.json_body import MessageQueue
from tests.support.broker_process import running_broker
from tests.support.remoting_peer import BROKER, eventually, eventually_answers
from tests.support.shared import shared_dir

pytestmark = pytest.mark.timeout(300)
PEER_VERSION = "4.9.4"
CONFIG = ClientConfig(commit_interval_ms=50, consume_retry_ms=20)


@pytest.fixture(scope="module", params=["orbit", pytest.param("rocketmq", marks=pytest.mark.java)])
def name_server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "orbit":
        with running_broker(folder / "store") as broker:
            yield broker.name_server
        return
    program = shared_dir() / "peer" / "peer"
    if not program.exists() or not shutil.which("java") or not shutil.which("mvn"):
        pytest.skip("a real RocketMQ needs the shared peer program, Java and Maven")
    ports = {"PEER_NS_PORT": str(free_port()), "PEER_PORT": str(free_port()), "PEER_HEAP": "256m"}
    environment = {**os.environ, **ports}
    small = "mappedFileSizeCommitLog=67108864"
    command = [program, "start", PEER_VERSION, folder, small]
    started = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    if started.returncode != 0:
        pytest.skip(f"RocketMQ {PEER_VERSION} does not start: {started.stderr[-300:]}")
    yield f"127.0.0.1:{ports['PEER_NS_PORT']}"
    subprocess.run([program, "stop", folder], env=environment, check=True, timeout=60)


def free_port():
    """A port that is free now with its neighbours, which RocketMQ takes too."""
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


def run(scenario):
    asyncio.run(scenario)


def consumer(name_server, group, topic, listener, expression="*", **options):
    options.setdefault("consume_from", ConsumeFrom.FIRST_OFFSET)
    return PushConsumer(name_server, group, {topic: expression}, listener, config=CONFIG, **options)


def collect(into):
    return lambda messages: into.extend(message.body for message in messages)


async def lag(admin, group, topic):
    return sum(offset.lag_messages for offset in (await admin.consume_stats(group, topic)).values())


async def until_lag_is_zero(name_server, group, topic):
    async with AdminClient(name_server) as admin:

        async def is_zero():
            return not await lag(admin, group, topic)

        await eventually_answers(is_zero)


def test_singles_batches_oneways_and_compressed_bodies_arrive(name_server):
    async def scenario():
        sent = [f"m-{number} 中文".encode() for number in range(100)]
        long_body = b"0123456789" * 2_000
        async with Producer(name_server) as producer:
            results = await asyncio.gather(*(producer.send(Message("whole", body, keys=("k",))) for body in sent[:50]))
            assert {result.status for result in results} == {SendStatus.SEND_OK}
            batch = await producer.send_batch([Message("whole", body) for body in sent[50:]])
            assert len(batch.offset_message_id.split(",")) == 50
            await producer.send_oneway(Message("whole", b"oneway"))
            long = await producer.send(Message("whole", long_body))
        got = []
        async with consumer(name_server, "whole-group", "whole", collect(got), batch_messages=16):
            await eventually(lambda: len(got) >= 102, seconds=60)
            await until_lag_is_zero(name_server, "whole-group", "whole")
        assert sorted(got) == sorted([*sent, b"oneway", long_body])
        async with AdminClient(name_server) as admin:
            stored = await admin.message_by_offset_id(long.offset_message_id)
            assert (len(stored.body) < 1000, decompress_body(stored.sys_flag, stored.body)) == (True, long_body)

    run(scenario())


def test_a_group_goes_on_after_its_last_commit(name_server):
    async def scenario():
        queue = MessageQueue("resume", BROKER, 0)
        first, second = [], []
        async with AdminClient(name_server) as admin, Producer(name_server) as producer:
            await admin.create_topic("resume", queues=1)
            await wait_for_route(admin, "resume")
            for number in range(10):
                await producer.send(Message("resume", b"%d" % number), queue=queue)
            async with consumer(name_server, "resume-group", "resume", collect(first)):
                await eventually(lambda: len(first) == 10, seconds=60)
            assert await admin.consumer_offset("resume-group", queue) == 10
            await producer.send(Message("resume", b"late"), queue=queue)
            async with consumer(name_server, "resume-group", "resume", collect(second)):
                await eventually(lambda: second == [b"late"], seconds=60)

    run(scenario())


def test_two_members_share_the_queues_and_one_takes_over(name_server):
    async def scenario():
        first, second = [], []
        async with AdminClient(name_server) as admin, Producer(name_server) as producer:
            await admin.create_topic("shared", queues=4)
            await wait_for_route(admin, "shared")
            async with consumer(name_server, "shared-group", "shared", collect(first)) as one:
                async with consumer(name_server, "shared-group", "shared", collect(second)) as two:
                    await eventually(lambda: (of(one), of(two)) == (2, 2), seconds=60)
                    await asyncio.gather(*(producer.send(Message("shared", b"%d" % number)) for number in range(40)))
                    await eventually(lambda: len(first) + len(second) == 40, seconds=60)
                    assert (len(first), len(second)) == (20, 20)
                await eventually(lambda: of(one) == 4, seconds=60)
                await producer.send(Message("shared", b"after"))
                await eventually(lambda: b"after" in first, seconds=60)

    def of(member):
        return len([queue for queue in member.queues if queue.topic == "shared"])

    run(scenario())


def test_tags_are_filtered(name_server):
    async def scenario():
        got = []
        async with Producer(name_server) as producer:
            for number in range(30):
                await producer.send(Message("tags", b"%d" % number, tags="ABC"[number % 3]))
        async with consumer(name_server, "tags-group", "tags", collect(got), "A || C"):
            await eventually(lambda: len(got) == 20, seconds=60)
        assert sorted(map(int, got)) == [number for number in range(30) if number % 3 != 1]

    run(scenario())


def test_a_failing_listener_loses_nothing(name_server):
    async def scenario():
        got, failed = [], set()

        def listener(messages):
            body = messages[0].body
            if body not in failed:
                failed.add(body)
                raise ValueError("first time")
            got.append(body)

        async with Producer(name_server) as producer:
            for number in range(10):
                await producer.send(Message("stumble", b"%d" % number))
        async with consumer(name_server, "stumble-group", "stumble", listener):
            await eventually(lambda: len(got) == 10, seconds=60)

    run(scenario())


def test_offsets_by_time(name_server, request):
    # Past the last message 4.9 gives the last one; ours the end, as RocketMQ 5 does.
    past_the_end = 3 if "orbit" in request.node.name else 2

    async def scenario():
        queue = MessageQueue("times", BROKER, 0)
        async with AdminClient(name_server) as admin, Producer(name_server) as producer:
            await admin.create_topic("times", queues=1)
            await wait_for_route(admin, "times")
            assert (await admin.min_offset(queue), await admin.max_offset(queue)) == (0, 0)
            for _ in range(3):
                await producer.send(Message("times", b"x"), queue=queue)
            assert (await admin.min_offset(queue), await admin.max_offset(queue)) == (0, 3)
            assert await admin.offset_by_time(queue, 0) == 0
            assert await admin.offset_by_time(queue, 1 << 42) == past_the_end
            assert (await admin.topic_stats("times"))[queue].max_offset == 3
            with pytest.raises(RemoteError, match="there is no topic missing"):
                await admin.topic_stats("missing")

    run(scenario())


def test_a_body_that_is_too_large_is_refused_by_the_broker(name_server):
    async def scenario():
        config = ClientConfig(message_bytes_max=8 * 1024 * 1024, compress_body_bytes=1 << 30)
        async with Producer(name_server, config=config) as producer:
            await producer.send(Message("large", b"x"))
            with pytest.raises(RemoteError, match=r"MESSAGE_ILLEGAL \(13\)"):
                await producer.send(Message("large", bytes(5 * 1024 * 1024)), timeout_ms=20_000)

    run(scenario())


def test_the_demo_plays_and_only_payments_fall_behind(name_server):
    async def scenario():
        totals = await play(name_server, rate=600, seconds=4, say=[].append)
        assert (totals.failed, totals.sent > 1_800) == (0, True)
        behind = {}
        async with AdminClient(name_server) as admin:
            for group in GROUPS:
                behind[group.name] = await lag(admin, group.name, group.topic)
        assert behind["payment-settle"] > 50
        assert behind["order-service"] < 200

    run(scenario())


async def wait_for_route(admin, topic):
    async def is_known():
        return topic in await admin.topics()

    await eventually_answers(is_known)

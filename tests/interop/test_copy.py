"""Copies between our broker and real ones, both ways: settings, messages in order, offsets, a killed target; on demand."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import RawMessage
from broker_core.client.producer import Producer
from broker_core.cluster.records import split_records
from broker_core.errors import RemoteError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.tools.commands.copy import main as copy
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually_answers
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]
BROKER = "broker-a"
COUNT = 60


@pytest.fixture(scope="module", params=["4.9.4", "5.3.3"])
def peer(request, tmp_path_factory):
    with running_peer(request.param, tmp_path_factory.mktemp("real"), autoCreateTopicEnable="true") as broker:
        yield broker


@pytest.fixture
def real(peer):
    peer.until_registered()
    return peer


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("ours") / "store") as broker:
        yield broker


async def fill(name_server, topic):
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        await admin.create_topic(topic, queues=3)
        await admin.create_topic("%DLQ%billing", queues=1)
        await admin.set_group(f"g-{topic}", retryMaxTimes=5)

        async def is_there():
            return len(await producer.queues(topic)) == 3 and "%DLQ%billing" in await admin.topics()

        await eventually_answers(is_there)
        for number in range(COUNT):
            values = {"UNIQ_KEY": f"U{topic}{number}", "KEYS": f"k{number}", "TAGS": "a", "city": "杭州"}
            if number == 7:
                values["DELAY"] = "1"
            body = b"%d" % number
            flag = with_compression(0, Compression.ZLIB) if number % 10 == 9 else 0
            message = RawMessage(
                topic=topic, body=compress_body(body * 90) if flag else body, properties=encode_properties(values),
                flag=number, sys_flag=flag, born_timestamp_ms=1_000_000 + number // 4,
            )  # fmt: skip
            await producer.send_raw(message, MessageQueue(topic, BROKER, number % 3))
        dead = {"KEYS": "d", "UNIQ_KEY": f"D{topic}", "RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": "ID"}
        await producer.send_raw(
            RawMessage(topic="%DLQ%billing", body=topic.encode(), properties=encode_properties(dead)),
            MessageQueue("%DLQ%billing", BROKER, 0),
        )

        async def all_are_there():
            return sum([await admin.max_offset(MessageQueue(topic, BROKER, queue)) for queue in range(3)]) == COUNT

        await eventually_answers(all_are_there)
        for queue, offset in enumerate((5, 10, 20)):
            await admin.set_consumer_offset(f"g-{topic}", MessageQueue(topic, BROKER, queue), offset)


async def has_route(name_server, topic):
    async with AdminClient(name_server) as admin:
        with contextlib.suppress(RemoteError):
            return await admin.readable_route(topic)


async def messages_of(name_server, topic):
    found = {}
    async with AdminClient(name_server) as admin:
        route = await admin.readable_route(topic)
        for queue in route.subscribe_queues():
            offset, end = await admin.min_offset(queue), await admin.max_offset(queue)
            rows = found[queue.queue_id] = []
            while offset < end:
                body, offset = await admin.pull_records(route.address_of(queue.broker_name), queue, offset, 32)
                for message in map(decode_record, split_records(body)):
                    names = {"KEYS", "TAGS", "UNIQ_KEY", "city", "RETRY_TOPIC", "ORIGIN_MESSAGE_ID"}
                    kept = {name: value for name, value in message.properties.items() if name in names}
                    flags = message.sys_flag & 0x703, message.flag
                    rows.append((message.body, kept, *flags, message.born_timestamp_ms))
    return found


async def offsets_of(name_server, topic):
    async with AdminClient(name_server) as admin:
        return [await admin.consumer_offset(f"g-{topic}", MessageQueue(topic, BROKER, queue)) for queue in range(3)]


@pytest.mark.parametrize("way", ["home", "out"])
def test_a_copy_is_whole_both_ways_and_the_source_stays(real, ours, tmp_path, capsys, way):
    source, target = (real.name_server, ours.name_server) if way == "home" else (ours.name_server, real.name_server)
    topic, path = f"orders-{way}-{real.version.replace('.', '_')}", tmp_path / "receipt"
    asyncio.run(fill(source, topic))
    before = asyncio.run(messages_of(source, topic))
    line = ["--from", source, "--to", target, "--topic", topic, "--groups", f"g-{topic}", "--offsets"]
    assert copy([*line, "--dry-run"]) == 0
    assert f"topic {topic}: 60 messages of 3 queues; it is created" in capsys.readouterr().err
    assert copy([*line, "--receipt", str(path)]) == 0, capsys.readouterr().err
    assert capsys.readouterr().err.splitlines()[-1].startswith("complete: 60 copied; receipt: ")
    assert asyncio.run(messages_of(target, topic)) == before
    assert asyncio.run(messages_of(source, topic)) == before
    assert asyncio.run(offsets_of(target, topic)) == asyncio.run(offsets_of(source, topic)) == [5, 10, 20]

    async def group():
        async with AdminClient(target) as admin:
            return (await admin.groups())[f"g-{topic}"].retry_times_max

    assert asyncio.run(group()) == 5
    assert copy(["--resume", str(path)]) == 0
    assert asyncio.run(messages_of(target, topic)) == before
    dead = ["--from", source, "--to", target, "--topic", "%DLQ%billing", "--receipt", str(tmp_path / "dead")]
    assert copy(dead) == 0, capsys.readouterr().err
    copied = asyncio.run(messages_of(target, "%DLQ%billing"))[0]
    dead_of = {"KEYS": "d", "UNIQ_KEY": f"D{topic}", "RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": "ID"}
    assert (topic.encode(), dead_of) in [row[:2] for row in copied]


def test_times_of_a_real_broker_bound_exactly(real, ours, tmp_path, capsys):
    topic = f"timed-{real.version.replace('.', '_')}"

    async def prepared():
        async with AdminClient(real.name_server) as admin, Producer(real.name_server) as producer:
            await admin.create_topic(topic, queues=1)

            async def is_there():
                return len(await producer.queues(topic)) == 1

            await eventually_answers(is_there)
            place = MessageQueue(topic, BROKER, 0)
            for number in range(40):
                raw = RawMessage(topic=topic, body=b"%d" % number, properties=b"KEYS\x01k")
                await producer.send_raw(raw, place)

            async def all_are_there():
                return await admin.max_offset(place) == 40

            await eventually_answers(all_are_there)
            address = (await admin.readable_route(topic)).address_of(BROKER)
            bodies = [(await admin.pull_records(address, place, offset, 1))[0] for offset in range(40)]
            return [decode_record(body).store_timestamp_ms for body in bodies]

    times = asyncio.run(prepared())
    since, until = times[12], times[29]
    line = ["--from", real.name_server, "--to", ours.name_server, "--topic", topic, "--receipt", str(tmp_path / "receipt")]
    assert copy([*line, "--since", str(since), "--until", str(until)]) == 0, capsys.readouterr().err
    plan = json.loads((tmp_path / "receipt").read_text("utf-8").splitlines()[0])["plan"]
    (part,) = plan["parts"]
    wanted = [number for number, at in enumerate(times) if since <= at < until]
    assert (part["first"], part["end"]) == (wanted[0], wanted[-1] + 1)


async def numbered(name_server, topic, count):
    """A topic of two queues with numbers in turn."""
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        await admin.create_topic(topic, queues=2)
        for number in range(count):
            raw = RawMessage(topic=topic, body=b"%d" % number, properties=b"KEYS\x01k%d" % number, born_timestamp_ms=number)
            await producer.send_raw(raw, MessageQueue(topic, BROKER, number % 2))


def lines_of(receipt):
    return [json.loads(text) for text in receipt.read_text("utf-8").splitlines()]


def check_copied(real, topic, count, receipt):
    """Each number is there, in order, and not more often than the receipt says."""
    doubtful = sum(line["count"] for line in lines_of(receipt) if line.get("maybeTwice"))
    # A broker that was killed registers its topics again somewhat later than it takes messages.
    wait_until(lambda: asyncio.run(has_route(real.name_server, topic)))
    found = asyncio.run(messages_of(real.name_server, topic))
    for queue in (0, 1):
        numbers = [int(row[0]) for row in found[queue]]
        assert list(dict.fromkeys(numbers)) == list(range(queue, count, 2))
        assert len(numbers) - count // 2 <= doubtful


def test_a_target_that_is_killed_and_comes_back_has_all_and_what_may_be_twice_is_named(real, ours, tmp_path):
    topic, path, count = f"killed-{real.version.replace('.', '_')}", tmp_path / "receipt", 1_500
    asyncio.run(numbered(ours.name_server, topic, count))
    line = [sys.executable, str(CHECKOUT / "main.py"), "copy", "--from", ours.name_server, "--to", real.name_server]
    line += ["--topic", topic, "--rate", "300", "--receipt", str(path)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as copying:
        said = []
        for text in copying.stderr:
            said.append(text)
            if text.startswith("progress: "):
                break
        real.stop(kill=True)
        real.start()
        said += copying.stderr.readlines()
    assert copying.returncode == 0, said
    assert any(text.startswith("waiting: ") for text in said)
    check_copied(real, topic, count, path)


@pytest.mark.slow
@pytest.mark.parametrize(("end", "kill"), [("gives up", True), ("is interrupted", False), ("is killed", True)])
def test_a_copy_whose_target_stays_away_says_how_far_it_came_and_goes_on_from_its_receipt(real, ours, tmp_path, end, kill):
    topic, path, count = f"{end}-{real.version}".replace(" ", "_").replace(".", "_"), tmp_path / "receipt", 1_500
    asyncio.run(numbered(ours.name_server, topic, count))
    line = [sys.executable, str(CHECKOUT / "main.py"), "copy", "--from", ours.name_server, "--to", real.name_server]
    line += ["--topic", topic, "--rate", "300", "--receipt", str(path), *(["--wait-max", "1"] if end == "gives up" else [])]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as copying:
        said = [next(text for text in copying.stderr if text.startswith("progress: "))]
        real.stop(kill=kill)
        said.append(next(text for text in copying.stderr if text.startswith("waiting: ")))
        if end != "gives up":
            copying.send_signal(signal.SIGINT if end == "is interrupted" else signal.SIGKILL)
        said += copying.stderr.readlines()
    real.start()
    real.until_registered()
    expected = {"gives up": 1, "is interrupted": 130, "is killed": -signal.SIGKILL}
    assert copying.returncode == expected[end], said
    if end != "is killed":
        (told,) = [text["messages"] for text in lines_of(path) if "ended" in text]
        there = sum(map(len, asyncio.run(messages_of(real.name_server, topic)).values()))
        assert 0 < told["copied"] < count
        assert told["copied"] <= there <= told["copied"] + told["unknown"] + told["maybeTwice"]
        assert told["copied"] + told["left"] == told["planned"] == count
        assert f"; go on with: orbit copy --resume {path}" in said[-1]
    again = subprocess.run([*line[:3], "--resume", str(path)], stderr=subprocess.PIPE, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stderr.splitlines()[-1].startswith(f"complete: {count:,} copied")
    check_copied(real, topic, count, path)

"""Administration that is read of several brokers: parts of a table, what each has of its own, what any of them knows."""

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.json_body import MessageQueue, emit, parse_object
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import Reply
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from tests.support.attached import QUICK, asking, attached, told
from tests.support.fake_cluster import FakeBroker, FakeCluster, Stopping, refused, silent

STATS = AskBroker(RequestCode.GET_CONSUME_STATS, {"topic": "orders", "consumerGroup": "g"})
MEMBERS = AskBroker(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": "g"})
TOPIC = AskBroker(RequestCode.GET_TOPIC_CONFIG, {"topic": "orders"})
TOPICS = AskBroker(RequestCode.GET_ALL_TOPIC_CONFIG)
SETTINGS = AskBroker(RequestCode.GET_BROKER_CONFIG)
INFO = AskBroker(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "g", "clientId": "c1"})
IN_TIME = replace(QUICK, page_ms=250)


def broker(name, queues=2):
    made = FakeBroker(name, {"orders": queues, name: 1}, {"orders": 3}, ["g"], settings={"fileReservedTime": str(queues)})
    row = {MessageQueue("orders", name, 0): {"brokerOffset": 3, "consumerOffset": queues}}
    made.answers[RequestCode.GET_CONSUME_STATS] = lambda _, command: command.reply(body=emit({"offsetTable": row}))
    return made


@asynccontextmanager
async def scene(settings=QUICK):
    async with FakeCluster([broker("a"), broker("b", 4)]) as cluster, attached(cluster.name_server, settings) as watched:
        await watched.sampling.once()
        async with asking(watched) as queries:
            yield cluster, watched, queries


async def ended(cluster, watched):
    """The second broker ends, and that is known."""
    await cluster.brokers[1].stop()
    async with asyncio.timeout(60):
        while not watched.figures.of("b").is_lost:
            await watched.sampling.once()


def test_a_table_holds_the_parts_of_those_that_answer_and_names_the_others():
    async def check():
        async with scene() as (cluster, watched, queries):
            whole = await told(queries, STATS, BrokerAnswer)
            assert (len(parse_object(whole.body)["offsetTable"]), whole.notice) == (2, "")
            await ended(cluster, watched)
            part = await told(queries, STATS, BrokerAnswer)
            assert list(parse_object(part.body)["offsetTable"].values()) == [{"brokerOffset": 3, "consumerOffset": 2}]
            assert part.notice.startswith("Not all brokers answered, and what they hold is missing here. b: no answer: ")
            topics = await told(queries, TOPICS, BrokerAnswer)
            assert (set(parse_object(topics.body)["topicConfigTable"]), bool(topics.notice)) == ({"a", "orders"}, True)

    asyncio.run(check())


@pytest.mark.parametrize(("answer", "reason"), [(refused, "No accessKey is configured"), (silent, "broker b is slow")])
def test_a_table_is_there_in_time_and_says_why_a_part_is_missing(answer, reason):
    async def check():
        async with scene(IN_TIME) as (cluster, _watched, queries):
            cluster.brokers[1].answer_all(answer)
            part = None
            while part is None or "broker a is slow" in part.notice:
                try:
                    part = await told(queries, STATS, BrokerAnswer)
                except NetworkError:
                    continue  # the machine is busy, and the quick one was late, too
            assert len(parse_object(part.body)["offsetTable"]) == 1
            assert re.search(f"b: .*{reason}", part.notice)

    asyncio.run(check())


def test_that_nobody_is_online_is_said_by_all_or_by_none():
    async def check():
        async with scene() as (cluster, watched, queries):
            with pytest.raises(RemoteError, match="not online"):
                await queries.answer(MEMBERS)
            await ended(cluster, watched)
            with pytest.raises(NetworkError, match="b: no answer: "):
                await queries.answer(MEMBERS)

    asyncio.run(check())


def test_each_broker_tells_its_own():
    async def check():
        async with scene() as (cluster, watched, queries):
            settings = await told(queries, SETTINGS, BrokerAnswer)
            assert settings.body == b"fileReservedTime=2\n"
            assert settings.bodies == {"a": b"fileReservedTime=2\n", "b": b"fileReservedTime=4\n"}
            topic = await told(queries, TOPIC, BrokerAnswer)
            assert [parse_object(body)["readQueueNums"] for body in topic.bodies.values()] == [2, 4]
            assert decode_worker_message(sent(topic)) == Reply(1, topic)
            await ended(cluster, watched)
            settings = await told(queries, SETTINGS, BrokerAnswer)
            assert (settings.bodies, "b: no answer: " in settings.notice) == ({"a": b"fileReservedTime=2\n"}, True)
            # One that is named is asked, whatever is known of it.
            with pytest.raises(NetworkError):
                await queries.answer(replace(SETTINGS, broker_name="b"))
            only = await told(queries, replace(SETTINGS, broker_name="a"), BrokerAnswer)
            assert (only.bodies, only.notice) == ({}, "")

    asyncio.run(check())


def sent(answer):
    (payload,) = FrameReader().feed(encode_message(Reply(1, answer)))
    return payload


def test_what_any_broker_may_know_is_told_by_the_one_that_does():
    async def check():
        async with scene(IN_TIME) as (cluster, watched, queries):
            first, second = cluster.brokers
            first.answers[RequestCode.GET_CONSUMER_RUNNING_INFO] = lambda _, command: command.reply(
                ResponseCode.SYSTEM_ERROR, "The Consumer <g> <c1> not online"
            )
            second.answers[RequestCode.GET_CONSUMER_RUNNING_INFO] = lambda _, command: command.reply(body=emit({"jstack": "x"}))
            assert parse_object((await told(queries, INFO, BrokerAnswer)).body) == {"jstack": "x"}
            first.manner = Stopping()
            assert parse_object((await told(queries, INFO, BrokerAnswer)).body) == {"jstack": "x"}
            first.manner = None
            await ended(cluster, watched)
            with pytest.raises(RemoteError, match="not online"):
                await queries.answer(INFO)

    asyncio.run(check())

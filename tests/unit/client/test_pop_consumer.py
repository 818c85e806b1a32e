"""Our POP consumer against our broker, over loopback."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX
from tests.support.broker_bench import SMALL_FILES
from tests.support.pop_consumer import PopConsumer


@asynccontextmanager
async def popping(root, *, bodies=(), **settings):
    store = StoreConfig(root=root / "store", **SMALL_FILES)
    broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store, **settings))
    await broker.start()
    try:
        async with Producer(broker.name_server_address) as producer:
            for number, body in enumerate(bodies):
                await producer.send(Message("orders", body, tags="AB"[number % 2]))
            async with PopConsumer(broker.name_server_address, "CG") as consumer:
                yield consumer, producer
    finally:
        await broker.stop()


async def receive(consumer, count, **more):
    """So many messages; a pop need not give all that there are."""
    found = []
    while len(found) < count:
        messages = await consumer.receive("orders", wait_ms=10_000, **more)
        assert messages, f"only {len(found)} messages of {count} came"
        found += messages
    return found


def test_messages_are_received_and_acked(tmp_path):
    async def scenario():
        async with popping(tmp_path, bodies=[b"%d" % number for number in range(40)]) as (consumer, _):
            messages = await receive(consumer, 40, max_messages=10)
            assert sorted(int(message.body) for message in messages) == list(range(40))
            assert {message.topic for message in messages} == {"orders"}
            for message in messages:
                await consumer.ack(message)
            assert await consumer.receive("orders", wait_ms=0) == []

    asyncio.run(scenario())


@pytest.mark.parametrize("is_v2", [False, True])
def test_repeated_messages_without_room_for_a_handle_come_with_their_neighbours(tmp_path, is_v2):
    async def scenario():
        async with popping(tmp_path, bodies=[b"before"], pop_retry_topic_v2=is_v2) as (consumer, producer):
            await producer.send(Message("orders", b"long", properties={"long": "v" * (PROPERTIES_BYTES_MAX - 120)}))
            await producer.send(Message("orders", b"after"))
            await receive(consumer, 3, invisible_ms=1_000)
            messages = await receive(consumer, 3)
            assert {message.body: message.reconsume_times for message in messages} == {b"before": 1, b"long": 1, b"after": 1}
            for message in messages:
                await consumer.change_invisible(message, 60_000)
                await consumer.ack(message)
                with pytest.raises(RemoteError) as refused:
                    await consumer.change_invisible(message, 60_000)
                assert refused.value.context["code"] == ResponseCode.NO_MESSAGE

    asyncio.run(scenario())


def test_tags_are_chosen_by_the_broker(tmp_path):
    async def scenario():
        async with popping(tmp_path, bodies=[b"0", b"1", b"2", b"3"]) as (consumer, _):
            assert sorted(message.body for message in await receive(consumer, 2, expression="B")) == [b"1", b"3"]

    asyncio.run(scenario())


def test_a_message_given_back_comes_again_and_can_be_acked(tmp_path):
    async def scenario():
        async with popping(tmp_path, bodies=[b"one"]) as (consumer, _):
            (message,) = await receive(consumer, 1)
            await consumer.change_invisible(message, 600_000)
            await consumer.change_invisible(message, 0)
            (again,) = await receive(consumer, 1)
            assert (again.body, again.topic, again.reconsume_times) == (b"one", "orders", 1)
            await consumer.ack(again)
            with pytest.raises(RemoteError) as refused:
                await consumer.change_invisible(again, 1_000)
            assert refused.value.context["code"] == ResponseCode.NO_MESSAGE

    asyncio.run(scenario())


def test_a_waiting_consumer_gets_a_message_as_it_is_sent(tmp_path):
    async def scenario():
        async with popping(tmp_path, bodies=[b"first"]) as (consumer, producer):
            await receive(consumer, 1)
            waiting = asyncio.create_task(consumer.receive("orders", wait_ms=20_000))
            await producer.send(Message("orders", b"second"))
            assert [message.body for message in await waiting] == [b"second"]

    asyncio.run(scenario())


def test_what_cannot_be_asked_is_refused(tmp_path):
    async def scenario():
        async with popping(tmp_path) as (consumer, _):
            with pytest.raises(UsageError, match="1 to 32"):
                await consumer.receive("orders", max_messages=33)
            with pytest.raises(RemoteError, match="no broker serves topic unknown"):
                await consumer.receive("unknown")

    asyncio.run(scenario())

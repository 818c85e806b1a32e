"""Groups through the admin client, on a real broker in this process."""

import asyncio

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.admin.running import ConsumeOutcome
from tests.support.remoting_peer import eventually


def play(tmp_path, scenario):
    async def run():
        store = StoreConfig(root=tmp_path, commit_log_file_bytes=1 << 22, disk_warning_percent=100)
        broker = EmbeddedBroker(BrokerConfig(name_server_port=0, listen_port=0, store=store))
        await broker.start()
        try:
            await scenario(broker)
        finally:
            await broker.stop()

    asyncio.run(run())


def test_groups_are_made_and_shown(tmp_path):
    async def scenario(broker):
        async with AdminClient(broker.name_server_address) as admin:
            await admin.set_group("G", retryMaxTimes=3, consumeEnable=False)
            config = (await admin.groups())["G"]
            assert (config.retry_times_max, config.consume_enabled, config.retry_queues) == (3, False, 1)
            assert await admin.members("G") == []

    play(tmp_path, scenario)


def test_members_topics_and_messages_of_a_group(tmp_path):
    async def scenario(broker):
        address = broker.name_server_address
        async with Producer(address) as producer:
            await producer.send(Message("T", b"x", tags="a", keys=("k1", "k2")))
        got = []

        def member(tags):
            return PushConsumer(address, "G", {"T": tags}, got.extend, consume_from=ConsumeFrom.FIRST_OFFSET)

        async with AdminClient(address) as admin, member("a") as first, member("a || b") as second:
            members = await admin.members("G")
            assert {item.client_id for item in members} == {first.client_id, second.client_id}
            assert {item.version for item in members} == {409}
            assert await admin.groups_of_topic("T") == ["G"]
            await eventually(lambda: got)
            (found,) = await admin.messages_by_key("T", "k2")
            assert found.body == b"x"
            assert await admin.messages_by_key("T", "k") == []
            assert [item.body for item in await admin.messages_by_id("T", got[0].message_id)] == [b"x"]
            result = await admin.consume_directly("G", first.client_id, got[0].offset_message_id)
            assert (result.outcome, len(got) > 1) == (ConsumeOutcome.SUCCESS, True)
            master = (await admin.master_addresses())["broker-a"]
            assert (await admin.broker_settings(master))["brokerName"] == "broker-a"

    play(tmp_path, scenario)

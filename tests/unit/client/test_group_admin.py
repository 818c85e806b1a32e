"""Groups through the admin client, on a real broker in this process."""

import asyncio

from broker_core.client.admin import AdminClient
from broker_core.client.group_admin import conflicts
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.admin.running import ConsumeOutcome, read_running_info
from broker_core.protocol.json_body import emit
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


def test_groups_are_made_shown_and_deleted(tmp_path):
    async def scenario(broker):
        async with AdminClient(broker.name_server_address) as admin:
            await admin.set_group("G", retryMaxTimes=3, consumeEnable=False)
            config = (await admin.groups())["G"]
            assert (config.retry_times_max, config.consume_enabled, config.retry_queues) == (3, False, 1)
            await admin.delete_group("G", offsets_too=True)
            assert "G" not in await admin.groups()
            assert await admin.members("G") == []

    play(tmp_path, scenario)


def test_members_with_different_tags_are_found_out(tmp_path):
    async def scenario(broker):
        address, now_ms = broker.name_server_address, [1_700_000_000_000]
        async with Producer(address) as producer:
            await producer.send(Message("T", b"x", tags="a", keys=("k1", "k2")))
        got = []

        def member(tags):
            options = {"consume_from": ConsumeFrom.FIRST_OFFSET, "clock": lambda: now_ms[0]}
            return PushConsumer(address, "G", {"T": tags}, got.extend, **options)

        async with AdminClient(address, clock=lambda: now_ms[0]) as admin, member("a") as first, member("a || b") as second:
            members = await admin.members("G")
            assert {item.client_id for item in members} == {first.client_id, second.client_id}
            assert {item.version for item in members} == {409}
            assert await admin.subscription_conflicts("G") == []
            now_ms[0] += 120_000
            (text,) = await admin.subscription_conflicts("G")
            assert "T@a || b" in text
            assert await admin.groups_of_topic("T") == ["G"]
            await eventually(lambda: got)
            (found,) = await admin.messages_by_key("T", "k2")
            assert found.body == b"x"
            assert await admin.messages_by_key("T", "k") == []
            assert [item.body for item in await admin.messages_by_id("T", got[0].message_id)] == [b"x"]
            result = await admin.consume_directly("G", first.client_id, got[0].offset_message_id)
            assert (result.outcome, len(got) > 1) == (ConsumeOutcome.SUCCESS, True)
            master = (await admin.master_addresses())["broker-a"]
            assert (await admin.runtime_info(master))["msgPutTotalTodayNow"] == "1"
            assert (await admin.broker_settings(master))["brokerName"] == "broker-a"

    play(tmp_path, scenario)


def info(topics, *, kind="CONSUME_PASSIVELY", started=0):
    wanted = [{"topic": topic, "subString": text} for topic, text in topics.items()]
    properties = {"PROP_CONSUME_TYPE": kind, "PROP_CONSUMER_START_TIMESTAMP": str(started)}
    return read_running_info("c", emit({"properties": properties, "subscriptionSet": wanted}))


def test_what_is_compared_and_what_is_not():
    same = {"a": info({"T": "x", "U": "*"}), "b": info({"U": "*", "T": "x"})}
    other = {"a": info({"T": "x"}), "b": info({"T": "y"}), "c": info({})}
    assert conflicts(same, now_ms=200_000) == []
    assert conflicts({}, now_ms=200_000) == []
    assert conflicts(other, now_ms=200_000) == [
        "a only: T@x; b only: T@y",
        "c subscribes to nothing",
        "b only: T@y; c only: nothing",
    ]
    assert conflicts(other, now_ms=119_999) == []
    assert conflicts({"a": info({"T": "x"}, kind="CONSUME_ACTIVELY"), "b": info({})}, now_ms=200_000) == []

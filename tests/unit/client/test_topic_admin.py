"""Whole tables of a broker: topics with their settings, groups, offsets."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.errors import RemoteError
from broker_core.protocol.json_body import MessageQueue
from tests.support.copying import NAMES, two_brokers


def test_tables_are_read_and_topics_put(tmp_path):
    async def scenario():
        async with two_brokers(tmp_path) as pair:
            admin = pair.admins[0]
            (address,) = (await admin.master_addresses()).values()
            assert await admin.offsets_of_groups(address) == {}
            config = {"readQueueNums": 2, "writeQueueNums": 3, "perm": 6, "attributes": {"message.type": "FIFO"}}
            await admin.put_topic_config(address, "orders", config)
            found = (await admin.topic_configs(address))["orders"]
            assert {name: found[name] for name in config} == config
            await admin.set_group("billing", retryMaxTimes=3)
            assert (await admin.group_configs(address))["billing"]["retryMaxTimes"] == 3
            await admin.set_consumer_offset("billing", MessageQueue("orders", NAMES[0], 1), 0)
            assert await admin.offsets_of_groups(address) == {("billing", "orders"): {1: 0}}

    asyncio.run(scenario())


def test_a_producer_can_be_kept_from_making_topics(tmp_path):
    async def scenario():
        async with two_brokers(tmp_path) as pair, Producer(pair.source, creates_topics=False) as producer:
            with pytest.raises(RemoteError):
                await producer.send(Message("unknown", b"x"))
            assert "unknown" not in await pair.admins[0].topics()
            async with Producer(pair.source) as other:
                await other.send(Message("unknown", b"x"))
            assert "unknown" in await pair.admins[0].topics()

    asyncio.run(scenario())

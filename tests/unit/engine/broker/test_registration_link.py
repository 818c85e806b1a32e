"""Registering at a name server that the test plays."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from broker_core.config import BrokerConfig
from broker_core.engine.broker.registration_link import RegistrationLink
from broker_core.engine.nameserver.registration import Registration
from broker_core.engine.tables.topic_table import TopicTable
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.json_body import emit
from broker_core.transport.server import RemotingServer
from tests.support.clock import ManualClock
from tests.support.remoting_peer import eventually


class NameServerPlayer:
    def __init__(self):
        self.requests, self.answer = [], lambda command: command.reply()

    def handle(self, _connection, command):
        self.requests.append(command)
        return self.answer(command)


@asynccontextmanager
async def linked(**settings):
    player = NameServerPlayer()
    server = RemotingServer("127.0.0.1", 0, player.handle)
    await server.start()
    config = BrokerConfig(**settings)
    links = []
    topics = TopicTable(config, clock=ManualClock(), changed=lambda names: links and links[0].topics_changed(names))
    link = RegistrationLink(config, name_server=server.address, broker_address="10.0.0.1:10911", topics=topics)
    links.append(link)
    try:
        yield player, link, topics
    finally:
        await link.stop()
        await server.stop()


def sent(command):
    return Registration.from_bytes(bytes(command.body))


def test_first_all_topics_then_the_changed_ones_of_a_turn_in_one_request():
    async def scenario():
        async with linked() as (player, link, topics):
            await link.start()
            assert sent(player.requests[0]).topics == topics.all()
            fields = player.requests[0].ext_fields
            assert (fields["brokerAddr"], fields["brokerId"], fields["clusterName"]) == (
                "10.0.0.1:10911",
                "0",
                "DefaultCluster",
            )
            topics.put(TopicConfig("A", 1, 1))
            topics.put(TopicConfig("B", 1, 1))
            await eventually(lambda: len(player.requests) == 2)
            assert (player.requests[1].is_oneway, set(sent(player.requests[1]).topics)) == (True, {"A", "B"})
            assert sent(player.requests[1]).version == topics.version
            await link.stop()
            assert player.requests[-1].code == Q.UNREGISTER_BROKER

    asyncio.run(scenario())


def test_a_broker_that_may_not_be_written_says_so_for_every_topic():
    async def scenario():
        async with linked(permission=4) as (player, link, _topics):
            await link.start()
            assert {topic.permission for topic in sent(player.requests[0]).topics.values()} == {4}

    asyncio.run(scenario())


def test_the_name_servers_order_configuration_marks_topics():
    async def scenario():
        async with linked() as (player, link, topics):
            topics.put(TopicConfig("T", 4, 4))
            player.answer = lambda command: command.reply(body=emit({"table": {"T": "broker-a:4"}}))
            await link.start()
            assert topics.get("T").order is True

    asyncio.run(scenario())


def test_a_name_server_that_refuses_or_is_not_there_is_an_error():
    async def scenario():
        async with linked() as (player, link, topics):
            player.answer = lambda command: command.reply(1, "crc32 not match")
            with pytest.raises(RemoteError, match="crc32 not match"):
                await link.start()
            server = RemotingServer("127.0.0.1", 0, player.handle)
            await server.start()
            address = server.address
            await server.stop()
            nowhere = RegistrationLink(BrokerConfig(), name_server=address, broker_address="10.0.0.1:1", topics=topics)
            with pytest.raises(NetworkError):
                await nowhere.start()

    asyncio.run(scenario())

"""A cluster behind a real RocketMQ Proxy 5.3.3 in cluster mode: groups behind it have members, or it is unknown whether."""

import asyncio
import contextlib

import psutil
import pytest

from broker_core.client.admin import AdminClient
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.worker.questions.administration import AskBroker, ConnectionPage, ListConnections, ListMembers, Members
from tests.support.attached import asking, attached, told
from tests.support.grpc_stub import RawClient
from tests.support.real_peer import running_peer

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(400)]

VERSION = "5.3.3"
TOPIC, GROUP, EMPTY = "behind", "behind-group", "empty-group"


@pytest.fixture
def peer(tmp_path):
    with running_peer(VERSION, tmp_path) as peer:
        peer.start_proxy()
        yield peer


@pytest.fixture
def client(peer):
    async def make():
        async with AdminClient(peer.name_server) as admin:
            await admin.create_topic(TOPIC, queues=2)
            await admin.set_group(EMPTY)

    asyncio.run(make())
    with RawClient(peer.grpc_port) as client:
        client.announce_consumer(GROUP, TOPIC, kind=pb.PUSH_CONSUMER)
        yield client


async def seen(cluster, condition):
    """Ask all until a condition holds."""
    async with asyncio.timeout(60):
        while True:
            await cluster.sampling.once()
            if condition():
                return
            await asyncio.sleep(0.5)


def test_members_behind_a_proxy_are_found(peer, client):
    async def scenario():
        async with attached(peer.name_server) as cluster, asking(cluster) as queries:
            (place,) = await cluster.link.proxies.places()
            assert (place.host, place.port) == ("127.0.0.1", peer.grpc_port + 1)
            await seen(cluster, lambda: cluster.figures.listed().grpc == [f"127.0.0.1:{peer.grpc_port}"])
            await seen(cluster, lambda: cluster.figures.members_of(GROUP) == {client.client_id})
            assert cluster.figures.members_of(EMPTY) == frozenset()
            assert cluster.figures.subscriptions()[GROUP] == {TOPIC: ("TAG", "*")}
            members = await told(queries, ListMembers(GROUP), Members)
            assert (members.client_id, members.language, members.notice) == ([client.client_id], ["JAVA"], "")
            page = await told(queries, ListConnections(), ConnectionPage)
            assert f"proxy {place}" in page.local_address
            fields = {"consumerGroup": GROUP, "clientId": client.client_id, "jstackEnable": "false"}
            with pytest.raises(RemoteError, match=f"proxy {place}"):
                await queries.answer(AskBroker(RequestCode.GET_CONSUMER_RUNNING_INFO, fields))

    asyncio.run(scenario())


def test_members_are_unknown_while_a_proxy_does_not_answer(peer, client):
    proxy = psutil.Process(int((peer.folder / "proxy.pid").read_text()))

    async def scenario():
        async with attached(peer.name_server) as cluster, asking(cluster) as queries:
            await seen(cluster, lambda: cluster.figures.members_of(GROUP) == {client.client_id})
            with stopped(proxy):
                cluster.link.proxies.forget()
                await cluster.sampling.once()
                assert cluster.figures.members_of(GROUP) is None
                assert "0 of 1 proxies answer" in cluster.figures.faults()["broker-a"]
                members = await told(queries, ListMembers(GROUP), Members)
                assert "0 of 1 proxies answer" in members.notice

    asyncio.run(scenario())


@contextlib.contextmanager
def stopped(process):
    process.suspend()
    try:
        yield
    finally:
        process.resume()

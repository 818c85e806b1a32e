"""Filter servers of 4.x: who is named, and for how long."""

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.processors import filter_servers
from broker_core.engine.processors.filter_servers import SILENCE_MAX_MS
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, RecordingPeer
from tests.support.remoting_peer import eventually


def register(bench, peer, address):
    return bench.answer(peer, Q.REGISTER_FILTER_SERVER, {"filterServerAddr": address})


def test_the_answer_names_the_broker_and_a_connection_stands_for_its_first_address(bench):
    one, other = RecordingPeer(), RecordingPeer()
    for peer, address in ((one, "10.0.0.1:7777"), (one, "10.0.0.2:7777"), (other, "filter-b:1")):
        answer = register(bench, peer, address)
        assert (answer.code, answer.ext_fields) == (R.SUCCESS, {"brokerName": "broker-a", "brokerId": "0"})
    assert bench.dispatcher.filter_servers.addresses() == ("10.0.0.1:7777", "filter-b:1")
    bench.dispatcher.disconnected(one)
    assert bench.dispatcher.filter_servers.addresses() == ("filter-b:1",)


def test_who_is_silent_is_named_no_more(bench):
    silent, alive = RecordingPeer(), RecordingPeer()
    register(bench, silent, "a:1")
    register(bench, alive, "b:1")
    bench.clock.advance(SILENCE_MAX_MS)
    register(bench, alive, "b:1")
    assert bench.dispatcher.filter_servers.addresses() == ("a:1", "b:1")
    bench.clock.advance(1)
    assert bench.dispatcher.filter_servers.addresses() == ("b:1",)


@pytest.mark.parametrize(
    "address", ["", "host", ":1", "host:", "host:0", "host:65536", "host:１", "a b:1", "h;x:1", "ä:1", "h" * 300 + ":1"]
)
def test_what_is_no_address_is_refused(bench, address):
    answer = register(bench, RecordingPeer(), address)
    assert (answer.code, "filterServerAddr" in answer.remark) == (R.SYSTEM_ERROR, True)
    assert bench.dispatcher.filter_servers.addresses() == ()


def test_so_many_are_named_and_no_more(bench, monkeypatch):
    monkeypatch.setattr(filter_servers, "SERVERS_MAX", 2)
    peers = [RecordingPeer() for _ in range(3)]
    assert [register(bench, peer, f"h:{number}").code for number, peer in enumerate(peers, 1)] == [
        R.SUCCESS,
        R.SUCCESS,
        R.SYSTEM_ERROR,
    ]
    assert register(bench, peers[0], "h:1").code == R.SUCCESS
    bench.dispatcher.disconnected(peers[1])
    assert register(bench, peers[2], "h:3").code == R.SUCCESS


def test_routes_name_them_with_the_next_registration(tmp_path):
    async def ask(connection, code, **fields):
        answer = await connection.request(RemotingCommand(code, fields), 30_000)
        assert answer.code == R.SUCCESS, answer.remark
        return answer

    async def scenario():
        store = StoreConfig(root=tmp_path, **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
        await broker.start()
        server, names = await connect(broker.broker_address), await connect(broker.name_server_address)
        await ask(server, Q.REGISTER_FILTER_SERVER, filterServerAddr="127.0.0.1:7777")

        def registered():
            broker.topics.ensure("T", queues=1)
            route = broker.routes.route("T")
            return route is not None and route.filter_servers == {broker.broker_address: ("127.0.0.1:7777",)}

        await eventually(registered)
        route = parse_object((await ask(names, Q.GET_ROUTEINFO_BY_TOPIC, topic="T")).body)
        assert route["filterServerTable"] == {broker.broker_address: ["127.0.0.1:7777"]}
        server.close()
        names.close()
        await broker.stop()

    asyncio.run(scenario())

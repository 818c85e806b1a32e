import asyncio
import re
import socket

import pytest

from broker_core.client.instance import ClientInstance, answer_error, repeat
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import BugError, NetworkError, RemoteError, UsageError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.transport.connection import RequestTimeoutError
from tests.support.remoting_peer import Peer, eventually


def closed_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("name_servers", ["", " ; "])
def test_a_name_server_is_needed(name_servers):
    with pytest.raises(UsageError, match="no name server is given"):
        ClientInstance(name_servers)


def test_an_unreachable_name_server_is_named_at_start():
    address = closed_address()

    async def run():
        instance = ClientInstance(address)
        with pytest.raises(NetworkError, match=f"cannot connect to {address}"):
            await instance.start()
        with pytest.raises(BugError):
            _ = instance.client_id
        await instance.close()

    asyncio.run(run())


def test_the_next_name_server_is_taken_and_kept():
    async def run():
        async with Peer() as peer:
            instance = ClientInstance(f"{closed_address()};{peer.address}")
            await instance.start()
            assert instance.client_id.startswith("127.0.0.1@")
            assert await instance.route("TBW102") is not None
            assert instance._name_servers[0] == peer.address
            await instance.close()

    asyncio.run(run())


def test_a_name_server_that_hangs_is_the_last_to_be_asked_again():
    async def run():
        async with Peer() as hanging, Peer(topics={"T": 1}) as peer:
            hanging.script[RequestCode.GET_ROUTEINFO_BY_TOPIC] = [lambda _connection, _command: None] * 2
            instance = ClientInstance(f"{hanging.address};{peer.address}")
            await instance.start()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await instance.route("T")
            assert await instance.route("T") is not None
            await instance.close()

    asyncio.run(run())


BROKERS = RequestCode.GET_BROKER_CLUSTER_INFO


def empty(_connection, command):
    return command.reply(body=b'{"brokerAddrTable":{},"clusterAddrTable":{}}')


def test_name_servers_that_know_nothing_are_not_believed_while_another_knows():
    async def run():
        async with Peer() as blank, Peer(topics={"T": 1}) as other, Peer(topics={"T": 1}) as known:
            for one in (blank, other):
                one.script[BROKERS] = [empty] * 9
                one.script[RequestCode.GET_ROUTEINFO_BY_TOPIC] = [
                    lambda _connection, command: command.reply(ResponseCode.TOPIC_NOT_EXIST, "none")
                ] * 9
            instance = ClientInstance(f"{blank.address};{closed_address()};{other.address};{known.address}")
            await instance.start()
            assert await instance.route("T") is not None
            before = len(blank.codes())
            answer = await instance.call_name_server(RemotingCommand(BROKERS))
            assert parse_object(answer.body)["brokerAddrTable"]
            assert len(blank.codes()) == before + 1, "it is asked first: one topic says nothing about the rest"
            asked = [len(one.codes()) for one in (blank, other, known)]
            await instance.call_name_server(RemotingCommand(BROKERS))
            assert [len(one.codes()) for one in (blank, other, known)] == [*asked[:2], asked[2] + 1]
            await instance.close()

    asyncio.run(run())


def test_what_no_name_server_knows_is_not_there():
    async def run():
        async with Peer() as first, Peer() as second:
            for one in (first, second):
                one.script[BROKERS] = [empty]
            instance = ClientInstance(f"{first.address};{second.address}")
            await instance.start()
            answer = await instance.call_name_server(RemotingCommand(BROKERS))
            assert parse_object(answer.body)["brokerAddrTable"] == {}
            assert await instance.route("T") is None
            first.script[BROKERS] = [empty]
            asked = first.codes().count(BROKERS)
            await instance.call_name_server(RemotingCommand(BROKERS))
            assert first.codes().count(BROKERS) == asked + 1, "it is still the first that is asked"
            await instance.close()

    asyncio.run(run())


def test_an_empty_answer_waits_for_a_mute_name_server_once(monkeypatch):
    monkeypatch.setattr("broker_core.client.instance._OTHERS_SECONDS", 0.05)

    async def run():
        async with Peer() as blank, Peer(topics={"T": 1}) as mute:
            mute.script[RequestCode.GET_ROUTEINFO_BY_TOPIC] = [lambda _connection, _command: None] * 2
            instance = ClientInstance(f"{blank.address};{mute.address}")
            await instance.start()
            assert await instance.route("T") is None
            assert await instance.route("T") is None
            assert len(mute.of_code(RequestCode.GET_ROUTEINFO_BY_TOPIC)) == 1
            await instance.close()

    asyncio.run(run())


def test_a_change_goes_to_one_name_server_alone():
    async def run():
        async with Peer() as first, Peer() as second:
            code = RequestCode.DELETE_TOPIC_IN_NAMESRV
            first.script[code] = [lambda _connection, command: command.reply(ResponseCode.TOPIC_NOT_EXIST, "none")]
            instance = ClientInstance(f"{first.address};{second.address}")
            await instance.start()
            with pytest.raises(RemoteError):
                await instance.call_name_server(RemotingCommand(code, {"topic": "T"}))
            assert (first.codes().count(code), second.codes()) == (1, [])
            await instance.close()

    asyncio.run(run())


def test_a_name_server_that_does_not_answer_is_called_one():
    async def run():
        async with Peer() as hanging:
            hanging.script[RequestCode.GET_ROUTEINFO_BY_TOPIC] = [lambda _connection, _command: None]
            instance = ClientInstance(hanging.address, limits=RemotingLimits(request_timeout_ms=50))
            await instance.start()
            told = f"the name server {hanging.address} did not answer within 50 ms: is it the right address?"
            with pytest.raises(RequestTimeoutError, match=re.escape(told)):
                await instance.route("T")
            await instance.close()

    asyncio.run(run())


def test_a_broker_in_the_place_of_a_name_server_is_told():
    async def run():
        async with Peer() as broker:
            broker.script[RequestCode.GET_BROKER_CLUSTER_INFO] = [lambda _connection, command: command.not_supported()]
            instance = ClientInstance(broker.address)
            await instance.start()
            with pytest.raises(RemoteError, match=f"{broker.address} is no name server but perhaps a broker"):
                await instance.call_name_server(RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO))
            await instance.close()

    asyncio.run(run())


def test_two_instances_have_different_ids():
    async def run():
        async with Peer() as peer:
            first, second = ClientInstance(peer.address), ClientInstance(peer.address)
            await first.start()
            await second.start()
            assert first.client_id != second.client_id
            await first.close()
            await second.close()

    asyncio.run(run())


def test_a_route_is_asked_for_once_and_again_by_a_refresh_that_tells_of_changes():
    async def run():
        async with Peer(topics={"T": 2}) as peer:
            instance = ClientInstance(peer.address)
            changes = []
            instance.on_routes_changed(lambda: changes.append(1))
            await instance.start()
            routes = await asyncio.gather(*(instance.route("T") for _ in range(5)))
            assert len({id(route) for route in routes}) == 1
            assert peer.codes().count(RequestCode.GET_ROUTEINFO_BY_TOPIC) == 1
            await instance.refresh_routes()
            assert not changes
            peer.topics["T"] = 3
            await instance.refresh_routes()
            assert (len(changes), len((await instance.route("T")).publish_queues())) == (1, 3)
            del peer.topics["T"]
            await instance.refresh_routes()
            assert (len(changes), await instance.route("T")) == (2, None)
            await instance.close()

    asyncio.run(run())


def test_routes_are_refreshed_by_themselves():
    async def run():
        async with Peer(topics={"T": 2}) as peer:
            instance = ClientInstance(peer.address, config=ClientConfig(route_refresh_interval_ms=5))
            await instance.start()
            await instance.route("T")
            await eventually(lambda: len(peer.of_code(RequestCode.GET_ROUTEINFO_BY_TOPIC)) > 3)
            await instance.close()

    asyncio.run(run())


def test_requests_of_the_broker_that_nobody_serves_are_answered_so():
    async def run():
        async with Peer() as peer:
            instance = ClientInstance(peer.address)
            await instance.start()
            (connection,) = peer.server.connections
            answer = await connection.request(RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO))
            assert (answer.code, answer.remark) == (3, " request type 307 not supported")
            await instance.close()

    asyncio.run(run())


def test_an_error_answer_keeps_its_number_known_or_not():
    known = answer_error("h:1", 310, RemotingCommand(17, remark="topic[x] not exist"))
    assert known.message == "h:1 answered SEND_MESSAGE_V2 (310) with TOPIC_NOT_EXIST (17): topic[x] not exist"
    unknown = answer_error("h:1", 9999, RemotingCommand(4711))
    assert (unknown.message, unknown.context["code"]) == ("h:1 answered code 9999 with code 4711", 4711)


def test_repeated_work_goes_on_after_a_fault(caplog):
    rounds = []

    async def work():
        rounds.append(1)
        raise [RemoteError("away"), ValueError("a fault of ours"), NetworkError("gone")][len(rounds) - 1]

    asyncio.run(repeat(0, work, rounds=3))
    assert len(rounds) == 3
    assert "away" in caplog.text
    assert "a fault of ours" in caplog.text

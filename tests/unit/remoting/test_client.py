import asyncio
import socket

import pytest

from broker_core.config import RemotingLimits
from broker_core.errors import ConnectionLostError, NetworkError
from broker_core.remoting.client import ConnectionPool, connect, parse_address
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.server import RemotingServer
from tests.support.remoting_peer import eventually


def echo(_connection, command):
    return command.reply(body=command.body)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("127.0.0.1:9876", ("127.0.0.1", 9876)), (" [::1]:1 ", ("::1", 1)), ("mq.local:65535", ("mq.local", 65535))],
)
def test_addresses_are_split(text, parsed):
    assert parse_address(text) == parsed


@pytest.mark.parametrize("text", ["", "9876", ":9876", "host:", "host:0", "host:65536", "host:-1", "host:９", "host:1x"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(NetworkError, match="give HOST:PORT"):
        parse_address(text)


def test_nobody_listening_is_said_with_the_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(NetworkError, match=f"cannot connect to {address}"):
            asyncio.run(connect(address))


def test_a_pool_opens_one_connection_for_all_that_ask_at_once_and_another_after_it_is_lost():
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo)
        await server.start()
        pool = ConnectionPool()
        answers = await asyncio.gather(*(pool.request(server.address, RemotingCommand(1, body=b"x")) for _ in range(20)))
        assert {answer.body for answer in answers} == {b"x"}
        assert (len(server.connections), pool.addresses) == (1, [server.address])
        (connection,) = server.connections
        connection.close()
        await eventually(lambda: not pool.addresses)
        assert (await pool.request(server.address, RemotingCommand(1))).code == 0
        await pool.close()
        await pool.close()
        with pytest.raises(ConnectionLostError, match="the client is closed"):
            await pool.get(server.address)
        await eventually(lambda: not server.connections)
        await server.stop()

    asyncio.run(run())


def test_a_cancelled_caller_does_not_cancel_the_connection_for_others():
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo)
        await server.start()
        pool = ConnectionPool(limits=RemotingLimits())
        first, second = asyncio.create_task(pool.get(server.address)), asyncio.create_task(pool.get(server.address))
        await asyncio.sleep(0)
        first.cancel()
        assert not (await second).is_closed
        await pool.close()
        await server.stop()

    asyncio.run(run())

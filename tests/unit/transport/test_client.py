import asyncio
import socket

import pytest

from broker_core.config import RemotingLimits
from broker_core.errors import ConnectionLostError, NetworkError
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.client import ConnectionPool, connect, parse_address
from broker_core.transport.server import RemotingServer
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


def test_a_connection_on_which_nothing_comes_is_asked_no_more_and_what_waits_there_may_still_be_answered():
    async def run():
        held = []

        def serve(connection, command):
            if command.body == b"never":
                return None
            if command.body == b"later":
                held.append((connection, command))
                return None
            return echo(connection, command)

        server = RemotingServer("127.0.0.1", 0, serve)
        await server.start()
        pool = ConnectionPool(limits=RemotingLimits(silence_ms=20))
        assert (await pool.request(server.address, RemotingCommand(1, body=b"x"))).body == b"x"
        (first,) = server.connections
        later = asyncio.ensure_future(pool.request(server.address, RemotingCommand(1, body=b"later"), 60_000))
        with pytest.raises(NetworkError, match="did not answer request 1 within 5 ms"):
            await pool.request(server.address, RemotingCommand(1, body=b"never"), 5)
        assert (await pool.request(server.address, RemotingCommand(1, body=b"x"))).body == b"x"
        assert server.connections == {first}, "a short wait says nothing"
        for limit_ms in (60_000, None):
            assert server.connections == {first}, (
                "a request that may be held was given up, as a pull of a queue that is taken away"
            )
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await pool.request(server.address, RemotingCommand(1, body=b"never"), limit_ms)
            assert (await pool.request(server.address, RemotingCommand(1, body=b"x"))).body == b"x"
        assert (await pool.request(server.address, RemotingCommand(1, body=b"x"))).body == b"x"
        assert len(server.connections) == 2
        ((connection, command),) = held
        connection.send(command.reply(body=b"at last"))
        assert (await later).body == b"at last"
        await eventually(lambda: len(server.connections) == 1 and first not in server.connections)
        await pool.close()
        await server.stop()

    asyncio.run(run())


def test_a_pool_that_closes_ends_also_what_it_asks_no_more():
    async def run():
        server = RemotingServer("127.0.0.1", 0, lambda _connection, _command: None)
        await server.start()
        pool = ConnectionPool(limits=RemotingLimits(silence_ms=20))
        waits = [asyncio.ensure_future(pool.request(server.address, RemotingCommand(1), 60_000))]
        with pytest.raises(NetworkError):
            await pool.request(server.address, RemotingCommand(1), 50)
        waits.append(asyncio.ensure_future(pool.request(server.address, RemotingCommand(1), 60_000)))
        await eventually(lambda: len(server.connections) == 2)
        await pool.close()
        for wait in waits:
            with pytest.raises(ConnectionLostError):
                await wait
        await eventually(lambda: not server.connections)
        await server.stop()

    asyncio.run(run())

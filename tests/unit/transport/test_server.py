import asyncio
import contextlib
import math

import pytest

from broker_core.config import RemotingLimits
from broker_core.errors import NetworkError, PortInUseError
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.transport.client import connect
from broker_core.transport.server import RemotingServer
from tests.support.remoting_peer import eventually

IDLE_MS = 600


def echo(_connection, command):
    return command.reply(body=command.body)


def test_the_port_is_known_and_free_again_after_stop():
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo)
        await server.start()
        port = server.port
        assert server.address == f"127.0.0.1:{port}"
        assert port > 0
        await server.stop()
        await server.stop()
        again = RemotingServer("127.0.0.1", port, echo)
        await again.start()
        await again.stop()

    asyncio.run(run())


def test_a_port_in_use_is_named():
    async def run():
        first = RemotingServer("127.0.0.1", 0, echo)
        await first.start()
        with pytest.raises(PortInUseError, match=f"port {first.port} on 127.0.0.1 is in use") as caught:
            await RemotingServer("127.0.0.1", first.port, echo).start()
        assert caught.value.context["port"] == first.port
        await first.stop()

    asyncio.run(run())


@pytest.mark.parametrize(("host", "port"), [("203.0.113.1", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_bound_says_so(host, port):
    async def run():
        with pytest.raises(NetworkError):
            await RemotingServer(host, port, echo).start()

    asyncio.run(run())


def test_connections_beyond_the_limit_are_refused(caplog):
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo, limits=RemotingLimits(connections_max=1))
        await server.start()
        first = await connect(server.address)
        await first.request(RemotingCommand(1))
        second = await connect(server.address)
        await asyncio.wait_for(second.wait_closed(), 60)
        assert server.refused_connections == 1
        assert (await first.request(RemotingCommand(1, body=b"x"))).body == b"x"
        first.close()
        await eventually(lambda: not server.connections)
        third = await connect(server.address)
        assert (await third.request(RemotingCommand(1))).code == 0
        third.close()
        await server.stop()

    asyncio.run(run())
    assert "1 connections are open, the limit" in caplog.text


def test_a_silent_connection_is_closed_and_a_busy_one_kept():
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo, limits=RemotingLimits(idle_ms=IDLE_MS))
        await server.start()
        silent, busy = await connect(server.address), await connect(server.address)
        asked_s = asyncio.get_running_loop().time()
        with contextlib.suppress(NetworkError):
            while not silent.is_closed:
                await busy.request(RemotingCommand(1))
                asked_s = asyncio.get_running_loop().time()
                await asyncio.sleep(0.01)
        waited_s = asyncio.get_running_loop().time() - asked_s
        await eventually(lambda: silent.is_closed)
        # Where the machine stopped this process for as long, both were silent.
        assert not busy.is_closed or waited_s >= IDLE_MS / 1_000
        busy.close()
        await server.stop()

    asyncio.run(run())


def test_a_frame_that_never_becomes_complete_ends_its_connection_however_busy_it_is(caplog):
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo, limits=RemotingLimits(frame_ms=600))
        await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        busy = await connect(server.address)
        writer.write((1000).to_bytes(4, "big"))
        while not reader.at_eof():
            writer.write(b"\0")
            await busy.request(RemotingCommand(1))
            with contextlib.suppress(TimeoutError, ConnectionError):
                await asyncio.wait_for(reader.read(), 0.02)
        assert not busy.is_closed
        writer.close()
        busy.close()
        await server.stop()

    asyncio.run(run())
    assert "did not become complete within 600 ms" in caplog.text


def test_a_large_frame_in_many_pieces_is_served():
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo, limits=RemotingLimits(frame_ms=60_000))
        await server.start()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await eventually(lambda: server.connections)
        (connection,) = server.connections
        frame = encode_command(RemotingCommand(1, body=bytes(100)))
        for piece in (frame[:5], frame[5:50], frame[50:] + frame[:60]):
            writer.write(piece)
            await eventually(lambda: connection.partial_since < math.inf)
        await eventually(lambda: connection.requests_in == 1)
        writer.write(frame[60:])
        await eventually(lambda: connection.requests_in == 2)
        assert connection.partial_since == math.inf
        writer.close()
        await server.stop()

    asyncio.run(run())


def test_stop_ends_connections_even_of_a_peer_that_does_not_read():
    async def run():
        server = RemotingServer("127.0.0.1", 0, echo)
        await server.start()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await eventually(lambda: server.connections)
        (connection,) = server.connections
        connection.send(RemotingCommand(0, body=bytes(15 * 1024 * 1024), flag=1))
        await asyncio.wait_for(server.stop(), 60)
        assert connection.is_closed
        assert not server.connections
        writer.transport.abort()

    asyncio.run(run())

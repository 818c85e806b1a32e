"""What one connection may cost, whatever it sends and however it dawdles."""

import asyncio
import contextlib
import socket

import pytest

from broker_core.config import RemotingLimits
from broker_core.errors import FrameError
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.transport.client import connect
from broker_core.transport.server import RemotingServer
from tests.support.remoting_peer import eventually

KIB, MIB = 1 << 10, 1 << 20


@contextlib.asynccontextmanager
async def serving(handler, **limits):
    server = RemotingServer("127.0.0.1", 0, handler, limits=RemotingLimits(**limits))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def echo(_connection, command):
    return command.reply(body=command.body)


def in_memory(connection):
    """Bytes of an incomplete frame that a connection keeps in memory."""
    return len(connection._decoder._buffer)


def test_a_header_that_is_too_large_ends_the_connection_before_it_has_come(caplog):
    async def run():
        async with serving(echo) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write((10 * MIB).to_bytes(4, "big") + (9 * MIB).to_bytes(4, "big"))
            assert await reader.read() == b""
            writer.close()

    asyncio.run(run())
    assert "a header of 9,437,184 bytes is more than the 65,536 allowed" in caplog.text


def test_peers_that_claim_large_frames_and_dawdle_share_a_bound():
    frame = encode_command(RemotingCommand(1, body=bytes(4 * MIB)))

    async def run():
        async with serving(echo, partial_bytes_max=16 * MIB) as server:
            peers = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(40)]
            for _, writer in peers:
                writer.write(frame[:-1])
            await eventually(lambda: sum(connection._waits_for_room for connection in server.connections) == 37)
            # Those that have room keep their frames on the disk, the others two reads each.
            assert all(in_memory(connection) <= 128 * KIB for connection in server.connections)
            honest = await connect(server.address)
            small = await honest.request(RemotingCommand(1, body=b"small"))
            assert bytes(small.body) == b"small"
            large = honest.request(RemotingCommand(1, body=bytes(2 * MIB)), 30_000)
            for _, writer in peers:
                writer.transport.abort()
            assert len((await large).body) == 2 * MIB
            honest.close()
            await eventually(lambda: not server.connections)
            assert server._budget.taken_bytes == 0

    asyncio.run(run())


def test_large_frames_of_many_peers_at_once_are_all_served():
    async def run():
        async with serving(echo, partial_bytes_max=8 * MIB) as server:
            peers = [await connect(server.address) for _ in range(12)]
            answers = [peer.request(RemotingCommand(1, body=bytes([n]) * (3 * MIB)), 60_000) for n, peer in enumerate(peers)]
            for n, answer in enumerate(await asyncio.gather(*answers)):
                assert bytes(answer.body[:1]) == bytes([n])
            for peer in peers:
                peer.close()
            await eventually(lambda: not server.connections)

    asyncio.run(run())


@pytest.mark.parametrize("answer_bytes", [256 * KIB, 8])
def test_requests_of_a_peer_that_does_not_read_are_served_no_faster_than_it_reads(answer_bytes):
    served = []

    def answer(_connection, command):
        served.append(command.opaque)
        return command.reply(body=bytes(answer_bytes))

    async def run():
        async with serving(answer) as server:
            requests = b"".join(encode_command(RemotingCommand(1, opaque=n)) for n in range(2000))
            raw = socket.create_connection(("127.0.0.1", server.port))
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KIB)
            raw.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(raw, requests)
            await eventually(lambda: served)
            (slow,) = server.connections
            other = await connect(server.address)
            for _ in range(20):
                await other.request(RemotingCommand(1))
            assert slow._transport.get_write_buffer_size() <= 2 * MIB
            total = 0
            while total < 2000 * answer_bytes:
                total += len(await asyncio.wait_for(loop.sock_recv(raw, 1 << 20), 60))
            await eventually(lambda: len(served) == 2020)
            raw.close()
            other.close()

    asyncio.run(run())


def test_a_peer_that_does_not_read_is_not_blamed_for_a_frame_that_is_not_read():
    async def run():
        async with serving(lambda _c, command: command.reply(body=bytes(512 * KIB)), frame_ms=100) as server:
            raw = socket.create_connection(("127.0.0.1", server.port))
            raw.setblocking(False)
            requests = b"".join(encode_command(RemotingCommand(1, opaque=n)) for n in range(100))
            await asyncio.get_running_loop().sock_sendall(raw, requests)
            await eventually(lambda: any(connection._reading_paused for connection in server.connections))
            ticks = asyncio.get_running_loop().time() + 0.3
            await eventually(lambda: asyncio.get_running_loop().time() > ticks)
            assert len(server.connections) == 1
            raw.close()

    asyncio.run(run())


@pytest.mark.parametrize("piece_bytes", [KIB, 64 * KIB, MIB])
def test_a_large_frame_that_comes_slowly_is_in_memory_only_when_it_is_whole(piece_bytes):
    """A drip of 16 MiB: the bytes that the process itself counts, at every step."""
    body = bytes(range(256)) * (16 * 1024 * 4 - 1)
    frame = encode_command(RemotingCommand(1, body=body))

    async def run():
        got = []

        def take(_connection, command):
            got.append(bytes(command.body))
            return command.reply()

        async with serving(take) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await eventually(lambda: server.connections, 60)
            (connection,) = server.connections
            first = min(len(frame) // 2, 8 * piece_bytes)
            for start in range(0, first, piece_bytes):
                end = min(start + piece_bytes, first)
                writer.write(frame[start:end])
                await eventually(lambda end=end: connection.bytes_in == end, 60)
                assert in_memory(connection) <= 128 * KIB
            writer.write(frame[first:-1])
            await eventually(lambda: connection.bytes_in == len(frame) - 1, 60)
            assert in_memory(connection) == 0
            assert connection._decoder.pending_bytes == len(frame) - 1
            writer.write(frame[-1:])
            await eventually(lambda: got, 60)
            assert got == [body]
            assert connection._decoder.pending_bytes == 0
            assert server._budget.taken_bytes == 0
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(("held", "wanted", "is_aside"), [(0, 400, False), (0, 600, True), (300, 400, True), (300, 200, False)])
def test_what_is_held_for_a_connection_counts_against_its_frame(held, wanted, is_aside):
    async def run():
        async with serving(echo) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await eventually(lambda: server.connections, 60)
            (connection,) = server.connections
            connection.held_bytes = lambda: held * KIB
            frame = encode_command(RemotingCommand(1, body=bytes(wanted * KIB)))
            writer.write(frame[:-1])
            await eventually(lambda: connection.bytes_in == len(frame) - 1, 60)
            assert in_memory(connection) == (0 if is_aside else len(frame) - 1)
            writer.write(frame[-1:])
            await eventually(lambda: connection.requests_in == 1, 60)
            writer.close()

    asyncio.run(run())


def test_who_is_too_slow_gives_way_when_others_wait_and_only_then(caplog):
    async def run():
        async with serving(echo, partial_bytes_max=8 * MIB, frame_ms=30_000) as server:
            peers = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
            await eventually(lambda: len(server.connections) == 2, 60)
            for _, writer in peers:
                writer.write(encode_command(RemotingCommand(1, body=bytes(4_000_000)))[:2_000_000])
            await eventually(lambda: all(c._decoder.pending_bytes == 2_000_000 for c in server.connections), 60)
            slow, fast = server.connections
            slow.partial_since -= 18
            fast.partial_since += 3_600  # however long the machine takes
            server._close_idle()
            assert not slow.is_closed
            honest = await connect(server.address)
            large = honest.request(RemotingCommand(1, body=bytes(2 * MIB)), 60_000)
            await eventually(lambda: server._budget.is_short, 60)
            server._close_idle()
            assert len((await large).body) == 2 * MIB
            assert (slow.is_closed, fast.is_closed) == (True, False)
            honest.close()
            for _, writer in peers:
                writer.transport.abort()

    asyncio.run(run())
    assert "it sends too slowly for 30,000 ms" in caplog.text


def test_a_disk_that_is_full_ends_the_connection_with_the_reason(caplog, monkeypatch):
    def refuse(_directory):
        raise FrameError("a large frame cannot be kept")

    monkeypatch.setattr("broker_core.transport.connection.FrameFile", refuse)

    async def run():
        async with serving(echo, partial_bytes_max=4 * MIB) as server:
            holder, waiter = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
            holder[1].write(encode_command(RemotingCommand(1, body=bytes(500 * KIB)))[: 400 * KIB])
            await eventually(lambda: server._budget.taken_bytes, 60)
            waiter[1].write(encode_command(RemotingCommand(1, body=bytes(4 * MIB)))[:MIB])
            await eventually(lambda: server._budget.is_short, 60)
            holder[1].transport.abort()
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(waiter[0].read(), 60) == b""
            await eventually(lambda: not server.connections, 60)
            assert server._budget.taken_bytes == 0
            waiter[1].transport.abort()

    asyncio.run(run())
    assert "a large frame cannot be kept" in caplog.text

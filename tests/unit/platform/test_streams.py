"""Connections on sockets that are connected already, and writes of several parts."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from broker_core.platform import local_sockets, streams

SECONDS = 10.0

pytestmark = pytest.mark.usefixtures("both_platforms")


class Heard(asyncio.Protocol):
    def __init__(self) -> None:
        self.words = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.words.set_result(data)


def test_a_protocol_hears_the_other_end_of_a_pair():
    async def run() -> bytes:
        near, far = local_sockets.socket_pair()
        heard = await streams.connect_on(near, Heard, None, None)
        far.sendall(b"words")
        async with asyncio.timeout(SECONDS):
            found = await heard.words
        far.close()
        return found

    assert asyncio.run(run()) == b"words"


def test_streams_carry_both_ways():
    async def run() -> tuple[bytes, bytes]:
        near, far = local_sockets.socket_pair()
        reader, writer = await streams.streams_on(near, 1 << 16)
        far.sendall(b"words\n")
        async with asyncio.timeout(SECONDS):
            came = await reader.readline()
            writer.write(b"answer")
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        far.settimeout(SECONDS)
        gone = far.recv(100)
        far.close()
        return came, gone

    assert asyncio.run(run()) == (b"words\n", b"answer")


def test_parts_are_written_or_left_to_the_transport():
    near, far = local_sockets.socket_pair()
    with near, far:
        parts = [b"ab", memoryview(b"cde")]
        count = streams.write_parts(near.fileno(), parts)
        near.sendall(b"".join(parts)[count:])
        near.shutdown(socket.SHUT_WR)
        far.settimeout(SECONDS)
        assert far.recv(100) == b"abcde"
        assert count == (0 if os.environ.get("ORBIT_PLATFORM") == "plain" else 5)

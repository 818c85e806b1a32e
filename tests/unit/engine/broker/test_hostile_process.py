"""What connections that mean ill cost the process of a real broker, in memory of its own (mapped files are none)."""

import asyncio
import contextlib
import re
import socket
from pathlib import Path

import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.transport.client import connect
from tests.support.broker_bench import pull_fields, send_fields
from tests.support.broker_process import running_broker

KIB, MIB = 1 << 10, 1 << 20
CONNECTIONS = 16
MESSAGES, BODY_BYTES = 64, 8 * KIB
SUSPEND, INLINE = 2, 4


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("hostile") / "store") as running:
        yield running


def request(code, fields, body=b"", opaque=1):
    texts = {name: str(value) for name, value in fields.items()}
    return RemotingCommand(code, texts, body, opaque=opaque, serialize_type=SerializeType.ROCKETMQ)


def a_claim_and_little_behind_it():
    return (16 * MIB - 4).to_bytes(4, "big") + (100).to_bytes(4, "big") + bytes(60 * KIB)


def a_large_frame_but_for_its_end():
    return (16 * MIB - 4).to_bytes(4, "big") + (100).to_bytes(4, "big") + bytes(16 * MIB - 9)


def held_pulls_and_a_large_frame():
    return pulls_that_are_held(600) + a_large_frame_but_for_its_end()


def pulls_whose_answers_nobody_reads():
    fields = pull_fields(sysFlag=INLINE)
    return b"".join(encode_command(request(Q.PULL_MESSAGE, fields, opaque=number)) for number in range(1_000))


def pulls_that_are_held(count=2_000):
    def pull(number):
        fields = pull_fields(
            offset=MESSAGES, sysFlag=SUSPEND | INLINE, suspendTimeoutMillis=200_000 + number, subVersion=number
        )
        return encode_command(request(Q.PULL_MESSAGE, fields, opaque=100_000 + number))

    return b"".join(pull(number) for number in range(count))


def own_memory(pid):
    """Anonymous memory of a process, in bytes."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"Anonymous:\s+(\d+) kB", rollup)[1]) * KIB


class Flood:
    """Connections that all send the same, as far as it is taken, and read nothing."""

    def __init__(self, address, data):
        host, port = address.rsplit(":", 1)
        self.peers = []
        for _ in range(CONNECTIONS):
            peer = socket.create_connection((host, int(port)))
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KIB)
            peer.setblocking(False)
            self.peers.append((peer, memoryview(data)))

    def push(self):
        """Send what is taken now; how many bytes were."""
        sent = 0
        for number, (peer, rest) in enumerate(self.peers):
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                taken = peer.send(rest) if rest else 0
                sent += taken
                self.peers[number] = peer, rest[taken:]
        return sent

    def close(self):
        for peer, _ in self.peers:
            peer.close()


@pytest.mark.parametrize(
    "send",
    [
        a_claim_and_little_behind_it,
        a_large_frame_but_for_its_end,
        pulls_whose_answers_nobody_reads,
        pulls_that_are_held,
        held_pulls_and_a_large_frame,
    ],
)
def test_a_connection_that_means_ill_costs_a_mebibyte_at_most(broker, send):
    async def run():
        honest = await connect(broker.broker)
        if (await honest.request(request(Q.GET_MAX_OFFSET, {"topic": "T", "queueId": 0}), 30_000)).ext_fields["offset"] == "0":
            for _ in range(MESSAGES):
                answer = await honest.request(request(Q.SEND_MESSAGE_V2, send_fields(), bytes(BODY_BYTES)), 30_000)
                assert answer.code == R.SUCCESS
        before = own_memory(broker.process.pid)
        flood = Flood(broker.broker, send())
        try:
            quiet = 0
            while quiet < 20:  # nothing more is taken, however often the broker has had its turn
                quiet = 0 if flood.push() else quiet + 1
                await honest.request(request(Q.GET_MAX_OFFSET, {"topic": "T", "queueId": 0}), 60_000)
            grown = own_memory(broker.process.pid) - before
        finally:
            flood.close()
        assert grown < CONNECTIONS * MIB
        answer = await honest.request(request(Q.SEND_MESSAGE_V2, send_fields(queue_id=1), b"still there"), 60_000)
        assert answer.code == R.SUCCESS
        honest.close()

    asyncio.run(run())

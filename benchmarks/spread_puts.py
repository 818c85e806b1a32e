"""Puts spread over all queues of many topics against puts to one topic: `python -m benchmarks.spread_puts [--topics N]`.

One broker serves both, in turn and in either order. Four connections send blocks of frames that were made before; the next
block of a connection is sent when all of the last one is answered. Bounded by ``--seconds`` for each turn.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.protocol.codes import RequestCode, SerializeType
from broker_core.protocol.frame import RemotingCommand, encode_command
from tests.support.broker_process import running_broker

CONNECTIONS, IN_FLIGHT, QUEUES, ROUNDS = 4, 64, 4, 4
_BODY = b"x" * 128
_LENGTH = struct.Struct(">i")
_SUCCESS = b"\0\0"
"""The code in the header of an answer, behind the lengths: the first two bytes of a binary header."""


def frame(topic: str, queue: int, number: int) -> bytes:
    """One send, as a client encodes it with binary headers."""
    fields = {"a": "P", "b": topic, "c": "TBW102", "d": str(QUEUES), "e": str(queue), "f": "0", "g": "1700000000000", "h": "0"}
    fields |= {"i": f"UNIQ_KEY\x01{number:032x}\x02KEYS\x01k{number}\x02TAGS\x01a", "j": "0", "k": "false", "m": "false"}
    return encode_command(RemotingCommand(RequestCode.SEND_MESSAGE_V2, fields, _BODY, serialize_type=SerializeType.ROCKETMQ))


def blocks(topics: Sequence[str], in_flight: int = IN_FLIGHT) -> list[bytes]:
    """Blocks of so many frames, which go through all queues of all topics."""
    places = [(topic, queue) for queue in range(QUEUES) for topic in topics]
    count = max(len(places), in_flight)
    frames = [frame(*places[number % len(places)], number) for number in range(count)]
    return [b"".join(frames[start : start + in_flight]) for start in range(0, count - in_flight + 1, in_flight)]


@dataclass
class Sender:
    """One connection; ``answered`` counts its messages."""

    connection: socket.socket
    blocks: list[bytes]
    place: int
    answered: int = 0
    left: int = 0
    rest: bytes = field(default=b"", repr=False)

    def send(self) -> None:
        self.connection.sendall(self.blocks[self.place % len(self.blocks)])
        self.place += 1
        self.left = IN_FLIGHT

    def read(self) -> None:
        """Take in answers; fails at one that refuses."""
        data = self.rest + self.connection.recv(1 << 16)
        at = 0
        while len(data) - at >= 4 and len(data) - at - 4 >= (size := _LENGTH.unpack_from(data, at)[0]):
            assert data[at + 8 : at + 10] == _SUCCESS, data[at : at + 4 + size]
            at += 4 + size
            self.left -= 1
            self.answered += 1
        self.rest = data[at:]
        if not self.left:
            self.send()


def puts_per_second(address: str, made: list[bytes], seconds: float, pid: int) -> tuple[float, float]:
    """Rate of puts, and microseconds of the broker's processor for each."""
    host, _, port = address.rpartition(":")
    chosen = selectors.DefaultSelector()
    senders = []
    for number in range(CONNECTIONS):
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        senders.append(Sender(connection, made, number * len(made) // CONNECTIONS))
        chosen.register(connection, selectors.EVENT_READ, senders[-1])
    start, used = time.perf_counter(), processor_seconds(pid)
    for sender in senders:
        sender.send()
    while time.perf_counter() - start < seconds:
        for key, _events in chosen.select(1):
            key.data.read()
    taken, used = time.perf_counter() - start, processor_seconds(pid) - used
    answered = sum(sender.answered for sender in senders)
    for sender in senders:
        sender.connection.close()
    chosen.close()
    return answered / taken, used / answered * 1e6


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=1_000, help="of four queues each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn (default: %(default)s)")
    arguments = parser.parse_args()
    one, many = blocks(["One"]), blocks([f"Topic-{number:04}" for number in range(arguments.topics)])
    figures: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as name, running_broker(Path(name) / "store") as broker:
        for made in (one, many):  # makes the topics
            puts_per_second(broker.broker, made, arguments.seconds, broker.process.pid)
        for turn in range(ROUNDS):
            for is_spread in (False, True) if turn % 2 == 0 else (True, False):
                made = many if is_spread else one
                figures[is_spread].append(puts_per_second(broker.broker, made, arguments.seconds, broker.process.pid))
    rates = {is_spread: statistics.median(rate for rate, _us in found) for is_spread, found in figures.items()}
    costs = {is_spread: statistics.median(us for _rate, us in found) for is_spread, found in figures.items()}
    print(f"one topic      {rates[False]:>9,.0f} puts/s  {costs[False]:5.2f} µs of the broker's processor each")
    print(f"{arguments.topics:,} topics   {rates[True]:>9,.0f} puts/s  {costs[True]:5.2f} µs")
    print(f"rate of spread puts, as a share of that to one topic: {rates[True] / rates[False]:.2f}")


if __name__ == "__main__":
    main()

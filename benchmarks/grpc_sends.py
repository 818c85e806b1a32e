"""Unary sends over gRPC: our broker against a real proxy with its broker, in turn.

    .venv/bin/python -m benchmarks.grpc_sends [--proxy HOST:PORT --pid PID,PID] [--calls N] [--rounds N]

Without ``--proxy`` only ours is measured. ``tests/support/peer/peer`` starts a real proxy; ``--pid`` names its processes and
those of its broker, whose processor time counts together. The topic ``bench`` must exist there.
On a busy machine a real broker refuses sends that waited for 200 ms: start it with ``waitTimeMillsInSendQueue=20000``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.grpc_load import encoded_calls, run_load, send_request
from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker

TOPIC = "bench"
IN_FLIGHT = 64
BODY = bytes(128)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Side:
    """One server: where it is, and what was measured."""

    name: str
    target: str
    pids: Sequence[int]
    rates: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)

    def processor_seconds(self) -> float:
        """Processor time of all its processes so far."""
        total = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS


async def _load(side: Side, count: int) -> None:
    host, _, port = side.target.rpartition(":")

    async def some(number: int) -> float:
        requests = [send_request(TOPIC, BODY) for _ in range(number)]
        calls = encoded_calls("SendMessage", requests, f"bench@{os.getpid()}")
        return await run_load(host, int(port), calls, in_flight=IN_FLIGHT)

    await some(200)
    used = side.processor_seconds()
    seconds = await some(count)
    side.rates.append(count / seconds)
    side.processor_us.append((side.processor_seconds() - used) / count * 1e6)


async def make_topic(name_server: str) -> None:
    async with AdminClient(name_server) as admin:
        await admin.create_topic(TOPIC, queues=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proxy", default="", metavar="HOST:PORT")
    parser.add_argument("--pid", default="", metavar="PID,PID", help="processes of the proxy and its broker")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with TemporaryDirectory() as folder, running_broker(Path(folder) / "store") as running:
        asyncio.run(make_topic(running.name_server))
        sides = [Side("orbit", running.grpc, [running.process.pid])]
        if given.proxy:
            sides.append(Side("proxy", given.proxy, [int(pid) for pid in given.pid.split(",")]))
        for _round in range(given.rounds):
            for side in sides:
                asyncio.run(_load(side, given.calls))
        for side in sides:
            rate, used = statistics.median(side.rates), statistics.median(side.processor_us)
            print(f"{side.name:8} {rate:10,.0f} sends/s {used:8.1f} µs of processor a send")
        if len(sides) > 1:
            ours, theirs = sides
            rates, times = (
                [statistics.median(values) for values in (ours.rates, theirs.rates)],
                [statistics.median(values) for values in (ours.processor_us, theirs.processor_us)],
            )
            print(f"ratio    {rates[0] / rates[1]:10.2f} of the rate {times[0] / times[1]:8.2f} of the processor")


if __name__ == "__main__":
    main()

"""Unary sends over gRPC: our broker against a real proxy with its broker, in turn.

    .venv/bin/python -m benchmarks.grpc_sends [--proxy HOST:PORT --pid PID,PID] [--calls N] [--rounds N]

`benchmarks.grpc_sides` explains ``--proxy`` and ``--pid``.
On a busy machine a real broker refuses sends that waited for 200 ms: start it with ``waitTimeMillsInSendQueue=20000``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.grpc_load import encoded_calls, run_load, send_request
from benchmarks.grpc_sides import BODY, TOPIC, Side, add_arguments, running_sides

IN_FLIGHT = 64
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """What the rounds of a side gave."""

    rates: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def used_us(self) -> float:
        return statistics.median(self.processor_us)


def _processor_seconds(side: Side) -> float:
    """Processor time of all processes of a side so far."""
    total = 0
    for pid in side.pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


async def _load(side: Side, count: int, measured: Measured) -> None:
    async def some(number: int) -> float:
        requests = [send_request(TOPIC, BODY) for _ in range(number)]
        calls = encoded_calls("SendMessage", requests, f"bench@{os.getpid()}")
        return await run_load(side.host, side.port, calls, in_flight=IN_FLIGHT)

    await some(200)
    used = _processor_seconds(side)
    seconds = await some(count)
    measured.rates.append(count / seconds)
    measured.processor_us.append((_processor_seconds(side) - used) / count * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running_sides(given) as sides:
        found = {side.name: Measured() for side in sides}
        for _round in range(given.rounds):
            for side in sides:
                asyncio.run(_load(side, given.calls, found[side.name]))
        for name, measured in found.items():
            print(f"{name:8} {measured.rate:10,.0f} sends/s {measured.used_us:8.1f} µs of processor a send")
        if len(found) > 1:
            ours, theirs = found.values()
            ratios = ours.rate / theirs.rate, ours.used_us / theirs.used_us
            print(f"ratio    {ratios[0]:10.2f} of the rate {ratios[1]:8.2f} of the processor")


if __name__ == "__main__":
    main()

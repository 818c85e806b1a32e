"""Sends of a client that waits for each answer, with busy polling against without: `python -m benchmarks.single_sends`.

Two brokers serve in turn and in either order. Bounded by ``--seconds`` for each turn.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.spread_puts import blocks, processor_seconds
from tests.support.broker_process import BrokerProcess, running_broker

ROUNDS = 4
SETTINGS = ("off", "on")


class Figures(NamedTuple):
    """Microseconds: a round trip, median and 99th percentile, and the broker's processor for each."""

    median: float
    p99: float
    cost: float


def measure(broker: BrokerProcess, frames: list[bytes], seconds: float) -> Figures:
    """Round trips of one connection."""
    host, _, port = broker.broker.rpartition(":")
    taken: list[float] = []
    with socket.create_connection((host, int(port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start, used = time.perf_counter(), processor_seconds(broker.process.pid)
        while (began := time.perf_counter()) - start < seconds:
            connection.sendall(frames[len(taken) % len(frames)])
            connection.recv(1 << 16)
            taken.append(time.perf_counter() - began)
        used = processor_seconds(broker.process.pid) - used
    cuts = statistics.quantiles(taken, n=100)
    return Figures(cuts[49] * 1e6, cuts[98] * 1e6, used / len(taken) * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn (default: %(default)s)")
    seconds = parser.parse_args().seconds
    frames = blocks(["Single"], in_flight=1)
    found: dict[str, list[Figures]] = {setting: [] for setting in SETTINGS}
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        brokers = {
            setting: stack.enter_context(running_broker(Path(name) / setting, "--set", f"orbitBusyPoll={setting}"))
            for setting in SETTINGS
        }
        for setting in SETTINGS:  # makes the topic
            measure(brokers[setting], frames, seconds)
        for turn in range(ROUNDS):
            for setting in SETTINGS if turn % 2 == 0 else SETTINGS[::-1]:
                found[setting].append(measure(brokers[setting], frames, seconds))
    medians = {
        setting: Figures(*(statistics.median(column) for column in zip(*rows, strict=True))) for setting, rows in found.items()
    }
    for setting, figures in medians.items():
        times = f"p50 {figures.median:6.1f} µs  p99 {figures.p99:6.1f} µs"
        print(f"busy polling {setting:<3}  {times}  processor {figures.cost:5.1f} µs")
    print(f"p50 without, as a multiple of that with it: {medians['off'].median / medians['on'].median:.2f}")


if __name__ == "__main__":
    main()

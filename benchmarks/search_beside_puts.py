"""What producers notice of a search: `python -m benchmarks.search_beside_puts [--messages N] [--store DIR] [--seconds N]`.

A worker process serves a store of many messages. A producer sends alone and while all bodies are searched, in turn, by
short stretches whose figures are put together: what else the machine does falls on both alike. Paced with one send in flight
round trips count, with many in flight the rate. The search has no index to use and finds nothing, so it does all the work
there is. ``--store`` as for `benchmarks.large_store`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cold_reader import drop_pages, round_trips_ms, summed_up
from benchmarks.large_store import fill
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, SearchHits, SearchStarted, StartSearch
from tests.support.worker_driver import WorkerDriver

_AT_ONCE = 64
_BODY = b"x" * 256
_TEXT = 'body contains "not there 4711"'


@dataclass(slots=True)
class Noticed:
    """What a producer noticed in all stretches of a kind."""

    trips_ms: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    """Messages a second with many in flight."""

    def stretch(self, broker: str, name_server: str, seconds: float) -> None:
        """Send for a while each way."""
        self.trips_ms += asyncio.run(round_trips_ms(broker, seconds))
        self.rates.append(asyncio.run(sent_per_second(name_server, seconds)))

    @property
    def rate(self) -> float:
        return sum(self.rates) / len(self.rates)

    def __str__(self) -> str:
        return f"{summed_up(self.trips_ms)}; {self.rate:,.0f} messages/s with {_AT_ONCE} in flight"


async def sent_per_second(name_server: str, seconds: float) -> float:
    """Sends with many in flight."""
    async with Producer(name_server) as producer:
        await producer.send(Message("New", _BODY))
        count, end = 0, time.perf_counter() + seconds

        async def send() -> None:
            nonlocal count
            while time.perf_counter() < end:
                await producer.send(Message("New", _BODY))
                count += 1

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(send())
        return count / (time.perf_counter() - began)


@contextlib.contextmanager
def searching(worker: WorkerDriver) -> Iterator[list[int]]:
    """Search all bodies without end; gives the messages looked at so far."""
    stop, scanned = threading.Event(), [0]

    def search() -> None:
        while not stop.is_set():
            started = worker.ask(StartSearch(_TEXT, -1))
            assert isinstance(started, SearchStarted)
            before, is_over = scanned[0], False
            while not (is_over or stop.is_set()):
                hits = worker.ask(ContinueSearch(started.search_id))
                assert isinstance(hits, SearchHits)
                scanned[0], is_over = before + hits.scanned, hits.is_over
            if not is_over:
                worker.ask(EndSearch(started.search_id))

    thread = threading.Thread(target=search, name="searching")
    thread.start()
    try:
        yield scanned
    finally:
        stop.set()
        thread.join()


def measured(root: Path, seconds: float, rounds: int) -> tuple[float, float]:
    """Print all; the p99 of round trips and the rate beside a search, as shares of those alone."""
    with WorkerDriver(root) as worker:
        ready = worker.wait_ready()
        broker, name_server = ready.broker, ready.name_server
        alone, beside, looked_at = Noticed(), Noticed(), 0
        Noticed().stretch(broker, name_server, 1)
        for _ in range(rounds):
            alone.stretch(broker, name_server, seconds)
            with searching(worker) as scanned:
                beside.stretch(broker, name_server, seconds)
            looked_at += scanned[0]
        alone.stretch(broker, name_server, seconds)
        worker.end_input()
    print(f"alone:           {alone}")
    print(f"beside a search: {beside}; it looked at {looked_at / seconds / 2 / rounds:,.0f} messages/s")
    trips, trips_alone = summed_up(beside.trips_ms), summed_up(alone.trips_ms)
    print(f"beside : alone = {trips.p50 / trips_alone.p50:.2f} of the median, {trips.p99 / trips_alone.p99:.2f} of the p99, "
          f"{beside.rate / alone.rate:.2f} of the rate")  # fmt: skip
    return trips.p99 / trips_alone.p99, beside.rate / alone.rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=2_000_000, help="in the store (default: %(default)s)")
    parser.add_argument("--store", type=Path, help="directory of the store; made if it is not there, and kept")
    parser.add_argument("--seconds", type=float, default=2, help="of each stretch (default: %(default)s)")
    parser.add_argument("--cold", action="store_true", help="begin with a store whose pages are not in memory")
    parser.add_argument("--rounds", type=int, default=8, help="of both kinds of stretches (default: %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = arguments.store or Path(folder) / "store"
        if not root.exists():
            fill(root, arguments.messages)
        if arguments.cold:
            drop_pages(root)
        measured(root, arguments.seconds, arguments.rounds)


if __name__ == "__main__":
    main()

"""From a connection that is ready to its topics on screen: `python -m benchmarks.gui.attach [--topics N] [--rounds N]`.

A cluster in memory, in a process of its own, has N topics of 4 queues and twice as many groups. The window attaches to it with
the Topics page open. Told are the milliseconds from the worker's word that it is connected to the first figures with all
topics, and to the page painted with all of them; beside it stands a cluster of 10 topics. Wanted: at most 300 ms. With
``--page later`` the page is made and opened in that time, too.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path

from PySide6.QtCore import QEventLoop

from benchmarks.gui.running import Running
from gui.main_window.navigation import page_class
from monitoring.sources.base import SourceStatus
from tests.support.fake_cluster import FakeBroker, FakeCluster

FEW = 10
SEEN_TIMEOUT_S = 60.0


def serve(topic_count: int, told: Connection) -> None:
    """Serve a cluster until the process is ended."""

    async def run() -> None:
        topics = {f"topic-{number:04}": 4 for number in range(topic_count)}
        groups = [f"group-{number:04}" for number in range(2 * topic_count)]
        positions = {
            f"topic-{number % topic_count:04}@{group}": dict.fromkeys(range(4), 10) for number, group in enumerate(groups)
        }
        async with FakeCluster([FakeBroker("a", topics, dict.fromkeys(topics, 10), groups, positions)]) as cluster:
            told.send(cluster.name_server)
            await asyncio.Event().wait()

    asyncio.run(run())


@dataclass(frozen=True, slots=True)
class Taken:
    """Milliseconds since the window heard that it is connected: by the clock, and of processors (NaN where not told)."""

    clock: float
    window: float
    worker: float


class Stopwatch:
    """Begins when it is made, on the thread of the window's loop."""

    def __init__(self, worker: int) -> None:
        self._worker = worker
        self._began = self._read()

    def taken(self) -> Taken:
        """What was taken so far."""
        return Taken(*(now - then for now, then in zip(self._read(), self._began, strict=True)))

    def _read(self) -> tuple[float, float, float]:
        return time.perf_counter() * 1e3, time.thread_time() * 1e3, processor_ms(self._worker)


def processor_ms(pid: int) -> float:
    """What all threads of a process have taken of processors, as Linux tells it; NaN elsewhere."""
    try:
        return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6
    except OSError:
        return math.nan


def attached_once(topic_count: int, *, opens_later: bool) -> tuple[Taken, Taken]:
    """From connected to figures, and to the painted page."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(topic_count, theirs))
    server.start()
    try:
        with tempfile.TemporaryDirectory(prefix="orbit-attach-") as folder:
            os.environ["XDG_DATA_HOME"] = folder
            return measure(Path(folder), ours.recv(), topic_count, opens_later=opens_later)
    finally:
        server.kill()
        server.join()


def measure(folder: Path, name_server: str, topic_count: int, *, opens_later: bool) -> tuple[Taken, Taken]:
    running = Running(folder, connect=name_server)
    running.window.resize(1440, 900)
    running.window.show()
    source = running.console.worker.source
    for entry in running.window.services.pages:
        page_class(entry)
    running.console.begin()
    if not opens_later:
        running.window.navigate("topics")
    wait_for(running, lambda: source.status is SourceStatus.READY)
    watch = Stopwatch(running.console.worker.pid or 0)
    if opens_later:
        running.window.navigate("topics")
    wait_for(running, lambda: source.state is not None and len(source.state.catalog.topics) >= topic_count)
    known = watch.taken()
    page = running.window.area.current
    assert page is not None
    wait_for(running, lambda: running.window.live.age_ms is not None)
    page.grab()
    painted = watch.taken()
    running.window.close()
    running.wait_for(lambda: not running.console.children_processes.any_running, SEEN_TIMEOUT_S)
    return known, painted


def wait_for(running: Running, done: Callable[[], bool]) -> None:
    """Turn Qt's loop until something is so; it sleeps between events, as it does in the window."""
    end = time.monotonic() + SEEN_TIMEOUT_S
    while not done():
        assert time.monotonic() < end, "it did not come"
        running.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", choices=("open", "later"), default="open", help="when the Topics page is opened")
    arguments = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    for count in (FEW, arguments.topics):
        # A process of its own for each round: there is one application in a process.
        with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
            later = arguments.page == "later"
            told = [pool.submit(attached_once, count, opens_later=later).result() for _round in range(arguments.rounds)]
        known, painted = (median(column) for column in zip(*told, strict=True))
        print(
            f"{count:6,} topics   figures after {known.clock:5.0f} ms   painted after {painted.clock:5.0f} ms"
            f"   processor: window {painted.window:5.1f} ms, worker {painted.worker:5.1f} ms"
        )


def median(told: Sequence[Taken]) -> Taken:
    """Of each figure by itself."""
    return Taken(*(statistics.median(getattr(one, field.name) for one in told) for field in fields(Taken)))


if __name__ == "__main__":
    main()

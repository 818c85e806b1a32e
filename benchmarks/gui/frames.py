"""Frame times while the broker takes its full put rate, with 1,000 topics of 4 queues that change ten times a second.

    python -m benchmarks.gui.frames [--seconds N] [--topics N] [--page PAGE]

The figures of the worker arrive at 10 Hz whatever the live cadence; the page in front is redrawn at each of them here, faster
than the window ever asks for. A frame is one turn of the loop: arrival of figures, models, painting. Beside it stands a bare
Qt table of as many rows that is changed and repainted at the same pace. Wanted: p99 at most 16.7 ms, none above 50 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QTableView

from benchmarks.gui.running import Running
from tests.support.loop_watch import LoopWatch, Turns, percentile

CHECKOUT = Path(__file__).resolve().parents[2]
TICK_MS = 100
CREATE_TIMEOUT_S = 300.0
COLUMNS = 8


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--page", default="topics")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="orbit-frames-") as folder, Running(Path(folder)) as running:
        create_topics(running, arguments.topics)
        watch = LoopWatch()
        bare = measure_bare(running, watch, arguments.topics, arguments.seconds / 2)
        with load(running.name_server):
            orbit, rate = measure_orbit(running, watch, arguments.page, arguments.seconds)
        watch.close()
    print(f"{arguments.topics} topics, {4 * arguments.topics} queues; {rate:,.0f} messages/s stored meanwhile")
    for name, seen in (("bare Qt table", bare), (f"Orbit, {arguments.page}", orbit)):
        p99, most = percentile(seen.cpu_ms, 0.99), seen.worst_cpu_ms
        print(f"{name:18} {len(seen.cpu_ms):6} frames  p99 {p99:6.1f} ms  worst {most:6.1f} ms")


def create_topics(running: Running, count: int, groups: int = 0) -> None:
    """Make topics, and groups with a position each, as a client would."""
    command = [sys.executable, "-m", "tests.support.many_names", running.name_server, str(count), "4", str(groups)]
    with subprocess.Popen(command, cwd=CHECKOUT) as making:
        running.wait_for(lambda: making.poll() is not None, CREATE_TIMEOUT_S)
    source = running.console.worker.source

    def all_there() -> bool:
        catalog = source.state.catalog if source.state is not None else None
        return catalog is not None and len(catalog.topics) >= count and len(catalog.groups) >= groups

    if not running.wait_for(all_there, CREATE_TIMEOUT_S):
        raise RuntimeError(f"{count:,} topics and {groups:,} groups were not there after {CREATE_TIMEOUT_S:.0f} s")


@contextlib.contextmanager
def load(name_server: str) -> Iterator[None]:
    """The fastest demo while the block lasts, as a process of its own."""
    command = [sys.executable, str(CHECKOUT / "main.py"), "demo", "--ns", name_server, "--rate", "10000", "--parent-pipe"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()  # which ends it


def measure_orbit(running: Running, watch: LoopWatch, page: str, seconds: float) -> tuple[Turns, float]:
    """Frames with the page in front at 10 Hz; and the messages a second that the broker stored."""
    window = running.window
    window.navigate(page)
    running.wait(5.0)
    timer = QTimer()
    timer.setInterval(TICK_MS)
    timer.timeout.connect(window.live.once)
    timer.start()
    state = window.frame.state
    assert state is not None
    before, began_ms = state.totals["put_messages"], state.taken_ms
    watch.take()
    running.wait(seconds)
    seen, state = watch.take(), window.frame.state
    timer.stop()
    assert state is not None
    return seen, (state.totals["put_messages"] - before) * 1_000 / max(1, state.taken_ms - began_ms)


def measure_bare(running: Running, watch: LoopWatch, rows: int, seconds: float) -> Turns:
    """A plain table in a plain window, every value of the visible rows changed ten times a second."""
    model = QStandardItemModel(rows, COLUMNS)
    for row in range(rows):
        for column in range(COLUMNS):
            model.setItem(row, column, QStandardItem("0"))
    view = QTableView()
    view.setModel(model)
    view.resize(1_200, 760)
    view.show()
    count = [0]

    def change() -> None:
        count[0] += 1
        for row in range(30):
            for column in range(1, COLUMNS):
                model.setData(model.index(row, column, QModelIndex()), str(count[0] * row))

    timer = QTimer()
    timer.setInterval(TICK_MS)
    timer.timeout.connect(change)
    timer.start()
    running.wait(1.0)
    watch.take()
    running.wait(seconds)
    timer.stop()
    view.close()
    return watch.take()


if __name__ == "__main__":
    main()

"""Time and memory of a report by the number of messages, and from click to first result, warm and cold.

    python -m benchmarks.report_scaling [MESSAGES ...]      default 1000000 2000000 4000000 8000000
    python -m benchmarks.report_scaling --click [MESSAGES]         default 100000

Memory is the largest sum of what the report process, Java and its Python workers have for themselves; the log is mapped, and
its pages are the system's to take back. A click is a report of a small range, one that does without Spark there and one that
does not: cold in a new process with Java's prepared classes (``main.py report --prepare`` before), warm an order to the process
that the window keeps, after a rest in which it practises.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.report_rows import processor_seconds
from benchmarks.spark_report import ROOT, write_store
from spark_reports.memory import family_bytes
from spark_reports.serve import PRACTICES

DEFAULT = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
LOOK_S = 0.2
WARM_TURNS = 4
CLICKED = ("throughput", "queues")


def run_watched(store: Path, out: Path, report: str = "throughput") -> tuple[float, float, int]:
    """Seconds of the process, of its stage ``read``, and its largest memory."""
    command = [sys.executable, "-m", "spark_reports", report, "--store", str(store), "--out", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    largest, done = 0, threading.Event()

    def watch() -> None:
        nonlocal largest
        while not done.wait(LOOK_S):
            largest = max(largest, family_bytes(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    assert code == 0
    stages = json.loads((out / "manifest.json").read_text())["stages"]
    read = sum(stage["seconds"] for stage in stages if stage["key"] == "read")
    return time.perf_counter() - began, read, largest


def scaling(counts: list[int]) -> None:
    """Print time and memory for each count."""
    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        for count in counts:
            store = Path(folder, f"store-{count}")
            store_bytes = write_store(store, count)
            seconds, read, largest = run_watched(store, Path(folder, f"out-{count}"))
            print(
                f"{count:>10,} messages, {store_bytes / 2**20:6,.0f} MiB: {seconds:6.1f} s in all, {read:6.1f} s reading "
                f"({count / read:,.0f} messages/s), {largest / 2**20:6,.0f} MiB of memory"
            )
            shutil.rmtree(store)


def click(count: int) -> None:
    """Print the time from an order to its folder: cold, and to a session that waits, as the window gives them."""
    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        store, out = Path(folder, "store"), Path(folder, "out")
        write_store(store, count)
        for report in CLICKED:
            for turn in ("first", "second"):
                print(f"cold, {turn}, {report:<12} {run_watched(store, out, report)[0]:6.2f} s from exec to the folder")
        command = [sys.executable, "-m", "spark_reports", "--serve"]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin is not None
            began = time.perf_counter()
            _until_ready(server)
            print(f"{'ready':<14} {time.perf_counter() - began:6.2f} s from exec, {family_bytes(server.pid) >> 20:,} MiB")
            for _ in range(PRACTICES - 1):
                _until_ready(server)
            for place, report in enumerate(CLICKED * WARM_TURNS, start=1):
                began, worked = time.perf_counter(), processor_seconds(server.pid)
                words = [report, "--store", str(store), "--out", str(out)]
                server.stdin.write(json.dumps(words) + "\n")
                server.stdin.flush()
                _until(server, "stage", "done")
                took, worked = time.perf_counter() - began, processor_seconds(server.pid) - worked
                print(
                    f"warm, {place}, {report:<12} {took:6.2f} s from the order to the folder, {worked:.2f} s of processor time"
                )
                _until_ready(server)
            server.stdin.close()


def _until_ready(server: subprocess.Popen[str]) -> None:
    _until(server, "state", "ready")


def _until(server: subprocess.Popen[str], field: str, value: str) -> None:
    assert server.stdout is not None
    for line in server.stdout:
        if json.loads(line).get(field) == value:
            return
    raise RuntimeError(f"the session ended before it told {value}")


def main() -> None:
    """Measure and print."""
    words = sys.argv[1:]
    if words[:1] == ["--click"]:
        click(int(words[1]) if len(words) > 1 else 100_000)
    else:
        scaling([int(word) for word in words] or list(DEFAULT))


if __name__ == "__main__":
    main()

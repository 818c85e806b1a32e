"""Time and memory of a report by the number of messages, and from click to first result, warm and cold.

    python -m benchmarks.report_scaling [MESSAGES ...]                default 1000000 2000000 4000000 8000000
    python -m benchmarks.report_scaling --click [MESSAGES [REPORT ...]]         default 100000, and every report

The report is that of throughput. Memory is the largest
sum of what the report process, Java and its Python workers have for themselves; the log is mapped, and its pages are the
system's to take back. A click is a report of a small range: cold in a new process with Java's prepared classes (``main.py
report --prepare`` before), warm an order to the process that the window keeps, after a rest in which it warms up: the first of
its name there, and the median of the next ones. Its first result is the table that is shown before the rest of the report is
there; of a report without one, all of it. Processor time is that of all processes of the report; on a busy machine it
tells more than the clock. Reports on samples read a known history of two hours beside the messages.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.report_rows import processor_seconds
from benchmarks.spark_report import ROOT, START_MS, STEP_MS, write_store
from spark_reports import catalog
from spark_reports.serve import family_bytes
from tests.support.known_history import write_known_history

DEFAULT = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
LOOK_S = 0.2
WARM_TURNS = 4


def run_watched(store: Path, out: Path) -> tuple[float, float, int]:
    """Seconds of the process, of its stage ``read``, and its largest memory."""
    command = [sys.executable, "-m", "spark_reports", "throughput", "--store", str(store), "--out", str(out)]
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


def click(count: int, names: Sequence[str]) -> None:
    """Print the times from an order to its first table and to its folder: cold, and by a session that waits for orders."""
    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        store, out = Path(folder, "store"), Path(folder, "out")
        write_store(store, count)
        write_known_history(store)
        keys = Path(folder, "keys.csv")
        keys.write_text("key\n" + "".join(f"O{index}\n" for index in range(0, count, 100)))
        own = own_options(keys, count)
        print(f"{count:,} messages; seconds by the clock (of processors)")
        for name in names:
            first, wall, work = run_timed(store, out, name, own.get(name, ()))
            print(f"{name:<14} cold  first result {first:6.2f}, all {wall:6.2f} ({work:5.2f})", flush=True)
        warm(store, out, {name: own.get(name, ()) for name in names})


def own_options(keys: Path, count: int) -> dict[str, Sequence[str]]:
    """What reports must be told beside the store."""
    end = START_MS + count * STEP_MS
    half = ("--from", str((START_MS + end) // 2), "--to", str(end))
    return {
        "compare": (*half, "--earlier-days", "1"),
        "incident": (*half, "--before-min", "5"),
        "reconcile": ("--keys-file", str(keys)),
        "story": ("--key", "O1"),
        "sql": ("--query", "select topic, tag, count(*) as messages from messages group by topic, tag order by messages desc"),
    }


def run_timed(store: Path, out: Path, report: str, words: Sequence[str]) -> tuple[float, float, float]:
    """Seconds of a new process from its start to its first table, to its folder, and of processors."""
    named = [report, "--store", str(store), "--out", str(out), "--progress", "json", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "spark_reports", *named], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        first, _ = _results(run, began)
    assert run.returncode == 0
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return first, took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _results(run: subprocess.Popen[str], began: float) -> tuple[float, float]:
    """Seconds until the first table of a report, and until the report."""
    found = _until(run, ("first", "done"))
    first = time.perf_counter() - began
    if found == "first":
        _until(run, ("done",))
    return first, time.perf_counter() - began


def warm(store: Path, out: Path, orders: Mapping[str, Sequence[str]]) -> None:
    """Print the same of a session that waits: the first of each name, and the median of later ones."""
    command = [sys.executable, "-m", "spark_reports", "--serve"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        began = time.perf_counter()
        _until(server, ("ready",))
        print(f"ready {time.perf_counter() - began:.2f} s from exec, {family_bytes(server.pid) >> 20:,} MiB", flush=True)
        for _ in range(len(catalog.reports())):
            _until(server, ("ready",))
        print(f"warmed up {time.perf_counter() - began:.2f} s from exec, {family_bytes(server.pid) >> 20:,} MiB", flush=True)
        for name, own in orders.items():
            taken = []
            for _ in range(1 + WARM_TURNS):
                began, worked = time.perf_counter(), processor_seconds(server.pid)
                words = [name, "--store", str(store), "--out", str(out), *own]
                server.stdin.write(json.dumps(words) + "\n")
                server.stdin.flush()
                taken.append((*_results(server, began), processor_seconds(server.pid) - worked))
                _until(server, ("ready",))
            later = [median(some) for some in zip(*taken[1:], strict=True)]
            for what, (first, wall, work) in (("new", taken[0]), ("later", later)):
                print(f"{name:<14} warm, {what:<5}  first result {first:6.2f}, all {wall:6.2f} ({work:5.2f})", flush=True)
        server.stdin.close()


def _until(told_by: subprocess.Popen[str], wanted: Sequence[str]) -> str:
    """Read lines up to the one with such a stage or state, and say which."""
    assert told_by.stdout is not None
    for line in told_by.stdout:
        told = json.loads(line)
        found = {told.get("stage"), told.get("state")}.intersection(wanted)
        if found:
            return str(found.pop())
        if told["stage"] == "failed":
            raise RuntimeError(told["message"])
    raise RuntimeError(f"the process ended before it told {' or '.join(wanted)}")


def main() -> None:
    """Measure and print."""
    words = sys.argv[1:]
    if words[:1] == ["--click"]:
        click(int(words[1]) if len(words) > 1 else 100_000, words[2:] or [spec.name for spec in catalog.reports()])
    else:
        scaling([int(word) for word in words] or list(DEFAULT))


if __name__ == "__main__":
    main()

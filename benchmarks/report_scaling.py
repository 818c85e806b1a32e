"""Time and memory of a report by the number of messages, and from click to first result, warm and cold.

    python -m benchmarks.report_scaling [MESSAGES ...]      default 1000000 2000000 4000000 8000000
    python -m benchmarks.report_scaling --click [MESSAGES]

Memory is the largest sum of what the report process, Java and its Python workers have for themselves; the log is mapped, and
its pages are the system's to take back. A click is a report of a small range: cold in a new process with Java's prepared
classes (``main.py report --prepare`` before), warm a second query in a session that is there.
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

import psutil

from benchmarks.report_rows import grouped
from benchmarks.spark_report import ROOT, write_store

DEFAULT = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
LOOK_S = 0.2


def run_watched(store: Path, out: Path) -> tuple[float, float, int]:
    """Seconds of the process, of its stage ``read``, and its largest memory."""
    command = [sys.executable, "-m", "spark_reports", "throughput", "--store", str(store), "--out", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    largest, done = 0, threading.Event()

    def watch() -> None:
        nonlocal largest
        while not done.wait(LOOK_S):
            largest = max(largest, _anonymous(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    assert code == 0
    stages = json.loads((out / "manifest.json").read_text())["stages"]
    read = sum(stage["seconds"] for stage in stages if stage["key"] == "read")
    return time.perf_counter() - began, read, largest


def _anonymous(pid: int) -> int:
    """Bytes that belong to a family of processes alone: mapped files are the system's to take back."""
    total = 0
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for process in family:
        try:
            info = process.memory_info()
        except psutil.NoSuchProcess:
            continue
        total += info.rss - getattr(info, "shared", 0)
    return total


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
    """Print the time to a first result, cold and warm."""
    from spark_reports.class_cache import cache_folder
    from spark_reports.datasource.plan import plan_read
    from spark_reports.datasource.schema import FORMAT, columns
    from spark_reports.datasource.source import RocketMQStoreDataSource
    from spark_reports.session import ReportSession, SparkOptions

    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        store = Path(folder, "store")
        write_store(store, count)
        for turn in ("cold, first", "cold, second"):
            print(f"{turn:<14} {run_watched(store, Path(folder, 'out'))[0]:6.2f} s from exec to the folder")
        session = ReportSession(SparkOptions(class_cache=cache_folder()))
        spark = session.connect()
        spark.dataSource.register(RocketMQStoreDataSource)
        for query in range(5):
            began = time.perf_counter()
            plan = plan_read([store]).to_json()
            names = ("topic", "queue_id", "store_time", "body_bytes")
            groups = grouped(spark.read.format(FORMAT).schema(columns(*names)).option("plan", plan).load())
            print(f"warm, query {query} {time.perf_counter() - began:6.2f} s, {groups:,} groups")
        session.close()


def main() -> None:
    """Measure and print."""
    words = sys.argv[1:]
    if words[:1] == ["--click"]:
        click(int(words[1]) if len(words) > 1 else 100_000)
    else:
        scaling([int(word) for word in words] or list(DEFAULT))


if __name__ == "__main__":
    main()

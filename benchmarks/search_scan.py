"""A search with body text over a whole log, beside a memory copy and grep: `python -m benchmarks.search_scan [--mib N]`.

Head stage: the columns of all record heads and a comparison of them, beside a copy of the same bytes. Body stage: the look for
text in all bodies, beside ``grep -c -F`` over the same file. Both in time of the processor, the least of several rounds taken
in turn. Then the lookup of keys in a store of ``--keys`` messages.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.store_scan import log_of, taken_s
from broker_core.config import StoreConfig
from broker_core.engine.store.inspection.log_reader import LogReader
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.tools.search.columns import TopicVerdicts, WindowFilter
from broker_core.tools.search.expression import Expression
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.scan import StoreSearch

_ROUNDS = 5
_HEADS = "queue = 3 and stored > 1000000000000"
_TEXT = "not there 4711"
_LOOKUPS = 300


def windows_of(root: Path, expression: Expression | None) -> int:
    """Go through a log; rows that the filter lets through."""
    log, topics, found = LogReader(root), TopicVerdicts(), 0
    for window in log.windows(check_bodies=False):
        if expression is not None:
            verdicts = WindowFilter(window.data, window.heads, topics).verdicts(expression)
            found += verdicts.possible.count(1)
    log.close()
    return found


def search(root: Path, text: str) -> int:
    """A whole search."""
    made = StoreSearch(root, parse_filter(text, now_ms=0))
    return sum(len(step.hits) for step in made.steps())


def grep_s(path: Path, text: str) -> float:
    """Processor time of grep."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["grep", "-c", "-F", text, path], check=False, stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def scans(root: Path, mib: int, body_bytes: int) -> tuple[float, float]:
    """Print all; the head stage as a share of a copy to memory in use, the body stage as times of grep."""
    log, count = log_of(mib << 20, body_bytes)
    path = root / "commitlog" / f"{0:020d}"
    path.parent.mkdir(parents=True)
    path.write_bytes(log)
    heads, bodies = parse_filter(_HEADS, now_ms=0), parse_filter(f'body contains "{_TEXT}"', now_ms=0)
    rounds: dict[str, list[float]] = {}
    source, target = np.frombuffer(log, dtype=np.uint8), np.zeros(len(log), dtype=np.uint8)

    def take(name: str, work: Callable[[], object]) -> None:
        rounds.setdefault(name, []).append(taken_s(work))

    for _ in range(_ROUNDS):
        take("copy", lambda: bytearray(log))
        take("bare", lambda: np.copyto(target, source))
        take("heads", lambda: windows_of(root, heads))
        take("both", lambda: windows_of(root, bodies))
        take("none", lambda: windows_of(root, None))
        take("search", lambda: search(root, f'topic = "OrdersOfShop" and body contains "{_TEXT}"'))
        rounds.setdefault("grep", []).append(grep_s(path, _TEXT))
    least = {name: min(values) for name, values in rounds.items()}
    body_s = max(least["both"] - least["none"], 1e-9)
    size = len(log) / 1e9
    print(f"{count:,} records of {len(log) / count:.0f} B, {len(log) >> 20} MiB, {body_bytes} B bodies")
    for name, what in (("copy", "a copy to new memory"), ("bare", "a copy to memory in use")):
        share = least[name] / least["heads"]
        print(f"head stage {size / least['heads']:.2f} GB/s, {what} {size / least[name]:.2f} GB/s: {share:.2f} of it")
    print(f"body stage {size / body_s:.2f} GB/s, grep -c -F {size / least['grep']:.2f} GB/s: "
          f"{least['grep'] / body_s:.2f} times as fast")  # fmt: skip
    print(f"whole search {size / least['search']:.2f} GB/s, {count / least['search'] / 1e6:.1f} M messages/s")
    return least["bare"] / least["heads"], least["grep"] / body_s


def lookups(root: Path, count: int) -> None:
    host = HostAddress.parse("127.0.0.1:10911")
    config = StoreConfig(root=root)
    with MessageStore.open(config) as store:
        for number in range(count):
            properties = b"KEYS\x01K%d\x02UNIQ_KEY\x01C0A801141A2B18B4AAC2%d" % (number, number)
            store.put(MessageToStore("Orders", number % 8, 0, 0, 1, host, host, 0, 0, b"x", properties))
        store.flush()
        randomness = np.random.default_rng(1)
        for name, given in (("in the running store", store), ("in the closed directory", None)):
            if given is None:
                store.close()
            times, worked = [], []
            for number in randomness.integers(0, count, _LOOKUPS).tolist():
                began, worked_before = time.perf_counter(), time.thread_time()
                made = StoreSearch(root, parse_filter(f'topic = "Orders" and key = "K{number}"', now_ms=0), store=given)
                assert sum(len(step.hits) for step in made.steps()) == 1
                times.append((time.perf_counter() - began) * 1000)
                worked.append((time.thread_time() - worked_before) * 1000)
            (median, p99), (worked_median, worked_p99) = np.percentile(times, [50, 99]), np.percentile(worked, [50, 99])
            print(f"key lookup in {count:,} messages {name}: median {median:.2f} ms, p99 {p99:.2f} ms on the wall, "
                  f"{worked_median:.2f} and {worked_p99:.2f} ms of the processor; {made.plan}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256, help="size of the log (default: %(default)s)")
    parser.add_argument("--body", type=int, default=128, help="bytes of a body (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=1_000_000, help="messages among which keys are looked up")
    parser.add_argument("--dir", type=Path, help="where to make the stores; default: the folder for temporary files")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=arguments.dir))
    try:
        scans(folder / "scan", arguments.mib, arguments.body)
        if arguments.keys:
            lookups(folder / "keys", arguments.keys)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

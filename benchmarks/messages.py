"""All figures about messages beside what they are held to, by one command: `python -m benchmarks.messages [--store DIR]`.

Runs the other scripts' measurements one after the other (`benchmarks.search_scan`, `.large_store`, `.search_beside_puts`,
`.hit_list`, `.replay`), each with what it compares in the same run, and prints a table at the end. The store of ten million
messages takes some minutes and 4 GB to make; ``--store`` keeps it for the next run.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from benchmarks import hit_list, large_store, replay, search_beside_puts, search_scan

Row = tuple[str, str, str]
"""What was measured, the figure, what it is held to."""


def searches(folder: Path) -> list[Row]:
    head, body = search_scan.scans(folder / "scan", 256, 128)
    return [
        ("head stage, as a share of a copy to memory in use", f"{head:.2f}", "≥ 0.25"),
        ("body stage, as times of grep -c -F", f"{body:.2f}", "≥ 1"),
    ]


def large(root: Path, count: int) -> list[Row]:
    if not root.exists():
        large_store.fill(root, count)
    times = large_store.asked(root, count, random.Random(1))
    rows = []
    for (name, taken), goal in zip(times.items(), ("≤ 20 ms", "≤ 16.7 ms"), strict=True):
        wall_ms, worked_ms = large_store.p99_ms(taken)
        rows.append((f"{name} at a random place in {count:,}, p99 on the wall", f"{wall_ms:.1f} ms", goal))
        rows.append(("    the same, of the worker's processor", f"{worked_ms:.1f} ms", goal))
    share = large_store.memory(root)
    rows.append(("memory late in a search, as a share of that early in it", f"{share:.2f}", "flat: 1"))
    trips, rate = search_beside_puts.measured(root, 2, 4)
    rows.append(("round trips of a producer beside a search, p99 as times of those alone", f"{trips:.2f}", "not noticed: 1"))
    return [*rows, ("rate of a producer beside a search, as a share of that alone", f"{rate:.2f}", "not noticed: 1")]


def lists() -> list[Row]:
    scroll, jump = hit_list.measured(1_000_000)
    return [
        ("a frame of a scroll through 1,000,000 hits, p95", f"{scroll:.1f} ms", "≤ 8 ms"),
        ("a frame at a random place among 1,000,000 hits, p99", f"{jump:.1f} ms", "≤ 16.7 ms"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000_000, help="in the large store (default: %(default)s)")
    parser.add_argument("--store", type=Path, help="directory of the large store; made if it is not there, and kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = searches(folder)
        rows += large(arguments.store or folder / "large", arguments.messages)
        rows += lists()
        rows.append(("an unlimited replay, as a share of the put rate", f"{replay.measured(20_000):.2f}", "≥ 0.5"))
    print()
    width = max(len(what) for what, _figure, _goal in rows)
    for what, figure, goal in rows:
        print(f"{what:<{width}}  {figure:>9}  {goal}")


if __name__ == "__main__":
    main()

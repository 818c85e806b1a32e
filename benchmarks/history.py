"""What the history costs: a year on one chart, a second of a large cluster, and its room on the disk.

Run: ``python -m benchmarks.history``. Prints figures; asserts nothing.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from broker_core.worker.questions.figures import Catalog
from broker_core.worker.questions.history import ReadHistory
from monitoring.history.database import Numbers, open_database, set_meta, used_bytes
from monitoring.history.queries import HistoryQueries
from monitoring.history.recorder import Recorder
from monitoring.history.tiers import DAY_MS, TIERS, encode
from monitoring.series import Floats
from monitoring.state import ClusterState

END_MS = 1_700_000_000_000 // DAY_MS * DAY_MS
DAYS = 365
TOPICS, QUEUES, GROUPS = 1_000, 4, 2_000
BUSY_SHARE = 0.1
SECONDS = 130


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def timed(work: Callable[[], object], times: int = 5) -> float:
    """Median, in ms."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1_000)
    return float(np.median(took))


def a_year(folder: Path) -> None:
    connection = open_database(folder / "year.db")
    numbers = Numbers(connection)
    (subject,) = numbers.subjects("group", ["billing"])
    layout = numbers.layout(("lag_messages",))
    random = np.random.default_rng(1)
    begin_ms = END_MS - DAYS * DAY_MS
    for tier in TIERS[1:]:
        first = max(begin_ms, END_MS - tier.kept_ms) // tier.row_ms * tier.row_ms
        for start_ms in range(first, END_MS, tier.row_ms):
            values = random.integers(0, 20_000, tier.row_ms // tier.step_ms).astype(np.float64)
            row = (tier.number, subject, start_ms // tier.step_ms, 0, layout, encode(np.stack([values] * 3, axis=1)))
            connection.execute("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?)", row)
        set_meta(connection, f"rolled_{tier.number}", END_MS // tier.row_ms * tier.row_ms)
        set_meta(connection, f"retained_{tier.number}", first)
    connection.execute("INSERT INTO runs VALUES (?, ?)", (begin_ms, END_MS))
    queries = HistoryQueries(folder / "year.db", Recorder(connection))
    for name, length_ms in (("year", DAYS * DAY_MS), ("30 days", 30 * DAY_MS), ("7 days", 7 * DAY_MS)):
        query = ReadHistory(["group:billing.lag_messages"], END_MS - length_ms, END_MS, 600)
        points = len(queries.lines(query).last[0]) // 8
        say(f"{name} on one chart: {timed(lambda query=query: queries.lines(query)):.1f} ms, {points} stretches")  # type: ignore[misc]
    queries.close()
    connection.close()


def a_large_cluster(folder: Path) -> None:
    connection = open_database(folder / "large.db")
    recorder = Recorder(connection)
    slow = []
    catalog = large_catalog()
    busy = np.arange(TOPICS * QUEUES) < TOPICS * QUEUES * BUSY_SHARE
    used: list[int] = []
    began_cpu = time.thread_time()
    for second in range(SECONDS):
        state = large_state(catalog, second, busy)
        began = time.thread_time()
        recorder.add(state)
        slow.append((time.thread_time() - began) * 1_000)
        if second in {59, 119}:
            used.append(used_bytes(connection))
    cpu = (time.thread_time() - began_cpu) / SECONDS
    took = np.array(slow)
    say(f"{TOPICS} topics × {QUEUES} queues, {GROUPS} groups × {QUEUES} positions, {BUSY_SHARE:.0%} busy:")
    say(
        f"  a sample takes {np.median(took):.1f} ms, with the rows of a minute {took.max():.0f} ms; {cpu * 100:.1f} % of a core"
    )
    say(f"  a minute takes {(used[1] - used[0]) / 1024:.0f} KiB")
    for kind in ("group", "queue", "position"):
        (rows,) = count_rows(connection, kind)
        say(f"  {kind}: {rows} rows")
    connection.close()


def count_rows(connection: sqlite3.Connection, kind: str) -> tuple[int]:
    found: tuple[int] = connection.execute(
        "SELECT COUNT(*) FROM points JOIN subjects ON subjects.id=points.subject WHERE kind=?", (kind,)
    ).fetchone()
    return found


def large_catalog() -> Catalog:
    topics = [f"topic-{n}" for n in range(TOPICS)]
    groups = [f"group-{n}" for n in range(GROUPS)]
    queue_topic = [n // QUEUES for n in range(TOPICS * QUEUES)]
    position_group = [n // QUEUES for n in range(GROUPS * QUEUES)]
    position_queue = [n % (TOPICS * QUEUES) for n in range(GROUPS * QUEUES)]
    counts, flags = [QUEUES] * TOPICS, [False] * TOPICS
    queue_id = [n % QUEUES for n in range(TOPICS * QUEUES)]
    return Catalog(1, topics, counts, counts, counts, flags, queue_topic, queue_id, groups, position_group, position_queue)


def large_state(catalog: Catalog, second: int, busy: np.ndarray) -> ClusterState:
    random = np.random.default_rng(second)

    def noisy(size: int, share: float = BUSY_SHARE) -> Floats:
        return np.where(np.arange(size) < size * share, random.normal(100, 10, size), 0.0)

    queues = np.where(busy, 1_000_000 + second * 25 + random.integers(0, 5, len(busy)), 500)
    positions = queues[np.arange(GROUPS * QUEUES) % len(busy)]
    lag: Floats = np.floor(np.abs(noisy(GROUPS * QUEUES)))
    topics, groups = np.zeros(TOPICS, np.int64), np.zeros(GROUPS, np.int64)
    return ClusterState(
        catalog=catalog,
        taken_ms=END_MS + second * 1_000,
        queue_min_offset=queues * 0,
        queue_max_offset=queues,
        queue_last_store_ms=queues * 0,
        queue_put_rate=noisy(len(busy)),
        topic_put_messages=topics,
        topic_put_bytes=topics,
        topic_put_rate=noisy(TOPICS),
        topic_got_rate=noisy(TOPICS),
        topic_kept_messages=queues[::QUEUES],
        topic_last_store_ms=topics,
        group_members=groups + 2,
        group_lag_messages=lag.reshape(GROUPS, QUEUES).sum(axis=1),
        group_behind_ms=np.round(np.abs(noisy(GROUPS)) * 10),
        group_got_rate=noisy(GROUPS),
        position_offset=positions - lag.astype(np.int64),
        position_lag_messages=lag,
        position_behind_ms=np.round(np.abs(noisy(GROUPS * QUEUES)) * 10),
        position_owner=positions * 0,
        owners=["client@1"],
        totals={f"figure_{n}": float(random.normal(1_000, 10)) for n in range(45)},
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        a_year(Path(made))
        a_large_cluster(Path(made))

"""A store of millions of messages beside a small one: `python -m benchmarks.large_store [--messages N] [--store DIR]`.

The same worker process serves both in turn, over its channel, as it serves the window: lookups of keys by searches and pages
of 100 messages at random places, on the wall and in the worker's time of the processor, with the ratio to the small store.
Then the large one is searched as a whole by body text, and the memory of worker and search process (anonymous pages: not the
files they have mapped) is looked at all the while. ``--store`` names a directory where the large store is kept.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.worker.questions.searches import ContinueSearch, SearchHits, SearchStarted, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage
from tests.support.worker_driver import WorkerDriver

_HOST = HostAddress.parse("127.0.0.1:10911")
_BODY = b"x" * 128
_QUEUES = 8
_SMALL = 10_000
_ROUNDS = 300
_PAGE = 100
_KIB = 1024


def fill(root: Path, count: int) -> None:
    """A store of messages with two keys each."""
    with MessageStore.open(StoreConfig(root=root)) as store:
        for number in range(count):
            properties = b"KEYS\x01K%d\x02UNIQ_KEY\x01C0A801141A2B18B4AAC2%012d\x02TAGS\x01T%d" % (number, number, number % 5)
            store.put(MessageToStore("Orders", number % _QUEUES, 0, 0, number, _HOST, _HOST, 0, 0, _BODY, properties))
        store.flush()


def searched(worker: WorkerDriver, text: str) -> SearchHits:
    """Carry a search out; its last answer."""
    started = worker.ask(StartSearch(text, -1))
    assert isinstance(started, SearchStarted)
    while True:
        hits = worker.ask(ContinueSearch(started.search_id))
        assert isinstance(hits, SearchHits)
        if hits.is_over:
            return hits


def look_up(worker: WorkerDriver, number: int) -> None:
    hits = searched(worker, f'topic = "Orders" and key = "K{number}"')
    assert (hits.found, hits.reasons) == (1, [])


def turn_to(worker: WorkerDriver, queue_id: int, offset: int) -> None:
    page = worker.ask(BrowseQueue("Orders", queue_id, offset, _PAGE))
    assert isinstance(page, MessagePage)
    assert page.queue_offset[0] == offset


def worked_ms(process_id: int) -> float:
    """Time of the processor that all threads of a process have had."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{process_id}/task").glob("*/schedstat")) / 1e6


def taken(worker: WorkerDriver, work: Callable[[], None]) -> tuple[float, float]:
    """Milliseconds on the wall, and of the worker's processor."""
    worked, began = worked_ms(worker.process.pid), time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000, worked_ms(worker.process.pid) - worked


def own_memory_kib(process_id: int) -> int:
    """Memory that is no file's; 0 for a process that has ended."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text()
    except FileNotFoundError:
        return 0
    return int(next((line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")), 0))


def p99_ms(times: list[tuple[float, float]]) -> tuple[float, float]:
    """On the wall, and of the worker's processor."""
    wall, worked = np.percentile(times, 99, axis=0).tolist()
    return wall, worked


def asked(root: Path, count: int, randomness: random.Random) -> dict[str, list[tuple[float, float]]]:
    """Times of lookups and pages in a store."""
    lookups, pages = [], []
    with WorkerDriver(root) as worker:
        worker.wait_ready()
        look_up(worker, 0)  # loads numpy
        for _ in range(_ROUNDS):
            number, offset = randomness.randrange(count), randomness.randrange(count // _QUEUES - _PAGE)
            lookups.append(taken(worker, partial(look_up, worker, number)))
            pages.append(taken(worker, partial(turn_to, worker, number % _QUEUES, offset)))
        worker.end_input()
    return {"key lookup": lookups, f"page of {_PAGE}": pages}


def memory(root: Path) -> float:
    """Print the memory of worker and search process while everything is searched; the last fourth as a share of the first."""
    with WorkerDriver(root) as worker:
        worker.wait_ready()
        look_up(worker, 0)
        process_id = worker.process.pid
        family = psutil.Process(process_id)
        before, used = own_memory_kib(process_id), []
        started = worker.ask(StartSearch('body contains "not there 4711"', -1))
        assert isinstance(started, SearchStarted)
        began = time.perf_counter()
        while True:
            hits = worker.ask(ContinueSearch(started.search_id))
            assert isinstance(hits, SearchHits)
            used.append(own_memory_kib(process_id) + sum(own_memory_kib(child.pid) for child in family.children()))
            if hits.is_over:
                break
        seconds = time.perf_counter() - began
        assert not hits.reasons, hits.reasons
        early, late = max(used[: max(len(used) // 4, 1)]), max(used[-max(len(used) // 4, 1) :])
        print(
            f"searched {hits.scanned:,} in {seconds:.1f} s; memory of worker and search {before / _KIB:.1f} MiB before, "
            f"{early / _KIB:.1f} at most in the first fourth, {late / _KIB:.1f} in the last: {late / early:.2f} of it"
        )
        worker.end_input()
    return late / early


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000_000, help="in the large store (default: %(default)s)")
    parser.add_argument("--store", type=Path, help="directory of the large store; made if it is not there, and kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large, small = arguments.store or Path(folder) / "large", Path(folder) / "small"
        for root, count in ((large, arguments.messages), (small, _SMALL)):
            if not root.exists():
                fill(root, count)
        randomness = random.Random(1)
        few, many = asked(small, _SMALL, randomness), asked(large, arguments.messages, randomness)
        for name, times in many.items():
            for column, what in enumerate(("on the wall", "of the worker's processor")):
                median, p99 = np.percentile([one[column] for one in times], [50, 99])
                few_median, few_p99 = np.percentile([one[column] for one in few[name]], [50, 99])
                print(
                    f"{name} in {arguments.messages:,}: median {median:.2f} ms, p99 {p99:.2f} ms {what}; in {_SMALL:,}: "
                    f"{few_median:.2f} and {few_p99:.2f} ms; {median / few_median:.2f} times as long"
                )
        memory(large)


if __name__ == "__main__":
    main()

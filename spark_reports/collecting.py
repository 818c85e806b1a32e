"""The answers of a report's queries, some at once.

A query over rows that lie ready is mostly planning, which one core does; two cores plan two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Thread
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE = 2
"""More would only take memory: a query over rows of this process is one task."""


def collect(queries: Mapping[str, DataFrame], at_once: int = 1) -> dict[str, pa.Table]:
    """The rows of each query, by its name.

    Args:
        queries: Of one session that this process started.
        at_once: How many run at the same time, this thread's among them.

    Raises:
        PySparkException, Py4JError: What the first query that failed raised; none is begun after it.
    """
    waiting = deque(queries.items())
    tables: dict[str, pa.Table] = {}
    faults: list[Exception] = []

    def work() -> None:
        while not faults:
            try:
                name, query = waiting.popleft()
            except IndexError:
                return
            answer(name, query)

    def answer(name: str, query: DataFrame) -> None:
        try:
            tables[name] = query.toArrow()
        except Exception as error:  # noqa: BLE001  told by the thread that asked
            faults.append(error)

    others = _threads(work, min(at_once, len(waiting)) - 1)
    try:
        work()
    finally:
        waiting.clear()
        for thread in others:
            thread.join()
    if faults:
        raise faults[0]
    return {name: tables[name] for name in queries}


def _threads(work: Callable[[], None], count: int) -> list[Thread]:
    """Threads at work, in the job group of this one."""
    if count <= 0:
        return []
    from pyspark import InheritableThread  # noqa: PLC0415  Spark's modules load while Java starts

    threads: list[Thread] = [InheritableThread(target=work, name="report-query") for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads

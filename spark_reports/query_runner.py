"""Runs a report's queries, some at once, those first that are shown first.

A query over ready rows is mostly planning, which uses one core; two cores plan two.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE = 2
"""More would only take memory: a query over rows of this process is one task."""


def collect(
    queries: Mapping[str, DataFrame],
    at_once: int = 1,
    *,
    first: Collection[str] = (),
    tell: Callable[[Mapping[str, pa.Table]], None] | None = None,
) -> dict[str, pa.Table]:
    """The rows of each query, by its name.

    Args:
        queries: Of one session that this process started.
        at_once: Queries that run at the same time, this thread's among them.
        first: Names of the queries that run before all others; missing ones are ignored.
        tell: Called once, with the results of ``first``, as soon as all of them are ready.

    Raises:
        PySparkException, Py4JError: Of the first query that failed; no further one is started.
    """
    wanted = {name: query for name, query in queries.items() if name in first}
    tables = _answers(wanted, at_once)
    if wanted and tell is not None:
        tell(dict(tables))
    tables |= _answers({name: query for name, query in queries.items() if name not in wanted}, at_once)
    return {name: tables[name] for name in queries}


def _answers(queries: Mapping[str, DataFrame], at_once: int) -> dict[str, pa.Table]:
    waiting = deque(queries.items())
    tables: dict[str, pa.Table] = {}
    faults: list[Exception] = []

    def work() -> None:
        while not faults:
            try:
                name, query = waiting.popleft()
            except IndexError:
                return
            try:
                tables[name] = query.toArrow()
            except Exception as error:  # noqa: BLE001  raised by the calling thread
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
    return tables


def _threads(work: Callable[[], None], count: int) -> list[threading.Thread]:
    """Threads at work, in the job group of this one."""
    if count <= 0:
        return []
    from pyspark import InheritableThread

    threads: list[threading.Thread] = [InheritableThread(target=work, name="report-query") for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads

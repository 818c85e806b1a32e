"""Reports on logs that are not large without Spark: to start it takes longer than to read them.

A report that only needs sums by some columns (`KEYS` in its module) gets those of the reader added up by Arrow, in this
process: the same reader, the same sums, the same rows as from Spark, and the same function that makes the result of them. Who
says how Spark is to run gets Spark, whatever the size.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import ReadPlan
from spark_reports.parameters import ReportParameters

if TYPE_CHECKING:
    from spark_reports.session import SparkOptions

BYTES_MAX = 4 << 30
"""About 13 million messages of 330 bytes: some seconds of one core, and less than Spark takes to start where there are two."""
SUMS_MAX = 2_000_000
"""Sums of all tasks; each takes a KiB or more until the result is written. More are left to Spark, whatever the log's size."""
THREADS_MAX = 4
"""More would wait for each other: some of the work is Python's own."""
MESSAGES_MAX = 500_000
"""The same of a cluster, which tells no sizes."""
WITHOUT_SPARK = "this process, without Spark"

SUMMED = frozenset({"throughput"})
"""Reports whose modules have `KEYS`."""

_SKIPPED = ("skipped_store", "skipped_reason")
_ADDED = ("messages", "body_bytes", "store_bytes", "skipped_rows", "skipped_bytes")
_LARGEST = ("body_bytes_max", "store_bytes_max", "last_time")
_LEAST = ("first_time", "skipped_offset")


class TooManySumsError(Exception):
    """Nearly each message has a minute, topic and tag of its own."""


def is_left_to_orbit(options: SparkOptions) -> bool:
    """Whether nothing is said of how Spark is to run."""
    from spark_reports.session import LOCAL  # noqa: PLC0415  psutil and more, which a refused command line does not wait for

    return options.master == LOCAL and not (options.conf or options.java_home or options.heap_bytes or options.java_options)


def sums_of(
    plan: ReadPlan | ClusterPlan, parameters: ReportParameters, keys: tuple[str, ...], read: Callable[[int, int], None]
) -> pa.Table:
    """Sums of the messages of a range; the rows of `spark_reports.transforms.traffic.by_traffic_keys`, for other keys too.

    Args:
        plan: The bytes, or the messages of a cluster.
        parameters: Range and topics.
        keys: What is summed by.
        read: Told after each task: how many are done, messages so far.

    Raises:
        TooManySumsError: There are more than `SUMS_MAX`.
    """
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415  a second of import

    from spark_reports.datasource.schema import sums  # noqa: PLC0415  as above

    schema = to_arrow_schema(sums(*keys), timezone="UTC")
    selection = Selection(parameters.from_ms, parameters.to_ms, parameters.topics)
    batches: list[pa.RecordBatch] = []
    messages = 0
    with contextlib.closing(_by_task(plan, selection, keys, schema)) as tasks:  # a cancelled report leaves no thread at work
        for done, found in enumerate(tasks, start=1):
            batches += found
            if sum(batch.num_rows for batch in batches) > SUMS_MAX:
                raise TooManySumsError
            messages += sum(int(pc.sum(batch.column("messages")).as_py() or 0) for batch in found)
            read(done, messages)
    return _added_up(pa.Table.from_batches(batches, schema), keys)


def _by_task(
    plan: ReadPlan | ClusterPlan, selection: Selection, keys: tuple[str, ...], schema: pa.Schema
) -> Generator[list[pa.RecordBatch], None, None]:
    if isinstance(plan, ClusterPlan):
        from spark_reports.datasource.cluster_source import partitions_of, read_partition_sums  # noqa: PLC0415  as above

        for partition in partitions_of(plan, at_once=False):
            yield list(read_partition_sums(partition, selection, keys, schema))
        return
    from spark_reports.datasource.source import read_sums  # noqa: PLC0415  as above

    is_over = threading.Event()
    # Compiled code and Arrow let other threads work while they do.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, THREADS_MAX), thread_name_prefix="log-sums") as threads:
        try:
            yield from threads.map(
                lambda task: list(read_sums(task, selection, keys, schema, lambda: not is_over.is_set())), plan.tasks
            )
        finally:
            is_over.set()  # a cancelled report does not wait for the rest of a log file
            threads.shutdown(cancel_futures=True)


def _added_up(rows: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    skipped = pc.is_valid(rows["skipped_reason"])
    for name, column in (("skipped_store", "store"), ("skipped_offset", "physical_offset")):
        rows = rows.append_column(name, pc.if_else(skipped, rows[column], pa.scalar(None, rows[column].type)))
    measures = [(names, how) for how, all_of in (("sum", _ADDED), ("max", _LARGEST), ("min", _LEAST)) for names in all_of]
    by = [*keys, *_SKIPPED]
    grouped = rows.group_by(by, use_threads=False).aggregate(measures)
    grouped = grouped.rename_columns([*by, *(name for name, _ in measures)])
    for name in _ADDED:
        grouped = grouped.set_column(grouped.column_names.index(name), name, pc.fill_null(grouped[name], 0))
    return grouped

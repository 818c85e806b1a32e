"""Group by queue and minute over the store, over Parquet of the same rows, and by a row-tuple data source, side by side.

    python -m benchmarks.report_rows [MESSAGES] [TURNS]

The store is read by sums that the reader makes, as reports do that count by minute, from the planning on: in this process, as
on a machine of one's own, and by Spark's workers, as on a cluster; and for comparison as rows, which are planned before, as the
row tuples are. All run in one session, in turn; printed are medians of wall and of processor time (this process, Java and its
Python workers) and their ratios. The row-tuple way takes each record apart in Python, once into a row of eight columns (three
strings and times, five numbers), as a source gives that is told nothing of the query, and once into the four that the query is
about. Both would take minutes: they read two parts of the log, 800,000 and 400,000 messages or so in tasks that keep the cores
busy, and the line through them is drawn to the end.
"""

from __future__ import annotations

import json
import os
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from benchmarks.spark_report import write_store
from spark_reports.datasource.log_files import mapped
from spark_reports.datasource.plan import FileRange, ReadPlan, plan_read
from spark_reports.datasource.schema import FORMAT, SUMS_BY, columns, sums
from spark_reports.datasource.source import RocketMQStoreDataSource, StoreSourceReader
from spark_reports.driver_rows import DriverRows
from spark_reports.session import ReportSession, SparkOptions

TURNS = 3
ROW_TUPLES = (400_000, 800_000)
SUMMED_BY = ("topic", "queue_id", "minute")
WANTED = StructType([sums(*SUMMED_BY)[name] for name in (*SUMMED_BY, "messages", "body_bytes")])
NAMES = ("topic", "queue_id", "store_time", "body_bytes")


HEAD = ">iiiiiqqiq4siq4siiqi"
"""Of a record with IPv4 addresses, up to the length of its body: docs/spec/store.md §2.1."""
MAGICS = (-626843481, -626843477)
WHOLE = ("topic", "queue_id", "store_time", "body_bytes", "born_host", "queue_offset", "physical_offset", "store_bytes")


def taken_apart(part: FileRange) -> Iterator[tuple[object, ...]]:
    """The records of a part of a log, one by one, by nothing but Python."""
    head, buffer, at, end = struct.Struct(HEAD), mapped(part.path), part.start, part.end
    while at + 91 <= end:
        size, magic, _, queue, _, offset, place, flag, _, host, port, stored, _, _, _, _, body = head.unpack_from(buffer, at)
        if magic not in MAGICS or flag & 0x30:
            break
        topic_at = at + 88 + body
        topic = buffer[topic_at + 1 : topic_at + 1 + buffer[topic_at]].decode()
        born_host = f"{host[0]}.{host[1]}.{host[2]}.{host[3]}:{port}"
        yield topic, queue, datetime.fromtimestamp(stored / 1000, UTC), body, born_host, offset, place, size
        at += size


def taken_apart_for_the_query(part: FileRange) -> Iterator[tuple[object, ...]]:
    """The same, of the columns that the query is about."""
    head, buffer, at, end = struct.Struct(HEAD), mapped(part.path), part.start, part.end
    while at + 91 <= end:
        size, magic, _, queue, _, _, _, flag, _, _, _, stored, _, _, _, _, body = head.unpack_from(buffer, at)
        if magic not in MAGICS or flag & 0x30:
            break
        topic_at = at + 88 + body
        topic = buffer[topic_at + 1 : topic_at + 1 + buffer[topic_at]].decode()
        yield topic, queue, datetime.fromtimestamp(stored / 1000, UTC), body
        at += size


TUPLES = {"rows": (WHOLE, taken_apart), "columns": (NAMES, taken_apart_for_the_query)}


class RowTupleSource(DataSource):
    """What a data source looks like that yields a tuple for each record."""

    @classmethod
    def name(cls) -> str:
        return "row-tuples"

    def schema(self) -> StructType:
        return columns(*TUPLES[self.options["way"]][0])

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  Spark gives it
        return RowTupleReader(self.options["plan"], self.options["way"])


class RowTupleReader(DataSourceReader):
    def __init__(self, plan: str, way: str) -> None:
        self._plan = plan
        self._way = way

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(task) for task in ReadPlan.from_json(self._plan).tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        for part in partition.value:
            yield from TUPLES[self._way][1](part)


def grouped(rows: DataFrame) -> int:
    """Groups of the query, which all of them must agree on."""
    keys = (F.col("topic"), F.col("queue_id"), F.date_trunc("minute", F.col("store_time")).alias("minute"))
    sums = rows.groupBy(*keys).agg(F.count("*").alias("messages"), F.sum("body_bytes").alias("bytes"))
    return int(sums.toArrow().num_rows)


def added_up(parts: DataFrame) -> int:
    """Groups of the same query over sums that the reader made."""
    sums = parts.groupBy("topic", "queue_id", "minute").agg(
        F.sum("messages").alias("messages"), F.sum("body_bytes").alias("bytes")
    )
    return int(sums.toArrow().num_rows)


def processor_seconds(pid: int | None = None) -> float:
    """Of a process, this one if None, and all that descend from it."""
    first = psutil.Process(pid)
    family = [first, *first.children(recursive=True)]
    total = 0.0
    for process in family:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def head_of(plan: ReadPlan, byte_count: int) -> ReadPlan:
    """The first tasks of a plan."""
    kept = []
    for task in plan.tasks:
        kept.append(task)
        byte_count -= sum(part.byte_count for part in task)
        if byte_count <= 0:
            break
    return ReadPlan(tuple(kept))


def timed(
    ways: Mapping[str, Callable[[], int]], turns: int
) -> tuple[dict[str, int], dict[str, list[float]], dict[str, list[float]]]:
    """Take each way in turn: its groups, and its seconds by the clock and of processors in each turn but the first."""
    wall: dict[str, list[float]] = {name: [] for name in ways}
    work: dict[str, list[float]] = {name: [] for name in ways}
    groups: dict[str, int] = {}
    for turn in range(turns + 1):  # the first warms up
        for name, way in ways.items():
            began, worked = time.perf_counter(), processor_seconds()
            groups[name] = way()
            if turn:
                wall[name].append(time.perf_counter() - began)
                work[name].append(processor_seconds() - worked)
    return groups, wall, work


def main() -> None:
    """Measure and print."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else TURNS
    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        store, parquet = Path(folder, "store"), Path(folder, "rows.parquet")
        store_bytes = write_store(store, messages)
        print(f"{messages:,} messages, {store_bytes / 2**20:,.0f} MiB")
        session = ReportSession(SparkOptions())
        spark = session.connect()
        spark.dataSource.register(RocketMQStoreDataSource)
        spark.dataSource.register(RowTupleSource)
        worked = time.process_time()
        plan = plan_read([store], cores=os.cpu_count())
        print(f"planning of rows, which the figures do not hold: {time.process_time() - worked:.2f} s of processor time")
        small = plan_read([store])
        heads = [head_of(small, int(store_bytes * min(1.0, count / messages))) for count in ROW_TUPLES]
        shares = [head.byte_count / small.byte_count for head in heads]
        read = spark.read.format(FORMAT).schema(columns(*NAMES)).option("plan", plan.to_json())

        def options() -> dict[str, str]:
            planned = plan_read([store], cores=os.cpu_count(), for_sums=True)
            return {"plan": planned.to_json(), SUMS_BY: json.dumps(SUMMED_BY)}

        def summed_here() -> DataFrame:
            reader = StoreSourceReader(options(), WANTED)
            return DriverRows(Path(folder)).frame(spark, reader.read_while, reader.partitions(), WANTED)

        def summed_by_workers() -> DataFrame:
            return spark.read.format(FORMAT).options(**options()).schema(WANTED).load()

        # As many row groups as the store has tasks: Spark reads a group in one task.
        pq.write_table(read.load().toArrow(), parquet, row_group_size=-(-messages // len(plan.tasks)))

        def by_tuples(way: str, head: ReadPlan) -> Callable[[], int]:
            rows = spark.read.format("row-tuples").option("way", way).option("plan", head.to_json())
            return lambda: grouped(rows.load())

        ways: dict[str, Callable[[], int]] = {
            "store": lambda: added_up(summed_here()),
            "store, workers": lambda: added_up(summed_by_workers()),
            "store, rows": lambda: grouped(read.load()),
            "parquet": lambda: grouped(spark.read.parquet(str(parquet))),
        } | {
            f"{part} {way}": by_tuples(way, head) for way in TUPLES for part, head in zip(("some", "more"), heads, strict=True)
        }
        groups, wall, work = timed(ways, turns)
        session.close()
        assert groups["store"] == groups["store, workers"] == groups["store, rows"] == groups["parquet"]
        assert groups["more rows"] == groups["more columns"] > groups["some rows"]
        tell("wall", wall, shares)
        tell("processor", work, shares)
        print(f"row tuples were read of {shares[0]:.1%} and {shares[1]:.1%} of the log")


def tell(label: str, times: dict[str, list[float]], shares: list[float]) -> None:
    """Print the medians of each way, and their ratios."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    tuples = {way: extended(shares, medians[f"some {way}"], medians[f"more {way}"]) for way in TUPLES}
    print(
        f"{label}: store {medians['store']:.2f} s, by workers {medians['store, workers']:.2f} s, "
        f"as rows {medians['store, rows']:.2f} s, "
        f"parquet {medians['parquet']:.2f} s, row tuples {tuples['rows']:.2f} s, of four columns {tuples['columns']:.2f} s; "
        f"parquet ÷ store {medians['parquet'] / medians['store']:.2f}, "
        f"row tuples ÷ store {tuples['rows'] / medians['store']:.1f}, "
        f"of four columns {tuples['columns'] / medians['store']:.1f}"
    )


def extended(shares: list[float], some: float, more: float) -> float:
    """Time for the whole log from those for two parts of it."""
    if shares[1] <= shares[0]:
        return more / shares[1]
    slope = max(0.0, (more - some) / (shares[1] - shares[0]))
    return more + slope * (1 - shares[1])


if __name__ == "__main__":
    main()

"""From a fresh log to the first answer: reports over the log itself, against conversion to Parquet and a query by DuckDB.

    python -m benchmarks.report_first_answer [MESSAGES]

The answer is messages and bytes by queue and minute. Ways, each in a process of its own, from its start to the answer:

    spark        Orbit's reader in a Spark session
    duckdb       the log taken apart record by record in Python and written as Parquet (what a script does that has no reader),
                 then DuckDB; without DuckDB the conversion alone is measured
    duckdb fast  the same with Orbit's reader for the conversion

DuckDB is no dependency of Orbit: ``pip install duckdb`` into the environment first.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks.spark_report import ROOT, write_store

NAMES = ("topic", "queue_id", "store_time", "body_bytes")
ROWS_IN_BATCH = 100_000
WAYS = ("spark", "duckdb", "duckdb fast")


def batches(store: Path) -> Iterator[pa.RecordBatch]:
    """Orbit's reader without Spark."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from spark_reports.datasource.options import Selection
    from spark_reports.datasource.plan import plan_read
    from spark_reports.datasource.schema import columns
    from spark_reports.datasource.source import read_ranges

    schema = to_arrow_schema(columns(*NAMES), timezone="UTC")
    for task in plan_read([store], cores=os.cpu_count()).tasks:
        yield from read_ranges(task, Selection(), schema)


def spark(store: Path) -> int:
    """Groups by Spark, its start among it."""
    from benchmarks.report_rows import grouped
    from spark_reports.class_cache import cache_folder
    from spark_reports.datasource.plan import plan_read
    from spark_reports.datasource.schema import FORMAT, columns
    from spark_reports.session import ReportSession, SparkOptions

    session = ReportSession(SparkOptions(class_cache=cache_folder()))
    plan = plan_read([store], cores=os.cpu_count()).to_json()
    connected = session.connect()
    from spark_reports.datasource.source import RocketMQStoreDataSource

    connected.dataSource.register(RocketMQStoreDataSource)
    try:
        return grouped(connected.read.format(FORMAT).schema(columns(*NAMES)).option("plan", plan).load())
    finally:
        session.close()


def record_by_record(store: Path, parquet: Path) -> None:
    """Conversion as a script without a columnar reader does it."""
    import struct

    import pyarrow.parquet as pq

    head = struct.Struct(">ii4xi4xq8xi8x8xq8xiqi")
    writer, rows = None, []
    for path in sorted((store / "commitlog").iterdir()):
        data, at = path.read_bytes(), 0
        while at + 91 <= len(data):
            size, magic, queue_id, _, flag, stored, _, _, body_bytes = head.unpack_from(data, at)
            if magic not in (-626843481, -626843477) or flag & 0x30:
                break
            topic_at = at + 88 + body_bytes
            topic = data[topic_at + 1 : topic_at + 1 + data[topic_at]].decode()
            rows.append({"topic": topic, "queue_id": queue_id, "store_time": stored, "body_bytes": body_bytes})
            at += size
            if len(rows) == ROWS_IN_BATCH:
                table = pa.Table.from_pylist(rows)
                writer = writer or pq.ParquetWriter(parquet, table.schema)
                writer.write_table(table)
                rows = []
    if rows:
        table = pa.Table.from_pylist(rows)
        writer = writer or pq.ParquetWriter(parquet, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def duckdb(store: Path, *, fast: bool) -> int:
    """Conversion, then the query, if DuckDB is there."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        parquet = Path(folder, "rows.parquet")
        minute = "time_bucket(interval 1 minute, store_time)" if fast else "store_time // 60000"
        if fast:
            writer = None
            for batch in batches(store):
                writer = writer or pq.ParquetWriter(parquet, batch.schema)
                writer.write_batch(batch)
            if writer is not None:
                writer.close()
        else:
            record_by_record(store, parquet)
        if importlib.util.find_spec("duckdb") is None:
            return -1
        engine = importlib.import_module("duckdb")
        query = f"select topic, queue_id, {minute} as m, count(*), sum(body_bytes) from '{parquet}' group by all"
        return len(engine.sql(query).fetchall())


def answer(way: str, store: Path) -> int:
    """Groups, by one of the ways."""
    return spark(store) if way == "spark" else duckdb(store, fast=way == "duckdb fast")


def main() -> None:
    """Measure and print; with a way and a store, only answer."""
    if len(sys.argv) > 2:
        print(answer(sys.argv[1], Path(sys.argv[2])))
        return
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if importlib.util.find_spec("duckdb") is None:
        print("DuckDB is not installed (pip install duckdb): of its ways only the conversion is measured")
    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        store = Path(folder, "store")
        print(f"{messages:,} messages, {write_store(store, messages) / 2**20:,.0f} MiB")
        took: dict[str, float] = {}
        work: dict[str, float] = {}
        for way in WAYS:
            began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "benchmarks.report_first_answer", way, str(store)]
            said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
            took[way], after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            work[way] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{way:<12} {took[way]:7.2f} s, {work[way]:7.2f} s of processors, {int(said[-1]):,} groups")
        for label, times in (("wall", took), ("processor", work)):
            print(
                f"{label}: duckdb ÷ spark {times['duckdb'] / times['spark']:.1f}, duckdb fast ÷ spark "
                f"{times['duckdb fast'] / times['spark']:.1f}"
            )


if __name__ == "__main__":
    main()

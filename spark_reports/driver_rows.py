"""Rows that the process of Spark's driver reads and writes as Parquet for Spark: those of small logs, and sums.

Reading a small log is cheap; Spark's way to it is not. Each read of a Python source starts a Python worker three times, each
query of a report scans the rows that Spark caches, and each grouping of some thousand rows is spread over tasks and gathered
again: a report on 100,000 messages takes 1.2 times the processor time cold, and 1.3 to 1.7 times warm. Here the rows are in a
file before Spark plans a query, Spark reads only the columns of the query, and the query is one task.

Spark runs every query of every report, and rows and types are those of the data sources, so a report does not depend on the way
of its rows.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from broker_core.errors import ReportError
from broker_core.machine_limits import processors
from spark_reports.datasource.plan import ReadPlan
from spark_reports.datasource.schema import SKIPPED_REASON
from spark_reports.local_parquet import local_parquet
from spark_reports.pyspark_internals import arrow_schema
from spark_reports.session import ReportSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

    from spark_reports.connect import Session
    from spark_reports.datasource.cluster_plan import Plan
    from spark_reports.progress import ReportProgress

    ReadWhile = Callable[[InputPartition, Callable[[], bool]], Iterator[pa.RecordBatch]]
    """Returns the batches of a partition; calls the function at times to learn whether they are still wanted."""

BYTES_MAX = 96 << 20
"""Largest log that is read here: some 300,000 messages. Spark's workers read more as fast, in parallel."""
STRETCHES_MAX = 500_000
"""Most intervals of samples that are read here, counted before they are read."""
THREADS_MAX = 4
"""More would wait for each other, because some of the work holds the GIL."""


class DriverRows:
    """Reads rows of one report and writes them as Parquet into a private folder.

    Attributes:
        all_rows: Rows of the log are read too; else only sums, which are few and computed without the GIL.
    """

    def __init__(self, folder: Path, progress: ReportProgress | None = None, *, all_rows: bool = True) -> None:
        self._folder = folder
        self._progress = progress
        self.all_rows = all_rows
        self._files = 0

    def frame(self, spark: SparkSession, read: ReadWhile, parts: Sequence[InputPartition], schema: StructType) -> DataFrame:
        """Rows of all partitions of a Python source's reader; ``read`` runs in threads. `ReportError` if the disk is full."""
        self._files += 1
        path = self._folder / f"rows-{self._files}.parquet"
        try:
            self._write(path, read, parts, arrow_schema(schema))
        except OSError as error:
            raise ReportError(
                f"the rows of the report cannot be kept in {self._folder}: {error.strerror or error}. Free some space there, "
                "or name another folder with TMPDIR.",
                path=str(self._folder),
            ) from error
        # As one partition no grouping, join or window moves a row to another task.
        return local_parquet(spark, schema, [path]).coalesce(1)

    def _write(self, path: Path, read: ReadWhile, parts: Sequence[InputPartition], schema: pa.Schema) -> None:
        messages = 0
        with (
            pq.ParquetWriter(path, schema, compression="none", write_statistics=False) as writer,
            contextlib.closing(_side_by_side(read, parts)) as found,  # a cancelled report leaves no thread at work
        ):
            for done, batches in enumerate(found, start=1):
                for batch in batches:
                    writer.write_batch(batch)
                    messages += _messages(batch)
                if self._progress is not None and self._files == 1:
                    self._progress.step(done, len(parts), rows=messages)


def _messages(batch: pa.RecordBatch) -> int:
    """Messages in a batch of them, or of sums; rows of samples count as they are."""
    names = batch.schema.names
    if "messages" in names:
        return int(pc.sum(batch.column("messages")).as_py() or 0)
    return int(batch.column(SKIPPED_REASON).null_count) if SKIPPED_REASON in names else len(batch)


@contextlib.contextmanager
def open_driver_rows(session: Session, plan: Plan | None, progress: ReportProgress) -> Iterator[DriverRows | None]:
    """A reader of rows of the plan until the end of the block; None: no log is read, or Spark runs elsewhere."""
    if not isinstance(plan, ReadPlan) or not isinstance(session, ReportSession) or not session.is_local:
        yield None
        return
    with tempfile.TemporaryDirectory(dir=session.folder, prefix="rows-") as folder:
        yield DriverRows(Path(folder), progress, all_rows=plan.byte_count <= BYTES_MAX)


def _side_by_side(read: ReadWhile, parts: Sequence[InputPartition]) -> Generator[list[pa.RecordBatch], None, None]:
    is_over = threading.Event()

    def batches(part: InputPartition) -> list[pa.RecordBatch]:
        return list(itertools.takewhile(lambda _: not is_over.is_set(), read(part, lambda: not is_over.is_set())))

    if len(parts) == 1:
        yield batches(parts[0])
        return
    with ThreadPoolExecutor(min(processors(), THREADS_MAX), thread_name_prefix="driver-rows") as threads:
        try:
            yield from threads.map(batches, parts)
        finally:
            is_over.set()  # a cancelled report does not wait for the rest of a partition
            threads.shutdown(cancel_futures=True)

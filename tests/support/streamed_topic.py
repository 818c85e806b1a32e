"""A topic of a cluster that a streaming query of Spark writes to files, started again from its checkpoint when it fails."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from spark_reports.datasource.schema import CLUSTER_FORMAT, columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PATIENT_S = 400.0
_LOOK_SECONDS = 0.5
_AGAIN_SECONDS = 1.0
"""Before a query that failed is started again, as whoever watches over queries does."""


class StreamedTopic:
    """Runs the query within its context; outside of it no batch is under way.

    Args:
        spark: With ``rocketmq-cluster``.
        name_server: Of the cluster.
        folder: For files and checkpoint.
        options: Of the source.
    """

    def __init__(self, spark: SparkSession, name_server: str, folder: Path, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._name_server = name_server
        self._options = options
        self._files, self._checkpoint = folder / "files", folder / "checkpoint"
        self._query: StreamingQuery | None = None
        self.failures: list[str] = []
        """Why it was started again."""

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        assert self._query is not None
        self._query.stop()

    def _start(self) -> None:
        reader = self._spark.readStream.format(CLUSTER_FORMAT).schema(columns("queue_id", "queue_offset", "body"))
        writer = reader.options(**self._options).load(self._name_server).writeStream.format("parquet")
        writer = writer.option("path", str(self._files)).option("checkpointLocation", str(self._checkpoint))
        self._query = writer.trigger(processingTime="100 milliseconds").start()

    def until_rows(self, count: int) -> None:
        """Wait until so many rows were written."""
        deadline = time.monotonic() + PATIENT_S
        while (written := self._written()) < count:
            assert time.monotonic() < deadline, (written, count, self.failures)
            self._look_after()
            time.sleep(_LOOK_SECONDS)

    def _look_after(self) -> None:
        """Start the query again if it has failed."""
        assert self._query is not None
        error = self._query.exception()
        if error is None:
            assert self._query.isActive, "it ended without an error"
            return
        self.failures.append(str(error))
        time.sleep(_AGAIN_SECONDS)
        self._start()

    def _rows(self) -> DataFrame | None:
        """What whole batches wrote; a file of one that failed is not among it."""
        if not (self._files / "_spark_metadata").exists():
            return None
        return self._spark.read.schema(columns("queue_id", "queue_offset", "body")).parquet(str(self._files))

    def _written(self) -> int:
        rows = self._rows()
        return 0 if rows is None else rows.count()

    def numbers(self) -> list[int]:
        """Numbers that the bodies begin with, in order; one that was written twice is there twice."""
        rows = self._rows()
        assert rows is not None
        return sorted(int(bytes(row["body"]).split()[0]) for row in rows.collect())

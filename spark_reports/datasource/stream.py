"""Following stores that a broker writes to: the streaming side of ``rocketmq-store``.

    spark.readStream.format("rocketmq-store").schema(columns("topic", "store_time")).load("/data/store")

Options are those of the batch read (without ``plan``), and ``begin``: ``oldest`` (the default) or ``newest``, which leaves out
what is stored when the query starts for the first time. Offsets are exact: physical offsets by store, kept in Spark's
checkpoint; the same offsets give the same rows again. Damaged places and what was cleaned away unread are passed over; they are
accounting rows where the columns for those are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from spark_reports.datasource.log_files import directories_of, first_offset
from spark_reports.datasource.options import check_columns, is_from_newest, roots_of, selection_of
from spark_reports.datasource.plan import FileRange, ranges_from
from spark_reports.datasource.source import StorePartition, read_ranges
from spark_reports.pyspark_internals import arrow_schema


class StoreStreamReader(DataSourceStreamReader):
    """Finds what is new and reads it; pickled to the workers.

    Args:
        options: The read's options, see the module.
        schema: Columns to make.

    Raises:
        UsageError: An option or a column is not known or does not fit.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        if "sums_by" in options:
            raise UsageError("a stream gives records, not sums: leave option sums_by away, and group them in the query")
        check_columns(schema)
        self._from_newest = is_from_newest(options)
        self._schema = schema
        self._roots = roots_of(options)
        self._directories = directories_of(options.get("commit_log", ""), self._roots)
        self._selection = selection_of(options)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        """Where a new query begins, by store."""
        first = {root: first_offset(root, self._directories) for root in self._roots}
        return {root: self._end(root, start) for root, start in first.items()} if self._from_newest else first

    def _end(self, root: str, start: int) -> int:
        return ranges_from(root, start, directories=self._directories).end

    def latestOffset(self, start: dict[str, int], _limit: ReadLimit) -> dict[str, int]:  # noqa: N802  Spark's name
        """Where the last whole record of each store ends now."""
        return {root: self._end(root, offset) for root, offset in start.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One partition for each range between the two."""
        parts = [part for root, offset in start.items() for part in ranges_between(root, offset, end[root], self._directories)]
        return [StorePartition((part,)) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of one partition."""
        assert isinstance(partition, StorePartition)
        yield from read_ranges(partition.ranges, self._selection, arrow_schema(self._schema))


def ranges_between(root: str, start: int, end: int, directories: Sequence[Path] = ()) -> list[FileRange]:
    """What a store holds between two offsets that it was followed to; the same at every call."""
    ranges = ranges_from(root, start, directories=directories).ranges
    before = [part for part in ranges if part.base_offset + part.start < end]
    return [replace(part, end=min(part.end, end - part.base_offset)) for part in before]

"""Following stores that a broker writes to: the streaming side of ``rocketmq-store``.

Options are those of the batch read (without ``plan``), and ``begin``: ``oldest`` (the default) or ``newest``, which skips
messages stored before the first start of the query. Offsets are exact: physical offsets by store, in Spark's checkpoint; the
same offsets give the same rows again. Damaged places and records deleted before they were read are skipped; they are accounting
rows if the schema has those columns.
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
from spark_reports.datasource.store_records import StorePartition, read_ranges
from spark_reports.pyspark_internals import arrow_schema


class StoreStreamReader(DataSourceStreamReader):
    """Finds new records and reads them; pickled to the workers. Raises `UsageError` if an option or a column is invalid."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        if "sums_by" in options:
            raise UsageError("a stream gives records, not sums: leave option sums_by away, and group them in the query")
        check_columns(schema)
        self._from_newest = is_from_newest(options)
        self._schema = schema
        self._roots = roots_of(options)
        self._directories = directories_of(options.get("commit_log", ""), self._roots)
        self._selection = selection_of(options)

    def initialOffset(self) -> dict[str, int]:
        """Start offsets of a new query, by store."""
        first = {root: first_offset(root, self._directories) for root in self._roots}
        return {root: self._end(root, start) for root, start in first.items()} if self._from_newest else first

    def _end(self, root: str, start: int) -> int:
        return ranges_from(root, start, directories=self._directories).end

    def latestOffset(self, start: dict[str, int], _limit: ReadLimit) -> dict[str, int]:
        """End of the last whole record of each store."""
        return {root: self._end(root, offset) for root, offset in start.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One partition for each range between two offsets."""
        parts = [part for root, offset in start.items() for part in ranges_between(root, offset, end[root], self._directories)]
        return [StorePartition((part,)) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StorePartition)
        yield from read_ranges(partition.ranges, self._selection, arrow_schema(self._schema))


def ranges_between(root: str, start: int, end: int, directories: Sequence[Path] = ()) -> list[FileRange]:
    """The ranges of a store between two offsets of a stream; the same at every call."""
    ranges = ranges_from(root, start, directories=directories).ranges
    before = [part for part in ranges if part.base_offset + part.start < end]
    return [replace(part, end=min(part.end, end - part.base_offset)) for part in before]

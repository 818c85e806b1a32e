"""The ``rocketmq-store`` data source: commit-log files as a Spark table, without a broker.

Options: docs/reports.md, “The data source”; columns: `spark_reports.datasource.schema`. Log files wholly outside the time range
are not opened. Bodies are not decompressed, and their checksums are not verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from spark_reports.datasource.filters import one_of
from spark_reports.datasource.log_files import directories_of
from spark_reports.datasource.options import BatchReader, flag_of, roots_of
from spark_reports.datasource.plan import FileRange, ReadPlan, grouped, plan_read
from spark_reports.datasource.queue_files import narrowed
from spark_reports.datasource.schema import FORMAT, MESSAGES
from spark_reports.datasource.store_records import StorePartition, read_ranges, read_sums
from spark_reports.datasource.stream import StoreStreamReader
from spark_reports.pyspark_internals import arrow_schema


class RocketMQStoreDataSource(DataSource):
    """Spark's entry to the source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return MESSAGES

    def reader(self, schema: StructType) -> DataSourceReader:
        return StoreSourceReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return StoreStreamReader(dict(self.options), schema)


class StoreSourceReader(BatchReader):
    """Plans the tasks and reads one; pickled to the workers."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        super().__init__(options, schema)
        self._roots = roots_of(options)
        self._directories = directories_of(options.get("commit_log", ""), self._roots)
        self._by_queues = flag_of(options, "by_queues")

    def partitions(self) -> Sequence[InputPartition]:
        """One partition for each group of file ranges."""
        plan = ReadPlan.from_json(self._plan) if self._plan else self._planned()
        return [StorePartition(task) for task in plan.tasks] or [StorePartition(())]

    def _planned(self) -> ReadPlan:
        stores = one_of(self._selection.comparisons, "store")
        roots = [root for root in self._roots if stores is None or root in stores]
        plan = plan_read(
            roots, directories=self._directories, from_ms=self._selection.earliest_ms(), to_ms=self._selection.end_ms()
        )
        topics = self._selection.stored_topics()
        if not self._by_queues or topics is None or self._is_accounted:
            return plan
        ranges = [part for task in plan.tasks for part in task]
        kept: list[FileRange] = []
        for root in roots:
            own = [part for part in ranges if part.store == root]
            found = narrowed(own, root, topics)
            kept += own if found is None else found
        return replace(plan, tasks=tuple(grouped(kept)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.read_while(partition, lambda: True)

    def read_while(self, partition: InputPartition, is_wanted: Callable[[], bool]) -> Iterator[pa.RecordBatch]:
        """`read`, which for sums ends early when ``is_wanted`` returns false, see `read_sums`."""
        if not isinstance(partition, StorePartition):
            raise UsageError("this reader reads only the partitions it planned itself")
        schema = arrow_schema(self._schema)
        if self._sums_by is None:
            yield from read_ranges(partition.ranges, self._selection, schema)
        else:
            yield from read_sums(partition.ranges, self._selection, self._sums_by, schema, is_wanted)

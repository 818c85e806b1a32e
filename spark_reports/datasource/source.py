"""The ``rocketmq-store`` data source: commit-log files as a Spark table, without a broker.

    spark.dataSource.register(RocketMQStoreDataSource)
    spark.read.format("rocketmq-store").schema(columns("topic", "store_time")).load("/data/store")

Options: ``path`` (one store) or ``paths`` (JSON list of stores); ``commit_log`` (directories of the log of one store,
separated by commas, where it does not lie in the store's own ``commitlog``); ``from_ms`` and ``to_ms`` (store time, epoch
milliseconds, from ≤ time < to); ``topics`` (JSON list) and ``topics_of`` (``stored``, or ``meant`` for the topic a waiting,
half or retried message was first sent to); ``by_queues`` (``true``: find the records of ``topics`` or of ``where("topic =
…")`` by the consume queues where that is cheaper, see `spark_reports.datasource.queue_files` for what that leaves out);
``sums_by`` (JSON list: give sums by those and not records, with the schema that `spark_reports.datasource.schema.sums` makes);
``plan`` (a `ReadPlan` made before, so that several reads see the same bytes). Log files wholly outside the time range are not
opened. The row schema is described in `spark_reports.datasource.schema`; give the read a schema of just the columns it needs,
the reader makes no others. It does not decompress bodies and does not check their checksums.

Filters of ``where()`` reach the reader, see `spark_reports.datasource.filters`; a session of one's own has to allow that:
``spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")``. Spark refuses the read without it.

``spark.readStream`` follows stores that a broker writes to, see `spark_reports.datasource.stream`.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.types import StructType

from broker_core.engine.store.layout import RecordHeads, next_record, scan_records
from broker_core.errors import UsageError
from spark_reports.datasource.chain import damage_reason, is_filler
from spark_reports.datasource.columns import RecordColumns
from spark_reports.datasource.filters import one_of
from spark_reports.datasource.log_files import directories_of, mapped
from spark_reports.datasource.options import Selection, flag_of, roots_of, selection_of, sums_by_of, with_filters
from spark_reports.datasource.plan import FileRange, ReadPlan, grouped, plan_read
from spark_reports.datasource.queue_files import narrowed
from spark_reports.datasource.schema import ALL_ARROW, FORMAT, MESSAGES, SKIPPED_REASON
from spark_reports.datasource.skipped import FILE_REMOVED, OTHER_TOPIC, OUTSIDE_RANGE, SkippedRows
from spark_reports.pyspark_internals import arrow_schema

if TYPE_CHECKING:
    from spark_reports.datasource.task_sums import TaskSums

SCAN_BYTES = 8 << 20
"""Bytes taken apart at a time, which become one batch: columns stay small whatever a file's size."""


class RocketMQStoreDataSource(DataSource):
    """Spark's entry to the source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        """Format name."""
        return FORMAT

    def schema(self) -> StructType:
        """Columns of a read that names none."""
        return MESSAGES

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reader for the columns of ``schema``."""
        return StoreSourceReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """Reader that follows the stores, for the columns of ``schema``."""
        from spark_reports.datasource.stream import StoreStreamReader  # noqa: PLC0415  it stands on this module

        return StoreStreamReader(dict(self.options), schema)


@dataclass(frozen=True)
class StorePartition(InputPartition):
    """What one task reads."""

    ranges: tuple[FileRange, ...]


class StoreSourceReader(DataSourceReader):
    """Plans the tasks and reads one; pickled to the workers.

    Args:
        options: The read's options, see the module.
        schema: Columns to make.

    Raises:
        UsageError: An option or a column is not known or does not fit.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._sums_by = sums_by_of(options, schema)
        self._schema = schema
        self._plan = options.get("plan")
        self._roots = roots_of(options)
        self._directories = directories_of(options.get("commit_log", ""), self._roots)
        self._selection = selection_of(options)
        self._by_queues = flag_of(options, "by_queues")

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Take over what the reader can decide; what is left goes back to Spark.

        Beside accounting rows Spark looks at all filters again: those rows have to pass them too. Of sums it looks alone.
        """
        if self._sums_by is not None:
            yield from filters
            return
        self._selection, left = with_filters(self._selection, filters, accounted=SKIPPED_REASON in self._schema.names)
        yield from left

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
        if not self._by_queues or topics is None or SKIPPED_REASON in self._schema.names:
            return plan
        ranges = [part for task in plan.tasks for part in task]
        kept: list[FileRange] = []
        for root in roots:
            own = [part for part in ranges if part.store == root]
            found = narrowed(own, root, topics)
            kept += own if found is None else found
        return replace(plan, tasks=tuple(grouped(kept)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of one partition."""
        return self.read_while(partition, lambda: True)

    def read_while(self, partition: InputPartition, is_wanted: Callable[[], bool]) -> Iterator[pa.RecordBatch]:
        """The same; sums are of a part once nobody waits for them any more, see `read_sums`."""
        if not isinstance(partition, StorePartition):
            raise UsageError("this reader reads only the partitions it planned itself")
        schema = arrow_schema(self._schema)
        if self._sums_by is None:
            yield from read_ranges(partition.ranges, self._selection, schema)
        else:
            yield from read_sums(partition.ranges, self._selection, self._sums_by, schema, is_wanted)


def read_ranges(ranges: Sequence[FileRange], selection: Selection, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the wanted records of some file ranges, then the accounting rows if ``schema`` asks for them."""
    skipped = SkippedRows()
    yield from batches_of(_wanted(ranges, selection, skipped), skipped, schema)


def read_sums(
    ranges: Sequence[FileRange],
    selection: Selection,
    keys: Sequence[str],
    schema: pa.Schema,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of the wanted records of some file ranges, then the accounting rows; see `schema.sums`.

    Args:
        ranges: What is read.
        selection: What of it counts.
        keys: What is summed by.
        schema: Columns.
        is_wanted: Asked every `SCAN_BYTES`, also where nothing of them counts: whether anybody waits for this any more. If not,
            the sums are of a part.
    """
    skipped = SkippedRows()
    sums = task_sums(keys, schema, selection, skipped)
    for part in ranges:
        _add_range(part, sums, skipped, is_wanted)
    yield from sums_batches(sums, skipped, schema)


def batches_of(wanted: Iterable[RecordColumns], skipped: SkippedRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Arrow batches of some records, then the accounting rows if ``schema`` asks for them."""
    for records in wanted:
        yield records.batch(schema)
    accounting = skipped.batch(schema) if SKIPPED_REASON in schema.names else None
    if accounting is not None:
        yield accounting


def task_sums(keys: Sequence[str], schema: pa.Schema, selection: Selection, skipped: SkippedRows) -> TaskSums:
    """Sums that nothing was added to, see `TaskSums`.

    Raises:
        UsageError: This Python has no numba.
    """
    try:
        from spark_reports.datasource.task_sums import TaskSums  # noqa: PLC0415  numba, which other reads do not need
    except ModuleNotFoundError as error:
        raise UsageError(
            f"sums are made by compiled code, and the Python {sys.executable} lacks the package {error.name} for it. Install "
            "numba there (docs/reports.md, “On a cluster”)."
        ) from error
    return TaskSums(keys, schema.names, selection, skipped)


def sums_batches(sums: TaskSums, skipped: SkippedRows, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of a task, then the accounting rows if ``schema`` asks for them."""
    for batch in (sums.batch(schema), skipped.batch(schema) if SKIPPED_REASON in schema.names else None):
        if batch is not None:
            yield batch


def _add_range(part: FileRange, sums: TaskSums, skipped: SkippedRows, is_wanted: Callable[[], bool]) -> None:
    """Add the records of a range to sums; places without a record are counted, a filler ends it."""
    buffer = _opened(part, skipped)
    if buffer is None:
        return
    data, position = np.frombuffer(buffer, dtype=np.uint8)[: part.end], part.start
    while position < part.end and is_wanted() and not is_filler(buffer, position):
        reached = sums.add_log(data, part.base_offset, position, min(part.end, position + SCAN_BYTES), part.store)
        if reached == position:
            following = next_record(data, part.base_offset, position + 1)
            reached = part.end if following is None else following
            skipped.add_damage(part, position, damage_reason(buffer, position), reached - position)
        position = reached


def _wanted(ranges: Sequence[FileRange], selection: Selection, skipped: SkippedRows) -> Iterator[RecordColumns]:
    for part in ranges:
        for records in _records(part, skipped):
            wanted = select_records(records, selection, skipped)
            if len(wanted):
                yield wanted


def select_records(records: RecordColumns, selection: Selection, skipped: SkippedRows) -> RecordColumns:
    """The wanted ones of some records; of others what the range and the topics leave out is counted."""
    if selection.from_ms is not None or selection.to_ms is not None:
        inside = records.stored_between(selection.from_ms, selection.to_ms)
        outside = records.choose(~inside)
        skipped.add(OUTSIDE_RANGE, len(outside), outside.store_bytes)
        records = records.choose(inside)
    if selection.topics:
        among = records.topic_among(selection.topics, meant=selection.meant)
        others = records.choose(~among)
        skipped.add(OTHER_TOPIC, len(others), others.store_bytes)
        records = records.choose(among)
    for comparison in selection.comparisons:
        if not len(records):
            break
        records = records.choose(comparison.holds(records.named(ALL_ARROW.field(comparison.column))))
    return records


def _records(part: FileRange, skipped: SkippedRows) -> Iterator[RecordColumns]:
    buffer = _opened(part, skipped)
    if buffer is None:
        return
    for heads in _scans(buffer, part, skipped):
        yield RecordColumns(buffer, heads, part.store)


def _opened(part: FileRange, skipped: SkippedRows) -> mmap.mmap | None:
    """The file of a range; None where there is nothing to read, which is counted."""
    if part.damage is not None:
        skipped.add_damage(part, part.start, part.damage, part.byte_count)
        return None
    try:
        return mapped(part.path)
    except FileNotFoundError:
        skipped.add_damage(part, part.start, FILE_REMOVED, part.byte_count)
        return None


def _scans(buffer: mmap.mmap, part: FileRange, skipped: SkippedRows) -> Iterator[RecordHeads]:
    """Scan a range in pieces; places without a record are counted, a filler ends it."""
    position, reach = part.start, SCAN_BYTES
    while position < part.end and not is_filler(buffer, position):
        stop = min(part.end, position + reach)
        heads = scan_records(buffer, part.base_offset, position, stop)
        if not len(heads):
            if stop == part.end:
                skipped.add_damage(part, position, damage_reason(buffer, position), part.end - position)
                return
            reach *= 2  # a record larger than a piece, or much damage
            continue
        for gap_start, gap_end in _gaps(heads, position):
            if is_filler(buffer, gap_start):  # what lies behind it are old bytes, whatever they look like
                heads = scan_records(buffer, part.base_offset, position, gap_start)
                break
            skipped.add_damage(part, gap_start, damage_reason(buffer, gap_start), gap_end - gap_start)
        if len(heads):
            yield heads
        position, reach = heads.end, SCAN_BYTES


def _gaps(heads: RecordHeads, start: int) -> list[tuple[int, int]]:
    """Places before and between records that hold none: start and end."""
    ends = np.concatenate(([start], heads.position[:-1] + heads.size[:-1]))
    return [(int(ends[index]), int(heads.position[index])) for index in np.flatnonzero(heads.position > ends)]

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from broker_core.store.layout import RecordHeads, scan_records
from spark_reports.datasource.chain import damage_reason, is_filler
from spark_reports.datasource.columns import RecordColumns
from spark_reports.datasource.filters import one_of
from spark_reports.datasource.log_files import directories_of, mapped
from spark_reports.datasource.options import Selection, flag_of, roots_of, selection_of, sums_by_of, with_filters
from spark_reports.datasource.plan import FileRange, ReadPlan, grouped, plan_read
from spark_reports.datasource.queue_files import narrowed
from spark_reports.datasource.schema import ALL_ARROW, ALL_COLUMNS, FORMAT, MESSAGES, SKIPPED_REASON, SKIPPED_ROWS
from spark_reports.datasource.sums import TaskSums, check_sums

SCAN_BYTES = 8 << 20
"""Bytes taken apart at a time, which become one batch: columns stay small whatever a file's size."""

OUTSIDE_RANGE = "outside the time range"
OTHER_TOPIC = "of another topic"
FILE_REMOVED = "file was removed by the broker's cleaning while it was read"


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
        return StoreReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """Reader that follows the stores, for the columns of ``schema``."""
        from spark_reports.datasource.stream import StoreStreamReader  # noqa: PLC0415  it stands on this module

        return StoreStreamReader(dict(self.options), schema)


@dataclass(frozen=True)
class StorePartition(InputPartition):
    """What one task reads."""

    ranges: tuple[FileRange, ...]


class Skipped:
    """What a task looked at and left out: places with damage one by one, records of each other reason as a sum."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.damage: list[tuple[str, int, str, int]] = []
        self.unread: Counter[tuple[str | None, str]] = Counter()

    def add(self, reason: str, records: RecordColumns) -> None:
        """Count records that were left out."""
        if len(records):
            self.rows[reason] += len(records)
            self.bytes[reason] += records.store_bytes

    def add_damage(self, part: FileRange, position: int, reason: str, byte_count: int) -> None:
        """Count a place that could not be read."""
        self.damage.append((part.store, part.base_offset + position, reason, byte_count))

    def add_unread(self, store: str | None, reason: str, messages: int) -> None:
        """Count messages that did not come; whose bytes nobody knows."""
        self.unread[store, reason] += messages

    def batch(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """Accounting rows, or None if nothing was left out."""
        rows = [
            {"store": store, "physical_offset": offset, SKIPPED_REASON: reason, SKIPPED_ROWS: 1, "skipped_bytes": byte_count}
            for store, offset, reason, byte_count in self.damage
        ]
        rows += [
            {SKIPPED_REASON: reason, SKIPPED_ROWS: count, "skipped_bytes": self.bytes[reason]}
            for reason, count in self.rows.items()
        ]
        rows += [
            {"store": store, SKIPPED_REASON: reason, SKIPPED_ROWS: count, "skipped_bytes": 0}
            for (store, reason), count in self.unread.items()
        ]
        return pa.RecordBatch.from_pylist(rows, schema=schema) if rows else None


class StoreReader(DataSourceReader):
    """Plans the tasks and reads one; pickled to the workers.

    Args:
        options: The read's options, see the module.
        schema: Columns to make.

    Raises:
        UsageError: An option or a column is not known or does not fit.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._sums_by = sums_by_of(options)
        if self._sums_by is None:
            check_columns(schema)
        else:
            check_sums(self._sums_by, schema)
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
        if not isinstance(partition, StorePartition):
            raise UsageError("this reader reads only the partitions it planned itself")
        schema = to_arrow_schema(self._schema, timezone="UTC")
        if self._sums_by is None:
            yield from read_ranges(partition.ranges, self._selection, schema)
        else:
            yield from read_sums(partition.ranges, self._selection, self._sums_by, schema)


def check_columns(schema: StructType) -> None:
    """Refuse columns that there are not.

    Raises:
        UsageError: With their names, and those there are.
    """
    unknown = [field.name for field in schema if field.name not in ALL_COLUMNS.names]
    if unknown:
        raise UsageError(
            f"the store has no column {', '.join(unknown)}. Columns: {', '.join(ALL_COLUMNS.names)}",
            columns=", ".join(unknown),
        )


def read_ranges(ranges: Sequence[FileRange], selection: Selection, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the wanted records of some file ranges, then the accounting rows if ``schema`` asks for them."""
    skipped = Skipped()
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
    skipped = Skipped()
    yield from sums_of_batches(_wanted(ranges, selection, skipped, is_wanted), skipped, keys, schema)


def batches_of(wanted: Iterable[RecordColumns], skipped: Skipped, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Arrow batches of some records, then the accounting rows if ``schema`` asks for them."""
    for records in wanted:
        yield records.batch(schema)
    accounting = skipped.batch(schema) if SKIPPED_REASON in schema.names else None
    if accounting is not None:
        yield accounting


def sums_of_batches(
    wanted: Iterable[RecordColumns], skipped: Skipped, keys: Sequence[str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of some records, then the accounting rows if ``schema`` asks for them."""
    sums = TaskSums(keys, schema.names)
    for records in wanted:
        sums.add(records)
    for batch in (sums.batch(schema), skipped.batch(schema) if SKIPPED_REASON in schema.names else None):
        if batch is not None:
            yield batch


def _wanted(
    ranges: Sequence[FileRange], selection: Selection, skipped: Skipped, is_wanted: Callable[[], bool] = lambda: True
) -> Iterator[RecordColumns]:
    for part in ranges:
        for records in _records(part, skipped):
            if not is_wanted():
                return
            wanted = select_records(records, selection, skipped)
            if len(wanted):
                yield wanted


def select_records(records: RecordColumns, selection: Selection, skipped: Skipped) -> RecordColumns:
    """The wanted ones of some records; of others what the range and the topics leave out is counted."""
    if selection.from_ms is not None or selection.to_ms is not None:
        inside = records.stored_between(selection.from_ms, selection.to_ms)
        skipped.add(OUTSIDE_RANGE, records.choose(~inside))
        records = records.choose(inside)
    if selection.topics:
        among = records.topic_among(selection.topics, meant=selection.meant)
        skipped.add(OTHER_TOPIC, records.choose(~among))
        records = records.choose(among)
    for comparison in selection.comparisons:
        if not len(records):
            break
        records = records.choose(comparison.holds(records.named(ALL_ARROW.field(comparison.column))))
    return records


def _records(part: FileRange, skipped: Skipped) -> Iterator[RecordColumns]:
    if part.damage is not None:
        skipped.add_damage(part, part.start, part.damage, part.byte_count)
        return
    try:
        buffer = mapped(part.path)
    except FileNotFoundError:
        skipped.add_damage(part, part.start, FILE_REMOVED, part.byte_count)
        return
    for heads in _scans(buffer, part, skipped):
        yield RecordColumns(buffer, heads, part.store)


def _scans(buffer: mmap.mmap, part: FileRange, skipped: Skipped) -> Iterator[RecordHeads]:
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

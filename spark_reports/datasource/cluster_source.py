"""The ``rocketmq-cluster`` data source: messages of a running RocketMQ cluster as a Spark table, pulled from its brokers.

    spark.dataSource.register(RocketMQClusterDataSource)
    spark.read.format("rocketmq-cluster").option("name_servers", "10.0.0.1:9876").option("topics", '["orders"]').load()

Options: ``name_servers`` (``HOST:PORT``, several with ``;`` between them; also what ``load()`` is given); ``topics`` and
``topics_of``, ``from_ms`` and ``to_ms``, ``sums_by`` as those of ``rocketmq-store``; ``offsets`` (JSON: ``{"TOPIC":
{"BROKER:QUEUE": [FROM, TO]}}``, these queues alone); ``details`` (a file of mode 0600 or ``env:NAME`` that holds keys, TLS and
address map, see `broker_core.cluster.key_place`; where Spark runs on several machines, on each of them);
``messages_per_second`` and ``bytes_per_second`` (of one broker, over all tasks; 0: as fast as it gives); ``tasks_per_broker``
(tasks that share these); ``slice_messages``; ``retry_seconds`` (how long a broker that does not answer is asked again);
``plan`` (a `ClusterPlan` made before, so that several reads see the same messages).

Rows are those of ``rocketmq-store`` (`spark_reports.datasource.schema`), for brokers give records as they store them. ``store``
is the broker's name. No column is unknown. What no queue leads to is not there: records of deleted topics, and what the brokers
cleaned away. Pulls are made as the brokers' own group of tools and commit nothing, so that no group moves.

The ends of all queues are fixed at planning. A broker that does not answer, messages that are cleaned away while they are read,
offsets for which a broker has no message: all are accounting rows where those are asked for (`SKIPPED_REASON`); where they are
not, a read that cannot be whole fails, but for messages that the brokers cleaned away meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.types import StructType

from broker_core.cluster.reader import EXPIRED, Left, SliceReader
from broker_core.cluster.slices import QueueSlice, ReadLimits, Unknown
from broker_core.engine.store.layout import answer_records
from broker_core.errors import NetworkError, ReportError, UsageError
from spark_reports.datasource.cluster_options import cluster_options_of
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_planning import plan_cluster
from spark_reports.datasource.columns import RecordColumns
from spark_reports.datasource.options import Selection, selection_of, sums_by_of, with_filters
from spark_reports.datasource.schema import CLUSTER_FORMAT, MESSAGES, SKIPPED_REASON
from spark_reports.datasource.skipped import SkippedRows
from spark_reports.datasource.source import batches_of, select_records, sums_batches, task_sums
from spark_reports.pyspark_internals import arrow_schema

NOT_GIVEN = "an offset for which the broker gives no message"
UNREADABLE = "in an answer that does not consist of records"


class RocketMQClusterDataSource(DataSource):
    """Spark's entry to the source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        """Format name."""
        return CLUSTER_FORMAT

    def schema(self) -> StructType:
        """Columns of a read that names none."""
        return MESSAGES

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reader for the columns of ``schema``."""
        return ClusterReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """Reader that follows the queues, for the columns of ``schema``."""
        from spark_reports.datasource.cluster_stream import ClusterStreamReader  # noqa: PLC0415  it stands on this module

        return ClusterStreamReader(dict(self.options), schema)


@dataclass(frozen=True)
class ClusterPartition(InputPartition):
    """What one task reads: slices of one broker, within its share of that broker's limits; or what nobody can read."""

    name_servers: str
    place: str
    slices: tuple[QueueSlice, ...]
    limits: ReadLimits
    unknown: tuple[Unknown, ...] = ()


class ClusterReader(DataSourceReader):
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
        self._options = None if self._plan else cluster_options_of(options)
        self._selection = selection_of(options)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Take over what the reader can decide; as `StoreReader` does."""
        if self._sums_by is not None:
            return filters
        self._selection, left = with_filters(self._selection, filters, accounted=self._is_accounted)
        return left

    @property
    def _is_accounted(self) -> bool:
        return SKIPPED_REASON in self._schema.names

    def partitions(self) -> Sequence[InputPartition]:
        """One partition for each task of the plan, and one for what could not be planned."""
        if self._options is None:
            assert self._plan is not None
            plan = ClusterPlan.from_json(self._plan)
        else:
            plan = plan_cluster(self._options, self._selection)
        if plan.unknown and not self._is_accounted:
            raise NetworkError("; ".join(dict.fromkeys(one.reason for one in plan.unknown)))
        return partitions_of(plan) or [ClusterPartition(plan.name_servers, plan.place, (), plan.limits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of one partition."""
        if not isinstance(partition, ClusterPartition):
            raise UsageError("this reader reads only the partitions it planned itself")
        schema = arrow_schema(self._schema)
        if self._sums_by is None:
            yield from read_partition(partition, self._selection, schema)
        else:
            yield from read_partition_sums(partition, self._selection, self._sums_by, schema)


def partitions_of(plan: ClusterPlan, *, at_once: bool = True) -> list[ClusterPartition]:
    """What the tasks of a plan read; ``at_once``: several of them may run at the same time, and share the limits."""
    limits = [plan.limits_of(task) if at_once else plan.limits for task in plan.tasks]
    made = [
        ClusterPartition(plan.name_servers, plan.place, task, share) for task, share in zip(plan.tasks, limits, strict=True)
    ]
    if plan.unknown:
        made.append(ClusterPartition(plan.name_servers, plan.place, (), plan.limits, plan.unknown))
    return made


def read_partition(
    partition: ClusterPartition, selection: Selection, schema: pa.Schema, *, strict: bool = False
) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the wanted records of a partition, then the accounting rows if ``schema`` asks for them.

    Args:
        partition: What to read.
        selection: What of it is wanted.
        schema: Columns.
        strict: What can be read another time is an error; else it is only where no accounting row can say so.

    Raises:
        OrbitError: Something could not be read.
    """
    skipped = SkippedRows()
    wanted = _wanted(partition, selection, skipped, strict=strict or SKIPPED_REASON not in schema.names)
    yield from batches_of(wanted, skipped, schema)


def read_partition_sums(
    partition: ClusterPartition, selection: Selection, keys: Sequence[str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of the wanted records of a partition, then the accounting rows; raises as above."""
    skipped = SkippedRows()
    wanted = _wanted(partition, selection, skipped, strict=SKIPPED_REASON not in schema.names)
    sums = task_sums(keys, schema, Selection(), skipped)
    for records in wanted:
        sums.add(records)
    yield from sums_batches(sums, skipped, schema)


def _wanted(
    partition: ClusterPartition, selection: Selection, skipped: SkippedRows, *, strict: bool
) -> Iterator[RecordColumns]:
    for one in partition.unknown:
        skipped.add_unread(one.broker or None, one.reason, 1)
    if not partition.slices:
        return
    tally = _Tally(skipped, strict=strict)
    with SliceReader(partition.name_servers, partition.place, limits=partition.limits) as reader:
        for turn in reader.turns(partition.slices):
            for left in turn.left:
                tally.leave(left)
            heads = answer_records(turn.records)
            records = RecordColumns(turn.records, heads, turn.part.broker)
            inside = (heads.queue_offset >= turn.part.first) & (heads.queue_offset < turn.part.end)
            if not inside.all():
                records = records.choose(inside)
            tally.came(turn.part, len(records), broken=heads.end < len(turn.records))
            wanted = select_records(records, selection, skipped)
            if len(wanted):
                yield wanted
    tally.close(partition.slices)


class _Tally:
    """Offsets of slices against the messages that came, so that nothing is missing without a reason."""

    def __init__(self, skipped: SkippedRows, *, strict: bool) -> None:
        self._skipped = skipped
        self._strict = strict
        self._known: dict[QueueSlice, int] = {}
        self._broken: set[QueueSlice] = set()

    def came(self, part: QueueSlice, messages: int, *, broken: bool) -> None:
        """Count messages; ``broken``: there was more in the answer, and it is nothing that can be read."""
        self._known[part] = self._known.get(part, 0) + messages
        if broken:
            self._broken.add(part)

    def leave(self, left: Left) -> None:
        """Count messages that did not come.

        Raises:
            ReportError: It is strict, and they may come another time.
        """
        if self._strict and left.reason != EXPIRED:
            raise ReportError(f"{left.messages:,} messages of {left.part.name} are missing: {left.reason}") from left.fault
        self._known[left.part] = self._known.get(left.part, 0) + left.messages
        self._skipped.add_unread(left.part.broker, left.reason, left.messages)

    def close(self, parts: Sequence[QueueSlice]) -> None:
        """Count what neither came nor has a reason of its own."""
        for part in parts:
            missing = part.messages - self._known.get(part, 0)
            if missing <= 0:
                continue
            if part in self._broken and self._strict:
                raise ReportError(f"{missing:,} messages of {part.name} are missing: {UNREADABLE}")
            reason = UNREADABLE if part in self._broken else NOT_GIVEN
            self._skipped.add_unread(part.broker, reason, missing)

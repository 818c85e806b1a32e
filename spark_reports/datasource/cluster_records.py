"""Records of slices of queues as Arrow batches, and their sums: the work of one task of a read of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from broker_core.cluster.reader import EXPIRED, Left, SliceReader
from broker_core.cluster.slices import QueueSlice, ReadLimits, Unknown
from broker_core.engine.store.layout import answer_records
from broker_core.errors import ReportError
from spark_reports.datasource.arrays import array_of
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.columns import RecordColumns
from spark_reports.datasource.kernels import library
from spark_reports.datasource.options import Selection
from spark_reports.datasource.schema import SKIPPED_REASON
from spark_reports.datasource.skipped import SkippedRows
from spark_reports.datasource.store_records import batches_of, select_records, sums_batches
from spark_reports.datasource.task_sums import TaskSums

NOT_GIVEN = "an offset for which the broker gives no message"
UNREADABLE = "in an answer that does not consist of records"


@dataclass(frozen=True)
class ClusterPartition(InputPartition):
    """The input of one task: slices of one broker with a share of its limits; or brokers that could not be planned."""

    name_servers: str
    place: str
    slices: tuple[QueueSlice, ...]
    limits: ReadLimits
    unknown: tuple[Unknown, ...] = ()


def partitions_of(plan: ClusterPlan, *, at_once: bool = True) -> list[ClusterPartition]:
    """The partitions of a plan; ``at_once``: several of them may run at the same time, and share the limits."""
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
    """Arrow batches of the wanted records of a partition, then the accounting rows if ``schema`` has them.

    Args:
        partition: What to read.
        selection: The wanted records.
        schema: Columns.
        strict: Raise if something can be read another time; else only if no accounting row can report it.

    Raises:
        OrbitError: Something could not be read.
    """
    skipped = SkippedRows()
    wanted = _wanted(partition, selection, skipped, strict=strict or SKIPPED_REASON not in schema.names)
    yield from batches_of(wanted, skipped, schema)


def read_partition_sums(
    partition: ClusterPartition, selection: Selection, keys: Sequence[str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """One Arrow batch with the sums of a partition, then the accounting rows; raises as `read_partition`."""
    skipped = SkippedRows()
    wanted = _wanted(partition, selection, skipped, strict=SKIPPED_REASON not in schema.names)
    sums = TaskSums(keys, schema.names, Selection(), skipped)
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
            heads = answer_records(turn.records, library())
            records = RecordColumns(turn.records, heads, turn.part.broker)
            offsets = array_of(heads.queue_offset)
            inside = (offsets >= turn.part.first) & (offsets < turn.part.end)
            if not inside.all():
                records = records.choose(inside)
            tally.came(turn.part, len(records), broken=heads.end < len(turn.records))
            wanted = select_records(records, selection, skipped)
            if len(wanted):
                yield wanted
    tally.close(partition.slices)


class _Tally:
    """Compares the offsets of slices with the received messages, so that nothing is missing without a reason."""

    def __init__(self, skipped: SkippedRows, *, strict: bool) -> None:
        self._skipped = skipped
        self._strict = strict
        self._known: dict[QueueSlice, int] = {}
        self._broken: set[QueueSlice] = set()

    def came(self, part: QueueSlice, messages: int, *, broken: bool) -> None:
        """Count messages; ``broken``: the answer also had data that is no record."""
        self._known[part] = self._known.get(part, 0) + messages
        if broken:
            self._broken.add(part)

    def leave(self, left: Left) -> None:
        """Count messages that were not received; raises `ReportError` if it is strict and they may be received another time."""
        if self._strict and left.reason != EXPIRED:
            raise ReportError(f"{left.messages:,} messages of {left.part.name} are missing: {left.reason}") from left.fault
        self._known[left.part] = self._known.get(left.part, 0) + left.messages
        self._skipped.add_unread(left.part.broker, left.reason, left.messages)

    def close(self, parts: Sequence[QueueSlice]) -> None:
        """Count messages that were neither received nor have a reason yet."""
        for part in parts:
            missing = part.messages - self._known.get(part, 0)
            if missing <= 0:
                continue
            if part in self._broken and self._strict:
                raise ReportError(f"{missing:,} messages of {part.name} are missing: {UNREADABLE}")
            reason = UNREADABLE if part in self._broken else NOT_GIVEN
            self._skipped.add_unread(part.broker, reason, missing)

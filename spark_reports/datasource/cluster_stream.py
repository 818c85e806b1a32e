"""Following the queues of a cluster: the streaming side of ``rocketmq-cluster`` (docs/reports.md, “A cluster as a source”).

Offsets are exact: a queue offset for each queue, stored in Spark's checkpoint; the same offsets give the same rows again. New
queues are read from their beginning. A broker that does not answer delays only its own queues; a lost name server, or one that
does not know the brokers yet, delays all of them, but is an error if it was never reached. If a broker is lost during a batch
for more than ``retry_seconds``, the batch fails and is read again. Messages deleted before they were read are skipped; they are
in the accounting rows if the schema has those columns.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from broker_core.cluster.reader import SliceReader
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import NetworkError, ReportError, UsageError
from spark_reports.datasource.cluster_options import amount_of, cluster_options_of
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_planning import tasks_of, wanted_of
from spark_reports.datasource.cluster_records import ClusterPartition, partitions_of, read_partition
from spark_reports.datasource.options import check_columns, is_from_newest, selection_of
from spark_reports.pyspark_internals import arrow_schema

logger = logging.getLogger(__name__)


class ClusterStreamReader(DataSourceStreamReader):
    """Finds new messages and reads them; pickled to the workers. Raises `UsageError` if an option or a column is invalid."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        unfit = next((name for name in ("sums_by", "plan", "offsets") if name in options), None)
        if unfit is not None:
            raise UsageError(f"a stream takes no option {unfit}: it gives records, as they come")
        check_columns(schema)
        self._from_newest = is_from_newest(options)
        self._schema = schema
        self._batch_messages = int(amount_of(options, "messages_per_batch", 0))
        self._options = cluster_options_of(options)
        self._selection = selection_of(options)
        self._queues: dict[str, QueueSlice] = {}
        self._was_reached = False
        """Whether a name server has answered before: then its address is right, and a failure is temporary."""

    def initialOffset(self) -> dict[str, int]:
        """Start offsets of a new query, by queue.

        Raises `NetworkError` if only new messages are wanted and a broker does not report the ends of its queues.
        """
        missing = self._look()
        if not self._from_newest:
            return {name: queue.first for name, queue in self._queues.items()}
        if missing:
            raise NetworkError(f"where the newest messages begin is not known of all queues: {missing}. Start again later")
        return {name: queue.end for name, queue in self._queues.items()}

    def latestOffset(self, start: dict[str, int], _limit: ReadLimit) -> dict[str, int]:
        """Current end of each queue, or the end of the batch; ``start`` while no name server answers.

        Raises:
            ReportError: A queue ends before the offset up to which it was read.
            NetworkError, UsageError: No name server was ever reached, or it never knew any of the topics.
        """
        try:
            # A broker that does not answer is tried again in the next batch, so that it does not delay other queues.
            missing = self._look(retry_seconds=0)
        except (NetworkError, UsageError) as error:
            if not self._was_reached:
                raise
            logger.warning("all queues wait: %s", error.message)
            return start
        if missing:
            logger.warning("some queues wait: %s", missing)
        ends = {name: queue.end for name, queue in self._queues.items()}
        for name, offset in start.items():
            if ends.get(name, offset) < offset:
                raise ReportError(
                    f"queue {name} was read up to offset {offset:,} and ends at {ends[name]:,} now: its topic was made anew, "
                    "or messages were lost. Begin anew with another checkpoint."
                )
        return _bounded(start, {**start, **ends}, self._batch_messages)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Partitions between two offsets; raises `NetworkError` if a broker of some queues is unknown at the moment."""
        wanted = {name: (start.get(name, 0), last) for name, last in end.items() if start.get(name, 0) < last}
        if not wanted.keys() <= self._queues.keys():
            missing = self._look()
            lost = sorted(wanted.keys() - self._queues.keys())
            if lost:
                raise NetworkError(f"queue {lost[0]} cannot be read now, and {len(lost) - 1:,} more: {missing or 'it is gone'}")
        parts = [replace(self._queues[name], first=first, end=last) for name, (first, last) in sorted(wanted.items())]
        tasks = tuple(tasks_of(parts, self._options))
        return partitions_of(ClusterPlan(self._options.name_servers, self._options.place, tasks, self._options.limits))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ClusterPartition)
        schema = arrow_schema(self._schema)
        yield from read_partition(partition, self._selection, schema, strict=True)

    def _look(self, *, retry_seconds: float | None = None) -> str:
        """Survey the queues; returns why some are missing. By default requests are repeated as long as the options say."""
        wanted = replace(wanted_of(self._selection), from_ms=None, to_ms=None, with_empty=True)
        limits = self._options.limits if retry_seconds is None else replace(self._options.limits, retry_seconds=retry_seconds)
        with SliceReader(self._options.name_servers, self._options.place, limits=limits) as reader:
            found = reader.survey(wanted)
        self._was_reached = True
        self._queues = {_name(queue): queue for queue in found.slices}
        return "; ".join(dict.fromkeys(one.reason for one in found.unknown))


def _name(queue: QueueSlice) -> str:
    return f"{queue.topic} {queue.broker}:{queue.queue_id}"


def _bounded(start: Mapping[str, int], ends: dict[str, int], most: int) -> dict[str, int]:
    """Ends of a batch of at most ``most`` messages, or one of each queue; 0: no limit."""
    new = {name: end - start.get(name, 0) for name, end in ends.items()}
    if not most or sum(new.values()) <= most:
        return ends
    share = max(1, most // sum(count > 0 for count in new.values()))
    return {name: min(end, start.get(name, 0) + share) for name, end in ends.items()}

"""The ``rocketmq-cluster`` data source: messages of a running RocketMQ cluster as a Spark table, pulled from its brokers.

Options and rows: docs/reports.md, “A cluster as a source”. Pulls use the brokers' own tools group and commit nothing, so no
group's offset changes. The ends of all queues are fixed at planning. A broker that does not answer, messages that are deleted
during the read, and offsets without a message are accounting rows if the schema has them (`SKIPPED_REASON`); otherwise an
incomplete read fails, except for messages that the brokers deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from broker_core.errors import NetworkError, UsageError
from spark_reports.datasource.cluster_options import cluster_options_of
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_planning import plan_cluster
from spark_reports.datasource.cluster_records import ClusterPartition, partitions_of, read_partition, read_partition_sums
from spark_reports.datasource.cluster_stream import ClusterStreamReader
from spark_reports.datasource.options import BatchReader
from spark_reports.datasource.schema import CLUSTER_FORMAT, MESSAGES
from spark_reports.pyspark_internals import arrow_schema


class RocketMQClusterDataSource(DataSource):
    """Spark's entry to the source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        return CLUSTER_FORMAT

    def schema(self) -> StructType:
        return MESSAGES

    def reader(self, schema: StructType) -> DataSourceReader:
        return ClusterReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return ClusterStreamReader(dict(self.options), schema)


class ClusterReader(BatchReader):
    """Plans the tasks and reads one; pickled to the workers."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        super().__init__(options, schema)
        self._options = None if self._plan else cluster_options_of(options)

    def partitions(self) -> Sequence[InputPartition]:
        """One partition for each task of the plan, and one for brokers that could not be planned."""
        if self._options is None:
            assert self._plan is not None
            plan = ClusterPlan.from_json(self._plan)
        else:
            plan = plan_cluster(self._options, self._selection)
        if plan.unknown and not self._is_accounted:
            raise NetworkError("; ".join(dict.fromkeys(one.reason for one in plan.unknown)))
        return partitions_of(plan) or [ClusterPartition(plan.name_servers, plan.place, (), plan.limits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, ClusterPartition):
            raise UsageError("this reader reads only the partitions it planned itself")
        schema = arrow_schema(self._schema)
        if self._sums_by is None:
            yield from read_partition(partition, self._selection, schema)
        else:
            yield from read_partition_sums(partition, self._selection, self._sums_by, schema)

"""The ``rocketmq-cluster`` data source: messages of a running RocketMQ cluster as a Spark table, pulled from its brokers.

    spark.dataSource.register(RocketMQClusterDataSource)
    spark.read.format("rocketmq-cluster").option("name_servers", "10.0.0.1:9876").option("topics", '["orders"]').load()

Options: ``name_servers`` (``HOST:PORT``, several separated by ``;``; also the argument of ``load()``); ``topics`` and
``topics_of``, ``from_ms`` and ``to_ms``, ``sums_by`` as those of ``rocketmq-store``; ``offsets`` (JSON: ``{"TOPIC":
{"BROKER:QUEUE": [FROM, TO]}}``, only these queues); ``details`` (a file of mode 0600 or ``env:NAME`` with keys, TLS and
address map, see `broker_core.cluster.key_place`; if Spark runs on several machines, on each of them);
``messages_per_second`` and ``bytes_per_second`` (of one broker, over all tasks; 0: no limit); ``tasks_per_broker``
(tasks that share these); ``slice_messages``; ``retry_seconds`` (how long requests to a broker are repeated);
``plan`` (an existing `ClusterPlan`, so that several reads see the same messages).

Rows are those of ``rocketmq-store`` (`spark_reports.datasource.schema`), because brokers send records as stored. ``store`` is
the broker's name. No column is unknown. Records that no queue refers to are missing: those of deleted topics, and those that
the brokers deleted. Pulls use the brokers' own tools group and commit nothing, so no group's offset changes.

The ends of all queues are fixed at planning. A broker that does not answer, messages that are deleted during the read, and
offsets without a message are accounting rows if the schema has them (`SKIPPED_REASON`); otherwise an incomplete read fails,
except for messages that the brokers deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.types import StructType

from broker_core.errors import NetworkError, UsageError
from spark_reports.datasource.cluster_options import cluster_options_of
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_planning import plan_cluster
from spark_reports.datasource.cluster_records import ClusterPartition, partitions_of, read_partition, read_partition_sums
from spark_reports.datasource.cluster_stream import ClusterStreamReader
from spark_reports.datasource.options import selection_of, sums_by_of, with_filters
from spark_reports.datasource.schema import CLUSTER_FORMAT, MESSAGES, SKIPPED_REASON
from spark_reports.pyspark_internals import arrow_schema


class RocketMQClusterDataSource(DataSource):
    """Spark's entry to the source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        return CLUSTER_FORMAT

    def schema(self) -> StructType:
        """Default columns."""
        return MESSAGES

    def reader(self, schema: StructType) -> DataSourceReader:
        return ClusterReader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        return ClusterStreamReader(dict(self.options), schema)


class ClusterReader(DataSourceReader):
    """Plans the tasks and reads one; pickled to the workers.

    Raises:
        UsageError: An option or a column is invalid.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._sums_by = sums_by_of(options, schema)
        self._schema = schema
        self._plan = options.get("plan")
        self._options = None if self._plan else cluster_options_of(options)
        self._selection = selection_of(options)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Take the filters that the reader can evaluate, as `StoreSourceReader` does; return the others."""
        if self._sums_by is not None:
            return filters
        self._selection, left = with_filters(self._selection, filters, accounted=self._is_accounted)
        return left

    @property
    def _is_accounted(self) -> bool:
        return SKIPPED_REASON in self._schema.names

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
        """Batches of one partition."""
        if not isinstance(partition, ClusterPartition):
            raise UsageError("this reader reads only the partitions it planned itself")
        schema = arrow_schema(self._schema)
        if self._sums_by is None:
            yield from read_partition(partition, self._selection, schema)
        else:
            yield from read_partition_sums(partition, self._selection, self._sums_by, schema)

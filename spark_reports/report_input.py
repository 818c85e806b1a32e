"""The input of a report: the planned bytes of the stores, for any number of reads, in any columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from broker_core.engine.store.known_names import stored_names
from broker_core.protocol.retry_names import KnownNames, known_names
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.plan import ReadPlan
from spark_reports.parameters import ReportParameters
from spark_reports.parquet.bounds import Bounds
from spark_reports.parquet.folder import PreparedFolder
from spark_reports.samples.database import history_of, require_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from spark_reports.driver_rows import DriverRows
    from spark_reports.masking import ReportMask

TopicsOf = Literal["stored", "meant", "all"]


@dataclass(frozen=True, slots=True)
class ReportInput:
    """Source of a report's queries.

    Attributes:
        plan: The bytes, or the messages of a cluster; the same for all reads of a run.
        prepared: Read these messages instead of the log.
        stores: Store directories, for their samples.
        mask: Masks the messages of a user's own query; other reports are masked afterwards.
        driver_rows: Reads small logs, and sums, in the process of Spark's driver; None: Spark's workers read everything.
    """

    spark: SparkSession
    plan: ReadPlan | ClusterPlan
    parameters: ReportParameters
    prepared: PreparedFolder | None = None
    stores: tuple[str, ...] = ()
    mask: ReportMask | None = None
    driver_rows: DriverRows | None = None

    def records(self, columns: Sequence[str], *, topics_of: TopicsOf = "stored", from_ms: int | None = None) -> DataFrame:
        """Rows of the range, with accounting rows if their columns are among ``columns``.

        Args:
            columns: Names of the data source's columns.
            topics_of: Whether the parameters name topics as stored (a waiting message is in an internal one) or the original
                ones; ``all``: the report chooses itself.
            from_ms: Begin here instead of the begin of the parameters.
        """
        from spark_reports.datasource.schema import columns as schema_of

        start = self.parameters.from_ms if from_ms is None else from_ms
        if self.prepared is not None:
            from spark_reports.parquet.records import records

            topics = () if topics_of == "all" else self.parameters.topics
            bounds = Bounds(start, self.parameters.to_ms, topics, meant=topics_of == "meant")
            return records(self.spark, self.prepared, columns, bounds)
        return self._load(self._options(topics_of, start), schema_of(*columns), self.driver_messages)

    def sums(self, *keys: str) -> DataFrame | None:
        """Sums by columns, computed while the log is read; see `spark_reports.datasource.schema.sums`.

        Returns:
            Rows, several for one value of the keys; None: the source is prepared messages, which Spark sums as fast.
        """
        from spark_reports.datasource.schema import SUMS_BY
        from spark_reports.datasource.schema import sums as schema_of

        if self.prepared is not None:
            return None
        options = self._options("stored", self.parameters.from_ms)
        return self._load(options | {SUMS_BY: json.dumps(keys)}, schema_of(*keys), self.driver_rows)

    def _options(self, topics_of: TopicsOf, start: int | None) -> dict[str, str]:
        topics = () if topics_of == "all" else self.parameters.topics
        options = {
            "plan": self.plan.to_json(),
            "topics_of": "stored" if topics_of == "all" else topics_of,
            "topics": json.dumps(topics),
        }
        return options | _bounds(from_ms=start, to_ms=self.parameters.to_ms)

    def _load(self, options: dict[str, str], schema: StructType, driver_rows: DriverRows | None) -> DataFrame:
        from spark_reports.datasource.schema import CLUSTER_FORMAT, FORMAT

        if isinstance(self.plan, ClusterPlan):
            return self.spark.read.format(CLUSTER_FORMAT).options(**options).schema(schema).load()
        if driver_rows is not None:
            from spark_reports.datasource.source import StoreSourceReader

            reader = StoreSourceReader(options, schema)
            return driver_rows.frame(self.spark, reader.read_while, reader.partitions(), schema)
        return self.spark.read.format(FORMAT).options(**options).schema(schema).load()

    @property
    def known_names(self) -> KnownNames:
        """Groups and topics of the source, to tell retry topics apart; of a cluster those of its topics alone."""
        if isinstance(self.plan, ClusterPlan):
            return known_names((), (part.topic for task in self.plan.tasks for part in task))
        found = [stored_names(Path(store)) for store in self.stores]
        return KnownNames(frozenset().union(*(one.groups for one in found)), frozenset().union(*(one.topics for one in found)))

    @property
    def driver_messages(self) -> DriverRows | None:
        """Reads messages in the process of Spark's driver; None: they are many, and Spark's workers read them."""
        return self.driver_rows if self.driver_rows is not None and self.driver_rows.all_rows else None

    @property
    def has_history(self) -> bool:
        """Whether every store has a monitoring history."""
        return bool(self.stores) and all(history_of(store).is_file() for store in self.stores)

    def samples(self, table: str, *, step_ms: int | None = None) -> DataFrame:
        """Rows of a table of the monitoring history, in the range of the report, see `spark_reports.samples.tables`."""
        from spark_reports.driver_rows import STRETCHES_MAX
        from spark_reports.samples.source import SamplesReader, stretches
        from spark_reports.samples.tables import JOURNAL, SAMPLES_FORMAT, table_schema

        for store in self.stores if table != JOURNAL else ():
            require_history(store)
        options = {"table": table, "paths": json.dumps(self.stores)}
        options |= _bounds(from_ms=self.parameters.from_ms, to_ms=self.parameters.to_ms, step_ms=step_ms)
        schema = table_schema(table)
        if self.driver_rows is not None:
            reader = SamplesReader(options, schema)
            parts = reader.partitions()
            if stretches(parts) <= STRETCHES_MAX:
                return self.driver_rows.frame(self.spark, lambda part, _is_wanted: reader.read(part), parts, schema)
        return self.spark.read.format(SAMPLES_FORMAT).options(**options).schema(schema).load()


def _bounds(**bounds: int | None) -> dict[str, str]:
    return {name: str(value) for name, value in bounds.items() if value is not None}

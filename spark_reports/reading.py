"""What a report reads from: the planned bytes of the stores, as many times as it needs, in the columns it needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.plan import ReadPlan
from spark_reports.parameters import ReportParameters
from spark_reports.parquet.bounds import Bounds
from spark_reports.parquet.folder import PreparedFolder
from spark_reports.samples.database import history_of, require_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from spark_reports.masking import ReportMask

TopicsOf = Literal["stored", "meant", "all"]


@dataclass(frozen=True, slots=True)
class Reading:
    """Source of a report's queries.

    Args:
        spark: Session with the data source registered.
        plan: The bytes, or the messages of a cluster; the same for all reads of a run.
        parameters: What the report covers.
        prepared: Read these messages instead of the log.
        stores: Store directories, for the samples that lie in them.
        mask: What a query of a person's own must not see; other reports are masked when all is found.
    """

    spark: SparkSession
    plan: ReadPlan | ClusterPlan
    parameters: ReportParameters
    prepared: PreparedFolder | None = None
    stores: tuple[str, ...] = ()
    mask: ReportMask | None = None

    def records(self, columns: Sequence[str], *, topics_of: TopicsOf = "stored", from_ms: int | None = None) -> DataFrame:
        """Rows of the range, with accounting rows if their columns are among ``columns``.

        Args:
            columns: Names of the data source's columns.
            topics_of: Whether the parameters name topics as stored (a waiting message is in an internal one) or as meant by the
                producer; ``all``: the report chooses itself.
            from_ms: Begin here instead of where the parameters say.
        """
        from spark_reports.datasource.schema import columns as schema_of  # noqa: PLC0415  Spark's modules load while Java starts

        start = self.parameters.from_ms if from_ms is None else from_ms
        if self.prepared is not None:
            from spark_reports.parquet.records import records  # noqa: PLC0415  as above

            topics = () if topics_of == "all" else self.parameters.topics
            bounds = Bounds(start, self.parameters.to_ms, topics, meant=topics_of == "meant")
            return records(self.spark, self.prepared, columns, bounds)
        return self._reader(topics_of, start).schema(schema_of(*columns)).load()

    def sums(self, *keys: str) -> DataFrame | None:
        """Sums by columns, made while the log is read; see `spark_reports.datasource.schema.sums`.

        Returns:
            Rows, several for one value of the keys; None: what is read are prepared messages, which Spark sums as fast.
        """
        from spark_reports.datasource.schema import SUMS_BY  # noqa: PLC0415  Spark's modules load while Java starts
        from spark_reports.datasource.schema import sums as schema_of  # noqa: PLC0415  as above

        if self.prepared is not None:
            return None
        reader = self._reader("stored", self.parameters.from_ms).option(SUMS_BY, json.dumps(keys))
        return reader.schema(schema_of(*keys)).load()

    def _reader(self, topics_of: TopicsOf, start: int | None) -> DataFrameReader:
        from spark_reports.datasource.schema import CLUSTER_FORMAT, FORMAT  # noqa: PLC0415  Spark's modules load while Java starts

        name = CLUSTER_FORMAT if isinstance(self.plan, ClusterPlan) else FORMAT
        reader = self.spark.read.format(name).option("plan", self.plan.to_json())
        if start is not None:
            reader = reader.option("from_ms", str(start))
        if self.parameters.to_ms is not None:
            reader = reader.option("to_ms", str(self.parameters.to_ms))
        topics = () if topics_of == "all" else self.parameters.topics
        reader = reader.option("topics_of", "stored" if topics_of == "all" else topics_of)
        return reader.option("topics", json.dumps(topics))

    @property
    def has_history(self) -> bool:
        """Whether every store has a monitoring history."""
        return bool(self.stores) and all(history_of(store).is_file() for store in self.stores)

    def samples(self, table: str, *, step_ms: int | None = None) -> DataFrame:
        """Rows of a table of the monitoring history, in the range of the report, see `spark_reports.samples.tables`.

        Raises:
            ForeignStoreError: A store has no history.
        """
        from spark_reports.samples.tables import JOURNAL, SAMPLES_FORMAT  # noqa: PLC0415  Spark's modules load while Java starts

        for store in self.stores if table != JOURNAL else ():
            require_history(store)
        bounds = {"from_ms": self.parameters.from_ms, "to_ms": self.parameters.to_ms, "step_ms": step_ms}
        reader = self.spark.read.format(SAMPLES_FORMAT).option("table", table).option("paths", json.dumps(self.stores))
        for name, value in bounds.items():
            if value is not None:
                reader = reader.option(name, str(value))
        return reader.load()

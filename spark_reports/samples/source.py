"""The ``orbit-samples`` data source: the monitoring history of a store as tables (docs/reports.md, “Samples”).

Options: ``path`` (one store) or ``paths`` (JSON list of stores); ``table`` (see `spark_reports.samples.tables`, ``lag`` by
default); ``from_ms`` and ``to_ms`` (epoch milliseconds, from ≤ time < to); ``step_ms`` (length of an interval, a minute by
default). Filters of ``where()`` on ``time`` bound the read too. The running minute is not in the database yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from spark_reports.datasource.filters import comparison_of, times_of
from spark_reports.datasource.options import number_of, range_of, roots_of
from spark_reports.pyspark_internals import arrow_schema
from spark_reports.samples.database import extent, reading, subjects
from spark_reports.samples.rows import FOREVER_MS, SampleSelection, batches
from spark_reports.samples.tables import SAMPLES_FORMAT, TABLES, kind_of, table_schema

STEP_MS = 60_000
OWNERSHIP_STEP_MS = 1_000
SUBJECTS_IN_TASK = 50


@dataclass(frozen=True)
class SamplesPartition(InputPartition):
    wanted: SampleSelection


class OrbitSamplesDataSource(DataSource):
    """Spark's entry to the source; see the module for its options."""

    @classmethod
    def name(cls) -> str:
        return SAMPLES_FORMAT

    def schema(self) -> StructType:
        return table_schema(table_of(dict(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        return SamplesReader(dict(self.options), schema)


def table_of(options: Mapping[str, str]) -> str:
    """The table of a read's options."""
    name = options.get("table", TABLES[0])
    if name not in TABLES:
        raise UsageError(f"the history has no table “{name}”. Tables: {', '.join(TABLES)}", table=name)
    return name


class SamplesReader(DataSourceReader):
    """Plans the tasks and reads one; pickled to the workers. Raises `UsageError` if an option or a column is invalid."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._table = table_of(options)
        known = table_schema(self._table).names
        strange = [name for name in schema.names if name not in known]
        if strange:
            raise UsageError(f"table {self._table} has no column {strange[0]}. Columns: {', '.join(known)}", column=strange[0])
        self._schema = schema
        self._roots = roots_of(options)
        self._from_ms, self._to_ms = range_of(options)
        usual = OWNERSHIP_STEP_MS if self._table == "ownership" else STEP_MS
        self._step_ms = number_of(options, "step_ms") or usual
        if not 1_000 <= self._step_ms <= 86_400_000:
            raise UsageError(f"step_ms is from 1,000 (a second) to 86,400,000 (a day), not {self._step_ms:,}")

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Bound the read by the times of the query; Spark evaluates all filters again."""
        columns = ("time",) if self._table != "ownership" else ()
        found = [comparison for one in filters if (comparison := comparison_of(one, columns)) is not None]
        from_ms, to_ms = times_of(found, "time")
        # The last interval is read to its end, because its figures must not depend on the query.
        to_ms = None if to_ms is None else -(-to_ms // self._step_ms) * self._step_ms
        self._from_ms = max((one for one in (self._from_ms, from_ms) if one is not None), default=None)
        self._to_ms = min((one for one in (self._to_ms, to_ms) if one is not None), default=None)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        """One partition for some subjects of each store; for tables without subjects, one for each store."""
        return [SamplesPartition(wanted) for root in self._roots for wanted in self._wanted(root)]

    def _wanted(self, root: str) -> Iterator[SampleSelection]:
        from_ms = 0 if self._from_ms is None else self._from_ms
        to_ms = FOREVER_MS if self._to_ms is None else self._to_ms
        kind = kind_of(self._table)
        if kind is None:
            yield SampleSelection(root, self._table, from_ms, to_ms, self._step_ms)
            return
        with reading(root) as connection:
            begin_ms, end_ms = extent(connection)
            numbered = subjects(connection, kind)
        # The end is fixed here, so that all tasks see the same; the begin is that of an interval.
        from_ms, to_ms = max(begin_ms, from_ms) // self._step_ms * self._step_ms, min(end_ms, to_ms)
        for at in range(0, max(1, len(numbered)), SUBJECTS_IN_TASK):
            yield SampleSelection(root, self._table, from_ms, to_ms, self._step_ms, tuple(numbered[at : at + SUBJECTS_IN_TASK]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Batches of one partition."""
        assert isinstance(partition, SamplesPartition)
        yield from batches(partition.wanted, arrow_schema(self._schema))


def stretches(parts: Sequence[InputPartition]) -> int:
    """Greatest number of rows of some partitions; tables without subjects are small and do not count."""
    wanted = [part.wanted for part in parts if isinstance(part, SamplesPartition)]
    return sum(len(one.subjects) * -(-(one.to_ms - one.from_ms) // one.step_ms) for one in wanted)

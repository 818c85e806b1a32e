"""Sums that the reader makes itself: what a task read, grouped, before a row of it goes to Spark.

Most of what a grouping costs in Spark is bringing each record there. Columns are summed here as they come out of the log, batch
by batch, and the batches' sums once more at the end of the task; Spark adds up those of the tasks. Sums, counts, least and
largest values come out the same whatever the parts, so nothing depends on how a log was split.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from spark_reports.datasource.columns import RecordColumns
from spark_reports.datasource.schema import MINUTE, SUM_KEYS, columns, sums

_MEASURES = ("store_time", "body_bytes", "store_bytes")
_MINUTE_US = 60_000_000
_OF_BATCHES: tuple[tuple[str, str, str], ...] = (
    ("store_time", "count", "messages"),
    ("body_bytes", "sum", "body_bytes"),
    ("store_bytes", "sum", "store_bytes"),
    ("body_bytes", "max", "body_bytes_max"),
    ("store_bytes", "max", "store_bytes_max"),
    ("store_time", "min", "first_time"),
    ("store_time", "max", "last_time"),
)
"""Of which column, by what, under which name."""
_OF_SUMS = tuple((name, "sum" if how == "count" else how, name) for _, how, name in _OF_BATCHES)


def check_sums(keys: Sequence[str], schema: StructType) -> None:
    """Refuse sums that the reader does not make.

    Raises:
        UsageError: With what there is.
    """
    unknown = [key for key in keys if key not in SUM_KEYS]
    if unknown or not keys:
        raise UsageError(f"records cannot be summed by {', '.join(unknown) or 'nothing'}. There are: {', '.join(SUM_KEYS)}")
    there = sums(*keys)
    odd = [field.name for field in schema if field.name not in there.names]
    if odd:
        raise UsageError(f"a read by sums has no column {', '.join(odd)}. Columns: {', '.join(there.names)}")


class TaskSums:
    """The sums of one task.

    Args:
        keys: Of `SUM_KEYS`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)
        self._schema = to_arrow_schema(
            columns(*dict.fromkeys((*(key for key in keys if key != MINUTE), *_MEASURES))), timezone="UTC"
        )
        self._parts: list[pa.Table] = []

    def add(self, records: RecordColumns) -> None:
        """Add records of one batch."""
        batch = pa.Table.from_batches([records.batch(self._schema)])
        if MINUTE in self._keys:
            at = batch["store_time"].combine_chunks().cast(pa.int64()).to_numpy()
            minutes = pa.array(at // _MINUTE_US * _MINUTE_US).cast(batch.schema.field("store_time").type)
            batch = batch.append_column(MINUTE, minutes)
        self._parts.append(self._grouped(batch, _OF_BATCHES))

    def batch(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """The sums in the columns of a schema; None if there is nothing. Accounting columns are null."""
        if not self._parts:
            return None
        whole = self._grouped(pa.concat_tables(self._parts), _OF_SUMS).combine_chunks()
        made = [
            whole[field.name].combine_chunks().cast(field.type) if field.name in whole.column_names else
            pa.nulls(whole.num_rows, field.type)
            for field in schema
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(made, schema=schema)

    def _grouped(self, rows: pa.Table, measures: Sequence[tuple[str, str, str]]) -> pa.Table:
        grouped = rows.group_by(self._keys, use_threads=False).aggregate([(column, how) for column, how, _ in measures])
        return grouped.rename_columns([*self._keys, *(name for _, _, name in measures)])

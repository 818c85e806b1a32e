"""Sums that the reader makes itself: what a task read, grouped, before a row of it goes to Spark.

Most of what a grouping costs in Spark is bringing each record there. Columns are summed here as they come out of the log, batch
by batch, and the batches' sums once more at the end of the task; Spark adds up those of the tasks. Sums, counts, least and
largest values come out the same whatever the parts, so nothing depends on how a log was split.

The records of a batch are numbered by their groups (`spark_reports.datasource.groups`), and what is added up are numbers at
these places: no text is compared, and no column is made that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from spark_reports.datasource.columns import RecordColumns, times_of
from spark_reports.datasource.groups import Groups, grouped_by
from spark_reports.datasource.schema import SUM_KEYS, sums

Int64s = npt.NDArray[np.int64]

_OF_SUMS = {
    "messages": "sum", "body_bytes": "sum", "store_bytes": "sum", "body_bytes_max": "max", "store_bytes_max": "max",
    "first_time": "min", "last_time": "max",
}  # fmt: skip
"""How the sums of several parts become one."""
_PARTS_ROWS_MAX = 1 << 18
"""Rows of batches that wait to be summed once more: where nearly every record has a group of its own they are many."""


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
        wanted: Names of the columns to make; others are left out.
    """

    def __init__(self, keys: Sequence[str], wanted: Collection[str]) -> None:
        self._keys = list(keys)
        self._measures = [name for name in _OF_SUMS if name in wanted]
        self._parts: list[pa.Table] = []
        self._rows = 0
        self._rows_max = _PARTS_ROWS_MAX

    def add(self, records: RecordColumns) -> None:
        """Add records of one batch."""
        groups = grouped_by(records, self._keys)
        measures = [_MEASURES[name](records, groups) for name in self._measures]
        self._parts.append(pa.table([*groups.keys, *measures], names=[*self._keys, *self._measures]))
        self._rows += self._parts[-1].num_rows
        if self._rows > self._rows_max:
            self._parts = [self._added_up()]
            self._rows = self._parts[0].num_rows
            self._rows_max = max(_PARTS_ROWS_MAX, 2 * self._rows)

    def batch(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """The sums in the columns of a schema; None if there is nothing. Accounting columns are null."""
        if not self._parts:
            return None
        whole = self._added_up().combine_chunks()
        made = [
            whole[field.name].combine_chunks().cast(field.type) if field.name in whole.column_names else
            pa.nulls(whole.num_rows, field.type)
            for field in schema
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(made, schema=schema)

    def _added_up(self) -> pa.Table:
        how = [(name, _OF_SUMS[name]) for name in self._measures]
        grouped = pa.concat_tables(self._parts).group_by(self._keys, use_threads=False).aggregate(how)
        return grouped.rename_columns([*self._keys, *self._measures])


def _messages(_records: RecordColumns, groups: Groups) -> pa.Array:
    return pa.array(groups.counts)


def _sum_of(column: str) -> Callable[[RecordColumns, Groups], pa.Array]:
    def made(records: RecordColumns, groups: Groups) -> pa.Array:
        # Whole numbers below 2^53, so that nothing is rounded: a batch has some ten thousand lengths below 2^31.
        found = np.bincount(groups.places, weights=records.head(column), minlength=groups.room)
        return pa.array(groups.used(found).astype(np.int64))

    return made


def _max_of(column: str) -> Callable[[RecordColumns, Groups], pa.Array]:
    def made(records: RecordColumns, groups: Groups) -> pa.Array:
        found = np.zeros(groups.room, dtype=np.int64)
        np.maximum.at(found, groups.places, records.head(column).astype(np.int64))
        return pa.array(groups.used(found))

    return made


def _first_time(records: RecordColumns, groups: Groups) -> pa.Array:
    found = np.full(groups.room, np.iinfo(np.int64).max)
    np.minimum.at(found, groups.places, records.head("store_ms"))
    return times_of(groups.used(found))


def _last_time(records: RecordColumns, groups: Groups) -> pa.Array:
    found = np.full(groups.room, np.iinfo(np.int64).min)
    np.maximum.at(found, groups.places, records.head("store_ms"))
    return times_of(groups.used(found))


_MEASURES: dict[str, Callable[[RecordColumns, Groups], pa.Array]] = {
    "messages": _messages,
    "body_bytes": _sum_of("body_bytes"),
    "store_bytes": _sum_of("size"),
    "body_bytes_max": _max_of("body_bytes"),
    "store_bytes_max": _max_of("size"),
    "first_time": _first_time,
    "last_time": _last_time,
}
assert _MEASURES.keys() == _OF_SUMS.keys()

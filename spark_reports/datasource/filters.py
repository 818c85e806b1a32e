"""The part of a query's WHERE that the reader evaluates before it computes other columns.

Spark sends comparisons that are joined by AND. The reader takes those of the columns in `PUSHED`: equality and lists, for
texts also prefixes, suffixes and parts, for numbers and times also order; each of them also negated. As in SQL, null satisfies
none of them. Times also exclude whole log files, and the topic may exclude most of the log, see `queue_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

PUSHED = (
    "store", "topic", "real_topic", "queue_id", "queue_offset", "physical_offset", "store_time", "born_time", "body_bytes",
    "store_bytes", "tag", "unique_key", "kind", "delay_level", "reconsume_times", "producer_group",
)  # fmt: skip
"""Columns whose comparisons the reader evaluates."""

NEVER_NULL = frozenset(PUSHED) - {"tag", "unique_key", "delay_level", "producer_group"}
"""Those that every record has."""

Value = str | int | datetime
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_OPERATIONS: dict[type[Filter], str] = {
    EqualTo: "equal",
    GreaterThan: "greater",
    GreaterThanOrEqual: "greater_equal",
    LessThan: "less",
    LessThanOrEqual: "less_equal",
    In: "in",
    StringStartsWith: "starts",
    StringEndsWith: "ends",
    StringContains: "contains",
}
_TESTS: dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    "equal": pc.equal,
    "greater": pc.greater,
    "greater_equal": pc.greater_equal,
    "less": pc.less,
    "less_equal": pc.less_equal,
    "starts": lambda column, value: pc.starts_with(column, value.as_py()),
    "ends": lambda column, value: pc.ends_with(column, value.as_py()),
    "contains": lambda column, value: pc.match_substring(column, value.as_py()),
}


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """One condition on one column.

    Attributes:
        operation: A key of `_TESTS`, or ``in``.
        values: The operand; one value, or the list of ``in``.
    """

    column: str
    operation: str
    values: tuple[Value, ...]
    is_negated: bool = False

    def holds(self, column: pa.Array) -> npt.NDArray[np.bool_]:
        """Whether the condition holds for each value of the column; never for null."""
        values = pa.array(self.values, column.type)
        if self.operation == "in":
            found = pc.if_else(pc.is_valid(column), pc.is_in(column, value_set=values), pa.scalar(None, pa.bool_()))
        else:
            found = _TESTS[self.operation](column, values[0])
        found = pc.fill_null(pc.invert(found) if self.is_negated else found, fill_value=False)
        wanted: npt.NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
        return wanted


def always_holds(pushed: Filter) -> bool:
    """Whether a filter only excludes null in a column that is never null; Spark sends it with each comparison."""
    return isinstance(pushed, IsNotNull) and len(pushed.attribute) == 1 and pushed.attribute[0] in NEVER_NULL


def comparison_of(pushed: Filter, columns: Sequence[str] = PUSHED) -> ColumnComparison | None:
    """The condition of a Spark filter on one of some columns; None if Spark has to evaluate it."""
    is_negated = isinstance(pushed, Not)
    inner = pushed.child if isinstance(pushed, Not) else pushed
    operation = _OPERATIONS.get(type(inner))
    if operation is None:
        return None
    column: Sequence[str] = getattr(inner, "attribute", ())
    value: Any = getattr(inner, "value", None)
    values = tuple(value) if operation == "in" else (value,)
    known = all(isinstance(one, (str, int, datetime)) and not isinstance(one, bool) for one in values)
    if len(column) != 1 or column[0] not in columns or not values or not known:
        return None
    return ColumnComparison(column[0], operation, values, is_negated)


def times_of(comparisons: Iterable[ColumnComparison], column: str) -> tuple[int | None, int | None]:
    """Range of the times of a column that satisfy all comparisons: from ≤ time < to, epoch milliseconds; None is open."""
    from_ms: int | None = None
    to_ms: int | None = None
    for one in comparisons:
        (value, *_) = one.values
        if one.column != column or one.is_negated or not isinstance(value, datetime):
            continue
        at_ms = (value - _EPOCH) // _MILLISECOND
        if one.operation in ("equal", "greater", "greater_equal"):
            from_ms = at_ms if from_ms is None else max(from_ms, at_ms)
        if one.operation in ("equal", "less", "less_equal"):
            to_ms = at_ms + 1 if to_ms is None else min(to_ms, at_ms + 1)
    return from_ms, to_ms


def one_of(comparisons: Iterable[ColumnComparison], column: str) -> frozenset[str] | None:
    """The only values of a text column that can satisfy all comparisons; None: any."""
    found: frozenset[str] | None = None
    for one in comparisons:
        if one.column == column and one.operation in ("equal", "in") and not one.is_negated:
            values = frozenset(str(value) for value in one.values)
            found = values if found is None else found & values
    return found

"""Parses the options and filters of a read: the stores, and the wanted records. Invalid options raise `UsageError`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql.datasource import DataSourceReader, Filter
from pyspark.sql.types import StructType

from broker_core.errors import UsageError
from broker_core.outside import read_json
from spark_reports.datasource.filters import ColumnComparison, always_holds, comparison_of, one_of, times_of
from spark_reports.datasource.schema import ALL_COLUMNS, SKIPPED_REASON, SUM_KEYS, sums


@dataclass(frozen=True, slots=True)
class Selection:
    """The wanted records. Times are store times in epoch milliseconds; no topics means all."""

    from_ms: int | None = None
    to_ms: int | None = None
    topics: tuple[str, ...] = ()
    meant: bool = False
    comparisons: tuple[ColumnComparison, ...] = ()

    def earliest_ms(self) -> int | None:
        """Least wanted store time."""
        return max(
            (one for one in (self.from_ms, times_of(self.comparisons, "store_time")[0]) if one is not None), default=None
        )

    def end_ms(self) -> int | None:
        """Store time from which on nothing is wanted."""
        return min((one for one in (self.to_ms, times_of(self.comparisons, "store_time")[1]) if one is not None), default=None)

    def stored_topics(self) -> frozenset[str] | None:
        """The only topics, as stored, that can be wanted; None: any."""
        pushed = one_of(self.comparisons, "topic")
        if not self.topics or self.meant:
            return pushed
        return frozenset(self.topics) & pushed if pushed is not None else frozenset(self.topics)


class BatchReader(DataSourceReader):
    """Parses the options of a batch read and takes over its filters; a `UsageError` for an invalid option or column."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._sums_by = sums_by_of(options, schema)
        self._schema = schema
        self._plan = options.get("plan")
        self._selection = selection_of(options)

    @property
    def _is_accounted(self) -> bool:
        return SKIPPED_REASON in self._schema.names

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Take the filters that the reader can evaluate; return the others.

        With accounting rows Spark evaluates all filters again, because those rows have to pass them too. Of sums it
        evaluates all.
        """
        for one in filters:
            comparison = comparison_of(one) if self._sums_by is None else None
            if comparison is not None:
                self._selection = replace(self._selection, comparisons=(*self._selection.comparisons, comparison))
            is_decided = comparison is not None or (self._sums_by is None and always_holds(one))
            if self._is_accounted or not is_decided:
                yield one


def roots_of(options: Mapping[str, str]) -> list[str]:
    """The store directories of a read's options."""
    if "paths" in options:
        return list(_texts(options, "paths"))
    if "path" in options:
        return [options["path"]]
    if "plan" in options:
        return []
    raise UsageError("name the store to read: load(DIR), or option “paths” with a JSON list of directories")


def _texts(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """An option that is a JSON list of texts; none where it is not given."""
    try:
        found = read_json(options.get(name, "[]"))
    except ValueError as error:
        raise UsageError(f"option {name} takes a JSON list of texts: {error}") from error
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise UsageError(f"option {name} takes a JSON list of texts")
    return tuple(found)


def selection_of(options: Mapping[str, str]) -> Selection:
    """The selection of a read's options."""
    from_ms, to_ms = range_of(options)
    topics_of = options.get("topics_of", "stored")
    if topics_of not in ("stored", "meant"):
        raise UsageError(f"option topics_of is stored or meant, not “{topics_of}”")
    return Selection(from_ms, to_ms, _texts(options, "topics"), meant=topics_of == "meant")


def range_of(options: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Options ``from_ms`` and ``to_ms``; None is open."""
    from_ms, to_ms = number_of(options, "from_ms"), number_of(options, "to_ms")
    if from_ms is not None and to_ms is not None and from_ms >= to_ms:
        raise UsageError(f"the range is empty: from_ms {from_ms} is not before to_ms {to_ms}")
    return from_ms, to_ms


def number_of(options: Mapping[str, str], name: str) -> int | None:
    """An option in milliseconds; None if it is not given."""
    text = options.get(name)
    try:
        return int(text) if text is not None else None
    except ValueError as error:
        raise UsageError(f"option {name} takes a whole number of milliseconds, not “{text}”") from error


def flag_of(options: Mapping[str, str], name: str) -> bool:
    """An option that is ``true`` or ``false``, which is the default."""
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise UsageError(f"option {name} is true or false, not “{text}”")
    return text == "true"


def is_from_newest(options: Mapping[str, str]) -> bool:
    """Whether a new stream begins at the end of the stored messages instead of their beginning."""
    begin = options.get("begin", "oldest")
    if begin not in ("oldest", "newest"):
        raise UsageError(f"option begin is oldest or newest, not “{begin}”")
    return begin == "newest"


def sums_by_of(options: Mapping[str, str], schema: StructType) -> tuple[str, ...] | None:
    """Keys of option ``sums_by``; None: records are wanted."""
    if "sums_by" not in options:
        check_columns(schema)
        return None
    keys = _texts(options, "sums_by")
    _check_sums(keys, schema)
    return keys


def check_columns(schema: StructType) -> None:
    unknown = [field.name for field in schema if field.name not in ALL_COLUMNS.names]
    if unknown:
        raise UsageError(
            f"the store has no column {', '.join(unknown)}. Columns: {', '.join(ALL_COLUMNS.names)}",
            columns=", ".join(unknown),
        )


def _check_sums(keys: Sequence[str], schema: StructType) -> None:
    unknown = [key for key in keys if key not in SUM_KEYS]
    if unknown or not keys:
        raise UsageError(f"records cannot be summed by {', '.join(unknown) or 'nothing'}. There are: {', '.join(SUM_KEYS)}")
    there = sums(*keys)
    odd = [field.name for field in schema if field.name not in there.names]
    if odd:
        raise UsageError(f"a read by sums has no column {', '.join(odd)}. Columns: {', '.join(there.names)}")

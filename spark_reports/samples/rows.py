"""Rows of the tables of samples, as Arrow batches. Reads the database and the journal of actions; imports no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy as np
import pyarrow as pa

from broker_core.outside import read_json
from monitoring.history.tiers import GAP_MS
from monitoring.series import Floats, Ints
from spark_reports.samples.database import SampleSeries, SeriesReader, figures_of, reading, runs, subscription_changes
from spark_reports.samples.tables import FIGURE_TABLES, JOURNAL, SUBSCRIPTIONS, SampleTable

JOURNAL_FILES = ("orbitActions.log.1", "orbitActions.log")
UNREADABLE = "(a line that cannot be read)"
_SHOWN_CHARACTERS = 80
FOREVER_MS = 253_402_300_799_999
"""The end of year 9999, the last that dates can show."""
Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SampleSelection:
    """The input of one task; times in epoch milliseconds, ``step_ms`` is the length of an interval."""

    store: str
    table: str
    from_ms: int
    to_ms: int
    step_ms: int
    subjects: tuple[tuple[int, str], ...] = ()


def batches(wanted: SampleSelection, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a task in the columns of a schema."""
    if wanted.table == JOURNAL:
        yield _batch(wanted, actions(wanted), schema)
        return
    with reading(wanted.store) as connection:
        if wanted.table in _PLAIN:
            yield _batch(wanted, _PLAIN[wanted.table](connection, wanted), schema)
            return
        clients = dict(connection.execute("SELECT id, name FROM clients").fetchall())
        reader = SeriesReader(connection, wanted.from_ms, wanted.to_ms, wanted.step_ms)
        sampled = runs(connection, wanted.from_ms, wanted.to_ms)
        every = figures_of(connection, "totals") if wanted.table == "totals" else []
        for subject, name in wanted.subjects:
            if wanted.table == "ownership":
                found = [_owners(name, reader.series(subject, ["owner"]), sampled, clients)]
            elif wanted.table == "totals":
                found = [{**_figures(reader.series(subject, [one]), ["value"]), "figure": one} for one in every]
            else:
                found = [_subject(FIGURE_TABLES[wanted.table], wanted.table, name, (reader, subject), clients)]
            yield from (_batch(wanted, columns, schema) for columns in found)


def _batch(wanted: SampleSelection, columns: Columns, schema: pa.Schema) -> pa.RecordBatch:
    count = next(len(values) for values in columns.values() if not isinstance(values, (str, int)))
    columns = {"store": wanted.store, **columns}
    return pa.RecordBatch.from_arrays([_column(columns[field.name], field.type, count) for field in schema], schema=schema)


def _column(values: object, data_type: pa.DataType, count: int) -> pa.Array:
    if values is None or isinstance(values, (str, int)):
        return pa.repeat(pa.scalar(values, data_type), count)
    if pa.types.is_timestamp(data_type):
        return pa.array(np.asarray(values, np.int64) * 1000).cast(pa.timestamp("us", tz="UTC")).cast(data_type)
    return pa.array(values, data_type, from_pandas=True)


# ---- figures -----------------------------------------------------------------------------------------------------------


def _subject(
    table: SampleTable, name: str, subject_name: str, place: tuple[SeriesReader, int], clients: dict[int, str]
) -> Columns:
    reader, subject = place
    figures = list(table.figures.values())
    with_owner = name == "positions"
    series = reader.series(subject, [*figures, "owner"] if with_owner else figures)
    columns = _named(table, subject_name) | _figures(series, list(table.figures))
    return columns | {"owner": _client_names(series.last[:, -1], clients)} if with_owner else columns


def _named(table: SampleTable, name: str) -> Columns:
    """The parts of a subject's name; names of topics and groups have no slash."""
    parts = name.split("/")
    columns = [column for column, _ in table.names if column != "owner"]
    return {
        column: int(part) if column in ("queue_id", "level") else part for column, part in zip(columns, parts, strict=False)
    }


def _figures(series: SampleSeries, columns: list[str]) -> Columns:
    found: Columns = {"time": series.times_ms, "step_ms": series.steps_ms}
    for place, column in enumerate(columns):
        found |= {
            column: series.last[:, place],
            f"{column}_min": series.low[:, place],
            f"{column}_max": series.high[:, place],
        }
    return found


def _client_names(numbers: Floats, clients: dict[int, str]) -> list[str | None]:
    return [None if np.isnan(number) else clients.get(int(number)) for number in numbers.tolist()]


# ---- owners ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stretch:
    """Time in which a queue had one owner; times in ms. Owner: number of a client, None: no owner."""

    owner: int | None
    from_ms: int
    to_ms: int
    after_gap: bool


def _owners(name: str, series: SampleSeries, sampled: list[tuple[int, int]], clients: dict[int, str]) -> Columns:
    group, topic, queue_id = name.split("/")
    found = owner_stretches(series.times_ms, series.times_ms + series.steps_ms, series.last[:, 0], sampled)
    return {
        "group": group,
        "topic": topic,
        "queue_id": int(queue_id),
        "owner": [None if one.owner is None else clients.get(one.owner) for one in found],
        "from_time": [one.from_ms for one in found],
        "to_time": [one.to_ms for one in found],
        "after_gap": [one.after_gap for one in found],
    }


def owner_stretches(begins_ms: Ints, ends_ms: Ints, owners: Floats, sampled: list[tuple[int, int]]) -> list[Stretch]:
    """Owners of a queue over time, from the samples in which it had one.

    Args:
        begins_ms: Begins of the samples, rising.
        ends_ms: Their ends.
        owners: Numbers of the owners.
        sampled: Intervals with samples of the broker; without a sample of the queue it had no owner.
    """
    found: list[Stretch] = []
    for run_begin, run_end in sampled:
        first, last = np.searchsorted(begins_ms, (run_begin - GAP_MS, run_end))
        if first == last:
            continue
        is_later = bool(found)
        at_ms = run_begin
        for owner, begin, end in _merged(begins_ms[first:last], ends_ms[first:last], owners[first:last]):
            if begin - at_ms > GAP_MS and found:
                found.append(Stretch(None, at_ms, begin, is_later))
                is_later = False
            found.append(Stretch(owner, max(begin, run_begin), min(end, run_end), is_later))
            is_later, at_ms = False, end
        if run_end - at_ms > GAP_MS:
            found.append(Stretch(None, at_ms, run_end, after_gap=False))
    return found


def _merged(begins_ms: Ints, ends_ms: Ints, owners: Floats) -> Iterator[tuple[int, int, int]]:
    """Owner, begin and end of consecutive samples with the same owner."""
    apart = begins_ms[1:] - ends_ms[:-1] > GAP_MS
    firsts = np.flatnonzero(np.concatenate(([True], apart | (owners[1:] != owners[:-1]))))
    lasts = np.append(firsts[1:], len(owners)) - 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        follows = last + 1 < len(owners) and not apart[last]
        yield int(owners[first]), int(begins_ms[first]), int(begins_ms[last + 1] if follows else ends_ms[last])


# ---- what is no figure -------------------------------------------------------------------------------------------------


def _events(connection: Connection, wanted: SampleSelection) -> Columns:
    query = "SELECT at_ms, kind, subject, text FROM events WHERE at_ms>=? AND at_ms<? ORDER BY at_ms, id"
    rows = connection.execute(query, (wanted.from_ms, wanted.to_ms)).fetchall()
    return {name: [row[place] for row in rows] for place, name in enumerate(("time", "kind", "subject", "text"))}


def _runs(connection: Connection, wanted: SampleSelection) -> Columns:
    found = runs(connection, wanted.from_ms, wanted.to_ms)
    return {"from_time": [begin for begin, _ in found], "to_time": [end for _, end in found]}


def _subscriptions(connection: Connection, wanted: SampleSelection) -> Columns:
    """Intervals of subscriptions, cut to the runs, because it is unknown what changed between them."""
    changes = subscription_changes(connection)
    sampled = runs(connection, wanted.from_ms, wanted.to_ms)
    rows: list[tuple[str | None, str | None, str | None, str | None, int, int]] = []
    if changes:
        rows += [(None, None, None, None, *piece) for piece in _pieces(changes[0][0], None, sampled)]
    begun: dict[str, tuple[int, dict[str, list[str]]]] = {}
    for at_ms, group, topics in [*changes, (FOREVER_MS, "", {})]:
        for ended in [group] if group else list(begun):
            since_ms, former = begun.pop(ended, (0, {}))
            pieces = _pieces(since_ms, at_ms, sampled)
            rows += [(ended, topic, kind, text, *piece) for topic, (kind, text) in former.items() for piece in pieces]
        if group:
            begun[group] = at_ms, topics
    names = ("group", "topic", "expression_type", "expression", "from_time", "to_time")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _pieces(from_ms: int, to_ms: int | None, sampled: list[tuple[int, int]]) -> list[tuple[int, int]]:
    cut = [(max(from_ms, begin), end if to_ms is None else min(to_ms, end)) for begin, end in sampled]
    return [(begin, end) for begin, end in cut if begin < end]


_PLAIN: dict[str, Callable[[Connection, SampleSelection], Columns]] = {
    "events": _events,
    "runs": _runs,
    SUBSCRIPTIONS: _subscriptions,
}


def actions(wanted: SampleSelection) -> Columns:
    """Rows of the console's journal; an unreadable line counts at the time of the one before it."""
    at_ms, rows = 0, []
    for path in (Path(wanted.store) / "config" / name for name in JOURNAL_FILES):
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            row = _action(line)
            at_ms = at_ms if row is None else row[0]
            rows.append(row or (at_ms, UNREADABLE, "", line.decode(errors="replace")[:_SHOWN_CHARACTERS]))
    rows = [row for row in rows if wanted.from_ms <= row[0] < wanted.to_ms]
    return {name: [row[place] for row in rows] for place, name in enumerate(("time", "action", "subject", "details"))}


def _action(line: bytes) -> tuple[int, str, str, str] | None:
    try:
        data = read_json(line)
        details = json.dumps(data["details"], ensure_ascii=False)
        return int(data["atMs"]), str(data["action"]), str(data["subject"]), details
    except (ValueError, OverflowError, TypeError, KeyError):
        return None

"""Answers questions about the history: lines for charts, and events. Reads only, on one thread at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from broker_core.api import UsageError
from broker_core.outside import whole_of
from broker_core.worker.questions.history import EventPage, HistoryLines, Ownership, ReadEvents, ReadHistory, ReadOwnership
from monitoring.history.database import layouts_of, open_for_reading
from monitoring.history.figures import POSITION, split_name
from monitoring.history.recorder import Recorder
from monitoring.history.rows import FOREVER, RowReader, Runs, plan_tiers, subject_number
from monitoring.history.tiers import GAP_MS, TIERS, Tier
from monitoring.series import Floats, Ints

AFTER_SLASH = "0"
"""The character after the slash between group and topic: upper bound of a range of names."""
SERIES_MAX = 200
POINTS_MAX = 20_000
EVENTS_MAX = 10_000


class HistoryQueries:
    """Reads one database and the samples that its recorder has in memory; None: another process records."""

    def __init__(self, path: Path, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._connection = open_for_reading(path)
        self._turn = threading.Lock()

    def close(self) -> None:
        """Close the connection after the running query."""
        with self._turn:
            self._connection.close()

    def answer(self, query: ReadHistory | ReadEvents | ReadOwnership) -> HistoryLines | EventPage | Ownership:
        """Answer a question.

        Raises:
            UsageError: The question is invalid.
            sqlite3.Error: The database cannot be read.
        """
        match query:
            case ReadOwnership():
                return self.ownership(query)
            case ReadHistory():
                return self.lines(query)
            case ReadEvents():
                return self.events(query)

    def lines(self, query: ReadHistory) -> HistoryLines:
        """Points of series, thinned to the smallest, largest and last of each interval."""
        _check(query)
        with self._turn:
            return self._lines(query)

    def events(self, query: ReadEvents) -> EventPage:
        """Events, newest first."""
        if not 1 <= query.count <= EVENTS_MAX:
            raise UsageError(f"a page has 1 to {EVENTS_MAX:,} events, not {query.count:,}")
        marks = ", ".join("?" * len(query.kinds))
        where = "at_ms>=? AND at_ms<?" + (f" AND kind IN ({marks})" if query.kinds else "")
        where += " AND subject=?" if query.subject else ""
        values: list[int | str] = [query.from_ms, query.to_ms, *query.kinds, *([query.subject] if query.subject else [])]
        with self._turn:
            (total,) = self._connection.execute(f"SELECT COUNT(*) FROM events WHERE {where}", values).fetchone()
            rows = self._connection.execute(
                f"SELECT at_ms, kind, subject, text FROM events WHERE {where} ORDER BY at_ms DESC, id DESC LIMIT ?",
                [*values, query.count],
            ).fetchall()
        columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
        return EventPage(total, *(list(column) for column in columns))

    def ownership(self, query: ReadOwnership) -> Ownership:
        """Owners of a group's queues over time."""
        with self._turn:
            places = positions_of(self._connection, query.group)
            names = [f"position:{place.subject}.owner" for place in places[:SERIES_MAX]]
            if not names:
                return Ownership([], [], [], [], [])
            lines = ReadHistory(names, query.from_ms, query.to_ms, query.points)
            _check(lines)
            return owned_stretches(places, self._lines(lines), client_names(self._connection), SERIES_MAX)

    def _lines(self, query: ReadHistory) -> HistoryLines:
        names = [split_name(name) for name in query.names]
        open_parts: list[tuple[int, Floats] | None] = []
        self._connection.execute("BEGIN")
        try:
            with self._recorder.lock if self._recorder is not None else nullcontext():
                # Memory and rows must be of the same moment: that of the first read.
                runs = Runs(self._connection)
                subjects = [subject_number(self._connection, kind, name) for kind, name, _figure in names]
                block = self._recorder.block if self._recorder is not None else None
                for (kind, _name, figure), subject in zip(names, subjects, strict=True):
                    values = block.subject(kind, subject, figure) if block is not None and subject is not None else None
                    open_parts.append((block.begin, values) if block is not None and values is not None else None)
            return self._read(query, runs, [name[2] for name in names], subjects, open_parts)
        finally:
            self._connection.execute("COMMIT")

    def _read(
        self,
        query: ReadHistory,
        runs: Runs,
        figures: list[str],
        subjects: list[int | None],
        open_parts: list[tuple[int, Floats] | None],
    ) -> HistoryLines:
        reader = RowReader(self._connection, layouts_of(self._connection), runs)
        step_ms = max(TIERS[0].step_ms, -(-(query.to_ms - query.from_ms) // query.points))
        segments = plan_tiers(self._connection, query.from_ms, query.to_ms, step_ms)
        answer = HistoryLines(step_ms, runs.begin_ms, [], [], [], [])
        for figure, subject, part in zip(figures, subjects, open_parts, strict=True):
            line = _TierLine()
            open_ms = part[0] * TIERS[0].step_ms if part is not None else FOREVER
            for tier, begin_ms, end_ms in segments:
                if subject is None:
                    break
                points = reader.points(tier, subject, begin_ms, min(end_ms, open_ms), [figure])
                line.add(tier, points.times_ms, points.low[:, 0], points.high[:, 0], points.last[:, 0])
            if part is not None:
                times = (part[0] + np.arange(len(part[1]), dtype=np.int64)) * TIERS[0].step_ms
                inside = (times >= query.from_ms) & (times < query.to_ms)
                line.add(TIERS[0], times[inside], *(part[1][inside],) * 3)
            for column, values in zip(
                (answer.times_ms, answer.low, answer.high, answer.last), line.thinned(step_ms), strict=True
            ):
                column.append(values.tobytes())
        return answer


class _TierLine:
    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Floats, Floats, Floats]] = []
        self._spacing: list[Ints] = []

    def add(self, tier: Tier, times_ms: Ints, low: Floats, high: Floats, last: Floats) -> None:
        known = ~np.isnan(low)
        self._parts.append((times_ms[known], low[known], high[known], np.where(np.isnan(last), high, last)[known]))
        self._spacing.append(np.full(int(known.sum()), tier.step_ms, np.int64))

    def thinned(self, step_ms: int) -> tuple[Ints, Floats, Floats, Floats]:
        """Times, smallest, largest and last of each interval; a NaN at each gap."""
        if not self._parts:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0)
        times, low, high, last = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        spacing = np.concatenate(self._spacing)
        stretches = times // step_ms
        firsts = np.flatnonzero(np.diff(stretches, prepend=stretches[:1] - 1))
        if not len(firsts):
            return times, low, high, last
        at = times[firsts]
        lows, highs = np.fmin.reduceat(low, firsts), np.fmax.reduceat(high, firsts)
        lasts = last[np.append(firsts[1:], len(times)) - 1]
        usual = np.maximum(spacing[firsts], step_ms)
        limit = np.maximum(GAP_MS, usual[1:] * 5 // 2)
        gaps = np.flatnonzero(np.diff(at) > limit)
        after = at[gaps] + usual[gaps]
        nothing = np.full(len(gaps), np.nan)
        place = gaps + 1
        return (
            np.insert(at, place, after),
            np.insert(lows, place, nothing),
            np.insert(highs, place, nothing),
            np.insert(lasts, place, nothing),
        )


def _check(query: ReadHistory) -> None:
    if not 1 <= len(query.names) <= SERIES_MAX:
        raise UsageError(f"1 to {SERIES_MAX} series can be asked for at once, not {len(query.names):,}")
    if not 2 <= query.points <= POINTS_MAX:
        raise UsageError(f"a line has 2 to {POINTS_MAX:,} points, not {query.points:,}")
    if not 0 <= query.from_ms < query.to_ms:
        raise UsageError(f"a time range ends after it begins, and not before 1970; this is {query.from_ms} to {query.to_ms}")
    try:
        for name in query.names:
            split_name(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True, slots=True, order=True)
class PositionPlace:
    """A recorded position: a queue of a topic, and the name of its subject."""

    topic: str
    queue_id: int
    subject: str


def positions_of(connection: sqlite3.Connection, group: str) -> list[PositionPlace]:
    """All positions that were ever recorded of a group, by topic and queue."""
    rows = connection.execute(
        "SELECT name FROM subjects WHERE kind=? AND name>=? AND name<?", (POSITION, f"{group}/", f"{group}{AFTER_SLASH}")
    )
    places = []
    for (name,) in rows:
        topic, _slash, queue_id = str(name).removeprefix(f"{group}/").rpartition("/")
        number = whole_of(queue_id)
        if topic and number is not None:
            places.append(PositionPlace(topic, number, str(name)))
    return sorted(places)


def client_names(connection: sqlite3.Connection) -> dict[int, str]:
    return {int(number): str(name) for number, name in connection.execute("SELECT id, name FROM clients")}


def owned_stretches(
    places: Sequence[PositionPlace], lines: HistoryLines, names: Mapping[int, str], places_max: int
) -> Ownership:
    """Merge the points of the first ``places_max`` places into intervals of one owner each."""
    answer = Ownership([], [], [], [], [], left_out=max(0, len(places) - places_max))
    for place, times, last in zip(places, lines.times_ms, lines.last, strict=False):
        for from_ms, to_ms, owner in _stretches(np.frombuffer(times, "<i8"), np.frombuffer(last, "<f8"), lines.step_ms):
            answer.topic.append(place.topic)
            answer.queue_id.append(place.queue_id)
            answer.from_ms.append(from_ms)
            answer.to_ms.append(to_ms)
            answer.client.append(names.get(owner, ""))
    return answer


def _stretches(times_ms: Ints, owner: Floats, step_ms: int) -> Iterator[tuple[int, int, int]]:
    if not len(times_ms):
        return
    ends = np.append(times_ms[1:], times_ms[-1] + step_ms)
    changes = np.flatnonzero(owner[1:] != owner[:-1]) + 1
    for first, last in zip([0, *changes.tolist()], [*changes.tolist(), len(owner)], strict=True):
        if not np.isnan(owner[first]):
            yield int(times_ms[first]), int(ends[last - 1]), int(owner[first])

"""Reads one history database while its worker writes it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from broker_core.errors import ForeignStoreError, StoreError
from broker_core.outside import read_json
from monitoring.history.database import BUSY_SECONDS, FILE_NAME, FORMAT, PRESENT, layouts_of, meta
from monitoring.history.rows import FOREVER, Points, RowReader, Runs, plan_tiers
from monitoring.history.subscriptions import SINCE
from monitoring.history.tiers import TIERS
from monitoring.series import Floats, Ints

FOLDER = "orbit"
_JOURNAL_STEP_MS = TIERS[0].step_ms


@dataclass(frozen=True, slots=True)
class SampleSeries:
    """Figures of one subject in intervals of time; [n] and [n, figures]. NaN: unknown."""

    times_ms: Ints
    steps_ms: Ints
    low: Floats
    high: Floats
    last: Floats


def history_of(store: str | Path) -> Path:
    """The path of a store's history database, whether or not it exists."""
    return Path(store) / FOLDER / FILE_NAME


def require_history(store: str | Path) -> Path:
    """The history database of a store; raises `ForeignStoreError` if there is none."""
    path = history_of(store)
    if not path.is_file():
        raise ForeignStoreError(
            f"{store} has no history: there is no file {path}. Orbit writes one while it runs the broker of that store; "
            "what nobody sampled cannot be found out later.",
            path=str(path),
        )
    return path


@contextlib.contextmanager
def reading(store: str | Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection on one state of a store's history.

    Raises:
        ForeignStoreError: The store has none.
        StoreError: It cannot be read.
    """
    path = require_history(store)
    try:
        connection = _connect(path)
        try:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found != FORMAT:
                raise StoreError(f"the history {path} has format {found}; this Orbit reads {FORMAT}.", path=str(path))
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, ValueError) as error:
        raise StoreError(f"the history {path} cannot be read: {error}", path=str(path)) from error


def _connect(path: Path) -> sqlite3.Connection:
    name = path.absolute().as_uri()
    connection = sqlite3.connect(f"{name}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT COUNT(*) FROM runs").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        if path.with_name(path.name + "-wal").exists():
            raise
        # A copy on a read-only medium, where no file can be created next to it; it is not being written.
        connection = sqlite3.connect(f"{name}?immutable=1", uri=True, isolation_level=None)
    return connection


def extent(connection: sqlite3.Connection) -> tuple[int, int]:
    """Times from and to which there are rows, ms; 0, 0 without any. The running minute is not in rows yet."""
    present_ms = meta(connection, PRESENT, FOREVER)
    row = connection.execute("SELECT MIN(begin_ms), MAX(end_ms) FROM runs WHERE begin_ms<=?", (present_ms,)).fetchone()
    if row[0] is None:
        return 0, 0
    present_slot = present_ms // _JOURNAL_STEP_MS
    journal = connection.execute("SELECT MIN(start) FROM journal WHERE start<=?", (present_slot,)).fetchone()[0]
    end_ms = int(row[1]) if journal is None else min(int(row[1]), int(journal) * _JOURNAL_STEP_MS)
    return int(row[0]), end_ms


def runs(connection: sqlite3.Connection, from_ms: int, to_ms: int) -> list[tuple[int, int]]:
    """Intervals with samples within a range, cut to it."""
    query = "SELECT begin_ms, end_ms FROM runs WHERE end_ms>? AND begin_ms<? ORDER BY begin_ms"
    return [(max(begin, from_ms), min(end, to_ms)) for begin, end in connection.execute(query, (from_ms, to_ms))]


def subscription_changes(connection: sqlite3.Connection) -> list[tuple[int, str, dict[str, list[str]]]]:
    """Changes of subscriptions, see `monitoring.history.subscriptions`: time in ms, group, topic → type and text.

    The first one is a start, a row without a group. A history of an earlier Orbit has no changes.
    """
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'subscriptions'").fetchone():
        return []
    since_ms = meta(connection, SINCE, 0)
    rows = connection.execute("SELECT at_ms, grp, data FROM subscriptions ORDER BY id")
    found = [(max(at_ms, since_ms), group, read_json(data) if data else {}) for at_ms, group, data in rows]
    return [(since_ms, "", {}), *found] if found and found[0][1] else found


def subjects(connection: sqlite3.Connection, kind: str) -> list[tuple[int, str]]:
    return connection.execute("SELECT id, name FROM subjects WHERE kind=? ORDER BY id", (kind,)).fetchall()


def figures_of(connection: sqlite3.Connection, kind: str) -> list[str]:
    """All figures that were ever recorded of a kind."""
    query = "SELECT DISTINCT layout FROM points JOIN subjects ON subjects.id = points.subject WHERE subjects.kind=?"
    layouts = layouts_of(connection)
    found = [figure for (layout,) in connection.execute(query, (kind,)) for figure in layouts[layout]]
    return sorted(set(found))


class SeriesReader:
    """Reads figures of subjects between two times, in a transaction.

    An interval is ``step_ms`` long, or longer if only coarser figures are left.
    """

    def __init__(self, connection: sqlite3.Connection, from_ms: int, to_ms: int, step_ms: int) -> None:
        self._rows = RowReader(connection, layouts_of(connection), Runs(connection))
        self._parts = plan_tiers(connection, from_ms, to_ms, step_ms) if from_ms < to_ms else []
        self._step_ms = step_ms

    def series(self, subject: int, figures: Sequence[str]) -> SampleSeries:
        """The intervals with known figures of a subject."""
        found = [_empty(len(figures))]
        for tier, begin_ms, end_ms in self._parts:
            points = self._rows.points(tier, subject, begin_ms, end_ms, list(figures))
            found.append(_thinned(points, max(tier.step_ms, self._step_ms)))
        return SampleSeries(
            *(np.concatenate([getattr(one, name) for one in found]) for name in ("times_ms", "steps_ms", "low", "high", "last"))
        )


def _empty(figures: int) -> SampleSeries:
    none, no_figures = np.zeros(0, np.int64), np.zeros((0, figures))
    return SampleSeries(none, none, no_figures, no_figures, no_figures)


def _thinned(points: Points, step_ms: int) -> SampleSeries:
    known = ~np.isnan(points.low).all(axis=1)
    times, low, high, last = points.times_ms[known], points.low[known], points.high[known], points.last[known]
    stretches = times // step_ms
    firsts = np.flatnonzero(np.diff(stretches, prepend=stretches[:1] - 1))
    if not len(firsts):
        return _empty(points.low.shape[1])
    lasts = np.append(firsts[1:], len(times)) - 1
    newest = np.where(np.isnan(last[lasts]), high[lasts], last[lasts])
    steps = np.full(len(firsts), step_ms, np.int64)
    return SampleSeries(
        stretches[firsts] * step_ms, steps, np.fmin.reduceat(low, firsts), np.fmax.reduceat(high, firsts), newest
    )

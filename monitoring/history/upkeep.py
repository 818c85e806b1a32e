"""`Upkeep` fills the coarser tiers from the finer ones, and deletes old or excess rows. A little at each call."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from monitoring.history.database import layouts_of, retained_from_ms, rolled_until_ms, set_meta, transaction, used_bytes
from monitoring.history.recorded_time import SteadyTime
from monitoring.history.recorder import RowTuple
from monitoring.history.rows import Points, RowReader, Runs
from monitoring.history.subscriptions import forget_subscriptions
from monitoring.history.tiers import HOUR_MS, TIERS, Tier, decode, encode
from monitoring.series import Floats

logger = logging.getLogger(__name__)

SUBJECTS_IN_TURN = 100
ROWS_IN_TURN = 2_000
BYTES_MAX = 1024 * 1024 * 1024
EVENTS_MAX = 200_000


class Upkeep:
    """Keeps one database small and quick to read. Called on the writing thread.

    Args:
        bytes_max: Limit of the database; beyond it the finest samples are deleted first, oldest first.
        pace: Called between pieces of work; it may pause.
        steady_time: The time by which rows are too old, at the time of the newest sample; None: a `SteadyTime`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        bytes_max: int = BYTES_MAX,
        pace: Callable[[], None] = lambda: None,
        steady_time: Callable[[int], int] | None = None,
    ) -> None:
        self._connection = connection
        self._bytes_max = bytes_max
        self._pace = pace
        self._steady_time = steady_time or SteadyTime(connection).at
        self._now_ms = 0
        self._waiting: dict[int, list[int]] = {}
        """Subjects still to fill in the current window of a tier."""
        self._cuts: list[tuple[Tier, int]] = []
        """Tiers from which rows before a time are being deleted."""

    def turn(self, now_ms: int) -> bool:
        """Do one piece of work at the time of the newest sample; returns whether there may be more to do at once.

        Later rows were recorded while the clock was ahead, and are left alone. Raises `sqlite3.Error`.
        """
        self._now_ms = now_ms
        self._follow_clock()
        steady_ms = self._steady_time(now_ms)
        if any(self._fill(source, target) for source, target in pairwise(TIERS)):
            return True
        if self._cuts:
            return self._delete()
        return self._too_old(steady_ms) or self._too_much()

    def _follow_clock(self) -> None:
        """Reset marks that are ahead of the clock, which was ahead then: they would hide new samples."""
        now_ms = self._now_ms
        ahead: dict[str, int] = {}
        for tier in TIERS:
            if rolled_until_ms(self._connection, tier.number) > now_ms:
                ahead[f"rolled_{tier.number}"] = now_ms // tier.row_ms * tier.row_ms
            if retained_from_ms(self._connection, tier.number) > now_ms:
                # The first samples of the run are a little older than the newest one.
                ahead[f"retained_{tier.number}"] = (now_ms - HOUR_MS) // tier.row_ms * tier.row_ms
        if ahead:
            with transaction(self._connection):
                for name, mark_ms in ahead.items():
                    set_meta(self._connection, name, mark_ms)
            self._waiting.clear()
            self._cuts = [cut for cut in self._cuts if cut[1] <= now_ms]

    # ---- coarser tiers ----

    def _fill(self, source: Tier, target: Tier) -> bool:
        """Fill a piece of the next window of a tier; False if no window is complete."""
        window_ms = target.row_ms
        begin_ms = rolled_until_ms(self._connection, target.number)
        if begin_ms < 0:
            begin_ms = self._first_window(source, window_ms)
            if begin_ms < 0:
                return False
        complete_ms = self._complete_ms(source)
        if begin_ms + window_ms > complete_ms:
            return False
        waiting = self._waiting.get(target.number)
        if waiting is None:
            waiting = self._waiting[target.number] = self._subjects(source, begin_ms, window_ms)
            if not waiting:
                # Nothing was recorded for a while: continue at the next recorded window.
                later = self._first_window(source, window_ms, begin_ms + window_ms)
                self._finish(target, min(later if later >= 0 else complete_ms, complete_ms) // window_ms * window_ms)
                return True
        batch, self._waiting[target.number] = waiting[:SUBJECTS_IN_TURN], waiting[SUBJECTS_IN_TURN:]
        self._fill_subjects(source, target, begin_ms, batch)
        if not self._waiting[target.number]:
            self._finish(target, begin_ms + window_ms)
        return True

    def _complete_ms(self, source: Tier) -> int:
        """Time until which a tier is complete, unless the clock is set back."""
        if not source.is_raw:
            return rolled_until_ms(self._connection, source.number)
        now_slot = self._now_ms // source.step_ms
        row = self._connection.execute("SELECT MAX(start) FROM points WHERE tier=0 AND start<=?", (now_slot,)).fetchone()
        last = -1 if row[0] is None else int(row[0]) * source.step_ms
        # The run reaches further, because held values have no rows.
        run = self._connection.execute("SELECT MAX(end_ms) FROM runs WHERE begin_ms<=?", (self._now_ms,)).fetchone()
        until_ms = min(self._now_ms, max(last, -1 if run[0] is None else int(run[0])))
        # It reaches too far, because its newest samples are in the journal and in no rows yet.
        open_slot = self._connection.execute("SELECT MIN(start) FROM journal WHERE start<=?", (now_slot,)).fetchone()[0]
        if open_slot is not None:
            until_ms = min(until_ms, int(open_slot) * source.step_ms)
        return until_ms // source.row_ms * source.row_ms

    def _first_window(self, source: Tier, window_ms: int, from_ms: int = 0) -> int:
        query = "SELECT MIN(start) FROM points WHERE tier=? AND start>=?"
        row = self._connection.execute(query, (source.number, from_ms // source.step_ms)).fetchone()
        return -1 if row[0] is None else int(row[0]) * source.step_ms // window_ms * window_ms

    def _subjects(self, source: Tier, begin_ms: int, window_ms: int) -> list[int]:
        query = "SELECT DISTINCT subject FROM points WHERE tier=? AND start>=? AND start<?"
        span = (begin_ms // source.step_ms, (begin_ms + window_ms) // source.step_ms)
        return [row[0] for row in self._connection.execute(query, (source.number, *span))]

    def _finish(self, target: Tier, until_ms: int) -> None:
        self._waiting.pop(target.number, None)
        with transaction(self._connection):
            set_meta(self._connection, f"rolled_{target.number}", until_ms)

    def _fill_subjects(self, source: Tier, target: Tier, begin_ms: int, subjects: list[int]) -> None:
        reader = RowReader(self._connection, layouts_of(self._connection), Runs(self._connection))
        made: list[RowTuple] = []
        for subject in subjects:
            made += self._coarser(reader, (source, target), subject, begin_ms)
            self._pace()
        if reader.damaged:
            logger.warning("the history has %d rows that cannot be unpacked: there are gaps in their place", reader.damaged)
        with transaction(self._connection):
            self._connection.executemany("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?)", made)

    def _coarser(self, reader: RowReader, tiers: tuple[Tier, Tier], subject: int, begin_ms: int) -> list[RowTuple]:
        source, target = tiers
        end_ms = begin_ms + target.row_ms
        query = (
            "SELECT start, held, layout, data FROM points WHERE tier=? AND subject=? AND start>=? AND start<? ORDER BY start"
        )
        span = (begin_ms // source.step_ms, end_ms // source.step_ms)
        rows = self._connection.execute(query, (source.number, subject, *span)).fetchall()
        ratio = target.step_ms // source.step_ms
        if all(held for _start, held, _layout, _data in rows):
            return [(target.number, subject, start // ratio, 1, layout, data) for start, _held, layout, data in rows]
        start, held, layout, data = rows[-1]
        figures = reader.layouts.get(layout, [])
        if not figures:
            return []
        points = reader.points(source, subject, begin_ms, end_ms, figures)
        matrix = summed_up(points, begin_ms, target, len(figures))
        self._fill_in(matrix, target, subject, begin_ms, layout)
        made = [(target.number, subject, begin_ms // target.step_ms, 0, layout, encode(matrix))]
        if held and reader.runs.end_of(start * source.step_ms + source.step_ms - 1) > end_ms:
            made.append((target.number, subject, end_ms // target.step_ms, 1, layout, data))
        return made

    def _fill_in(self, matrix: Floats, target: Tier, subject: int, begin_ms: int, layout: int) -> None:
        """Keep the values of a row that is written again: after the clock was set back, part of its source may be deleted."""
        query = "SELECT data FROM points WHERE tier=? AND subject=? AND start=? AND held=0 AND layout=?"
        row = self._connection.execute(query, (target.number, subject, begin_ms // target.step_ms, layout)).fetchone()
        if row is None:
            return
        try:
            before = decode(row[0], matrix.shape[1])
        except ValueError:
            return
        if before.shape == matrix.shape:
            np.copyto(matrix, before, where=np.isnan(matrix))

    # ---- old and excess rows ----

    def _too_old(self, now_ms: int) -> bool:
        for tier in TIERS:
            cut_ms = (now_ms - tier.kept_ms) // tier.row_ms * tier.row_ms
            # With some slack, so that it is not done for every few rows.
            if cut_ms - retained_from_ms(self._connection, tier.number) >= max(tier.row_ms, 600_000) and self._cut(
                tier, cut_ms
            ):
                return True
        return False

    def _too_much(self) -> bool:
        if used_bytes(self._connection) <= self._bytes_max:
            return False
        for tier in TIERS:
            query = "SELECT MIN(start) FROM points WHERE tier=? AND start>=?"
            from_slot = max(0, retained_from_ms(self._connection, tier.number)) // tier.step_ms
            row = self._connection.execute(query, (tier.number, from_slot)).fetchone()
            if row[0] is not None:
                step_ms = max(tier.row_ms, TIERS[1].row_ms)
                if self._cut(tier, (int(row[0]) * tier.step_ms // step_ms + 1) * step_ms):
                    return True
        return False

    def _cut(self, tier: Tier, cut_ms: int) -> bool:
        """Begin to delete rows before a time; False if the coarser tier does not have them yet."""
        limit_ms = self._now_ms if tier is TIERS[-1] else rolled_until_ms(self._connection, tier.number + 1)
        cut_ms = min(cut_ms, limit_ms // tier.row_ms * tier.row_ms)
        if cut_ms <= retained_from_ms(self._connection, tier.number):
            return False
        with transaction(self._connection):
            set_meta(self._connection, f"retained_{tier.number}", cut_ms)
            if tier is TIERS[-1]:
                self._connection.execute("DELETE FROM runs WHERE end_ms < ?", (cut_ms,))
                self._connection.execute("DELETE FROM events WHERE at_ms < ?", (cut_ms,))
            forget_subscriptions(self._connection, cut_ms if tier is TIERS[-1] else 0)
            newest = "SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?"
            self._connection.execute(f"DELETE FROM events WHERE id <= ({newest})", (EVENTS_MAX,))
        self._cuts.append((tier, cut_ms))
        return True

    def _delete(self) -> bool:
        tier, cut_ms = self._cuts[0]
        with transaction(self._connection):
            slot = cut_ms // tier.step_ms
            done = self._connection.execute(
                _DELETE, (tier.number, slot, slot, tier.step_ms, tier.step_ms, cut_ms, ROWS_IN_TURN)
            ).rowcount
        if done < ROWS_IN_TURN:
            self._cuts.pop(0)
        return True


def summed_up(points: Points, begin_ms: int, target: Tier, figures: int) -> Floats:
    """The matrix of a coarser row that begins at ``begin_ms``: smallest, largest and last of each of its slots."""
    matrix = np.full((target.row_ms // target.step_ms, 3, figures), np.nan)
    if len(points.times_ms):
        places = (points.times_ms - begin_ms) // target.step_ms
        firsts = np.flatnonzero(np.diff(places, prepend=-1))
        slots = places[firsts]
        matrix[slots, 0] = np.fmin.reduceat(points.low, firsts, axis=0)
        matrix[slots, 1] = np.fmax.reduceat(points.high, firsts, axis=0)
        matrix[slots, 2] = points.last[np.append(firsts[1:], len(places)) - 1]
    return matrix.reshape(len(matrix), 3 * figures)


# A held row stays if its values still hold at the time of the cut.
_DELETE = """
DELETE FROM points WHERE rowid IN (
    SELECT old.rowid FROM points AS old
    WHERE old.tier=? AND old.start<? AND (
        old.held=0
        OR EXISTS (SELECT 1 FROM points AS later WHERE later.tier=old.tier AND later.subject=old.subject
                   AND later.start>old.start AND later.start<=?)
        OR (SELECT end_ms FROM runs WHERE begin_ms<=old.start*?+?-1 ORDER BY begin_ms DESC LIMIT 1)<?
    ) LIMIT ?
)
"""

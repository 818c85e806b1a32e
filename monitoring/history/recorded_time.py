"""`SteadyTime`: the time by which old rows are deleted. It is the wall clock's, except after leaps forward.

A clock that was set ahead by mistake looks like a pause of the recording, and rows deleted because of it are lost even after
the clock is corrected. Therefore a pause does not count at once: the steady time falls behind the clock by it, catches up one
second for each recorded second, and equals the clock again after a day of recording. It depends only on the runs in the
database, so a restart changes nothing.
"""

from __future__ import annotations

import sqlite3

from monitoring.history.tiers import DAY_MS, MINUTE_MS

PAUSE_MS = MINUTE_MS
"""A longer time without a sample is a pause or a leap."""
LASTED_MS = DAY_MS
"""After this much recorded time every leap counts."""


class SteadyTime:
    """Follows the clock of one database, by its runs. On one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._reached_ms: int | None = None
        self._behind_ms = 0
        self._recorded_ms = 0
        """Since the last pause that counts."""

    def at(self, now_ms: int) -> int:
        """The steady time at that of the newest sample, ms since the epoch; never later."""
        if self._reached_ms is None or now_ms < self._reached_ms:
            self._recall(now_ms)
        self._go_to(now_ms)
        return now_ms - self._behind_ms

    def _recall(self, now_ms: int) -> None:
        """Start from the runs before a time; later ones were recorded while the clock was ahead."""
        self._reached_ms, self._behind_ms, self._recorded_ms = None, 0, 0
        query = "SELECT begin_ms, end_ms FROM runs WHERE begin_ms <= ? ORDER BY begin_ms"
        for begin_ms, end_ms in self._connection.execute(query, (now_ms,)):
            self._go_to(int(begin_ms))
            self._record(min(int(end_ms), now_ms))

    def _go_to(self, time_ms: int) -> None:
        if self._reached_ms is None:
            self._reached_ms = time_ms
        passed_ms = time_ms - self._reached_ms
        if passed_ms <= PAUSE_MS:
            self._record(time_ms)
            return
        if passed_ms >= self._behind_ms:
            self._recorded_ms = 0
        self._behind_ms += passed_ms
        self._reached_ms = time_ms

    def _record(self, until_ms: int) -> None:
        assert self._reached_ms is not None
        passed_ms = max(0, until_ms - self._reached_ms)
        self._reached_ms += passed_ms
        self._recorded_ms += passed_ms
        self._behind_ms = max(0, self._behind_ms - passed_ms) if self._recorded_ms < LASTED_MS else 0

"""Subscriptions of groups over time: the table ``subscriptions`` has a row for each change of a group.

A row without a group marks a start of the recording, which ends the validity of earlier rows. A row is valid until the next
row of its group, the next start, or the end of the run of samples. Invalid rows are deleted when they are too old or too
many; ``meta`` then has the time from which on the table is complete.
"""

from __future__ import annotations

import json
import sqlite3

from broker_core.worker.questions.figures import Subscriptions
from monitoring.history.database import set_meta, transaction

ROWS_MAX = 20_000
"""Three days of the worst case: two members that want different things replace each other's subscription at each heartbeat."""
SINCE = "subscriptions_from"
"""Name in ``meta``: ms since the epoch; no row after it was deleted. A group without an earlier row had no subscription."""

_DELETE = """
DELETE FROM subscriptions WHERE id <= ? AND (data = '{}' OR EXISTS (
    SELECT 1 FROM subscriptions AS later
    WHERE later.grp IN (subscriptions.grp, '') AND later.id > subscriptions.id AND later.id <= ?
))
"""


class SubscriptionLog:
    """Writes the table. On the writing thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._written: Subscriptions | None = None

    def write(self, wanted: Subscriptions, at_ms: int) -> None:
        """Store the changes since the previous call. ``wanted`` is the same object while nothing changes.

        After a `sqlite3.Error` the next call tries again.
        """
        before = self._written
        if wanted is before:
            return
        rows = [] if before is not None else [(at_ms, "", "")]
        changed = [group for group in sorted(wanted) if before is None or before.get(group) != wanted[group]]
        rows += [(at_ms, group, json.dumps(wanted[group], ensure_ascii=False)) for group in changed]
        rows += [(at_ms, group, "{}") for group in sorted((before or {}).keys() - wanted.keys())]
        if rows:
            with transaction(self._connection):
                self._connection.executemany("INSERT INTO subscriptions (at_ms, grp, data) VALUES (?, ?, ?)", rows)
        self._written = wanted


def forget_subscriptions(connection: sqlite3.Connection, cut_ms: int, rows_max: int = ROWS_MAX) -> None:
    """Delete invalid rows before a time, and the oldest of too many. Within a transaction."""
    query = "SELECT MAX(IFNULL((SELECT MAX(id) FROM subscriptions WHERE at_ms < ?), 0), MAX(id) - ?) FROM subscriptions"
    (last,) = connection.execute(query, (cut_ms, rows_max)).fetchone()
    if last is None:
        return
    # A row from a time when the clock was ahead must not set the mark for later rows.
    query = (
        "SELECT MIN((SELECT MAX(at_ms) FROM subscriptions WHERE id <= ?), (SELECT MIN(at_ms) FROM subscriptions WHERE id > ?))"
    )
    (since_ms,) = connection.execute(query, (last, last)).fetchone()
    if connection.execute(_DELETE, (last, last)).rowcount:
        set_meta(connection, SINCE, since_ms)

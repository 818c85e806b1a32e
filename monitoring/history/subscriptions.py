"""What groups subscribed when: a row for each change of a group, in the table ``subscriptions``.

A row without a group says that recording begins: what was known before holds no longer. What a row says of a group holds until
the next row of that group, the next beginning, or the end of the run of samples. Rows that count no more are deleted when they
are too old or too many; from when on the table is whole then stands in ``meta``.
"""

from __future__ import annotations

import json
import sqlite3

from broker_core.worker.questions.figures import Subscriptions
from monitoring.history.database import set_meta, transaction

ROWS_MAX = 20_000
"""Two members of a group that want different things replace each other's with each heartbeat; that is three days of it."""
SINCE = "subscriptions_from"
"""Name in ``meta``: ms since the epoch, from when on no row was deleted. Who has no row from before wanted nothing then."""

_DELETE = """
DELETE FROM subscriptions WHERE id <= ? AND (data = '{}' OR EXISTS (
    SELECT 1 FROM subscriptions AS later
    WHERE later.grp IN (subscriptions.grp, '') AND later.id > subscriptions.id AND later.id <= ?
))
"""


class SubscriptionLog:
    """Writes the table. On the writing thread.

    Args:
        connection: For writing.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._written: Subscriptions | None = None

    def write(self, wanted: Subscriptions, at_ms: int) -> None:
        """Write down what is not as it was.

        Args:
            wanted: Group → topic → type and text of the expression; the same object as long as nothing changes.
            at_ms: Since when, ms since the epoch.

        Raises:
            sqlite3.Error: It cannot be written; the next call tries again.
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
    """Delete rows that count no more among those before a time, and among the oldest of too many. Within a transaction."""
    query = "SELECT MAX(IFNULL((SELECT MAX(id) FROM subscriptions WHERE at_ms < ?), 0), MAX(id) - ?) FROM subscriptions"
    (last,) = connection.execute(query, (cut_ms, rows_max)).fetchone()
    if last is None:
        return
    # A row of a time when the clock was ahead says nothing of the rows after it.
    query = (
        "SELECT MIN((SELECT MAX(at_ms) FROM subscriptions WHERE id <= ?), (SELECT MIN(at_ms) FROM subscriptions WHERE id > ?))"
    )
    (since_ms,) = connection.execute(query, (last, last)).fetchone()
    if connection.execute(_DELETE, (last, last)).rowcount:
        set_meta(connection, SINCE, since_ms)

"""A monitoring history whose figures are known by construction, for reports on samples.

Two hours from 10:00 UTC on the day of the known store's retries, a sample every five seconds; for ten minutes in between
nothing was sampled. The tests compare with the constants here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from broker_core.worker.questions.figures import Catalog
from monitoring.history.database import FILE_NAME, open_database, transaction
from monitoring.history.recorder import Recorder
from monitoring.history.subscriptions import SubscriptionLog
from monitoring.state import ClusterState
from tests.support.known_store import DAY_MS, HOUR_MS, START_MS

BEGIN_MS = START_MS + 5 * DAY_MS + 10 * HOUR_MS
MINUTE_MS = 60_000
MINUTES = 120
GAP = range(70, 80)  # minutes
SAMPLED_MINUTES = MINUTES - len(GAP)
STEP_S = 5

# ---- group billing on two queues of invoices ----
LAG, LAG_HIGH = 10.0, 5_000.0
HIGH = range(30, 45)  # minutes with the high lag
BEHIND_BY_LAG_MS = 20.0
PUT_RATE = 3.0

# ---- owners: queue 0 stays with the first; queue 1 goes over, is left for a minute, and comes back ----
FIRST, SECOND = "10.0.0.1@1", "10.0.0.2@2"
SECOND_FROM, NOBODY_FROM, BACK_FROM = 20, 40, 41  # minutes
MOVES = 3  # of queue 1

# ---- events and actions ----
EVENTS = (
    (0, "broker_started", "", "The broker started"),
    (SECOND_FROM, "members_changed", "billing", "Members of group billing: 2"),
    (50, "offsets_moved_back", "billing", "Group billing was moved back in 1 queue: 7 messages come again"),
)
ACTIONS = (
    (15, "delay.cancel", "level 3", {"count": 2}),
    (16, "delay.cancel.failed", "level 3", {"asked": 1}),
    (60, "transaction.commit", "payments", {"physicalOffset": 77}),
)

# ---- subscriptions: those of orders change ----
EARLY, LATE = {"orders": ("TAG", "paid")}, {"orders": ("TAG", "paid || big"), "lanes": ("SQL92", "a > 1")}
LATE_FROM = 30  # minutes

_CATALOG = Catalog(
    1, ["invoices", "orders"], [2, 1], [2, 1], [6, 6], [False, False], [0, 0, 1], [0, 1, 0], ["billing"], [0, 0], [0, 1],
    [False],
)  # fmt: skip


def write_known_history(store: Path) -> Path:
    """Write the history and the journal of actions of a store; return the database."""
    path = store / "orbit" / FILE_NAME
    connection = open_database(path)
    recorder = Recorder(connection)
    for minute in range(MINUTES):
        if minute not in GAP:
            for second in range(0, 60, STEP_S):
                recorder.add(_state(minute, BEGIN_MS + minute * MINUTE_MS + second * 1000))
    recorder.end_run()
    subscriptions = SubscriptionLog(connection)
    for minute, wanted in ((0, EARLY), (LATE_FROM, LATE)):
        subscriptions.write({"billing": wanted | {"invoices": ("", "*")}}, BEGIN_MS + minute * MINUTE_MS)
    rows = [(BEGIN_MS + minute * MINUTE_MS, kind, subject, text) for minute, kind, subject, text in EVENTS]
    with transaction(connection):
        connection.executemany("INSERT INTO events (at_ms, kind, subject, text) VALUES (?, ?, ?, ?)", rows)
    connection.close()
    (store / "config").mkdir(exist_ok=True)
    lines = [
        json.dumps({"atMs": BEGIN_MS + minute * MINUTE_MS, "action": action, "subject": subject, "details": details})
        for minute, action, subject, details in ACTIONS
    ]
    (store / "config" / "orbitActions.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _state(minute: int, taken_ms: int) -> ClusterState:
    lag = LAG_HIGH if minute in HIGH else LAG
    second_queue = 1 if SECOND_FROM <= minute < NOBODY_FROM else -1 if NOBODY_FROM <= minute < BACK_FROM else 0
    offsets = np.array([1_000, 2_000, 3_000])
    return ClusterState(
        catalog=_CATALOG,
        taken_ms=taken_ms,
        queue_min_offset=np.zeros(3, np.int64),
        queue_max_offset=offsets,
        queue_last_store_ms=offsets,
        queue_put_rate=np.full(3, PUT_RATE),
        topic_put_messages=offsets[:2],
        topic_put_bytes=offsets[:2],
        topic_put_rate=np.array([PUT_RATE, 0.0]),
        topic_got_rate=np.zeros(2),
        topic_kept_messages=offsets[:2],
        topic_last_store_ms=offsets[:2],
        group_members=np.array([2]),
        group_lag_messages=np.array([lag]),
        group_behind_ms=np.array([lag * BEHIND_BY_LAG_MS]),
        group_got_rate=np.array([1.0]),
        position_offset=offsets[:2],
        position_lag_messages=np.array([lag, 0.0]),
        position_behind_ms=np.array([lag, 0.0]),
        position_owner=np.array([0, second_queue]),
        owners=[FIRST, SECOND],
        totals={"put_rate": PUT_RATE, "transactions_pending": 4.0, "transactions_committed": float(minute)},
    )

"""The database of the alerts, ``orbit/alerts.db`` next to the history: rules, findings, changes (docs/history.md, “Alerts”).

``meta`` has ``offered`` (ids of shipped rules that were added once, a JSON list), ``renewed`` (shipped rules of an older
Orbit were given the series of this one), ``webhook``, ``told`` (the newest change that a window showed) and ``looked_ms``
(time of the newest state that was judged, up to 10 s old). An unknown value is NULL. Each commit is on the disk when it
returns, so a killed process or a power cut loses none. Another process may write too; `AlertStore.was_changed` reports it.
The caller holds one lock for all calls.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType

from broker_core.api import UsageError
from monitoring.alert_rules import AlertRule, rules_from_json, rules_to_json
from monitoring.alert_watch import AlertChange, AlertFinding
from monitoring.database_file import DatabaseForm, open_or_begin_anew
from monitoring.history.database import transaction
from monitoring.missing_figures import KeptLack
from monitoring.unjudged_rules import Cause, Lack

logger = logging.getLogger(__name__)

FORMAT = 1
_CAUSES = frozenset(cause.value for cause in Cause)
_NO_LACKS: Mapping[str, KeptLack | None] = MappingProxyType({})
FILE_NAME = "alerts.db"
BUSY_SECONDS = 2.0
CHANGES_MAX = 2_000
"""Changes that are stored for windows; the history of events keeps their texts."""
WAITING_POSTS_MAX = 100
"""Changes pending for the web hook; beyond this the oldest are given up."""
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rules (rule_id TEXT PRIMARY KEY, place INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS findings (
    rule_id TEXT NOT NULL, subject TEXT NOT NULL, value REAL, since_ms INTEGER NOT NULL,
    is_firing INTEGER NOT NULL, is_told INTEGER NOT NULL, PRIMARY KEY (rule_id, subject)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lacks (
    rule_id TEXT PRIMARY KEY, cause TEXT NOT NULL, parts TEXT NOT NULL, since_ms INTEGER NOT NULL, is_told INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, rule_id TEXT NOT NULL, rule TEXT NOT NULL,
    subject TEXT NOT NULL, value REAL, is_firing INTEGER NOT NULL, post INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS changes_to_post ON changes (id) WHERE post=1;
"""
_FORM = DatabaseForm("alerts", FORMAT, _TABLES, "FULL", BUSY_SECONDS, is_checked=True)


class Post(IntEnum):
    """State of a change at the web hook."""

    NOT_WANTED = 0
    WAITING = 1
    SENT = 2
    GIVEN_UP = 3


class OvertakenError(Exception):
    """Another process changed the database since the last call of `AlertStore.rules`; nothing was written."""


@dataclass(frozen=True, slots=True)
class KeptChange:
    change_id: int
    change: AlertChange


class AlertStore:
    """One open database. Its folder is created. Raises `StoreError` if it cannot be opened or a newer Orbit wrote it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = open_or_begin_anew(path, _FORM)
        self._seen = self._rules_seen = self._version()
        self._unreadable: set[str] = set()

    def close(self) -> None:
        self._connection.close()

    def was_changed(self) -> bool:
        """Whether another process has written since the previous call."""
        before, self._seen = self._seen, self._version()
        return before != self._seen

    def _version(self) -> int:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    # ---- rules and single values ----

    def rules(self) -> list[AlertRule]:
        """The rules, in their order. A rule that cannot be read is left out and stays in the database."""
        rules: list[AlertRule] = []
        self._unreadable.clear()
        self._rules_seen = self._version()
        for rule_id, data in self._connection.execute("SELECT rule_id, data FROM rules ORDER BY place, rule_id"):
            try:
                rules += rules_from_json(data)
            except UsageError as error:
                self._unreadable.add(rule_id)
                logger.warning("the alert rule %s is not used: %s", rule_id, error)
        return rules

    def set_rules(self, rules: Sequence[AlertRule], **values: str) -> None:
        """Replace the rules that `rules` returned, and set single values in the same transaction.

        Raises:
            OvertakenError: Another process may have changed the rules since `rules` was called.
        """
        rows = [(rule.rule_id, place, rules_to_json([rule])) for place, rule in enumerate(rules)]
        with transaction(self._connection):
            if self._version() != self._rules_seen:
                raise OvertakenError
            kept = [(rule_id,) for (rule_id,) in self._connection.execute("SELECT rule_id FROM rules")]
            self._connection.executemany(
                "DELETE FROM rules WHERE rule_id=?", [one for one in kept if one[0] not in self._unreadable]
            )
            self._connection.executemany("INSERT OR REPLACE INTO rules VALUES (?, ?, ?)", rows)
            self._write_values(values)

    def value(self, name: str, default: str = "") -> str:
        row = self._connection.execute("SELECT value FROM meta WHERE name=?", (name,)).fetchone()
        return str(row[0]) if row else default

    def set_values(self, **values: str) -> None:
        with transaction(self._connection):
            self._write_values(values)

    def _write_values(self, values: Mapping[str, str]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    # ---- findings ----

    def findings(self) -> dict[str, list[AlertFinding]]:
        found: dict[str, list[AlertFinding]] = {}
        rows = self._connection.execute("SELECT rule_id, subject, value, since_ms, is_firing, is_told FROM findings")
        for rule_id, subject, value, since_ms, is_firing, is_told in rows:
            one = AlertFinding(subject, _known(value), since_ms, bool(is_firing), bool(is_told))
            found.setdefault(rule_id, []).append(one)
        return found

    def save(
        self,
        findings: Mapping[tuple[str, str], AlertFinding | None],
        changes: Iterable[AlertChange],
        looked_ms: int,
        *,
        webhook: bool,
        lacks: Mapping[str, KeptLack | None] = _NO_LACKS,
    ) -> None:
        """Store the result of judging one state, all of it or nothing.

        Args:
            findings: By rule id and subject; None: the condition no longer holds.
            changes: Changes to report.
            looked_ms: Time of the state.
            webhook: Whether a web hook is set.
            lacks: By rule id why it cannot be judged; None: it can.
        """
        gone = [key for key, found in findings.items() if found is None]
        held = [
            (rule_id, found.subject, _value(found.value), found.since_ms, found.is_firing, found.is_told)
            for (rule_id, _subject), found in findings.items()
            if found is not None
        ]
        rows = [_row(change, posts=webhook and change.rule.webhook) for change in changes]
        with transaction(self._connection):
            self._connection.executemany("DELETE FROM findings WHERE rule_id=? AND subject=?", gone)
            self._connection.executemany("INSERT OR REPLACE INTO findings VALUES (?, ?, ?, ?, ?, ?)", held)
            self._write_values({"looked_ms": str(looked_ms)})
            self._write_lacks(lacks)
            if rows:
                self._connection.executemany(_INSERT_CHANGE, rows)
                self._bound()

    def lacks(self) -> dict[str, KeptLack]:
        """Why rules cannot be judged, by rule id. A cause that only a newer Orbit knows is left out."""
        found = {}
        for rule_id, cause, parts, since_ms, is_told in self._connection.execute(
            "SELECT rule_id, cause, parts, since_ms, is_told FROM lacks"
        ):
            if cause in _CAUSES:
                found[rule_id] = KeptLack(Lack(Cause(cause), tuple(json.loads(parts))), since_ms, bool(is_told))
        return found

    def _write_lacks(self, lacks: Mapping[str, KeptLack | None]) -> None:
        for rule_id, kept in lacks.items():
            self._connection.execute("DELETE FROM lacks WHERE rule_id=?", (rule_id,))
            if kept is not None:
                row = (rule_id, kept.lack.cause.value, json.dumps(kept.lack.parts), kept.since_ms, kept.is_told)
                self._connection.execute("INSERT INTO lacks VALUES (?, ?, ?, ?, ?)", row)

    def _bound(self) -> None:
        given_up = "SELECT id FROM changes WHERE post=1 ORDER BY id DESC LIMIT -1 OFFSET ?"
        self._connection.execute(
            f"UPDATE changes SET post=? WHERE id IN ({given_up})",
            (Post.GIVEN_UP, WAITING_POSTS_MAX),
        )
        self._connection.execute("DELETE FROM changes WHERE id <= (SELECT MAX(id) FROM changes) - ?", (CHANGES_MAX,))

    # ---- changes to report ----

    def changes(self, after: int, count: int) -> tuple[int, list[KeptChange]]:
        """The number of changes after one, and the newest ``count`` of them, oldest first."""
        (total,) = self._connection.execute("SELECT COUNT(*) FROM changes WHERE id>?", (after,)).fetchone()
        rows = self._connection.execute(f"{_CHANGE} WHERE id>? ORDER BY id DESC LIMIT ?", (after, count)).fetchall()
        return total, [_change(row) for row in reversed(rows)]

    def resolved_ms(self) -> dict[str, int]:
        """When each rule's alert ended, by rule id, if that is the rule's newest change."""
        rows = self._connection.execute(
            # Beside MAX, SQLite takes the other columns from the row of the largest.
            "SELECT rule_id, MAX(id), at_ms, is_firing FROM changes GROUP BY rule_id"
        )
        return {rule_id: at_ms for rule_id, _id, at_ms, is_firing in rows if not is_firing}

    def next_post(self) -> KeptChange | None:
        """The oldest change pending for the web hook."""
        row = self._connection.execute(f"{_CHANGE} WHERE post=1 ORDER BY id LIMIT 1").fetchone()
        return _change(row) if row else None

    def end_post(self, change_id: int, post: Post) -> None:
        self._connection.execute("UPDATE changes SET post=? WHERE id=?", (post, change_id))

    def give_up_posts(self, before_ms: int) -> None:
        """Give up posts of changes before this time."""
        self._connection.execute("UPDATE changes SET post=? WHERE post=1 AND at_ms<?", (Post.GIVEN_UP, before_ms))


_INSERT_CHANGE = "INSERT INTO changes (at_ms, rule_id, rule, subject, value, is_firing, post) VALUES (?, ?, ?, ?, ?, ?, ?)"
_CHANGE = "SELECT id, at_ms, rule, subject, value, is_firing FROM changes"


def _row(change: AlertChange, *, posts: bool) -> tuple[int, str, str, str, float | None, bool, int]:
    rule = change.rule
    post = Post.WAITING if posts else Post.NOT_WANTED
    return change.at_ms, rule.rule_id, rules_to_json([rule]), change.subject, _value(change.value), change.is_firing, post


def _change(row: tuple[int, int, str, str, float | None, int]) -> KeptChange:
    change_id, at_ms, rule, subject, value, is_firing = row
    (known,) = rules_from_json(rule)
    return KeptChange(change_id, AlertChange(known, subject, _known(value), bool(is_firing), at_ms))


def _value(value: float) -> float | None:
    return None if math.isnan(value) else value


def _known(value: float | None) -> float:
    return math.nan if value is None else float(value)


def ids_from_json(text: str) -> set[str]:
    return set(json.loads(text))

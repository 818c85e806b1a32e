"""Alert rules that cannot be judged: figures that no broker reports, failed parts of an attached cluster. Pure.

All figures of an own broker are known; one without a value has nothing to measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import TOTALS, AlertRule, split_series, total_of
from monitoring.series import Ints
from monitoring.state import MEMBERS_UNLISTED, MEMBERS_UNREAD, ClusterState

_OF_LAST_PUTS = frozenset({"put_p99_ms"})
"""Totals that have no value while nothing is put, and are missing if no broker reports them."""
_OF_DELIVERIES = frozenset({"late_p50_ms", "late_p99_ms"})
"""Likewise for levels without deliveries."""
_SUMS = frozenset({"lag_messages", "dead_letters", "consumers"})
"""Totals summed over groups or topics that are read one by one."""
_FROM_OUTSIDE = frozenset({
    "lag_messages", "dead_letters", "producers", "consumers", "put_messages", "put_rate", "got_messages", "got_rate",
    "console_messages", "console_rate", "put_p99_ms", "disk_total_bytes", "disk_used_bytes", "disk_used_percent",
    "commit_log_min", "commit_log_max", "transactions_pending", "transactions_checking", "transactions_unread",
    "transactions_half_lag", "transactions_half_end", "transactions_op_lag",
})  # fmt: skip
"""Totals that brokers report by the protocol; all others are counted inside a broker only (docs/spec/remoting.md §2.5)."""


class Cause(Enum):
    """Why a rule cannot be judged; the values are stored."""

    INSIDE_ONLY = "inside only"
    """Only an own broker reports it."""
    NOT_TOLD = "not told"
    """The brokers of this connection do not report it."""
    AWAY = "away"
    """A part of the cluster that reports it does not answer, or not in full."""
    UNREAD = "unread"
    """Not all subjects of the rule were read yet."""
    UNLISTED = "unlisted"
    """Brokers list no client of some groups, and proxies may have some."""
    ABSENT = "absent"
    """The subject of the rule does not exist."""


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a rule cannot be judged in full; ``parts`` are the failed parts of the cluster."""

    cause: Cause
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The result for all rules.

    Attributes:
        away: Part of the cluster → why it does not answer in full.
        rules: Rules on a total that is unknown now, but known while the whole cluster answers.
        unread: Kind of subject → number of subjects whose figure is unknown.
        lacks: Id of each rule that cannot be judged in full → why; also permanent causes.
    """

    away: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[AlertRule, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict)
    lacks: Mapping[str, Lack] = field(default_factory=dict)

    @property
    def is_news(self) -> bool:
        """Whether something is missing that can become known; permanent causes are not reported."""
        return bool(self.away or self.rules or self.unread)


NOTHING = Unjudged()


class UnjudgedWatch:
    """Checks successive states."""

    def __init__(self) -> None:
        self._readings = AlertReadings()

    def look(self, rules: Iterable[AlertRule], state: ClusterState) -> Unjudged:
        """The result for the enabled rules."""
        lacks: dict[str, Lack] = {}
        unread: dict[str, set[str]] = {}
        missing: list[AlertRule] = []
        for rule in rules:
            lack, names = self._lack(rule, state) if rule.enabled else (None, ())
            if lack is None:
                continue
            lacks[rule.rule_id] = lack
            kind = split_series(rule.series)[0]
            if names:
                unread.setdefault(kind, set()).update(names)
            elif kind == TOTALS and lack.cause in (Cause.AWAY, Cause.UNREAD):
                missing.append(rule)
        counts = {kind: len(names) for kind, names in unread.items()}
        return Unjudged(state.faults, tuple(missing), counts, lacks)

    def _lack(self, rule: AlertRule, state: ClusterState) -> tuple[Lack | None, Iterable[str]]:
        """Why a rule cannot be judged, and its subjects without a value; None if all have one."""
        kind, pattern, figure = split_series(rule.series)
        if kind == TOTALS:
            return _lack_of_total(figure, state), ()
        if figure in _OF_DELIVERIES:
            # Only a source with figures of lateness has these; a level that delivered nothing has no value.
            return (Lack(Cause.INSIDE_ONLY) if state.is_from_outside and state.lateness is None else None), ()
        names, values = self._readings.of(rule, state)
        if not names and "*" not in pattern and not state.silent_parts:
            return Lack(Cause.ABSENT), ()
        if not state.is_from_outside:
            return None, ()
        missing = np.isnan(values)
        if kind == "group" and figure != "members":
            missing &= _may_lag(state, self._readings.selected(rule, state)[1])
        unread = [names[place] for place in np.flatnonzero(missing).tolist()]
        if unread and figure in _OF_MEMBERS and _are_unlisted(names, missing, state):
            return _away_or(Cause.UNLISTED, state), unread
        if unread or state.silent_parts or (kind == "level" and not names):
            return _away_or(Cause.UNREAD, state), unread
        return None, ()


_OF_MEMBERS = ("members", "unattended_messages")


def _are_unlisted(names: Sequence[str], missing: NDArray[np.bool_], state: ClusterState) -> bool:
    """Whether all groups without a value are those of which brokers list no client."""
    rows = {name: row for row, name in enumerate(state.catalog.groups)}
    return all(state.group_members[rows[names[place]]] == MEMBERS_UNLISTED for place in np.flatnonzero(missing).tolist())


def _lack_of_total(figure: str, state: ClusterState) -> Lack | None:
    if not math.isnan(total_of(state, figure)):
        return None
    if not state.is_from_outside:
        return None if figure in state.totals else Lack(Cause.NOT_TOLD)
    if figure not in _FROM_OUTSIDE:
        return Lack(Cause.INSIDE_ONLY)
    if figure in _OF_LAST_PUTS and figure in state.totals:
        return None
    if figure == "lag_messages" and not state.catalog.position_group and not state.faults:
        # No group has committed an offset, so nothing lags.
        return None
    if figure == "consumers" and (state.group_members == MEMBERS_UNLISTED).any():
        return _away_or(Cause.UNREAD if (state.group_members == MEMBERS_UNREAD).any() else Cause.UNLISTED, state)
    return _away_or(Cause.UNREAD if figure in _SUMS else Cause.NOT_TOLD, state)


def _away_or(cause: Cause, state: ClusterState) -> Lack:
    """Failed parts explain a missing figure; another cause counts only while all parts answer."""
    return Lack(Cause.AWAY, tuple(state.faults)) if state.faults else Lack(cause)


def _may_lag(state: ClusterState, rows: Ints) -> NDArray[np.bool_]:
    """Whether groups have positions: one that never committed an offset has no lag."""
    if state.faults:
        return np.ones(len(rows), bool)
    counts = np.bincount(np.array(state.catalog.position_group, np.int64), minlength=len(state.catalog.groups))
    return counts[rows] > 0

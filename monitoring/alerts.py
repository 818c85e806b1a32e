"""What needs attention: pure rules over states, and since when each holds. Knows no words; whoever shows them has those."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np

from monitoring.state import ClusterState

LAG_MESSAGES = 15_000
LAG_FOR_MS = 60_000
DISK_SHARE, DISK_SHARE_CRITICAL = 0.70, 0.85
LATENESS_MS = 1_000
DLQ_PREFIX = "%DLQ%"


class Severity(IntEnum):
    """How bad it is; the worst is the smallest."""

    CRITICAL = 0
    WARNING = 1
    NOTICE = 2


class Rule(Enum):
    """What is wrong."""

    LAG = "lag"
    NOBODY_CONSUMES = "nobody consumes"
    DEAD_LETTERS = "dead letters"
    TRANSACTIONS_GIVEN_UP = "transactions given up"
    LATE_DELIVERY = "late delivery"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that needs attention."""

    rule: Rule
    subject: str
    """Group, topic or delay level; empty for the broker itself."""
    severity: Severity
    value: float
    """Messages, ms or share of the disk, as the rule has it."""
    since_ms: int


@dataclass(frozen=True, slots=True)
class _Found:
    rule: Rule
    subject: str
    severity: Severity
    value: float
    wait_ms: int = 0
    """How long it must hold before it is told."""


class AlertBoard:
    """Applies the rules to one state after another."""

    def __init__(self) -> None:
        self._since: dict[tuple[Rule, str], int] = {}

    def look(self, state: ClusterState) -> list[Alert]:
        """What needs attention now: worst first, then what has lasted longest."""
        found = [one for rule in _RULES for one in rule(state)]
        before, self._since = self._since, {}
        alerts = []
        for one in found:
            key = (one.rule, one.subject)
            # A clock set back must not make an alert begin in the future.
            since_ms = self._since[key] = min(before.get(key, state.taken_ms), state.taken_ms)
            if state.taken_ms - since_ms >= one.wait_ms:
                alerts.append(Alert(one.rule, one.subject, one.severity, one.value, since_ms))
        return sorted(alerts, key=lambda alert: (alert.severity, alert.since_ms, -alert.value, alert.subject))


def _lagging(state: ClusterState) -> Iterator[_Found]:
    lag = np.nan_to_num(state.group_lag_messages, nan=0.0)
    for row in np.flatnonzero(lag > 0).tolist():
        if state.catalog.group_is_system and state.catalog.group_is_system[row]:
            continue
        name, value = state.catalog.groups[row], float(lag[row])
        if state.group_members[row] <= 0:
            yield _Found(Rule.NOBODY_CONSUMES, name, Severity.WARNING, value, LAG_FOR_MS)
        elif value > LAG_MESSAGES:
            yield _Found(Rule.LAG, name, Severity.CRITICAL, value, LAG_FOR_MS)


def _dead(state: ClusterState) -> Iterator[_Found]:
    for row, topic in enumerate(state.catalog.topics):
        if topic.startswith(DLQ_PREFIX) and state.topic_kept_messages[row] > 0:
            count = float(state.topic_kept_messages[row])
            yield _Found(Rule.DEAD_LETTERS, topic.removeprefix(DLQ_PREFIX), Severity.WARNING, count)


def _given_up(state: ClusterState) -> Iterator[_Found]:
    count = state.totals.get("transactions_given_up", math.nan)
    if count > 0:
        yield _Found(Rule.TRANSACTIONS_GIVEN_UP, "", Severity.WARNING, count)


def _late(state: ClusterState) -> Iterator[_Found]:
    late = state.delays.late_p99_ms
    for row in np.flatnonzero(np.nan_to_num(late, nan=0.0) > LATENESS_MS).tolist():
        yield _Found(Rule.LATE_DELIVERY, str(int(state.delays.level[row])), Severity.WARNING, float(late[row]))


def _disk(state: ClusterState) -> Iterator[_Found]:
    size = state.totals.get("disk_total_bytes", math.nan)
    share = state.totals.get("disk_used_bytes", math.nan) / size if size > 0 else math.nan
    if share > DISK_SHARE:
        yield _Found(Rule.DISK, "", Severity.CRITICAL if share > DISK_SHARE_CRITICAL else Severity.WARNING, share)


_RULES: tuple[Callable[[ClusterState], Iterator[_Found]], ...] = (_lagging, _dead, _given_up, _late, _disk)

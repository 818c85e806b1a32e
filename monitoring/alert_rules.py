"""Alert rules over any series, and what they say of one state after another. Pure: no clock, no file, no words.

A rule names a series as `monitoring.series.History` does (``totals.lag_messages``, ``group:billing.behind_ms``); ``*`` in the
subject stands for any characters, so ``group:*.lag_messages`` watches every group. Each subject is judged by itself: it is
pending while the condition holds and fires once it has held for the rule's time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from broker_core.api import UsageError
from monitoring.alerts import Severity
from monitoring.series import Floats
from monitoring.state import ClusterState

RULES_MAX = 200
NAME_MAX = 200
FOR_MS_MAX = 24 * 3_600_000
FOREVER = -1
"""``muted_until_ms`` of a rule that is muted until somebody unmutes it."""
TOTALS = "totals"
KINDS: Mapping[str, tuple[str, ...]] = {
    "topic": ("put_rate", "got_rate", "kept_messages"),
    "group": ("lag_messages", "behind_ms", "got_rate", "members"),
    "level": ("pending", "overdue_ms", "late_p50_ms", "late_p99_ms", "delivered_rate"),
}
"""What is known of each kind of subject; of ``totals``, whatever `ClusterState.totals` has."""
FORMAT_VERSION = 1


class AlertState(Enum):
    """Where a rule, or a subject of one, stands."""

    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"
    MUTED = "muted"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A condition on a series.

    Attributes:
        rule_id: Unique among the rules, for ever.
        name: As the person calls it.
        series: Which one; see the module.
        above: Whether it fires above the threshold, or below.
        threshold: In the unit of the series.
        for_ms: How long the condition must hold.
        severity: How bad it is.
        enabled: Whether it is looked at.
        desktop: Whether it tells through the desktop.
        webhook: Whether it tells the web hook.
        muted_until_ms: Tells nobody until then (ms since the epoch); 0 not muted, `FOREVER`.
    """

    rule_id: str
    name: str
    series: str
    above: bool
    threshold: float
    for_ms: int
    severity: Severity = Severity.WARNING
    enabled: bool = True
    desktop: bool = True
    webhook: bool = True
    muted_until_ms: int = 0

    def is_muted(self, now_ms: int) -> bool:
        return self.muted_until_ms == FOREVER or now_ms < self.muted_until_ms

    def holds(self, value: float) -> bool:
        """Whether the condition holds for a value; never for an unknown one."""
        return value > self.threshold if self.above else value < self.threshold


DEFAULT_RULES = (
    AlertRule("lag", "Lag of a group", "group:*.lag_messages", True, 15_000, 60_000, Severity.CRITICAL),
    AlertRule("behind", "A group is far behind", "group:*.behind_ms", True, 600_000, 60_000),
    AlertRule("dead-letters", "Dead letters", "topic:%DLQ%*.kept_messages", True, 0, 0),
    AlertRule("given-up", "Transactions given up", "totals.transactions_given_up", True, 0, 0),
    AlertRule("late", "Delayed messages are late", "level:*.late_p99_ms", True, 1_000, 30_000),
    AlertRule("disk", "The disk fills up", "totals.disk_used_percent", True, 70, 60_000, Severity.CRITICAL),
    AlertRule("put", "Puts are slow", "totals.put_p99_ms", True, 500, 60_000),
)
"""What a new window watches."""


@dataclass(frozen=True, slots=True)
class AlertChange:
    """A subject of a rule began to fire, or ceased to."""

    rule: AlertRule
    subject: str
    """Topic, group or level; empty for the broker."""
    value: float
    """At this moment; NaN when it is not known any more."""
    is_firing: bool
    at_ms: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A subject for which the condition of a rule holds."""

    subject: str
    value: float
    since_ms: int
    is_firing: bool


def readings(state: ClusterState, series: str) -> tuple[Sequence[str], Floats]:
    """Subjects that a series means, and their values (float64, NaN unknown).

    Raises:
        UsageError: It names no series.
    """
    kind, pattern, figure = split_series(series)
    if kind == TOTALS:
        return [""], np.array([state.totals.get(figure, math.nan)])
    names, values = _columns(state, kind, figure)
    if pattern == "*":
        return names, values
    rows = [row for row, name in enumerate(names) if fnmatchcase(name, pattern)]
    return [names[row] for row in rows], values[rows]


def split_series(series: str) -> tuple[str, str, str]:
    """Kind, pattern of subjects and figure.

    Raises:
        UsageError: It names no series.
    """
    subject, dot, figure = series.rpartition(".")
    kind, colon, pattern = subject.partition(":")
    if dot and figure and subject == TOTALS:
        return TOTALS, "", figure
    if dot and colon and pattern and figure in KINDS.get(kind, ()):
        return kind, pattern, figure
    raise UsageError(f"“{series}” names no series, such as totals.lag_messages or group:*.lag_messages", series=series)


def rule_about(rules: Iterable[AlertRule], series: str) -> AlertRule | None:
    """The rule that watches a series and fires first on it: of those that look from below the lowest, else the highest."""
    kind, subject, figure = split_series(series)
    watching = [rule for rule in rules if rule.enabled and _is_about(rule, kind, subject, figure)]
    above = [rule for rule in watching if rule.above]
    if above:
        return min(above, key=lambda rule: rule.threshold)
    return max(watching, key=lambda rule: rule.threshold, default=None)


def _is_about(rule: AlertRule, kind: str, subject: str, figure: str) -> bool:
    of_kind, pattern, of_figure = split_series(rule.series)
    return (of_kind, of_figure) == (kind, figure) and (kind == TOTALS or fnmatchcase(subject, pattern))


def _columns(state: ClusterState, kind: str, figure: str) -> tuple[Sequence[str], Floats]:
    if kind == "topic":
        column = {
            "put_rate": state.topic_put_rate,
            "got_rate": state.topic_got_rate,
            "kept_messages": state.topic_kept_messages,
        }[figure]
        return state.catalog.topics, _known(column)
    if kind == "group":
        members = np.maximum(state.group_members, 0)
        column = {
            "lag_messages": state.group_lag_messages,
            "behind_ms": state.group_behind_ms,
            "got_rate": state.group_got_rate,
            "members": members,
        }[figure]
        return state.catalog.groups, _known(column)
    return [str(level) for level in state.delays.level.tolist()], _known(getattr(state.delays, figure))


def _known(column: Any) -> Floats:  # noqa: ANN401  int64 with -1 for unknown, or float64
    if column.dtype.kind == "i":
        return np.where(column < 0, np.nan, column).astype(np.float64)
    values: Floats = column
    return values


class AlertWatch:
    """Applies rules to one state after another; bounded by the subjects for which a condition holds."""

    def __init__(self, rules: Iterable[AlertRule] = ()) -> None:
        self._rules: tuple[AlertRule, ...] = ()
        self._holding: dict[str, dict[str, Finding]] = {}
        self.set_rules(rules)

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        return self._rules

    def set_rules(self, rules: Iterable[AlertRule]) -> None:
        """Go on with other rules; one whose condition is another begins anew."""
        before = {rule.rule_id: rule for rule in self._rules}
        self._rules = tuple(rules)
        kept = {
            rule.rule_id for rule in self._rules if rule.enabled and _condition(before.get(rule.rule_id)) == _condition(rule)
        }
        self._holding = {rule_id: found for rule_id, found in self._holding.items() if rule_id in kept}

    def look(self, state: ClusterState) -> list[AlertChange]:
        """What began and what ceased to fire since the state before, muted rules included."""
        changes: list[AlertChange] = []
        for rule in self._rules:
            if rule.enabled:
                changes += self._look_at(rule, state)
        return changes

    def findings(self, rule_id: str) -> list[Finding]:
        """Subjects for which the condition of a rule holds, those that fire first, then the worst."""
        found = list(self._holding.get(rule_id, {}).values())
        return sorted(found, key=lambda one: (not one.is_firing, one.since_ms, one.subject))

    def state_of(self, rule: AlertRule, now_ms: int) -> AlertState:
        """Where a rule stands."""
        if not rule.enabled:
            return AlertState.OFF
        if rule.is_muted(now_ms):
            return AlertState.MUTED
        found = self._holding.get(rule.rule_id, {}).values()
        if any(one.is_firing for one in found):
            return AlertState.FIRING
        return AlertState.PENDING if found else AlertState.OK

    def _look_at(self, rule: AlertRule, state: ClusterState) -> list[AlertChange]:
        names, values = readings(state, rule.series)
        now_ms = state.taken_ms
        with np.errstate(invalid="ignore"):
            over = np.flatnonzero(values > rule.threshold if rule.above else values < rule.threshold).tolist()
        before = self._holding.get(rule.rule_id, {})
        # A value that is not known for a moment changes nothing; a subject that is gone has ceased to fire.
        unknown = {names[row]: before[names[row]] for row in np.flatnonzero(np.isnan(values)).tolist() if names[row] in before}
        holding, changes = dict(unknown), []
        for row in over:
            subject, value = names[row], float(values[row])
            known = before.get(subject)
            # A clock set back must not make an alert begin in the future.
            since_ms = now_ms if known is None else min(known.since_ms, now_ms)
            firing = now_ms - since_ms >= rule.for_ms
            holding[subject] = Finding(subject, value, since_ms, firing)
            if firing and (known is None or not known.is_firing):
                changes.append(AlertChange(rule, subject, value, True, now_ms))
        at = {name: row for row, name in enumerate(names)} if before else {}
        for subject, found in before.items():
            if found.is_firing and subject not in holding:
                value = float(values[at[subject]]) if subject in at else math.nan
                changes.append(AlertChange(rule, subject, value, False, now_ms))
        self._holding[rule.rule_id] = holding
        return changes


def _condition(rule: AlertRule | None) -> tuple[object, ...] | None:
    return None if rule is None else (rule.series, rule.above, rule.threshold, rule.for_ms, rule.enabled)


def check_rule(rule: AlertRule) -> None:
    """Raise where a rule makes no sense.

    Raises:
        UsageError: Says what is wrong.
    """
    split_series(rule.series)
    if not rule.name.strip() or len(rule.name) > NAME_MAX:
        raise UsageError(f"a rule has a name of 1 to {NAME_MAX} characters")
    if not math.isfinite(rule.threshold):
        raise UsageError("the threshold is no number")
    if not 0 <= rule.for_ms <= FOR_MS_MAX:
        raise UsageError(f"a condition holds for 0 to {FOR_MS_MAX // 1_000:,} s, not {rule.for_ms / 1_000:,.0f} s")


# ---- the file ----------------------------------------------------------------------------------------------------------


def rules_to_json(rules: Iterable[AlertRule]) -> str:
    """Rules as a file keeps them."""
    entries = [{**asdict(rule), "severity": rule.severity.name} for rule in rules]
    return json.dumps({"version": FORMAT_VERSION, "rules": entries}, ensure_ascii=False, indent=1) + "\n"


def rules_from_json(text: str) -> list[AlertRule]:
    """Rules of a file.

    Raises:
        UsageError: It is no such file, or a rule in it makes no sense.
    """
    try:
        document = json.loads(text)
        rules = [_rule(entry) for entry in document["rules"][:RULES_MAX]]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"this is no file of alert rules: {error}") from error
    for rule in rules:
        check_rule(rule)
    if len({rule.rule_id for rule in rules}) != len(rules):
        raise UsageError("two alert rules have the same id")
    return rules


def _rule(entry: Mapping[str, Any]) -> AlertRule:
    return AlertRule(
        rule_id=str(entry["rule_id"]),
        name=str(entry["name"]),
        series=str(entry["series"]),
        above=bool(entry["above"]),
        threshold=float(entry["threshold"]),
        for_ms=int(entry["for_ms"]),
        severity=Severity[entry.get("severity", "WARNING")],
        enabled=bool(entry.get("enabled", True)),
        desktop=bool(entry.get("desktop", True)),
        webhook=bool(entry.get("webhook", True)),
        muted_until_ms=int(entry.get("muted_until_ms", 0)),
    )

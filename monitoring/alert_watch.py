"""`AlertWatch`: what alert rules say of one state after another. Pure: no clock, no file, no language.

Each subject of a rule is judged by itself. It is pending while the condition holds, fires once it has held for the rule's
time, and is told of once, unless it is muted; the mute over, it is told of if it still fires. What was told of is told of again
when it is over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import AlertRule, split_series, unit_of
from monitoring.series import Floats
from monitoring.state import ClusterState

GAP_MS = 60_000
"""A silence that is longer says nothing of what held meanwhile: what was pending begins anew. As long, a subject that fired
before a restart may be missing before it counts as gone: the first figures of a cluster are not complete."""

RESOLVED_MS = 900_000
"""How long a rule says that its alert is over."""


class AlertState(Enum):
    """Where a rule, or a subject of one, stands."""

    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"
    MUTED = "muted"
    RESOLVED = "resolved"
    UNJUDGED = "unjudged"
    """It cannot be judged, so that nothing fires says nothing."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class AlertChange:
    """A subject of a rule began to fire, or ceased to: something to tell."""

    rule: AlertRule
    """As it was then."""
    subject: str
    """Topic, group or level; empty for the broker."""
    value: float
    """At this moment; NaN when it is not known any more."""
    is_firing: bool
    at_ms: int


@dataclass(frozen=True, slots=True)
class AlertFinding:
    """A subject for which the condition of a rule holds."""

    subject: str
    value: float
    since_ms: int
    is_firing: bool
    is_told: bool = False
    """Whether somebody was told that it fires."""


class AlertWatch:
    """Applies rules to one state after another; bounded by the subjects for which a condition holds."""

    def __init__(self, rules: Iterable[AlertRule] = ()) -> None:
        self._rules: tuple[AlertRule, ...] = tuple(rules)
        self._holding: dict[str, dict[str, AlertFinding]] = {}
        self._readings = AlertReadings()
        self._unknown_ms: dict[tuple[str, str], int] = {}
        """(rule id, subject) of findings whose value is not known → since when."""
        self._restored: set[tuple[str, str]] = set()
        self._restored_until_ms = 0
        self._looked_ms = -1
        self.touched: set[tuple[str, str]] = set()
        """(rule id, subject) of findings that came, went, began to fire or were told since whoever keeps them cleared this."""

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        return self._rules

    @property
    def looked_ms(self) -> int:
        """Time of the newest state; -1 before there was one."""
        return self._looked_ms

    @property
    def is_pending(self) -> bool:
        """Whether something holds that does not fire yet."""
        return any(not one.is_firing for found in self._holding.values() for one in found.values())

    def restore(self, findings: Mapping[str, Iterable[AlertFinding]], looked_ms: int) -> None:
        """Go on where another watch of the same rules had come to.

        Args:
            findings: By rule id.
            looked_ms: Its last state; -1 unknown.
        """
        known = {rule.rule_id for rule in self._rules if rule.enabled}
        self._holding = {key: {one.subject: one for one in found} for key, found in findings.items() if key in known}
        self._restored = {(key, subject) for key, found in self._holding.items() for subject in found}
        self._restored_until_ms = 0
        self._looked_ms = looked_ms

    def set_rules(self, rules: Iterable[AlertRule]) -> list[AlertChange]:
        """Go on with other rules; one whose condition is another begins anew.

        Returns:
            What was told of and is not watched in this way any more.
        """
        before = {rule.rule_id: rule for rule in self._rules}
        self._rules = tuple(rules)
        kept = {
            rule.rule_id for rule in self._rules if rule.enabled and _condition(before.get(rule.rule_id)) == _condition(rule)
        }
        over = []
        for rule_id in [rule_id for rule_id in self._holding if rule_id not in kept]:
            for subject, found in self._holding.pop(rule_id).items():
                self.touched.add((rule_id, subject))
                self._unknown_ms.pop((rule_id, subject), None)
                if found.is_told:
                    over.append(AlertChange(before[rule_id], subject, math.nan, False, max(self._looked_ms, found.since_ms)))
        return over

    def look(self, state: ClusterState) -> list[AlertChange]:
        """What is to be told of since the state before."""
        if abs(state.taken_ms - self._looked_ms) > GAP_MS:
            self._begin_pending_anew(state.taken_ms)
        if not self._restored_until_ms:
            self._restored_until_ms = state.taken_ms + GAP_MS
        elif state.taken_ms >= self._restored_until_ms and not state.silent_parts:
            self._restored.clear()
        changes: list[AlertChange] = []
        for rule in self._rules:
            if rule.enabled:
                changes += self._look_at(rule, state)
        self._looked_ms = state.taken_ms
        return changes

    def finding(self, rule_id: str, subject: str) -> AlertFinding | None:
        """What is found of a subject."""
        return self._holding.get(rule_id, {}).get(subject)

    def findings(self, rule_id: str) -> list[AlertFinding]:
        """Subjects for which the condition of a rule holds, those that fire first, then the longest."""
        found = list(self._holding.get(rule_id, {}).values())
        return sorted(found, key=lambda one: (not one.is_firing, one.since_ms, one.subject))

    # ---- inside --------------------------------------------------------------------------------------------------------

    def _begin_pending_anew(self, now_ms: int) -> None:
        for rule_id, found in self._holding.items():
            for subject, one in found.items():
                if not one.is_firing:
                    found[subject] = replace(one, since_ms=now_ms)
                    self.touched.add((rule_id, subject))

    def _look_at(self, rule: AlertRule, state: ClusterState) -> list[AlertChange]:
        names, values = self._readings.of(rule, state)
        now_ms, rule_id = state.taken_ms, rule.rule_id
        with np.errstate(invalid="ignore"):
            over = np.flatnonzero(values > rule.threshold if rule.above else values < rule.threshold).tolist()
        before = self._holding.get(rule_id, {})
        at = {name: row for row, name in enumerate(names)} if before else {}
        holding = {subject: one for subject, one in before.items() if self._stays(rule_id, one, at, values, now_ms)}
        changes = []
        for row in over:
            subject, known = names[row], before.get(names[row])
            # A clock set back must not make an alert begin in the future.
            since_ms = now_ms if known is None else min(known.since_ms, now_ms)
            # What fired once does so until the condition ceases.
            firing = now_ms - since_ms >= rule.for_ms or (known is not None and known.is_firing)
            told = known is not None and known.is_told
            tells = firing and not told and not rule.is_muted(now_ms, subject)
            holding[subject] = one = AlertFinding(subject, float(values[row]), since_ms, firing, told or tells)
            if tells:
                changes.append(AlertChange(rule, subject, one.value, True, now_ms))
            if known is None or (known.is_firing, known.is_told, known.since_ms) != (firing, one.is_told, since_ms):
                self.touched.add((rule_id, subject))
        for subject, one in before.items():
            if subject not in holding:
                self.touched.add((rule_id, subject))
                if one.is_told:
                    value = float(values[at[subject]]) if subject in at else math.nan
                    changes.append(AlertChange(rule, subject, value, False, now_ms))
        self._holding[rule_id] = holding
        return changes

    def _stays(self, rule_id: str, one: AlertFinding, at: Mapping[str, int], values: Floats, now_ms: int) -> bool:
        """Whether a finding stays although the condition is not seen to hold."""
        key, row = (rule_id, one.subject), at.get(one.subject)
        if row is None:
            # A subject that is gone has ceased to fire, unless it has not been seen since the start.
            is_unknown = key in self._restored
        else:
            self._restored.discard(key)
            is_unknown = math.isnan(values[row])
        if not is_unknown:
            self._unknown_ms.pop(key, None)
            return False
        unknown_ms = now_ms - self._unknown_ms.setdefault(key, now_ms)
        # A value that is not known ends nothing; but of what is pending nobody knows for long whether it holds meanwhile.
        return one.is_firing or unknown_ms <= GAP_MS


def state_of(
    rule: AlertRule, findings: Iterable[AlertFinding], now_ms: int, resolved_ms: int = 0, *, is_judged: bool = True
) -> AlertState:
    """Where a rule stands. What is found counts also where not all could be looked at.

    Args:
        rule: The rule.
        findings: Of it.
        now_ms: ms since the epoch.
        resolved_ms: When the newest of its alerts was over; 0 never, or it fires again.
        is_judged: Whether all that it is about is known.
    """
    if not rule.enabled:
        return AlertState.OFF
    if rule.is_muted(now_ms):
        return AlertState.MUTED
    found = list(findings)
    firing = [one for one in found if one.is_firing]
    if any(not rule.is_muted(now_ms, one.subject) for one in firing):
        return AlertState.FIRING
    if len(firing) < len(found):
        return AlertState.PENDING
    if firing:
        return AlertState.MUTED
    if not is_judged:
        return AlertState.UNJUDGED
    return AlertState.RESOLVED if resolved_ms and 0 <= now_ms - resolved_ms <= RESOLVED_MS else AlertState.OK


def _condition(rule: AlertRule | None) -> tuple[object, ...] | None:
    return None if rule is None else (rule.series, rule.above, rule.threshold, rule.for_ms, rule.enabled)


# ---- in words ----------------------------------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """A value or a threshold of any series; a dash for an unknown one."""
    return "—" if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.4g}"


def amount_text(series: str, value: float) -> str:
    """A value or a threshold of a series, with its unit."""
    return number_text(value) if math.isnan(value) else f"{number_text(value)} {unit_of(series)}".rstrip()


def change_text(change: AlertChange) -> str:
    """As the history of events keeps it."""
    rule, value = change.rule, amount_text(change.rule.series, change.value)
    # A topic or a group has a name; a delay level is a number, which says nothing alone.
    kind = "level " if split_series(rule.series)[0] == "level" else ""
    name = f"{rule.name}: {kind}{change.subject}" if change.subject else rule.name
    if not change.is_firing:
        return f"{name} is over, now {value}"
    return f"{name}: {value}, {'above' if rule.above else 'below'} {amount_text(rule.series, rule.threshold)}"

"""`AlertWatch` judges successive states by alert rules. Pure: no clock, no file, no language.

Each subject of a rule is judged separately. It is pending while the condition holds, fires after the rule's time, and is then
reported once. A muted subject is reported after the mute if it still fires. The end of a reported alert is reported too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import AlertRule, counted_of, split_series, unit_of
from monitoring.series import Floats
from monitoring.state import ClusterState

GAP_MS = 60_000
"""After a longer silence it is unknown whether a condition held meanwhile, so pending conditions start again. A subject that
fired before a restart may be missing for as long, because the first figures of a cluster are incomplete.
"""

RESOLVED_MS = 900_000
"""How long a rule is shown as resolved."""


class AlertState(Enum):
    OK = "ok"
    PENDING = "pending"
    FIRING = "firing"
    MUTED = "muted"
    RESOLVED = "resolved"
    UNJUDGED = "unjudged"
    """The rule cannot be judged, so the absence of alerts means nothing."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class AlertChange:
    """A subject of a rule began or ceased to fire."""

    rule: AlertRule
    """The rule at that time."""
    subject: str
    """Topic, group or level; empty for the broker."""
    value: float
    """NaN if it is no longer known."""
    is_firing: bool
    at_ms: int


@dataclass(frozen=True, slots=True)
class AlertFinding:
    subject: str
    value: float
    since_ms: int
    is_firing: bool
    is_told: bool = False
    """Whether it was reported that the subject fires."""


class AlertWatch:
    """Applies rules to successive states; its size is bounded by the subjects for which a condition holds."""

    def __init__(self, rules: Iterable[AlertRule] = ()) -> None:
        self._rules: tuple[AlertRule, ...] = tuple(rules)
        self._holding: dict[str, dict[str, AlertFinding]] = {}
        self._readings = AlertReadings()
        self._unknown_ms: dict[tuple[str, str], int] = {}
        """(rule id, subject) of findings with an unknown value → since when."""
        self._restored: set[tuple[str, str]] = set()
        self._restored_until_ms = 0
        self._looked_ms = -1
        self.touched: set[tuple[str, str]] = set()
        """(rule id, subject) of findings that began, ended, fired or were reported since the owner last cleared this set."""

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        return self._rules

    @property
    def looked_ms(self) -> int:
        """Time of the newest state; -1 before the first."""
        return self._looked_ms

    @property
    def is_pending(self) -> bool:
        """Whether a condition holds that does not fire yet."""
        return any(not one.is_firing for found in self._holding.values() for one in found.values())

    def restore(self, findings: Mapping[str, Iterable[AlertFinding]], looked_ms: int) -> None:
        """Continue from the findings of an earlier watch, by rule id; ``looked_ms`` is its last state, -1 unknown."""
        known = {rule.rule_id for rule in self._rules if rule.enabled}
        self._holding = {key: {one.subject: one for one in found} for key, found in findings.items() if key in known}
        self._restored = {(key, subject) for key, found in self._holding.items() for subject in found}
        self._restored_until_ms = 0
        self._looked_ms = looked_ms

    def set_rules(self, rules: Iterable[AlertRule]) -> list[AlertChange]:
        """Replace the rules; a rule with another condition starts again.

        Returns:
            The end of each reported alert that is no longer watched in this way.
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
        """Judge a state; the changes to report since the previous one."""
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
        return self._holding.get(rule_id, {}).get(subject)

    def findings(self, rule_id: str) -> list[AlertFinding]:
        """Subjects for which a rule's condition holds: firing ones first, then the longest."""
        found = list(self._holding.get(rule_id, {}).values())
        return sorted(found, key=lambda one: (not one.is_firing, one.since_ms, one.subject))

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
        """Whether a finding stays although its condition does not hold in this state."""
        key, row = (rule_id, one.subject), at.get(one.subject)
        if row is None:
            # A missing subject has ceased to fire, unless it has not been seen since the start.
            is_unknown = key in self._restored
        else:
            self._restored.discard(key)
            is_unknown = math.isnan(values[row])
        if not is_unknown:
            self._unknown_ms.pop(key, None)
            return False
        unknown_ms = now_ms - self._unknown_ms.setdefault(key, now_ms)
        # An unknown value ends no alert; a pending condition is dropped after a while because it may not have held meanwhile.
        return one.is_firing or unknown_ms <= GAP_MS


def state_of(
    rule: AlertRule, findings: Iterable[AlertFinding], now_ms: int, resolved_ms: int = 0, *, is_judged: bool = True
) -> AlertState:
    """State of a rule. Findings count even if some of its subjects could not be judged.

    ``resolved_ms`` is when its newest alert ended; 0: never, or it fires again.
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
    """A value or threshold of any series; a dash for an unknown one."""
    return "—" if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.4g}"


def amount_text(series: str, value: float) -> str:
    """A value or threshold of a series, with its unit."""
    return number_text(value) if math.isnan(value) else f"{number_text(value)} {unit_of(series)}".rstrip()


def full_amount_text(series: str, value: float) -> str:
    """A value with its unit, or with what it counts."""
    things = "" if math.isnan(value) else counted_of(series)
    return f"{amount_text(series, value)} {things if value != 1 else things.removesuffix('s')}".rstrip()


def change_text(change: AlertChange) -> str:
    """The text of a change in the history of events."""
    rule, value = change.rule, full_amount_text(change.rule.series, change.value)
    # A topic or a group has a name; a delay level is a number, which says nothing alone.
    kind = "level " if split_series(rule.series)[0] == "level" else ""
    name = f"{rule.name}: {kind}{change.subject}" if change.subject else rule.name
    if not change.is_firing:
        return f"{name} is over, now {value}"
    return f"{name}: {value}, {'above' if rule.above else 'below'} {amount_text(rule.series, rule.threshold)}"

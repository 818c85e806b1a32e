"""What alert rules cannot judge of an attached cluster: parts that are away, and figures that are not known. Pure.

The figures of an own broker are all known; one without a value has nothing to measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import TOTALS, AlertRule, split_series
from monitoring.series import Ints
from monitoring.state import ClusterState

_OF_LAST_PUTS = frozenset({"put_p50_ms", "put_p99_ms", "put_max_ms", "flush_max_ms"})
"""Totals that have no value while nothing is put, and are missing where nobody tells them."""
_OF_DELIVERIES = frozenset({"late_p50_ms", "late_p99_ms"})
"""Likewise of levels that deliver nothing."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """What is missing.

    Attributes:
        away: Part of the cluster → why it does not answer, or not in full.
        rules: Rules whose figure is not known of the whole cluster.
        unread: Kind of subject → how many have a figure that a rule is about and that is not known.
    """

    away: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[AlertRule, ...] = ()
    unread: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.away or self.rules or self.unread)


NOTHING = Unjudged()


class UnjudgedWatch:
    """Looks at one state after another."""

    def __init__(self) -> None:
        self._readings = AlertReadings()

    def look(self, rules: Iterable[AlertRule], state: ClusterState) -> Unjudged:
        """What the rules that are on cannot judge now; nothing of an own broker."""
        if not state.is_from_outside:
            return NOTHING
        untold: list[AlertRule] = []
        unread: dict[str, set[str]] = {}
        for rule in rules:
            if rule.enabled:
                kind, _pattern, figure = split_series(rule.series)
                if not _is_told(kind, figure, state):
                    untold.append(rule)
                elif kind != TOTALS and figure not in _OF_DELIVERIES:
                    unread.setdefault(kind, set()).update(self._unread(rule, kind, state))
        return Unjudged(state.faults, tuple(untold), {kind: len(names) for kind, names in unread.items() if names})

    def _unread(self, rule: AlertRule, kind: str, state: ClusterState) -> list[str]:
        names, values = self._readings.of(rule, state)
        missing = np.isnan(values)
        if kind == "group":
            missing &= _may_lag(state, self._readings.selected(rule, state)[1])
        return [names[place] for place in np.flatnonzero(missing).tolist()]


def _is_told(kind: str, figure: str, state: ClusterState) -> bool:
    """Whether somebody tells a figure at all."""
    if kind == TOTALS:
        if figure == "lag_messages" and not state.catalog.position_group:
            return True
        return figure in state.totals and (figure in _OF_LAST_PUTS or not math.isnan(state.totals[figure]))
    return figure not in _OF_DELIVERIES or state.lateness is not None


def _may_lag(state: ClusterState, rows: Ints) -> NDArray[np.bool_]:
    """Of groups, whether they have positions: one that never committed an offset has no lag."""
    if state.faults:
        return np.ones(len(rows), bool)
    counts = np.bincount(np.array(state.catalog.position_group, np.int64), minlength=len(state.catalog.groups))
    return counts[rows] > 0

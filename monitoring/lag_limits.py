"""`LagLimits`: the lag from which a group is coloured, which is where its alert rule would fire. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from monitoring.alert_rules import DEFAULT_RULES, AlertRule, rule_about, split_series
from monitoring.state import ClusterState

TOTAL = "totals.lag_messages"


class LagLimits:
    """Limits in messages by the alert rules, the shipped ones until those of the cluster are known; infinite without a rule."""

    def __init__(self, rules: Iterable[AlertRule] = DEFAULT_RULES) -> None:
        self._rules = [rule for rule in rules if rule.above]
        # Parsed once instead of for each of 2,000 groups.
        self._rules_of_groups = [rule for rule in self._rules if split_series(rule.series)[::2] == ("group", "lag_messages")]
        self._of_group: dict[str, float] = {}

    def of_group(self, group: str) -> float:
        """Limit of a group's whole lag."""
        known = self._of_group.get(group)
        if known is None:
            known = self._of_group[group] = self._limit(f"group:{group}.lag_messages", self._rules_of_groups)
        return known

    def of_queue(self, group: str, queues: int) -> float:
        """Limit of a group's lag in one queue: its even share of the group's."""
        return self.of_group(group) / max(1, queues)

    @cached_property
    def of_all(self) -> float:
        """Limit of the lag of all groups together."""
        return self._limit(TOTAL, self._rules)

    def is_over(self, state: ClusterState) -> bool:
        """Whether a user's group, or the sum of all, is over its limit."""
        if state.totals.get("lag_messages", math.nan) > self.of_all:
            return True
        groups, system = state.catalog.groups, state.catalog.group_is_system or [False] * len(state.catalog.groups)
        lag = state.group_lag_messages
        # Looking up the rule of each group by name took a tenth of a first paint for 2,000 groups.
        lowest = min((rule.threshold for rule in self._rules_of_groups), default=math.inf)
        return any(not system[place] and lag[place] > self.of_group(groups[place]) for place in np.flatnonzero(lag > lowest))

    @staticmethod
    def _limit(series: str, rules: Iterable[AlertRule]) -> float:
        rule = rule_about(rules, series)
        return math.inf if rule is None else rule.threshold


SHIPPED = LagLimits()

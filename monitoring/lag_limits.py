"""`LagLimits`: from which lag on a group takes a colour: where the alert rule that watches it would fire. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from monitoring.alert_rules import DEFAULT_RULES, AlertRule, rule_about, split_series
from monitoring.state import ClusterState

TOTAL = "totals.lag_messages"


class LagLimits:
    """Limits in messages; infinite where no rule looks, so that nothing takes a colour there.

    Args:
        rules: The alert rules; by default the shipped ones, for as long as those of the cluster are not known.
    """

    def __init__(self, rules: Iterable[AlertRule] = DEFAULT_RULES) -> None:
        self._rules = [rule for rule in rules if rule.above]
        # Taken apart once and not for each of 2,000 groups.
        self._rules_of_groups = [rule for rule in self._rules if split_series(rule.series)[::2] == ("group", "lag_messages")]
        self._of_group: dict[str, float] = {}

    def of_group(self, group: str) -> float:
        """Of a group's whole lag."""
        known = self._of_group.get(group)
        if known is None:
            known = self._of_group[group] = self._limit(f"group:{group}.lag_messages", self._rules_of_groups)
        return known

    def of_queue(self, group: str, queues: int) -> float:
        """Of a group's lag in one of its queues: its even share of the group's."""
        return self.of_group(group) / max(1, queues)

    @cached_property
    def of_all(self) -> float:
        """Of the lag of all groups together, if a rule looks at that."""
        return self._limit(TOTAL, self._rules)

    def is_over(self, state: ClusterState) -> bool:
        """Whether a group of users has more than its limit, or all together."""
        if state.totals.get("lag_messages", math.nan) > self.of_all:
            return True
        groups, system = state.catalog.groups, state.catalog.group_is_system or [False] * len(state.catalog.groups)
        lag = state.group_lag_messages
        # Which rule watches a group is looked for by its name: 2,000 of them took a tenth of a first paint.
        lowest = min((rule.threshold for rule in self._rules_of_groups), default=math.inf)
        return any(not system[place] and lag[place] > self.of_group(groups[place]) for place in np.flatnonzero(lag > lowest))

    @staticmethod
    def _limit(series: str, rules: Iterable[AlertRule]) -> float:
        rule = rule_about(rules, series)
        return math.inf if rule is None else rule.threshold


SHIPPED = LagLimits()

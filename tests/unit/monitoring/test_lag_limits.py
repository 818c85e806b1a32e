"""From which lag on a group takes a colour: by the alert rule that watches it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from monitoring.alert_rules import AlertRule
from monitoring.lag_limits import SHIPPED, LagLimits
from tests.support.fake_source import fake_state


def rule(series: str, threshold: float, **values: bool) -> AlertRule:
    made = AlertRule(f"{series} {threshold}", "Lag", series, above=True, threshold=threshold, for_ms=0)
    return replace(made, **values)


def with_lag(group: str, lag: float):
    """The fake state with this lag of one group and none elsewhere."""
    state = fake_state()
    lags = np.zeros_like(state.group_lag_messages)
    lags[state.catalog.groups.index(group)] = lag
    return replace(state, group_lag_messages=lags, totals=state.totals | {"lag_messages": lag})


def test_the_rule_that_fires_first_decides():
    limits = LagLimits([rule("group:*.lag_messages", 15_000), rule("group:pay*.lag_messages", 100)])
    assert limits.of_group("payment-settle") == 100
    assert limits.of_group("stock-worker") == 15_000


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [rule("group:*.lag_messages", 10, enabled=False)],
        [rule("group:*.lag_messages", 10, above=False)],
        [rule("group:*.behind_ms", 10)],
        [rule("group:other.lag_messages", 10)],
    ],
)
def test_nothing_takes_a_colour_where_no_rule_looks(rules):
    limits = LagLimits(rules)
    assert limits.of_group("payment-settle") == math.inf
    assert not limits.is_over(with_lag("payment-settle", 1e9))


def test_a_queue_has_its_share_of_the_limit():
    limits = LagLimits([rule("group:*.lag_messages", 800)])
    assert limits.of_queue("payment-settle", 8) == 100
    assert limits.of_queue("payment-settle", 0) == 800


def test_one_group_above_its_own_limit_is_enough():
    limits = LagLimits([rule("group:payment-settle.lag_messages", 100)])
    assert limits.is_over(with_lag("payment-settle", 101))
    assert not limits.is_over(with_lag("payment-settle", 100))
    assert not limits.is_over(with_lag("stock-worker", 1e6))


def test_a_rule_on_all_lag_counts_too():
    limits = LagLimits([rule("totals.lag_messages", 100)])
    assert limits.is_over(with_lag("stock-worker", 101))
    assert limits.of_group("stock-worker") == math.inf


def test_the_shipped_rule_is_the_limit_until_the_rules_are_known():
    assert SHIPPED.of_group("anything") == 15_000


def test_unknown_lag_is_not_over_a_limit():
    assert not SHIPPED.is_over(with_lag("payment-settle", math.nan))

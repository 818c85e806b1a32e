"""What alert rules cannot judge of a cluster that is looked at from outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitoring.alert_rules import DEFAULT_RULES
from monitoring.state import MEMBERS_UNREAD
from monitoring.unjudged import NOTHING, UnjudgedWatch
from tests.support.fake_source import fake_state

AWAY = {"b": "no answer since 12 s: cannot connect to h:1"}


def outside(**changes):
    """Figures of an attached cluster, all of them known."""
    state = fake_state()
    catalog = replace(state.catalog, brokers=["a", "b"])
    known = np.nan_to_num(state.group_lag_messages)
    members = np.maximum(state.group_members, 0)
    whole = replace(
        state, catalog=catalog, group_lag_messages=known, group_behind_ms=known, group_members=members,
        totals={**state.totals, "transactions_given_up": 0.0},
    )  # fmt: skip
    return replace(whole, **changes)


def look(state, rules=DEFAULT_RULES):
    return UnjudgedWatch().look(rules, state)


def names(found):
    return [rule.rule_id for rule in found.rules]


def test_all_is_judged_where_all_is_known():
    assert look(outside()) == NOTHING
    assert not NOTHING


def test_the_figures_of_an_own_broker_are_known():
    state = fake_state()
    nothing = replace(state, totals={}, group_lag_messages=state.group_lag_messages * np.nan, lateness=None)
    assert look(nothing) is NOTHING


def test_a_part_that_is_away_is_named_with_its_reason():
    assert look(outside(faults=AWAY)).away == AWAY


def test_what_brokers_do_not_tell_is_named_by_its_rules():
    state = outside(lateness=None)
    totals = {key: value for key, value in state.totals.items() if key != "transactions_given_up"}
    found = look(replace(state, totals=totals))
    assert names(found) == ["given-up", "late"]
    assert found.unread == {}


def test_a_minute_without_puts_is_judged_and_one_that_is_not_told_is_not():
    state = outside()
    assert not look(replace(state, totals={**state.totals, "put_p99_ms": float("nan")}))
    totals = {key: value for key, value in state.totals.items() if key != "put_p99_ms"}
    assert names(look(replace(state, totals=totals))) == ["put"]


def test_a_rule_that_is_off_misses_nothing():
    state = outside(lateness=None)
    off = [replace(rule, enabled=rule.rule_id != "late") for rule in DEFAULT_RULES]
    assert not look(state, off)


def test_groups_that_were_not_read_are_counted_once():
    state = outside()
    lag = state.group_lag_messages.copy()
    lag[:2] = np.nan
    assert look(replace(state, group_lag_messages=lag, group_behind_ms=lag)).unread == {"group": 2}


def test_a_group_that_never_committed_has_no_lag():
    state = outside()
    lag = state.group_lag_messages.copy()
    lag[0] = np.nan
    positions = [group for group in state.catalog.position_group if group != 0]
    catalog = replace(state.catalog, position_group=positions)
    bare = replace(state, catalog=catalog, group_lag_messages=lag)
    assert not look(bare)
    # While a part is away its offsets may be there.
    assert look(replace(bare, faults=AWAY)).unread == {"group": 1}


def test_members_that_were_not_read_leave_open_whether_anybody_consumes():
    state = outside()
    members, lag = state.group_members.copy(), state.group_lag_messages.copy()
    members[:2] = MEMBERS_UNREAD
    lag[:2] = 5, 0
    found = look(replace(state, group_members=members, group_lag_messages=lag, group_behind_ms=lag))
    assert found.unread == {"group": 1}, "a group without a lag is attended or need not be"


def test_dead_letters_of_a_queue_that_was_not_read_are_not_none():
    state = outside()
    kept = state.topic_kept_messages.copy()
    dead = [name.startswith("%DLQ%") for name in state.catalog.topics]
    kept[dead] = -1
    assert look(replace(state, topic_kept_messages=kept)).unread == {"topic": sum(dead)}
    assert sum(dead) > 0


@pytest.mark.parametrize("kept", [0, 5])
def test_other_topics_are_nobodys_business(kept):
    state = outside()
    assert not look(replace(state, topic_kept_messages=np.where(state.topic_kept_messages < 0, kept, kept)))

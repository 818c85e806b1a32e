"""Alert rules over any series."""

import math
from dataclasses import replace

import numpy as np
import pytest

from broker_core.api import UsageError
from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import (
    DEFAULT_RULES,
    FOREVER,
    MUTES_MAX,
    AlertRule,
    Severity,
    check_rule,
    figures_of,
    rule_about,
    rules_from_json,
    rules_to_json,
)
from monitoring.state import MEMBERS_UNREAD
from tests.support.fake_source import TAKEN_MS, fake_state

STATE = fake_state()
PUT_RATE = AlertRule("r", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=2_000)


def at(milliseconds: int, **totals: float):
    return replace(STATE, taken_ms=TAKEN_MS + milliseconds, totals={**STATE.totals, **totals})


@pytest.mark.parametrize("rule", DEFAULT_RULES, ids=lambda rule: rule.rule_id)
def test_the_rules_of_a_new_window_name_series_that_there_are(rule):
    check_rule(rule)
    names, values = AlertReadings().of(rule, STATE)
    assert len(names) == len(values) > 0
    assert rule.series.startswith("level") or not np.isnan(values).all()


@pytest.mark.parametrize(
    "series", ["", "lag", "totals", "totals.", "group:.lag_messages", "group:x.color", "comet:x.lag", "group.lag_messages"]
)
def test_what_is_no_series_is_refused(series):
    with pytest.raises(UsageError):
        AlertReadings().of(replace(PUT_RATE, series=series), STATE)


@pytest.mark.parametrize(
    "change", [{"name": " "}, {"threshold": math.inf}, {"for_ms": -1}, {"for_ms": 10**12}, {"series": "x"}]
)
def test_a_rule_that_makes_no_sense_is_refused(change):
    with pytest.raises(UsageError):
        check_rule(replace(PUT_RATE, **change))


def test_rules_survive_their_file():
    rules = [*DEFAULT_RULES, replace(PUT_RATE, severity=Severity.NOTICE, muted_until_ms=FOREVER, desktop=False)]
    assert rules_from_json(rules_to_json(rules)) == rules


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rules":[{}]}', '{"rules":[{"rule_id":"a"}]}', '{"rules":3}'])
def test_what_is_no_file_of_rules_is_refused(text):
    with pytest.raises(UsageError):
        rules_from_json(text)


def test_two_rules_of_one_id_are_refused():
    with pytest.raises(UsageError, match="same id"):
        rules_from_json(rules_to_json([PUT_RATE, PUT_RATE]))


def test_the_rule_about_a_series_is_the_one_that_fires_first():
    rules = (
        AlertRule("all", "All", "group:*.lag_messages", True, 15_000, 0),
        AlertRule("one", "One", "group:billing.lag_messages", True, 900, 0),
        AlertRule("off", "Off", "group:billing.lag_messages", True, 10, 0, enabled=False),
        AlertRule("few", "Few", "group:*.members", False, 2, 0),
        AlertRule("none", "None", "group:billing.members", False, 1, 0),
    )
    assert rule_about(rules, "group:billing.lag_messages") is rules[1]
    assert rule_about(rules, "group:ledger.lag_messages") is rules[0]
    assert rule_about(rules, "group:billing.members") is rules[3]
    assert rule_about(rules, "topic:billing.put_rate") is None
    assert rule_about(rules, "totals.lag_messages") is None


def test_mutes_are_set_ended_and_dropped_when_they_are_over():
    rule = PUT_RATE.muted("a", TAKEN_MS + 10, TAKEN_MS).muted("b", FOREVER, TAKEN_MS)
    assert [rule.is_muted(TAKEN_MS + 10, subject) for subject in ("a", "b", "c", "")] == [False, True, False, False]
    later = rule.muted("c", FOREVER, TAKEN_MS + 10)
    assert later.mutes == (("b", FOREVER), ("c", FOREVER))
    assert later.muted("b", 0, TAKEN_MS).mutes == (("c", FOREVER),)
    whole = later.muted("", TAKEN_MS + 10, TAKEN_MS)
    assert whole.is_muted(TAKEN_MS, "anything")
    assert whole.muted("", 0, TAKEN_MS).mutes == ()
    assert rules_from_json(rules_to_json([later])) == [later]


def test_too_many_mutes_are_refused():
    rule = replace(PUT_RATE, mutes=tuple((f"s{number}", FOREVER) for number in range(MUTES_MAX)))
    with pytest.raises(UsageError, match="mute the whole rule"):
        rule.muted("one more", FOREVER, TAKEN_MS)


def test_rules_of_a_newer_format_are_refused():
    with pytest.raises(UsageError, match="format 2"):
        rules_from_json('{"version": 2, "rules": []}')


def test_nobody_consumes_is_not_said_of_members_that_were_not_read():
    state = fake_state()
    members, lag = state.group_members.copy(), state.group_lag_messages.copy()
    members[:4] = MEMBERS_UNREAD, MEMBERS_UNREAD, -1, 2
    lag[:4] = 7, 0, 5, 9
    state = replace(state, group_members=members, group_lag_messages=lag)
    assert [str(value) for value in figures_of(state, "group", "unattended_messages")[:4]] == ["nan", "0.0", "5.0", "0.0"]
    assert [str(value) for value in figures_of(state, "group", "members")[:4]] == ["nan", "nan", "0.0", "2.0"]

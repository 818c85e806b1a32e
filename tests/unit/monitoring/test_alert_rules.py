"""Alert rules over any series."""

import math
from dataclasses import replace

import numpy as np
import pytest

from broker_core.api import UsageError
from monitoring.alert_rules import (
    DEFAULT_RULES,
    FOREVER,
    AlertRule,
    AlertState,
    AlertWatch,
    check_rule,
    readings,
    rule_about,
    rules_from_json,
    rules_to_json,
)
from monitoring.alerts import Severity
from tests.support.fake_source import TAKEN_MS, fake_state

STATE = fake_state()
PUT_RATE = AlertRule("r", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=2_000)


def at(milliseconds: int, **totals: float):
    return replace(STATE, taken_ms=TAKEN_MS + milliseconds, totals={**STATE.totals, **totals})


def told(watch: AlertWatch, state) -> list[tuple[str, bool]]:
    return [(change.subject, change.is_firing) for change in watch.look(state)]


def test_a_condition_is_pending_until_it_has_held_for_its_time():
    watch = AlertWatch([PUT_RATE])
    assert watch.state_of(PUT_RATE, TAKEN_MS) is AlertState.OK
    assert told(watch, at(0)) == []
    assert watch.state_of(PUT_RATE, TAKEN_MS) is AlertState.PENDING
    assert told(watch, at(1_999)) == []
    assert told(watch, at(2_000)) == [("", True)]
    assert watch.state_of(PUT_RATE, TAKEN_MS) is AlertState.FIRING
    assert told(watch, at(3_000)) == []
    assert told(watch, at(4_000, put_rate=900.0)) == [("", False)]
    assert watch.state_of(PUT_RATE, TAKEN_MS) is AlertState.OK


def test_a_condition_that_ceases_in_time_begins_anew():
    watch = AlertWatch([PUT_RATE])
    watch.look(at(0))
    watch.look(at(1_000, put_rate=0.0))
    watch.look(at(1_500))
    assert told(watch, at(3_000)) == []
    assert told(watch, at(3_500)) == [("", True)]


def test_an_unknown_value_changes_nothing():
    watch = AlertWatch([PUT_RATE])
    watch.look(at(0))
    watch.look(at(2_000))
    assert told(watch, at(3_000, put_rate=math.nan)) == []
    assert watch.state_of(PUT_RATE, TAKEN_MS) is AlertState.FIRING
    quiet = AlertWatch([replace(PUT_RATE, above=False, for_ms=0)])
    assert told(quiet, at(0, put_rate=math.nan)) == []


def test_each_subject_of_a_pattern_is_judged_by_itself():
    rule = AlertRule("lag", "Lag", "group:*-*.lag_messages", above=True, threshold=500, for_ms=0)
    watch = AlertWatch([rule])
    assert told(watch, STATE) == [("payment-settle", True), ("stock-worker", True)]
    gone = replace(STATE, taken_ms=TAKEN_MS + 1, group_lag_messages=np.where(STATE.group_lag_messages == 903, 0.0, 600.0))
    found = told(watch, gone)
    assert ("stock-worker", False) in found
    assert ("payment-settle", False) not in found


def test_a_subject_that_is_gone_ceases_to_fire():
    rule = AlertRule("lag", "Lag", "group:*.lag_messages", above=True, threshold=15_000, for_ms=0)
    watch = AlertWatch([rule])
    watch.look(STATE)
    catalog = replace(STATE.catalog, groups=["renamed", *STATE.catalog.groups[1:]])
    (change, other) = watch.look(replace(STATE, catalog=catalog, taken_ms=TAKEN_MS + 1))
    assert (change.subject, change.is_firing) == ("renamed", True)
    assert (other.subject, other.is_firing, math.isnan(other.value)) == ("payment-settle", False, True)


def test_below_fires_below():
    rule = AlertRule("m", "Nobody", "group:payment-settle.members", above=False, threshold=3, for_ms=0)
    assert told(AlertWatch([rule]), STATE) == [("payment-settle", True)]


def test_dead_letters_are_found_by_the_name_of_their_topic():
    rule = next(rule for rule in DEFAULT_RULES if rule.rule_id == "dead-letters")
    assert told(AlertWatch([rule]), STATE) == [("%DLQ%stock-worker", True), ("%DLQ%payment-settle", True)]


def test_muted_and_disabled_rules_say_so():
    muted = replace(PUT_RATE, muted_until_ms=TAKEN_MS + 10)
    watch = AlertWatch([muted])
    assert watch.state_of(muted, TAKEN_MS) is AlertState.MUTED
    assert watch.state_of(muted, TAKEN_MS + 10) is AlertState.OK
    assert replace(PUT_RATE, muted_until_ms=FOREVER).is_muted(TAKEN_MS * 2)
    off = replace(PUT_RATE, enabled=False, for_ms=0)
    assert told(AlertWatch([off]), STATE) == []
    assert AlertWatch([off]).state_of(off, TAKEN_MS) is AlertState.OFF


def test_another_condition_begins_anew_and_another_name_does_not():
    watch = AlertWatch([PUT_RATE])
    watch.look(at(0))
    watch.set_rules([replace(PUT_RATE, name="Very fast")])
    assert told(watch, at(2_000)) == [("", True)]
    watch.set_rules([replace(PUT_RATE, threshold=500)])
    assert watch.findings("r") == []
    assert told(watch, at(3_000)) == []


def test_a_clock_set_back_does_not_hold_an_alert_back():
    watch = AlertWatch([PUT_RATE])
    watch.look(at(0))
    watch.look(at(-3_600_000))
    assert told(watch, at(-3_600_000 + 2_000)) == [("", True)]


@pytest.mark.parametrize("rule", DEFAULT_RULES, ids=lambda rule: rule.rule_id)
def test_the_rules_of_a_new_window_name_series_that_there_are(rule):
    check_rule(rule)
    names, values = readings(STATE, rule.series)
    assert len(names) == len(values) > 0
    assert rule.series.startswith("level") or not np.isnan(values).all()


@pytest.mark.parametrize(
    "series", ["", "lag", "totals", "totals.", "group:.lag_messages", "group:x.color", "comet:x.lag", "group.lag_messages"]
)
def test_what_is_no_series_is_refused(series):
    with pytest.raises(UsageError):
        readings(STATE, series)


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

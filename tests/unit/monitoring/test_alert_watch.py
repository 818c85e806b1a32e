"""What alert rules say of one state after another."""

import math
from dataclasses import replace

import numpy as np
import pytest

from monitoring.alert_rules import DEFAULT_RULES, FOREVER, AlertRule
from monitoring.alert_watch import (
    GAP_MS,
    RESOLVED_MS,
    AlertChange,
    AlertFinding,
    AlertState,
    AlertWatch,
    change_text,
    number_text,
    state_of,
)
from tests.support.fake_source import TAKEN_MS, fake_state

STATE = fake_state()
PUT_RATE = AlertRule("r", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=2_000)
AT_ONCE = replace(PUT_RATE, for_ms=0)
LAG = replace(PUT_RATE, series="group:*.lag_messages")


def at(milliseconds: int, **totals: float):
    return replace(STATE, taken_ms=TAKEN_MS + milliseconds, totals={**STATE.totals, **totals})


def state(watch: AlertWatch, rule: AlertRule, now_ms: int = TAKEN_MS) -> AlertState:
    return state_of(rule, watch.findings(rule.rule_id), now_ms)


def told(watch: AlertWatch, state) -> list[tuple[str, bool]]:
    return [(change.subject, change.is_firing) for change in watch.look(state)]


def test_a_condition_is_pending_until_it_has_held_for_its_time():
    watch = AlertWatch([PUT_RATE])
    assert state(watch, PUT_RATE) is AlertState.OK
    assert told(watch, at(0)) == []
    assert state(watch, PUT_RATE) is AlertState.PENDING
    assert told(watch, at(1_999)) == []
    assert told(watch, at(2_000)) == [("", True)]
    assert state(watch, PUT_RATE) is AlertState.FIRING
    assert told(watch, at(3_000)) == []
    assert told(watch, at(4_000, put_rate=900.0)) == [("", False)]
    assert state(watch, PUT_RATE) is AlertState.OK


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
    assert state(watch, PUT_RATE) is AlertState.FIRING
    quiet = AlertWatch([replace(PUT_RATE, above=False, for_ms=0)])
    assert told(quiet, at(0, put_rate=math.nan)) == []


def test_what_was_pending_while_nobody_knew_begins_anew():
    slow = replace(PUT_RATE, for_ms=3 * GAP_MS)
    watch = AlertWatch([slow])
    watch.look(at(0))
    for second in range(1, 62):
        assert told(watch, at(second * 1_000, put_rate=math.nan)) == []
    assert state(watch, slow) is AlertState.PENDING, "a value may be missing for a while"
    for second in range(62, 400, 2):
        watch.look(at(second * 1_000, put_rate=math.nan))
    assert state(watch, slow) is AlertState.OK
    assert told(watch, at(400_000)) == [], "it may not have held meanwhile"
    for second in range(401, 580):
        assert told(watch, at(second * 1_000)) == []
    assert told(watch, at(580_000)) == [("", True)]


def test_what_fires_goes_on_while_nobody_knows():
    watch = AlertWatch([AT_ONCE])
    assert told(watch, at(0)) == [("", True)]
    for second in range(1, 400):
        assert told(watch, at(second * 1_000, put_rate=math.nan)) == []
    assert told(watch, at(400_000)) == [], "it was told of"
    assert told(watch, at(401_000, put_rate=0.0)) == [("", False)]


def test_after_a_restart_nothing_is_over_before_all_brokers_told_what_they_have():
    rule = AlertRule("lag", "Lag", "group:*.lag_messages", above=True, threshold=15_000, for_ms=0)
    watch = AlertWatch([rule])
    watch.restore({"lag": [AlertFinding("elsewhere", 20_000.0, TAKEN_MS - 60_000, is_firing=True, is_told=True)]}, TAKEN_MS)
    faults = {"b": "no answer for 12 s: cannot connect to h:1"}
    silent = replace(STATE, faults=faults, catalog=replace(STATE.catalog, brokers=["a", "b"], broker_version=["V5_3_3", ""]))
    for second in range(0, 200, 10):
        assert ("elsewhere", False) not in told(watch, replace(silent, taken_ms=TAKEN_MS + second * 1_000))
    catalog = replace(STATE.catalog, brokers=["a", "b"], broker_version=["V5_3_3", "V5_3_3"])
    assert ("elsewhere", False) in told(watch, replace(STATE, taken_ms=TAKEN_MS + 200_000, catalog=catalog))


def test_a_rule_that_cannot_be_judged_is_not_all_right():
    fired = [AlertFinding("a", 1.0, 0, is_firing=True)]
    pending = [AlertFinding("a", 1.0, 0, is_firing=False)]
    assert state_of(PUT_RATE, [], TAKEN_MS, is_judged=False) is AlertState.UNJUDGED
    assert state_of(PUT_RATE, [], TAKEN_MS, TAKEN_MS - 1, is_judged=False) is AlertState.UNJUDGED
    assert state_of(PUT_RATE, fired, TAKEN_MS, is_judged=False) is AlertState.FIRING
    assert state_of(PUT_RATE, pending, TAKEN_MS, is_judged=False) is AlertState.PENDING
    assert state_of(replace(PUT_RATE, enabled=False), [], TAKEN_MS, is_judged=False) is AlertState.OFF


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
    assert state(watch, muted) is AlertState.MUTED
    assert state(watch, muted, TAKEN_MS + 10) is AlertState.OK
    assert replace(PUT_RATE, muted_until_ms=FOREVER).is_muted(TAKEN_MS * 2)
    off = replace(PUT_RATE, enabled=False, for_ms=0)
    assert told(AlertWatch([off]), STATE) == []
    assert state(AlertWatch([off]), off) is AlertState.OFF


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


def test_a_mute_holds_an_alert_back_until_it_ends():
    muted = replace(AT_ONCE, muted_until_ms=TAKEN_MS + 5_000)
    watch = AlertWatch([muted])
    assert told(watch, at(0)) == []
    assert told(watch, at(4_999)) == []
    assert told(watch, at(5_000)) == [("", True)]
    assert told(watch, at(6_000, put_rate=0.0)) == [("", False)]


def test_what_was_muted_all_the_time_is_not_told_to_be_over():
    watch = AlertWatch([replace(AT_ONCE, muted_until_ms=FOREVER)])
    watch.look(at(0))
    assert told(watch, at(1_000, put_rate=0.0)) == []


def test_one_subject_is_muted_and_the_others_are_not():
    rule = AlertRule("lag", "Lag", "group:*-*.lag_messages", above=True, threshold=500, for_ms=0)
    rule = rule.muted("stock-worker", TAKEN_MS + 5_000, TAKEN_MS)
    watch = AlertWatch([rule])
    assert told(watch, STATE) == [("payment-settle", True)]
    assert state(watch, rule) is AlertState.FIRING
    assert told(watch, replace(STATE, taken_ms=TAKEN_MS + 5_000)) == [("stock-worker", True)]


def test_a_rule_whose_only_alert_is_muted_is_muted():
    rule = AlertRule("lag", "Lag", "group:stock-worker.lag_messages", above=True, threshold=500, for_ms=0)
    rule = rule.muted("stock-worker", FOREVER, TAKEN_MS)
    watch = AlertWatch([rule])
    watch.look(STATE)
    assert state(watch, rule) is AlertState.MUTED


def test_groups_of_the_broker_itself_are_watched_by_name_alone():
    marks = [name == "payment-settle" for name in STATE.catalog.groups]
    own = replace(STATE, catalog=replace(STATE.catalog, group_is_system=marks))
    wide = AlertRule("wide", "Lag", "group:*.lag_messages", above=True, threshold=15_000, for_ms=0)
    by_name = replace(wide, rule_id="named", series="group:payment-settle.lag_messages")
    assert told(AlertWatch([wide]), own) == []
    assert told(AlertWatch([by_name]), own) == [("payment-settle", True)]


def test_messages_for_a_group_without_members_wait_unattended():
    rule = next(rule for rule in DEFAULT_RULES if rule.rule_id == "nobody")
    members = np.where(np.array(STATE.catalog.groups) == "stock-worker", -1, 2)
    watch = AlertWatch([replace(rule, for_ms=0)])
    assert told(watch, replace(STATE, group_members=members)) == [("stock-worker", True)]
    assert told(watch, replace(STATE, group_members=np.full_like(members, 2), taken_ms=TAKEN_MS + 1)) == [
        ("stock-worker", False)
    ]


def test_a_rule_that_is_taken_away_while_it_fires_is_over():
    watch = AlertWatch([AT_ONCE])
    watch.look(at(0))
    (change,) = watch.set_rules([])
    assert (change.rule, change.is_firing, math.isnan(change.value)) == (AT_ONCE, False, True)
    assert watch.touched == {("r", "")}


def test_a_restart_goes_on_where_it_was():
    watch = AlertWatch([PUT_RATE, replace(AT_ONCE, rule_id="now")])
    watch.restore({"r": [AlertFinding("", 1_284.0, TAKEN_MS, is_firing=False)],
                   "now": [AlertFinding("", 1_284.0, TAKEN_MS, is_firing=True, is_told=True)]}, TAKEN_MS)  # fmt: skip
    assert told(watch, at(2_000)) == [("", True)]
    assert watch.finding("now", "").since_ms == TAKEN_MS


def test_what_was_pending_before_a_long_silence_begins_anew():
    watch = AlertWatch([PUT_RATE])
    watch.look(at(0))
    assert told(watch, at(GAP_MS + 1)) == []
    assert told(watch, at(GAP_MS + 2_001)) == [("", True)]


def test_a_subject_that_is_not_there_yet_after_a_restart_has_not_ceased():
    rule = AlertRule("lag", "Lag", "group:*.lag_messages", above=True, threshold=15_000, for_ms=0)
    found = {"lag": [AlertFinding("later", 20_000.0, TAKEN_MS, is_firing=True, is_told=True)]}
    watch = AlertWatch([rule])
    watch.restore(found, TAKEN_MS)
    quiet = replace(STATE, group_lag_messages=np.zeros_like(STATE.group_lag_messages))
    assert told(watch, quiet) == []
    assert told(watch, replace(quiet, taken_ms=TAKEN_MS + GAP_MS)) == [("later", False)]


def test_only_what_changes_is_to_be_kept():
    watch = AlertWatch([AT_ONCE])
    watch.look(at(0))
    assert watch.touched == {("r", "")}
    watch.touched.clear()
    watch.look(at(1_000))
    assert watch.touched == set()


def test_an_alert_that_is_over_says_so_for_a_while():
    assert state_of(PUT_RATE, [], TAKEN_MS, TAKEN_MS) is AlertState.RESOLVED
    assert state_of(PUT_RATE, [], TAKEN_MS, TAKEN_MS - RESOLVED_MS - 1) is AlertState.OK
    assert state_of(PUT_RATE, [], TAKEN_MS) is AlertState.OK


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (AlertChange(PUT_RATE, "", 1_284.4, True, 0), "Fast: 1,284 /s, above 1,000 /s"),
        (AlertChange(replace(PUT_RATE, above=False), "x", 0.25, True, 0), "Fast: x: 0.25 /s, below 1,000 /s"),
        (AlertChange(PUT_RATE, "", math.nan, False, 0), "Fast is over, now —"),
        (AlertChange(LAG, "g", 16_870, True, 0), "Fast: g: 16,870 messages, above 1,000"),
        (AlertChange(LAG, "g", 1, False, 0), "Fast: g is over, now 1 message"),
        (AlertChange(LAG, "g", math.nan, False, 0), "Fast: g is over, now —"),
        (AlertChange(replace(PUT_RATE, series="group:*.members"), "g", 0, True, 0), "Fast: g: 0 members, above 1,000"),
        (
            AlertChange(replace(PUT_RATE, series="totals.transactions_given_up"), "", 2, True, 0),
            "Fast: 2 transactions, above 1,000",
        ),
        (AlertChange(replace(PUT_RATE, series="level:*.late_p99_ms"), "8", 5.0, False, 0), "Fast: level 8 is over, now 5 ms"),
    ],
)
def test_a_change_in_words(change, text):
    assert change_text(change) == text


def test_numbers_in_words():
    assert [number_text(value) for value in (16_870.4, 0.25, math.nan)] == ["16,870", "0.25", "—"]

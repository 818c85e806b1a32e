"""Since when rules cannot be judged, and when that is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitoring.alert_rules import AlertRule
from monitoring.missing_figures import CAUSE_TEXTS, PATIENCE_MS, TOLD_AFTER_MS, KeptLack, LackChange, LackWatch, lack_texts
from monitoring.unjudged_rules import Cause, Lack

RULE = AlertRule("r", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=0)
AWAY, UNREAD = Lack(Cause.AWAY, ("broker-b", "broker-c")), Lack(Cause.UNREAD)


@pytest.fixture
def watch():
    return LackWatch()


def told(watch: LackWatch, lack: Lack | None, now_ms: int, rule: AlertRule = RULE) -> list[str]:
    return lack_texts(watch.look([rule], {} if lack is None else {"r": lack}, now_ms))


def test_what_lasts_is_told_once_and_when_it_is_over(watch):
    assert told(watch, AWAY, 1_000) == []
    assert told(watch, AWAY, 999 + TOLD_AFTER_MS) == []
    assert told(watch, AWAY, 1_000 + TOLD_AFTER_MS) == ["Fast cannot be judged: no full answer of broker-b, broker-c"]
    assert told(watch, AWAY, 2_000 + TOLD_AFTER_MS) == []
    assert watch.standing(2_000 + TOLD_AFTER_MS) == {"r": KeptLack(AWAY, 1_000, is_told=True)}
    assert told(watch, None, 3_000 + TOLD_AFTER_MS) == ["Fast is judged again"]
    assert watch.standing(3_000 + TOLD_AFTER_MS) == {}


def test_rules_with_the_same_cause_share_an_event():
    rules = [replace(RULE, rule_id=name, name=name) for name in ("A", "B", "C")]
    changes = [LackChange(rule, lack) for rule, lack in zip(rules, (AWAY, UNREAD, AWAY), strict=True)]
    assert lack_texts(changes) == [
        "2 rules cannot be judged: no full answer of broker-b, broker-c (A, C)",
        "B cannot be judged: not all of it is read yet",
    ]
    assert lack_texts(LackChange(rule, None) for rule in rules) == ["3 rules are judged again (A, B, C)"]


def test_what_is_over_soon_is_not_told(watch):
    assert told(watch, AWAY, 1_000) == told(watch, None, 2_000) == []
    assert told(watch, AWAY, 3_000) == told(watch, AWAY, 2_999 + TOLD_AFTER_MS) == []


def test_another_cause_is_the_same_silence(watch):
    told(watch, UNREAD, 1_000)
    told(watch, AWAY, 1_000 + TOLD_AFTER_MS)
    assert told(watch, UNREAD, 2_000 + TOLD_AFTER_MS) == []
    assert watch.kept("r") == KeptLack(UNREAD, 1_000, is_told=True)


def test_what_no_connection_from_outside_can_tell_is_no_event(watch):
    inside = Lack(Cause.INSIDE_ONLY)
    assert told(watch, inside, 1_000) == told(watch, inside, 1_000 + TOLD_AFTER_MS) == []
    assert watch.standing(1_000 + TOLD_AFTER_MS) == {"r": KeptLack(inside, 1_000)}


def test_a_rule_that_was_judged_keeps_its_word_for_a_moment(watch):
    told(watch, UNREAD, 1_000)
    assert watch.standing(1_000), "it was never judged"
    told(watch, None, 2_000)
    told(watch, UNREAD, 3_000)
    assert watch.standing(2_999 + PATIENCE_MS) == {}
    assert watch.standing(3_000 + PATIENCE_MS).keys() == {"r"}
    told(watch, None, 20_000)
    told(watch, AWAY, 21_000)
    assert watch.standing(21_000), "that a broker is away will not be over with the next round"


def test_a_rule_that_is_off_or_gone_has_no_lack_and_tells_nothing(watch):
    for rules in ([replace(RULE, enabled=False)], []):
        told(watch, AWAY, 0)
        told(watch, AWAY, TOLD_AFTER_MS)
        watch.touched.clear()
        assert watch.look(rules, {}, TOLD_AFTER_MS + 1) == []
        assert (watch.kept("r"), watch.touched) == (None, {"r"})


def test_a_rule_about_something_else_begins_anew(watch):
    told(watch, None, 0)
    told(watch, UNREAD, 1_000)
    watch.forget(["r", "other"])
    told(watch, UNREAD, 2_000)
    assert watch.standing(2_000) == {"r": KeptLack(UNREAD, 2_000)}


def test_a_restart_goes_on_and_a_clock_set_back_does_no_harm(watch):
    watch.restore({"r": KeptLack(AWAY, 5_000, is_told=True)})
    assert told(watch, AWAY, 4_000) == []
    assert watch.kept("r") == KeptLack(AWAY, 4_000, is_told=True)
    assert told(watch, None, 6_000) == ["Fast is judged again"]


def test_only_what_is_new_is_to_be_kept(watch):
    told(watch, AWAY, 0)
    assert watch.touched == {"r"}
    watch.touched.clear()
    told(watch, AWAY, 1_000)
    assert watch.touched == set()
    told(watch, Lack(Cause.AWAY, ("broker-b",)), 2_000)
    assert watch.touched == {"r"}


def test_every_cause_has_words():
    assert CAUSE_TEXTS.keys() == set(Cause)

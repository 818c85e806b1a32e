"""Alerts are kept and judged where the history is, with or without a window."""

import json
import math
import sqlite3
import threading
from dataclasses import replace

import pytest

from broker_core.api import StoreError, UsageError
from broker_core.worker.questions.alerts import (
    AlertPage,
    MarkAlertsTold,
    MuteAlert,
    PutAlertRules,
    ReadAlerts,
    RemoveAlertRule,
    SetAlertWebhook,
    TryAlertWebhook,
)
from monitoring import database_file
from monitoring.alert_keeper import CHANGES_SHOWN, LOGGED_MAX, AlertKeeper
from monitoring.alert_rules import DEFAULT_RULES, FOREVER, RULES_MAX, AlertRule, rules_from_json, rules_to_json
from monitoring.alert_store import FILE_NAME, AlertStore
from monitoring.webhook import WebhookResult
from tests.support.fake_source import TAKEN_MS, fake_state
from tests.support.waiting import DEADLINE_S, wait_until

STATE = fake_state()
RULE = AlertRule("fast", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=0)
SLOW = replace(RULE, rule_id="slow", name="Fast for long", for_ms=3_000)
HOOK = "http://127.0.0.1:9/orbit"


def unreachable(_url: str, _body: bytes) -> WebhookResult:
    raise AssertionError("nobody was to be told")


@pytest.fixture
def start(tmp_path):
    made = []

    def start(send=unreachable) -> AlertKeeper:
        made.append(AlertKeeper(tmp_path / FILE_NAME, clock=lambda: TAKEN_MS, cluster="shop", send=send))
        return made[-1]

    yield start
    for keeper in made:
        keeper.close()


def at(milliseconds: int, **totals: float):
    return replace(STATE, taken_ms=TAKEN_MS + milliseconds, totals={**STATE.totals, **totals})


def page(keeper: AlertKeeper, **query: int) -> AlertPage:
    answer = keeper.answer(ReadAlerts(**query))
    assert isinstance(answer, AlertPage)
    return answer


def rules(keeper: AlertKeeper) -> list[AlertRule]:
    return rules_from_json(page(keeper).rules)


def only(keeper: AlertKeeper, *wanted: AlertRule) -> None:
    for rule in rules(keeper):
        keeper.answer(RemoveAlertRule(rule.rule_id))
    keeper.answer(PutAlertRules(rules_to_json(wanted)))
    keeper.events()


def texts(keeper: AlertKeeper, state) -> list[str]:
    return [event.text for event in keeper.look(state) if event.kind == "alert"]


# ---- what cannot be judged ----

FAULTS = {"broker-b": "no answer for 12 s: cannot connect to h:1"}


def outside(milliseconds: int, faults: dict[str, str], **totals: float):
    catalog = replace(STATE.catalog, brokers=["a", "broker-b"], broker_version=["V5_3_3", "V5_3_3"])
    return replace(at(milliseconds, **totals), catalog=catalog, faults=faults)


def unjudged(keeper: AlertKeeper) -> list[tuple[str, str, list[str]]]:
    found = page(keeper)
    return list(zip(found.unjudged_rule, found.unjudged_cause, found.unjudged_parts, strict=True))


def test_a_rule_whose_broker_is_away_neither_fires_nor_is_over(start):
    keeper = start()
    only(keeper, RULE)
    assert texts(keeper, outside(0, {})) == ["Fast: 1,284 /s, above 1,000 /s"]
    for second in range(1, 120):
        assert texts(keeper, outside(second * 1_000, FAULTS, put_rate=math.nan)) == []
    assert unjudged(keeper) == [("fast", "away", ["broker-b"])]
    assert page(keeper).found_firing == [True]
    assert texts(keeper, outside(120_000, {}, put_rate=10.0)) == ["Fast is over, now 10 /s"]
    assert unjudged(keeper) == []


def test_the_history_has_it_that_a_rule_cannot_be_judged_and_a_restart_does_not_repeat_it(start):
    keeper = start()
    only(keeper, RULE)

    def told(keeper, milliseconds, faults, rate):
        events = keeper.look(outside(milliseconds, faults, put_rate=rate))
        return [(event.kind, event.text) for event in events if event.kind == "unjudged"]

    assert told(keeper, 0, FAULTS, math.nan) == []
    assert told(keeper, 60_000, FAULTS, math.nan) == [("unjudged", "Fast cannot be judged: no full answer of broker-b")]
    keeper.close()
    again = start()
    assert unjudged(again) == [("fast", "away", ["broker-b"])]
    assert page(again).unjudged_since_ms == [TAKEN_MS]
    assert told(again, 130_000, FAULTS, math.nan) == []
    assert told(again, 131_000, {}, 10.0) == [("unjudged", "Fast is judged again")]
    again.close()
    assert unjudged(start()) == []


def test_a_rule_about_another_series_is_judged_anew(start):
    keeper = start()
    only(keeper, RULE)
    keeper.look(outside(0, FAULTS, put_rate=math.nan))
    keeper.answer(PutAlertRules(rules_to_json([replace(RULE, series="totals.got_rate")])))
    assert unjudged(keeper) == []
    keeper.look(outside(1_000, FAULTS, put_rate=math.nan))
    assert unjudged(keeper) == []


# ---- rules ----


def test_a_new_folder_has_the_shipped_rules(start):
    assert rules(start()) == list(DEFAULT_RULES)


def test_rules_survive_a_restart_and_a_shipped_one_that_was_deleted_stays_away(start):
    keeper = start()
    keeper.answer(RemoveAlertRule("put"))
    keeper.answer(PutAlertRules(rules_to_json([RULE])))
    before = rules(keeper)
    keeper.close()
    assert rules(start()) == before == [*(rule for rule in DEFAULT_RULES if rule.rule_id != "put"), RULE]


def test_a_shipped_rule_of_a_newer_orbit_is_added(start, monkeypatch):
    start().close()
    monkeypatch.setattr("monitoring.alert_keeper.DEFAULT_RULES", (*DEFAULT_RULES, RULE))
    assert rules(start())[-1] == RULE


def test_a_stored_rule_of_an_older_orbit_watches_what_the_shipped_one_does_once(start, tmp_path):
    start().close()
    of_today = {rule.rule_id: rule for rule in DEFAULT_RULES}["late"]
    older = replace(of_today, series="level:*.late_p99_ms", threshold=7_000.0)
    store = AlertStore(tmp_path / FILE_NAME)
    store.set_rules([older if rule.rule_id == "late" else rule for rule in store.rules()], renewed="")
    store.close()
    keeper = start()
    assert [rule for rule in rules(keeper) if rule.rule_id == "late"] == [replace(of_today, threshold=7_000.0)]
    keeper.answer(PutAlertRules(rules_to_json([older])))
    keeper.close()
    assert older in rules(start()), "a user chose it"


def test_rules_are_left_out_while_a_window_has_them(start):
    keeper = start()
    first = page(keeper)
    assert page(keeper, revision=first.revision).rules == ""
    keeper.answer(MuteAlert("lag", FOREVER))
    assert page(keeper, revision=first.revision).rules


def test_a_saved_rule_keeps_what_is_muted(start):
    keeper = start()
    only(keeper, RULE)
    keeper.answer(MuteAlert("fast", TAKEN_MS + 60_000))
    keeper.answer(PutAlertRules(rules_to_json([replace(RULE, threshold=2_000)])))
    assert rules(keeper) == [replace(RULE, threshold=2_000, muted_until_ms=TAKEN_MS + 60_000)]


def test_a_rule_that_is_gone_or_one_too_many_is_refused(start):
    keeper = start()
    with pytest.raises(UsageError, match="no such alert rule"):
        keeper.answer(MuteAlert("nobody knows", FOREVER))
    many = [replace(RULE, rule_id=f"r{number}") for number in range(RULES_MAX)]
    with pytest.raises(UsageError, match="delete some first"):
        keeper.answer(PutAlertRules(rules_to_json(many)))
    assert rules(keeper) == list(DEFAULT_RULES)


def test_acts_of_people_are_events(start):
    keeper = start()
    only(keeper)
    keeper.answer(PutAlertRules(rules_to_json([RULE])))
    keeper.answer(MuteAlert("fast", TAKEN_MS + 3_600_000, "billing"))
    keeper.answer(MuteAlert("fast", 0))
    keeper.answer(PutAlertRules(rules_to_json([replace(RULE, enabled=False)])))
    keeper.answer(SetAlertWebhook(HOOK))
    keeper.answer(RemoveAlertRule("fast"))
    assert [event.text for event in keeper.events()] == [
        "alert.added: Fast (totals.put_rate > 1,000 for 0 s)",
        "alert.muted: Fast: billing (for 60 min)",
        "alert.unmuted: Fast",
        "alert.changed: Fast (totals.put_rate > 1,000 for 0 s, off)",
        f"alert.webhook: {HOOK}",
        "alert.removed: Fast",
    ]


# ---- judging ----


def test_an_alert_is_an_event_and_waits_for_a_window(start):
    keeper = start()
    only(keeper, RULE)
    assert texts(keeper, at(0)) == ["Fast: 1,284 /s, above 1,000 /s"]
    assert texts(keeper, at(1_000)) == []
    assert texts(keeper, at(2_000, put_rate=10.0)) == ["Fast is over, now 10 /s"]
    shown = page(keeper)
    assert (shown.change_firing, shown.change_at_ms) == ([True, False], [TAKEN_MS, TAKEN_MS + 2_000])
    assert (shown.found_rule, shown.resolved_rule, shown.resolved_ms) == ([], ["fast"], [TAKEN_MS + 2_000])
    keeper.answer(MarkAlertsTold(shown.change_id[-1]))
    assert page(keeper).change_id == []
    assert page(keeper, after=0).change_id == shown.change_id


def test_what_fires_stands_in_the_page_before_what_is_pending(start):
    keeper = start()
    only(keeper, SLOW, RULE)
    keeper.look(at(0))
    shown = page(keeper)
    assert (shown.found_rule, shown.found_firing, shown.looked_ms) == (["fast", "slow"], [True, False], TAKEN_MS)


def test_more_changes_than_a_page_has_are_counted(start):
    keeper = start()
    only(keeper, RULE)
    for second in range(CHANGES_SHOWN + 20):
        keeper.look(at(second * 1_000, put_rate=5_000.0 if second % 2 == 0 else 0.0))
    shown = page(keeper)
    assert (len(shown.change_id), shown.changes_left_out) == (CHANGES_SHOWN, 20)


def test_a_killed_process_loses_neither_rule_nor_state(start, tmp_path):
    killed = start()
    only(killed, RULE, SLOW)
    killed.look(at(0))
    killed.look(at(1_000))
    # As after a kill: nothing of the first one is closed.
    again = AlertKeeper(tmp_path / FILE_NAME, clock=lambda: TAKEN_MS, send=unreachable)
    assert rules(again) == [RULE, SLOW]
    assert page(again).found_since_ms == [TAKEN_MS, TAKEN_MS]
    assert texts(again, at(3_000)) == ["Fast for long: 1,284 /s, above 1,000 /s"]
    assert texts(again, at(4_000, put_rate=0.0)) == ["Fast is over, now 0 /s", "Fast for long is over, now 0 /s"]
    again.close()


def test_another_process_may_change_the_rules(start, tmp_path):
    judging = start()
    only(judging, RULE)
    judging.look(at(0))
    other = AlertKeeper(tmp_path / FILE_NAME, clock=lambda: TAKEN_MS, send=unreachable)
    other.answer(PutAlertRules(rules_to_json([replace(RULE, threshold=9_999)])))
    other.close()
    assert texts(judging, at(1_000)) == ["Fast is over, now —"]
    assert rules(judging)[0].threshold == 9_999


def test_what_cannot_be_written_is_written_later(start, monkeypatch, caplog):
    keeper = start()
    only(keeper, RULE)

    def full(*_arguments: object, **_named: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("monitoring.alert_store.AlertStore.save", full)
        assert texts(keeper, at(0)) == ["Fast: 1,284 /s, above 1,000 /s"]
        assert texts(keeper, at(1_000)) == []
    assert caplog.text.count("cannot be written now") == 1
    keeper.look(at(2_000))
    assert page(keeper).change_at_ms == [TAKEN_MS]


def test_rules_that_cannot_be_read_now_are_no_end_of_judging(start, monkeypatch, caplog):
    keeper = start()
    only(keeper, RULE)

    def locked(_store: object) -> bool:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr("monitoring.alert_store.AlertStore.was_changed", locked)
    assert texts(keeper, at(0)) == ["Fast: 1,284 /s, above 1,000 /s"]
    assert "those that are known go on" in caplog.text


def test_a_look_with_many_changes_does_not_fill_the_log(start, caplog):
    keeper = start()
    only(keeper, *(replace(RULE, rule_id=f"r{number}") for number in range(LOGGED_MAX + 5)))
    assert len(texts(keeper, at(0))) == LOGGED_MAX + 5
    assert caplog.text.count("alert: Fast: 1,284") == LOGGED_MAX
    assert "and 5 more" in caplog.text


def test_after_the_end_nothing_is_judged(start):
    keeper = start()
    only(keeper, RULE)
    keeper.close()
    assert keeper.look(at(0)) == []
    with pytest.raises(StoreError, match="closed"):
        page(keeper)


# ---- web hook ----


class Hook:
    """Takes posts down."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.bodies: list[dict[str, object]] = []
        self.told = threading.Event()

    def __call__(self, _url: str, body: bytes) -> WebhookResult:
        self.bodies.append(json.loads(body))
        self.told.set()
        return WebhookResult(self.status, "so it is", 2.0)

    def wait(self) -> None:
        assert self.told.wait(DEADLINE_S)
        self.told.clear()


def test_the_web_hook_is_told_of_each_change(start):
    hook = Hook()
    keeper = start(hook)
    only(keeper, RULE, replace(SLOW, for_ms=0, webhook=False))
    keeper.answer(SetAlertWebhook(HOOK))
    keeper.look(at(0))
    hook.wait()
    keeper.look(at(1_000, put_rate=0.0))
    wait_until(lambda: page(keeper).posts == 2)
    assert [(body["cluster"], body["rule"], body["state"]) for body in hook.bodies] == [
        ("shop", "Fast", "firing"),
        ("shop", "Fast", "resolved"),
    ]
    assert (page(keeper).post_status, page(keeper).post_given_up) == (200, False)


def test_a_post_that_a_kill_cut_off_is_made_after_the_restart(start, tmp_path):
    held, begun = threading.Event(), threading.Event()

    def never(_url: str, _body: bytes) -> WebhookResult:
        begun.set()
        held.wait(DEADLINE_S)
        return WebhookResult(503, "late", 1.0)

    killed = start(never)
    only(killed, RULE)
    killed.answer(SetAlertWebhook(HOOK))
    killed.look(at(0))
    assert begun.wait(DEADLINE_S)
    hook = Hook()
    again = AlertKeeper(tmp_path / FILE_NAME, clock=lambda: TAKEN_MS, send=hook)
    hook.wait()
    assert hook.bodies[0]["state"] == "firing"
    again.close()
    held.set()


def test_an_address_is_tried_and_how_it_went_is_told(start):
    hook = Hook(404)
    keeper = start(hook)
    with pytest.raises(UsageError, match="no address"):
        keeper.answer(TryAlertWebhook())
    keeper.answer(SetAlertWebhook(HOOK))
    keeper.answer(TryAlertWebhook())
    wait_until(lambda: page(keeper).posts == 1)
    shown = page(keeper)
    assert (shown.post_status, shown.post_reason, shown.post_given_up) == (404, "so it is", True)
    assert hook.bodies[0]["rule"] == "Test of the web hook"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "hooks.example.org", "http://u:p@host/"])
def test_other_addresses_are_refused(start, url):
    keeper = start()
    with pytest.raises(UsageError):
        keeper.answer(SetAlertWebhook(url))
    assert page(keeper).webhook == ""


# ---- two processes ----


def test_a_change_that_another_process_makes_meanwhile_is_not_lost(start, tmp_path, monkeypatch):
    keeper, other = start(), start()
    read = AlertStore.rules
    rest = [replace(RULE, rule_id="theirs")]

    def overtaken(store: AlertStore) -> list[AlertRule]:
        found = read(store)
        if rest:
            other.answer(PutAlertRules(rules_to_json([rest.pop()])))
        return found

    other.answer(PutAlertRules(rules_to_json([SLOW])))
    monkeypatch.setattr(AlertStore, "rules", overtaken)
    keeper.answer(PutAlertRules(rules_to_json([RULE])))
    assert not rest
    assert {"fast", "slow", "theirs"} <= {rule.rule_id for rule in rules(keeper)}
    assert {"fast", "slow", "theirs"} <= {rule.rule_id for rule in rules(other)}


def test_the_first_start_keeps_what_another_process_adds_meanwhile(start, monkeypatch):
    read = AlertStore.rules
    begun = []

    def overtaken(store: AlertStore) -> list[AlertRule]:
        found = read(store)
        if not begun:
            begun.append(store)
            start().answer(PutAlertRules(rules_to_json([RULE])))
        return found

    monkeypatch.setattr(AlertStore, "rules", overtaken)
    keeper = start()
    assert [rule.rule_id for rule in rules(keeper)] == [*(rule.rule_id for rule in DEFAULT_RULES), "fast"]


def test_a_database_that_another_process_is_making_is_waited_for(start, tmp_path):
    blocker = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None, check_same_thread=False)
    blocker.execute("BEGIN EXCLUSIVE")
    blocker.execute("CREATE TABLE made (here INTEGER)")
    end = threading.Timer(0.2, lambda: blocker.execute("COMMIT"))
    end.start()
    try:
        assert rules(start())
    finally:
        end.join(DEADLINE_S)
        blocker.close()


def test_a_database_that_stays_locked_is_told(start, tmp_path, monkeypatch):
    monkeypatch.setattr(database_file, "OPEN_SECONDS", 0.0)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **{**named, "timeout": 0.0}))
    blocker = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="database is locked"):
        start()
    blocker.close()

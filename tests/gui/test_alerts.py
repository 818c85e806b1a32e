"""Alerts: what the window knows of them, and their page; over a fake broker with a real keeper of alerts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication

from broker_core.api import StoreError
from broker_core.worker.questions.alerts import MarkAlertsTold, PutAlertRules, ReadAlerts, RemoveAlertRule
from gui.main_window.notices import Notices
from gui.operations.alert_center import TOLD_SINGLY, AlertCenter, OpenAlert, change_words, post_text
from gui.theme.fonts import text_font
from gui.theme.tokens import Size, State
from gui.views.alerts.rule_form import RuleForm
from gui.views.alerts.rule_table import drawn_series, last_series
from gui.views.alerts.view import AlertsView
from gui.views.alerts.words import alert_place, alert_texts, condition_text, known_series, series_words
from gui.views.events.words import text_of
from gui.words.text import load_catalogue
from monitoring.admin.events import EventRow
from monitoring.alert_rules import (
    DEFAULT_RULES,
    FOREVER,
    AlertRule,
    check_rule,
    counted_of,
    rules_from_json,
    rules_to_json,
    unit_of,
)
from monitoring.alert_watch import AlertChange, AlertFinding, AlertState, change_text
from monitoring.missing_figures import CAUSE_TEXTS, Cause
from monitoring.series import History
from monitoring.sources.base import SourceStatus
from monitoring.webhook import WebhookResult
from tests.support.fake_frame import Frame
from tests.support.fake_source import TAKEN_MS, FakeSource, fake_state
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import chips_of, threshold_of

RULE = AlertRule("fast", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=0)
HOOK = "http://127.0.0.1:9/orbit"
TIMEOUT_MS = 60_000


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def quiet():
    """A source whose only rule does not fire yet."""
    return with_rules(FakeSource(replace(fake_state(), totals={**fake_state().totals, "put_rate": 10.0})), RULE)


@pytest.fixture
def make_center(qapp, window):
    made = []

    def make(source: FakeSource) -> AlertCenter:
        center = AlertCenter(source, window.notify, show=lambda: window.navigate("alerts"))
        made.append(center)
        center.state_changed(source.state)
        return center

    yield make
    for center in made:
        center.deleteLater()


def with_rules(source: FakeSource, *rules: AlertRule) -> FakeSource:
    """Leave the keeper of a source these rules alone, and nothing to tell."""
    for rule in rules_from_json(source.alerts.answer(ReadAlerts()).rules):
        source.alerts.answer(RemoveAlertRule(rule.rule_id))
    source.alerts.answer(PutAlertRules(rules_to_json(rules)))
    source.alerts.answer(MarkAlertsTold(source.alerts.answer(ReadAlerts(after=0)).change_id[-1]))
    return source


def answer_with(source: FakeSource, monkeypatch, **changes: object) -> None:
    """Let the keeper of a source answer with these figures from now on."""
    answer = source.alerts.answer

    def changed(query):
        page = answer(query)
        return replace(page, **changes) if isinstance(query, ReadAlerts) else page

    monkeypatch.setattr(source.alerts, "answer", changed)


def put_rate(source: FakeSource, rate: float, *, later_ms: int = 1_000) -> None:
    source.push_later(later_ms, totals={**source.state.totals, "put_rate": rate})


def test_the_page_says_who_judges_and_when_that_changes(show_page, source, monkeypatch):
    view = show_page(AlertsView, source)
    here = "11 rules, judged once a second, also without a window"
    assert view.header.facts == here
    answer_with(source, monkeypatch, judged_here=False)
    source.push_later(1_000)
    assert view.header.facts == "11 rules, judged by the process that records this connection; when it ends, here"
    answer_with(source, monkeypatch, judged_here=True)
    source.push_later(1_000)
    assert view.header.facts == here


def test_lag_takes_its_colour_from_the_rule_of_the_group(make_center, source):
    center = make_center(source)
    assert center.lag_limits.of_group("payment-settle") == 15_000
    mine = replace(RULE, rule_id="mine", series="group:payment-*.lag_messages", threshold=5)
    source.alerts.answer(PutAlertRules(rules_to_json([mine])))
    source.push_later(1_000)
    assert center.lag_limits.of_group("payment-settle") == 5
    assert center.lag_limits.of_group("stock-worker") == 15_000


# ---- what the window knows ----


def test_an_alert_is_told_once_and_again_when_it_is_over(make_center, quiet, window):
    make_center(quiet)
    put_rate(quiet, 1_284.0)
    quiet.push_later(1_000)
    put_rate(quiet, 10.0)
    quiet.push_later(1_000)
    assert window.notices == [("Fast: 1,284 /s, above 1,000 /s", State.WARNING), ("No longer: Fast; now 10 /s", State.HEALTHY)]


def test_rules_are_asked_about_once_a_second(make_center, quiet):
    make_center(quiet)
    asked = len(quiet.asked_alerts)
    for _tenth in range(9):
        quiet.push_later(100)
    assert len(quiet.asked_alerts) == asked
    quiet.push_later(100)
    assert [type(query) for query in quiet.asked_alerts[asked:]] == [ReadAlerts]


def test_a_slow_answer_is_waited_for(make_center, quiet):
    make_center(quiet)
    quiet.hold_alerts = True
    asked = len(quiet.asked_alerts)
    for _second in range(3):
        quiet.push_later(1_000)
    assert len(quiet.asked_alerts) == asked + 1


def test_what_fired_while_no_window_was_open_is_told_once(make_center, quiet, window):
    put_rate(quiet, 2_000.0)
    put_rate(quiet, 10.0)
    put_rate(quiet, 3_000.0)
    quiet.push_later(60_000)
    make_center(quiet)
    assert window.notices == [("While no window was open 2 alerts fired and 1 ended", State.WARNING)]
    (_action, show) = window.offers[0]
    show()
    assert window.opened == [("alerts", {})]
    make_center(quiet)
    assert len(window.notices) == 1


def test_the_one_alert_that_fired_meanwhile_is_told_by_its_name(make_center, quiet, window):
    put_rate(quiet, 2_000.0)
    quiet.push_later(60_000)
    make_center(quiet)
    assert window.notices == [("While no window was open: Fast: 2,000 /s, above 1,000 /s", State.WARNING)]


def test_many_alerts_at_once_do_not_bury_the_window(make_center, quiet, window):
    rules = [replace(RULE, rule_id=f"r{number}", name=f"Fast {number}") for number in range(TOLD_SINGLY + 3)]
    with_rules(quiet, *rules)
    make_center(quiet)
    put_rate(quiet, 2_000.0)
    assert len(window.notices) == TOLD_SINGLY + 1
    assert window.notices[-1] == ("3 more alerts began or ended", State.WARNING)


def test_a_rule_may_leave_the_desktop_out(make_center, quiet, window):
    with_rules(quiet, replace(RULE, desktop=False))
    make_center(quiet)
    put_rate(quiet, 2_000.0)
    assert window.notices == [("Fast: 2,000 /s, above 1,000 /s", State.INFO)]


def test_a_muted_rule_tells_nobody_until_the_mute_ends(make_center, quiet, window):
    center = make_center(quiet)
    center.mute("fast", FOREVER)
    put_rate(quiet, 2_000.0)
    assert (window.notices, center.firing, center.muted, center.open_alerts()) == ([], 0, 1, [])
    center.mute("fast", 0)
    quiet.push_later(1_000)
    assert (center.firing, center.muted, len(window.notices)) == (1, 0, 1)


def test_the_worst_alerts_come_first(make_center, source):
    source.push_later(60_000)
    center = make_center(source)
    alerts = center.open_alerts()
    assert [one.rule.severity for one in alerts] == sorted(one.rule.severity for one in alerts)
    assert (alerts[0].rule.rule_id, alerts[0].finding.subject) == ("lag", "payment-settle")


def test_a_refusal_is_told_and_nothing_has_changed(make_center, quiet, window):
    center = make_center(quiet)
    quiet.fail_alerts_with = StoreError("the alerts cannot be written")
    center.put(replace(RULE, threshold=5))
    assert window.notices == [("the alerts cannot be written", State.CRITICAL)]
    assert center.rules == (RULE,)
    assert center.problem == "The alert rules are not read: the alerts cannot be written"
    quiet.fail_alerts_with = None
    quiet.push_later(1_000)
    assert center.problem == ""


def test_rules_that_nobody_judges_any_more_say_since_when(make_center, quiet, monkeypatch):
    center = make_center(quiet)
    monkeypatch.setattr(quiet.alerts, "look", lambda _state: [])
    quiet.push_later(31_000)
    assert center.problem.startswith("The rules were last judged 31 s ago")


def test_another_worker_is_asked_for_everything_again(make_center, quiet):
    center = make_center(quiet)
    quiet.set_status(SourceStatus.LOST)
    quiet.push_later(1_000)
    assert center.rules == (RULE,)
    quiet.set_status(SourceStatus.READY)
    quiet.push_later(1_000)
    assert [query.revision for query in quiet.asked_alerts if isinstance(query, ReadAlerts)][-1] == -1


def test_a_web_hook_that_was_given_up_is_told(make_center, quiet, window, monkeypatch):
    center = make_center(quiet)
    center.set_webhook(HOOK)
    refused = {"post_status": 503, "post_reason": "Service Unavailable", "post_took_ms": 1.0}
    answer_with(quiet, monkeypatch, posts=3, post_given_up=True, **refused)
    quiet.push_later(1_000)
    assert window.notices == [("The web hook was not called: 503 Service Unavailable in 1 ms", State.WARNING)]
    assert center.last_post == WebhookResult(503, "Service Unavailable", 1.0)


def test_the_usual_rules_have_chinese_names():
    assert [rule.name for rule in DEFAULT_RULES if rule.name not in load_catalogue("zh")] == []


# ---- in words ----


def alert(series: str, subject: str = "", value: float = 20.0):
    return OpenAlert(replace(RULE, series=series), AlertFinding(subject, value, 0, is_firing=True))


@pytest.mark.parametrize(
    ("series", "subject", "title", "place"),
    [
        ("group:*.lag_messages", "g", "g lags by 20 messages", ("consumers", {"group": "g"})),
        ("group:*.unattended_messages", "g", "Nobody consumes for g", ("consumers", {"group": "g"})),
        ("group:g.behind_ms", "g", "g is 0.0 s behind", ("consumers", {"group": "g"})),
        ("topic:%DLQ%*.kept_messages", "%DLQ%g", "g: 20 dead letters", ("dead_letters", {"group": "g"})),
        ("topic:orders.put_rate", "orders", "Fast: orders: 20 /s", ("topic", {"topic": "orders"})),
        ("level:*.late_ms", "3", "Delay level 3 is late", ("delay", {})),
        ("totals.transactions_given_up", "", "20 transactions given up", ("transactions", {})),
        ("totals.disk_used_percent", "", "Disk 20 % used", ("store", {})),
        ("totals.put_p99_ms", "", "Puts take 20 ms", ("store", {})),
        ("totals.something", "", "Fast: 20", ("alerts", {"rule": "fast"})),
    ],
)
def test_an_alert_says_what_is_wrong_and_where_to_look(qapp, series, subject, title, place):
    one = alert(series, subject)
    assert alert_texts(one)[0] == title
    assert alert_texts(one)[1]
    assert alert_place(one) == place


def test_an_alert_from_below_says_its_rule(qapp):
    one = alert("group:g.lag_messages", "g")
    below = replace(one, rule=replace(one.rule, above=False))
    assert alert_texts(below) == ("Fast: g: 20 messages", "below 1,000 · rule “Fast”")


def test_changes_and_results_in_words(qapp):
    assert change_words(AlertChange(RULE, "x", 5.0, False, 0)) == "No longer: Fast: x; now 5 /s"
    assert change_words(AlertChange(replace(RULE, above=False), "", 5.0, True, 0)) == "Fast: 5 /s, below 1,000 /s"
    late = replace(RULE, series="level:*.late_ms")
    assert change_words(AlertChange(late, "7", 5.0, False, 0)) == "No longer: Fast: level 7; now 5 ms"
    assert post_text(WebhookResult(-1, "timed out", 5_000.0)) == "timed out"


@pytest.mark.parametrize(
    ("series", "value", "words"),
    [
        ("group:*.lag_messages", 16_870.0, "16,870 messages"),
        ("topic:%DLQ%*.kept_messages", 1.0, "1 message"),
        ("level:*.pending", 12.0, "12 messages"),
        ("totals.dead_letters", 3.0, "3 messages"),
        ("totals.transactions_given_up", 1.0, "1 transaction"),
        ("group:*.members", 2.0, "2 members"),
        ("totals.connections", 31.0, "31 connections"),
        ("totals.consumers", 2.0, "2 clients"),
        ("totals.put_rate", 5.0, "5 /s"),
        ("totals.disk_used_percent", 86.2, "86.2 %"),
        ("totals.store_bytes", 2_048.0, "2.0 KiB"),
    ],
)
def test_a_notice_and_its_event_say_what_a_figure_counts(qapp, series, value, words):
    change = AlertChange(replace(RULE, series=series, name="Mine"), "", value, True, 0)
    limit = change_words(change).partition(", above ")[2]
    assert change_words(change) == f"Mine: {words}, above {limit}"
    assert text_of(EventRow(0, 0, "alert", "", change_text(change))) == change_words(change)
    over = replace(change, is_firing=False)
    assert text_of(EventRow(0, 0, "alert", "", change_text(over))) == change_words(over) == f"No longer: Mine; now {words}"


def test_every_figure_of_a_shipped_rule_has_a_unit_or_counts_something():
    assert [rule.series for rule in DEFAULT_RULES if not (unit_of(rule.series) or counted_of(rule.series))] == []


def test_a_duration_is_told_as_its_rule_says_it(qapp):
    behind = replace(RULE, series="group:*.behind_ms", threshold=600_000, name="A group is far behind")
    assert change_words(AlertChange(behind, "billing", 635_412.0, True, 0)) == (
        "A group is far behind: billing: 10 min, above 10 min"
    )
    assert (
        change_words(AlertChange(behind, "billing", 212.0, False, 0)) == "No longer: A group is far behind: billing; now 212 ms"
    )
    assert condition_text(behind).startswith("> 10 min")
    kept = "A group is far behind: billing: 635,412 ms, above 600,000 ms"
    assert text_of(EventRow(0, 0, "alert", "", kept)) == "A group is far behind: billing: 10 min, above 10 min"
    assert text_of(EventRow(0, 0, "alert", "", "Store: 2,048 B, above 1,024 B")) == "Store: 2.0 KiB, above 1.0 KiB"
    assert text_of(EventRow(0, 0, "alert", "", "Fast is over, now —")) == "No longer: Fast; now —"


def test_the_desktop_is_told_of_durations_in_the_same_words(qtbot, tmp_path, theme, monkeypatch):
    frame = Frame(tmp_path / "window.ini", theme)
    qtbot.addWidget(frame.window)
    told = []
    monkeypatch.setattr(QApplication, "applicationState", lambda: Qt.ApplicationState.ApplicationInactive)
    notices = Notices(
        theme,
        frame.window,
        frame.window.tool_bar,
        frame.settings,
        room=frame.window.toast_room,
        tell_system=lambda _title, text: told.append(text),
    )
    behind = replace(RULE, series="group:*.behind_ms", threshold=600_000)
    notices.show(partial(change_words, AlertChange(behind, "billing", 635_412.0, True, 0)), state=State.CRITICAL)
    assert told == ["Fast: billing: 10 min, above 10 min"]


# ---- the page ----


@pytest.fixture
def make_view(show_page):
    return partial(show_page, AlertsView)


def test_rules_stand_where_their_findings_put_them(make_view, source):
    view = make_view(source)
    hold_to_rules(view.rules)
    hold_to_rules(view.fired)
    states = {one.rule.rule_id: one.state for one in view.rules.rows}
    assert states["dead-letters"] is AlertState.FIRING
    assert states["lag"] is AlertState.PENDING
    assert states["disk"] is AlertState.OK
    assert view.grid.selected_row.rule.rule_id == "lag"
    assert view.chart_panel.subtitle == "Lag: group payment-settle"
    assert view.fired.index(0, 1).data() == "Lag above 15,000 for 1 min: 16,870"


def test_an_alert_that_is_over_is_resolved_for_a_while(make_view, source):
    view = make_view(with_rules(source, RULE))
    put_rate(source, 2_000.0)
    put_rate(source, 1.0)
    view.state_changed(source.state)
    assert view.rules.rows[0].state is AlertState.RESOLVED
    source.push_later(3_600_000)
    view.state_changed(source.state)
    assert view.rules.rows[0].state is AlertState.OK


def outside(**changes):
    """Figures of an attached cluster with a broker that is away."""
    state = fake_state()
    catalog = replace(state.catalog, brokers=["broker-a", "broker-b"], broker_version=["V5_3_3", "V5_3_3"])
    faults = {"broker-b": "no answer for 12 s: cannot connect to h:1"}
    return replace(state, **{"catalog": catalog, "faults": faults, "lateness": None, **changes})


def row_of(view, rule_id):
    (found,) = (place for place, one in enumerate(view.rules.rows) if one.rule.rule_id == rule_id)
    return view.rules.rows[found], [view.rules.index(found, column) for column in range(4)]


def test_a_rule_that_cannot_be_judged_says_so_and_why(make_view):
    rate = replace(RULE, series="totals.put_rate")
    inside = replace(RULE, rule_id="inside", name="Given up", series="totals.transactions_given_up")
    source = with_rules(FakeSource(outside()), rate, inside)
    source.push_later(1_000, totals={"put_rate": float("nan")})
    view = make_view(source)
    shown, cells = row_of(view, "fast")
    assert shown.state is AlertState.UNJUDGED
    assert [cells[0].data(), cells[3].data()] == ["Not judged", "no full answer of broker-b"]
    tip = cells[0].data(Qt.ItemDataRole.ToolTipRole)
    assert tip.startswith("It cannot be judged: no full answer of broker-b.\nSince 20")
    assert cells[3].data(Qt.ItemDataRole.ToolTipRole) == tip
    assert row_of(view, "inside")[1][3].data() == "only Orbit's broker reports it"
    assert chips_of(view.header) == ["2 cannot be judged"]
    view.grid.select_key("fast")
    assert view.lack.whole_text() == "It cannot be judged: no full answer of broker-b."
    hold_to_rules(view.rules)


def test_a_rule_is_judged_again_when_its_broker_is_back(make_view):
    source = with_rules(FakeSource(outside()), RULE)
    put_rate(source, float("nan"))
    view = make_view(source)
    source.push_later(1_000, faults={}, totals={**source.state.totals, "put_rate": 1.0})
    view.state_changed(source.state)
    shown, cells = row_of(view, "fast")
    assert shown.state is AlertState.OK
    assert [cells[0].data(), cells[3].data(), cells[0].data(Qt.ItemDataRole.ToolTipRole)] == ["OK", "", None]
    assert not chips_of(view.header)


def test_what_is_found_of_a_part_stands_and_says_that_it_is_not_all(make_view):
    lag = fake_state().group_lag_messages.copy()
    lag[1] = float("nan")
    rule = replace(RULE, series="group:*.lag_messages", threshold=15_000)
    view = make_view(with_rules(FakeSource(outside(group_lag_messages=lag)), rule))
    view.context.source.push_later(1_000)
    view.state_changed(view.context.source.state)
    shown, cells = row_of(view, "fast")
    assert shown.state is AlertState.FIRING
    assert "Not all of it can be judged: no full answer of broker-b." in cells[3].data(Qt.ItemDataRole.ToolTipRole)
    assert cells[3].data().startswith("payment-settle 16,870")


def test_rules_that_cannot_be_read_say_why_and_are_not_none(make_view, source):
    source.fail_alerts_with = StoreError("the alerts are damaged")
    view = make_view(source)
    assert not view.new_button.isEnabled()
    assert view.header.facts == ""
    assert view.center.problem == "The alert rules are not read: the alerts are damaged"


def test_a_threshold_is_dragged_on_the_chart_and_saved(make_view, source):
    view = make_view(source)
    view.chart.threshold_moved.emit(12_345.6)
    assert view.form.threshold.text() == "12300"
    view.state_changed(source.state)
    assert threshold_of(view.chart).value() == 12_300
    view.form.save.click()
    assert next(rule.threshold for rule in view.center.rules if rule.rule_id == "lag") == 12_300


def test_the_line_on_the_chart_can_be_moved_and_tells_where_it_was_let_go(make_view, source, qtbot):
    view = make_view(source)
    line = threshold_of(view.chart)
    assert line.movable
    with qtbot.waitSignal(view.chart.threshold_moved, timeout=60_000) as told:
        line.setValue(9_000)
        line.sigPositionChangeFinished.emit(line)
    assert told.args == [9_000.0]
    assert view.form.threshold.text() == "9000"
    assert view.form.save.isEnabled()


def test_shipped_names_are_shown_in_chinese_and_kept_in_english(make_view, source, chinese):
    view = make_view(source)
    assert view.form.name.text() == "消费组堆积"
    assert not view.form.is_changed
    view.form.set_threshold(20_000)
    view.form.save.click()
    saved = next(rule for rule in view.center.rules if rule.rule_id == "lag")
    assert (saved.name, saved.threshold) == ("Lag of a group", 20_000)


def test_a_name_that_is_being_written_stays_when_the_language_changes(make_view, source, request, qtbot):
    view = make_view(source)
    view.form.name.setText("Payments")
    view.form.name.textEdited.emit("Payments")
    request.getfixturevalue("chinese")
    qtbot.waitUntil(lambda: view.header.title == "告警", timeout=TIMEOUT_MS)
    assert view.form.name.text() == "Payments"
    view.form.revert.click()
    assert view.form.name.text() == "消费组堆积"


def test_what_was_told_is_told_in_chinese(chinese):
    told = [
        ("alert", "Lag of a group: billing: 20,000, above 15,000", "消费组堆积：billing: 20,000，高于 15,000"),
        ("alert", "Lag of a group: billing: 20,000 messages, above 15,000", "消费组堆积：billing: 20,000 条消息，高于 15,000"),
        (
            "alert",
            "Delayed messages are late: level 9: 1,204 ms, above 1,000 ms",
            "延时消息投递过晚：级别 9: 1.2 秒，高于 1.0 秒",
        ),
        ("alert", "Dead letters: %DLQ%g: 1, above 0", "死信：g: 1，高于 0"),
        ("alert", "Lag of a group: billing is over, now 3", "消费组堆积: billing 已恢复，当前 3"),
        ("unjudged", "Lag of a group cannot be judged: no full answer of b, c", "消费组堆积 无法判断：b, c 未完整应答"),
        ("unjudged", "Mine cannot be judged: not all of it is read yet", "Mine 无法判断：尚未全部读取"),
        ("unjudged", "Lag of a group is judged again", "消费组堆积 恢复判断"),
        (
            "unjudged",
            "2 rules cannot be judged: no full answer of b (Puts are slow, Mine)",
            "2 条规则无法判断：b 未完整应答（写入变慢, Mine）",
        ),
        ("unjudged", "2 rules are judged again (Puts are slow, Mine)", "2 条规则恢复判断（写入变慢, Mine）"),
        ("alert", "Delayed messages are late: level 8 is over, now 5 ms", "延时消息投递过晚: 级别 8 已恢复，当前 5 ms"),
        ("action", "alert.muted: Lag of a group: billing (until 12:00)", "告警静音: 消费组堆积: billing (until 12:00)"),
    ]
    assert [text_of(EventRow(0, 0, kind, "", text)) for kind, text, _shown in told] == [shown for _, _, shown in told]


def test_a_new_rule_is_there_once_it_is_saved(make_view, source):
    view = make_view(source)
    before = len(view.center.rules)
    view.start_rule("group:payment-settle.behind_ms", 5_000)
    assert view.form.threshold.unit == "ms = 5.0 s"
    view.form.name.setText("Payments are late")
    view.form.name.textEdited.emit("Payments are late")
    assert len(view.center.rules) == before
    view.form.save.click()
    assert view.center.rules[-1].name == "Payments are late"
    assert view.grid.selected_row.rule == view.center.rules[-1]


@pytest.mark.parametrize(
    ("field", "text", "reason"),
    [("threshold", "lots", "“lots” is no number"), ("seconds", "-1", "a condition holds for 0 to 86,400 s, not -1 s")],
)
def test_a_rule_that_makes_no_sense_cannot_be_saved(make_view, source, field, text, reason):
    view = make_view(source)
    edited = getattr(view.form, field)
    edited.setText(text)
    edited.textEdited.emit(text)
    assert view.form.fault.text() == reason
    assert not view.form.save.isEnabled()
    view.form.revert.click()
    assert view.form.fault.text() == ""


def test_a_rule_is_muted_and_deleted(make_view, source):
    view = make_view(source)
    view.mute(3_600_000)
    assert view.grid.selected_row.state is AlertState.MUTED
    assert view.grid.selected_row.rule.muted_until_ms == TAKEN_MS + 3_600_000
    view.ask_delete().go.click()
    assert "lag" not in [rule.rule_id for rule in view.center.rules]


def mute_menus(view):
    """The menus of subjects in the menu that the button opens."""
    view.mute_button.click()
    popup = QApplication.activePopupWidget()
    popup.close()
    return [action.menu() for action in popup.actions() if action.menu() is not None]


def test_one_subject_of_a_rule_is_muted_from_the_menu(make_view, source):
    view = make_view(source)
    view.grid.select_key("dead-letters")
    subjects = mute_menus(view)
    next(menu for menu in subjects if menu.title() == "stock-worker").actions()[0].trigger()
    rule = view.grid.selected_row.rule
    assert rule.mutes == (("%DLQ%stock-worker", TAKEN_MS + 3_600_000),)
    assert "stock-worker, muted" in [menu.title() for menu in mute_menus(view)]


def test_an_address_that_cannot_be_used_says_why(make_view, source):
    panel = make_view(source).webhook
    panel.address.setText("file:///etc/passwd")
    panel.address.editingFinished.emit()
    assert "http or https" in panel.result.text()
    assert not panel.try_button.isEnabled()
    source.push_later(1_000)
    assert panel.address.text() == "file:///etc/passwd"
    panel.address.setText(HOOK)
    panel.address.editingFinished.emit()
    assert source.alerts.answer(ReadAlerts()).webhook == HOOK
    assert panel.try_button.isEnabled()


def test_an_address_is_tried_and_the_result_shown(make_view, source, qtbot):
    view = make_view(source)
    view.center.set_webhook(HOOK)
    source.hook.open.clear()
    view.webhook.try_button.click()
    source.push_later(1_000)
    assert view.webhook.result.text() == "Sending…"
    source.hook.open.set()

    def answered() -> bool:
        source.push_later(1_000)
        return view.webhook.result.text() == "Last time: 200 OK in 3 ms"

    qtbot.waitUntil(answered, timeout=TIMEOUT_MS)


def test_every_series_that_is_offered_can_be_watched():
    for series in known_series(fake_state()):
        check_rule(replace(RULE, series=series))


def test_rules_and_what_they_found_are_whole(make_view, source, qtbot):
    view = make_view(source)
    columns = [column.key for column in view.grid.model.columns]
    strong, plain = (QFontMetrics(text_font(Size.BODY, weight)) for weight in (QFont.Weight.DemiBold, QFont.Weight.Normal))
    found = ("no full answer of broker-a", CAUSE_TEXTS[Cause.INSIDE_ONLY])
    for key, font, text in (("name", strong, "Delayed messages are late"), *(("worst", plain, one) for one in found)):
        qtbot.waitUntil(lambda: view.grid.view.columnWidth(columns.index(key)) >= font.horizontalAdvance(text) + 20)  # noqa: B023
    assert not view.grid.view.isColumnHidden(columns.index("condition"))


def test_a_long_name_of_a_series_takes_no_room_from_the_rules(qtbot):
    def width(series: str) -> int:
        form = RuleForm()
        qtbot.addWidget(form)
        form.set_series([series])
        form.show()
        return form.minimumSizeHint().width()

    assert width(f"topic:{'rmq_sys_SYNC_BROKER_MEMBER_' * 4}.put_rate") == width("topic:a.put_rate")


def test_a_pattern_is_drawn_by_its_worst_subject(make_view, source):
    view = make_view(source)
    rows = {one.rule.rule_id: one for one in view.rules.rows}
    assert drawn_series(rows["behind"], source.state) == "group:payment-settle.behind_ms"
    assert drawn_series(rows["put"], source.state) == "totals.put_p99_ms"
    assert drawn_series(rows["late"], source.state) == "level:16.late_p99_ms"
    stuck = np.where(source.state.delays.level == 3, 9_000, 0)
    stuck_state = replace(source.state, delays=replace(source.state.delays, overdue_ms=stuck))
    assert drawn_series(replace(rows["late"], findings=()), stuck_state) == "level:3.overdue_ms"


def test_a_pattern_of_which_nothing_is_known_now_is_drawn_by_what_was_worst(make_view):
    lag = fake_state().group_lag_messages
    source = with_rules(FakeSource(outside()), replace(RULE, series="group:*.lag_messages", threshold=1e9))
    source.push_later(1_000, group_lag_messages=np.full(len(lag), np.nan))
    opened = make_view(source)
    assert row_of(opened, "fast")[0].state is AlertState.UNJUDGED
    assert opened.chart_panel.subtitle == "Lag: group payment-settle"
    assert opened.chart.has_figures
    stock = np.arange(len(lag)) == source.state.catalog.groups.index("stock-worker")
    for later in (np.where(stock, 1e6, lag), np.full(len(lag), np.nan)):
        source.push_later(1_000, group_lag_messages=later)
        opened.state_changed(source.state)
        assert opened.chart_panel.subtitle == "Lag: group stock-worker"
    nothing = last_series(replace(RULE, series="topic:*.got_rate"), source.state, History())
    assert nothing == "topic:*.got_rate"


@pytest.mark.parametrize(
    ("series", "unit"), [("group:x.behind_ms", "ms"), ("totals.put_byte_rate", "B/s"), ("totals.lag_messages", "")]
)
def test_units_follow_the_name(series, unit):
    assert unit_of(series) == unit


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ("group:billing.lag_messages", "Lag: group billing"),
        ("group:*.lag_messages", "Lag: every group"),
        ("level:3.late_p99_ms", "Lateness p99: level 3"),
        ("topic:%DLQ%*.kept_messages", "Dead letters: every group"),
        ("topic:orders.put_rate", "Messages in: topic orders"),
        ("totals.put_p99_ms", "Put latency p99"),
        ("totals.something", "totals.something"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_series_is_said_in_words(qapp, series, words):
    assert series_words(series) == words


def test_the_severity_of_a_rule_is_listed_and_has_a_colour_only_while_it_fires(make_view, source):
    view = make_view(source)
    at = next(place for place, column in enumerate(view.rules.columns) if column.key == "severity")
    column = view.rules.columns[at]
    assert {column.text(row) for row in view.rules.rows} <= {"Critical", "Warning", "Notice"}
    firing = {row.rule.rule_id: column.state(row) for row in view.rules.rows}
    assert firing["dead-letters"] is State.WARNING
    assert firing["disk"] is None

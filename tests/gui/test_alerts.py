"""Alerts: the center that watches, and its page; over a fake broker."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QSettings, QThreadPool
from PySide6.QtTest import QAbstractItemModelTester

from broker_core.api import NoteEvent, UsageError
from gui.operations import alert_center
from gui.operations.alert_center import AlertCenter, number_text, post_text
from gui.text import load_catalogue
from gui.theme.tokens import State
from gui.views.alerts.view import AlertsView, drawn_series
from gui.views.alerts.words import known_series, unit_of
from monitoring.alert_rules import DEFAULT_RULES, FOREVER, AlertRule, AlertState, check_rule
from monitoring.webhook import WebhookResult
from tests.support.fake_source import TAKEN_MS, FakeSource, fake_state

RULE = AlertRule("fast", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=0)
HOOK = "https://hooks.example.org/orbit"


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def make_center(qapp, tmp_path, source, window):
    made = []

    def make(send=None) -> AlertCenter:
        settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
        center = AlertCenter(source, settings, window.notify, send=send or unreachable)
        made.append(center)
        return center

    yield make
    for center in made:
        center.deleteLater()


def unreachable(_url: str, _body: bytes) -> WebhookResult:
    raise AssertionError("nobody was to be told")


def only(center: AlertCenter, *rules: AlertRule) -> None:
    for rule in center.rules:
        center.remove(rule.rule_id)
    for rule in rules:
        center.put(rule)


# ---- the center ----


def test_an_alert_is_told_once_and_again_when_it_is_over(make_center, source, window):
    only(make_center(), RULE)
    source.push()
    source.push_later(1_000)
    source.push_later(1_000, totals={**source.state.totals, "put_rate": 10.0})

    assert window.notices == [("Fast: 1,284, above 1,000", State.WARNING), ("Fast is over, now 10", State.HEALTHY)]
    assert [arguments[0] for method, arguments in source.asked if method == "note_event"] == [
        NoteEvent("alert", "", "Fast: 1,284, above 1,000"),
        NoteEvent("alert", "", "Fast is over, now 10"),
    ]


def test_rules_are_looked_at_once_a_second(make_center, source, window):
    only(make_center(), RULE)
    source.push_later(0, totals={**source.state.totals, "put_rate": 1.0})
    source.push_later(999, totals={**source.state.totals, "put_rate": 2_000.0})
    assert window.notices == []
    source.push_later(1)
    assert len(window.notices) == 1


def test_a_muted_rule_tells_nobody_and_is_still_watched(make_center, source, window):
    center = make_center()
    only(center, RULE)
    center.mute("fast", FOREVER)
    source.push()
    assert window.notices == []
    assert center.firing == 0
    center.mute("fast", 0)
    assert center.firing == 1


def test_rules_are_kept_beside_the_settings(make_center, tmp_path):
    only(make_center(), RULE)
    assert make_center().rules == (RULE,)
    assert (tmp_path / "alerts.json").exists()


def test_a_file_that_cannot_be_read_is_set_aside_and_said(make_center, tmp_path):
    (tmp_path / "alerts.json").write_text("{broken")
    center = make_center()
    assert center.rules == DEFAULT_RULES
    assert "cannot be read" in center.problem
    assert (tmp_path / "alerts.json.damaged").read_text() == "{broken"


def test_rules_that_cannot_be_kept_say_so_and_still_work(make_center, tmp_path):
    center = make_center()
    (tmp_path / "alerts.json").mkdir()
    center.put(RULE)
    assert "are not kept" in center.problem
    assert RULE in center.rules


def test_the_web_hook_is_told_off_the_gui_thread(make_center, source, qtbot):
    told = []

    def send(url: str, body: bytes) -> WebhookResult:
        told.append((url, body))
        return WebhookResult(200, "OK", 3.0)

    center = make_center(send)
    only(center, RULE)
    center.set_webhook(HOOK)
    with qtbot.waitSignal(center.posted):
        source.push()
    assert [url for url, _ in told] == [HOOK]
    assert center.last_post == WebhookResult(200, "OK", 3.0)


def test_a_web_hook_in_trouble_is_tried_again_and_then_given_up(make_center, source, window, qtbot, monkeypatch):
    monkeypatch.setattr(alert_center, "RETRY_MS", (1, 1))
    attempts = []

    def send(_url: str, body: bytes) -> WebhookResult:
        attempts.append(body)
        return WebhookResult(503, "Service Unavailable", 1.0)

    center = make_center(send)
    only(center, RULE)
    center.set_webhook(HOOK)
    source.push()
    qtbot.waitUntil(lambda: len(window.notices) == 2)
    assert len(attempts) == 3
    assert len(set(attempts)) == 1
    assert window.notices[-1] == ("The web hook was not told: 503 Service Unavailable in 1 ms", State.WARNING)


def test_a_rule_may_leave_the_web_hook_out(make_center, source):
    told = []
    center = make_center(lambda _url, body: told.append(body) or WebhookResult(200, "OK", 1.0))
    only(center, replace(RULE, webhook=False))
    center.set_webhook(HOOK)
    source.push()
    assert QThreadPool.globalInstance().waitForDone(60_000)
    assert (center.firing, told) == (1, [])


@pytest.mark.parametrize("url", ["file:///etc/passwd", "hooks.example.org", "ftp://x"])
def test_other_addresses_are_refused(make_center, url):
    center = make_center()
    with pytest.raises(UsageError):
        center.set_webhook(url)
    assert center.webhook == ""


def test_the_usual_rules_have_chinese_names():
    assert [rule.name for rule in DEFAULT_RULES if rule.name not in load_catalogue("zh")] == []


# ---- the page ----


@pytest.fixture
def make_view(show_page):
    return partial(show_page, AlertsView)


def fired(view, source):
    """Let the center and the page see the same figures."""
    source.push()
    view.state_changed(source.state)


def test_rules_stand_where_their_findings_put_them(make_view, source):
    view = make_view(source)
    QAbstractItemModelTester(view.rules, QAbstractItemModelTester.FailureReportingMode.Fatal)
    QAbstractItemModelTester(view.told, QAbstractItemModelTester.FailureReportingMode.Fatal)
    fired(view, source)

    states = {one.rule.rule_id: one.state for one in view.rules.rows}
    assert states["dead-letters"] is AlertState.FIRING
    assert states["lag"] is AlertState.PENDING
    assert states["disk"] is AlertState.OK
    assert view.grid.selected_row.rule.rule_id == "lag"
    assert view.chart_panel.subtitle == "group:payment-settle.lag_messages"
    assert view.told.index(0, 1).data() == "Lag above 15,000 for 1 min: 16,870"


def test_a_threshold_is_dragged_on_the_chart_and_saved(make_view, source):
    view = make_view(source)
    view.chart.threshold_moved.emit(12_345.6)
    assert view.form.threshold.text() == "12300"
    view.state_changed(source.state)
    assert view.chart._threshold.value() == 12_300
    view.form.save.click()
    assert next(rule.threshold for rule in view.center.rules if rule.rule_id == "lag") == 12_300


def test_the_line_on_the_chart_can_be_moved_and_tells_where_it_was_let_go(make_view, source, qtbot):
    view = make_view(source)
    line = view.chart._threshold
    assert line.movable
    with qtbot.waitSignal(view.chart.threshold_moved, timeout=60_000) as told:
        line.setValue(9_000)
        line.sigPositionChangeFinished.emit(line)
    assert told.args == [9_000.0]
    assert view.form.threshold.text() == "9000"
    assert view.form.save.isEnabled()


def test_a_new_rule_is_there_once_it_is_saved(make_view, source):
    view = make_view(source)
    before = len(view.center.rules)
    view.start_rule("group:payment-settle.behind_ms", 5_000)
    assert view.form.unit.text() == "ms"
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


def test_an_address_that_cannot_be_used_says_why(make_view, source):
    view = make_view(source)
    view.webhook.setText("file:///etc/passwd")
    view.webhook.editingFinished.emit()
    assert "http or https" in view.webhook_result.text()
    assert not view.webhook_button.isEnabled()
    view.webhook.setText(HOOK)
    view.webhook.editingFinished.emit()
    assert view.center.webhook == HOOK
    assert view.webhook_button.isEnabled()


def test_every_series_that_is_offered_can_be_watched():
    for series in known_series(fake_state()):
        check_rule(replace(RULE, series=series))


def test_a_pattern_is_drawn_by_its_worst_subject(make_view, source):
    view = make_view(source)
    rows = {one.rule.rule_id: one for one in view.rules.rows}
    assert drawn_series(rows["behind"], source.state) == "group:payment-settle.behind_ms"
    assert drawn_series(rows["put"], source.state) == "totals.put_p99_ms"


@pytest.mark.parametrize(
    ("series", "unit"), [("group:x.behind_ms", "ms"), ("totals.put_byte_rate", "B/s"), ("totals.lag_messages", "")]
)
def test_units_follow_the_name(series, unit):
    assert unit_of(series) == unit


def test_numbers_and_results_in_words():
    assert [number_text(value) for value in (16_870.4, 0.25, float("nan"))] == ["16,870", "0.25", "—"]
    assert post_text(WebhookResult(-1, "timed out", 5_000.0)) == "timed out"

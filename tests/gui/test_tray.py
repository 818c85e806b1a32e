"""Staying in the tray: closing hides the window where the user wants that, and everything goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QColor
from PySide6.QtWidgets import QApplication

from broker_core.api import WorkerError
from broker_core.worker.questions.alerts import PutAlertRules, ReadAlerts, RemoveAlertRule
from gui.main_window.close_question import CloseQuestion
from gui.main_window.live import LiveFeed
from gui.main_window.tray import DOT_SHARE, ICON_SIZES
from gui.settings.values import STAY_KEY
from gui.theme.tokens import DARK, State
from monitoring.alert_rules import AlertRule, Severity, rules_from_json, rules_to_json
from monitoring.sources.base import SourceStatus
from tests.support.fake_frame import Frame
from tests.support.shown_parts import colour_of_dot, elapse

pytestmark = pytest.mark.qt_log_ignore(
    "This plugin does not support", "systemTrayWindowChanged"
)  # the offscreen platform has no tray


class ClickOnTheFrame(QCloseEvent):
    """The close event that the window system sends."""

    def spontaneous(self) -> bool:
        return True


@pytest.fixture
def frame(frame):
    """A window on a desktop that has a tray."""
    frame.window.tray.is_available = lambda: True
    return frame


@pytest.fixture
def told(frame, monkeypatch):
    """What the desktop was told."""
    texts: list[str] = []
    monkeypatch.setattr(frame.window.tray, "tell", lambda _title, text: texts.append(text))
    monkeypatch.setattr(frame.window.notices, "_tell_system", lambda _title, text: texts.append(text))
    return texts


def close_by_frame(frame) -> bool:
    """Click the close button; returns whether the window closes."""
    event = ClickOnTheFrame()
    frame.window.closeEvent(event)
    return event.isAccepted()


def entry(frame, text: str):
    menu = frame.window.tray.icon.contextMenu()
    menu.aboutToShow.emit()
    return next(action for action in menu.actions() if action.text() == text)


def dot_of(tray) -> State:
    """The state whose colour the dot of the icon has."""
    size = max(ICON_SIZES)
    centre = round(size * (1 - DOT_SHARE / 2))
    shown = tray.icon.icon().pixmap(size).toImage().pixelColor(centre, centre)
    states = (State.CRITICAL, State.WARNING, State.HEALTHY, State.IDLE)
    return next(state for state in states if QColor(DARK.state(state)) == shown)


def test_the_window_stays_only_where_that_is_wanted_and_there_is_a_tray(frame):
    assert not close_by_frame(frame)
    (question,) = frame.window.findChildren(CloseQuestion)
    question.stay.click()
    frame.window.tray.want(stay=True)
    frame.window.tray.is_available = lambda: False
    assert not close_by_frame(frame)
    assert frame.window.isVisible()
    assert len(frame.window.findChildren(CloseQuestion)) == 2, "without a tray it is as it was"


def test_a_window_that_stays_asks_nothing_and_goes_on(frame, told):
    frame.window.tray.want(stay=True)
    frame.window.navigation.detach(frame.page)
    (torn_off,) = frame.window.navigation.windows
    assert not close_by_frame(frame)
    assert frame.window.findChildren(CloseQuestion) == []
    assert not frame.window.isVisible()
    assert not torn_off.isVisible()
    assert frame.window.tray.icon.isVisible() or not frame.window.tray.icon.isSystemTrayAvailable()
    assert "goes on in the tray" in told[0]
    frame.source.push_later(1_000)
    assert frame.window.frame.state is frame.source.state
    frame.window.tray.open()
    assert frame.window.isVisible()
    assert torn_off.isVisible()
    assert not frame.window.tray.is_staying
    close_by_frame(frame)
    assert len(told) == 1, "where it went is said once"


def test_an_alert_is_told_by_the_desktop_while_the_window_is_in_the_tray(frame, told, monkeypatch):
    # Some desktops count a program without windows as the active one.
    monkeypatch.setattr(QApplication, "applicationState", lambda: Qt.ApplicationState.ApplicationActive)
    frame.window.tray.stay()
    told.clear()
    frame.window.notify("Lag of a group: 20,000, above 15,000", state=State.CRITICAL)
    assert told == ["Lag of a group: 20,000, above 15,000"]


def test_quitting_from_the_tray_ends_it_with_the_question_if_something_would_be_lost(frame, told, qtbot):
    frame.window.tray.want(stay=True)
    close_by_frame(frame)
    entry(frame, "Quit").trigger()
    (question,) = frame.window.findChildren(CloseQuestion)
    assert frame.window.isVisible(), "the question is seen"
    with qtbot.waitSignal(frame.window.closing):
        question.go.click()


def test_the_question_offers_the_tray_where_there_is_one(frame, told):
    assert not close_by_frame(frame)
    (question,) = frame.window.findChildren(CloseQuestion)
    question.tray.click()
    assert frame.window.tray.is_staying
    assert not frame.window.isVisible()
    assert frame.settings.value(STAY_KEY) is None, "for this time only"


def test_the_program_itself_ends_also_from_the_tray(frame, told, qtbot):
    frame.window.tray.want(stay=True)
    close_by_frame(frame)
    with qtbot.waitSignal(frame.window.closing):
        frame.window.close()


def test_the_menu_pauses_and_goes_on(frame):
    frame.window.tray.want(stay=True)
    entry(frame, "Pause the figures").trigger()
    assert frame.window.live.paused
    entry(frame, "Go on").trigger()
    assert not frame.window.live.paused
    entry(frame, "Notify through the desktop").trigger()
    assert str(frame.settings.value("notices/system")).lower() == "false"
    entry(frame, "Open Orbit").trigger()
    assert frame.window.isVisible()


def test_the_icon_tells_how_the_cluster_is(frame, told, qtbot):
    tray = frame.window.tray
    tray.want(stay=True)
    assert dot_of(tray) is State.HEALTHY
    assert tray.icon.toolTip() == "Orbit — Embedded · 127.0.0.1:9876\nEmbedded broker running"
    rule = AlertRule("fast", "Fast", "totals.put_rate", above=True, threshold=1, for_ms=0, severity=Severity.CRITICAL)
    frame.source.alerts.answer(PutAlertRules(rules_to_json([rule])))
    frame.source.push_later(1_000)
    frame.source.push_later(1_000)
    assert dot_of(tray) is State.CRITICAL
    assert tray.icon.toolTip().endswith("4 alerts firing")
    frame.language.use("zh")
    qtbot.waitUntil(lambda: "内置 Broker 运行中" in tray.icon.toolTip())
    assert tray.icon.toolTip().endswith("4 个告警触发中")


def with_brokers(frame, faults=None):
    """Show a cluster of two brokers of which nothing fires."""
    for rule in rules_from_json(frame.source.alerts.answer(ReadAlerts()).rules):
        frame.source.alerts.answer(RemoveAlertRule(rule.rule_id))
    catalog = replace(frame.source.state.catalog, brokers=["broker-a", "broker-b"], broker_version=["V5_3_3", "V5_3_3"])
    frame.source.push_later(1_000, catalog=catalog, faults=faults or {})
    frame.source.push_later(1_000)
    elapse(frame.window.broker)


AWAY = "no answer for 12 s: cannot connect to h:1: refused"


def test_the_icon_tells_which_part_of_a_cluster_is_away_and_since_when(frame, told, qtbot):
    tray = frame.window.tray
    tray.want(stay=True)
    with_brokers(frame)
    assert dot_of(tray) is State.HEALTHY
    with_brokers(frame, {"broker-b": AWAY})
    assert dot_of(tray) is State.WARNING
    assert tray.icon.toolTip().splitlines()[2:] == [f"broker-b: {AWAY}"]
    assert colour_of_dot(frame.window.tool_bar.cluster_button) == QColor(DARK.state(State.WARNING))
    with_brokers(frame, {"broker-b": AWAY.replace("12", "13")})
    assert "for 13 s" in tray.icon.toolTip(), "the age goes on"
    frame.language.use("zh")
    qtbot.waitUntil(lambda: "13 秒" in tray.icon.toolTip(), timeout=60_000)
    frame.language.use("en")
    with_brokers(frame)
    assert dot_of(tray) is State.HEALTHY
    assert len(tray.icon.toolTip().splitlines()) == 2
    assert colour_of_dot(frame.window.tool_bar.cluster_button) == QColor(DARK.state(State.HEALTHY))


def test_of_several_parts_the_icon_shows_the_worst(frame, told):
    tray = frame.window.tray
    tray.want(stay=True)
    with_brokers(frame, {"broker-a": "unknown to the name server for 3 s: clients do not find it", "broker-b": AWAY})
    assert dot_of(tray) is State.WARNING
    with_brokers(frame, {"broker-a": AWAY, "broker-b": AWAY})
    assert dot_of(tray) is State.CRITICAL, "nobody answers"
    with_brokers(frame, {"name server": "for 3 s: no route"})
    assert dot_of(tray) is State.WARNING
    rule = AlertRule("fast", "Fast", "totals.put_rate", above=True, threshold=1, for_ms=0, severity=Severity.CRITICAL)
    frame.source.alerts.answer(PutAlertRules(rules_to_json([rule])))
    frame.source.push_later(1_000)
    frame.source.push_later(1_000)
    elapse(frame.window.broker)
    assert dot_of(tray) is State.CRITICAL, "what fires is worse"


def test_many_parts_that_are_away_are_counted(frame, told):
    tray = frame.window.tray
    tray.want(stay=True)
    with_brokers(frame, {f"broker-{number}": AWAY for number in range(9)})
    assert tray.icon.toolTip().splitlines()[-1] == "6 more reasons"
    assert len(tray.icon.toolTip().splitlines()) == 2 + 4


def test_figures_that_do_not_come_any_more_are_not_well(frame, told, monkeypatch):
    tray = frame.window.tray
    tray.want(stay=True)
    with_brokers(frame)
    assert dot_of(tray) is State.HEALTHY
    monkeypatch.setattr(LiveFeed, "age_ms", 3_600_000.0)
    elapse(frame.window.broker)
    assert dot_of(tray) is State.WARNING
    assert tray.icon.toolTip().splitlines()[2] == "No figures have come for 1 h."


def test_a_broker_that_is_lost_is_told_while_nobody_sees_the_banner(frame, told):
    frame.window.tray.stay()
    told.clear()
    frame.source.set_status(SourceStatus.LOST, WorkerError("the process was killed"))
    assert told == ["The embedded broker has stopped. the process was killed"]
    assert dot_of(frame.window.tray) is State.CRITICAL


def test_the_menu_action_turns_it_on_and_off(frame):
    actions = frame.window.actions_known
    assert actions.run("view.tray")
    assert frame.window.tray.is_wanted
    assert actions.run("view.tray")
    assert not frame.window.tray.is_wanted
    frame.window.tray.is_available = lambda: False
    assert not actions.run("view.tray")


def test_a_store_that_is_only_looked_at_ends_with_its_window(qtbot, tmp_path, theme):
    looked = Frame(tmp_path / "window.ini", theme, store_folder=tmp_path)
    qtbot.addWidget(looked.window)
    looked.window.tray.is_available = lambda: True
    looked.window.tray.want(stay=True)
    assert not looked.window.tray.is_wanted

"""Staying in the tray: closing hides the window where the user wants that, and everything goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication

from broker_core.api import PutAlertRules, WorkerError
from gui.main_window.close_question import CloseQuestion
from gui.main_window.tray import STAY_KEY
from gui.theme.manager import ThemeManager, ThemeMode
from gui.theme.tokens import State
from monitoring.alert_rules import AlertRule, Severity, rules_to_json
from monitoring.sources.base import SourceStatus
from tests.support.fake_frame import Frame

pytestmark = pytest.mark.qt_log_ignore(
    "This plugin does not support", "systemTrayWindowChanged"
)  # the offscreen platform has no tray


class ClickOnTheFrame(QCloseEvent):
    """The close event that the window system sends."""

    def spontaneous(self) -> bool:
        return True


@pytest.fixture(scope="module")
def theme(qapp):
    manager = ThemeManager(qapp, ThemeMode.DARK)
    yield manager
    manager.deleteLater()


@pytest.fixture
def frame(qtbot, tmp_path, theme):
    """A window on a desktop that has a tray."""
    made = Frame(tmp_path / "window.ini", theme)
    qtbot.addWidget(made.window)
    made.window.tray.is_available = lambda: True
    made.window.show()
    made.window.restore_layout()
    yield made
    made.language.use("en")


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
    frame.window.tray._fill_menu()
    return next(action for action in frame.window.tray._menu.actions() if action.text() == text)


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
    assert frame.window.newest_state is frame.source.state
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
    entry(frame, "Tell through the desktop").trigger()
    assert str(frame.settings.value("notices/system")).lower() == "false"
    entry(frame, "Open Orbit").trigger()
    assert frame.window.isVisible()


def test_the_icon_tells_how_the_cluster_is(frame, told, qtbot):
    tray = frame.window.tray
    tray.want(stay=True)
    assert tray._shown[0] is State.HEALTHY
    assert tray.icon.toolTip() == "Orbit — Embedded · 127.0.0.1:9876\nEmbedded broker running"
    rule = AlertRule("fast", "Fast", "totals.put_rate", above=True, threshold=1, for_ms=0, severity=Severity.CRITICAL)
    frame.source.alerts.answer(PutAlertRules(rules_to_json([rule])))
    frame.source.push_later(1_000)
    frame.source.push_later(1_000)
    assert tray._shown[0] is State.CRITICAL
    assert tray.icon.toolTip().endswith("3 alerts firing")
    frame.language.use("zh")
    qtbot.waitUntil(lambda: "内置 Broker 运行中" in tray.icon.toolTip())
    assert tray.icon.toolTip().endswith("3 个告警触发中")


def test_a_broker_that_is_lost_is_told_while_nobody_sees_the_banner(frame, told):
    frame.window.tray.stay()
    told.clear()
    frame.source.set_status(SourceStatus.LOST, WorkerError("the process was killed"))
    assert told == ["The embedded broker has stopped. the process was killed"]
    assert frame.window.tray._shown[0] is State.CRITICAL


def test_the_menu_action_turns_it_on_and_off(frame):
    actions = frame.window.actions_known
    assert actions.run("view.tray")
    assert frame.window.tray.is_wanted
    assert actions.run("view.tray")
    assert not frame.window.tray.is_wanted
    frame.window.tray.is_available = lambda: False
    assert not actions.run("view.tray")


def test_a_store_that_is_only_looked_at_ends_with_its_window(frame, tmp_path):
    frame.window._services = replace(frame.window.services, store_folder=tmp_path)
    frame.window.tray.want(stay=True)
    assert not frame.window.tray.is_wanted

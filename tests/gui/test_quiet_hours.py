"""Hours in which the desktop is left alone."""

from __future__ import annotations

import datetime as dt

import pytest
from PySide6.QtCore import QSettings, Qt, QTime
from PySide6.QtWidgets import QApplication, QWidget

from gui.main_window.notices import Notices
from gui.settings.quiet_hours import FROM_KEY, ON_KEY, QuietHours, keep_quiet_hours, read_quiet_hours
from gui.theme.tokens import State
from gui.views.settings.view import SettingsView
from tests.support.fake_frame import Frame
from tests.support.fake_source import FakeSource


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.mark.parametrize(
    ("begin", "end", "moment", "is_quiet"),
    [
        ("22:00", "08:00", "23:30", True),
        ("22:00", "08:00", "07:59", True),
        ("22:00", "08:00", "08:00", False),
        ("12:00", "13:00", "12:30", True),
        ("12:00", "13:00", "13:00", False),
        ("12:00", "12:00", "03:00", True),
    ],
)
def test_they_may_go_over_midnight(begin, end, moment, is_quiet):
    begin, end, moment = map(dt.time.fromisoformat, (begin, end, moment))
    assert QuietHours(True, begin, end).covers(moment) is is_quiet
    assert not QuietHours(False, begin, end).covers(moment)


def test_they_are_remembered_and_what_cannot_be_read_is_not_chosen(settings):
    kept = QuietHours(True, dt.time(21, 30), dt.time(6, 45))
    keep_quiet_hours(settings, kept)
    assert read_quiet_hours(settings) == kept
    settings.setValue(FROM_KEY, "21:30+02:00")
    assert read_quiet_hours(settings) == kept
    settings.setValue(FROM_KEY, "a quarter past nine")
    assert read_quiet_hours(settings) == QuietHours(True, dt.time(22), dt.time(6, 45))


def test_the_desktop_is_told_nothing_and_the_bell_keeps_it(qtbot, tmp_path, theme, monkeypatch):
    frame = Frame(tmp_path / "window.ini", theme)
    qtbot.addWidget(frame.window)
    told, now = [], dt.time(23)
    monkeypatch.setattr(QApplication, "applicationState", lambda: Qt.ApplicationState.ApplicationInactive)
    notices = Notices(
        theme,
        frame.window,
        frame.window.tool_bar,
        frame.settings,
        room=frame.window.toast_room,
        tell_system=lambda _title, text: told.append(text),
        local_time=lambda: now,
    )
    keep_quiet_hours(frame.settings, QuietHours(True, dt.time(22), dt.time(8)))
    notices.show("at night", state=State.CRITICAL)
    now = dt.time(9)
    notices.show("by day", state=State.CRITICAL)
    assert told == ["by day"]
    assert [one.text for one in notices.toasts.kept] == ["by day", "at night"]


def test_the_settings_page_changes_them(show_page):
    view = show_page(SettingsView, FakeSource())
    view.show_section("notifications")
    panel, settings = view.section("notifications"), view.context.settings
    assert not panel.quiet_from.isEnabled()
    panel.quiet.click()
    assert str(settings.value(ON_KEY)).lower() == "true"
    assert panel.quiet_from.isEnabled()
    panel.quiet_from.setTime(QTime(20, 15))
    assert read_quiet_hours(settings) == QuietHours(True, dt.time(20, 15), dt.time(8))
    assert all(field.accessibleName() for field in panel.findChildren(QWidget) if field in (panel.quiet_from, panel.quiet_to))

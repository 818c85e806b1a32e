"""Local times that come twice, or never, in the fields of the window."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import QDateTime, QTimeZone
from PySide6.QtWidgets import QWidget

from broker_core.api import UnclearTimeError
from gui.main_window.range_dialog import RangeDialog
from gui.models.messages import entered_time, parse_time
from gui.views.time_range import TimeRangeChoice
from gui.words.broker_words import broker_text
from gui.words.text import TimeZoneChoice

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.parametrize("text", ["2026-10-25T02:30", "2026-03-29T02:30"])
def test_the_window_has_the_reason_in_chinese(zone, text, chinese):
    with pytest.raises(UnclearTimeError) as refused:
        parse_time(text, NOW_MS, None)
    shown = broker_text(refused.value.message)
    assert "本机时区" in shown
    assert text in shown
    assert "clock" not in shown


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
def test_a_field_gets_the_reason_or_the_moment(zone):
    assert entered_time("2026-10-25 03:00", NOW_MS, None) == (ms("2026-10-25T02:00"), "")
    assert entered_time("no time", NOW_MS, None) == (None, "")
    moment, reason = entered_time("2026-03-29 02:30", NOW_MS, None)
    assert moment is None
    assert "does not exist" in reason
    assert entered_time("2026-03-29 02:30", NOW_MS, UTC) == (ms("2026-03-29T02:30"), "")


@pytest.fixture
def dialog(qtbot, zone):
    choice, parent = TimeRangeChoice(HOUR_MS), QWidget()
    qtbot.addWidget(parent)
    choice.setParent(parent)
    choice.set_between(ms("2026-10-25T00:30"), ms("2026-10-25T01:30"))  # both are 02:30
    made = RangeDialog(choice, TimeZoneChoice(utc=False, parent=parent), parent)
    made.choice, made.kept = choice, parent
    return made


def enter(field, text):
    field.setDateTime(QDateTime.fromMSecsSinceEpoch(ms(text), QTimeZone.utc()))


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
def test_a_range_that_is_not_changed_stays_what_it_was(dialog):
    assert (dialog.begin.text(), dialog.end.text()) == ("2026-10-25 02:30:00", "2026-10-25 02:30:00")
    assert dialog.go.isEnabled()
    dialog.go.click()
    assert dialog.choice.between == (ms("2026-10-25T00:30"), ms("2026-10-25T01:30"))


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.parametrize(("entered", "reason"), [("2026-10-25T02:15", "comes twice"), ("2026-03-29T02:15", "does not exist")])
def test_a_range_from_a_time_that_is_unclear_is_refused_with_the_reason(dialog, entered, reason):
    enter(dialog.begin, entered)
    assert reason in dialog.fault.text()
    assert not dialog.go.isEnabled()
    enter(dialog.begin, "2026-03-29T03:15")
    assert (dialog.fault.text(), dialog.go.isEnabled()) == ("", True)
    dialog.go.click()
    assert dialog.choice.between == (ms("2026-03-29T01:15"), ms("2026-10-25T01:30"))

"""The Broker settings page over a fake broker."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtGui import QFont, QFontMetrics, QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel

from broker_core.api import RemoteError, RequestCode, setting_specs
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from gui.theme.fonts import text_font
from gui.theme.tokens import Size
from gui.views.action_dialog import ActionDialog
from gui.views.broker_settings.detail import human_text
from gui.views.broker_settings.explanations import EXPLANATIONS, SUBJECTS, subject_of
from gui.views.broker_settings.view import APART, DIFFERS, BrokerSettingsView, section_of
from gui.words.text import load_catalogue
from monitoring.admin.settings import change_request
from tests.support.fake_source import FakeSource
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import segment


@pytest.fixture
def make_view(show_page):
    return partial(show_page, BrokerSettingsView)


@pytest.fixture
def source():
    return FakeSource()


def test_names_of_settings_are_whole_in_a_small_window(make_view, source, qtbot):
    view = make_view(source)
    view.resize(1_072, 680)
    wanted = QFontMetrics(text_font(Size.BODY, QFont.Weight.DemiBold)).horizontalAdvance("autoCreateSubscriptionGroup")
    qtbot.waitUntil(lambda: view.grid.view.columnWidth(0) >= wanted + 20)
    hidden = [one.title for place, one in enumerate(view.grid.model.columns) if view.grid.view.isColumnHidden(place)]
    assert "Can change" not in hidden


def answer_with(source, **changed):
    """Let the broker have other values from now on."""
    lines = source.broker_answers[RequestCode.GET_BROKER_CONFIG].body.decode().splitlines()
    values = dict(line.split("=", 1) for line in lines) | changed
    body = "".join(f"{key}={value}\n" for key, value in values.items()).encode()
    source.broker_answers[RequestCode.GET_BROKER_CONFIG] = BrokerAnswer({}, body)


def keys(view):
    return [one.setting.key for one in view.model.shown_rows]


def test_every_live_setting_is_explained_in_both_languages():
    live = {key for key, spec in setting_specs().items() if spec.is_live}
    assert live == EXPLANATIONS.keys()
    assert [text for text in EXPLANATIONS.values() if text not in load_catalogue("zh")] == []


def test_settings_are_listed_by_subject_with_what_can_be_changed_first(make_view, source):
    view = make_view(source)
    hold_to_rules(view.model)

    live = sum(spec.is_live for spec in setting_specs().values())
    assert f"{live} can be changed now, 1 not at their default, read 02:15:02" in view.header.facts
    by_subject = [(section_of(one), one.setting.is_live) for one in view.model.shown_rows]
    assert by_subject == sorted(by_subject, key=lambda one: (SUBJECTS.index(one[0]), not one[1]))
    changes = {view.model.index(row, 4).data() for row in range(view.model.rowCount())}
    assert {"Now", "At a start"} <= changes


@pytest.mark.parametrize(
    ("key", "subject"),
    [
        ("flushDiskType", "Flush and sync"),
        ("diskMaxUsedSpaceRatio", "Disk and cleaning"),
        ("transactionTimeOut", "Transactions"),
        ("popPollingSize", "Consumption"),
        ("timerWheelEnable", "Delay and timers"),
        ("sendMessageThreadPoolNums", "Messages"),
        ("somethingOfAnotherVersion", "Other settings"),
    ],
)
def test_a_setting_is_under_the_heading_of_its_subject(key, subject):
    assert subject_of(key) == subject


def test_no_known_setting_is_without_a_subject():
    assert [key for key in setting_specs() if subject_of(key) == "Other settings"] == []


def test_the_search_finds_names_values_and_explanations(make_view, source):
    view = make_view(source)
    view.filter.search.searched.emit("sql92 retried")
    assert keys(view) == ["filterSupportRetry"]
    view.filter.search.searched.emit("ASYNC_MASTER")
    assert keys(view) == ["brokerRole"]
    view.filter.search.searched.emit("")
    view.filter.choice.choose(DIFFERS)
    view.filter.choice.chosen.emit(DIFFERS)
    assert keys(view) == ["fileReservedTime"]


def test_a_value_is_staged_reviewed_changed_and_taken_back(make_view, source, window):
    view = make_view(source)
    view.open({"setting": "deleteWhen"})
    view.detail.field.setText("05")
    view.detail.stage_button.click()
    assert view.staged_facts.pairs() == [("deleteWhen", "04 → 05")]
    assert view.review_button.text() == "Review 1 change…"

    dialog = view.ask_change()
    request = change_request({"deleteWhen": "05"})
    assert request not in source.asked
    answer_with(source, deleteWhen="05")
    dialog.go.click()
    assert request in source.asked
    assert window.notices[-1][0] == "1 broker setting changed"
    assert view.staged_facts.pairs() == []
    assert not view.review_button.isEnabled()

    answer_with(source, deleteWhen="04")
    undo = next(one for one in view.findChildren(QShortcut) if one.key() == QKeySequence("Ctrl+Z"))
    undo.activated.emit()
    view.findChildren(ActionDialog)[-1].go.click()
    assert change_request({"deleteWhen": "04"}) in source.asked
    assert not view.undo_button.isEnabled()


@pytest.mark.parametrize(
    ("key", "text", "fault"),
    [
        ("fileReservedTime", "soon", "It takes a whole number"),
        ("diskMaxUsedSpaceRatio", "99", "It takes a number from 10 to 95"),
        ("deleteWhen", "25", "It takes hours from 00 to 23, several as in 04;16"),
    ],
)
def test_a_value_that_cannot_be_is_not_staged(make_view, source, key, text, fault):
    view = make_view(source)
    view.open({"setting": key})
    view.detail.field.setText(text)
    assert view.detail.fault.text() == fault
    assert not view.detail.stage_button.isEnabled()
    view.detail.field.returnPressed.emit()
    assert view.staged_facts.pairs() == []


def two_brokers(source, *, notice=""):
    """Let the cluster have two brokers that differ in three settings, one of them their names."""
    before = source.broker_answers[RequestCode.GET_BROKER_CONFIG].body
    lines = {"a": before + b"brokerName=a\n", "b": before.replace(b"deleteWhen=04", b"deleteWhen=06") + b"brokerName=b\n"}
    source.broker_answers[RequestCode.GET_BROKER_CONFIG] = BrokerAnswer({}, lines["a"], notice, lines)


def test_settings_in_which_brokers_differ_are_marked_and_listed(make_view, source):
    view = make_view(source)
    assert not segment(view.filter.choice, "Brokers differ").isVisibleTo(view), "of one broker nothing differs"
    two_brokers(source)
    view.refresh()
    assert segment(view.filter.choice, "Brokers differ").isVisibleTo(view)
    view.filter.choice.choose(APART)
    view.filter.choice.chosen.emit(APART)
    assert keys(view) == ["deleteWhen"], "names differ anyway"
    row = view.model.shown_rows[0]
    shown = {column.key: column.text(row) for column in view.model.columns}
    assert (shown["value"], shown["note"]) == ("04 ≠ 06", "Differs")
    view.grid.select_key("deleteWhen")
    assert view.detail.facts.pairs()[:2] == [("a", "04"), ("b", "06")]


def test_settings_in_which_brokers_differ_are_made_one_and_taken_back_to_each_its_own(make_view, source):
    two_brokers(source)
    view = make_view(source)
    view.open({"setting": "deleteWhen"})
    view.detail.stage_button.click()  # the value of the first, for all
    assert view.staged_facts.pairs() == [("deleteWhen", "04 ≠ 06 → 04")]
    dialog = view.ask_change()
    assert any("one after the other: 2" in label.text() for label in dialog.findChildren(QLabel))
    dialog.go.click()
    assert change_request({"deleteWhen": "04"}) in source.asked
    answer_with(source)  # they are alike now
    view.refresh()
    view.ask_undo().go.click()
    asked = source.asked_for(AskBroker)
    assert change_request({"deleteWhen": "06"}, "b") in asked
    assert not view.undo_button.isEnabled()


def test_a_broker_whose_settings_are_missing_is_named(make_view, source):
    two_brokers(source, notice="Not all brokers answered, and what they hold is missing here. c: no answer: gone")
    view = make_view(source)
    assert "c: no answer: gone" in view.missing.text()
    assert view.model.rows
    two_brokers(source)
    view.refresh()
    assert not view.missing.isVisibleTo(view)


def test_what_is_being_typed_survives_new_figures(make_view, source):
    view = make_view(source)
    view.open({"setting": "deleteWhen"})
    view.detail.field.setText("1")
    view.refresh()
    assert view.detail.field.text() == "1"


def test_a_setting_of_the_start_is_locked_with_the_reason(make_view, source):
    view = make_view(source)
    view.open({"setting": "flushDiskType"})
    assert not view.detail.stage_button.isVisible()
    assert view.detail.locked.text() == "It is read when the broker starts and cannot be changed while it runs."


def test_a_refusal_stays_in_the_dialog(make_view, source):
    view = make_view(source)
    view.stage("deleteWhen", "06")
    dialog = view.ask_change()
    source.fail_with = RemoteError("the setting cannot be changed", code=16)
    dialog.go.click()
    assert "the setting cannot be changed" in dialog.error.text
    assert view.staged_facts.pairs() == [("deleteWhen", "04 → 06")]
    source.fail_with = None
    dialog.reject()


def test_a_change_that_deletes_messages_warns(make_view, source):
    view = make_view(source)
    view.stage("fileReservedTime", "1")
    dialog = view.ask_change()
    assert view.staged_facts.pairs() == [("fileReservedTime", "48 (2 d) → 1 (1 h)")]
    assert any("are deleted with the next cleaning" in label.text() for label in dialog.findChildren(QLabel))
    dialog.reject()


def test_settings_that_were_not_read_say_why(make_view, source):
    source.fail_with = RemoteError("no permission", code=16)
    view = make_view(source)
    assert view.grid.placeholder.text == "The broker's settings were not read."


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("maxMessageSize", "4194304", "4 MiB"),
        ("mappedFileSizeCommitLog", "1073741824", "1 GiB"),
        ("mappedFileSizeConsumeQueue", "6000000", "5.7 MiB"),
        ("registerNameServerPeriod", "30000", "30 s"),
        ("transactionCheckInterval", "60000", "1 min"),
        ("waitTimeMillsInSendQueue", "200", "200 ms"),
        ("timerMaxDelaySec", "259200", "3 d"),
        ("fileReservedTime", "72", "3 d"),
        ("diskMaxUsedSpaceRatio", "75", ""),
        ("flushCommitLogLeastPages", "4", "16 KiB"),
        ("maxPopPollingSize", "100000", ""),
        ("transactionOpBatchInterval", "0", ""),
        ("startAcceptSendRequestTimeStamp", "1795227302640", ""),
        ("deleteWhen", "04", ""),
    ],
)
def test_a_number_with_a_unit_is_said_in_words(key, value, shown):
    assert human_text(key, value) == shown


def test_a_value_has_its_meaning_beside_the_raw_number_everywhere(make_view, source):
    view = make_view(source)
    view.stage("flushConsumerOffsetInterval", "60000")
    view.open({"setting": "flushConsumerOffsetInterval"})

    assert view.staged_facts.pairs() == [("flushConsumerOffsetInterval", "5000 (5 s) → 60000 (1 min)")]
    shown = {column.key: column.text(view.grid.selected_row) for column in view.model.columns}
    assert (shown["value"], shown["staged"], shown["default"]) == ("5000 (5 s)", "60000 (1 min)", "5000")
    assert ("Value now", "5000 (5 s)") in view.detail.facts.pairs()
    assert ("Default", "5000 (5 s)") in view.detail.facts.pairs()
    dialog = view.ask_change()
    said = [label.text() for label in dialog.findChildren(QLabel)]
    assert "5000 (5 s) → 60000 (1 min)" in said
    dialog.reject()


def test_what_is_typed_says_what_it_means(make_view, source):
    view = make_view(source)
    view.open({"setting": "maxMessageSize"})
    view.detail.field.setText("1048576")
    assert view.detail.meaning.text() == "1 MiB"
    view.detail.field.setText("much")
    assert not view.detail.meaning.isVisible()


def test_the_search_finds_a_value_by_its_meaning(make_view, source):
    view = make_view(source)
    view.filter.search.searched.emit("1 gib")
    assert "mappedFileSizeCommitLog" in keys(view)

"""Import and export of topics: preview, what is taken, what became of each, the receipt."""

from __future__ import annotations

import json
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from broker_core.api import RemoteError, RequestCode, open_csv, read_csv
from broker_core.worker.questions.administration import AskBroker
from gui.models.topic_import import ImportKind, ImportOutcome
from gui.theme.tokens import State
from gui.views.topics.columns import _IMPORT_FAULTS, _IMPORT_KINDS, _IMPORT_OUTCOMES
from gui.views.topics.view import TopicsView
from gui.widgets.said import SaidTexts, write_texts
from gui.words.text import load_catalogue, tr
from tests.support.fake_source import FakeSource
from tests.support.model_rules import hold_to_rules

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]
FILE = [
    {"topicName": "refunds", "writeQueueNums": 4, "readQueueNums": 4, "perm": 6, "attributes": {"message.type": "FIFO"}},
    {"topicName": "orders", "writeQueueNums": 16, "readQueueNums": 16},
    {"topicName": "payments", "perm": 6},
    {"topicName": "TBW102", "perm": 7},
    {"topicName": "%RETRY%order-service"},
    {"topicName": "a b"},
    {"topicName": "audit", "writeQueueNums": "x"},
]


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def view(show_page, source):
    return show_page(TopicsView, source)


@pytest.fixture
def opened(view, tmp_path, qtbot):
    """The dialog with the file read."""
    path = tmp_path / "topics.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    dialog = view.ask_import()
    dialog.read(path)
    qtbot.waitUntil(lambda: len(dialog.model.rows) == len(FILE))
    return dialog


def kinds(dialog):
    return {one.entry.name: one.kind for one in dialog.model.rows}


def text_of(dialog, name, key):
    column = next(column for column in dialog.model.columns if column.key == key)
    return column.text(next(one for one in dialog.model.rows if one.entry.name == name))


def changes_asked(source):
    asked = source.asked_for(AskBroker)
    return [one.fields for one in asked if one.code == RequestCode.UPDATE_AND_CREATE_TOPIC]


def test_the_preview_says_what_each_entry_comes_to_and_changes_nothing(opened, source):
    hold_to_rules(opened.model)
    assert kinds(opened) == {
        "refunds": ImportKind.NEW,
        "orders": ImportKind.CHANGED,
        "payments": ImportKind.SAME,
        "TBW102": ImportKind.OWN,
        "%RETRY%order-service": ImportKind.OWN,
        "a b": ImportKind.REFUSED,
        "audit": ImportKind.REFUSED,
    }
    assert text_of(opened, "refunds", "changes") == (
        "Write queues 4, Read queues 4, Permission Read and write (6), Message type FIFO"
    )
    assert text_of(opened, "orders", "changes") == "Write queues 8 → 16, Read queues 8 → 16"
    assert text_of(opened, "audit", "changes") == "writeQueueNums=x: no number that it can be."
    assert text_of(opened, "a b", "changes") == "A name has only letters, digits, _ - % and |"
    assert opened.counts.text() == "1 to be made, 1 other than here, 1 the same, 2 of the broker, 2 refused"
    assert changes_asked(source) == []


def test_topics_that_there_are_stay_as_they_are_unless_asked_for(opened, source, qtbot):
    assert opened.go.text() == "Import 1 topic"
    opened.changes.setChecked(True)
    assert opened.go.text() == "Import 2 topics"
    qtbot.mouseClick(opened.go, Qt.MouseButton.LeftButton)
    refunds, orders = changes_asked(source)
    assert (refunds["topic"], refunds["writeQueueNums"], refunds["attributes"]) == ("refunds", "4", "+message.type=FIFO")
    assert (orders["topic"], orders["readQueueNums"], orders["perm"]) == ("orders", "16", "6")
    assert "attributes" not in orders
    assert opened.notice.text == "2 of 2 topics are imported"
    assert text_of(opened, "orders", "outcome") == "Done"
    assert not opened.go.isVisible()
    assert opened.receipt_button.isVisible()


def test_a_topic_is_left_out_by_a_key_and_taken_again(opened, qtbot):
    opened.grid.select_key(1)
    opened.grid.view.setFocus()
    opened.toggle(opened.grid.selected_row)
    assert not opened.go.isEnabled()
    opened.toggle(opened.grid.selected_row)
    assert opened.go.isEnabled()
    refused = next(one for one in opened.model.rows if one.kind is ImportKind.REFUSED)
    opened.toggle(refused)
    assert not next(one for one in opened.model.rows if one.number == refused.number).is_taken


def test_one_that_fails_is_named_and_the_others_go_on(opened, source, tmp_path, qtbot):
    opened.changes.setChecked(True)
    source.hold = True
    opened.start()
    source.held[-1].release(error=RemoteError("no more topics", code=1))
    qtbot.waitUntil(lambda: len(changes_asked(source)) == 2)
    source.held[-1].release()
    qtbot.waitUntil(opened.receipt_button.isVisible)
    assert text_of(opened, "refunds", "outcome") == "Failed"
    assert text_of(opened, "refunds", "changes") == "no more topics"
    assert opened.notice.text == "1 of 2 topics are imported"
    path = tmp_path / "receipt.csv"
    opened.write_receipt(path)
    qtbot.waitUntil(path.exists)
    with open_csv(path) as file:
        rows = {topic: (outcome, reason) for _line, (topic, _action, _changes, outcome, reason) in read_csv(file)}
    assert rows["refunds"] == ("failed", "no more topics")
    assert rows["orders"] == ("done", "")
    assert rows["audit"] == ("left out", "number")
    qtbot.waitUntil(lambda: opened.notice.text.startswith("The receipt is in"))


def test_stopped_it_ends_after_the_one_that_is_under_way(opened, source, qtbot):
    opened.changes.setChecked(True)
    source.hold = True
    opened.start()
    assert opened.close_button.text() == "Stop"
    opened.reject()
    assert opened.isVisible()
    source.held[-1].release()
    outcomes = {one.entry.name: one.outcome for one in opened.model.rows if one.is_taken}
    assert outcomes == {"refunds": ImportOutcome.DONE, "orders": ImportOutcome.NOT_TRIED}
    assert len(changes_asked(source)) == 1
    opened.reject()
    assert not opened.isVisible()


def test_over_a_read_only_connection_nothing_is_imported(view, source, opened):
    source.read_only = True
    dialog = view.ask_import()
    assert not dialog.go.isEnabled()
    assert "read-only" in dialog.go.toolTip()
    write_texts(view.findChildren(SaidTexts))
    assert not view.import_button.isEnabled()


def test_a_file_of_something_else_says_why(view, tmp_path, qtbot):
    path = tmp_path / "notes.csv"
    path.write_text("hello\n", encoding="utf-8")
    dialog = view.ask_import()
    dialog.read(path)
    qtbot.waitUntil(lambda: "no column topicName" in dialog.notice.text)
    assert not dialog.go.isEnabled()
    dialog.read(tmp_path / "nowhere.json")
    qtbot.waitUntil(lambda: "No such file" in dialog.notice.text)


def test_settings_that_are_not_known_hold_the_import_back(view, source, tmp_path, qtbot):
    path = tmp_path / "topics.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    dialog = view.ask_import()
    source.fail_with = RemoteError("busy", code=2)
    dialog.read(path)
    qtbot.waitUntil(lambda: "were not read" in dialog.notice.text)
    assert dialog.model.rows == []
    assert not dialog.go.isEnabled()


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_what_is_listed_is_exported_and_can_be_imported_again(view, window, tmp_path, qtbot, suffix):
    path = tmp_path / f"topics.{suffix}"
    view.filter.search_for("orders")
    view.export.write(path)
    qtbot.waitUntil(lambda: bool(window.notices))
    assert window.notices == [(f"1 topic is exported to {path}", State.HEALTHY)]
    dialog = view.ask_import()
    dialog.read(path)
    qtbot.waitUntil(lambda: bool(dialog.model.rows))
    assert kinds(dialog) == {"orders": ImportKind.SAME}


def test_the_columns_are_chosen_by_a_button_and_remembered(view, show_page, source, qtbot):
    view.columns_button.click()
    menu = next(menu for menu in view.findChildren(QMenu) if menu.isVisible())
    entry = next(action for action in menu.actions() if action.text() == "Messages kept")
    assert entry.isChecked()
    entry.trigger()
    menu.close()
    place = next(place for place, column in enumerate(view.model.columns) if column.key == "kept")
    assert view.grid.view.isColumnHidden(place)
    again = show_page(TopicsView, source)
    assert again.grid.view.isColumnHidden(place)


def test_a_column_without_room_says_so_in_the_menu(view, qtbot):
    view.resize(860, 700)
    names = partial(lambda: [action.text() for action in view.grid.columns.menu(view).actions()])
    qtbot.waitUntil(lambda: "Avg size (no room for it now)" in names())
    assert view.columns_button.mapToGlobal(QPoint()).x() > 0


@pytest.mark.parametrize("words", [*_IMPORT_KINDS.values(), *_IMPORT_OUTCOMES.values()], ids=lambda pair: pair[0])
def test_each_word_of_a_chip_is_known_in_chinese(words):
    assert words[0] in load_catalogue("zh") or not words[0]
    assert all(text in load_catalogue("zh") for text in _IMPORT_FAULTS.values())
    assert tr(words[0]) == words[0]

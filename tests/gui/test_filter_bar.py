"""The filter bar: checked while it is typed, completed, taken apart, remembered."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog

from broker_core.api import UsageError
from gui.operations.filter_memory import HISTORY_MAX, SAVED_MAX, FilterMemory
from gui.operations.known_names import SEEN_MAX, KnownNames
from gui.views.messages.filter_bar import CHIPS_MAX, EXAMPLE, FilterBar
from tests.support.fake_source import fake_state


@pytest.fixture
def memory(tmp_path):
    return FilterMemory(QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat))


@pytest.fixture
def bar(qtbot, theme, memory):
    made = FilterBar(theme, memory, now_ms=lambda: 0)
    qtbot.addWidget(made)
    made.resize(900, 120)
    made.show()
    qtbot.waitExposed(made)
    made.told = []
    made.submitted.connect(made.told.append)
    return made


def test_an_empty_bar_shows_an_example(bar, theme, memory):
    assert bar.edit.placeholderText() == EXAMPLE
    assert FilterBar(theme, memory, example="queue = 1").edit.placeholderText() == "queue = 1"


def test_enter_submits_what_can_be_read(qtbot, bar, memory):
    bar.set_text('tag = "PAID"')
    qtbot.keyClick(bar.edit, Qt.Key.Key_Return)
    assert (bar.told, memory.history, bar.fault.isVisible()) == (['tag = "PAID"'], ['tag = "PAID"'], False)


def test_what_is_wrong_is_said_with_its_place_and_marked(qtbot, bar):
    bar.set_text('tag = "PAID" and bdy = "x"')
    qtbot.keyClick(bar.edit, Qt.Key.Key_Return)
    assert not bar.told
    assert bar.fault.whole_text() == "at character 18: there is no field “bdy”; did you mean body?"
    assert bar.edit.property("valid") == "false"
    assert underlined(bar.edit) == "bdy"
    bar.set_text('tag = "PAID"')
    assert (bar.fault.isVisible(), underlined(bar.edit)) == (False, "")


def underlined(edit):
    text, marked = edit.text, ""
    for one in edit.document().firstBlock().layout().formats():
        if one.format.underlineStyle() == one.format.UnderlineStyle.WaveUnderline:
            marked += text[one.start : one.start + one.length]
    return marked


def test_typing_is_checked_when_it_pauses(qtbot, bar):
    edited = []
    bar.edited.connect(edited.append)
    QTest.keyClicks(bar.edit, "queue ")
    qtbot.waitUntil(bar.fault.isVisible)
    QTest.keyClicks(bar.edit, "= 1")
    qtbot.waitUntil(lambda: edited == ["queue = 1"])
    assert not bar.fault.isVisible()


def test_a_word_is_completed_and_enter_behind_it_submits(qtbot, bar):
    names = KnownNames()
    bar.use_names(names)
    names.take_state(fake_state())
    QTest.keyClicks(bar.edit, "to")
    assert bar.edit.popup.isVisible()
    qtbot.keyClick(bar.edit.popup, Qt.Key.Key_Return)
    assert bar.text == "topic"
    QTest.keyClicks(bar.edit, '= "paym')
    qtbot.keyClick(bar.edit.popup, Qt.Key.Key_Tab)
    assert bar.text == 'topic = "payments"'
    qtbot.keyClick(bar.edit, Qt.Key.Key_Return)
    assert bar.told == ['topic = "payments"']


def test_the_list_opens_by_itself_only_within_a_word(qtbot, bar):
    QTest.keyClicks(bar.edit, 'tag = "x" ')
    assert not bar.edit.popup.isVisible()
    qtbot.keyClick(bar.edit, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert bar.edit.popup.isVisible()
    qtbot.keyClick(bar.edit.popup, Qt.Key.Key_Escape)
    assert (bar.edit.popup.isVisible(), bar.text) == (False, 'tag = "x"')


def test_lines_of_what_is_pasted_become_one(bar):
    bar.edit.insertPlainText("queue = 1\nand offset = 2")
    assert bar.text == "queue = 1 and offset = 2"


def test_conditions_are_chips_that_can_be_left_out(bar):
    bar.set_text('topic = "a" and tag = "b&c" and queue = 1')
    assert [chip.text() for chip in bar.chips] == ['topic = "a"', 'tag = "b&&c"', "queue = 1"]
    bar.chips[1].click()
    assert bar.told == ['topic = "a" and queue = 1']
    bar.add_condition('tag != "x"')
    assert bar.told[-1] == 'topic = "a" and queue = 1 and tag != "x"'


def test_one_condition_needs_no_chip_and_very_many_have_some(bar):
    bar.set_text("queue = 1")
    assert not bar.chips
    bar.set_text(" and ".join(f"queue != {number}" for number in range(CHIPS_MAX + 5)))
    assert len(bar.chips) == CHIPS_MAX


def test_earlier_filters_are_recalled_by_keys(qtbot, bar):
    for text in ("queue = 1", "queue = 2"):
        bar.set_text(text)
        bar.submit()
    alt = Qt.KeyboardModifier.AltModifier
    seen = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(bar.edit, key, alt)
        seen.append(bar.text)
    assert seen == ["queue = 2", "queue = 1", "queue = 1", "queue = 2", ""]


def test_a_filter_is_saved_under_a_name(qtbot, bar, memory):
    bar.set_text("queue = 1")
    dialog = bar.ask_name()
    assert isinstance(dialog, QInputDialog)
    dialog.setTextValue(" first ")
    dialog.accept()
    assert memory.saved.all == {"first": "queue = 1"}
    memory.saved.forget("first")
    assert memory.saved.all == {}


def test_memory_is_bounded_and_survives_what_others_wrote(tmp_path):
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    memory = FilterMemory(settings)
    for number in range(HISTORY_MAX + 5):
        memory.used(f"queue = {number}")
    memory.used("queue = 20")
    assert (len(memory.history), memory.history[0]) == (HISTORY_MAX, "queue = 20")
    assert all(memory.saved.save(f"n{number}", "queue = 1") for number in range(SAVED_MAX))
    assert not memory.saved.save("one more", "queue = 1")
    assert memory.saved.save("n0", "queue = 2")
    memory.clear_history()
    assert memory.history == []
    for broken in ("{", "7", '{"a": 1}', '["x", 1]'):
        settings.setValue("messages/filters/saved", broken)
        settings.setValue("messages/filters/history", broken)
        assert memory.saved.all == {}
        assert memory.history == (["x"] if broken == '["x", 1]' else [])


def test_a_fault_of_the_search_is_shown_too(bar):
    bar.set_text("queue = 1")
    bar.show_fault(UsageError("8 searches are open"))
    assert bar.fault.whole_text() == "8 searches are open"
    assert underlined(bar.edit) == ""


def test_names_are_offered_as_they_come_to_be_known(bar):
    names, told = KnownNames(), []
    bar.use_names(names)
    names.changed.connect(lambda: told.append(names.vocabulary))
    names.add_tags(["PAID", "", "PAID"])
    names.add_properties(["region"])
    names.add_tags(["PAID"])
    assert len(told) == 2
    assert (bar.edit.vocabulary.tags, bar.edit.vocabulary.properties) == (["PAID"], ["region"])
    names.add_tags(str(number) for number in range(2 * SEEN_MAX))
    assert len(bar.edit.vocabulary.tags) == SEEN_MAX

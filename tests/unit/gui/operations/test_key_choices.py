"""Keys that the user gave to actions: kept, refused with who has them, cleared and reset."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, QSettings, Qt
from PySide6.QtGui import QKeyEvent

from gui.main_window.key_bindings import KeyBindings, is_plain_key
from gui.operations.actions import Action, ActionRegistry
from gui.operations.key_choices import KEYS_GROUP, KeyChoices


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "keys.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def registry():
    made = ActionRegistry()
    for action_id, title, key in (("a.go", "Go", "Ctrl+G"), ("a.stop", "Stop", "Ctrl+Shift+G"), ("a.pause", "Pause", "Space")):
        made.add(Action(action_id, title, lambda: None, shortcut=key))
    made.add(Action("a.none", "Rest", lambda: None))
    return made


def keys(registry):
    return {action.action_id: action.shortcut for action in registry.actions()}


def test_a_changed_key_counts_at_once_and_the_next_time(registry, settings):
    choices = KeyChoices(registry, settings)
    assert choices.change("a.go", "Ctrl+Alt+G") == ""
    assert choices.change("a.none", "F9") == ""
    assert keys(registry)["a.go"] == "Ctrl+Alt+G"
    assert choices.is_changed("a.go")
    assert not choices.is_changed("a.stop")
    later = ActionRegistry()
    KeyChoices(later, settings).load()
    later.add(Action("a.go", "Go", lambda: None, shortcut="Ctrl+G"))
    assert keys(later) == {"a.go": "Ctrl+Alt+G"}, "also of an action that comes after the keys were read"


def test_a_key_is_cleared_and_reset(registry, settings):
    choices = KeyChoices(registry, settings)
    assert choices.change("a.go", "") == ""
    assert keys(registry)["a.go"] == ""
    assert choices.kept() == {"a.go": ""}
    assert choices.reset("a.go") == ""
    assert (keys(registry)["a.go"], choices.kept()) == ("Ctrl+G", {})
    assert choices.reset("a.pause") == "", "a key that an action came with is its own, also where a list has it too"


def test_a_key_that_is_taken_is_refused_with_who_has_it(registry, settings):
    choices = KeyChoices(registry, settings)
    refusal = choices.change("a.go", "Shift+Ctrl+G")
    assert "“Stop”" in refusal
    assert keys(registry)["a.go"] == "Ctrl+G"
    assert choices.change("a.stop", "") == ""
    assert choices.change("a.go", "Ctrl+Shift+G") == ""
    assert "“Go”" in choices.reset("a.stop"), "what it came with is another one's now"


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("Tab", "to move within the window"),
        ("Shift+Down", "to move within the window"),
        ("Ctrl+C", "Copy rows"),
        ("Ctrl+V", "text fields"),
        ("M", "Browse messages"),
        ("Ctrl+K, Ctrl+L", "no key"),
        ("Ctrl+NoSuchKey", "no key"),
    ],
)
def test_a_key_that_is_needed_elsewhere_is_refused(registry, settings, key, says):
    choices = KeyChoices(registry, settings)
    assert says in choices.change("a.none", key)
    assert choices.kept() == {}


def test_all_keys_are_reset(registry, settings):
    choices, first = KeyChoices(registry, settings), keys(registry)
    choices.change("a.go", "F9")
    choices.change("a.stop", "")
    choices.reset_all()
    assert (keys(registry), choices.kept()) == (first, {})


def test_what_somebody_wrote_into_the_settings_harms_nothing(registry, settings):
    first = keys(registry)
    settings.setValue(f"{KEYS_GROUP}/a.go", "no key at all, or two")
    settings.setValue(f"{KEYS_GROUP}/gone", "Ctrl+L")
    KeyChoices(registry, settings).load()
    assert keys(registry) == first


def test_a_key_that_a_field_would_take_as_text_is_plain():
    assert [key for key in ("?", "+", "Space", "F5", "Ctrl++", "Ctrl+K", "") if is_plain_key(key)] == ["?", "+", "Space"]


@pytest.mark.parametrize(
    ("modifier", "text", "runs"),
    [
        (Qt.KeyboardModifier.NoModifier, "j", True),
        (Qt.KeyboardModifier.ShiftModifier, "J", True),
        (Qt.KeyboardModifier.ControlModifier, "\n", False),
        (Qt.KeyboardModifier.AltModifier, "j", False),
    ],
)
def test_a_plain_key_runs_its_action_without_a_modifier_alone(qapp, registry, modifier, text, runs):
    ran = []
    registry.add(Action("a.jump", "Jump", lambda: ran.append(True), shortcut="J"))
    parent = QObject()
    assert KeyBindings(registry, parent).plain_key(QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_J, modifier, text)) is runs
    assert bool(ran) is runs

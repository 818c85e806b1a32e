"""On a connection that is read-only, what would change something is grey with the reason before anything is filled in."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QMenu

from gui.main_window.palette_entries import palette_entries
from gui.views.broker_settings.view import BrokerSettingsView
from gui.views.consumers.view import TABS, ConsumersView
from gui.views.dead_letters.view import DeadLettersView
from gui.views.delay.view import DelayView
from gui.views.events.view import EventsView
from gui.views.messages.message_view import MessageView
from gui.views.messages.view import MessagesView
from gui.views.overview.view import OverviewView
from gui.views.topics.topic_view import TopicView
from gui.views.topics.view import TopicsView
from gui.views.transactions.view import TransactionsView
from gui.widgets.data_grid import DataGrid
from monitoring.sources.base import EMBEDDED_NAME
from tests.support.fake_frame import Frame
from tests.support.fake_source import FakeSource

REASON = "This connection is read-only: nothing can be changed over it."


@pytest.fixture(params=[True, False], ids=["read-only", "plain"])
def source(request):
    made = FakeSource()
    made.read_only = request.param
    return made


def is_held(source, part, *, able=True):
    """Whether a button or an entry is grey with the reason where it has to be, and can be used where it may."""
    if source.read_only:
        return not part.isEnabled() and part.toolTip() == REASON
    return part.isEnabled() is able and REASON not in part.toolTip()


def entries(page, open_menu):
    """Entries of a menu that a page opens, by their text."""
    before = set(page.findChildren(QMenu))
    open_menu()
    (menu,) = set(page.findChildren(QMenu)) - before
    found = {action.text(): action for action in menu.actions() if action.text()}
    assert menu.toolTipsVisible() or all(action.isEnabled() for action in found.values())
    return found


def held(found):
    return {text for text, action in found.items() if not action.isEnabled() and action.toolTip() == REASON}


def press(page, key):
    """The key of a page; the dialogs that it opened."""
    (shortcut,) = [one for one in page.findChildren(QShortcut) if one.key() == QKeySequence(key)]
    before = set(page.findChildren(QDialog))
    shortcut.activated.emit()
    return set(page.findChildren(QDialog)) - before


def told(source, window):
    """Whether the reason was told, once."""
    return [text for text, *_rest in window.notices] == ([REASON] if source.read_only else [])


def test_topics(show_page, source, window):
    view = show_page(TopicsView, source)
    topic = view.grid.selected_row
    assert is_held(source, view.new_button)
    found = entries(view, lambda: view.grid.menu_asked.emit(topic, QPoint()))
    assert held(found) == ({"Send message…", "Delete topic…"} if source.read_only else set())
    assert bool(press(view, "P")) is not source.read_only
    assert told(source, window)
    window.notices.clear()
    before = set(view.findChildren(QDialog))
    view.open({"create": True})
    assert (len(set(view.findChildren(QDialog)) - before), told(source, window)) == (int(not source.read_only), True)


def test_the_overview(show_page, source):
    assert is_held(source, show_page(OverviewView, source).send_button)


def test_a_topic(show_page, source):
    view = show_page(TopicView, source)
    view.open({"topic": "orders", "tab": "settings"})
    assert is_held(source, view.send_button)
    assert held(entries(view, view.more_button.click)) == ({"Delete topic…"} if source.read_only else set())
    settings = view.settings.make()
    assert settings.form.isEnabled() is not source.read_only
    assert (settings.note.text() == REASON) is source.read_only


def test_groups(show_page, source, window):
    view = show_page(ConsumersView, source)
    group = view.group_grid.selected_row
    assert is_held(source, view.reset_button)
    found = entries(view, lambda: view.group_grid.menu_asked.emit(group, QPoint()))
    assert held(found) == ({"Reset offsets…", "Delete group…"} if source.read_only else set())
    assert held(entries(view, view.more_button.click)) == ({"Delete group…"} if source.read_only else set())
    view.tabs.setCurrentIndex(TABS.index("offsets"))
    press(view, "Ctrl+Z")
    assert told(source, window)


def test_messages(show_page, source, window):
    view = show_page(MessagesView, source)
    view.grid.select_first()
    assert is_held(source, view.send_button)
    assert is_held(source, view.detail.resend_button)
    found = entries(view.grid, lambda: view.grid.menu_asked.emit(view.grid.selected_row, QPoint()))
    assert held(found) == ({"Resend…", "Give to one consumer…"} if source.read_only else set())
    assert bool(press(view, "R")) is not source.read_only
    assert told(source, window)


def test_a_message(show_page, source):
    view = show_page(MessageView, source)
    view.open({"physical_offset": 4_711})
    assert is_held(source, view.resend_button)
    assert is_held(source, view.hand_button)
    assert view.compare_button.isEnabled()


def test_broker_settings(show_page, source):
    view = show_page(BrokerSettingsView, source)
    view.open({"setting": "deleteWhen"})
    assert view.detail.stage_button.isVisibleTo(view) is not source.read_only
    assert (view.detail.locked.text() == REASON) is source.read_only
    view.stage("deleteWhen", "05")
    assert is_held(source, view.review_button)


def test_notes_of_the_history(show_page, source):
    assert is_held(source, show_page(EventsView, source).note_button)


def test_dead_letters(show_page, source):
    view = show_page(DeadLettersView, source)
    view.side.show_selected(3)
    assert is_held(source, view.side.resend_button)


def test_the_window_and_its_palette(qtbot, tmp_path, theme, source):
    frame = Frame(tmp_path / "window.ini", theme, source=source)
    qtbot.addWidget(frame.window)
    action = frame.window.actions_known.get("topic.new")
    blocked = {entry.title: entry.blocked for entry in palette_entries("", frame.window.frame)}
    assert action.blocked() == blocked["New topic"] == (REASON if source.read_only else "")


@pytest.mark.parametrize(("name", "offer"), [(EMBEDDED_NAME, "Play a demo"), ("h:9876", "")])
def test_the_demo_is_offered_where_it_plays_alone(show_page, monkeypatch, name, offer):
    offered = []
    monkeypatch.setattr(DataGrid, "set_empty", lambda _grid, text, action="", _run=None: offered.append((text, action)))
    source = FakeSource()
    source.name = name
    delays = show_page(DelayView, source)
    delays.waiting._set_empty("Nothing waits in this level.")
    transactions = show_page(TransactionsView, source)
    transactions._show_empty()
    overview = show_page(OverviewView, source)
    overview.tables.make()._write_texts()
    last = dict(offered)
    words = ("Nothing waits in this level.", "No topics yet.")
    assert [last[text] for text in words] == [offer, offer]
    assert [action for text, action in last.items() if text.startswith("No open transactions.")] == [offer]

"""A list whose read failed is unknown, with reason and age, whichever filter or tab asks for it."""

from __future__ import annotations

import re

import pytest

from broker_core.api import StoreError, UsageError
from gui.gallery.sources import REASON
from gui.views.broker_settings.view import BrokerSettingsView
from gui.views.clients.view import ClientsView
from gui.views.dead_letters.view import DeadLettersView
from gui.views.delay.view import DelayView
from gui.views.delay.waiting_panel import LEVEL, TIMERS
from gui.views.events.view import EventsView
from gui.views.list_read import ListRead
from gui.views.store.view import StoreView
from gui.widgets.basic import IconLabel
from gui.widgets.notice import MissingNote, Notice
from gui.words.broker_words import broker_words
from gui.words.text import TimeZoneChoice
from tests.support.fake_source import FakeSource
from tests.support.languages import shown_in
from tests.support.shown_parts import buttons_of, words_of

GRIDS = {
    BrokerSettingsView: lambda view: view.grid,
    ClientsView: lambda view: view.grid,
    DeadLettersView: lambda view: view.letter_grid,
    DelayView: lambda view: view.waiting.grid,
    EventsView: lambda view: view.grid,
}


def said(grid) -> str:
    """What stands in place of the rows; empty while there are rows."""
    return grid.placeholder.text if not grid.placeholder.isHidden() else ""


@pytest.mark.parametrize("page", GRIDS)
def test_rows_go_when_they_are_no_longer_known_and_come_again(show_page, page):
    source = FakeSource()
    view = show_page(page, source)
    grid = GRIDS[page](view)
    assert grid.model.rows
    source.fail_with = StoreError(REASON)
    view.refresh()
    view.state_changed(source.state)

    assert grid.model.rows == []
    assert grid.selected_row is None, "nothing can be done with what is not shown"
    assert "read" in said(grid)
    assert REASON in words_of(grid.placeholder)
    assert "last read at" in words_of(grid.placeholder)

    source.fail_with = None
    view.refresh()
    view.state_changed(source.state)
    assert grid.model.rows
    assert said(grid) == ""


@pytest.mark.parametrize("page", [ClientsView, DelayView])
def test_what_a_cluster_cannot_tell_is_no_fault_and_offers_no_retry(show_page, page):
    source = FakeSource()
    view = show_page(page, source)
    grid = GRIDS[page](view)
    source.fail_with = UsageError("not available on an attached cluster: this; that is why")
    view.refresh()
    view.state_changed(source.state)
    assert grid.model.rows == []
    assert words_of(grid.placeholder).endswith("that is why")
    assert grid.placeholder.findChild(IconLabel) is None
    assert buttons_of(grid.placeholder) == []


def test_the_fault_of_one_list_is_not_told_of_another(show_page):
    source = FakeSource()
    view = show_page(DelayView, source)
    source.fail_with = StoreError(REASON)
    view.waiting.read()
    assert "not read" in said(view.waiting.grid)

    source.fail_with, source.hold = None, True
    view.waiting.choose(TIMERS if view.waiting.switch.current == LEVEL else LEVEL)
    assert said(view.waiting.grid) == "Reading…"


def test_a_list_says_when_it_was_asked_for_and_when_it_was_read(qapp):
    now = [1_000]
    read = ListRead(TimeZoneChoice(qapp, utc=True), lambda: now[0])
    read.refused(StoreError("closed"))
    assert read.reason == "closed\nFailed at 00:00:01; never read before."
    read.answered()
    assert (read.is_failed, read.reason) == (False, "")
    now[0] = 61_000
    read.refused(StoreError("closed"))
    assert read.reason == "closed\nFailed at 00:01:01; last read at 00:00:01."


@pytest.mark.parametrize("page", GRIDS)
def test_a_failed_read_is_told_in_the_language_that_is_chosen(show_page, qtbot, page):
    source = FakeSource()
    source.fail_with = StoreError(REASON)
    view = show_page(page, source)
    view.refresh()
    view.state_changed(source.state)
    grid = GRIDS[page](view)
    assert REASON in words_of(grid.placeholder)
    with shown_in("zh"):
        qtbot.waitUntil(lambda: "10,000 毫秒" in words_of(grid.placeholder))
        assert re.search("[\u4e00-\u9fff]", said(grid)), said(grid)
        assert "重试" in [button.text() for button in buttons_of(grid.placeholder)]


@pytest.mark.parametrize("make", [lambda _theme: MissingNote(), Notice])
def test_what_brokers_did_not_report_is_told_in_the_language_that_is_chosen(theme, qtbot, make):
    note = make(theme)
    qtbot.addWidget(note)
    show, text = (note.set, lambda: note.text) if isinstance(note, Notice) else (note.say, note.text)
    show(broker_words("Not all brokers answered, and what they hold is missing here. b: no answer"))
    assert text().startswith("Not all brokers answered")
    with shown_in("zh"):
        qtbot.waitUntil(lambda: text().startswith("部分 Broker"))
    show(broker_words(""))
    assert note.isHidden()


def test_the_store_is_read_again_when_that_is_asked_for(show_page):
    source = FakeSource()
    source.fail_with = StoreError(REASON)
    view = show_page(StoreView, source)
    assert view.problem.isVisible()
    assert REASON in view.problem.text
    source.fail_with = None
    view.problem.button.click()
    assert not view.problem.isVisible()
    assert view.strip.isVisible()


def test_tables_of_a_store_that_was_never_read_offer_it_too(show_page):
    source = FakeSource()
    source.fail_with = StoreError(REASON)
    view = show_page(StoreView, source)
    grid = view.files.make().queue_grid
    assert said(grid) == "The store was not read."
    source.fail_with = None
    next(button for button in buttons_of(grid.placeholder) if button.text() == "Retry").click()
    assert grid.model.rows

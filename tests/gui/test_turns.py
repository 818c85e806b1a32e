"""What is done a turn later is done once, and keeps nothing of what goes before."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

import gui
from gui.event_loop.turns import next_turn
from gui.main_window.navigation import page_class
from gui.views.registry import PAGES
from tests.support.fake_page_context import fake_context
from tests.support.fake_source import FakeSource

TURNS = 4
"""The parts of a page that come later are made in these."""


class _Owner(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def act(self) -> None:
        self.calls += 1


def ended(widget: QWidget) -> None:
    """Let a widget go as a tab that is closed lets its page go."""
    widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not isValid(widget)


def test_it_is_done_once_and_not_in_this_turn(qtbot):
    owner = _Owner()
    qtbot.addWidget(owner)

    next_turn(owner, owner.act)

    assert owner.calls == 0
    qtbot.waitUntil(lambda: owner.calls == 1)
    QCoreApplication.processEvents()
    assert owner.calls == 1


def test_its_timer_goes_with_the_turn(qtbot):
    owner = _Owner()
    qtbot.addWidget(owner)
    next_turn(owner, owner.act)
    qtbot.waitUntil(lambda: owner.calls == 1)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not owner.children()


@pytest.mark.parametrize("act", [lambda owner: owner.act, lambda owner: partial(owner.act)])
def test_an_owner_that_goes_before_its_turn_is_not_called_and_not_kept(qapp, act):
    owner = _Owner()
    known, calls = weakref.ref(owner), owner.__dict__
    next_turn(owner, act(owner))

    ended(owner)
    QCoreApplication.processEvents()

    assert calls["calls"] == 0
    del owner
    gc.collect()
    assert known() is None


@pytest.fixture
def context(tmp_path, theme, history):
    return fake_context(
        FakeSource(), QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat), theme=theme, history=history
    )


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.page_id)
def test_a_page_that_is_closed_while_it_is_made_goes_as_a_whole(qapp, context, entry):
    for turns in range(TURNS):
        page = page_class(entry)(context)
        known = weakref.ref(page)
        page.resize(1_232, 795)
        page.show()
        page.status_changed(context.source.status)
        page.state_changed(context.source.state)
        for _ in range(turns):
            QCoreApplication.processEvents()
        ended(page)
        QCoreApplication.processEvents()
        del page
        gc.collect()
        assert known() is None, f"closed after {turns} turns"


def test_no_turn_is_waited_for_in_the_way_that_keeps_things():
    folder = Path(gui.__file__).parent
    wrong = [path for path in folder.rglob("*.py") if path.name != "turns.py" and "singleShot(0" in path.read_text("utf-8")]
    assert wrong == []

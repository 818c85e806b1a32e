"""What the side bar says at its pages."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QSettings, Qt

from gui.main_window.side_bar import SideBar, show_counts
from gui.models.favourites import Pins
from gui.theme.tokens import State
from gui.views.registry import PAGES
from gui.words.text import UNKNOWN
from monitoring.lag_limits import SHIPPED
from tests.support.fake_source import fake_state


@pytest.fixture
def bar(qtbot, theme, tmp_path):
    made = SideBar(theme, PAGES, Pins(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)))
    qtbot.addWidget(made)
    return made


def show(bar, state, *, alerts_firing: float = 0, dead_are_alarming: bool = False) -> None:
    show_counts(bar, state, alerts_firing=alerts_firing, lag_is_over=True, dead_are_alarming=dead_are_alarming)


def test_each_count_says_what_it_counts(bar):
    show(bar, fake_state(), alerts_firing=1, dead_are_alarming=True)
    told = {page: (item.count, item.toolTip()) for page, item in bar.items.items() if item.count}
    assert told["consumers"] == ("18.4k", "18,402 messages of lag")
    assert told["dead_letters"] == ("33", "33 dead letters")
    assert told["alerts"] == ("1", "1 alert firing")
    assert bar.items["dead_letters"].count_state is State.CRITICAL
    assert bar.items["consumers"].accessibleDescription() == "18,402 messages of lag"
    bar.set_collapsed(True)
    assert bar.items["consumers"].toolTip() == "Consumers: 18,402 messages of lag"


def test_favourites_are_reached_by_tab_where_they_stand(bar, qtbot):
    bar.show()
    for name in ("orders", "payments"):
        bar.pinned.pins.topics.toggle(name)
    bar.pinned.show_state(fake_state(), SHIPPED)
    chain, stop = [], bar.items["alerts"]
    for _ in range(3):
        stop = stop.nextInFocusChain()
        while not stop.focusPolicy() & Qt.FocusPolicy.TabFocus:
            stop = stop.nextInFocusChain()
        chain.append(stop.accessibleName())
    assert chain == ["Topic orders", "Topic payments", "Settings"]


def test_what_is_not_known_is_a_dash_and_none_is_nothing(bar):
    state = fake_state()
    waiting = replace(state.delays, pending=np.where(np.arange(len(state.delays.pending)) == 0, -1, state.delays.pending))
    lost = {"lag_messages": math.nan, "dead_letters": math.nan, "connections": math.nan, "transactions_pending": math.nan}
    show(bar, replace(state, totals={**state.totals, **lost}, delays=waiting), alerts_firing=math.nan)
    pages = ("consumers", "dead_letters", "clients", "transactions", "delay", "alerts")
    assert [bar.items[page].count for page in pages] == [UNKNOWN] * len(pages)
    assert {bar.items[page].count_state for page in pages} == {None}
    show(bar, replace(state, totals={**state.totals, "lag_messages": 0.0, "dead_letters": 0.0}))
    assert [bar.items[page].count for page in ("consumers", "dead_letters", "alerts")] == ["", "", ""]

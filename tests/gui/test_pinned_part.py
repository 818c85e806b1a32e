"""Favourites in the side bar: what is said of them, their order, and that pages and side bar know the same ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QSettings, Qt

from gui.main_window.pinned_part import PinnedPart
from gui.models.favourites import Pins
from gui.models.pin_rows import PinBook, PinRow
from gui.theme.tokens import State
from gui.views.consumers.view import ConsumersView
from gui.views.topics.columns import FAVOURITES
from monitoring.lag_limits import SHIPPED
from tests.support.fake_source import FakeSource, fake_state


@pytest.fixture
def pins(qapp, tmp_path):
    made = Pins(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat))
    for topic in ("payments", "orders", "not-here"):
        made.topics.toggle(topic)
    for group in ("payment-settle", "bi-export"):
        made.groups.toggle(group)
    return made


@pytest.fixture
def part(qtbot, theme, pins):
    made = PinnedPart(theme, pins)
    qtbot.addWidget(made)
    made.show_state(fake_state(), SHIPPED)
    return made


def names(part) -> list[str]:
    return [item.name for item in part.items]


def test_each_says_its_figure_and_its_state(pins):
    rows = PinBook(pins).rows(fake_state(), SHIPPED, 12)
    assert rows == [
        PinRow(False, "payments", "311/s", State.HEALTHY),
        PinRow(False, "orders", "612/s", State.HEALTHY),
        PinRow(True, "payment-settle", "16.9k", State.WARNING),
        PinRow(True, "bi-export", "—", State.IDLE),
    ]


def test_a_rate_that_is_not_known_is_no_zero(pins):
    state = fake_state()
    unknown = replace(state, topic_put_rate=np.full(len(state.catalog.topics), np.nan))
    assert [row.value for row in PinBook(pins).rows(unknown, SHIPPED, 2)] == ["—", "—"]


def test_only_what_the_cluster_has_is_shown_and_nothing_where_it_has_none(part, pins):
    assert names(part) == ["payments", "orders", "payment-settle", "bi-export"]
    assert not part.isHidden()
    for name in ("payments", "orders"):
        pins.topics.toggle(name)
    for name in ("payment-settle", "bi-export"):
        pins.groups.toggle(name)
    assert (names(part), part.isHidden()) == ([], True)


def test_figures_of_the_cluster_before_are_none_of_the_next_one(part, pins):
    part.forget_state()
    assert (names(part), part.isHidden()) == ([], True)
    pins.use("connections/other/")
    pins.topics.toggle("orders")
    assert names(part) == []
    part.show_state(fake_state(), SHIPPED)
    assert names(part) == ["orders"]


def test_a_click_opens_it_and_the_middle_button_in_a_tab_of_its_own(part, qtbot):
    asked = []
    part.asked.connect(lambda *what: asked.append(what))
    qtbot.mouseClick(part.items[0], Qt.MouseButton.LeftButton)
    qtbot.mouseClick(part.items[2], Qt.MouseButton.MiddleButton)
    assert asked == [("topic", "payments", False), ("consumers", "payment-settle", True)]


def test_a_drag_changes_the_order_and_opens_nothing(part, pins, qtbot):
    asked = []
    part.asked.connect(lambda *what: asked.append(what))
    item = part.items[0]
    qtbot.mousePress(item, Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    qtbot.mouseMove(item, QPoint(20, 10 + item.height() + 5))
    qtbot.mouseRelease(item, Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    assert names(part)[:2] == ["orders", "payments"]
    assert list(pins.topics) == ["orders", "payments", "not-here"]
    assert asked == []


def test_keys_move_it_within_its_kind_and_let_it_go(part, qtbot):
    kept = part.items[0]
    qtbot.keyClick(kept, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert names(part)[:2] == ["orders", "payments"]
    assert part.items[1] is kept  # it may have the focus
    qtbot.keyClick(kept, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert names(part) == ["orders", "payments", "payment-settle", "bi-export"]
    qtbot.keyClick(kept, Qt.Key.Key_Delete)
    assert names(part) == ["orders", "payment-settle", "bi-export"]


def test_a_search_leaves_those_that_fit(part):
    part.search("settle")
    assert [item.name for item in part.items if not item.isHidden()] == ["payment-settle"]
    part.search("nothing like it")
    assert part.isHidden()


def test_the_page_of_groups_keeps_them_on_top(show_page):
    view = partial(show_page, ConsumersView)(FakeSource())
    view.group_grid.select_key("risk-scan")
    view.toggle_favourite()
    assert view.groups.section_at(0) == FAVOURITES
    assert view.groups.row_at(1).name == "risk-scan"
    assert "risk-scan" in view.context.pins.groups

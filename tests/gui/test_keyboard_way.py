"""Who opens a page by keys has the keyboard in it: on its list, or before its first control."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from gui.views.registry import PAGES
from gui.widgets.data_grid import DataGrid
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker

LISTS = {
    "topics", "topic", "messages", "tail", "consumers", "dead_letters", "delay", "transactions", "clients",
    "broker_settings", "events", "alerts",
}  # fmt: skip


@pytest.mark.parametrize("page_id", [entry.page_id for entry in PAGES if entry.page_id != "welcome"])
def test_a_page_that_is_opened_takes_the_keyboard(window, qapp, page_id):  # noqa: F811  the fixture
    window.navigate(page_id, **({"topic": "orders"} if page_id == "topic" else {}))
    qapp.processEvents()
    page, focused = window.area.current, window.focusWidget()
    assert page.page_id == page_id
    if page_id in LISTS:
        grids = [grid for grid in page.findChildren(DataGrid) if focused in (grid, grid.view)]
        assert [grid.model.rowCount() > 0 for grid in grids] == [focused is grids[0].view], (
            "its list, or what stands in its place"
        )
    else:
        assert focused is page.header


def test_keys_lead_from_list_to_list(window, qtbot):  # noqa: F811  the fixture
    window.actions_known.run("page.topics")
    topics = window.area.current
    assert window.focusWidget() is topics.grid, "it has no rows yet"
    qtbot.waitUntil(lambda: window.focusWidget() is topics.grid.view)
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Down)
    name = topics.grid.selected_row.name
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Return)
    topic = window.area.current
    assert (topic.page_id, topic.header.title) == ("topic", name)
    assert topic.isAncestorOf(window.focusWidget())
    window.navigation.back()
    assert window.focusWidget() is topics.grid.view


def test_a_page_that_has_the_keyboard_keeps_it_where_it_is(window):  # noqa: F811  the fixture
    window.navigate("topics")
    page = window.area.current
    page.focus_filter()
    field = window.focusWidget()
    window.navigate("topics", topic="payments")
    assert window.focusWidget() is field
    assert field is not page.grid.view

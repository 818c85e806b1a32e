"""What is pasted into the command palette: IDs of both forms, keys, links; over all real pages."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from gui.main_window.palette import KEY_KIND, PaletteEntry, found_rows
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker

OFFSET_ID = "7F00000100002A9F0000000000000100"
UNIQUE_ID = "7f0000010a3c18b4aac2a1b2c3d40001"


def chosen(window, qtbot, text: str) -> tuple[str, dict[str, object]]:  # noqa: F811  the fixture
    """Paste a text and press Enter; returns the page that opens and its arguments."""
    went: list[tuple[str, dict[str, object]]] = []
    window.navigation.open = lambda place: went.append((place.page_id, dict(place.arguments)))
    palette = window.commands.palette
    palette.popup(text)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()
    return went[0]


@pytest.mark.parametrize("message_id", [OFFSET_ID, UNIQUE_ID, UNIQUE_ID + "00" * 12])
def test_a_pasted_id_of_either_form_opens_its_message(window, qtbot, message_id):  # noqa: F811  the fixture
    assert chosen(window, qtbot, f" {message_id} ") == ("messages", {"message_id": message_id})


@pytest.mark.parametrize("text", ["'{id}'", "msgId={id}", "offsetMsgId: {id}", '"msgId":"{id}"'])
def test_an_id_that_was_pasted_with_its_name_opens_its_message(window, qtbot, text):  # noqa: F811  the fixture
    assert chosen(window, qtbot, text.replace("{id}", UNIQUE_ID)) == ("messages", {"message_id": UNIQUE_ID})


def test_a_pasted_key_is_looked_for_when_it_is_nothing_else(window, qtbot):  # noqa: F811  the fixture
    assert chosen(window, qtbot, "ORD-4711-x") == ("messages", {"filter": 'key = "ORD-4711-x"'})


def test_what_is_known_comes_before_a_key(window):  # noqa: F811  the fixture
    window.commands.show_palette("payment-settle")
    titles = window.commands.palette.shown_titles
    assert titles[-1] == "Find messages with the key payment-settle"
    assert "payment-settle" in titles[:-1]


@pytest.mark.parametrize("text", ["", "two words", "#orders", ">theme", "@pay", "orbit://topics"])
def test_what_can_be_no_key_is_not_offered_as_one(window, text):  # noqa: F811  the fixture
    window.commands.show_palette(text)
    assert not [title for title in window.commands.palette.shown_titles if title.startswith("Find messages")]


def test_the_side_bar_opens_the_page_that_fits_best(window, qtbot):  # noqa: F811  the fixture
    window.actions_known.run("file.find_page")
    search = window.side_bar.search
    qtbot.keyClicks(search, "settings")
    assert [item.entry.page_id for item in window.side_bar.found] == ["broker_settings", "settings"]
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert window.area.current.page_id == "settings"


def test_a_narrowed_list_has_no_keys():
    entries = [PaletteEntry("topic", "orders", lambda: None), PaletteEntry(KEY_KIND, "Find x", lambda: None)]
    assert [row.entry.title for row in found_rows("", entries) if row.entry] == ["orders", "Find x"]
    assert [row.entry.title for row in found_rows("", entries, "topic") if row.entry] == ["orders"]

"""Topics of 127 characters and groups of 255: no page becomes wider than the window for them, and all buttons stay in it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QStyleOptionComboBox, QWidget

from gui.main_window.page_room import PageRoom
from gui.main_window.places import PagePlace
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.dead_letters.flow import STEPS
from gui.views.page import FACTS_WIDTH_KEPT, PageHeader, PageView
from gui.views.registry import PAGES
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from gui.widgets import fitted_dialog
from gui.widgets.basic import ElidedLabel, WrappedLabel, label
from gui.widgets.inputs import NAME_WIDTH_MAX, NameBox
from gui.widgets.saved_menu import CHARACTERS_MAX, menu_name
from tests.gui import test_robustness
from tests.gui.test_dialogs import SMALL_ROOM, all_dialogs, buttons_out_of_sight, settle_layouts
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker
from tests.support.fake_page_context import deliver_background_calls
from tests.support.long_names import LONG_GROUP, LONG_TOPIC, LongNamedSource, long_named

PLACES = (
    *(PagePlace(entry.page_id) for entry in PAGES),
    *(PagePlace("topic", {"topic": LONG_TOPIC, "tab": tab}) for tab in TOPIC_TABS),
    *(PagePlace("consumers", {"group": LONG_GROUP, "tab": tab}) for tab in GROUP_TABS),
    PagePlace("consumers", {"group": LONG_GROUP[:-1]}),
    PagePlace("topic", {"topic": LONG_TOPIC[:-1]}),
    PagePlace("messages", {"show": "search"}),
    PagePlace("messages", {"topic": LONG_TOPIC}),
    *(PagePlace("dead_letters", {"show": step}) for step in STEPS),
    PagePlace("transactions", {"show": "atomic"}),
)


@pytest.fixture
def long_window(monkeypatch, request):
    monkeypatch.setattr(test_robustness, "FakeSource", LongNamedSource)
    made = request.getfixturevalue("window")
    made.resize(1280, 800)
    return made


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_stay_within_the_window(long_window, qapp, language):
    long_window.services.set_language(language)
    too_wide: dict[str, tuple[int, int]] = {}
    lost: dict[str, list[str]] = {}
    for place in PLACES:
        page = open_page(long_window, place, qapp)
        name = f"{place.page_id} {place.arguments}"
        room = page_room(page)
        wanted = page.minimumSizeHint().expandedTo(page.minimumSize()).width()
        if wanted > room.viewport().width() or room.horizontalScrollBar().maximum():
            too_wide[name] = wanted, room.viewport().width()
        lost[name] = buttons_beside(page, long_window)
    long_window.services.set_language("en")
    assert long_window.width() == 1280
    assert too_wide == {}
    assert {name: found for name, found in lost.items() if found} == {}


@pytest.mark.parametrize(
    ("page_id", "arguments", "name"),
    [("topic", {"topic": LONG_TOPIC}, LONG_TOPIC), ("consumers", {"group": LONG_GROUP}, LONG_GROUP)],
)
def test_a_long_title_is_cut_in_its_middle_and_its_tool_tip_says_all(long_window, qapp, page_id, arguments, name):
    page = open_page(long_window, PagePlace(page_id, arguments), qapp)
    title = next(one for one in page.header.findChildren(ElidedLabel) if one.whole_text() == name)
    assert title.toolTip() == name
    start, end = title.text().split("…")
    assert start
    assert name == start + name[len(start) : len(name) - len(end)] + end
    assert end
    facts = next(one for one in page.header.findChildren(ElidedLabel) if one.whole_text() == page.header.facts)
    assert facts.width() >= min(FACTS_WIDTH_KEPT, facts.sizeHint().width())


def test_words_over_a_missing_thing_are_broken(long_window, qapp):
    page = open_page(long_window, PagePlace("topic", {"topic": LONG_TOPIC[:-1]}), qapp)
    words = next(one for one in page.findChildren(WrappedLabel) if one.isVisible() and LONG_TOPIC[:-1] in one.text())
    assert "\u200b" not in words.text()
    assert words.heightForWidth(400) > words.fontMetrics().height() * 2
    assert words.minimumSizeHint().width() < 300


def test_dialogs_stay_as_wide_as_a_small_screen(long_window, qapp, monkeypatch):
    monkeypatch.setattr(fitted_dialog, "screen_room", lambda _dialog: SMALL_ROOM)
    faults: dict[str, list[str]] = {}
    for dialog in all_dialogs(long_window, qapp, long_named):
        too_large = [] if dialog.size() == dialog.size().boundedTo(SMALL_ROOM) else [str(dialog.size())]
        faults[type(dialog).__name__] = too_large + buttons_out_of_sight(dialog)
    assert {name: found for name, found in faults.items() if found} == {}


def test_what_is_copied_of_broken_words_has_no_breaks(qtbot):
    words = label(f"There is no group {LONG_GROUP}.", wrap=True, selectable=True)
    qtbot.addWidget(words)
    words.setSelection(0, len(QLabel.text(words)))
    qtbot.keyClick(words, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == f"There is no group {LONG_GROUP}."


def test_a_choice_of_long_names_is_bounded_and_short_names_stay_whole(qtbot):
    short, plain, box = NameBox(), QComboBox(), NameBox()
    for one, name in ((short, "orders"), (plain, "orders"), (box, LONG_GROUP)):
        qtbot.addWidget(one)
        one.addItem(name)
    assert (short.sizeHint(), short.toolTip()) == (plain.sizeHint(), "")
    assert box.sizeHint().width() == box.minimumSizeHint().width() == NAME_WIDTH_MAX
    assert (box.currentText(), box.toolTip()) == (LONG_GROUP, LONG_GROUP)
    option = QStyleOptionComboBox()
    box.resize(box.sizeHint())
    box.initStyleOption(option)
    assert "…" in option.currentText


def test_a_name_in_a_menu_keeps_its_ends():
    shown = menu_name(f"first{LONG_GROUP}last")
    assert len(shown) <= CHARACTERS_MAX
    assert (shown[:5], shown[-4:]) == ("first", "last")
    assert menu_name("orders & more") == "orders && more"


def open_page(window, place: PagePlace, qapp) -> PageView:  # noqa: F811  the fixture
    window.navigate(place.page_id, **place.arguments)
    for _ in range(2):
        deliver_background_calls()
        settle_layouts(qapp)
    return window.area.current


def page_room(page: QWidget) -> PageRoom:
    above = page.parentWidget()
    while not isinstance(above, PageRoom):
        above = above.parentWidget()
    return above


def buttons_beside(page: QWidget, window: QWidget) -> list[str]:  # noqa: F811  the fixture
    """Buttons of the head of a page that are not wholly within the window."""
    heads = page.findChildren(PageHeader)
    buttons = [one for head in heads for one in head.findChildren(QAbstractButton) if one.isVisible()]
    return [one.text() for one in buttons if one.mapTo(window, QPoint(one.width(), 0)).x() > window.width()]

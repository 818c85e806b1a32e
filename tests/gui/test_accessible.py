"""Every control that takes the focus says what it is to a screen reader, in both languages."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QLabel, QLineEdit, QWidget

from gui.main_window.places import PagePlace
from gui.main_window.shortcut_sheet import ShortcutSheet
from gui.operations.key_choices import shown as key_text
from gui.operations.page_keys import PAGE_KEYS
from gui.plots.time_chart import TimeChart
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.dead_letters.flow import STEPS
from gui.views.explanation import ExplanationCard, explained_chart, term_of
from gui.views.page import PageView
from gui.views.registry import PAGES
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import TERM
from gui.words.text import load_catalogue
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker

PLACES = (
    *(PagePlace(entry.page_id) for entry in PAGES),
    *(PagePlace("topic", {"topic": "orders", "tab": tab}) for tab in TOPIC_TABS),
    *(PagePlace("consumers", {"group": "payment-settle", "tab": tab}) for tab in GROUP_TABS),
    PagePlace("messages", {"show": "search"}),
    *(PagePlace("dead_letters", {"show": step}) for step in STEPS),
    PagePlace("transactions", {"show": "atomic"}),
)
"""Every page, and the parts of those that have many."""


def unnamed(root: QWidget) -> list[str]:
    """Whatever takes the focus by Tab, is shown and has no name. The field within a number's field has that one's."""
    found = []
    for widget in root.findChildren(QWidget):
        tab_stop = widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
        if tab_stop and not _name(widget) and not isinstance(widget.parentWidget(), QAbstractSpinBox):
            found.append(f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}")
    return found


def _name(widget: QWidget) -> str:
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    hint = widget.placeholderText() if isinstance(widget, QLineEdit) else ""
    return (widget.accessibleName() or text or hint or widget.toolTip()).strip()


def keys_of(page: QWidget) -> set[str]:
    """Keys that a page binds in its lists; a button's own Enter is none of them."""
    shortcuts = page.findChildren(QShortcut)
    return {one.key().toString() for one in shortcuts if one.context() is not Qt.ShortcutContext.WidgetShortcut}


def unexplained(page: PageView) -> list[str]:
    """Columns, tiles and charts of a page that do not say what they are."""
    titles = {column.title for grid in page.findChildren(DataGrid) for column in grid.model.columns if column.title}
    titles |= {part.property(TERM) for part in page.findChildren(QWidget) if part.property(TERM)}
    charts = [chart for chart in page.findChildren(TimeChart) if chart.series and explained_chart(page.page_id, chart) is None]
    return sorted(title for title in titles if term_of(page.page_id, title) is None) + [str(chart) for chart in charts]


def test_controls_of_all_pages_have_names_and_their_keys_are_on_the_sheet(window, qapp):  # noqa: F811  the fixture
    missing: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    bound: dict[str, set[str]] = {entry.title: set() for entry in PAGES}
    titles = {entry.page_id: entry.title for entry in PAGES}
    for place in PLACES:
        window.navigate(place.page_id, **place.arguments)
        qapp.processEvents()
        missing[f"{place.page_id} {place.arguments}"] = unnamed(window)
        bound[titles[place.page_id]] |= keys_of(window.area.current)
        without[place.page_id] = unexplained(window.area.current)
    assert {page: titles for page, titles in without.items() if titles} == {}, (
        "each figure says what it is, see words.term_texts"
    )
    assert {page: names for page, names in missing.items() if names} == {}
    told = {title: {QKeySequence(key).toString() for _, key in keys} for title, keys in PAGE_KEYS}
    assert {page: keys - told.get(page, set()) for page, keys in bound.items() if keys - told.get(page, set())} == {}
    # Grids, heat maps, charts, the side bar, and the dialog that sends.
    parts = ("In every table", "In a heat map", "In a chart", "Favourites in the side bar")
    elsewhere = {name: told[name] for name in parts} | {"Messages": {"Ctrl+Return"}}
    stale = {page: keys - bound.get(page, set()) - elsewhere.get(page, set()) for page, keys in told.items()}
    assert not any(stale.values()), stale


def test_controls_of_all_pages_have_names_in_chinese(window, qapp):  # noqa: F811  the fixture
    window.services.set_language("zh")
    missing: dict[str, list[str]] = {}
    for entry in PAGES:
        window.navigate(entry.page_id)
        qapp.processEvents()
        missing[entry.page_id] = unnamed(window)
    window.services.set_language("en")
    assert {page: names for page, names in missing.items() if names} == {}


def test_a_control_without_a_name_would_be_found(qtbot):
    root = QWidget()
    field = QLineEdit(root)
    qtbot.addWidget(root)
    root.show()
    assert unnamed(root) == ["QLineEdit in QWidget"]
    field.setAccessibleName("Topic")
    assert unnamed(root) == []


def test_the_sheet_says_the_keys_of_the_window_and_of_the_pages(window):  # noqa: F811  the fixture
    sheet = ShortcutSheet(window.actions_known.actions(), window)
    words = {each.text() for each in sheet.findChildren(QLabel)}
    expected = {action.text for action in window.actions_known.actions() if action.shortcut}
    expected |= {key_text(key) for _, keys in PAGE_KEYS for _, key in keys}
    assert expected <= words
    known = load_catalogue("zh")
    assert {text for title, keys in PAGE_KEYS for text in (title, *(one for one, _ in keys))} <= known.keys()
    sheet.deleteLater()


def test_f1_says_what_the_keyboard_stands_on(window, qapp, qtbot):  # noqa: F811  the fixture
    window.navigate("consumers")
    qapp.processEvents()
    page = window.area.current
    window.activateWindow()
    qtbot.waitUntil(lambda: qapp.activeWindow() is window)
    page.group_grid.view.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_F1)
    (card,) = page.findChildren(ExplanationCard)
    assert card.words.startswith("Group\n")
    card.close()

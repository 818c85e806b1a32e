"""Texts from outside are shown letter by letter: no page, dialog or tool tip takes them for HTML, and no file is opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QEvent, QModelIndex, QPoint, Qt
from PySide6.QtGui import QAction, QHelpEvent, QKeySequence
from PySide6.QtGui import Qt as QtOfGui
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QGraphicsView,
    QLabel,
    QTabBar,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from broker_core.api import WorkerError
from gui.main_window.places import PagePlace
from gui.models.table import ROW_ROLE
from gui.theme.tokens import State
from gui.views.consumers.view import TABS as GROUP_TABS
from gui.views.dead_letters.flow import STEPS
from gui.views.registry import PAGES
from gui.views.topics.topic_view import TABS as TOPIC_TABS
from gui.widgets.basic import ElidedLabel, IconButton, label
from gui.widgets.data_grid import DataGrid
from gui.widgets.popups import ask_loss, ask_text
from gui.words.plain_text import LABEL_CHARACTERS_MAX, TIP_CHARACTERS_MAX, TIP_LINES_MAX
from monitoring.sources.base import SourceStatus
from tests.gui import test_robustness
from tests.gui.test_dialogs import all_dialogs
from tests.gui.test_long_names import open_page
from tests.gui.test_robustness import window  # noqa: F401  the window of all real pages over a fake broker
from tests.support.hostile_names import hostile_names, hostile_tag
from tests.support.opened_files import OpenedFile
from tests.support.renamed_source import RenamedSource, renamed

ROWS_MAX = 100
"""Of each list; its rows are alike."""
POINTS = 24, 16
"""Across and down a window: there the mouse rests."""


@pytest.fixture
def bait(tmp_path) -> Iterator[OpenedFile]:
    """A file that hostile names want drawn."""
    watched = OpenedFile(tmp_path / "bait.png")
    yield watched
    watched.close()


@pytest.fixture
def names(bait):
    return hostile_names(bait.path)


@pytest.fixture
def hostile_window(monkeypatch, request, names):
    monkeypatch.setattr(test_robustness, "FakeSource", type("HostileSource", (RenamedSource,), {"NAMES": names}))
    made = request.getfixturevalue("window")
    made.resize(1440, 900)
    return made


def places(names: dict[str, str]) -> list[PagePlace]:
    topic, group = names["orders"], names["payment-settle"]
    return [
        *(PagePlace(entry.page_id) for entry in PAGES),
        *(PagePlace("topic", {"topic": topic, "tab": tab}) for tab in TOPIC_TABS),
        PagePlace("topic", {"topic": f"{topic}2"}),
        *(PagePlace("consumers", {"group": group, "tab": tab}) for tab in GROUP_TABS),
        PagePlace("messages", {"topic": topic}),
        PagePlace("messages", {"show": "search"}),
        *(PagePlace("dead_letters", {"show": step}) for step in STEPS),
        PagePlace("transactions", {"show": "atomic"}),
    ]


def not_plain(root: QWidget) -> list[str]:
    """Whatever of a window would show a text other than letter by letter."""
    found = [f"label {one.text()!r}" for one in (*root.findChildren(QLabel), root) if is_not_plain_label(one)]
    found += [f"tool tip {text!r}" for text in tips_of(root) if is_wrong_tip(text)]
    found += [f"shortcut in {text!r}" for text in button_texts(root) if not QKeySequence.mnemonic(text).isEmpty()]
    return found + wrong_title(root)


def wrong_title(root: QWidget) -> list[str]:
    return [f"title {root.windowTitle()!r}"] if "[*]" in root.windowTitle().replace("[*][*]", "") else []


def is_not_plain_label(widget: QWidget) -> bool:
    """Whether it is a label that may show HTML; that of a tool tip is Qt's own."""
    is_label = isinstance(widget, QLabel) and widget.metaObject().className() != "QTipLabel"
    return is_label and widget.textFormat() is not Qt.TextFormat.PlainText


def is_wrong_tip(text: str) -> bool:
    return QtOfGui.mightBeRichText(text) or len(text) > TIP_CHARACTERS_MAX + TIP_LINES_MAX or text.count("\n") >= TIP_LINES_MAX


def tips_of(root: QWidget) -> Iterator[str]:
    for thing in (root, *root.findChildren(QWidget), *filter(has_own_tip, root.findChildren(QAction))):
        yield thing.toolTip()
        yield thing.statusTip()
        yield thing.whatsThis()
    for bar in root.findChildren(QTabBar):
        yield from map(bar.tabToolTip, range(bar.count()))
    for view in root.findChildren(QGraphicsView):
        yield from (item.toolTip() for item in view.items())
    for view in root.findChildren(QAbstractItemView):
        if view.model() is not None:
            yield from tips_of_cells(view.model(), QModelIndex())


def has_own_tip(action: QAction) -> bool:
    """Whether a menu would show it: not what Qt makes of the text."""
    return action.toolTip() != QAction(action.text()).toolTip()


def tips_of_cells(model: QAbstractItemModel, parent: QModelIndex) -> Iterator[str]:
    for column in range(1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)):
        yield str(model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) or "")
        for row in range(min(ROWS_MAX, model.rowCount(parent))):
            index = model.index(row, column, parent)
            yield str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
            if column == 0 and model.rowCount(index):
                yield from tips_of_cells(model, index)


def button_texts(root: QWidget) -> Iterator[str]:
    yield from (one.text() for one in root.findChildren(QAbstractButton))
    yield from (one.text() for one in root.findChildren(QAction))
    for bar in root.findChildren(QTabBar):
        yield from map(bar.tabText, range(bar.count()))


def hover(root: QWidget) -> list[str]:
    """Let the mouse rest in many places of a window; the tool tips that are no plain text."""
    found = []
    for across in range(POINTS[0]):
        for down in range(POINTS[1]):
            at = QPoint(root.width() * (2 * across + 1) // (2 * POINTS[0]), root.height() * (2 * down + 1) // (2 * POINTS[1]))
            rest_at(root.childAt(at) or root, root.mapToGlobal(at))
            if is_wrong_tip(QToolTip.text()):
                found.append(f"tool tip {QToolTip.text()!r}")
    QToolTip.hideText()
    return found


def in_menus(page: QWidget) -> list[str]:
    """The same of the menus of the rows and columns of all lists, and of the buttons that open one."""
    found = []
    for grid in page.findChildren(DataGrid):
        at = grid.view.viewport().mapToGlobal(QPoint(4, 4))
        row = grid.view.model().index(0, 0).data(ROW_ROLE) if grid.isVisible() else None
        if row is not None:
            grid.menu_asked.emit(row, at)
            found += in_open_menu()
            grid.header.menu_asked.emit(at)
            found += in_open_menu()
    for button in page.findChildren(IconButton):
        if button.property("caret") and button.isVisible() and button.isEnabled():
            button.click()
            found += in_open_menu()
    return found


def in_open_menu() -> list[str]:
    menu = QApplication.activePopupWidget()
    if menu is None:
        return []
    found = [f"menu: {one}" for one in not_plain(menu)]
    menu.close()
    return found


def rest_at(widget: QWidget, at: QPoint) -> None:
    QApplication.sendEvent(widget, QHelpEvent(QEvent.Type.ToolTip, widget.mapFromGlobal(at), at))


def test_pages_show_what_comes_from_outside_as_plain_text(hostile_window, qapp, bait, names):
    wrong: dict[str, list[str]] = {}
    for place in places(names):
        page = open_page(hostile_window, place, qapp)
        found = not_plain(page) + wrong_title(hostile_window) + hover(hostile_window) + in_menus(page)
        wrong[f"{place.page_id} {place.arguments}"] = found
    wrong["the frame and all pages"] = not_plain(hostile_window) + in_menus(hostile_window)
    assert "\n".join(f"{name}: {one}" for name, found in wrong.items() for one in sorted(set(found))) == ""
    assert bait.opened() == 0


def test_dialogs_show_what_comes_from_outside_as_plain_text(hostile_window, qapp, bait, names):
    wrong: dict[str, list[str]] = {}
    for dialog in all_dialogs(hostile_window, qapp, lambda value: renamed(value, names)):
        wrong[type(dialog).__name__] = not_plain(dialog) + hover(dialog)
    assert "\n".join(f"{name}: {one}" for name, found in wrong.items() for one in sorted(set(found))) == ""
    assert bait.opened() == 0


def test_notices_and_what_the_frame_says_are_plain_text(hostile_window, qapp, bait):
    tag = hostile_tag(bait.path)
    hostile_window.notify(tag, state=State.CRITICAL, action="Show", on_action=lambda: None)
    hostile_window.backend.source.set_status(SourceStatus.LOST, WorkerError(tag))
    qapp.processEvents()
    assert hostile_window.notices.toasts.shown_texts[-1] == tag
    assert not_plain(hostile_window) + hover(hostile_window) + in_menus(hostile_window) == []
    hostile_window.tool_bar.bell.click()
    assert in_open_menu() == []
    assert bait.opened() == 0


def test_questions_are_plain_text(qtbot, bait):
    tag = hostile_tag(bait.path)
    parent = QWidget()
    qtbot.addWidget(parent)
    for dialog in (ask_loss(parent, tag, tag, "Delete", lambda: None), ask_text(parent, tag, tag, tag, lambda _text: None)):
        assert {one.text() for one in dialog.findChildren(QLabel) if one.text()} == {tag}
        assert not_plain(dialog) == []
    assert bait.opened() == 0


def test_questions_are_bounded(qtbot):
    parent, text = QWidget(), "\u202e" + "x" * 100_000
    qtbot.addWidget(parent)
    for dialog in (ask_loss(parent, text, text, "Delete", lambda: None), ask_text(parent, "", text, "", lambda _text: None)):
        shown = [one.text() for one in dialog.findChildren(QLabel)]
        assert max(map(len, shown)) == LABEL_CHARACTERS_MAX + 1
        assert "\u202e" not in "".join(shown)


@pytest.mark.parametrize("text", ["x\n" * 100_000, "word " * 200_000, "a\u202eb\0c\nd"])
def test_labels_show_a_bounded_text_and_know_all_of_it(qtbot, text):
    wrapped, elided, plain = label(text, wrap=True), ElidedLabel(text), label(text)
    for one in (wrapped, elided, plain):
        qtbot.addWidget(one)
        assert len(QLabel.text(one)) <= 2 * LABEL_CHARACTERS_MAX
        assert not {"\0", "\u202e"} & set(QLabel.text(one))
    assert wrapped.text() == elided.whole_text() == text
    assert "\n" not in elided.text()


def test_what_is_not_plain_text_would_be_found(qtbot, bait):
    root = QWidget()
    qtbot.addWidget(root)
    words = QLabel(hostile_tag(bait.path))
    QVBoxLayout(root).addWidget(words)
    words.setToolTip(words.text())
    root.setWindowTitle(words.text())
    root.show()
    assert {one.split()[0] for one in not_plain(root)} == {"label", "tool", "title"}
    bait.opened()
    assert set(hover(root)) == {f"tool tip {words.text()!r}"}
    assert bait.opened()

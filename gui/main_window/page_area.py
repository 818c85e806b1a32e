"""The tab strip and the pages under it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QMenu,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QWidget,
)

from gui.main_window.page_room import GoneLine, PageRoom
from gui.main_window.places import PagePlace
from gui.theme.icons import icon
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.widgets.basic import IconButton, column, row
from gui.widgets.popups import new_menu, popup_below
from gui.widgets.said import on_language
from gui.widgets.saved_menu import menu_text
from gui.words.plain_text import button_text, tip_text
from gui.words.text import tr

if TYPE_CHECKING:
    from gui.views.page import PageView

TABS_MAX = 20
PINNED_MAX = TABS_MAX - 1
TABS_WIDTH_MIN = 60
TITLE_WIDTH_MAX = 168
"""Width of a tab's title, px; longer titles are cut and the tool tip has them whole."""
TITLES_A_TURN = 3
"""Titles of background tabs written in one turn: Qt lays out all tabs for each, and a change of language changes them all."""
CUT = 2
"""An edge may cut so much of a tab, px: its border."""
TEAR_OFF = 40
"""Distance from the strip in px at which a dropped tab gets a window of its own."""
MANY_PARTS = 10
"""Restyling a widget with this many parts takes longest; the list of a combo box has seven."""


class _Tabs(QTabBar):
    """Tabs that close by the middle button and are torn off by dragging.

    Signals:
        torn_off: A tab was dropped outside the strip; carries its index.
    """

    torn_off = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._pressed = False
        self.covers = [QFrame(self) for _ in range(2)]
        """What hides a tab that the left or the right edge cuts, because a half title reads like another one."""
        for cover in self.covers:
            cover.setObjectName("tabCover")
            cover.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        self._cover_cut_tabs()  # Qt says in no other way that it has scrolled

    def _cover_cut_tabs(self) -> None:
        width, current = self.width(), self.currentIndex()
        cut = [self.tabRect(index) for index in range(self.count()) if index != current]
        left = max((tab.right() + 1 for tab in cut if tab.left() < -CUT and tab.right() >= 0), default=0)
        right = min((tab.left() for tab in cut if tab.left() < width < tab.right() + 1 - CUT), default=width)
        for cover, start, end in zip(self.covers, (0, right), (left, width), strict=True):
            cover.setGeometry(start, 0, end - start, self.height())
            cover.setVisible(end > start)
            cover.raise_()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.button() == Qt.MouseButton.LeftButton and self.tabAt(event.position().toPoint()) >= 0
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        if event.button() == Qt.MouseButton.MiddleButton:
            index = self.tabAt(at)
            if index >= 0:
                self.tabCloseRequested.emit(index)
            return
        super().mouseReleaseEvent(event)
        pressed, self._pressed = self._pressed, False
        if pressed and not self.rect().adjusted(-TEAR_OFF, -TEAR_OFF, TEAR_OFF, TEAR_OFF).contains(at):
            self.torn_off.emit(self.currentIndex())


@dataclass(slots=True)
class _Slot:
    """A tab: its page, or until it is first shown its factory and English title."""

    place: PagePlace
    page: PageView | None
    make: Callable[[], PageView]
    icon: str
    title: str = ""
    is_pinned: bool = False
    """Whether it keeps its page: no link opens another subject in it, and it does not close for others."""

    @property
    def shown_title(self) -> str:
        """Of the page, or of what it will be about."""
        return self.page.tab_title() if self.page is not None else self.place.subject or tr(self.title)


class PageArea(QWidget):
    """Opened pages as tabs. The page of a restored tab is made when it is first shown.

    Signals:
        shown: Another page is in front; carries it.
        closed: A page is about to be closed; carries it.
        tear_off_asked: A page is to get a window of its own; carries it.
        menu_asked: The menu of a tab is wanted; carries its page and where.
        gone_closed: The page in front is pinned, what it is about is gone, and it is to be closed; carries it.
    """

    shown = Signal(object)
    closed = Signal(object)
    tear_off_asked = Signal(object)
    menu_asked = Signal(object, QPoint)
    gone_closed = Signal(object)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._slots: list[_Slot] = []
        self._late_titles: dict[PageView, str] = {}
        self._late = QTimer(self, singleShot=True, interval=0)
        self._late.timeout.connect(self._write_late_titles)
        self.tabs = _Tabs()
        self.tabs.setObjectName("tabs")
        self.tabs.setTabsClosable(True)
        self.tabs.setMovable(True)
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setIconSize(QSize(Size.ICON_BUTTON, Size.ICON_BUTTON))
        # Titles are cut before. Many tabs are scrolled to the one in front; the style hides Qt's arrows, and a list has all.
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.tabs.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        # Qt's own minimum width, scroll buttons included, would keep the plus away from a single short tab.
        self.tabs.setMinimumWidth(TABS_WIDTH_MIN)
        self.plus = IconButton(theme, "plus", role="tab-button")
        self.list_button = IconButton(theme, "caret-down", role="tab-button", on_click=self.open_list)
        """Lists all tabs where there is no room for them."""
        self.list_button.hide()
        self.gone = GoneLine(theme)
        self.gone.close_wanted.connect(lambda: self.gone_closed.emit(self.current))
        self.room = PageRoom()
        self._stack = self.room.stack
        self.veil = Veil(theme, self._stack)
        self._build()
        on_language(self, self._write)
        self.tabs.currentChanged.connect(self._tab_changed)
        self.tabs.tabCloseRequested.connect(self.close_tab)
        self.tabs.tabMoved.connect(self._tab_moved)
        self.tabs.torn_off.connect(self._tear_off)
        self.tabs.customContextMenuRequested.connect(self._ask_menu)
        theme.changed.connect(self._write_icons)

    def _build(self) -> None:
        self.strip = strip = QFrame()
        strip.setObjectName("tabStrip")
        strip.setFixedHeight(Size.TAB_STRIP)
        strip.setLayout(row((self.tabs, 0, Qt.AlignmentFlag.AlignBottom), self.plus, 1, self.list_button, spacing=0))
        self.setLayout(column(strip, self.gone, (self.room, 1), spacing=0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_list_button()

    def _show_list_button(self) -> None:
        count = self.tabs.count()
        width = self.tabs.tabRect(count - 1).right() - self.tabs.tabRect(0).left() if count else 0
        self.list_button.setVisible(width > self.width() - self.plus.sizeHint().width())

    def open_list(self) -> QMenu:
        menu = new_menu(self)
        for index, slot in enumerate(self._slots):
            action = menu.addAction(self.tabs.tabIcon(index), menu_text(slot.shown_title))
            action.setCheckable(True)
            action.setChecked(index == self.tabs.currentIndex())
            action.triggered.connect(partial(self._choose_listed, slot))
        popup_below(menu, self.list_button)
        return menu

    def _choose_listed(self, slot: _Slot, _checked: bool = False) -> None:
        if slot in self._slots:
            self.tabs.setCurrentIndex(self._slots.index(slot))

    @property
    def pages(self) -> Sequence[PageView]:
        """Pages already made, in the order of their tabs."""
        return tuple(slot.page for slot in self._slots if slot.page is not None)

    @property
    def places(self) -> Sequence[PagePlace | PageView]:
        """What each tab holds: its page, or the place it will show."""
        return tuple(slot.page or slot.place for slot in self._slots)

    @property
    def current(self) -> PageView | None:
        index = self.tabs.currentIndex()
        return self._slots[index].page if 0 <= index < len(self._slots) else None

    def page_of(self, page_id: str) -> PageView | None:
        """The page of this ID, made now if necessary; the current tab before others."""
        current = self.current
        if current is not None and current.page_id == page_id and not self.is_pinned(current):
            return current
        found = next((slot for slot in self._slots if slot.place.page_id == page_id and not slot.is_pinned), None)
        return self._page(found) if found is not None else None

    def add(self, place: PagePlace, icon_name: str, title: str, make: Callable[[], PageView]) -> None:
        """Add a tab whose page is made when it is first shown; the oldest tab closes when there are too many.

        ``title`` is English and shown until the page is made.
        """
        if len(self._slots) >= TABS_MAX:
            self.close_tab(next((place for place, slot in enumerate(self._slots) if not slot.is_pinned), 0))
        self._insert(_Slot(place, None, make, icon_name, title))

    def restore(
        self,
        tabs: Sequence[tuple[PagePlace, str, str, Callable[[], PageView]]],
        current: int,
        pinned: Collection[int] = (),
    ) -> None:
        """Add tabs as `add` does, pin those at the places ``pinned`` and show one: only its page is made."""
        # The first tab that is added comes to the front by itself.
        self.tabs.blockSignals(True)
        first = len(self._slots)
        for tab in tabs:
            self.add(*tab)
        for place in pinned:
            self._slots[first + place].is_pinned = True
        self.tabs.setCurrentIndex(first + current)
        self.tabs.blockSignals(False)
        self._tab_changed(self.tabs.currentIndex())

    def open(self, place: PagePlace, icon_name: str, title: str, make: Callable[[], PageView]) -> PageView:
        """Add a tab and make its page at once; it does not come to the front."""
        self.add(place, icon_name, title, make)
        return self._page(self._slots[-1])

    def adopt(self, page: PageView) -> None:
        """Add a page that `take` removed."""
        self._insert(_Slot(PagePlace(page.page_id), page, lambda: page, page.entry.icon, is_pinned=page.is_pinned))
        self._stack.addWidget(page)

    def _insert(self, slot: _Slot) -> None:
        self._slots.append(slot)
        title = slot.shown_title
        index = self.tabs.addTab(button_text(shown_title(title, self.tabs.fontMetrics())))
        self.tabs.setTabToolTip(index, tip_text(title))
        self._show_list_button()
        self._write_buttons()
        self._write_icons()

    def _page(self, slot: _Slot) -> PageView:
        if slot.page is None:
            page = slot.page = slot.make()
            page.is_pinned = slot.is_pinned
            self._stack.addWidget(page)
            # Not before: Qt would apply the style sheet a second time when the page gets its parent.
            self._theme.dress_soon(page)
            page.title_changed.connect(lambda title: self._title_changed(page, title))
            self._write_title(page, page.tab_title())
        return slot.page

    def show_page(self, page: PageView) -> None:
        self.tabs.setCurrentIndex(self._index(page))
        self._stack.setCurrentWidget(page)
        self.veil.cover(page)

    def close_page(self, page: PageView) -> None:
        self.close_tab(self._index(page))

    def close_tab(self, index: int) -> None:
        if len(self._slots) > 1:
            self._remove(index)

    def close_others(self, page: PageView) -> None:
        for index in reversed(range(len(self._slots))):
            if self._slots[index].page is not page and not self._slots[index].is_pinned:
                self._remove(index)

    def is_pinned(self, page: PageView) -> bool:
        """Whether the tab of a page is pinned; a page without a tab is not."""
        return any(slot.is_pinned for slot in self._slots if slot.page is page)

    def toggle_pinned(self, page: PageView) -> bool:
        """Pin the tab of a page, or release it; returns whether it was.

        One tab less than there may be can be pinned, because another page would close one of them.
        """
        slot = self._slots[self._index(page)]
        if not slot.is_pinned and len(self.pinned) >= PINNED_MAX:
            return False
        slot.is_pinned = page.is_pinned = not slot.is_pinned
        self._write_icons()
        self.show_gone()
        return True

    @property
    def pinned(self) -> list[int]:
        return [index for index, slot in enumerate(self._slots) if slot.is_pinned]

    def show_gone(self) -> None:
        """Show whether the page in front is pinned and about something that is gone."""
        page = self.current
        self.gone.say(page.gone() if page is not None and page.is_pinned else "")

    def close_all(self) -> None:
        """Close every tab, the last too."""
        for index in reversed(range(len(self._slots))):
            self._remove(index)

    def take(self, page: PageView) -> None:
        """Remove the tab of a page without closing the page."""
        index = self._index(page)
        self._slots.pop(index)
        self._stack.removeWidget(page)
        self.tabs.removeTab(index)

    def _remove(self, index: int) -> None:
        page = self._slots.pop(index).page
        if page is not None:
            self.closed.emit(page)
            self._stack.removeWidget(page)
        self.tabs.removeTab(index)
        if page is not None:
            forget_style(page)
            page.deleteLater()

    def step(self, by: int) -> None:
        """Go to the next or previous tab, around the end."""
        if self._slots:
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + by) % len(self._slots))

    def _index(self, page: PageView) -> int:
        return next(index for index, slot in enumerate(self._slots) if slot.page is page)

    def _tab_changed(self, index: int) -> None:
        if 0 <= index < len(self._slots) and len(self._slots) == self.tabs.count():
            page = self._page(self._slots[index])
            self._stack.setCurrentWidget(page)
            self.veil.cover(page)
            self._write_icons()
            self.shown.emit(page)
            self.show_gone()

    def _tab_moved(self, from_index: int, to_index: int) -> None:
        self._slots.insert(to_index, self._slots.pop(from_index))

    def _tear_off(self, index: int) -> None:
        if 0 <= index < len(self._slots):
            self.tear_off_asked.emit(self._page(self._slots[index]))

    def _ask_menu(self, at: QPoint) -> None:
        index = self.tabs.tabAt(at)
        if index >= 0:
            self.menu_asked.emit(self._page(self._slots[index]), self.tabs.mapToGlobal(at))

    def _write_title(self, page: PageView, title: str) -> None:
        if page in self.pages:
            self._write_tab(self._index(page), title)

    def _write_tab(self, index: int, title: str) -> None:
        self.tabs.setTabText(index, button_text(shown_title(title, self.tabs.fontMetrics())))
        self.tabs.setTabToolTip(index, tip_text(title))

    def _title_changed(self, page: PageView, title: str) -> None:
        if page is self.current:
            self._write_title(page, title)
            self.show_gone()
        else:
            self._late_titles[page] = title
            self._late.start()

    def _write_late_titles(self) -> None:
        for page in list(self._late_titles)[:TITLES_A_TURN]:
            self._write_title(page, self._late_titles.pop(page))
        if self._late_titles:
            self._late.start()

    def _write_icons(self) -> None:
        tokens = self._theme.tokens
        for index, slot in enumerate(self._slots):
            colour = tokens.text_1 if index == self.tabs.currentIndex() else tokens.text_2
            glyph = "tag" if slot.is_pinned else slot.icon
            self.tabs.setTabIcon(index, icon(glyph, colour, Size.ICON_BUTTON))
        self._show_list_button()

    def _write(self) -> None:
        self.plus.set_tip(tr("New tab"))
        self.list_button.set_tip(tr("All open pages"))
        self.tabs.setAccessibleName(tr("Open pages"))
        for index, slot in enumerate(self._slots):
            if slot.page is None:  # a page says when its title is another
                self._write_tab(index, slot.shown_title)

        self._write_buttons()

    def _write_buttons(self) -> None:
        """Qt writes the texts of the strip's buttons once, when it makes them.

        A button found by `tabButton` or `findChildren` leaks in Python when its tab is closed (PySide6 6.11), by `children`
        not.
        """
        arrows = {"ScrollLeftButton": tr("Tabs to the left"), "ScrollRightButton": tr("Tabs to the right")}
        for button in self.tabs.children():
            if isinstance(button, QToolButton):
                button.setAccessibleName(arrows.get(button.objectName(), ""))
            elif isinstance(button, QAbstractButton):
                button.setToolTip(tr("Close the tab"))


def forget_style(page: QWidget) -> None:
    """Make Qt forget the style of the parts of a closed page.

    Qt computes a style for every part and forgets only that of polished parts with a look of their own: some 300 bytes would
    leak for each list of a combo box and each viewport (Qt 6.11). So unshown parts are polished, and parts without a look get a
    sheet of their own, except large ones, because restyling those takes longest.
    """
    for part in page.findChildren(QWidget):
        part.ensurePolished()
        if not part.testAttribute(Qt.WidgetAttribute.WA_StyleSheet) and len(part.findChildren(QWidget)) < MANY_PARTS:
            part.setStyleSheet(" ")


def shown_title(title: str, metrics: QFontMetrics) -> str:
    """A title as its tab shows it: names are cut in the middle because they differ at both ends, other texts at the end."""
    is_name = not any(letter.isspace() for letter in title)
    mode = Qt.TextElideMode.ElideMiddle if is_name else Qt.TextElideMode.ElideRight
    return metrics.elidedText(title, mode, TITLE_WIDTH_MAX)


class Veil(QWidget):
    """Dims the outdated figures of a page; lets the mouse through."""

    def __init__(self, theme: ThemeManager, stack: QStackedWidget) -> None:
        super().__init__(stack)
        self._theme = theme
        self._stack = stack
        self._wanted = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        stack.installEventFilter(self)
        self.hide()

    def set_wanted(self, wanted: bool) -> None:
        """Set whether figures are out of date."""
        self._wanted = wanted
        page = self._stack.currentWidget()
        if page is None:
            return
        from gui.views.page import PageView

        if isinstance(page, PageView):
            self.cover(page)

    def cover(self, page: PageView) -> None:
        """Cover a page that came to the front, if its figures are to be dimmed."""
        self.setVisible(self._wanted and page.dims_when_lost)
        self.setGeometry(self._stack.rect())
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._stack.rect())
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        colour = QColor(self._theme.tokens.window)
        colour.setAlpha(140)
        painter.fillRect(self.rect(), colour)
        painter.end()

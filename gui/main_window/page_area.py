"""The tab strip and the pages under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from gui.text import tr
from gui.theme.icons import icon
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.views.page import PageView
from gui.widgets.basic import IconButton

TABS_MAX = 20
TABS_WIDTH_MIN = 60


class _Tabs(QTabBar):
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.MiddleButton:
            index = self.tabAt(event.position().toPoint())
            if index >= 0:
                self.tabCloseRequested.emit(index)
            return
        super().mouseReleaseEvent(event)


class PageArea(QWidget):
    """Opened pages as tabs.

    Signals:
        shown: Another page is in front; carries it.
        new_tab_asked: The plus was pressed.
        closed: A page is about to be closed; carries it.
    """

    shown = Signal(object)
    new_tab_asked = Signal()
    closed = Signal(object)

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pages: list[PageView] = []
        self.tabs = _Tabs()
        self.tabs.setObjectName("tabs")
        self.tabs.setTabsClosable(True)
        self.tabs.setMovable(True)
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setIconSize(QSize(Size.ICON_BUTTON, Size.ICON_BUTTON))
        self.tabs.setElideMode(Qt.TextElideMode.ElideMiddle)
        # Qt's own least width, scroll buttons included, would hold the plus away from a single short tab.
        self.tabs.setMinimumWidth(TABS_WIDTH_MIN)
        self.plus = IconButton(theme, "plus", role="tab-button", tip=tr("New tab"), on_click=self.new_tab_asked.emit)
        self._stack = QStackedWidget()
        self.veil = Veil(theme, self._stack)
        strip = QFrame()
        strip.setObjectName("tabStrip")
        strip.setFixedHeight(Size.TAB_STRIP)
        line = QHBoxLayout(strip)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(0)
        line.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignBottom)
        line.addWidget(self.plus)
        line.addStretch(1)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addWidget(strip)
        lines.addWidget(self._stack, 1)
        self.tabs.currentChanged.connect(self._tab_changed)
        self.tabs.tabCloseRequested.connect(self.close_page)
        self.tabs.tabMoved.connect(self._tab_moved)
        theme.changed.connect(self._write_icons)

    @property
    def pages(self) -> Sequence[PageView]:
        """Opened pages in the order of their tabs."""
        return tuple(self._pages)

    @property
    def current(self) -> PageView | None:
        index = self.tabs.currentIndex()
        return self._pages[index] if 0 <= index < len(self._pages) else None

    def page_of(self, page_id: str) -> PageView | None:
        """The opened page of that id; the current one before others."""
        current = self.current
        if current is not None and current.page_id == page_id:
            return current
        return next((page for page in self._pages if page.page_id == page_id), None)

    def add(self, make: Callable[[], PageView]) -> PageView:
        """Open a page in a new tab, behind the current one; the oldest tab closes when there are too many."""
        if len(self._pages) >= TABS_MAX:
            self.close_page(0)
        page = make()
        self._pages.append(page)
        self._stack.addWidget(page)
        index = self.tabs.addTab(page.tab_title())
        self.tabs.setTabToolTip(index, page.tab_title())
        page.title_changed.connect(lambda title: self._write_title(page, title))
        self._write_icons()
        return page

    def show_page(self, page: PageView) -> None:
        """Bring a page to the front."""
        self.tabs.setCurrentIndex(self._pages.index(page))
        self._stack.setCurrentWidget(page)
        self.veil.cover(page)

    def close_page(self, index: int) -> None:
        """Close a tab; the last one stays."""
        if len(self._pages) <= 1:
            return
        page = self._pages.pop(index)
        self.closed.emit(page)
        self._stack.removeWidget(page)
        self.tabs.removeTab(index)
        page.deleteLater()

    def step(self, by: int) -> None:
        """Go to the next or previous tab, around the end."""
        if self._pages:
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + by) % len(self._pages))

    def _tab_changed(self, index: int) -> None:
        if 0 <= index < len(self._pages) and len(self._pages) == self.tabs.count():
            page = self._pages[index]
            self._stack.setCurrentWidget(page)
            self.veil.cover(page)
            self._write_icons()
            self.shown.emit(page)

    def _tab_moved(self, from_index: int, to_index: int) -> None:
        self._pages.insert(to_index, self._pages.pop(from_index))

    def _write_title(self, page: PageView, title: str) -> None:
        if page in self._pages:
            index = self._pages.index(page)
            self.tabs.setTabText(index, title)
            self.tabs.setTabToolTip(index, title)

    def _write_icons(self) -> None:
        tokens = self._theme.tokens
        for index, page in enumerate(self._pages):
            colour = tokens.text_1 if index == self.tabs.currentIndex() else tokens.text_2
            self.tabs.setTabIcon(index, icon(page.icon, colour, Size.ICON_BUTTON))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.plus.set_tip(tr("New tab"))


class Veil(QWidget):
    """Dims the figures of a page that are no longer current; lets the mouse through."""

    def __init__(self, theme: ThemeManager, stack: QStackedWidget) -> None:
        super().__init__(stack)
        self._theme = theme
        self._stack = stack
        self._wanted = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        stack.installEventFilter(self)
        self.hide()

    def set_wanted(self, wanted: bool) -> None:
        """Whether figures are out of date."""
        self._wanted = wanted
        page = self._stack.currentWidget()
        if isinstance(page, PageView):
            self.cover(page)

    def cover(self, page: PageView) -> None:
        """Cover a page that has come to the front, if its figures are to be dimmed."""
        self.setVisible(self._wanted and page.dims_when_lost)
        self.setGeometry(self._stack.rect())
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._stack.rect())
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        painter = QPainter(self)
        colour = QColor(self._theme.tokens.window)
        colour.setAlpha(140)
        painter.fillRect(self.rect(), colour)
        painter.end()

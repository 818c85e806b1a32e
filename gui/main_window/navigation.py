"""`Navigation`: which pages are open, in tabs or windows of their own, and the history of places."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from gui.main_window.links import link_to
from gui.main_window.notices import raise_window
from gui.main_window.page_area import PageArea
from gui.main_window.panes import has_keyboard
from gui.main_window.places import PagePlace, PlaceTrail
from gui.theme.manager import ThemeManager
from gui.views.page_names import ONE_TIME_ARGUMENTS
from gui.views.registry import PageEntry

if TYPE_CHECKING:
    from gui.main_window.detached import DetachedWindow
    from gui.views.page import PageContext, PageView

DETACHED_MAX = 8
CLOSED_KEPT = 20


class Navigation(QObject):
    """Opens, moves and closes pages; makes none before it has a context. ``plain_key`` handles keys of torn-off windows.

    Signals:
        shown: A page came to the front; carries it.
        opened: A page was made; carries it.
        travelled: Back or Forward may have become possible or impossible.
        detached: A page got a window of its own; carries the window.
    """

    shown = Signal(object)
    opened = Signal(object)
    travelled = Signal()
    detached = Signal(object)

    def __init__(
        self,
        area: PageArea,
        pages: Sequence[PageEntry],
        theme: ThemeManager,
        *,
        plain_key: Callable[[QKeyEvent], bool],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._area = area
        self._entries = {entry.page_id: entry for entry in pages}
        self._theme = theme
        self._plain_key = plain_key
        self._context: PageContext | None = None
        self._travelling = False
        self._places_of: dict[PageView, PagePlace] = {}
        self._closed: list[PagePlace] = []
        self.places = PlaceTrail()
        self.windows: list[DetachedWindow] = []
        area.shown.connect(self._tab_shown)
        area.closed.connect(self._page_closed)
        area.gone_closed.connect(self.close_gone)

    # ---- what is open ----------------------------------------------------------------------------------------------

    def use(self, context: PageContext) -> None:
        """Set the context of pages opened from now on."""
        self._context = context

    @property
    def pages(self) -> list[PageView]:
        """All open pages: tabs first, then windows."""
        return [*self._area.pages, *(window.page for window in self.windows)]

    @property
    def visible_pages(self) -> list[PageView]:
        """Pages that the user sees: the tab in front and the windows."""
        shown = [self._area.current, *(window.page for window in self.windows)]
        return [page for page in shown if page is not None and page.isVisible()]

    @property
    def current(self) -> PageView | None:
        """The page that keys act on: of the active window, else the tab in front."""
        active = QApplication.activeWindow()
        return next((window.page for window in self.windows if window is active), self._area.current)

    def has(self, page_id: str) -> bool:
        return page_id in self._entries

    def known(self, place: PagePlace) -> PagePlace:
        """The place of a link in a window without a page for one topic."""
        return PagePlace("topics", place.arguments) if place.page_id == "topic" and not self.has("topic") else place

    def place_of(self, page: PageView) -> PagePlace:
        return self._places_of.get(page, PagePlace(page.page_id))

    def place_in(self, tab: PagePlace | PageView) -> PagePlace:
        """Place of a tab, also of one whose page was not made yet."""
        return tab if isinstance(tab, PagePlace) else self.place_of(tab)

    def link_here(self) -> str:
        """The link to the current place; empty while no page is open."""
        page = self.current
        return link_to(self.place_of(page)) if page is not None else ""

    # ---- going somewhere -------------------------------------------------------------------------------------------

    def open(self, place: PagePlace, *, new_tab: bool = False) -> PageView:
        """Go to a place, in the open page of that kind or in a new tab."""
        page = None if new_tab else self._area.page_of(place.page_id) or self._detached_page(place.page_id)
        if page is None:
            page = self._add(place)
        had_keyboard = has_keyboard(page)
        self._bring(page)
        before = page.window().focusWidget()
        page.open(place.arguments)
        if not had_keyboard and page.window().focusWidget() is before:
            page.take_keyboard()  # who opened it by keys can use it at once
        self._visit(page, _lasting(place.arguments))
        self.shown.emit(page)
        return page

    def restore(self, places: Sequence[PagePlace], current: int, pinned: Collection[int] = ()) -> None:
        """Open the tabs of the last session; only the one in front is made now, the others when they are first shown."""
        entries = [self._entries[place.page_id] for place in places]
        tabs = [
            (place, entry.icon, entry.title, partial(self._make_at, place))
            for place, entry in zip(places, entries, strict=True)
        ]
        self._area.restore(tabs, current, pinned)

    def back(self) -> None:
        self._travel(self.places.back())

    def forward(self) -> None:
        self._travel(self.places.forward())

    def reopen(self) -> None:
        if self._closed:
            self.open(self._closed.pop(), new_tab=True)

    def close_current(self) -> None:
        """Close the current page; the last tab stays."""
        page = self.current
        window = self._window_of(page)
        if window is not None:
            window.close()
        elif page is not None:
            self._area.close_page(page)

    def close_gone(self, page: PageView) -> None:
        """Close a page whose subject is gone; another page replaces the last tab."""
        if len(self._area.places) == 1:
            self._bring(self._add(PagePlace(next(one for one in self._entries if one != page.page_id))))
        self._area.close_page(page)

    def close_all(self) -> None:
        for window in list(self.windows):
            window.close()
        self._area.close_all()
        self._closed.clear()
        self.places = PlaceTrail()
        self.travelled.emit()

    # ---- windows of their own --------------------------------------------------------------------------------------

    def detach(self, page: PageView) -> DetachedWindow | None:
        """Move a tab to a window of its own; None where there are too many. Another page replaces the last tab."""
        if page not in self._area.pages or len(self.windows) >= DETACHED_MAX:
            return None
        if len(self._area.places) == 1:
            other = next((entry for entry in self._entries.values() if entry.page_id != page.page_id), None)
            if other is None:
                return None
            self._bring(self._add(PagePlace(other.page_id)))
        from gui.main_window.detached import DetachedWindow

        self._area.take(page)
        window = DetachedWindow(self._theme, page, plain_key=self._plain_key)
        self.windows.append(window)
        window.back_button.clicked.connect(lambda _checked=False: self.put_back(window))
        window.closed.connect(lambda: self._window_closed(window))
        self.detached.emit(window)
        window.show()
        self.shown.emit(page)
        return window

    def put_back(self, window: DetachedWindow) -> None:
        """Return a page to the tabs, in front."""
        self.windows.remove(window)
        page = window.give_back()
        self._area.adopt(page)
        self._bring(page)
        raise_window(self._area.window())
        self.shown.emit(page)

    def detach_or_put_back(self) -> None:
        page = self.current
        window = self._window_of(page)
        if window is not None:
            self.put_back(window)
        elif page is not None:
            self.detach(page)

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _add(self, place: PagePlace) -> PageView:
        entry = self._entries[place.page_id]
        return self._area.open(place, entry.icon, entry.title, partial(self._make, place.page_id))

    def _make(self, page_id: str) -> PageView:
        context = self._context
        assert context is not None, "a page was opened before the window was attached"
        page = page_class(self._entries[page_id])(context)
        page.place_changed.connect(lambda arguments: self._visit(page, arguments))
        self.opened.emit(page)
        return page

    def _make_at(self, place: PagePlace) -> PageView:
        page = self._make(place.page_id)
        page.open(place.arguments)
        self._places_of[page] = PagePlace(place.page_id, _lasting(place.arguments))
        return page

    def _bring(self, page: PageView) -> None:
        window = self._window_of(page)
        if window is not None:
            raise_window(window)
            return
        self._travelling = True
        self._area.show_page(page)
        self._travelling = False

    def _visit(self, page: PageView, arguments: Mapping[str, object]) -> None:
        place = PagePlace(page.page_id, arguments)
        self._places_of[page] = place
        self.places.visit(place)
        self.travelled.emit()

    def _travel(self, place: PagePlace | None) -> None:
        if place is not None:
            self.open(place)
        self.travelled.emit()

    def _tab_shown(self, page: PageView) -> None:
        current = self.places.current
        if not self._travelling and (current is None or current.page_id != page.page_id):
            self.places.visit(self.place_of(page))
            self.travelled.emit()
        if not self._travelling:
            self.shown.emit(page)

    def _detached_page(self, page_id: str) -> PageView | None:
        return next((window.page for window in self.windows if window.page.page_id == page_id), None)

    def _window_of(self, page: PageView | None) -> DetachedWindow | None:
        return next((window for window in self.windows if window.page is page), None)

    def _window_closed(self, window: DetachedWindow) -> None:
        if window in self.windows:
            self.windows.remove(window)
            self._page_closed(window.page)

    def _page_closed(self, page: PageView) -> None:
        self._closed = [*self._closed, self.place_of(page)][-CLOSED_KEPT:]
        self._places_of.pop(page, None)


def page_class(entry: PageEntry) -> type[PageView]:
    loaded: type[PageView] = getattr(importlib.import_module(entry.module), entry.class_name)
    return loaded


def _lasting(arguments: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if name not in ONE_TIME_ARGUMENTS}

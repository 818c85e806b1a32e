"""The remembered layout of the window: geometry, tabs, torn-off pages, side bar. Versioned, and it can be forgotten.

Each connection has its own layout, because pages name topics and windows stand beside others; the division of pages is shared
by all. ``group`` is `gui.operations.clusters.Clusters.settings_group`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMainWindow, QSplitter

from gui.main_window.frame_parts import FrameParts
from gui.main_window.links import LinkError, link_to, place_of
from gui.main_window.places import PagePlace
from gui.main_window.side_bar import SideBar
from gui.settings.values import text_list, whole_number
from gui.views.page_names import COLUMNS_GROUP
from gui.widgets.grid_columns import PRESETS_SUFFIX

if TYPE_CHECKING:
    from gui.main_window.navigation import Navigation
    from gui.views.page import PageView

LAYOUT_VERSION = 2
"""A layout of another version is ignored: half a layout is worse than none."""
_VERSION = "layout/version"
WIDTH, HEIGHT = 1_440, 900
WIDTH_MIN, HEIGHT_MIN = 960, 480
"""Of a full HD screen at 200 %, without the desktop's bars; larger pages are scrolled."""


def restore_geometry(window: QMainWindow, side_bar: SideBar, settings: QSettings, group: str = "") -> None:
    """Restore size and place of the window; its minimum is smaller on a small screen."""
    screen = QGuiApplication.primaryScreen().availableGeometry()
    window.setMinimumSize(min(WIDTH_MIN, screen.width()), min(HEIGHT_MIN, screen.height()))
    window.resize(WIDTH, HEIGHT)
    if not _known(settings, group):
        return
    geometry = settings.value(f"{group}layout/geometry")
    if isinstance(geometry, QByteArray):
        window.restoreGeometry(geometry)
    side_bar.set_collapsed(bool(whole_number(settings, f"{group}layout/side_bar_collapsed", 0)))


def restore_pages(navigation: Navigation, settings: QSettings, first: str, group: str = "") -> None:
    """Open the pages of the last session at their places; the first time the page ``first``."""
    known = _known(settings, group)
    links = text_list(settings, f"{group}layout/tabs") if known else []
    tabs = {number: place for number, link in enumerate(links) if (place := _place(navigation, link)) is not None}
    if not tabs:
        navigation.open(PagePlace(first))
        return
    numbers = list(tabs)
    current = whole_number(settings, f"{group}layout/current", 0)
    pinned = text_list(settings, f"{group}layout/pinned")
    navigation.restore(
        list(tabs.values()),
        numbers.index(current) if current in tabs else 0,
        [place for place, number in enumerate(numbers) if str(number) in pinned],
    )
    for number, link in enumerate(text_list(settings, f"{group}layout/windows")):
        place = _place(navigation, link)
        if place is not None:
            window = navigation.detach(navigation.open(place, new_tab=True))
            geometry = settings.value(f"{group}layout/window_{number}")
            if window is not None and isinstance(geometry, QByteArray):
                window.restoreGeometry(geometry)


def remember_page(page: PageView, settings: QSettings) -> None:
    for number, splitter in enumerate(page.findChildren(QSplitter)):
        settings.setValue(f"splitters/{page.page_id}_{number}", splitter.saveState())


def restore_page(page: PageView, settings: QSettings, group: str = "") -> None:
    """Restore the division of a page; one of another version with other parts is ignored."""
    if not (_known(settings) or _known(settings, group)):
        return
    for number, splitter in enumerate(page.findChildren(QSplitter)):
        state = settings.value(f"splitters/{page.page_id}_{number}")
        if isinstance(state, QByteArray):
            splitter.restoreState(state)


def save(window: QMainWindow, parts: FrameParts, settings: QSettings, group: str = "") -> None:
    navigation, area = parts.navigation, parts.area
    settings.setValue(f"{group}{_VERSION}", LAYOUT_VERSION)
    settings.setValue(f"{group}layout/geometry", window.saveGeometry())
    settings.setValue(f"{group}layout/side_bar_collapsed", int(parts.side_bar.collapsed))
    settings.setValue(f"{group}layout/tabs", [link_to(navigation.place_in(tab)) for tab in area.places])
    settings.setValue(f"{group}layout/pinned", [str(place) for place in area.pinned])
    settings.setValue(f"{group}layout/current", area.tabs.currentIndex())
    settings.setValue(f"{group}layout/windows", [link_to(navigation.place_of(one.page)) for one in navigation.windows])
    for place, one in enumerate(navigation.windows):
        settings.setValue(f"{group}layout/window_{place}", one.saveGeometry())
    for page in navigation.pages:
        remember_page(page, settings)
    settings.setValue("live/cadence_ms", parts.live.cadence_ms)
    settings.setValue("time_range_ms", parts.time_range.length_ms)


def forget(settings: QSettings, group: str = "") -> None:
    """Forget the layout, the division of pages and the columns of tables.

    Named sets of columns stay: the user forgets them by name.
    """
    for part in (f"{group}layout", "splitters"):
        settings.remove(part)
    for place in settings.allKeys():
        if place.startswith(f"{COLUMNS_GROUP}/") and not place.endswith(PRESETS_SUFFIX):
            settings.remove(place)


def _known(settings: QSettings, group: str = "") -> bool:
    return whole_number(settings, f"{group}{_VERSION}", 0) == LAYOUT_VERSION


def _place(navigation: Navigation, link: str) -> PagePlace | None:
    """The place of a link; None if this window has none such."""
    try:
        place = place_of(link)
    except LinkError:  # a file that somebody edited
        return None
    return place if navigation.has(place.page_id) else None

"""`PinnedPart`: the favourites in the side bar with figure and state, in the user's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.main_window.matching import match
from gui.main_window.side_bar_item import SideBarItem
from gui.models.favourites import FAVOURITES, Favourites, Pins
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.registry import PageEntry
from gui.widgets.basic import column
from gui.widgets.popups import new_menu
from gui.widgets.said import said_label
from gui.widgets.saved_menu import menu_name
from gui.words.text import tr

if TYPE_CHECKING:
    from gui.models.pin_rows import PinBook, PinRow
    from monitoring.lag_limits import LagLimits
    from monitoring.state import ClusterState

SHOWN_MAX = 12
"""The sections of the topic and group lists have the rest."""
DOT = 7
DOT_ROOM = 16


class PinnedItem(SideBarItem):
    """A topic or a group: glyph, name, figure, dot. Dragging, or Alt and an arrow, changes its place.

    Signals:
        moved: It is to change places with the one before (-1) or after (1).
        unpinned: It is to be removed from the favourites.
    """

    moved = Signal(int)
    unpinned = Signal()

    def __init__(self, theme: ThemeManager, row: PinRow) -> None:
        page_id, glyph = ("consumers", "users-three") if row.is_group else ("topic", "stack")
        super().__init__(theme, PageEntry(page_id, row.name, glyph, "", "", ""))
        self.state = State.IDLE
        self.right_room = DOT_ROOM
        self._drag_from: QPoint | None = None
        self._was_dragged = False
        self.show_row(row)

    @property
    def name(self) -> str:
        return self.entry.title

    @property
    def title(self) -> str:
        return self.name  # never translated

    @property
    def is_group(self) -> bool:
        return self.entry.page_id == "consumers"

    def write_name(self) -> None:
        super().write_name()
        self.setAccessibleName(tr("Group {group}", group=self.name) if self.is_group else tr("Topic {topic}", topic=self.name))

    def show_row(self, row: PinRow) -> None:
        words = tr("{count} messages of lag", count=row.value) if row.is_group else tr("{rate} in", rate=row.value)
        self.set_count(row.value, words=f"{row.name}, {words}")
        if row.state is not self.state:
            self.state = row.state
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._drag_from, self._was_dragged = event.position().toPoint(), False
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._drag_from is None:
            return
        by = event.position().toPoint().y() - self._drag_from.y()
        if abs(by) > self.height():
            self._was_dragged = True
            self.moved.emit(1 if by > 0 else -1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag_from = None
        if self._was_dragged:
            self.setDown(False)  # a drag opens nothing
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, is_alt = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if is_alt and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.moved.emit(-1 if key == Qt.Key.Key_Up else 1)
        elif event.key() == Qt.Key.Key_Delete:
            self.unpinned.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = new_menu(self)
        name = menu_name(self.name)
        words = tr("Open group {group}", group=name) if self.is_group else tr("Open topic {topic}", topic=name)
        menu.addAction(words, self.click)
        menu.addAction(tr("Open in a new tab"), self.new_tab_asked.emit)
        menu.addSeparator()
        menu.addAction(tr("Move up"), lambda: self.moved.emit(-1))
        menu.addAction(tr("Move down"), lambda: self.moved.emit(1))
        menu.addAction(tr("Remove from favourites"), self.unpinned.emit)
        menu.popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.state(State.IDLE if self.is_old else self.state)))
        right = self.width() - (8.0 if self.collapsed else 10.0)
        middle = 9.0 if self.collapsed else self.height() / 2
        painter.drawEllipse(QRectF(right - DOT, middle - DOT / 2, DOT, DOT))
        painter.end()


class PinnedPart(QWidget):
    """Heading and favourites; hidden while the cluster has none of them.

    Signals:
        asked: A favourite is to be opened; carries its page, its name and whether in a new tab.
    """

    asked = Signal(str, str, bool)

    def __init__(self, theme: ThemeManager, pins: Pins) -> None:
        super().__init__()
        self._theme = theme
        self.pins = pins
        self.items: list[PinnedItem] = []
        self._book: PinBook | None = None
        self._newest: tuple[ClusterState, LagLimits] | None = None
        self._searched = ""
        self._is_old = False
        self._collapsed = False
        self._heading = said_label(FAVOURITES, "caption")
        self._heading.setContentsMargins(10, 10, 0, 3)
        self._lines = column(self._heading, spacing=1)
        self.setLayout(self._lines)
        self.stop_before: QWidget | None = None
        """Last focus stop before the first favourite."""
        self.hide()
        pins.changed.connect(self._pins_changed)

    def show_state(self, state: ClusterState, limits: LagLimits) -> None:
        """Show the favourites that the cluster has, with their current figures."""
        from gui.models.pin_rows import PinBook

        self._book = self._book or PinBook(self.pins)
        self._newest = state, limits
        rows = self._book.rows(state, limits, SHOWN_MAX)
        if [(row.is_group, row.name) for row in rows] != [(item.is_group, item.name) for item in self.items]:
            self._make_items(rows)
        for item, row in zip(self.items, rows, strict=True):
            item.show_row(row)

    def forget_state(self) -> None:
        """Show none until there are figures of the next cluster."""
        self._newest = None
        self._make_items([])

    def set_old(self, is_old: bool) -> None:
        """Dim the figures, because the broker is gone."""
        self._is_old = is_old
        for item in self.items:
            item.set_old(is_old)

    def search(self, text: str) -> None:
        """Show the favourites that match a search."""
        self._searched = text
        for item in self.items:
            item.setVisible(match(text, item.name) is not None)
        shown = any(not item.isHidden() for item in self.items)
        self._heading.setVisible(shown and not self._collapsed)
        self.setVisible(shown)

    def set_collapsed(self, collapsed: bool) -> None:
        self._collapsed = collapsed
        for item in self.items:
            item.set_collapsed(collapsed)
        self.search("")

    def _pins_changed(self) -> None:
        if self._newest is not None:
            self.show_state(*self._newest)

    def _make_items(self, rows: list[PinRow]) -> None:
        """Make new items, drop old ones and order them; others are kept because one may have the focus."""
        known = {(item.is_group, item.name): item for item in self.items}
        self.items = [known[key] if (key := (row.is_group, row.name)) in known else self._item(row) for row in rows]
        for gone in set(known.values()).difference(self.items):
            gone.hide()
            gone.deleteLater()
        before = self.stop_before
        for place, item in enumerate(self.items, start=1):
            self._lines.insertWidget(place, item)
            if before is not None:
                self.setTabOrder(before, item)
            before = item
        self.search(self._searched)

    def _item(self, row: PinRow) -> PinnedItem:
        item = PinnedItem(self._theme, row)
        item.set_collapsed(self._collapsed)
        item.set_old(self._is_old)
        item.clicked.connect(lambda _checked=False: self.asked.emit(item.entry.page_id, item.name, False))
        item.new_tab_asked.connect(lambda: self.asked.emit(item.entry.page_id, item.name, True))
        item.moved.connect(lambda by: self._move(item, by))
        item.unpinned.connect(lambda: self._names_of(item).toggle(item.name))
        return item

    def _names_of(self, item: PinnedItem) -> Favourites:
        return self.pins.groups if item.is_group else self.pins.topics

    def _move(self, item: PinnedItem, by: int) -> None:
        place = self.items.index(item) + by
        if 0 <= place < len(self.items) and self.items[place].is_group is item.is_group:
            self._names_of(item).swap(item.name, self.items[place].name)

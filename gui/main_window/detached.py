"""`DetachedWindow`: a page that was torn off the tabs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from gui.main_window.page_area import Veil
from gui.main_window.page_room import PageRoom
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.views.page import PageView
from gui.widgets.basic import IconButton, column, row
from gui.widgets.notice import Banner
from gui.widgets.production_bar import ConnectionStripe, ProductionBar
from gui.widgets.said import on_language
from gui.words.plain_text import title_text
from gui.words.text import tr

WIDTH, HEIGHT = 1_180, 760


class DetachedWindow(QWidget):
    """A window of one page. Its button returns the page to the tabs; closing the window closes the page.

    Signals:
        closed: The window is about to close, and its page with it.
    """

    closed = Signal()

    def __init__(self, theme: ThemeManager, page: PageView, *, plain_key: Callable[[QKeyEvent], bool]) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # Only the main window decides when the program ends.
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)
        self.page = page
        self._plain_key = plain_key
        self._returning = False
        room = PageRoom()
        room.dress(theme)
        self._stack = room.stack
        self._stack.addWidget(page)
        self.veil = Veil(theme, self._stack)
        self.back_button = IconButton(theme, "arrow-square-out", role="tab-button")
        self.production = ProductionBar()
        self.stripe = ConnectionStripe()
        self.banner = Banner(theme)
        self._cluster = ""
        strip = QFrame()
        strip.setObjectName("tabStrip")
        strip.setFixedHeight(Size.TAB_STRIP)
        strip.setLayout(row(1, self.back_button, margins=(12, 0, 8, 0)))
        self.setLayout(column(self.stripe, self.production, strip, self.banner, (room, 1), spacing=0))
        page.title_changed.connect(self._write_title)
        page.show()
        self.resize(WIDTH, HEIGHT)
        on_language(self, self._write)
        theme.dress(strip)
        theme.dress(self.production)
        theme.dress(self.banner)

    def set_cluster(self, title: str) -> None:
        self._cluster = title
        self._write_title(self.page.tab_title())

    def give_back(self) -> PageView:
        """Close the window without its page, which the caller takes."""
        self._returning = True
        self._stack.removeWidget(self.page)
        self.page.title_changed.disconnect(self._write_title)
        self.close()
        return self.page

    def _write(self) -> None:
        self.back_button.set_tip(tr("Put the page back into the tabs"))
        self._write_title(self.page.tab_title())

    def _write_title(self, title: str) -> None:
        self.setWindowTitle(title_text(f"{title} — {self._cluster or 'Orbit'}"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._plain_key(event):
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.accept()
        if not self._returning:
            self.closed.emit()

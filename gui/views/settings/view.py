"""The Settings page: sections on the left, one of them on the right. Changes are stored at once, unless a section differs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QStackedWidget, QWidget

from gui.theme.tokens import Size, Tokens
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.settings.broker_panel import BrokerPanel
from gui.views.settings.connections_panel import ConnectionsPanel
from gui.views.settings.keyboard_panel import KeyboardPanel
from gui.views.settings.look_panel import LookPanels, NotificationsPanel
from gui.widgets.basic import column, row
from gui.widgets.containers import LaterPart
from gui.widgets.said import said_button
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

NAVIGATION_WIDTH = 190


Section = ConnectionsPanel | BrokerPanel | LookPanels | KeyboardPanel | NotificationsPanel

_SECTIONS: tuple[tuple[str, str, str, Callable[[PageContext], Section]], ...] = (
    ("connections", "Connections", "share-network", ConnectionsPanel),
    ("broker", "Embedded broker", "database", BrokerPanel),
    ("appearance", "Look and language", "sun", LookPanels),
    ("keyboard", "Keyboard", "keyboard", KeyboardPanel),
    ("notifications", "Notifications", "bell", NotificationsPanel),
)
"""Key, English title, glyph, and factory of each section."""
SECTIONS = tuple(key for key, _title, _glyph, _make in _SECTIONS)
"""Values of ``show`` in `SettingsView.open`."""


class SettingsView(PageView):
    """Makes sections when they are first shown."""

    page_id = "settings"
    dims_when_lost = False

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self._parts: dict[str, LaterPart[Section]] = {}
        self._current = ""
        self._stack = QStackedWidget()
        self._group = QButtonGroup(self)
        self.buttons: dict[str, QPushButton] = {}
        navigation = QWidget()
        navigation.setFixedWidth(NAVIGATION_WIDTH)
        lines = column(spacing=2)
        navigation.setLayout(lines)
        for key, title, glyph, _make in _SECTIONS:
            on_click = partial(self.show_section, key)
            button = said_button(self.context.theme, glyph, title, role="section", name=title, on_click=on_click)
            button.setCheckable(True)
            self._group.addButton(button)
            self.buttons[key] = button
            lines.addWidget(button)
        lines.addStretch(1)
        self.content.addLayout(row((navigation, 0, Qt.AlignmentFlag.AlignTop), (self._stack, 1), spacing=Size.GAP), 1)
        context.times.changed.connect(self._refresh)
        self.show_section(_SECTIONS[0][0])

    def open(self, arguments: PageArguments) -> None:
        wanted = arguments.get("show")
        if wanted == "language":
            wanted = "appearance"  # a link from before both were one section
        if isinstance(wanted, str) and wanted in self.buttons:
            self.show_section(wanted)

    def state_changed(self, _state: ClusterState) -> None:
        if self._current == "connections":
            self._refresh()

    def status_changed(self, _status: SourceStatus) -> None:
        self._refresh()

    def refresh(self) -> None:
        self._refresh()

    def theme_changed(self, _tokens: Tokens) -> None:
        self._refresh()

    def show_section(self, key: str) -> None:
        if key not in self._parts:
            # A turn after the page, because both in one turn would be noticeable.
            part = self._parts[key] = LaterPart(partial(self._make, key), fill=lambda made: made.refresh(), turns=1)
            self._stack.addWidget(part)
        self._current = key
        self.buttons[key].setChecked(True)
        self._stack.setCurrentWidget(self._parts[key])
        for part in self._parts.values():
            # A stack has the minimum width of its widest part; ignored parts take no room.
            side = QSizePolicy.Policy.Preferred if part is self._parts[key] else QSizePolicy.Policy.Ignored
            part.setSizePolicy(side, side)
        self._refresh()

    def section(self, key: str) -> Section:
        return self._parts[key].make()

    def _make(self, key: str) -> Section:
        return next(make for known, _title, _glyph, make in _SECTIONS if known == key)(self.context)

    def _refresh(self) -> None:
        part = self._parts.get(self._current)
        if part is not None and part.made is not None:
            part.made.refresh()

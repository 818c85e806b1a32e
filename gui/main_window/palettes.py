"""`Palettes`: the command palette of each window of the program, made when it is first wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication, QWidget

from gui.main_window.navigation import Navigation
from gui.main_window.services import FrameServices

if TYPE_CHECKING:
    from gui.main_window.palette import CommandPalette, PaletteEntry


class Palettes:
    """One for the main window and one for each torn-off window, because a palette covers its own window."""

    def __init__(self, frame: FrameServices, navigation: Navigation) -> None:
        self._frame = frame
        self._navigation = navigation
        self._known: dict[QWidget, CommandPalette] = {}

    @property
    def active(self) -> CommandPalette:
        front = QApplication.activeWindow()
        host: QWidget = next((window for window in self._navigation.windows if window is front), self._frame.host)
        if host not in self._known:
            from gui.main_window.palette import CommandPalette

            self._known[host] = CommandPalette(self._frame.app.theme, host, self._entries)
        return self._known[host]

    def forget_with(self, host: QWidget) -> None:
        host.destroyed.connect(lambda _gone=None: self._known.pop(host, None))

    def _entries(self, query: str) -> list[PaletteEntry]:
        from gui.main_window.palette_entries import palette_entries

        return palette_entries(query, self._frame)

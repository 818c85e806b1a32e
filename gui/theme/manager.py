"""`ThemeManager`: which theme is shown, and its application to the whole program."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QDir, QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from gui.theme.fonts import load_fonts, text_font
from gui.theme.resources import resource_directory
from gui.theme.style import palette, style_sheet
from gui.theme.tokens import DARK, LIGHT, Tokens


class ThemeMode(Enum):
    """What the user chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class ThemeManager(QObject):
    """Holds the tokens in use and restyles the application when they change.

    Signals:
        changed: Another theme is in use; carries its `Tokens`.
    """

    changed = Signal(object)

    def __init__(self, application: QApplication, mode: ThemeMode = ThemeMode.SYSTEM, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._application = application
        self._mode = mode
        self._tokens = self._wanted()
        self._sheet = ""
        self._windows: list[QWidget] = []
        QDir.setSearchPaths("icons", [str(resource_directory() / "icons")])
        load_fonts()
        # Not a style of our own in Python: Qt asks a style thousands of times for one page.
        application.setStyle("Fusion")
        application.setFont(text_font())
        self._apply()
        application.styleHints().colorSchemeChanged.connect(self._system_changed)

    @property
    def tokens(self) -> Tokens:
        """The colours in use."""
        return self._tokens

    @property
    def mode(self) -> ThemeMode:
        return self._mode

    def dress(self, window: QWidget) -> None:
        """Give a window without parent the style sheet, now and at each change; dialogs and menus have it of their parents.

        The application has none: Qt would apply it to every part of a page again each time the part gets a parent, which
        makes building a page three times as slow.
        """
        self._windows.append(window)
        window.setStyleSheet(self._sheet)

    def set_mode(self, mode: ThemeMode) -> None:
        """Follow the system, or stay light or dark."""
        self._mode = mode
        self._use(self._wanted())

    def _wanted(self) -> Tokens:
        if self._mode is ThemeMode.SYSTEM:
            return LIGHT if self._application.styleHints().colorScheme() == Qt.ColorScheme.Light else DARK
        return DARK if self._mode is ThemeMode.DARK else LIGHT

    def _system_changed(self) -> None:
        self._use(self._wanted())

    def _use(self, tokens: Tokens) -> None:
        if tokens is self._tokens:
            return
        self._tokens = tokens
        self._apply()
        self.changed.emit(tokens)

    def _apply(self) -> None:
        self._application.setPalette(palette(self._tokens))
        self._sheet = style_sheet(self._tokens)
        self._windows = [window for window in self._windows if isValid(window)]
        for window in self._windows:
            # Taking the old sheet off first is 2.6 times as fast as replacing it.
            window.setStyleSheet("")
            window.setStyleSheet(self._sheet)

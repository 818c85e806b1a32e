"""`ThemeManager`: the current theme, and its application to the whole program."""

from __future__ import annotations

import time
from enum import Enum

from PySide6.QtCore import QDir, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from gui.theme.fonts import load_fonts, text_font
from gui.theme.style import palette, style_sheet
from gui.theme.tokens import DARK, LIGHT, Density, Tokens
from resources import RESOURCE_FOLDER

LARGE_PART = 100
"""A part with this many widgets is restyled in two turns."""
SLICE_S = 0.015
"""Longest restyling before the loop gets a turn; one part may take longer."""


class ThemeMode(Enum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


STYLE = "fusion"
STYLED = "orbit_styled"
"""Property of an application started with this style: Python then need not load the style's type, 10 ms of a start."""


class ThemeManager(QObject):
    """Holds the tokens in use and restyles the application when they change.

    Signals:
        changed: Another theme is in use; carries its `Tokens`.
        density_changed: Rows of tables have another height.
    """

    changed = Signal(object)
    density_changed = Signal()

    def __init__(self, application: QApplication, mode: ThemeMode = ThemeMode.SYSTEM, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._application = application
        self.mode = mode
        self.density = Density.NORMAL
        self.tokens = self._wanted()
        self._sheet = ""
        self._parts: list[QWidget] = []
        self._stale: list[QWidget] = []
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._restyle)
        QDir.setSearchPaths("icons", [str(RESOURCE_FOLDER / "icons")])
        load_fonts()
        # Not a style of our own in Python: Qt calls a style thousands of times for one page. Set once: setting a style, even
        # the same one, goes through all existing widgets.
        if not application.property(STYLED):
            application.setStyle(STYLE)
            application.setProperty(STYLED, True)
        if application.font() != text_font():
            application.setFont(text_font())
        self._apply()
        application.styleHints().colorSchemeChanged.connect(self._system_changed)

    def set_density(self, density: Density) -> None:
        if density is not self.density:
            self.density = density
            self.density_changed.emit()

    @property
    def is_applied(self) -> bool:
        """Whether every part has the style sheet of the current theme; the last ones get it some turns later."""
        return not self._stale

    def dress(self, part: QWidget) -> None:
        """Apply the style sheet to a page or a part of the frame, now and at each change; its children inherit it.

        The application has none, because Qt would apply it to every widget of a page again at each new parent, which makes
        building a page three times as slow. The window has none, because a change would restyle all pages at once, for some 200
        ms. So menus and dialogs whose parent is a window must be dressed too.
        """
        self._keep(part)
        part.setStyleSheet(self._sheet)

    def dress_soon(self, part: QWidget) -> None:
        """Apply the style sheet to a large part in a turn of its own; until then it is not painted.

        For a page of 200 widgets that takes some 30 ms, about as long as making them.
        """
        self._keep(part)
        part.setUpdatesEnabled(False)
        self._stale.insert(0, part)
        self._turn.start()

    def _keep(self, part: QWidget) -> None:
        self._parts = [known for known in self._parts if isValid(known)]
        self._parts.append(part)

    def set_mode(self, mode: ThemeMode) -> None:
        self.mode = mode
        self._use(self._wanted())

    def _wanted(self) -> Tokens:
        if self.mode is ThemeMode.SYSTEM:
            return LIGHT if self._application.styleHints().colorScheme() == Qt.ColorScheme.Light else DARK
        return DARK if self.mode is ThemeMode.DARK else LIGHT

    def _system_changed(self) -> None:
        self._use(self._wanted())

    def _use(self, tokens: Tokens) -> None:
        if tokens is self.tokens:
            return
        self.tokens = tokens
        self._apply()
        self.changed.emit(tokens)
        # In a turn of its own, because the listeners take one, too.
        self._turn.start()

    def _apply(self) -> None:
        self._application.setPalette(palette(self.tokens))
        self._sheet = style_sheet(self.tokens)
        self._parts = [part for part in self._parts if isValid(part)]
        # Visible parts first; hidden ones follow in later turns, a page at a time.
        self._stale = sorted(self._parts, key=lambda part: not part.isVisible())

    def _restyle(self) -> None:
        end = time.perf_counter() + SLICE_S
        while self._stale and time.perf_counter() < end:
            part = self._stale.pop(0)
            if not isValid(part) or part.styleSheet() == self._sheet:
                continue
            if part.styleSheet():
                # Removing the old sheet first is 2.6 times as fast as replacing it.
                part.setUpdatesEnabled(False)
                part.setStyleSheet("")
                if len(part.findChildren(QWidget)) >= LARGE_PART:
                    # Each takes some 25 ms: the new sheet has a turn of its own, and the screen keeps its content until then.
                    self._stale.insert(0, part)
                    break
            part.setStyleSheet(self._sheet)
            part.setUpdatesEnabled(True)
        if self._stale:
            self._turn.start()

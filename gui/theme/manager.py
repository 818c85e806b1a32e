"""`ThemeManager`: which theme is shown, and its application to the whole program."""

from __future__ import annotations

import time
from enum import Enum

from PySide6.QtCore import QDir, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from gui.theme.fonts import load_fonts, text_font
from gui.theme.resources import resource_directory
from gui.theme.style import palette, style_sheet
from gui.theme.tokens import DARK, LIGHT, Density, Tokens

LARGE_PART = 100
"""A part of so many widgets is restyled in two turns."""
SLICE_S = 0.015
"""Restyling gives the loop a turn after this long; one part may take longer."""


class ThemeMode(Enum):
    """What the user chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


STYLE = "fusion"
STYLED = "orbit_styled"
"""Property of an application that was begun with this style: then Python need not learn what a style is, 10 ms of a start."""


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
        self._mode = mode
        self._density = Density.NORMAL
        self._tokens = self._wanted()
        self._sheet = ""
        self._parts: list[QWidget] = []
        self._stale: list[QWidget] = []
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._turn.setInterval(0)
        self._turn.timeout.connect(self._restyle)
        QDir.setSearchPaths("icons", [str(resource_directory() / "icons")])
        load_fonts()
        # Not a style of our own in Python: Qt asks a style thousands of times for one page. Set once: a new style, even the
        # same, goes through all widgets that exist.
        if not application.property(STYLED):
            application.setStyle(STYLE)
            application.setProperty(STYLED, True)
        if application.font() != text_font():
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

    @property
    def density(self) -> Density:
        """How high rows of tables are."""
        return self._density

    def set_density(self, density: Density) -> None:
        """Make rows of tables higher or lower."""
        if density is not self._density:
            self._density = density
            self.density_changed.emit()

    @property
    def is_applied(self) -> bool:
        """Whether every part has the style sheet of the theme in use; the last ones get it some turns later."""
        return not self._stale

    def dress(self, part: QWidget) -> None:
        """Give a page or a part of the frame the style sheet, now and at each change; what is in it has it of its parent.

        The application has none: Qt would apply it to every widget of a page again each time the widget gets a parent,
        which makes building a page three times as slow. The window has none: a change would then restyle all pages in one
        go, for some 200 ms. So menus and dialogs whose parent is a window itself are to be dressed too.
        """
        self._keep(part)
        part.setStyleSheet(self._sheet)

    def dress_soon(self, part: QWidget) -> None:
        """Give a large part the style sheet in a turn of the loop of its own; until then it is not painted.

        For a page of 200 widgets that is some 30 ms, about as long as making them.
        """
        self._keep(part)
        part.setUpdatesEnabled(False)
        self._stale.insert(0, part)
        self._turn.start()

    def _keep(self, part: QWidget) -> None:
        self._parts = [known for known in self._parts if isValid(known)]
        self._parts.append(part)

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
        # In a turn of its own: what listens takes one, too.
        self._turn.start()

    def _apply(self) -> None:
        self._application.setPalette(palette(self._tokens))
        self._sheet = style_sheet(self._tokens)
        self._parts = [part for part in self._parts if isValid(part)]
        # What is seen comes first; what lies behind is restyled in the turns after, a page at a time.
        self._stale = sorted(self._parts, key=lambda part: not part.isVisible())

    def _restyle(self) -> None:
        end = time.perf_counter() + SLICE_S
        while self._stale and time.perf_counter() < end:
            part = self._stale.pop(0)
            if not isValid(part) or part.styleSheet() == self._sheet:
                continue
            if part.styleSheet():
                # Taking the old sheet off first is 2.6 times as fast as replacing it.
                part.setUpdatesEnabled(False)
                part.setStyleSheet("")
                if len(part.findChildren(QWidget)) >= LARGE_PART:
                    # Each takes some 25 ms: the new sheet has a turn of its own, and what is on screen stays until then.
                    self._stale.insert(0, part)
                    break
            part.setStyleSheet(self._sheet)
            part.setUpdatesEnabled(True)
        if self._stale:
            self._turn.start()

"""`Tray`: Orbit's icon in the tray of the desktop, and the window that stays there when it is closed, if the user wants that.

Everything goes on meanwhile: the broker, its history, its alerts, reports. Where the desktop has no tray, closing ends Orbit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget
from shiboken6 import isValid

from gui.main_window.notices import SYSTEM_KEY, raise_window
from gui.main_window.services import is_on
from gui.theme.icons import icon, logo_pixmap
from gui.theme.tokens import State
from gui.words.broker_words import broker_text
from gui.words.text import count_text, duration_text, tr
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow

STAY_KEY = "tray/stay"
"""Setting: whether closing the window leaves Orbit in the tray."""
TOLD_KEY = "tray/told"
"""Setting: whether it was said where the window went."""
ICON_SIZES = (16, 22, 32, 64)
FAULTS_SHOWN = 4
"""Parts that are away and that the words by the icon name."""
_URGENCY = (State.CRITICAL, State.WARNING, State.INFO, State.HEALTHY)
DOT_SHARE = 0.5
"""Width of the dot that shows the state, of the icon's."""


class Tray(QObject):
    """Acts on one window; without a tray it does nothing.

    Args:
        window: What is shown and hidden.
        is_available: Whether the desktop has a tray.
    """

    def __init__(self, window: MainWindow, *, is_available: Callable[[], bool] = QSystemTrayIcon.isSystemTrayAvailable) -> None:
        super().__init__(window)
        self._window = window
        self.is_available = is_available
        self.icon: QSystemTrayIcon | None = None
        """Made when it is first wanted."""
        self._menu: QMenu | None = None
        self._shown = (State.PLAIN, "")
        self._hidden: list[QWidget] = []

    # ---- staying -------------------------------------------------------------------------------------------------------

    @property
    def is_offered(self) -> bool:
        """Whether the window can stay: there is a tray, and something that goes on without a window."""
        return self.is_available() and self._window.services.store_folder is None

    @property
    def is_wanted(self) -> bool:
        """Whether the user wants the window to stay when it is closed, and it can."""
        return is_on(self._window.services.settings, STAY_KEY, default=False) and self.is_offered

    @property
    def is_staying(self) -> bool:
        """Whether the window is hidden and Orbit goes on."""
        return bool(self._hidden)

    def want(self, *, stay: bool) -> None:
        """Remember what the user wants, and show the icon accordingly."""
        self._window.services.settings.setValue(STAY_KEY, stay)
        self.follow_setting()

    def follow_setting(self) -> None:
        """Show the icon if the user wants the window to stay; else only while it does."""
        if self.is_wanted:
            self._show_icon()
        elif self.icon is not None and not self.is_staying:
            self.icon.hide()

    def stay_if_wanted(self) -> bool:
        """The window is being closed: hide it instead, if that is wanted; returns whether it is hidden."""
        application = QGuiApplication.instance()
        ends = isinstance(application, QGuiApplication) and application.isSavingSession()
        if ends or self._window.backend is None or not self.is_wanted:
            return False
        self.stay()
        return True

    def stay(self) -> None:
        """Hide the window and those torn off it."""
        window, settings = self._window, self._window.services.settings
        self._show_icon()
        window.save_layout()
        self._hidden = [one for one in (*window.navigation.windows, window) if one.isVisible()] or [window]
        for one in self._hidden:
            one.hide()
        if not is_on(settings, TOLD_KEY, default=False):
            settings.setValue(TOLD_KEY, True)
            self.tell(
                window.broker.short_title,
                tr("Orbit goes on in the tray: history and alerts too. Its menu there opens or quits it."),
            )
        self.write()

    def open(self) -> None:
        """Show the window, and with it what was torn off it."""
        raise_window(self._window)

    def opened(self) -> None:
        """The window is shown again, by whomever: those that were torn off it are too."""
        hidden, self._hidden = self._hidden, []
        for one in hidden:
            if isValid(one):
                one.show()
        self.follow_setting()

    # ---- the icon ------------------------------------------------------------------------------------------------------

    def tell(self, title: str, text: str) -> bool:
        """Show a message of the desktop by the icon; returns whether that can be done."""
        if not (self.is_available() and QSystemTrayIcon.supportsMessages()):
            return False
        self._show_icon().showMessage(title, text, self._window.windowIcon())
        return True

    def write(self) -> None:
        """Show how the cluster is: a dot on the icon, and words where the pointer rests."""
        if self.icon is None:
            return
        state, text = self._state(), self._words()
        if (state, text) != self._shown:
            if state is not self._shown[0]:
                self.icon.setIcon(state_icon(self._window.services.theme.tokens.state(state)))
            self.icon.setToolTip(text)
            self._shown = (state, text)

    def _state(self) -> State:
        """The worst of how the cluster is and what its alert rules say."""
        broker = self._window.broker
        if broker.status is SourceStatus.READY and broker.alerts is not None:
            return min(broker.health, broker.alerts.worst_state, key=_URGENCY.index)
        return State.CRITICAL if broker.status is SourceStatus.LOST else State.IDLE

    def _words(self) -> str:
        window = self._window
        lines = [window.broker.title, window.status_bar.state_text, *self._fault_lines()]
        firing = 0 if window.broker.alerts is None else window.broker.alerts.firing
        if firing:
            lines.append(tr("{count} alerts firing", count=count_text(firing)))
        return "\n".join(lines)

    def _fault_lines(self) -> list[str]:
        """Which parts of the cluster are away, since when and why; that no figures come."""
        broker, state = self._window.broker, self._window.broker.state
        if broker.status is not SourceStatus.READY or state is None:
            return []
        lines = [f"{tr(part)}: {broker_text(reason)}" for part, reason in state.faults.items()]
        if len(lines) > FAULTS_SHOWN:
            lines[FAULTS_SHOWN - 1 :] = [tr("{count} more reasons", count=len(lines) - FAULTS_SHOWN + 1)]
        if broker.is_late:
            lines.append(tr("No figures have come for {time}.", time=duration_text(self._window.live.age_ms)))
        return lines

    def _show_icon(self) -> QSystemTrayIcon:
        if self.icon is None:
            self.icon = QSystemTrayIcon(QApplication.windowIcon(), self)
            self.icon.messageClicked.connect(self.open)
            self.icon.activated.connect(self._activated)
            self._menu = QMenu(self._window)
            self._window.services.theme.dress(self._menu)
            self._menu.aboutToShow.connect(self._fill_menu)
            # A desktop that draws the menu itself asks for it before it is opened.
            self._fill_menu()
            self.icon.setContextMenu(self._menu)
            self.write()
        self.icon.show()
        return self.icon

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.open()

    def _fill_menu(self) -> None:
        menu, window = self._menu, self._window
        assert menu is not None
        colour, settings = window.services.theme.tokens.text_2, window.services.settings
        menu.clear()
        menu.addAction(window.broker.short_title).setEnabled(False)  # each window has an icon of its own
        menu.addAction(icon("arrow-square-out", colour), tr("Open Orbit")).triggered.connect(self.open)
        menu.addSeparator()
        paused = window.live.paused
        live = menu.addAction(icon("play" if paused else "pause", colour), tr("Go on") if paused else tr("Pause the figures"))
        live.triggered.connect(window.live.toggle)
        tells = menu.addAction(tr("Tell through the desktop"))
        tells.setCheckable(True)
        tells.setChecked(is_on(settings, SYSTEM_KEY, default=True))
        tells.triggered.connect(lambda on: settings.setValue(SYSTEM_KEY, on))
        menu.addSeparator()
        menu.addAction(icon("x", colour), tr("Quit")).triggered.connect(window.ask_close)


def state_icon(colour: str) -> QIcon:
    """The mark of Orbit with a dot of this colour."""
    made = QIcon()
    for size in ICON_SIZES:
        pixmap = logo_pixmap(size, "#6AA0FF", "#F5924E").copy()
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        dot = round(size * DOT_SHARE)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Clear)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawEllipse(size - dot - 1, size - dot - 1, dot + 2, dot + 2)
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(size - dot, size - dot, dot - 1, dot - 1)
        painter.end()
        made.addPixmap(pixmap)
    return made

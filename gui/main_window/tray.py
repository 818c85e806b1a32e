"""`Tray`: Orbit's icon in the tray of the desktop, where the window stays after it is closed if the user wants that.

The broker, its history, its alerts and reports go on meanwhile. On a desktop without a tray, closing ends Orbit.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget
from shiboken6 import isValid

from gui.main_window.broker_watch import BrokerWatch
from gui.main_window.frame_parts import FrameParts
from gui.main_window.notices import raise_window
from gui.main_window.services import FrameServices
from gui.settings.values import STAY_KEY, SYSTEM_NOTICES_KEY, is_on
from gui.theme.icons import icon, logo_pixmap
from gui.theme.tokens import State
from gui.widgets.saved_menu import menu_name
from gui.words.broker_words import broker_text
from gui.words.plain_text import tip_text
from gui.words.text import count_text, duration_text, tr
from monitoring.sources.base import SourceStatus

TOLD_KEY = "tray/told"
"""Setting: whether the first notice about the tray was shown."""
ICON_SIZES = (16, 22, 32, 64)
FAULTS_SHOWN = 4
"""Missing parts that the tool tip of the icon names."""
_URGENCY = (State.CRITICAL, State.WARNING, State.INFO, State.HEALTHY)
DOT_SHARE = 0.5
"""Width of the state dot, as a share of the icon's."""


class Tray(QObject):
    """Acts on one window; without a tray it does nothing.

    Signals:
        staying: The window is about to be hidden.
        quit_asked: The user wants Orbit to end.
    """

    staying = Signal()
    quit_asked = Signal()

    def __init__(
        self,
        frame: FrameServices,
        parts: FrameParts,
        broker: BrokerWatch,
        *,
        is_available: Callable[[], bool] = QSystemTrayIcon.isSystemTrayAvailable,
    ) -> None:
        super().__init__(frame.host)
        self._frame = frame
        self._parts = parts
        self._broker = broker
        broker.lost.connect(self._say_lost)
        broker.written.connect(self.write)
        self.is_available = is_available
        self.icon: QSystemTrayIcon | None = None
        """Made at its first use."""
        self._menu: QMenu | None = None
        self._shown = (State.PLAIN, "")
        self._hidden: list[QWidget] = []

    # ---- staying -------------------------------------------------------------------------------------------------------

    @property
    def is_offered(self) -> bool:
        """Whether the window can stay: there is a tray, and a broker or connection that goes on without a window."""
        return self.is_available() and self._frame.app.store_folder is None

    @property
    def is_wanted(self) -> bool:
        """Whether the user wants the window to stay when it is closed, and it can."""
        return is_on(self._frame.app.settings, STAY_KEY, default=False) and self.is_offered

    @property
    def is_staying(self) -> bool:
        """Whether the window is hidden while Orbit goes on."""
        return bool(self._hidden)

    def want(self, *, stay: bool) -> None:
        """Store the user's wish and show the icon accordingly."""
        self._frame.app.settings.setValue(STAY_KEY, stay)
        self.follow_setting()

    def follow_setting(self) -> None:
        """Show the icon if the user wants the window to stay, else only while it stays."""
        if self.is_wanted:
            self._show_icon()
        elif self.icon is not None and not self.is_staying:
            self.icon.hide()

    def stay_if_wanted(self) -> bool:
        """Hide the window instead of closing it, if the user wants that; returns whether it is hidden."""
        application = QGuiApplication.instance()
        ends = isinstance(application, QGuiApplication) and application.isSavingSession()
        if ends or self._frame.backend() is None or not self.is_wanted:
            return False
        self.stay()
        return True

    def stay(self) -> None:
        """Hide the window and the torn-off ones."""
        host, settings = self._frame.host, self._frame.app.settings
        self._show_icon()
        self.staying.emit()
        self._hidden = [one for one in (*self._parts.navigation.windows, host) if one.isVisible()] or [host]
        for one in self._hidden:
            one.hide()
        if not is_on(settings, TOLD_KEY, default=False):
            settings.setValue(TOLD_KEY, True)
            self.tell(
                self._broker.short_title,
                tr("Orbit goes on in the tray: history and alerts too. Its menu there opens or quits it."),
            )
        self.write()

    def open(self) -> None:
        raise_window(self._frame.host)

    def opened(self) -> None:
        """Show the torn-off windows again, because the window is shown."""
        hidden, self._hidden = self._hidden, []
        for one in hidden:
            if isValid(one):
                one.show()
        self.follow_setting()

    def _say_lost(self) -> None:
        if self.is_staying:
            # The banner cannot be seen.
            self._frame.notify(self._parts.banner.text, state=State.CRITICAL)

    # ---- the icon ------------------------------------------------------------------------------------------------------

    def tell(self, title: str, text: str) -> bool:
        """Show a desktop message by the icon; returns whether that is possible."""
        if not (self.is_available() and QSystemTrayIcon.supportsMessages()):
            return False
        self._show_icon().showMessage(title, text, self._frame.host.windowIcon())
        return True

    def write(self) -> None:
        """Show the state of the cluster as a dot on the icon and as a tool tip."""
        if self.icon is None:
            return
        state, text = self._state(), self._words()
        if (state, text) != self._shown:
            if state is not self._shown[0]:
                self.icon.setIcon(state_icon(self._frame.app.theme.tokens.state(state)))
            self.icon.setToolTip(tip_text(text))
            self._shown = (state, text)

    def _state(self) -> State:
        """The worse of the cluster's state and that of its alert rules."""
        broker, status = self._broker, self._frame.status
        if status is SourceStatus.READY and broker.alerts is not None:
            return min(broker.health, broker.alerts.worst_state, key=_URGENCY.index)
        return State.CRITICAL if status is SourceStatus.LOST else State.IDLE

    def _words(self) -> str:
        alerts = self._broker.alerts
        lines = [self._broker.title, self._parts.status_bar.state_text, *self._fault_lines()]
        firing = 0 if alerts is None else alerts.firing
        if firing:
            lines.append(tr("{count} alerts firing", count=count_text(firing)))
        return "\n".join(lines)

    def _fault_lines(self) -> list[str]:
        """Missing parts of the cluster with times and reasons, and whether figures are late."""
        state = self._frame.state
        if self._frame.status is not SourceStatus.READY or state is None:
            return []
        lines = [f"{tr(part)}: {broker_text(reason)}" for part, reason in state.faults.items()]
        if len(lines) > FAULTS_SHOWN:
            lines[FAULTS_SHOWN - 1 :] = [tr("{count} more reasons", count=len(lines) - FAULTS_SHOWN + 1)]
        if self._broker.is_late:
            lines.append(tr("No figures have come for {time}.", time=duration_text(self._parts.live.age_ms)))
        return lines

    def _show_icon(self) -> QSystemTrayIcon:
        if self.icon is None:
            self.icon = QSystemTrayIcon(QApplication.windowIcon(), self)
            self.icon.messageClicked.connect(self.open)
            self.icon.activated.connect(self._activated)
            self._menu = QMenu(self._frame.host)
            self._frame.app.theme.dress(self._menu)
            self._menu.aboutToShow.connect(self._fill_menu)
            # A desktop that draws the menu itself reads it before it is opened.
            self._fill_menu()
            self.icon.setContextMenu(self._menu)
            self.write()
        self.icon.show()
        return self.icon

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.open()

    def _fill_menu(self) -> None:
        menu, live_feed = self._menu, self._parts.live
        assert menu is not None
        colour, settings = self._frame.app.theme.tokens.text_2, self._frame.app.settings
        menu.clear()
        menu.addAction(menu_name(self._broker.short_title)).setEnabled(False)  # each window has an icon of its own
        menu.addAction(icon("arrow-square-out", colour), tr("Open Orbit")).triggered.connect(self.open)
        menu.addSeparator()
        paused = live_feed.paused
        live = menu.addAction(icon("play" if paused else "pause", colour), tr("Go on") if paused else tr("Pause the figures"))
        live.triggered.connect(live_feed.toggle)
        notifies = menu.addAction(tr("Notify through the desktop"))
        notifies.setCheckable(True)
        notifies.setChecked(is_on(settings, SYSTEM_NOTICES_KEY, default=True))
        notifies.triggered.connect(lambda on: settings.setValue(SYSTEM_NOTICES_KEY, on))
        menu.addSeparator()
        menu.addAction(icon("x", colour), tr("Quit")).triggered.connect(self.quit_asked)


def state_icon(colour: str) -> QIcon:
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

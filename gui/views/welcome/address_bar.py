"""`AddressBar`: the name server address, ready to be copied."""

from __future__ import annotations

import ipaddress

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame

from broker_core.worker.questions.lifecycle import Ready
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import Line, label, row
from gui.widgets.chip import Dot
from gui.widgets.said import on_language, said_button, said_label
from gui.words.plain_text import tip_text
from gui.words.text import tr

COPIED_SHOWN_MS = 1_500
ADDRESS_PIXELS = 17


def reach_text(address: str) -> str:
    """Who can reach a listening address, in words."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        here_only = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        here_only = False
    return tr("this machine only") if here_only else tr("reachable from the network")


class AddressBar(QFrame):
    """Shows the name server address; Copy and Enter copy it."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self.setProperty("role", "bar-strong")
        self._ready: Ready | None = None
        self._dot = Dot(theme, State.HEALTHY)
        self._name = said_label("Name server")
        self._address = label(role="address", selectable=True)
        self._address.setFont(mono_font(ADDRESS_PIXELS))
        self.copy_button = said_button(theme, "copy", "Copy", on_click=self.copy, name="Copy the name server address")
        self._facts = label(role="caption")
        separator = Line(vertical=True, length=22)
        margins = (16, 9, 16, 9)
        self.setLayout(
            row(self._dot, self._name, self._address, self.copy_button, separator, self._facts, spacing=10, margins=margins)
        )
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            enter = QShortcut(QKeySequence(key), self.copy_button, context=Qt.ShortcutContext.WidgetShortcut)
            enter.activated.connect(self.copy)
        self._forget_copied = QTimer(self)
        self._forget_copied.setSingleShot(True)
        self._forget_copied.setInterval(COPIED_SHOWN_MS)
        self._forget_copied.timeout.connect(self._show)
        on_language(self, self._show)

    @property
    def address(self) -> str:
        """The name server address; empty while unknown."""
        return self._ready.name_server if self._ready else ""

    def set_ready(self, ready: Ready | None) -> None:
        """Show the addresses of a ready broker."""
        self._ready = ready
        self._show()

    def set_state(self, state: State) -> None:
        """Colour of the dot."""
        self._dot.set_state(state)

    def take_focus(self) -> None:
        """Focus Copy, visibly."""
        self.copy_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def copy(self) -> None:
        """Copy the address and confirm it for a moment."""
        if not self.address:
            return
        QGuiApplication.clipboard().setText(self.address)
        self.copy_button.setText(tr("Copied"))
        self.copy_button.set_glyph("check", "healthy")
        self._forget_copied.start()

    def _show(self) -> None:
        self._address.setText(self.address)
        self.copy_button.setText(tr("Copy"))
        self.copy_button.set_glyph("copy")
        if self._ready:
            # Of a cluster these are the names and addresses of several.
            names, addresses = self._ready.broker_name.split(", "), self._ready.broker.split(", ")
            ports = (address.rpartition(":")[2] for address in addresses)
            told = ", ".join(f"{name} {port}".strip() for name, port in zip(names, ports, strict=False))
            self._facts.setText(f"{told} · {reach_text(addresses[0])}" if told else "")
            self._facts.setToolTip(tip_text(f"{self._ready.broker}\n{self._ready.store_directory}"))

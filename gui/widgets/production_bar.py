"""The mark of a production cluster: a bar over its windows, and the typed name that confirms a change.

`ConnectionStripe`: the colour of a connection, which distinguishes several windows at a glance.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from gui.widgets.basic import column, label, row
from gui.words.text import tr

_PROPERTY = "productionName"


class ProductionBar(QFrame):
    """A conspicuous line over a window of a production cluster; hidden over all others."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "production")
        self._text = label(role="production")
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setLayout(row(self._text, margins=(16, 4, 16, 4)))
        self._name = ""
        self.hide()

    @property
    def text(self) -> str:
        """Its text; empty while it is hidden."""
        return self._text.text() if self._name else ""

    def set_name(self, name: str, *, read_only: bool) -> None:
        """Mark the window as one of a production cluster; an empty name removes the mark."""
        self._name = name
        self.window().setProperty(_PROPERTY, name)
        kind = tr("read-only") if read_only else tr("changes are real")
        self._text.setText(tr("PRODUCTION · {name} · {kind}", name=name, kind=kind))
        self.setVisible(bool(name))


class ProductionField(QWidget):
    """Asks for the name of a production cluster; hidden, and without fault, in the dialogs of other clusters.

    Signals:
        changed: Another text was typed.
    """

    changed = Signal()

    def __init__(self, asked_for: QWidget | None) -> None:
        super().__init__()
        self.name = production_name(asked_for)
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(self.name)
        text = tr("{name} is a production cluster: type its name to confirm", name=self.name)
        self.typed.setAccessibleName(text)
        self.setLayout(column(label(text, "secondary", wrap=True), self.typed, spacing=6))
        self.typed.textChanged.connect(lambda _text: self.changed.emit())
        if not self.name:
            self.hide()  # never shown from here: without a parent it would be a window

    @property
    def fault(self) -> str:
        """What is still to be typed; empty for nothing."""
        return self.typed.accessibleName() if self.typed.text().strip() != self.name else ""


def production_name(widget: QWidget | None) -> str:
    """Name of the production cluster of a widget's window, also of a dialog over it; empty for none."""
    while widget is not None:
        window = widget.window()
        if name := window.property(_PROPERTY):
            return str(name)
        widget = window.parentWidget()
    return ""


STRIPE_HEIGHT = 3


class ConnectionStripe(QWidget):
    """A thin line; hidden while its connection has no colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(STRIPE_HEIGHT)
        self.colour = ""
        self.hide()

    def set_colour(self, colour: str) -> None:
        """Set a colour as ``#rrggbb``; an invalid one hides the line."""
        self.colour = colour if QColor.isValidColorName(colour) else ""
        self.setVisible(bool(self.colour))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self.colour))
        painter.end()

"""`GoneLine`: says over a pinned tab that its topic, group or message is gone, and closes the tab."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconLabel, label, row
from gui.widgets.said import push_button, said_label


class GoneLine(QFrame):
    """A line between the tabs and the page.

    Signals:
        close_wanted: The tab is to be closed.
    """

    close_wanted = Signal()

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "gone")
        self.words = label(role="strong")
        self.button = push_button("Close the tab", self.close_wanted.emit, role="small")
        why = said_label("The tab is pinned, so it stays until you close it.")
        self.setLayout(row(IconLabel(theme, "info", "text_2", 16), self.words, why, 1, self.button, spacing=10,
                           margins=(16, 6, 16, 6)))  # fmt: skip
        self.hide()

    def say(self, words: str) -> None:
        """Show what is gone; empty words hide the line."""
        self.words.setText(words)
        self.setVisible(bool(words))

"""`EmptyNote`: the words in the middle of a chart that has nothing to draw."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.text import tr


class EmptyNote(QLabel):
    """Lies over a chart and lets the mouse through."""

    def __init__(self, chart: QWidget) -> None:
        super().__init__(chart)
        self.setProperty("role", "caption")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWordWrap(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        over = QVBoxLayout(chart)
        over.addWidget(self)
        self._write()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._write()

    def _write(self) -> None:
        self.setText(tr("No value is known in this time range."))

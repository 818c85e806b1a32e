"""`SessionLine`: whether Spark is ready for the next report, and its memory."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.processes.spark_child import IDLE_S, SparkChild, SparkState
from gui.theme.manager import ThemeManager
from gui.widgets.basic import ElidedLabel, row
from gui.widgets.said import said_button
from gui.words.text import bytes_text, tr


class SessionLine(QWidget):
    """One line, hidden while there is no Spark."""

    def __init__(self, theme: ThemeManager, session: SparkChild | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.words = ElidedLabel(role="secondary")
        self.end_button = said_button(theme, "x", on_click=self._end, tip="End Spark and give its memory back")
        self.setLayout(row((self.words, 1), self.end_button, spacing=4, margins=(12, 0, 12, 0)))
        if session is not None:
            session.changed.connect(self.show_session)
        self.hide()  # the page shows it, when it has its place

    def show_session(self) -> None:
        """Show the state of Spark."""
        session = self._session
        self.setVisible(session is not None and session.state is not SparkState.OFF)
        if session is None:
            return
        self.end_button.setEnabled(session.state is not SparkState.BUSY)
        self.words.setText(_text(session))
        self.words.setToolTip(tr("It ends after {minutes} min without a report.", minutes=IDLE_S // 60))

    def _end(self) -> None:
        if self._session is not None:
            self._session.rest()


def _text(session: SparkChild) -> str:
    memory = bytes_text(session.memory_bytes)
    if session.state is SparkState.READY:
        return tr("Spark is ready, with {memory} of memory", memory=memory)
    if session.state is SparkState.BUSY:
        return tr("Spark is at work, with {memory} of memory", memory=memory)
    return tr("Spark starts in the background…")

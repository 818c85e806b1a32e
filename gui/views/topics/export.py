"""`TopicsExport`: writes settings of topics to a file that can be imported again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from broker_core.api import TopicConfig
from gui.operations.files import write_file
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.widgets.popups import ask_to_save
from gui.widgets.said import said_button
from gui.words.error_words import kept_line
from gui.words.text import count_text, tr
from monitoring.admin.topic_files import topics_csv, topics_json


class TopicsExport(QObject):
    """A button with its dialog."""

    def __init__(self, context: PageContext, topics: Callable[[], list[TopicConfig]], page: QWidget) -> None:
        super().__init__(page)
        self._context = context
        self._topics = topics
        self._page = page
        self.button = said_button(
            context.theme, "arrow-square-out", on_click=self.ask_path, tip="Export the settings of the topics that are listed…"
        )

    def ask_path(self) -> QFileDialog | None:
        """Ask for the file; None where no settings are known."""
        if not self._topics():
            self._context.notify(lambda: tr("No settings of topics are known that could be exported."), state=State.INFO)
            return None
        kinds = ["JSON (*.json)", "CSV (*.csv)"]
        return ask_to_save(self._page, tr("Export settings of topics"), "topics.json", self.write, kinds)

    def write(self, path: Path) -> None:
        """Write the settings off the GUI thread, as CSV where the name says so."""
        topics = self._topics()
        make = topics_csv if path.suffix.lower() == ".csv" else topics_json
        count = count_text(len(topics))
        write_file(self, path, lambda: make(topics), lambda _size: self._written(count, path), self._not_written)

    def _written(self, count: str, path: Path) -> None:
        self._context.notify(lambda: tr("{count} topics are exported to {path}", count=count, path=path), state=State.HEALTHY)

    def _not_written(self, error: Exception) -> None:
        reason = kept_line(error)
        self._context.notify(lambda: tr("The settings were not written: {reason}", reason=reason()), state=State.CRITICAL)

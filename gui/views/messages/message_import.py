"""`MessageImport`: messages of files in the composer, in place of the entered one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from broker_core.api import read_imports
from broker_core.worker.questions.stored_messages import SendMessage
from gui.operations.background import BackgroundCall
from gui.widgets.popups import opened
from gui.words.error_words import error_text
from gui.words.text import bytes_text, count_text, tr

TOPICS_NAMED = 3


class MessageImport(QObject):
    """Reads files on a thread; the latest choice counts. A file that is a body gets the rest from the template.

    Signals:
        changed: `messages`, `fault` or `is_reading` changed.
    """

    changed = Signal()

    def __init__(self, template: Callable[[], SendMessage], parent: QWidget) -> None:
        super().__init__(parent)
        self._template = template
        self._parent = parent
        self._call: BackgroundCall | None = None
        self._names = self._summary = ""
        self.messages: list[SendMessage] = []
        self.fault = ""

    @property
    def is_reading(self) -> bool:
        return self._call is not None

    @property
    def words(self) -> str:
        """The result in a line; empty before a read."""
        return tr("Reading {names}…", names=self._names) if self.is_reading else self._summary

    def _sum_up(self) -> str:
        topics = Counter(message.topic for message in self.messages)
        named = ", ".join(f"{topic} {count_text(count)}" for topic, count in topics.most_common(TOPICS_NAMED))
        if len(topics) > TOPICS_NAMED:
            named += f", … ({count_text(len(topics))})"
        size = bytes_text(sum(len(message.body) for message in self.messages))
        count = count_text(len(self.messages))
        return tr("{count} messages of {names}, {size}, to {topics}", count=count, names=self._names, size=size, topics=named)

    def ask_files(self) -> QFileDialog:
        dialog = QFileDialog(self._parent, tr("Import messages"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([tr("Messages (*.jsonl *.csv *.parquet)"), tr("Each file a body (*)")])
        dialog.filesSelected.connect(lambda names: self.read([Path(name) for name in names]))
        return opened(dialog)

    def read(self, paths: Sequence[Path]) -> None:
        """Read files; earlier messages are dropped."""
        self.messages, self.fault = [], ""
        self._names = ", ".join(path.name for path in paths[:TOPICS_NAMED]) + (", …" if len(paths) > TOPICS_NAMED else "")
        self._summary = ""
        # No child of the dialog, because a read must end in peace if the dialog is closed meanwhile.
        call = self._call = BackgroundCall()
        template = self._template()
        call.done.connect(self._done)
        call.failed.connect(self._failed)
        call.start(lambda: read_imports(paths, template))
        self.changed.emit()

    def forget(self) -> None:
        """Drop the messages, so that the entered one is sent."""
        self._call = None
        self.messages, self.fault, self._summary = [], "", ""
        self.changed.emit()

    def _done(self, found: list[SendMessage]) -> None:
        self._over(found, "")

    def _failed(self, error: Exception) -> None:
        self._over([], error_text(error))

    def _over(self, found: list[SendMessage], fault: str) -> None:
        if self.sender() is self._call:
            self._call = None
            self.messages, self.fault = found, fault
            self._summary = self._sum_up() if found else ""
            self.changed.emit()

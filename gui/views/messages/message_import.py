"""`MessageImport`: messages of files in the composer, in place of the one that is entered there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from broker_core.api import SendMessage, read_imports
from gui.operations.queries import BackgroundCall
from gui.text import bytes_text, count_text, tr

TOPICS_NAMED = 3


class MessageImport(QObject):
    """Reads files on a thread; the latest choice counts.

    Args:
        template: Topic, queue, tag, keys and properties for files that are bodies.
        parent: The composer.

    Signals:
        changed: `messages`, `fault` or `is_reading` are others.
    """

    changed = Signal()

    def __init__(self, template: Callable[[], SendMessage], parent: QWidget) -> None:
        super().__init__(parent)
        self._template = template
        self._parent = parent
        self._call: BackgroundCall | None = None
        self._names = ""
        self.messages: list[SendMessage] = []
        self.fault = ""

    @property
    def is_reading(self) -> bool:
        return self._call is not None

    @property
    def words(self) -> str:
        """What was read, in a line; empty for nothing."""
        if self.is_reading:
            return tr("Reading {names}…", names=self._names)
        if not self.messages:
            return ""
        topics = Counter(message.topic for message in self.messages)
        named = ", ".join(f"{topic} {count_text(count)}" for topic, count in topics.most_common(TOPICS_NAMED))
        if len(topics) > TOPICS_NAMED:
            named += f", … ({count_text(len(topics))})"
        size = bytes_text(sum(len(message.body) for message in self.messages))
        count = count_text(len(self.messages))
        return tr("{count} messages of {names}, {size}, to {topics}", count=count, names=self._names, size=size, topics=named)

    def ask_files(self) -> QFileDialog:
        """Let files be chosen."""
        dialog = QFileDialog(self._parent, tr("Import messages"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([tr("Messages (*.jsonl *.csv *.parquet)"), tr("Each file a body (*)")])
        dialog.filesSelected.connect(lambda names: self.read([Path(name) for name in names]))
        dialog.open()
        return dialog

    def read(self, paths: Sequence[Path]) -> None:
        """Read files in place of what was read before."""
        self.messages, self.fault = [], ""
        self._names = ", ".join(path.name for path in paths[:TOPICS_NAMED]) + (", …" if len(paths) > TOPICS_NAMED else "")
        call = self._call = BackgroundCall(self)
        template = self._template()
        call.done.connect(lambda found: self._over(call, found, ""))
        call.failed.connect(lambda error: self._over(call, [], getattr(error, "message", "") or str(error)))
        call.start(lambda: read_imports(paths, template))
        self.changed.emit()

    def forget(self) -> None:
        """Send what is entered again."""
        self._call = None
        self.messages, self.fault = [], ""
        self.changed.emit()

    def _over(self, call: BackgroundCall, found: list[SendMessage], fault: str) -> None:
        call.deleteLater()
        if self._call is call:
            self._call = None
            self.messages, self.fault = found, fault
            self.changed.emit()

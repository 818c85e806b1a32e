"""`QueryField`: SQL of several lines, and the queries that were kept."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QComboBox, QInputDialog, QPlainTextEdit, QVBoxLayout, QWidget

from gui.operations.queries import BackgroundCall
from gui.theme.fonts import mono_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.widgets.basic import IconButton, label, row
from gui.words.error_words import error_text
from gui.words.text import tr
from spark_reports import saved_queries

LINES_SHOWN = 7
EXAMPLE = "SELECT topic, count(*) AS messages\nFROM messages GROUP BY topic"


class QueryField(QWidget):
    """An editor with a list of saved queries. Files are read and written on another thread.

    Signals:
        textChanged: The query is another; carries it without blanks around it.
    """

    textChanged = Signal(str)

    def __init__(self, theme: ThemeManager, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.editor = QPlainTextEdit(text)
        self.editor.setFont(mono_font(Size.SECONDARY))
        self.editor.setProperty("role", "filter")  # with the frame of a field; else it is a part that scrolls
        self.editor.setPlaceholderText(EXAMPLE)
        self.editor.setAccessibleName("SQL")
        self.editor.setTabChangesFocus(True)
        self.editor.setFixedHeight(LINES_SHOWN * QFontMetrics(self.editor.font()).lineSpacing() + 16)
        self.saved = QComboBox()
        self.saved.setAccessibleName(tr("Saved queries"))
        self.save_button = IconButton(theme, "plus", tip=tr("Save query…"), on_click=self.ask_name)
        self.remove_button = IconButton(theme, "x", tip=tr("Remove saved query"), on_click=self._remove)
        self.remark = label(role="caption", wrap=True)
        self.remark.hide()
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(6)
        chosen = row(self.saved, self.save_button, self.remove_button, spacing=4)
        chosen.setStretch(0, 1)
        lines.addLayout(chosen)
        lines.addWidget(self.editor)
        lines.addWidget(self.remark)
        self._listing = self._call(self._listed)
        self._loading = self._call(self._loaded)
        self._changing = self._call(self._list)
        self.editor.textChanged.connect(self._edited)
        self.saved.activated.connect(self._chosen)
        self._list()

    def text(self) -> str:
        """The query, without blanks around it."""
        return self.editor.toPlainText().strip()

    def setText(self, text: str) -> None:
        """Show another query."""
        self.editor.setPlainText(text)

    def ask_name(self) -> None:
        """Ask for a name and keep the query under it."""
        dialog = QInputDialog(self)
        dialog.setWindowTitle(tr("Save query…"))
        dialog.setLabelText(tr("Name: letters, digits, spaces, - and _"))
        dialog.setTextValue(str(self.saved.currentData() or ""))
        dialog.textValueSelected.connect(self.save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def save(self, name: str) -> None:
        """Keep the query; an earlier one of that name is replaced."""
        query = self.text()
        if query:
            self._changing.start(lambda: _saved(name.strip(), query))

    def _call(self, done: Callable[..., None]) -> BackgroundCall:
        made = BackgroundCall(self)
        made.done.connect(done)
        made.failed.connect(lambda error: self._say(error_text(error)))
        return made

    def _say(self, text: str) -> None:
        self.remark.setText(text)
        self.remark.setVisible(bool(text))

    def _edited(self) -> None:
        self.textChanged.emit(self.text())

    def _list(self, wanted: object = None) -> None:
        self._listing.start(lambda: (saved_queries.names(), wanted))

    def _listed(self, answer: tuple[list[str], object]) -> None:
        names, wanted = answer
        self._say("")
        with QSignalBlocker(self.saved):
            self.saved.clear()
            self.saved.addItem(tr("Saved queries") if names else tr("No saved queries"), "")
            for name in names:
                self.saved.addItem(name, name)
            self.saved.setCurrentIndex(max(0, self.saved.findData(wanted)))
        self.remove_button.setEnabled(bool(self.saved.currentData()))

    def _chosen(self) -> None:
        name = str(self.saved.currentData() or "")
        self.remove_button.setEnabled(bool(name))
        if name:
            self._loading.start(lambda: saved_queries.load(name))

    def _loaded(self, query: str) -> None:
        self._say("")
        self.editor.setPlainText(query)

    def _remove(self) -> None:
        name = str(self.saved.currentData() or "")
        if name:
            self._changing.start(lambda: saved_queries.remove(name))


def _saved(name: str, query: str) -> str:
    saved_queries.save(name, query)
    return name

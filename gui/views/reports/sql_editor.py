"""`SqlEditor`: a query over the whole page, beside the tables and columns that it can name."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QCompleter, QSplitter, QTreeWidget, QTreeWidgetItem, QWidget

from gui.theme.fonts import mono_font
from gui.theme.tokens import Size
from gui.views.reports.own_fields import EXAMPLE
from gui.widgets.basic import column, row
from gui.widgets.long_text import LongTextEdit
from gui.widgets.panel import Panel
from gui.widgets.said import said, said_label
from spark_reports.sql_tables import SQL_TABLES, SQL_WORDS

TABLES_WIDTH = 220
WORD_MIN = 1
"""Letters before Ctrl+Space completes; without any it lists all words."""


class SqlEditor(QWidget):
    """Editor and catalogue. Ctrl+Space completes, Ctrl+Enter runs, a double click on a name inserts it.

    Signals:
        edited: The query was changed here; carries it.
        run_wanted: Ctrl+Enter.
    """

    edited = Signal(str)
    run_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tables = said(QTreeWidget(), name="Tables and columns")
        self.tables.setHeaderHidden(True)
        for table, columns in SQL_TABLES.items():
            item = QTreeWidgetItem(self.tables, [table])
            for name in columns:
                QTreeWidgetItem(item, [name])
            item.setExpanded(table == "messages")
        self.editor = LongTextEdit(editable=True)
        self.editor.setFont(mono_font(Size.BODY))
        self.editor.setProperty("role", "filter")
        self.editor.setPlaceholderText(EXAMPLE)
        self.editor.setAccessibleName("SQL")
        self.editor.installEventFilter(self)
        names = dict.fromkeys([*SQL_TABLES, *(name for columns in SQL_TABLES.values() for name in columns), *SQL_WORDS])
        self.completer = QCompleter(sorted(names, key=str.casefold), self)
        self.completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.completer.setWidget(self.editor)
        self.completer.activated.connect(self.complete)
        self._build()
        self.tables.itemDoubleClicked.connect(lambda item, _column: self.insert(item.text(0)))
        self.editor.textChanged.connect(lambda: self.edited.emit(self.text))

    def _build(self) -> None:
        left, right = said(Panel(" ", flush=True), title="Tables"), said(Panel(" "), title="SQL")
        left.content.addWidget(self.tables)
        right.content.addWidget(self.editor, 1)
        keys = said_label("Ctrl+Enter: run · Ctrl+Space: complete · double click on a name: insert it", "caption")
        right.content.addLayout(row(keys, 1))
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(right)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(Size.GAP)
        split.setStretchFactor(1, 1)
        split.setSizes([TABLES_WIDTH, 600])
        self.setLayout(column(split, spacing=0))

    @property
    def text(self) -> str:
        """The query, without surrounding blanks."""
        return self.editor.toPlainText().strip()

    def show_text(self, text: str) -> None:
        """Show the query of the form, unless it is shown already."""
        if text != self.text:
            with QSignalBlocker(self.editor):
                self.editor.setPlainText(text)

    def insert(self, name: str) -> None:
        """Insert a name at the cursor."""
        self.editor.insertPlainText(name)
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def complete(self, word: str) -> None:
        """Replace the word before the cursor."""
        cursor = self._word_before()
        cursor.insertText(word)

    def offer_words(self) -> None:
        """List what may follow the letters before the cursor."""
        self.completer.setCompletionPrefix(self._word_before().selectedText())
        box = self.editor.cursorRect()
        box.setWidth(260)
        self.completer.complete(box)

    def _word_before(self) -> QTextCursor:
        cursor = self.editor.textCursor()
        cursor.clearSelection()
        while cursor.positionInBlock() and _is_letter(self.editor.document().characterAt(cursor.position() - 1)):
            cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.editor and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            with_control = event.modifiers() == Qt.KeyboardModifier.ControlModifier
            popup = self.completer.popup()
            if with_control and event.key() == Qt.Key.Key_Space:
                self.offer_words()
                return True
            if with_control and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.run_wanted.emit()
                return True
            if popup is not None and popup.isVisible() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
                event.ignore()
                return True
        return super().eventFilter(watched, event)


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"

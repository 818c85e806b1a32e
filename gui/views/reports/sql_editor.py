"""`SqlEditor`: queries over the whole page, beside the tables and columns that they can name, above those that were run."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QCompleter, QSplitter, QTreeWidget, QTreeWidgetItem, QWidget

from gui.operations.query_memory import QueryMemory
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size
from gui.views.reports.query_history import QueryHistoryPanel
from gui.views.reports.query_tabs import QueryTabs
from gui.widgets.basic import column, row
from gui.widgets.long_text import LongTextEdit
from gui.widgets.panel import Panel
from gui.widgets.said import said, said_label
from gui.words.text import TimeZoneChoice
from spark_reports.sql_tables import SQL_TABLES, SQL_WORDS

TABLES_WIDTH = 220
HEIGHTS = (420, 220)
"""Of the query and of the history, px."""


class SqlEditor(QWidget):
    """Tabs with queries, catalogue and history. Ctrl+Space completes, Ctrl+Enter runs, a double click on a name inserts it.

    Signals:
        edited: The query in front is another; carries it.
        run_wanted: Ctrl+Enter.
        full: A query found no tab, because there are too many.
    """

    edited = Signal(str)
    run_wanted = Signal()
    full = Signal()

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, memory: QueryMemory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tables = said(QTreeWidget(), name="Tables and columns")
        self.tables.setHeaderHidden(True)
        for table, columns in SQL_TABLES.items():
            item = QTreeWidgetItem(self.tables, [table])
            for name in columns:
                QTreeWidgetItem(item, [name])
            item.setExpanded(table == "messages")
        names = dict.fromkeys([*SQL_TABLES, *(name for columns in SQL_TABLES.values() for name in columns), *SQL_WORDS])
        self.completer = QCompleter(sorted(names, key=str.casefold), self)
        self.completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.completer.activated.connect(self.complete)
        self.tabs = QueryTabs(theme, memory)
        self.tabs.made.connect(lambda editor: editor.installEventFilter(self))
        self.history = QueryHistoryPanel(theme, times, memory)
        self._build()
        self.tables.itemDoubleClicked.connect(lambda item, _column: self.insert(item.text(0)))
        self.tabs.edited.connect(self.edited)
        self.tabs.full.connect(self.full)
        self.history.wanted.connect(lambda run: self.tabs.take(run.text))
        self.tabs.load()

    def _build(self) -> None:
        left, right = said(Panel(" ", flush=True), title="Tables"), Panel()
        left.content.addWidget(self.tables)
        right.content.setContentsMargins(12, 8, 12, 8)
        right.content.addWidget(self.tabs, 1)
        keys = said_label("Ctrl+Enter: run · Ctrl+Space: complete · double click on a name: insert it", "caption")
        right.content.addLayout(row(keys, 1))
        queries = _split(Qt.Orientation.Vertical, right, self.history, HEIGHTS)
        split = _split(Qt.Orientation.Horizontal, left, queries, (TABLES_WIDTH, 600))
        self.setLayout(column(split, spacing=0))

    @property
    def editor(self) -> LongTextEdit:
        return self.tabs.editor

    @property
    def text(self) -> str:
        """The query in front, without surrounding blanks."""
        return self.tabs.text

    def show_text(self, text: str) -> None:
        """Show the query of the form in the tab in front, unless it is shown already."""
        self.tabs.replace_text(text)

    def insert(self, name: str) -> None:
        self.editor.insertPlainText(name)
        self.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def complete(self, word: str) -> None:
        """Replace the word before the cursor."""
        cursor = self._word_before()
        cursor.insertText(word)

    def offer_words(self) -> None:
        """List what may follow the letters before the cursor."""
        self.completer.setWidget(self.editor)
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
        if isinstance(watched, LongTextEdit) and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
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


def _split(direction: Qt.Orientation, first: QWidget, second: QWidget, sizes: tuple[int, int]) -> QSplitter:
    made = QSplitter(direction)
    for part in (first, second):
        made.addWidget(part)
    made.setChildrenCollapsible(False)
    made.setHandleWidth(Size.GAP)
    made.setStretchFactor(1 if direction is Qt.Orientation.Horizontal else 0, 1)
    made.setSizes(list(sizes))
    return made

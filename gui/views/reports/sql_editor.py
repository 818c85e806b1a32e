"""`SqlEditor`: tabs with queries, beside the tables and columns that they can name; `QueryHistoryPanel`: past queries."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QCompleter, QMenu, QTreeWidget, QTreeWidgetItem, QWidget

from gui.models.queries import QueryRun
from gui.models.reports import RunState
from gui.models.row_filter import with_words
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.operations.query_memory import QueryMemory
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.reports.columns import minute_text
from gui.views.reports.query_tabs import QueryTabs
from gui.widgets.basic import column, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.long_text import LongTextEdit
from gui.widgets.pane_splitter import splitter
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu
from gui.widgets.said import on_language, said, said_label
from gui.words.text import TimeZoneChoice, count_text, duration_text, tr
from spark_reports.sql_tables import SQL_TABLES, SQL_WORDS

SEARCH_WIDTH = 200


def query_columns(times: TimeZoneChoice) -> list[Column[QueryRun]]:
    return [
        Column("query", "Query", lambda run: run.line, kind=CellKind.CODE, tip=lambda run: run.text, wants=200),
        Column("result", "Result", lambda run: run.outcome, sort=lambda run: run.rows, state=_state, width=100,
               tip=lambda run: run.reason, right=True),
        number_column("took", "Took", lambda run: run.took_ms, duration_text, width=64),
        Column("ended", "Run", lambda run: minute_text(run.ended_ms, times), sort=lambda run: run.ended_ms, dim=True, width=92,
               whole=True, tip=lambda run: times.full(run.ended_ms)),
    ]  # fmt: skip


def _state(run: QueryRun) -> State | None:
    return State.CRITICAL if run.state is RunState.FAILED else None


class QueryHistoryPanel(Panel):
    """The queries that were run, the newest first, with a search.

    Signals:
        wanted: A query is to be put into a tab; carries its `QueryRun`.
    """

    wanted = Signal(object)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, memory: QueryMemory) -> None:
        super().__init__(" ", flush=True)
        self._memory = memory
        self.model = ColumnTableModel(query_columns(times), lambda run: (run.ended_ms, run.text), parent=self)
        self.grid = said(DataGrid(self.model, theme), empty="No query has been run here yet.")
        self.search = said(SearchField(theme, " "), hint="Search the history")
        self.search.setFixedWidth(SEARCH_WIDTH)
        self.add_action(self.search)
        self.content.addWidget(self.grid)
        self.search.searched.connect(self._search)
        self.grid.view.clicked.connect(self._clicked)
        self.grid.activated.connect(self.wanted)
        self.grid.menu_asked.connect(self.open_menu)
        times.changed.connect(self.model.all_texts_changed)
        on_language(self, self._write_title)
        self.refresh()

    def refresh(self) -> None:
        self.model.set_rows({(run.ended_ms, run.text): run for run in self._memory.runs}.values())
        self._write_title()

    def open_menu(self, run: QueryRun, at: QPoint) -> QMenu:
        menu = new_menu(self)
        menu.addAction(tr("Open in a tab"), lambda: self.wanted.emit(run))
        menu.addAction(tr("Copy the query"), lambda: QGuiApplication.clipboard().setText(run.text))
        menu.addSeparator()
        menu.addAction(tr("Forget this run"), lambda: self._forget(run))
        menu.addAction(tr("Forget all runs"), self._forget_all)
        menu.popup(at)
        return menu

    def _clicked(self) -> None:
        run = self.grid.selected_row
        if run is not None:
            self.wanted.emit(run)

    def _search(self, words: str) -> None:
        self.model.set_filter(with_words(words, lambda run: run.searched_text))
        self.grid.set_empty((lambda: tr("No query of the history has these words.")) if words.strip() else
                            (lambda: tr("No query has been run here yet.")))  # fmt: skip

    def _forget(self, run: QueryRun) -> None:
        self._memory.forget_run(run)
        self.refresh()

    def _forget_all(self) -> None:
        self._memory.forget_runs()
        self.refresh()

    def _write_title(self) -> None:
        count = len(self.model.rows)
        self.set_title(
            tr("Queries that were run"), tr("{count} runs, the newest first", count=count_text(count)) if count else ""
        )


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

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, memory: QueryMemory) -> None:
        super().__init__()
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
        queries = splitter(Qt.Orientation.Vertical, (right, HEIGHTS[0], 1), (self.history, HEIGHTS[1], 0))
        split = splitter(Qt.Orientation.Horizontal, (left, TABLES_WIDTH, 0), (queries, 600, 1))
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

"""`QueryHistoryPanel`: the queries that were run, newest first; a click puts one back into a tab."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from gui.models.queries import QueryRun
from gui.models.reports import RunState
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.operations.query_memory import QueryMemory
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.reports.columns import minute_text
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu
from gui.widgets.said import on_language, said
from gui.words.text import TimeZoneChoice, count_text, duration_text, tr

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
    """See the module.

    Signals:
        wanted: A query is to be put into a tab; carries its `QueryRun`.
    """

    wanted = Signal(object)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, memory: QueryMemory, parent: QWidget | None = None) -> None:
        super().__init__(" ", flush=True, parent=parent)
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
        """Read the history again."""
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
        self.model.set_filter((lambda run: run.has(words)) if words.strip() else None)
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

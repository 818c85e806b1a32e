"""`HistoryPanel`: the results of earlier runs, with actions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QMessageBox, QSizePolicy

from gui.models.reports import PastRun
from gui.models.table import ColumnTableModel
from gui.operations.background import BackgroundCall
from gui.operations.reports import delete_run, read_history
from gui.theme.manager import ThemeManager
from gui.views.reports.columns import run_columns
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.popups import ask_loss, new_menu
from gui.widgets.said import on_language, said
from gui.words.error_words import error_line, error_text
from gui.words.text import TimeZoneChoice, shown_language, tr

HEIGHT_MIN = 180


class HistoryPanel(Panel):
    """Results of a folder, newest first.

    Signals:
        was_read: The list was read; carries the list of `PastRun`.
        shown: Show a result; carries its `PastRun`.
        page_wanted, folder_wanted: Open its page, its folder, with the desktop; carry the same.
        compare_wanted: Show it beside the one before; carries the same.
        again_wanted: Run the same again; carries the same.
        failed: A result was not deleted; carries the reason (str).
    """

    was_read = Signal(object)
    shown = Signal(object)
    page_wanted = Signal(object)
    folder_wanted = Signal(object)
    compare_wanted = Signal(object)
    again_wanted = Signal(object)
    failed = Signal(str)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, folder: Path) -> None:
        super().__init__(" ", flush=True)
        self._folder = folder
        self._wanted: Path | None = None
        self._reading = BackgroundCall(self)
        self._deleting = BackgroundCall(self)
        self.model = ColumnTableModel(run_columns(times), lambda run: run.folder.name, parent=self)
        self.grid = said(DataGrid(self.model, theme), empty="No report has been run here yet.")
        self.content.addWidget(self.grid)
        self.setMinimumHeight(HEIGHT_MIN)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.grid.view.clicked.connect(self._clicked)
        self.grid.activated.connect(self.page_wanted)
        self.grid.menu_asked.connect(self.open_menu)
        self._reading.done.connect(self._was_read)
        self._reading.failed.connect(self._not_read)
        self._deleting.done.connect(lambda _run: self.refresh())
        self._deleting.failed.connect(self._not_deleted)
        times.changed.connect(self.model.all_texts_changed)
        on_language(self, self._write_title)

    def refresh(self, wanted: Path | None = None) -> None:
        """Read the folder again, and select the result ``wanted``."""
        self._wanted = wanted or self._wanted
        folder = self._folder
        self.grid.set_loading(True)
        chinese = shown_language() == "zh"
        self._reading.start(lambda: read_history(folder, prepare_words=chinese))

    def previous(self, run: PastRun) -> PastRun | None:
        """The result of the same report before this one."""
        earlier = [one for one in self.model.rows if one.report == run.report and one.created_ms < run.created_ms]
        return max(earlier, key=lambda one: one.created_ms, default=None)

    def _write_title(self) -> None:
        self.set_title(tr("History"), str(self._folder))

    def open_menu(self, run: PastRun, at: QPoint) -> None:
        self.menu_of(run).popup(at)

    def menu_of(self, run: PastRun) -> QMenu:
        menu = new_menu(self)
        menu.addAction(tr("Show result"), lambda: self.shown.emit(run))
        compare = menu.addAction(tr("Compare with the previous"), lambda: self.compare_wanted.emit(run))
        compare.setEnabled(self.previous(run) is not None)
        menu.addAction(tr("Run again"), lambda: self.again_wanted.emit(run))
        menu.addSeparator()
        menu.addAction(tr("Open page"), lambda: self.page_wanted.emit(run))
        menu.addAction(tr("Open folder"), lambda: self.folder_wanted.emit(run))
        menu.addAction(tr("Copy path"), lambda: QGuiApplication.clipboard().setText(str(run.folder)))
        menu.addSeparator()
        menu.addAction(tr("Delete…"), lambda: self.ask_delete(run))
        return menu

    def ask_delete(self, run: PastRun) -> QMessageBox:
        """Ask before a result is deleted."""
        text = tr("Delete this result of “{title}”?", title=tr(run.title))
        detail = tr("{folder} and all files in it are removed. Stored messages stay.", folder=run.folder)
        return ask_loss(self, text, detail, tr("Delete"), lambda: self._deleting.start(lambda: delete_run(run)))

    def _clicked(self) -> None:
        run = self.grid.selected_row
        if run is not None:
            self.shown.emit(run)

    def _was_read(self, runs: list[PastRun]) -> None:
        self.grid.set_loading(False)
        self.grid.set_error("")
        self.model.set_rows(runs)
        wanted, self._wanted = self._wanted, None
        if wanted is None or not self.grid.select_key(wanted.name):
            self.grid.select_first()
        self.was_read.emit(runs)

    def _not_read(self, error: Exception) -> None:
        self.grid.set_loading(False)
        said = partial(error_text, error)
        self.grid.set_error(lambda: tr("Earlier results were not read."), said, lambda: tr("Retry"), self.refresh)

    def _not_deleted(self, error: Exception) -> None:
        self.failed.emit(tr("The result was not deleted: {reason}", reason=error_line(error)))
        self.refresh()

"""The Reports page: choose a report, run it with progress and cancel, read and open what it found."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QMenu, QScrollArea, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from gui.models.reports import PastRun, ReportOrder, ResultTable, Run, RunState
from gui.models.table import ColumnTableModel
from gui.operations.queries import BackgroundCall
from gui.operations.reports import open_in_desktop, read_history, read_table
from gui.text import age_text, count_text, tr
from gui.theme.tokens import Size, State
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.reports.catalog_panel import CatalogPanel
from gui.views.reports.columns import run_columns
from gui.views.reports.form_panel import FormPanel
from gui.views.reports.result_panel import ResultPanel
from gui.views.reports.run_panel import RunPanel
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.panel import Panel
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState
from spark_reports.catalog import ReportSpec, reports

SIDE_WIDTH = 392
SEARCH_WIDTH = 180
HISTORY_HEIGHT_MIN = 140
CATALOG_HEIGHT = 250


class ReportsView(PageView):
    """Catalogue and result on the left; form, run and history on the right."""

    page_id = "reports"
    title = "Reports"
    icon = "chart-bar"

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme, self._runner = context.theme, context.reports
        self._spec = reports()[0]
        self._wanted_folder: Path | None = None
        self._history_call = BackgroundCall(self)
        self._table_call = BackgroundCall(self)
        self.search = SearchField(theme, " ")
        self.search.setFixedWidth(SEARCH_WIDTH)
        self.header.add_action(self.search)
        self.catalog = CatalogPanel(theme, reports())
        self.result = ResultPanel(theme, context.times)
        self.form = FormPanel(theme, self._runner)
        self.run_panel = RunPanel(theme)
        self.history: ColumnTableModel[PastRun] = ColumnTableModel(
            run_columns(context.times), lambda run: run.folder.name, parent=self
        )
        self.history_grid = DataGrid(self.history, theme)
        self.history_panel = Panel(" ", flush=True)
        self._build()
        self._connect()
        self.retranslate()
        self.choose(self._spec)
        self._show_run()
        self.refresh()
        self._runner.prepare()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        name = arguments.get("report")
        for spec in reports():
            if spec.name == name:
                self.choose(spec)
        if arguments.get("run"):
            self._show_store()
            self.form.run()

    def state_changed(self, state: ClusterState) -> None:  # noqa: ARG002  the frame's signature
        self._show_store()
        if self._runner.is_running:
            self._show_run()

    def status_changed(self, status: SourceStatus) -> None:  # noqa: ARG002  the frame's signature
        self._show_store()

    def refresh(self) -> None:
        folder = self._runner.folder
        self.history_grid.set_loading(True)
        self._history_call.start(lambda: read_history(folder))

    def focus_filter(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def retranslate(self) -> None:
        self.header.set_facts(tr("{count} ready over stored messages", count=count_text(len(reports()))))
        self.search.setPlaceholderText(tr("Filter reports"))
        self.search.setAccessibleName(tr("Filter reports"))
        self.history_panel.set_title(tr("History"), str(self._runner.folder))
        self.history_grid.set_empty(tr("No report has been run here yet."))
        self.history.all_texts_changed()
        for part in (self.catalog, self.result, self.form):
            part.retranslate()
        self._show_run()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def choose(self, spec: ReportSpec) -> None:
        """Choose a report of the catalogue."""
        self._spec = spec
        card = self.catalog.show_chosen(spec.name)
        if card is not None:
            self._shelf.ensureWidgetVisible(card)
        self.form.show_report(spec)

    def run(self, order: ReportOrder) -> None:
        """Run a report unless one runs."""
        if not self._runner.is_running:
            self._runner.start(order)

    def open_page(self, run: PastRun) -> None:
        """Open the page of a result in the browser."""
        self._open(run.page_path)

    def open_folder(self, run: PastRun) -> None:
        """Open the folder of a result."""
        self._open(run.folder)

    def _open(self, path: Path) -> None:
        if not open_in_desktop(path):
            QGuiApplication.clipboard().setText(str(path))
            self.context.notify(tr("No program opens it here. The path is copied: {path}", path=path), state=State.WARNING)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        shelf = QScrollArea()
        shelf.setWidget(self.catalog)
        shelf.setWidgetResizable(True)
        shelf.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._shelf = shelf
        left = QSplitter(Qt.Orientation.Vertical)
        left.setChildrenCollapsible(False)
        left.addWidget(shelf)
        left.addWidget(self.result)
        left.setStretchFactor(1, 1)
        left.setSizes([CATALOG_HEIGHT, 2 * CATALOG_HEIGHT])
        self.history_panel.content.addWidget(self.history_grid)
        self.history_panel.setMinimumHeight(HISTORY_HEIGHT_MIN)
        self.history_panel.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        side = QWidget()
        right = QVBoxLayout(side)
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(Size.GAP)
        right.addWidget(self.form)
        right.addWidget(self.run_panel)
        right.addWidget(self.history_panel, 1)
        scroll = QScrollArea()
        scroll.setWidget(side)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFixedWidth(SIDE_WIDTH)
        columns = QHBoxLayout()
        columns.setSpacing(Size.GAP)
        columns.addWidget(left, 1)
        columns.addWidget(scroll)
        self.content.addLayout(columns, 1)

    def _connect(self) -> None:
        self.search.searched.connect(lambda text: self.catalog.show_filter(text.casefold().split()))
        self.catalog.chosen.connect(self.choose)
        self.form.run_wanted.connect(self.run)
        self.run_panel.cancel_wanted.connect(self._runner.cancel)
        self.run_panel.again_wanted.connect(self._run_again)
        self.result.page_wanted.connect(self.open_page)
        self.result.folder_wanted.connect(self.open_folder)
        self.history_grid.selected.connect(self._past_selected)
        self.history_grid.activated.connect(self.open_page)
        self.history_grid.menu_asked.connect(self._open_menu)
        self._runner.changed.connect(self._show_run)
        self._runner.ended.connect(self._run_ended)
        self._history_call.done.connect(self._history_read)
        self._history_call.failed.connect(self._history_failed)
        self._table_call.done.connect(self._table_read)
        self._table_call.failed.connect(self._table_failed)
        self.context.times.changed.connect(self._zone_changed)

    # ---- the run -------------------------------------------------------------------------------------------------------

    def _show_store(self) -> None:
        ready = self.context.source.ready
        self.form.show_broker_store(ready.store_directory if ready is not None else "")

    def _show_run(self) -> None:
        run = self._runner.run
        self.run_panel.setVisible(run is not None)
        if run is not None:
            self.run_panel.show_run(run, self._runner.now_ms())

    def _run_again(self) -> None:
        run = self._runner.run
        if run is not None:
            self.run(self._runner.order(run.order.spec, run.order.store_directory, run.order.parameters))

    def _run_ended(self, run: Run) -> None:
        title = tr(run.order.spec.title)
        if run.state in (RunState.COMPLETE, RunState.PARTIAL):
            self._wanted_folder = Path(run.order.out_directory)
            words = tr("{title}: {count} messages read", title=title, count=count_text(run.rows))
            self.context.notify(words, state=State.HEALTHY, action=tr("Show"), on_action=self._show_page)
            self.refresh()
        elif run.state is RunState.FAILED:
            self.context.notify(tr("{title} was not made: {reason}", title=title, reason=run.error), state=State.CRITICAL)

    def _show_page(self) -> None:
        self.context.navigate("reports")

    # ---- history and result --------------------------------------------------------------------------------------------

    def _history_read(self, runs: list[PastRun]) -> None:
        self.history_grid.set_loading(False)
        self.history_grid.set_error("")
        self.history.set_rows(runs)
        wanted, self._wanted_folder = self._wanted_folder, None
        if wanted is None or not self.history_grid.select_key(wanted.name):
            self.history_grid.select_first()
        self._show_last(runs)

    def _show_last(self, runs: list[PastRun]) -> None:
        state = self.context.source.state
        for spec in reports():
            last = next((run for run in runs if run.report == spec.name), None)
            if last is not None and state is not None:
                self.catalog.show_last(spec.name, tr("{age} ago", age=age_text(last.created_ms, state.taken_ms)))

    def _history_failed(self, error: Exception) -> None:
        self.history_grid.set_loading(False)
        self.history_grid.set_error(tr("Earlier results were not read."), str(error), tr("Retry"), self.refresh)

    def _past_selected(self, run: PastRun | None) -> None:
        if run is None:
            return
        self.result.show_run(run)
        if run.tables:
            title, file_name = run.tables[0]
            self._table_call.start(lambda: (run.folder, read_table(run, title, file_name)))

    def _table_read(self, answer: tuple[Path, ResultTable]) -> None:
        folder, table = answer
        if self.result.run is not None and self.result.run.folder == folder:
            self.result.show_table(table)

    def _table_failed(self, error: Exception) -> None:
        self.result.show_table_error(tr("The table was not read: {reason}", reason=error))

    def _open_menu(self, run: PastRun, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Open page"), lambda: self.open_page(run))
        menu.addAction(tr("Open folder"), lambda: self.open_folder(run))
        menu.addAction(tr("Copy path"), lambda: QGuiApplication.clipboard().setText(str(run.folder)))
        menu.popup(at)

    def _zone_changed(self) -> None:
        self.history.all_texts_changed()
        self.result.retranslate()

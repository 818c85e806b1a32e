"""The Reports page: choose a report, run it with progress and cancel, read its result."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from gui.event_loop.turns import next_turn
from gui.models.queries import SQL_QUERY, SQL_REPORT
from gui.models.reports import PastRun, ReportOrder, ResultChart, ResultTable, RunState, StartedRun
from gui.operations.background import BackgroundCall
from gui.operations.query_memory import TABS_MAX, QueryMemory
from gui.operations.reports import open_in_desktop, read_charts, read_table
from gui.processes.spark_child import IDLE_S, SparkChild, SparkState
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.reports.catalog_panel import CatalogPanel
from gui.views.reports.form_panel import FormPanel
from gui.views.reports.history_panel import HistoryPanel
from gui.views.reports.own_fields import QueryField
from gui.views.reports.result_panel import ResultPanel
from gui.views.reports.run_panel import RunPanel
from gui.views.reports.sql_editor import SqlEditor
from gui.widgets.basic import ElidedLabel, column, row
from gui.widgets.containers import LaterPart, LazyTab, ScrolledColumn, ScrolledPart
from gui.widgets.inputs import SearchField
from gui.widgets.said import on_language, said, said_button, segments
from gui.words.error_words import kept_line
from gui.words.plain_text import tip_text
from gui.words.text import age_text, bytes_text, count_text, tr
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState
from spark_reports.catalog import ReportSpec, reports

SIDE_WIDTH, BAR_ROOM = 396, 10
"""Width of the right column, and of its scroll bar."""
SHELF_WIDTH_MIN = 540
"""Width at which titles of cards stay readable; where there is less, the page is scrolled."""
SEARCH_WIDTH = 180
CATALOG, EDITOR, RESULT = "catalogue", "sql", "result"
_PLACES = {CATALOG: 0, RESULT: 1, EDITOR: 2}
"""Of the parts on the left."""


class SessionLine(QWidget):
    """The state of Spark between reports, with a button that ends it; hidden while there is no Spark."""

    def __init__(self, theme: ThemeManager, session: SparkChild | None) -> None:
        super().__init__()
        self._session = session
        self.words = ElidedLabel(role="secondary")
        self.end_button = said_button(theme, "x", on_click=self._end, tip="End Spark and give its memory back")
        self.setLayout(row((self.words, 1), self.end_button, spacing=4, margins=(12, 0, 12, 0)))
        if session is not None:
            session.changed.connect(self.show_session)
        self.hide()  # the page shows it after adding it to a layout

    def show_session(self) -> None:
        session = self._session
        self.setVisible(session is not None and session.state is not SparkState.OFF)
        if session is None:
            return
        self.end_button.setEnabled(session.state is not SparkState.BUSY)
        self.words.setText(_session_text(session))
        self.words.setToolTip(tip_text(tr("It ends after {minutes} min without a report.", minutes=IDLE_S // 60)))

    def _end(self) -> None:
        if self._session is not None:
            self._session.rest()


def _session_text(session: SparkChild) -> str:
    memory = bytes_text(session.memory_bytes)
    if session.state is SparkState.READY:
        return tr("Spark is ready, with {memory} of memory", memory=memory)
    if session.state is SparkState.BUSY:
        return tr("Spark is at work, with {memory} of memory", memory=memory)
    return tr("Spark starts in the background…")


class ReportsView(PageView):
    """Catalogue or result on the left; form, run and history on the right."""

    page_id = "reports"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme, self._runner = context.theme, context.reports
        self._spec = reports()[0]
        self._table_call = BackgroundCall(self)
        self._charts_call = BackgroundCall(self)
        self.parts = segments({CATALOG: "Catalogue", EDITOR: "SQL", RESULT: "Result"})
        self.header.add_action(self.parts)
        self.search = said(SearchField(theme, " "), hint="Filter reports")
        self.search.setFixedWidth(SEARCH_WIDTH)
        self.header.add_action(self.search)
        self.catalog = LaterPart(self._make_catalog, fill=self._fill_catalog)
        self._past: list[PastRun] = []
        self._first_of: ReportOrder | None = None
        self._shown_before: PastRun | None = None
        self._queries = QueryMemory(context.settings, context.clusters.settings_group)
        self.result = LazyTab(self._make_result)
        self.editor = LazyTab(self._make_editor)
        self.form = FormPanel(theme, self._runner)
        self.run_panel = RunPanel(theme)
        self.session_line = SessionLine(theme, self._runner.session)
        self.history = HistoryPanel(theme, context.times, self._runner.folder)
        self._build()
        self.set_parts(find=self.search, detail=self._side)
        self._connect()
        on_language(self.session_line, self.session_line.show_session)
        on_language(self, self._write_texts)
        self.choose(self._spec)
        self._show_run()
        self.refresh()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        name = arguments.get("report")
        for spec in reports():
            if spec.name == name:
                self.choose(spec)
        if arguments.get("show") == RESULT:
            self.show_part(RESULT)
        if arguments.get("run"):
            self._show_store()
            self.form.run()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not event.spontaneous():
            self._runner.prepare()
            self.form.look_again()
            self._runner.look_at_rules()

    def state_changed(self, state: ClusterState) -> None:
        self._show_store()
        self.form.show_lost(state.lost_brokers)
        if self._runner.is_running:
            self._show_run()

    def status_changed(self, _status: SourceStatus) -> None:
        self._show_store()

    def refresh(self) -> None:
        self.history.refresh()

    def _write_texts(self) -> None:
        self._show_last(self._past)
        self.header.set_facts(tr("{count} ready over stored messages", count=count_text(len(reports()))))
        self._show_run()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def choose(self, spec: ReportSpec) -> None:
        self._spec = spec
        card = self.catalog.made.show_chosen(spec.name) if self.catalog.made is not None else None
        if card is not None:
            self._shelf.ensureWidgetVisible(card)
        self.form.show_report(spec)
        self._show_editor_for(spec)
        self._show_result_of(spec)

    def _show_editor_for(self, spec: ReportSpec) -> None:
        """Show the editor where the report is a query; it fills the page."""
        is_query = spec.name == SQL_REPORT
        self.parts.show_segment(EDITOR, shown=is_query)
        if is_query and self._left.currentIndex() == _PLACES[CATALOG]:
            self.show_part(EDITOR)
        elif not is_query and self._left.currentIndex() == _PLACES[EDITOR]:
            self.show_part(CATALOG)

    def _show_result_of(self, spec: ReportSpec) -> None:
        """Show the newest result of the report of the form, or none beside it: the catalogue."""
        shown = self.result.made
        if self._left.currentIndex() != _PLACES[RESULT] or shown is None or shown.shows_first:
            return
        if shown.run is not None and shown.run.report == spec.name:
            return
        newest = next((run for run in self._past if run.report == spec.name), None)
        if newest is None:
            self.show_part(CATALOG)
        else:
            self._show_past(newest)

    def show_part(self, part: str) -> None:
        """Show the catalogue, the editor of a query, or the result."""
        self.parts.choose(part)
        if part == RESULT:
            self.result.make()
        self._left.setCurrentIndex(_PLACES[part])
        if part == EDITOR:
            self.editor.make()
            self._query_changed()
        if part == RESULT:
            self._show_form_of(self.result.make().run)
        self._show_query_field()

    def run(self, order: ReportOrder) -> None:
        """Run a report after the waiting ones."""
        if not self._runner.submit(order):
            self.context.notify(lambda: tr("Too many reports wait. Take one back first."), state=State.WARNING)

    def open_page(self, run: PastRun) -> None:
        self._open(run.page_path)

    def open_folder(self, run: PastRun) -> None:
        self._open(run.folder)

    def _open(self, path: Path) -> None:
        if not open_in_desktop(path):
            QGuiApplication.clipboard().setText(str(path))
            words = partial(tr, "No program opens it here. The path is copied: {path}", path=path)
            self.context.notify(words, state=State.INFO)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        shelf = ScrolledPart()
        shelf.setWidget(self.catalog)
        shelf.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        shelf.setMinimumWidth(SHELF_WIDTH_MIN)
        self._shelf = shelf
        self._left = QStackedLayout()
        self._left.addWidget(shelf)
        self._left.addWidget(self.result)
        self._left.addWidget(self.editor)
        side = ScrolledColumn()
        side.setLayout(column(self.form, self.session_line, self.run_panel, (self.history, 1), spacing=Size.GAP))
        scroll = ScrolledPart()
        scroll.setWidget(side)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFixedWidth(SIDE_WIDTH)
        # A fixed width: otherwise a new scroll bar would wrap texts again within the height of before.
        side.setFixedWidth(SIDE_WIDTH - BAR_ROOM)
        columns = row((self._left, 1), scroll, spacing=Size.GAP)
        self._side = scroll
        self.content.addLayout(columns, 1)

    def _connect(self) -> None:
        self.search.searched.connect(lambda text: self.catalog.make().show_filter(text))
        self.search.searched.connect(lambda _text: self.show_part(CATALOG))
        self.parts.chosen.connect(self.show_part)
        self.form.own.made.connect(self._show_query_field)
        self.form.run_wanted.connect(self.run)
        self.form.own.changed.connect(self._query_changed)
        self.form.own.query_loaded.connect(self._saved_loaded)
        self.run_panel.cancel_button.clicked.connect(self._runner.cancel)
        self.run_panel.again_button.clicked.connect(self._run_again)
        self.run_panel.withdraw_wanted.connect(self._runner.withdraw)
        self.history.was_read.connect(self._show_last)
        self.history.was_read.connect(self.form.show_past)
        self.history.grid.selected.connect(self._past_selected)
        self.history.shown.connect(lambda run: self._past_selected(run, shown=True))
        self.history.page_wanted.connect(self.open_page)
        self.history.folder_wanted.connect(self.open_folder)
        self.history.compare_wanted.connect(self._compare)
        self.history.again_wanted.connect(self._again)
        self.history.failed.connect(lambda text: self.context.notify(text, state=State.WARNING))
        self._runner.changed.connect(self._show_run)
        self._runner.ended.connect(self._run_ended)
        self._charts_call.done.connect(self._charts_read)
        self._charts_call.failed.connect(self._charts_failed)
        self._table_call.done.connect(self._table_read)
        self._table_call.failed.connect(self._table_failed)
        self.context.times.changed.connect(self._zone_changed)

    def _make_catalog(self) -> CatalogPanel:
        made = CatalogPanel(self.context.theme, reports())
        made.chosen.connect(self.choose)
        return made

    def _fill_catalog(self, made: CatalogPanel) -> None:
        made.fill()
        made.show_chosen(self._spec.name)
        self._show_last_in(made)

    def _make_result(self) -> ResultPanel:
        made = ResultPanel(self.context.theme, self.context.times, self.context.time_range)
        made.page_wanted.connect(self.open_page)
        made.folder_wanted.connect(self.open_folder)
        made.again_wanted.connect(self._again)
        made.compare_wanted.connect(self._compare)
        made.table_wanted.connect(self._read_table)
        return made

    def _make_editor(self) -> SqlEditor:
        made = SqlEditor(self.context.theme, self.context.times, self._queries)
        made.edited.connect(self._query_edited)
        made.run_wanted.connect(self.form.run)
        made.full.connect(self._tabs_full)
        field = self._query_field
        if field is not None and field.text():
            made.tabs.take(field.text())
        self._query_edited(made.text)
        return made

    @property
    def _query_field(self) -> QueryField | None:
        field = self.form.own.fields.get(SQL_QUERY)
        return field if isinstance(field, QueryField) else None

    def _tabs_full(self) -> None:
        words = partial(tr, "{count} queries are open. Close one first.", count=TABS_MAX)
        self.context.notify(words, state=State.INFO)

    def _saved_loaded(self, name: str, text: str) -> None:
        """Show a saved query in a tab of its own, so that it replaces none."""
        if self.editor.made is not None:
            self.editor.made.tabs.take(text, name)

    def _show_query_field(self) -> None:
        """Leave the small editor of the form out where the large one is."""
        if self._query_field is not None:
            self._query_field.show_editor(shown=self.parts.current != EDITOR)
            if self.editor.made is not None:
                self._query_field.leave_loaded()

    def _query_edited(self, text: str) -> None:
        """Write the query of the tab in front into the form."""
        field = self._query_field
        if field is not None and field.text() != text:
            field.setText(text)

    def _query_changed(self) -> None:
        """Show the query of the form in the tab in front."""
        field = self._query_field
        if self.editor.made is not None and field is not None:
            self.editor.made.show_text(field.text())

    # ---- the run -------------------------------------------------------------------------------------------------------

    def _show_store(self) -> None:
        ready = self.context.source.ready
        if ready is None:
            self.form.show_broker_store("")
        elif ready.has_store:
            self.form.show_broker_store(ready.store_directory, ready.commit_log)
        else:
            self.form.show_broker_store("", name_servers=ready.name_server)

    def _show_run(self) -> None:
        run = self._runner.run
        self.run_panel.setVisible(run is not None)
        self.run_panel.show_waiting(self._runner.waiting)
        if run is not None:
            self.run_panel.show_run(run, self._runner.now_ms())
            if run.first is not None and run.order is not self._first_of:
                self._show_first(run)

    def _show_first(self, run: StartedRun) -> None:
        self._first_of = run.order
        if run.state is RunState.RUNNING:
            self.show_part(RESULT)
            self._shown_before = self.result.make().run
            self.result.make().show_first(run)

    def _run_again(self) -> None:
        run = self._runner.run
        if run is not None:
            order = run.order
            self.run(
                self._runner.order(
                    order.spec, order.stores, order.parameters, commit_log=order.commit_log, also=order.also,
                    originals=order.originals
                )
            )  # fmt: skip

    def _again(self, run: PastRun) -> None:
        order = self._runner.order_again(run)
        if run.hidden_parameters:
            names = ", ".join(run.hidden_parameters)
            self.context.notify(
                lambda: tr("What this result was asked for is masked in it ({names}). Enter it in the form.", names=names),
                state=State.WARNING,
            )
        elif order is None:
            self.context.notify(lambda: tr("This program has no report “{name}”.", name=run.report), state=State.WARNING)
        else:
            self.run(order)

    def _run_ended(self, run: StartedRun) -> None:
        if self.editor.made is not None:
            next_turn(self, self.editor.made.history.refresh)  # `QueryRecorder` stores the run in this turn
        if run.state in (RunState.COMPLETE, RunState.PARTIAL):
            self.history.refresh(Path(run.order.out_directory))
            self.show_part(RESULT)
        elif self.result.made is not None and self.result.made.shows_first:
            self._show_past(self._shown_before)

    # ---- history and result --------------------------------------------------------------------------------------------

    def _show_last(self, runs: list[PastRun]) -> None:
        self._past = runs
        if self.catalog.made is not None:
            self._show_last_in(self.catalog.made)

    def _show_last_in(self, catalog: CatalogPanel) -> None:
        state = self.context.source.state
        for spec in reports():
            last = next((run for run in self._past if run.report == spec.name), None)
            if last is not None and state is not None:
                catalog.show_last(spec.name, tr("{age} ago", age=age_text(last.created_ms, state.taken_ms)))

    def _past_selected(self, run: PastRun | None, *, shown: bool = False) -> None:
        if shown:
            self.show_part(RESULT)
        shown_run = self.result.made.run if self.result.made is not None else None
        if run is not None and run != shown_run:
            self._show_past(run)

    def _show_past(self, run: PastRun | None) -> None:
        self.result.make().show_run(run)
        self._show_form_of(run)
        if run is not None and run.charts:
            self._charts_call.start(lambda: (run.folder, read_charts(run)))

    def _show_form_of(self, run: PastRun | None) -> None:
        """Show the form of the report whose result is shown."""
        if run is None or run.report == self._spec.name or self._left.currentIndex() != _PLACES[RESULT]:
            return
        spec = next((one for one in reports() if one.name == run.report), None)
        if spec is not None:
            self.choose(spec)

    def _compare(self, run: PastRun) -> None:
        self._past_selected(run, shown=True)
        before = self.history.previous(run)
        self.result.make().show_before(before)
        if before is None:
            self.context.notify(lambda: tr("There is no earlier result of “{title}”.", title=tr(run.title)), state=State.INFO)

    def _read_table(self, run: PastRun, title: str, file_name: str) -> None:
        self._table_call.start(lambda: (run.folder, read_table(run, title, file_name)))

    def _table_read(self, answer: tuple[Path, ResultTable]) -> None:
        folder, table = answer
        result = self.result.make()
        if result.run is not None and result.run.folder == folder:
            result.show_table(table)

    def _table_failed(self, error: Exception) -> None:
        told = kept_line(error)
        self.result.make().show_table_error(lambda: tr("The table was not read: {reason}", reason=told()))

    def _charts_read(self, answer: tuple[Path, tuple[ResultChart, ...]]) -> None:
        folder, charts = answer
        state = self.context.source.state
        result = self.result.make()
        if result.run is not None and result.run.folder == folder:
            result.show_charts(charts, state.taken_ms if state is not None else result.run.created_ms)

    def _charts_failed(self, error: Exception) -> None:
        reason = kept_line(error)
        self.context.notify(lambda: tr("The charts were not read: {reason}", reason=reason()), state=State.WARNING)

    def _zone_changed(self) -> None:
        if self.result.made is not None:
            self.result.made.write_texts()

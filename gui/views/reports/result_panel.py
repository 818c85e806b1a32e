"""`ResultPanel`: the result of a finished report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedLayout, QVBoxLayout, QWidget

from gui.models.reports import PastRun, ResultChart, ResultHeadline, ResultRow, ResultTable, RunState, StartedRun
from gui.models.table import ColumnTableModel
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.reports.charts_panel import ChartsPanel
from gui.views.reports.columns import RUN_STATES, figure_text, range_text, result_columns
from gui.views.reports.manifest_part import ManifestPart
from gui.views.reports.section_list import WIDTH, ResultSection, SectionKind, SectionList, sections_of
from gui.views.reports.words import report_text, report_texts
from gui.views.time_range import TimeRangeChoice
from gui.widgets.basic import IconButton, Line, clear, column, fill, label, row, take_out
from gui.widgets.chip import Chip
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Placeholder
from gui.widgets.panel import FoldingPanel
from gui.widgets.said import on_language
from gui.words.text import UNKNOWN, TimeZoneChoice, Words, count_text, duration_text, said, tr


class ResultPanel(FoldingPanel):
    """Headlines on top; below them a list of the parts, and the chosen part. A running report shows its first table.

    Signals:
        page_wanted: Open the page of the result; carries its `PastRun`.
        folder_wanted: Open the folder of the result; carries the same.
        again_wanted: Run the same again; carries the same.
        compare_wanted: Show the result beside the one before; carries the same.
        table_wanted: Read a table; carries the `PastRun`, the title and the file name.
    """

    page_wanted = Signal(object)
    folder_wanted = Signal(object)
    again_wanted = Signal(object)
    compare_wanted = Signal(object)
    table_wanted = Signal(object, str, str)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, time_range: TimeRangeChoice) -> None:
        super().__init__(" ", flush=True)
        self._theme = theme
        self._times = times
        self.run: PastRun | None = None
        self._first: StartedRun | None = None
        self._before: PastRun | None = None
        self._table: ResultTable | None = None
        self._table_error: Words = ""
        self._charts: Sequence[ResultChart] = ()
        self.chip = Chip(theme)
        self.page_button = IconButton(theme, "arrow-square-out", " ", role="small", on_click=self._open_page)
        self.folder_button = IconButton(theme, "folder-open", " ", role="small", on_click=self._open_folder)
        self.again_button = IconButton(theme, "arrow-clockwise", " ", role="small", on_click=self._again)
        self.compare_button = IconButton(theme, "arrows-left-right", " ", role="small", on_click=self._compare)
        self.headlines = QHBoxLayout()
        self.manifest = label(role="caption", wrap=True, selectable=True)
        self.table_title = label(role="caption")
        self.sections = SectionList()
        self.charts = ChartsPanel(theme, times, time_range)
        self.findings = self.charts.findings
        self.manifest_part = ManifestPart(times)
        self._table_page = QWidget()
        self._pages = QStackedLayout()
        self.placeholder = Placeholder(theme)
        self.placeholder.show_empty(partial(tr, "No report has been run here yet. Choose one and run it."))
        self._body = QWidget()
        self._table_place = QVBoxLayout()
        self.grid: DataGrid[ResultRow] | None = None
        self._build()
        on_language(self, self.write_texts)

    @property
    def shows_first(self) -> bool:
        """Whether the table of a running report is shown."""
        return self._first is not None

    def show_run(self, run: PastRun | None) -> None:
        """Show a result; None: there is none yet."""
        self._start_anew(run, None)
        self._fill_sections()

    def show_first(self, run: StartedRun) -> None:
        self._start_anew(None, run)
        if run.first is not None:
            self.sections.set_sections([ResultSection(SectionKind.TABLE, run.first.title)])
            self.sections.mark(self.sections.sections[0])
            self._pages.setCurrentWidget(self._table_page)
            self.show_table(run.first)

    def _start_anew(self, run: PastRun | None, first: StartedRun | None) -> None:
        self.run, self._first, self._before, self._table, self._charts = run, first, None, None, ()
        self.charts.show_charts((), -1)
        self.sections.set_sections([])
        self._show()

    def show_before(self, before: PastRun | None) -> None:
        """Show the figures beside those of an earlier result; None: alone."""
        self._before = before
        self._show()

    def show_charts(self, charts: Sequence[ResultChart], now_ms: int) -> None:
        self._charts = charts
        self.charts.show_charts(charts, now_ms)
        self._fill_sections()

    def show_table(self, table: ResultTable) -> None:
        self._table = table
        self._table_error = ""
        self._show_table()

    def show_table_error(self, words: Words) -> None:
        """Show why the table was not read."""
        self._table = None
        self._table_error = words
        self._show_table()

    def write_texts(self) -> None:
        """Write what depends on language or time zone."""
        self.set_words(self.page_button, tr("Open page"))
        self.set_words(self.folder_button, tr("Open folder"))
        self.set_words(self.again_button, tr("Run again"))
        self.set_words(self.compare_button, tr("Compare"), tr("Figures beside those of the run before"))
        self._show()

    def _build(self) -> None:
        self.add_action(self.chip, self.again_button, self.compare_button, self.page_button, self.folder_button)
        self.headlines.setContentsMargins(0, 0, 0, 0)
        self.headlines.setSpacing(0)
        side = column((self.sections, 1), self.manifest, spacing=6, margins=(0, 0, 0, 10))
        self.manifest.setFixedWidth(WIDTH)
        self.manifest.setContentsMargins(14, 0, 4, 0)
        self._table_page.setLayout(
            column(row(self.table_title, spacing=-1, margins=(14, 6, 14, 6)), (self._table_place, 1), spacing=0)
        )
        self._pages.addWidget(self.charts)
        self._pages.addWidget(self._table_page)
        self._pages.addWidget(self.manifest_part)
        self.sections.chosen.connect(self._section_chosen)
        self.sections.entered_part.connect(self._enter_part)
        self.charts.scrolled.connect(self._charts_scrolled)
        self._body.setLayout(
            column(Line(), self.headlines, Line(), (row(side, Line(vertical=True), (self._pages, 1), spacing=0), 1), spacing=0)
        )
        self.content.setSpacing(0)
        fill(self.content, (self._body, 1), (self.placeholder, 1))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def _show(self) -> None:
        run = self.run
        self._body.setVisible(run is not None or self._first is not None)
        self.placeholder.setVisible(self._body.isHidden())
        for button in (self.page_button, self.folder_button, self.again_button, self.compare_button):
            button.setVisible(run is not None)
        self._show_headlines(run)
        self._show_table()
        if run is None:
            self._show_beginning()
            return
        self.set_title(tr(run.title), "")
        word, state = RUN_STATES[run.state]
        self.chip.set(tr(word), state)
        self.findings.setText("\n".join(report_texts(run.findings)))
        self.manifest.setText(self._manifest_text(run))
        self.manifest_part.show_run(run)

    def _show_beginning(self) -> None:
        """Write the title around a first table, or around nothing."""
        if self._first is None:
            self.set_title(tr("Result"), "")
            self.chip.set("", State.PLAIN)
            return
        word, state = RUN_STATES[RunState.RUNNING]
        self.set_title(tr(self._first.order.spec.title), "")
        self.chip.set(tr(word), state)
        self.manifest.setText(tr("This is the first table. Findings, charts and the other tables follow."))

    def _manifest_text(self, run: PastRun) -> str:
        reasons = ", ".join(f"{report_text(reason)}: {count_text(rows)}" for reason, rows in run.skipped if rows)
        parts = [
            range_text(run.found_from_ms, run.found_to_ms, self._times),
            tr(
                "Run {at}, {took}",
                at=self._times.full(run.created_ms).partition(".")[0],
                took=duration_text(run.seconds * 1_000),
            ),
            tr("{count} samples read" if run.is_sampled else "{count} messages read", count=count_text(run.rows_read)),
            tr("{count} skipped", count=count_text(run.rows_skipped)) + (f" ({reasons})" if reasons else ""),
        ]
        if self._before is not None:
            at = self._times.full(self._before.created_ms).partition(".")[0]
            parts.append(tr("Beside the run of {at}, {count} messages", at=at, count=count_text(self._before.rows_read)))
        return "\n".join(parts)

    def _show_headlines(self, run: PastRun | None) -> None:
        clear(self.headlines)
        before = {} if self._before is None else {one.label: one for one in self._before.headlines}
        for place, headline in enumerate(run.headlines if run is not None else ()):
            if place:
                self.headlines.addWidget(Line(vertical=True))
            note = change_text(headline, before.get(headline.label)) if before else report_text(headline.note)
            self.headlines.addWidget(_Figure(headline, note), 1)

    def _fill_sections(self) -> None:
        run = self.run
        if run is None:
            return
        self.sections.set_sections(sections_of(run, self._charts))
        if self.sections.current is None:
            # A result without charts begins with its first table: findings alone would leave the panel empty.
            tables = [one for one in self.sections.sections if one.kind is SectionKind.TABLE]
            self.sections.choose(tables[0] if tables and not run.charts else self.sections.sections[0])

    def _section_chosen(self, section: ResultSection) -> None:
        run = self.run
        if run is None:
            return
        if section.kind is SectionKind.TABLE:
            self._pages.setCurrentWidget(self._table_page)
            self._table = None
            self._show_table()
            self.table_wanted.emit(run, *run.tables[section.number])
        elif section.kind is SectionKind.MANIFEST:
            self._pages.setCurrentWidget(self.manifest_part)
        else:
            self._pages.setCurrentWidget(self.charts)
            self.charts.jump_to(section.number if section.kind is SectionKind.CHART else -1)

    def _charts_scrolled(self, number: int) -> None:
        kind = SectionKind.FINDINGS if number < 0 else SectionKind.CHART
        section = next((one for one in self.sections.sections if (one.kind, one.number) == (kind, max(number, 0))), None)
        if section is not None:
            self.sections.mark(section)

    def _enter_part(self) -> None:
        page = self._pages.currentWidget()
        if page is self._table_page and self.grid is not None:
            self.grid.take_keyboard()
        elif page is not None and page is not self._table_page:
            page.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_table(self) -> None:
        grid, self.grid = self.grid, None
        if grid is not None:
            take_out(self._table_place, grid)
        table = self._table
        self.table_title.setText(self._rows_text(table) if table is not None else said(self._table_error))
        if table is None:
            return
        model = ColumnTableModel(result_columns(table, self._times, self._report_name), lambda row: row.number)
        self.grid = DataGrid(model, self._theme, several=True)
        model.setParent(self.grid)
        self.grid.set_empty(tr("This table has no rows."))
        model.set_rows(table.rows)
        self.grid.read_ms = -1 if self.run is None else self.run.created_ms
        self._table_place.addWidget(self.grid)

    @property
    def _report_name(self) -> str:
        if self.run is not None:
            return self.run.report
        return self._first.order.spec.name if self._first is not None else ""

    @staticmethod
    def _rows_text(table: ResultTable) -> str:
        if table.row_count <= len(table.rows):
            return tr("{title}: {count} rows", title=report_text(table.title), count=count_text(table.row_count))
        return tr(
            "{title}: the first {shown} of {count} rows", title=report_text(table.title), shown=count_text(len(table.rows)),
            count=count_text(table.row_count),
        )  # fmt: skip

    def _again(self) -> None:
        if self.run is not None:
            self.again_wanted.emit(self.run)

    def _compare(self) -> None:
        if self.run is not None:
            self.compare_wanted.emit(self.run)

    def _open_page(self) -> None:
        if self.run is not None:
            self.page_wanted.emit(self.run)

    def _open_folder(self) -> None:
        if self.run is not None:
            self.folder_wanted.emit(self.run)


def change_text(now: ResultHeadline, before: ResultHeadline | None) -> str:
    """A figure compared with the one before: ``before 1,200, −16.7 %``."""
    if before is None or math.isnan(before.value):
        return tr("before: {value}", value=UNKNOWN)
    value = figure_text(before.value, before.unit)
    if math.isnan(now.value) or not before.value:
        return tr("before: {value}", value=value)
    change = (now.value - before.value) / abs(before.value)
    sign = "+" if change > 0 else "−" if change < 0 else "±"
    return tr("before: {value}, {change}", value=value, change=f"{sign}{abs(change) * 100:,.1f} %")


class _Figure(QWidget):
    def __init__(self, headline: ResultHeadline, note: str) -> None:
        super().__init__()
        self.setLayout(
            column(
                label(figure_text(headline.value, headline.unit), "headline"),
                label(report_text(headline.label), wrap=True),
                label(note, "caption", wrap=True),
                1,
                spacing=1,
                margins=(14, 10, 14, 10),
            )
        )

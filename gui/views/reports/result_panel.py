"""`ResultPanel`: what a finished report found."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gui.models.reports import Headline, PastRun, ResultRow, ResultTable
from gui.models.table import ColumnTableModel
from gui.text import TimeZoneChoice, count_text, duration_text, tr
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.reports.columns import RUN_STATES, figure_text, range_text, result_columns
from gui.views.reports.words import report_text
from gui.widgets.basic import ElidedLabel, IconButton, Line, label
from gui.widgets.chip import Chip
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Placeholder
from gui.widgets.panel import Panel

FINDINGS_SHOWN_MAX = 4


class ResultPanel(Panel):
    """Headlines, findings, the first table, and the way to all of it.

    Signals:
        page_wanted: Open the page of the result; carries its `PastRun`.
        folder_wanted: Open the folder of the result; carries the same.
    """

    page_wanted = Signal(object)
    folder_wanted = Signal(object)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, parent: QWidget | None = None) -> None:
        super().__init__(" ", flush=True, parent=parent)
        self._theme = theme
        self._times = times
        self._run: PastRun | None = None
        self._table: ResultTable | None = None
        self.chip = Chip(theme)
        self.page_button = IconButton(theme, "arrow-square-out", " ", role="small", on_click=self._open_page)
        self.folder_button = IconButton(theme, "folder-open", " ", role="small", on_click=self._open_folder)
        self.headlines = QHBoxLayout()
        self.findings = label(wrap=True, selectable=True)
        self.manifest = label(role="caption", wrap=True, selectable=True)
        self.table_title = label(role="panel-title")
        self.placeholder = Placeholder(theme)
        self._body = QWidget()
        self._table_place = QVBoxLayout()
        self._grid: DataGrid[ResultRow] | None = None
        self._build()
        self.retranslate()

    @property
    def run(self) -> PastRun | None:
        return self._run

    @property
    def grid(self) -> DataGrid[ResultRow] | None:
        """The shown table."""
        return self._grid

    def show_run(self, run: PastRun | None) -> None:
        """Show a result; None says that there is none yet."""
        self._run, self._table = run, None
        self._show()

    def show_table(self, table: ResultTable) -> None:
        """Show a table of the result."""
        self._table = table
        self._show_table()

    def show_table_error(self, text: str) -> None:
        """The table could not be read."""
        self._table = None
        self._show_table()
        self.table_title.setText(text)

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.page_button.setText(tr("Open page"))
        self.folder_button.setText(tr("Open folder"))
        self.placeholder.show_empty(tr("No report has been run here yet. Choose one and run it."))
        self._show()

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for widget in (self.chip, self.page_button, self.folder_button):
            self.add_action(widget)
        self.headlines.setContentsMargins(0, 0, 0, 0)
        self.headlines.setSpacing(0)
        words = QVBoxLayout()
        words.setContentsMargins(14, 10, 14, 10)
        words.setSpacing(6)
        words.addWidget(self.findings)
        words.addWidget(self.manifest)
        title = QHBoxLayout()
        title.setContentsMargins(14, 8, 14, 8)
        title.addWidget(self.table_title)
        lines = QVBoxLayout(self._body)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addWidget(Line())
        lines.addLayout(self.headlines)
        lines.addWidget(Line())
        lines.addLayout(words)
        lines.addWidget(Line())
        lines.addLayout(title)
        lines.addLayout(self._table_place, 1)
        self.content.setSpacing(0)
        self.content.addWidget(self._body, 1)
        self.content.addWidget(self.placeholder, 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def _show(self) -> None:
        run = self._run
        self._body.setVisible(run is not None)
        self.placeholder.setVisible(run is None)
        for button in (self.page_button, self.folder_button):
            button.setVisible(run is not None)
        self._show_headlines(run.headlines if run is not None else ())
        self._show_table()
        if run is None:
            self.set_title(tr("Result"), "")
            self.chip.set("", State.PLAIN)
            return
        self.set_title(tr(run.title), range_text(run.found_from_ms, run.found_to_ms, self._times))
        word, state = RUN_STATES[run.state]
        self.chip.set(tr(word), state)
        self.findings.setText("\n".join(map(report_text, run.findings[:FINDINGS_SHOWN_MAX])))
        self.manifest.setText(self._manifest_text(run))

    def _manifest_text(self, run: PastRun) -> str:
        parts = [
            tr(
                "Run {at}, {took}",
                at=self._times.full(run.created_ms).partition(".")[0],
                took=duration_text(run.seconds * 1_000),
            ),
            tr("{count} messages read", count=count_text(run.rows_read)),
            tr("{count} skipped", count=count_text(run.rows_skipped)),
        ]
        reasons = ", ".join(f"{reason}: {count_text(rows)}" for reason, rows in run.skipped if rows)
        return " · ".join(parts) + (f" ({reasons})" if reasons else "")

    def _show_headlines(self, headlines: tuple[Headline, ...]) -> None:
        while self.headlines.count():
            item = self.headlines.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for place, headline in enumerate(headlines):
            if place:
                self.headlines.addWidget(Line(vertical=True))
            self.headlines.addWidget(_Figure(headline), 1)

    def _show_table(self) -> None:
        grid, self._grid = self._grid, None
        if grid is not None:
            self._table_place.removeWidget(grid)
            grid.hide()
            grid.deleteLater()
        table = self._table
        self.table_title.setText(tr(table.title) if table is not None else "")
        if table is None:
            return
        model: ColumnTableModel[ResultRow] = ColumnTableModel(
            result_columns(table.columns, self._times), lambda row: row.number
        )
        self._grid = DataGrid(model, self._theme, several=True)
        model.setParent(self._grid)
        self._grid.set_empty(tr("This table has no rows."))
        model.set_rows(table.rows)
        self._table_place.addWidget(self._grid)

    def _open_page(self) -> None:
        if self._run is not None:
            self.page_wanted.emit(self._run)

    def _open_folder(self) -> None:
        if self._run is not None:
            self.folder_wanted.emit(self._run)


class _Figure(QWidget):
    def __init__(self, headline: Headline) -> None:
        super().__init__()
        lines = QVBoxLayout(self)
        lines.setContentsMargins(14, 10, 14, 10)
        lines.setSpacing(1)
        lines.addWidget(label(figure_text(headline.value, headline.unit), "headline"))
        lines.addWidget(ElidedLabel(tr(headline.label)))
        lines.addWidget(ElidedLabel(report_text(headline.note), "caption"))

"""`ImportTopicsDialog`: settings of topics from a file: a preview of the changes, then the result of each.

`TopicImportRun`: creates and changes topics one after another; a failure does not stop the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QFileDialog, QPushButton, QWidget

from broker_core.api import CancelledByUserError, OrbitError, TopicConfig, UsageError, read_all_topic_settings
from broker_core.worker.questions.administration import AskBroker
from gui.models.table import ColumnTableModel
from gui.models.topic_import import ImportKind, ImportOutcome, TopicImport, planned_imports, receipt_csv
from gui.operations.background import BackgroundCall, write_file
from gui.operations.queries import LatestQuery
from gui.operations.requests import BegunLater, InTurn, ReadAnswer
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.views.action_dialog import read_only_reason
from gui.views.page import PageContext
from gui.views.topics.columns import differences, import_columns
from gui.widgets.basic import ElidedLabel, IconButton, fill, label, on_key, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.notice import Notice
from gui.widgets.popups import ask_file, ask_to_save
from gui.widgets.production_bar import ProductionField
from gui.widgets.progress_line import ProgressLine
from gui.words.error_words import error_line, error_text
from gui.words.plain_text import tip_text
from gui.words.text import count_text, tr
from monitoring.admin.topic_files import FILE_BYTES_MAX, TopicEntry, read_topic_file
from monitoring.admin.topics import ask_all_settings, change_settings
from monitoring.sources.base import ClusterSource, Pending


class TopicImportRun(QObject):
    """Sends requests in their order, one for each topic.

    Signals:
        told: A request ended; carries its number and None or the error, `CancelledByUserError` where it was not tried.
        ended: All requests ended.
    """

    told = Signal(int, object)
    ended = Signal()

    def __init__(self, source: ClusterSource, requests: Sequence[AskBroker], parent: QObject) -> None:
        super().__init__(parent)
        asks = [partial(self._try, request) for request in requests]
        self._source = source
        self._is_stopped = False
        self._turn: InTurn[OrbitError | None] = InTurn(asks, self.told.emit)
        self.is_running = False

    def start(self) -> None:
        self.is_running = True
        self._turn.then(self._end, self._end)

    def stop(self) -> None:
        """Send no more requests after the current one."""
        self._is_stopped = True

    def _end(self, _answers: object) -> None:
        self.is_running = False
        self.ended.emit()

    def _try(self, request: AskBroker) -> Pending[OrbitError | None]:
        """A `Pending` that never fails: of None after success, else of the error."""
        if self._is_stopped:
            return BegunLater(lambda done, _failed: done(CancelledByUserError("it was stopped before this one")))
        pending = self._source.ask(request)
        return BegunLater(lambda done, _failed: pending.then(lambda _answer: done(None), done))


WIDTH, HEIGHT = 860, 560


class ImportTopicsDialog(FittedDialog):
    """Changes nothing before its button is pressed. Closing it stops a running import. The broker's own topics are left out.

    Signals:
        imported: The broker accepted some; carries how many.
    """

    imported = Signal(int)

    def __init__(self, context: PageContext, is_own: Callable[[str], bool], parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self._is_own = is_own
        self._query: LatestQuery[dict[str, TopicConfig]] = LatestQuery(self)
        self._call: BackgroundCall | None = None
        self._entries: list[TopicEntry] | None = None
        self._existing: Mapping[str, TopicConfig] | None = None
        self._run: TopicImportRun | None = None
        self._done: list[int] = []
        """Numbers of the imported entries, in order."""
        self._refusal = read_only_reason(context.source)
        self.model = ColumnTableModel(import_columns(), lambda one: one.number, parent=self)
        self.grid = DataGrid(self.model, context.theme)
        self.choose_button = IconButton(context.theme, "folder-open", tr("Choose a file…"), on_click=self.ask_file)
        self.file_name = ElidedLabel(role="secondary", mode=Qt.TextElideMode.ElideMiddle)
        self.changes = QCheckBox(tr("Change the settings of topics that there are"))
        self.counts = label(role="secondary")
        self.notice = Notice(context.theme)
        self.production = ProductionField(parent)
        self.progress = ProgressLine(context.theme)
        self.receipt_button = IconButton(context.theme, "arrow-down", tr("Receipt…"), on_click=self._ask_receipt)
        self.close_button = QPushButton(" ")
        self.go = QPushButton(" ")
        self._build()
        self.changes.toggled.connect(lambda _on: self._plan())
        self.production.changed.connect(self._show)
        self.close_button.clicked.connect(self.reject)
        self.go.clicked.connect(self.start)
        self.grid.view.clicked.connect(self._clicked)
        on_key(self.grid, "Space", lambda: self.toggle(self.grid.selected_row))
        self._show()

    # ---- what is asked ---------------------------------------------------------------------------------------------

    def ask_file(self) -> QFileDialog:
        kinds = [tr("Settings of topics (*.json *.csv)"), tr("All files (*)")]
        return ask_file(self, tr("Import topics"), lambda name: self.read(Path(name)), kinds=kinds)

    def read(self, path: Path) -> None:
        """Read a file and the present settings."""
        if self._run is not None and self._run.is_running:
            return
        self._entries = self._existing = self._run = None
        self._done = []
        self.model.set_rows([])
        self.notice.set("")
        self.file_name.setText(path.name)
        self.grid.set_loading(True)
        call = self._call = BackgroundCall()
        call.done.connect(self._take_file)
        call.failed.connect(self._file_failed)
        call.start(partial(_read_file, path))
        asked = self._context.source.ask(ask_all_settings())
        read = ReadAnswer(asked, lambda answer: read_all_topic_settings(answer.body))
        self._query.ask(read, self._take_settings, self._settings_failed)

    def start(self) -> None:
        """Import the taken topics."""
        wanted = [one for one in self.model.rows if one.is_taken]
        if not self._can_start(len(wanted)):
            return
        self._done = [one.number for one in wanted]
        self._run = TopicImportRun(self._context.source, [change_settings(one.before, one.after) for one in wanted], self)
        self._run.told.connect(self._told)
        self._run.ended.connect(self._ended)
        self._run.start()
        self._show()

    def toggle(self, one: TopicImport | None) -> None:
        """Take a topic, or leave it out."""
        if one is not None and one.can_be_taken and not self._done:
            self._replace(one, is_taken=not one.is_taken)
            self._show()

    def reject(self) -> None:
        """Stop a running import, or close."""
        if self._run is not None and self._run.is_running:
            self._run.stop()
        else:
            super().reject()

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.setWindowTitle(tr("Import topics"))
        self.resize(WIDTH, HEIGHT)
        self.notice.set("")
        self.progress.hide()
        self.go.setProperty("role", "primary")
        self.go.setAutoDefault(False)
        self.grid.set_empty(tr("Choose a file to see what it would change."))
        lines = self.lay_out()
        lines.addWidget(label(self.windowTitle(), "card-title"))
        words = tr(
            "JSON as brokers keep it in config/topics.json, or a list of such topics; or CSV with the same names in its first "
            "line. What the file does not say stays as it is."
        )
        fill(
            lines,
            label(words, "secondary", wrap=True),
            row(self.choose_button, (self.file_name, 1)),
            self.notice,
            (self.grid, 1),
            self.progress,
            row(self.changes, 1, self.counts),
            self.production,
        )
        self.set_foot(row(self.receipt_button, 1, self.close_button, self.go))

    def _clicked(self, index: QModelIndex) -> None:
        if self.model.columns[index.column()].key == "taken":
            self.toggle(self.model.row_at(index.row()))

    # ---- reading ---------------------------------------------------------------------------------------------------

    def _take_file(self, entries: list[TopicEntry]) -> None:
        if self.sender() is self._call:
            self._call, self._entries = None, entries
            self._plan()

    def _file_failed(self, error: Exception) -> None:
        if self.sender() is self._call:
            self._call = None
            self._fail(tr("The file was not read"), error)

    def _take_settings(self, settings: dict[str, TopicConfig]) -> None:
        self._existing = settings
        self._plan()

    def _settings_failed(self, error: OrbitError) -> None:
        self._fail(tr("The settings of the topics that there are were not read"), error)

    def _fail(self, title: str, error: Exception) -> None:
        self.grid.set_loading(False)
        set_role(self.notice, "notice")
        self.notice.set(title, error_text(error), State.CRITICAL)
        self._show()

    # ---- showing ---------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        if self._entries is None or self._existing is None or self._done:
            return
        self.grid.set_loading(False)
        self.model.set_rows(planned_imports(self._entries, self._existing, self._is_own, changes=self.changes.isChecked()))
        self.grid.select_first()
        self._show()

    def _can_start(self, wanted: int) -> bool:
        return bool(wanted) and not self._done and not self._refusal and not self.production.fault

    def _show(self) -> None:
        rows = self.model.rows
        kinds = Counter(one.kind for one in rows)
        wanted = sum(one.is_taken for one in rows)
        is_running = self._run is not None and self._run.is_running
        names = (
            (ImportKind.NEW, "{count} to be made"), (ImportKind.CHANGED, "{count} others than here"),
            (ImportKind.SAME, "{count} the same"), (ImportKind.OWN, "{count} of the broker"),
            (ImportKind.REFUSED, "{count} refused"),
        )  # fmt: skip
        self.counts.setText(", ".join(tr(name, count=count_text(kinds[kind])) for kind, name in names if kinds[kind]))
        self.changes.setEnabled(bool(kinds[ImportKind.CHANGED]) and not self._done)
        self.choose_button.setEnabled(not is_running)
        self.go.setText(tr("Import {count} topics", count=count_text(wanted)) if wanted else tr("Import"))
        self.go.setVisible(not self._done)
        self.go.setEnabled(self._can_start(wanted))
        self.go.setToolTip(tip_text(self._refusal or self.production.fault))
        self.production.setVisible(bool(self.production.name) and not self._done)
        self.close_button.setText(tr("Stop") if is_running else tr("Close") if self._done else tr("Cancel"))
        self.receipt_button.setVisible(bool(self._done) and not is_running)
        self.progress.setVisible(is_running)

    # ---- doing -----------------------------------------------------------------------------------------------------

    def _replace(self, one: TopicImport, **values: Any) -> None:
        changed = replace(one, **values)
        self.model.set_rows([changed if other.number == one.number else other for other in self.model.rows])

    def _told(self, place: int, error: OrbitError | None) -> None:
        one = next(one for one in self.model.rows if one.number == self._done[place])
        if error is None:
            self._replace(one, outcome=ImportOutcome.DONE)
        elif isinstance(error, CancelledByUserError):
            self._replace(one, outcome=ImportOutcome.NOT_TRIED)
        else:
            self._replace(one, outcome=ImportOutcome.FAILED, reason=error_line(error))
        self.progress.set_share((place + 1) / len(self._done))

    def _ended(self) -> None:
        outcomes = Counter(one.outcome for one in self.model.rows)
        done, failed = outcomes[ImportOutcome.DONE], outcomes[ImportOutcome.FAILED] + outcomes[ImportOutcome.NOT_TRIED]
        words = tr("{done} of {count} topics are imported", done=count_text(done), count=count_text(len(self._done)))
        set_role(self.notice, "notice" if failed else "info")
        self.notice.set(words, "", State.WARNING if failed else State.INFO)
        self._show()
        if done:
            self.imported.emit(done)

    # ---- the receipt -----------------------------------------------------------------------------------------------

    def _ask_receipt(self) -> None:
        ask_to_save(self, tr("Receipt of the import"), "topics-receipt.csv", self.write_receipt)

    def write_receipt(self, path: Path) -> None:
        """Write the result of each as CSV, off the GUI thread."""
        rows = [(one, differences(one)) for one in self.model.rows]
        words = {one.number: text for one, text in rows}
        write_file(
            self,
            path,
            lambda: receipt_csv([one for one, _text in rows], lambda one: words[one.number]),
            lambda _size: self.notice.set(tr("The receipt is in {path}", path=path), "", State.INFO),
            lambda error: self.notice.set(
                tr("The receipt was not written: {reason}", reason=error_text(error)), "", State.CRITICAL
            ),
        )


def _read_file(path: Path) -> list[TopicEntry]:
    """Topics of a file; on any thread.

    Raises:
        UsageError: It is no such file, or too large.
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    if size > FILE_BYTES_MAX:
        raise UsageError(f"{path.name} has {size:,} bytes; a file of topics may have {FILE_BYTES_MAX:,}")
    return read_topic_file(path.read_bytes())

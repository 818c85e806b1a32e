"""`FilesPart`: consume queues, index files, cleaning runs and the broker's figures, below the charts of the Store page."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from broker_core.worker.questions.administration import StorePicture
from gui.models.store import CleaningRow, IndexRow, QueueTopicRow, cleaning_rows, index_rows, queue_rows
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.theme.tokens import Size, State
from gui.views.page import PageContext
from gui.widgets.basic import column, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said
from gui.words.text import (
    TimeZoneChoice,
    bytes_exact_text,
    bytes_text,
    count_text,
    duration_text,
    milliseconds_text,
    short_count_text,
    tr,
)
from monitoring.admin.runtime_figures import BrokerRuntime

TRIGGER_NAMES = {"deleteWhen": "hour of deleteWhen", "diskMaxUsedSpaceRatio": "disk too full", "manual": "by hand"}


def queue_columns() -> list[Column[QueueTopicRow]]:
    return [
        Column("topic", "Topic", lambda row: row.topic, kind=CellKind.STRONG),
        number_column("queues", "Written", lambda row: row.queues, str, width=62),
        number_column("entries", "Entries", lambda row: row.entries, width=84),
        number_column("behind", "Behind", lambda row: row.behind,
                      tip=lambda _row: tr("Entries in memory that are not in the files yet"), width=62),
        number_column("size", "Size", lambda row: row.size, bytes_text, tip=lambda row: bytes_exact_text(row.size), width=72),
    ]  # fmt: skip


def index_columns(times: TimeZoneChoice) -> list[Column[IndexRow]]:
    return [
        Column("name", "File", lambda row: row.name, kind=CellKind.MONO),
        Column(
            "entries",
            "Entries",
            lambda row: tr(
                "{entries} of {capacity}", entries=short_count_text(row.entries), capacity=short_count_text(row.capacity)
            ),
            sort=lambda row: row.entries,
            tip=lambda row: tr("{entries} of {capacity}", entries=count_text(row.entries), capacity=count_text(row.capacity)),
            right=True,
            width=116,
        ),
        Column(
            "range",
            "Range",
            lambda row: _range_text(row, times),
            sort=lambda row: row.begin_ms,
            tip=lambda row: f"{times.full(row.begin_ms)} – {times.full(row.end_ms)}",
            right=True,
            dim=True,
            width=112,
        ),
    ]


def cleaning_columns(times: TimeZoneChoice) -> list[Column[CleaningRow]]:
    return [
        Column("at", "Time", lambda row: times.minutes(row.at_ms), sort=lambda row: row.at_ms,
               tip=lambda row: times.full(row.at_ms), width=150),
        Column("trigger", "Why", lambda row: tr(TRIGGER_NAMES.get(row.trigger, row.trigger))),
        Column("files", "Files", _files_text, sort=lambda row: row.log_files, tip=_cleaning_tip,
               state=lambda row: State.CRITICAL if row.error else None, right=True, width=64),
        number_column("freed", "Freed", lambda row: row.log_bytes, bytes_text, width=78),
    ]  # fmt: skip


def _range_text(row: IndexRow, times: TimeZoneChoice) -> str:
    if row.entries == 0:
        return tr("empty")
    return f"{times.seconds(row.begin_ms)[:5]} – {times.seconds(row.end_ms)[:5]}"


def _files_text(row: CleaningRow) -> str:
    return tr("failed") if row.error else count_text(row.log_files)


def _cleaning_tip(row: CleaningRow) -> str:
    return row.error or tr(
        "{log} commit log, {queue} consume queue and {index} index files",
        log=row.log_files,
        queue=row.queue_files,
        index=row.index_files,
    )


class FilesPart(QWidget):
    """Shows itself as loading until a picture or a failure is shown."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        theme, times = context.theme, context.times
        self._picture: StorePicture | None = None
        self._runtime: BrokerRuntime | None = None
        self.queues = ColumnTableModel(queue_columns(), lambda row: row.topic, parent=self)
        self.queue_grid = said(DataGrid(self.queues, theme), empty="No message was stored yet.")
        self.queue_panel = said(Panel(" ", flush=True), title="Consume queues")
        self.index = ColumnTableModel(index_columns(times), lambda row: row.name, parent=self)
        self.index_grid = said(DataGrid(self.index, theme), empty="There is no index file yet.")
        self.index_panel = Panel(" ", flush=True)
        self.cleanings = ColumnTableModel(cleaning_columns(times), lambda row: (row.at_ms, row.number), parent=self)
        self.cleaning_grid = said(DataGrid(self.cleanings, theme), empty="Nothing was deleted since the start.")
        self.cleaning_panel = said(Panel(" ", flush=True), title="Cleaning runs", subtitle="since the start")
        self.runtime_panel = said(Panel(" "), title="Runtime")
        self.runtime_facts = KeyValueList()
        self.queue_panel.content.addWidget(self.queue_grid)
        self.index_panel.content.addWidget(self.index_grid)
        self.cleaning_panel.content.addWidget(self.cleaning_grid)
        self.runtime_panel.content.addWidget(self.runtime_facts)
        self.setLayout(
            row(
                (self.queue_panel, 7),
                (column(self.index_panel, self.cleaning_panel, spacing=Size.GAP), 5),
                (self.runtime_panel, 4),
                spacing=Size.GAP,
            )
        )
        self.queue_grid.activated.connect(lambda topic: context.navigate("topics", topic=topic.topic))
        self.queue_grid.sort_by("entries", descending=True)
        for grid in self._grids:
            grid.set_loading(True)
        on_language(self, self._write_texts)

    def hasHeightForWidth(self) -> bool:
        """False for the reason of `BesideRow`: the panels above would be cut."""
        return False

    @property
    def _grids(self) -> tuple[DataGrid[QueueTopicRow], DataGrid[IndexRow], DataGrid[CleaningRow]]:
        return self.queue_grid, self.index_grid, self.cleaning_grid

    def show_picture(self, picture: StorePicture) -> None:
        self._picture = picture
        for grid in self._grids:
            grid.set_loading(False)
            grid.set_error("")
        self.queues.set_rows(queue_rows(picture))
        self.queue_panel.set_subtitle(
            tr(
                "{topics} topics, {count} entries not in the files yet",
                topics=len(picture.queue_topic),
                count=count_text(sum(picture.queue_behind)),
            )
        )
        self.index.set_rows(index_rows(picture))
        self._show_index_title()
        self.cleanings.set_rows(cleaning_rows(picture))
        self._show_runtime()

    def show_failure(self, text: str, again: Callable[[], None]) -> None:
        """Show that the store was never read; ``again`` reads it."""
        for grid in self._grids:
            grid.set_loading(False)
            grid.set_error(text, "", tr("Retry"), again)

    def show_runtime(self, runtime: BrokerRuntime | None) -> None:
        """Show the counters of the broker; None: unknown."""
        self._runtime = runtime
        self._show_runtime()

    def _write_texts(self) -> None:
        self._show_index_title()
        if self._picture is not None:
            self.show_picture(self._picture)

    def _show_index_title(self) -> None:
        picture = self._picture
        if picture is None:
            words = ""
        elif picture.indexed < 0:
            words = tr("no index is kept (messageIndexEnable is off)")
        else:
            words = tr("{count} files, {size}", count=len(picture.index_name), size=bytes_text(sum(picture.index_bytes)))
        self.index_panel.set_title(tr("Index files"), words)

    def _show_runtime(self) -> None:
        if self._picture is not None:
            self.runtime_facts.set_pairs(runtime_pairs(self._picture, self._runtime))


_MACHINE_CODE = {"used": "used", "off": "off (orbitNative)", "not used": "not used; the log says why"}


def runtime_pairs(picture: StorePicture, runtime: BrokerRuntime | None) -> list[tuple[str, str]]:
    """Flush mode and put times of the broker, as names and values."""
    flush = tr("asynchronous, every {time}", time=duration_text(picture.flush_interval_ms))
    mode = tr("synchronous") if picture.flush_disk_type == "SYNC_FLUSH" else flush
    took = picture.flush_took_us
    pairs = [
        (tr("Flush"), mode),
        (tr("Last sync"), milliseconds_text(took[-1] / 1_000 if took else None)),
    ]
    if took:
        pairs.append((tr("Longest of {count}", count=len(took)), milliseconds_text(max(took) / 1_000)))
    if runtime is not None:
        longest = runtime.number("putMessageEntireTimeMax") or None  # 0 until something was put
        pairs.append((tr("Failed puts"), count_text(runtime.number("putMessageFailedTimes"))))
        pairs.append((tr("Longest put"), milliseconds_text(longest)))
    pairs.append((tr("Machine code"), tr(_MACHINE_CODE[picture.machine_code])))
    return pairs

"""`OffsetsPanel`: the offsets of a group before its resets, to be restored."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.models.offset_moves import SnapshotRow, snapshot_rows
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.operations.snapshots import OffsetSnapshots
from gui.theme.tokens import Size
from gui.views.acting import set_acting
from gui.views.action_dialog import read_only_reason
from gui.views.consumers.reset_dialog import KIND_NAMES
from gui.views.page import PageContext
from gui.widgets.basic import column
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.said import push_button, said
from gui.words.text import QueueText, TimeZoneChoice, count_text, tr
from monitoring.admin.offsets import OffsetSnapshot

UNDO = "undo"
OFFSETS_NAMED = 8


def reason_text(reason: str) -> str:
    """The operation before which a snapshot was saved, in words."""
    if reason == UNDO:
        return tr("put back")
    kinds = {kind.value: name for kind, name in KIND_NAMES.items()}
    return tr(kinds[reason]) if reason in kinds else reason


def snapshot_columns(times: TimeZoneChoice, queue_text: QueueText) -> list[Column[SnapshotRow]]:
    return [
        Column("at", "Saved", lambda row: times.minutes(row.snapshot.taken_ms)[:11] + times.seconds(row.snapshot.taken_ms),
               sort=lambda row: row.snapshot.taken_ms, kind=CellKind.STRONG, width=166),
        Column("topic", "Topic", lambda row: row.snapshot.topic),
        Column("before", "Before", lambda row: reason_text(row.snapshot.reason), width=96),
        number_column("queues", "Queues", lambda row: len(row.snapshot.offsets), str, width=70),
        Column("offsets", "Offsets", lambda row: offsets_text(row.snapshot, queue_text), kind=CellKind.CODE, dim=True,
               width=200),
    ]  # fmt: skip


def offsets_text(snapshot: OffsetSnapshot, queue_text: QueueText) -> str:
    """``0: 273,200, 1: 273,161, …``."""
    words = [f"{queue_text(queue)}: {count_text(offset)}" for queue, offset in snapshot.offsets[:OFFSETS_NAMED]]
    return ", ".join(words) + (", …" if len(snapshot.offsets) > OFFSETS_NAMED else "")


class OffsetsPanel(QWidget):
    """A list with one action.

    Signals:
        undo_wanted: Restore a snapshot; carries it.
        reset_wanted: Reset the offsets of the group.
    """

    undo_wanted = Signal(object)
    reset_wanted = Signal()

    def __init__(self, context: PageContext, snapshots: OffsetSnapshots) -> None:
        super().__init__()
        self._snapshots = snapshots
        self._source = context.source
        self._group = ""
        self.model = ColumnTableModel(snapshot_columns(context.times, context.queue_text), lambda row: row.number, parent=self)
        self.grid = DataGrid(self.model, context.theme)
        self.undo_button = push_button("Put back…", self._undo_clicked)
        self._panel = said(Panel(" ", flush=True), title="Saved offsets", subtitle="kept here before each reset")
        self._panel.add_action(self.undo_button)
        self._panel.content.addWidget(self.grid)
        self.setLayout(column(self._panel, spacing=-1, margins=(0, Size.GAP, 0, 0)))
        snapshots.changed.connect(self._read)
        self.grid.selected.connect(self._show_selected)
        self.grid.activated.connect(lambda _row: self.undo_button.click())
        context.times.changed.connect(self.model.all_texts_changed)
        self._show_selected(None)
        words = partial(
            tr, "Nothing was reset from here yet. Before each reset the offsets are saved here, and can be put back."
        )
        offer = "" if read_only_reason(self._source) else partial(tr, "Reset offsets…")
        self.grid.set_empty(words, offer, self.reset_wanted.emit)

    @property
    def newest(self) -> OffsetSnapshot | None:
        return self.model.rows[0].snapshot if self.model.rows else None

    def show_group(self, group: str) -> None:
        """Show the snapshots of another group; nothing happens for the shown one."""
        if group != self._group:
            self._group = group
            self._read()

    def _read(self) -> None:
        self.model.set_rows(snapshot_rows(self._snapshots.of(self._group)) if self._group else [])
        self.grid.select_first()

    def _show_selected(self, row: SnapshotRow | None) -> None:
        set_acting(self.undo_button, read_only_reason(self._source), able=row is not None)

    def _undo_clicked(self) -> None:
        row = self.grid.selected_row
        if row is not None:
            self.undo_wanted.emit(row.snapshot)

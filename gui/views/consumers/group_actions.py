"""`GroupActions`: actions on a group: reset its offsets, restore them, delete it, look at a client.

`ClientDialog`: the state of one client of a group: its settings, the queues it holds, the stacks of its threads.
"""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from broker_core.api import OrbitError, ProcessQueueInfo, RunningInfo, read_running_info
from gui.models.consumers import GroupRow, MemberRow, group_rows, position_rows
from gui.models.offset_moves import queue_stands, sums_of, undo_moves
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.operations.background import BackgroundCall
from gui.operations.offset_reset import OffsetReset, ResetOrder, ResetResult, result_text
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer
from gui.operations.snapshots import OffsetSnapshots
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.consumers.group_settings import delete_group_dialog
from gui.views.consumers.offsets_panel import UNDO, offsets_text
from gui.views.consumers.reset_dialog import ResetDialog, online_words, sums_text
from gui.views.list_read import say_not_read
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, column, fill, row
from gui.widgets.code_view import CodeView
from gui.widgets.containers import Parts
from gui.widgets.data_grid import DataGrid
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Notice
from gui.widgets.popups import opened
from gui.widgets.progress_line import ProgressLine
from gui.widgets.said import push_button
from gui.words.plain_text import title_text
from gui.words.text import UNKNOWN, QueueText, TimeZoneChoice, count_text, milliseconds_text, rate_text, tr
from monitoring.admin.clients import ask_running_info, read_stacks
from monitoring.admin.offsets import OffsetSnapshot
from monitoring.state import ClusterState

WIDTH, HEIGHT = 780, 620


def held_columns(times: TimeZoneChoice, queue_text: QueueText) -> list[Column[ProcessQueueInfo]]:
    return [
        Column("topic", "Topic", lambda queue: queue.topic, kind=CellKind.STRONG),
        number_column("queue", "Queue", lambda queue: queue.queue_id, queue_text, width=76),
        number_column("held", "Held messages", lambda queue: queue.held_messages, width=112),
        number_column("commit", "Commits", lambda queue: queue.commit_offset, width=96),
        Column("pull", "Last pull", lambda queue: _moment(times, queue.last_pull_ms), sort=lambda queue: queue.last_pull_ms,
               right=True, width=108),
        Column("consumed", "Last consumed", lambda queue: _moment(times, queue.last_consume_ms),
               sort=lambda queue: queue.last_consume_ms, right=True, width=112),
        Column("lock", "Lock", lambda queue: tr("locked") if queue.is_locked else tr("not ordered"), dim=True, width=90),
    ]  # fmt: skip


class ClientDialog(FittedDialog):
    """Asks the client when it opens and on Refresh; the client answers through the broker."""

    def __init__(self, context: PageContext, group: str, member: MemberRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._group = group
        self._client_id = member.client_id
        self._query: LatestQuery[RunningInfo] = LatestQuery(self)
        self.info: RunningInfo | None = None
        self.setWindowTitle(title_text(member.client_id))
        self.resize(WIDTH, HEIGHT)
        self.facts = KeyValueList()
        self.fault = Notice(context.theme)
        self.progress = ProgressLine(context.theme)
        self.queues = ColumnTableModel(
            held_columns(context.times, context.queue_text), lambda queue: (queue.topic, queue.queue_id), parent=self
        )
        self.queue_grid = DataGrid(self.queues, context.theme)
        self.queue_grid.set_empty(tr("The client owns no queue."))
        self.stacks = CodeView(context.theme, "text")
        self.stacks.setAccessibleName(tr("Stacks"))
        # Without a parent: it must outlive a dialog that is closed while a dump is read.
        self._grouping = BackgroundCall(newest_only=True)
        self._grouping.done.connect(self._show_stacks)
        self.properties = KeyValueList(mono=True)
        self.tabs = Parts()
        self.refresh_button = push_button("Refresh", self.refresh)
        self.copy_button = push_button("Copy stacks", lambda: QGuiApplication.clipboard().setText(self.stacks.toPlainText()))
        self._build(member)
        self.refresh()

    def refresh(self) -> None:
        self.progress.show()
        self.refresh_button.setEnabled(False)
        request = ask_running_info(self._group, self._client_id, stacks=True)
        asked = self._context.source.ask(request)
        self._query.ask(
            ReadAnswer(asked, lambda answer: read_running_info(self._client_id, answer.body)), self._take, self._failed
        )

    def _build(self, member: MemberRow) -> None:
        properties = QWidget()
        properties.setLayout(column(self.properties, 1, spacing=-1, margins=(0, 8, 0, 0)))
        for page, title in ((self.stacks, "Stacks"), (self.queue_grid, "Held queues"), (properties, "Settings")):
            self.tabs.addTab(page, tr(title))
        close = push_button("Close", self.accept)
        for button in (self.refresh_button, self.copy_button):
            button.setAutoDefault(False)
        fill(
            self.lay_out(spacing=10),
            ElidedLabel(member.client_id, "card-title", mode=Qt.TextElideMode.ElideMiddle),
            self.progress,
            self.facts,
            self.fault,
            (self.tabs, 1),
        )
        self.set_foot(row(self.copy_button, self.refresh_button, 1, close))
        self.facts.set_pairs([(tr("Address"), member.address), (tr("Client"), f"{member.language} {member.version}")])

    def _take(self, info: RunningInfo) -> None:
        self._idle()
        self.fault.set("")
        self.info = info
        self.facts.set_pairs(self._facts(info))
        self.queues.set_rows(info.queues)
        self.properties.set_pairs(info.properties)
        self._grouping.start(partial(stacks_text, info.stacks))

    def _show_stacks(self, text: str) -> None:
        self.stacks.setPlainText(text or tr("The client reported no stacks."))

    def _failed(self, error: OrbitError) -> None:
        self._idle()
        say_not_read(self.fault, lambda: tr("The client did not report what it does"), error, self.refresh)

    def _idle(self) -> None:
        self.progress.hide()
        self.refresh_button.setEnabled(True)

    def _facts(self, info: RunningInfo) -> list[tuple[str, str]]:
        started = self._context.times.full(info.start_ms)
        consumed = f"{rate_text(info.consumed_rate)}, {tr('{rate} failed', rate=rate_text(info.failed_rate))}"
        return [
            (tr("Started"), started),
            (tr("Threads"), count_text(info.threads)),
            (tr("Consumed"), consumed if not math.isnan(info.consumed_rate) else UNKNOWN),
            (tr("Consume time"), milliseconds_text(info.consume_ms)),
            (tr("Held messages"), count_text(info.held_messages)),
            (tr("Subscribes"), ", ".join(f"{topic} {expression}" for topic, expression in info.subscriptions)),
        ]


def stacks_text(dump: str) -> str:
    """A stack dump with equal stacks written once, under the names of all their threads; empty without a stack."""
    blocks = []
    for stack in read_stacks(dump):
        names = ", ".join(stack.names[:8]) + (f", … ({len(stack.names)})" if len(stack.names) > 8 else "")
        head = f"{len(stack.names)} × {names}" if len(stack.names) > 1 else names
        blocks.append("\n".join([f"{head}  {stack.state}".rstrip(), *(f"    {frame}" for frame in stack.frames)]))
    return "\n\n".join(blocks)


def _moment(times: TimeZoneChoice, at_ms: int) -> str:
    return times.seconds(at_ms) if at_ms > 0 else UNKNOWN


class GroupActions:
    """Opens the dialogs over a page and reports their results."""

    def __init__(self, context: PageContext, snapshots: OffsetSnapshots, page: QWidget) -> None:
        self._context = context
        self._snapshots = snapshots
        self._page = page
        self._state: ClusterState | None = None

    def set_state(self, state: ClusterState) -> None:
        """Use these figures in the next dialog."""
        self._state = state

    def reset(self, group: GroupRow | None, topic: str = "") -> ResetDialog | None:
        """Ask for new offsets of a group, proposing ``topic``; None for a group without positions."""
        state = self._state
        if group is None or state is None or not position_rows(state, group.name):
            return None
        dialog = ResetDialog(self._context, self._snapshots, group, state, topic=topic, parent=self._page)
        dialog.succeeded.connect(self._moved)
        return opened(dialog)

    def undo(self, group: GroupRow | None, snapshot: OffsetSnapshot) -> ActionDialog | None:
        """Ask whether to restore the offsets of a snapshot."""
        state = self._state
        if state is None or group is None:
            return None
        stands = queue_stands(state, snapshot.topic, position_rows(state, snapshot.group))
        moves = [move for move in undo_moves(snapshot, stands) if move.moves]
        order = ResetOrder(group.name, snapshot.topic, moves, None, not group.offline, UNDO, state.taken_ms)
        plan = ActionPlan(
            title=tr("Put the offsets of {group} back", group=group.name),
            effects=[sums_text(sums_of(moves)), online_words(group)],
            verb=tr("Put back {count} queues", count=len(moves)),
            start=lambda: OffsetReset(self._context.source, self._snapshots, order),
            facts=[
                (tr("Topic"), snapshot.topic),
                (tr("Saved"), self._context.times.full(snapshot.taken_ms)),
                (tr("Offsets"), offsets_text(snapshot, self._context.queue_text)),
            ],
            enter_starts=True,
            refusal=read_only_reason(self._context.source),
        )
        dialog = ActionDialog(plan, self._context.theme, self._page)
        dialog.set_blocked("" if moves else tr("The group stands there already."))
        dialog.succeeded.connect(self._moved)
        return opened(dialog)

    def delete(self, group: GroupRow | None) -> ActionDialog | None:
        if group is None or self._state is None:
            return None
        if group.is_system:
            self._context.notify(lambda: tr("The broker needs this group itself."), state=State.INFO)
            return None
        dialog = delete_group_dialog(self._context.source, self._context.theme, group, self._state, self._page)
        name, notify = group.name, self._context.notify
        deleted = partial(notify, lambda: tr("Group {group} is deleted", group=name), state=State.HEALTHY)
        dialog.succeeded.connect(lambda _answer: deleted())
        return opened(dialog)

    def client(self, group: str, member: MemberRow) -> ClientDialog:
        return opened(ClientDialog(self._context, group, member, self._page))

    def _moved(self, result: ResetResult) -> None:
        group = result.snapshot.group

        def undo() -> None:
            if isValid(self._page) and self._state is not None:
                self.undo(next((row for row in group_rows(self._state) if row.name == group), None), result.snapshot)

        self._context.notify(
            lambda: result_text(result, group), state=State.HEALTHY, action=lambda: tr("Undo…"), on_action=undo
        )

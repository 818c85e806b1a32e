"""`GroupActions`: actions on a group: reset its offsets, restore them, delete it, look at a client."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from gui.models.consumers import GroupRow, MemberRow, group_rows, position_rows
from gui.models.offset_moves import queue_stands, sums_of, undo_moves
from gui.operations.offset_reset import OffsetReset, ResetOrder, ResetResult, result_text
from gui.operations.snapshots import OffsetSnapshots
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.consumers.client_dialog import ClientDialog
from gui.views.consumers.group_settings import delete_group_dialog
from gui.views.consumers.offsets_panel import UNDO, offsets_text
from gui.views.consumers.reset_dialog import ResetDialog, online_words, sums_text
from gui.views.page import PageContext
from gui.widgets.popups import opened
from gui.words.text import tr
from monitoring.admin.offsets import OffsetSnapshot
from monitoring.state import ClusterState


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
                (tr("Offsets"), offsets_text(snapshot)),
            ],
            enter_starts=True,
            refusal=read_only_reason(self._context.source),
        )
        dialog = ActionDialog(plan, self._context.theme, self._page)
        dialog.set_blocked("" if moves else tr("The group stands there already."))
        dialog.succeeded.connect(self._moved)
        return opened(dialog)

    def delete(self, group: GroupRow | None) -> ActionDialog | None:
        """Ask whether to delete a group."""
        if group is None or self._state is None:
            return None
        if group.is_system:
            self._context.notify(lambda: tr("The broker needs this group itself."), state=State.WARNING)
            return None
        dialog = delete_group_dialog(self._context.source, self._context.theme, group, self._state, self._page)
        name, notify = group.name, self._context.notify
        deleted = partial(notify, lambda: tr("Group {group} is deleted", group=name), state=State.HEALTHY)
        dialog.succeeded.connect(lambda _answer: deleted())
        return opened(dialog)

    def client(self, group: str, member: MemberRow) -> ClientDialog:
        """Show the state of a client."""
        return opened(ClientDialog(self._context, group, member, self._page))

    def _moved(self, result: ResetResult) -> None:
        group = result.snapshot.group

        def undo() -> None:
            if isValid(self._page) and self._state is not None:
                self.undo(next((row for row in group_rows(self._state) if row.name == group), None), result.snapshot)

        self._context.notify(
            lambda: result_text(result, group), state=State.HEALTHY, action=lambda: tr("Undo…"), on_action=undo
        )

"""`DelayActions`: dialogs that deliver, cancel or move waiting messages. Each shows the consequences first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtWidgets import QLineEdit, QWidget

from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.delays import ActOnDelayed, ActOnTimers
from gui.models.delay import TIMER, WaitingRow
from gui.models.messages import entered_time
from gui.theme.manager import ThemeManager
from gui.views.action_dialog import ActionDialog, ActionPlan, cannot_reason, read_only_reason
from gui.widgets.basic import label, row
from gui.words.text import TimeZoneChoice, count_text, duration_text, tr
from monitoring.sources.base import ClusterSource, Pending

DELIVER, CANCEL, MOVE = "deliver", "cancel", "move"


class DelayActions:
    def __init__(self, source: ClusterSource, theme: ThemeManager, times: TimeZoneChoice, now_ms: Callable[[], int]) -> None:
        self._source = source
        self._theme = theme
        self._times = times
        self._now_ms = now_ms

    def deliver_now(self, rows: Sequence[WaitingRow], parent: QWidget) -> ActionDialog:
        """Ask whether to deliver messages before their time."""
        title = _counted(rows, "Deliver 1 message now", "Deliver {count} messages now")
        plan = ActionPlan(
            title=title,
            effects=[tr("Consumers of the real topic get them at once. This cannot be taken back.")],
            verb=title,
            start=lambda: self._act(DELIVER, rows),
            facts=self._facts(rows),
        )
        return self._of(plan, parent)

    def cancel(self, rows: Sequence[WaitingRow], parent: QWidget) -> ActionDialog:
        """Ask whether to cancel messages for good."""
        title = _counted(rows, "Cancel 1 message", "Cancel {count} messages")
        plan = ActionPlan(
            title=title,
            effects=[tr("They are never delivered. Their records stay in the log until it is cleaned.")],
            verb=title,
            start=lambda: self._act(CANCEL, rows),
            facts=self._facts(rows),
            warning=tr("A broker that does not know these exceptions, opened on the same store, delivers them.")
            if rows[0].level != TIMER
            else "",
            typed=rows[0].topic,
            is_destructive=True,
        )
        return self._of(plan, parent)

    def move(self, rows: Sequence[WaitingRow], parent: QWidget) -> ActionDialog:
        due = QLineEdit("+10m")
        title = _counted(rows, "Move 1 message to another time", "Move {count} messages to another time")
        plan = ActionPlan(
            title=title,
            effects=[],
            verb=_counted(rows, "Move 1 message", "Move {count} messages"),
            start=lambda: self._act(MOVE, rows, self._entered(due) or -1),
            facts=self._facts(rows),
            enter_starts=True,
        )
        dialog = self._of(plan, parent)
        preview = label(role="caption", wrap=True)
        due.setAccessibleName(tr("Deliver at"))
        due.setToolTip(tr("+10m, 10:15, 2026-11-21 10:15 or epoch milliseconds"))
        dialog.extra.addLayout(row(label(tr("Deliver at"), "secondary"), due))
        dialog.extra.addWidget(preview)

        def check() -> None:
            now_ms = self._now_ms()
            at_ms, unclear = entered_time(due.text(), now_ms, self._times.zone)
            if at_ms is None:
                fault = unclear or tr("This is no time. Use +10m, 10:15, 2026-11-21 10:15 or epoch milliseconds.")
                dialog.set_blocked(fault)
                preview.setText(fault)
                return
            dialog.set_blocked("")
            if at_ms <= now_ms:
                preview.setText(tr("This time is past: the messages are delivered at once."))
            else:
                preview.setText(tr("{time}, in {span}", time=self._times.full(at_ms), span=duration_text(at_ms - now_ms)))

        due.textChanged.connect(check)
        check()
        return dialog

    @property
    def refusal(self) -> str:
        """Why waiting messages cannot be changed; empty where they can."""
        return read_only_reason(self._source) or cannot_reason(self._source, Ability.CHANGE_WAITING)

    def _of(self, plan: ActionPlan, parent: QWidget) -> ActionDialog:
        return ActionDialog(replace(plan, refusal=self.refusal), self._theme, parent)

    def _entered(self, field: QLineEdit) -> int | None:
        return entered_time(field.text(), self._now_ms(), self._times.zone)[0]

    def _act(self, action: str, rows: Sequence[WaitingRow], due_ms: int = -1) -> Pending[Any]:
        # Both kinds name a message by two numbers; see `WaitingRow.position`.
        first = [number for number, _second in (one.position for one in rows)]
        second = [number for _first, number in (one.position for one in rows)]
        if rows[0].level == TIMER:
            return self._source.ask(ActOnTimers(action, slot_ms=first, position=second, due_ms=due_ms))
        return self._source.ask(ActOnDelayed(action, rows[0].level, queue_offset=first, physical_offset=second, due_ms=due_ms))

    def _facts(self, rows: Sequence[WaitingRow]) -> list[tuple[str, str]]:
        topics = list(dict.fromkeys(one.topic for one in rows))
        due = sorted(one.due_ms for one in rows)
        facts = [(tr("Real topic"), ", ".join(topics[:4]) + ("…" if len(topics) > 4 else ""))]
        if len(rows) == 1:
            facts += [(tr("Key"), rows[0].keys or rows[0].unique_key), (tr("Due at"), self._times.full(due[0]))]
        else:
            facts += [(tr("Messages"), count_text(len(rows)))]
            facts += [(tr("Due from"), self._times.full(due[0])), (tr("Due until"), self._times.full(due[-1]))]
        return facts


def result_text(action: str, done: int, gone: int) -> str:
    """The result of an action, in a sentence."""
    words = {
        DELIVER: tr("{count} delivered now", count=count_text(done)),
        CANCEL: tr("{count} cancelled", count=count_text(done)),
        MOVE: tr("{count} moved", count=count_text(done)),
    }[action]
    return f"{words}; " + tr("{count} no longer waited", count=count_text(gone)) if gone else words


def _counted(rows: Sequence[WaitingRow], one: str, several: str) -> str:
    return tr(one) if len(rows) == 1 else tr(several, count=count_text(len(rows)))

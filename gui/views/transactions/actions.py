"""Dialogs that commit, roll back, check, resume or abort transactions. Each says the consequences first."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QWidget

from broker_core.api import own_offset
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.transactions import AbortAtomic, CheckTransaction, EndTransaction, ResumeTransaction
from gui.models.queue_window import queue_text
from gui.models.transactions import WAITING, AtomicRow, TransactionRow
from gui.theme.manager import ThemeManager
from gui.views.action_dialog import ActionDialog, ActionPlan, cannot_reason, read_only_reason
from gui.words.text import TimeZoneChoice, count_text, duration_text, tr
from monitoring.sources.base import ClusterSource

COMMIT, ROLL_BACK, CHECK, RESUME, ABORT = "commit", "roll back", "check", "resume", "abort"
_ABILITIES = {
    COMMIT: Ability.DECIDE_TRANSACTIONS,
    ROLL_BACK: Ability.DECIDE_TRANSACTIONS,
    CHECK: Ability.CHECK_TRANSACTIONS,
    ABORT: Ability.ATOMIC_TRANSACTIONS,
}
"""Required ability of an action; all brokers can resume a given-up message."""


class TransactionDialogs:
    """Makes the dialogs. The typed word is the key of the transaction, or its replacement."""

    def __init__(self, source: ClusterSource, theme: ThemeManager, times: TimeZoneChoice) -> None:
        self._source = source
        self._theme = theme
        self._times = times

    def dialog(self, action: str, row: TransactionRow, parent: QWidget) -> ActionDialog:
        if action in (COMMIT, ROLL_BACK):
            plan = self._end(row, commit=action == COMMIT)
        else:
            plan = {CHECK: self._check, RESUME: self._resume}[action](row)
        return ActionDialog(replace(plan, refusal=self.refusal(action)), self._theme, parent)

    def refusal(self, action: str) -> str:
        """Why an action is impossible here; empty where it is possible."""
        ability = _ABILITIES.get(action)
        cannot = cannot_reason(self._source, ability) if ability is not None else ""
        return read_only_reason(self._source) or cannot

    def abort(self, row: AtomicRow, parent: QWidget) -> ActionDialog:
        """The dialog that aborts an open atomic transaction."""
        plan = ActionPlan(
            title=tr("Abort the open transaction of {name}", name=row.name),
            effects=[
                tr("Its messages stay in the log, but readers of committed messages never get them."),
                tr("The producer gets an error at its next request and must begin again."),
            ],
            verb=tr("Abort 1 transaction"),
            start=lambda: self._source.ask(AbortAtomic(row.name)),
            facts=[
                (tr("Queues"), ", ".join(f"{one.topic} {one.queue_id}" for one in row.queues[:6])),
                (tr("Held back"), tr("{count} messages", count=count_text(row.held_back))),
                (tr("Timeout"), duration_text(row.timeout_ms)),
            ],
            typed=row.name,
            is_destructive=True,
            refusal=self.refusal(ABORT),
        )
        return ActionDialog(plan, self._theme, parent)

    def _end(self, row: TransactionRow, *, commit: bool) -> ActionPlan:
        name, topic, queue = _name(row), row.topic, self._queue_text(row)
        effect = tr("Consumers of {topic} never get this message.", topic=topic)
        if commit:
            effect = tr("1 message is written to {topic}, queue {queue}; its consumers get it.", topic=topic, queue=queue)
        closes = tr("1 op record closes the half message at {offset}.", offset=count_text(row.half_offset))
        return ActionPlan(
            title=tr("Commit {name}", name=name) if commit else tr("Roll back {name}", name=name),
            effects=[effect, closes],
            verb=tr("Commit 1 transaction") if commit else tr("Roll back 1 transaction"),
            start=lambda: self._source.ask(EndTransaction(row.origin, commit=commit)),
            facts=self._facts(row),
            warning=tr("The producer may have decided otherwise. This cannot be taken back."),
            typed=name,
            is_destructive=not commit,
        )

    def _check(self, row: TransactionRow) -> ActionPlan:
        return ActionPlan(
            title=tr("Check {name} now", name=_name(row)),
            effects=[
                tr("A connected producer of {group} is asked how its local transaction stands.", group=row.group),
                tr("This uses up 1 of {count} checks that are left.", count=max(0, row.check_times_max - row.check_times)),
            ],
            verb=tr("Check 1 transaction"),
            start=lambda: self._source.ask(CheckTransaction(row.origin)),
            facts=self._facts(row),
            warning=tr("No producer of {group} is connected: nobody can be asked.", group=row.group)
            if row.state == WAITING
            else "",
        )

    def _resume(self, row: TransactionRow) -> ActionPlan:
        return ActionPlan(
            title=tr("Resume {name}", name=_name(row)),
            effects=[tr("The message goes back into the half queue with 0 checks, and its producers are asked again.")],
            verb=tr("Resume 1 transaction"),
            start=lambda: self._source.ask(ResumeTransaction(row.physical_offset)),
            facts=self._facts(row),
            typed=_name(row),
        )

    def _queue_text(self, row: TransactionRow) -> str:
        return queue_text(self._source.state, row.queue_id)

    def _facts(self, row: TransactionRow) -> list[tuple[str, str]]:
        return [
            (tr("Would go to"), tr("{topic}, queue {queue}", topic=row.topic, queue=self._queue_text(row))),
            (tr("Producers"), tr("{group}, {count} connected", group=row.group, count=max(0, row.producers))),
            (tr("Born"), self._times.full(row.born_ms)),
            (tr("Checks"), tr("{count} of {most}", count=row.check_times, most=row.check_times_max)),
        ]


def done_text(action: str, row: TransactionRow) -> str:
    """The result of an action, in a sentence."""
    words = {
        COMMIT: "{name} is committed",
        ROLL_BACK: "{name} is rolled back",
        CHECK: "A producer was asked about {name}",
        RESUME: "{name} is checked again",
    }
    return tr(words[action], name=_name(row))


def _name(row: TransactionRow) -> str:
    return row.name or str(own_offset(row.origin))

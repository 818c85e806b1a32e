"""`RetryLadder`: the attempts of a waiting message: which failed, which is next and when, and when it would die."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.retry_facts import LimitFrom, RetryFacts
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import label
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, TimeZoneChoice, count_text, duration_text, tr
from monitoring.dead_letters import Rung, WaitingRetry, retry_ladder


class RetryLadder(Panel):
    """Beside the retries that wait."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, parent: QWidget | None = None) -> None:
        super().__init__(" ", parent=parent)
        self._retry: WaitingRetry | None = None
        self._facts: RetryFacts | None = None
        self.model: ColumnTableModel[Rung] = ColumnTableModel(
            [
                Column("attempt", "Attempt", lambda rung: str(rung.attempt), right=True, width=64),
                Column("wait", "Waits", lambda rung: duration_text(rung.wait_ms), right=True, width=66),
                Column("due", "Earliest",
                       lambda rung: times.seconds(rung.due_ms) if rung.due_ms >= 0 else UNKNOWN,
                       tip=lambda rung: times.full(rung.due_ms)),
                Column("state", "State", lambda rung: self._state(rung)[0], kind=CellKind.CHIP,
                       state=lambda rung: self._state(rung)[1], width=84),
            ],
            lambda rung: rung.attempt,
            parent=self,
        )  # fmt: skip
        self.grid = DataGrid(self.model, theme)
        self.grid.header.setSectionsClickable(False)
        self.note = label(role="caption", wrap=True)
        self.content.addWidget(self.grid, 1)
        self.content.addWidget(self.note)
        self.retranslate()

    def show_retry(self, retry: WaitingRetry | None, facts: RetryFacts | None, delays_ms: Sequence[int]) -> None:
        """Show the attempts of a message; None: of none.

        Args:
            retry: What waits.
            facts: Which attempt it waits for, and how many there are.
            delays_ms: Delays of the broker's levels, from level 1.
        """
        self._retry, self._facts = retry, facts
        if retry is None or facts is None:
            self.model.set_rows([])
        else:
            self.model.set_rows(retry_ladder(facts.attempt, retry.due_ms, delays_ms, retries=facts.limit))
        self._show_texts()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.grid.set_empty(tr("Choose a retry to see its attempts."))
        self._show_texts()

    def _show_texts(self) -> None:
        retry, facts = self._retry, self._facts
        self.set_title(tr("Retry ladder"), "" if retry is None else retry.keys or retry.group)
        self.note.setText("" if retry is None or facts is None else _limit_words(retry.group, facts))
        self.model.all_texts_changed()

    def _state(self, rung: Rung) -> tuple[str, State]:
        attempt = 0 if self._facts is None else self._facts.attempt
        if rung.attempt < attempt:
            return tr("Failed"), State.CRITICAL
        return (tr("Next"), State.RETRY) if rung.attempt == attempt else (tr("To come"), State.IDLE)


def _limit_words(group: str, facts: RetryFacts) -> str:
    count = count_text(facts.limit)
    if facts.limit_from is LimitFrom.MESSAGE:
        return tr("The message allows {count} attempts; then it becomes a dead letter.", count=count)
    if facts.limit_from is LimitFrom.GROUP:
        words = tr("{group} allows {count} attempts; then it becomes a dead letter.", group=group, count=count)
        return f"{words} {tr('A limit that a client sets itself counts more.')}"
    if facts.unknown:
        return tr("How many attempts {group} allows is not known ({reason}); the default is {count}.", group=group,
                  reason=broker_text(facts.unknown), count=count)  # fmt: skip
    return ""

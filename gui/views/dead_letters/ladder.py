"""`RetryLadder`: the attempts of a waiting message: which failed, which is next and when, and when it would die."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from gui.models.table import CellKind, Column, ColumnTableModel
from gui.text import UNKNOWN, TimeZoneChoice, duration_text, tr
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.basic import label
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from monitoring.dead_letters import RETRIES_DEFAULT, Rung, WaitingRetry, retry_ladder


class RetryLadder(Panel):
    """Beside the retries that wait."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, parent: QWidget | None = None) -> None:
        super().__init__(" ", parent=parent)
        self._attempt = 0
        self.model: ColumnTableModel[Rung] = ColumnTableModel(
            [
                Column("attempt", "Attempt", lambda rung: str(rung.attempt), right=True, width=64),
                Column("wait", "After", lambda rung: duration_text(rung.wait_ms), right=True, width=66),
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

    def show_retry(self, retry: WaitingRetry | None, delays_ms: Sequence[int]) -> None:
        """Show the attempts of a message; None: of none."""
        self._attempt = retry.attempt if retry is not None else 0
        self.set_title(tr("Retry ladder"), "" if retry is None else retry.keys or retry.group)
        self.model.set_rows(retry_ladder(retry, delays_ms) if retry is not None else [])
        self.model.all_texts_changed()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.set_title(tr("Retry ladder"))
        self.grid.set_empty(tr("Choose a retry to see its attempts."))
        words = tr("{count} attempts unless the group is set otherwise; then it becomes a dead letter.", count=RETRIES_DEFAULT)
        self.note.setText(words)
        self.model.all_texts_changed()

    def _state(self, rung: Rung) -> tuple[str, State]:
        if rung.attempt < self._attempt:
            return tr("Failed"), State.CRITICAL
        return (tr("Next"), State.RETRY) if rung.attempt == self._attempt else (tr("Later"), State.IDLE)

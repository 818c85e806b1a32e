"""`WaitingRetries`: the table of the retries that wait, and beside it the attempts of one of them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from broker_core.api import OrbitError
from gui.models.table import ColumnTableModel
from gui.operations.retry_facts import RetryReader
from gui.views.dead_letters.columns import retry_columns
from gui.views.dead_letters.ladder import RetryLadder
from gui.views.dead_letters.reader import DeadLetterReader
from gui.views.list_read import ListRead
from gui.views.page import PageContext
from gui.widgets.data_grid import DataGrid
from gui.words.text import count_text, tr
from monitoring.dead_letters import WaitingRetry
from monitoring.state import ClusterState


class WaitingRetries(QObject):
    """Fills ``grid`` and ``ladder``, which the page puts in their places; reads the attempts only while it is looked at.

    Args:
        context: Source, colours and times.
        reader: Reads the retries.
        now_ms: The time that waits count from.
        try_again: Reads anew after an error.
        parent: The page.
    """

    def __init__(
        self,
        context: PageContext,
        reader: DeadLetterReader,
        now_ms: Callable[[], int],
        try_again: Callable[[], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._reader = reader
        self._try_again = try_again
        self._state: ClusterState | None = None
        self._is_shown = False
        self.model: ColumnTableModel[WaitingRetry] = ColumnTableModel(
            retry_columns(context.times, now_ms), lambda one: one.physical_offset, parent=self
        )
        self.grid = DataGrid(self.model, context.theme)
        self._list_read = ListRead(context.times)
        self.ladder = RetryLadder(context.theme, context.times)
        self.attempts = RetryReader(context.source, self)
        self.grid.selected.connect(lambda _retry: self._read_attempts())
        self.attempts.changed.connect(self._show_attempts)
        reader.retries_failed.connect(self._failed)

    @property
    def foot(self) -> str:
        """How many there are, in a line."""
        if self._list_read.is_failed:
            return ""
        cut = tr("only the first of each delay level are listed") if self._reader.retries_are_cut else ""
        return cut or tr("{count} retries wait, next first", count=count_text(len(self.model.rows)))

    def show(self, *, is_shown: bool) -> None:
        """Know whether they are looked at."""
        self._is_shown = is_shown
        self._read_attempts()

    def state_changed(self, state: ClusterState) -> None:
        """Take in the time and the delays of the levels."""
        self._state = state
        self.grid.view.viewport().update()

    def read(self) -> None:
        """Show what the reader has read."""
        self._list_read.answered()
        self._show_read()
        self.model.set_rows(self._reader.retries or [])
        if self._is_shown:
            self.grid.select_first()
        self._read_attempts()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.ladder.retranslate()
        self.grid.set_empty(tr("No retry waits."))
        self.model.all_texts_changed()

    def _read_attempts(self) -> None:
        if self._is_shown and self._state is not None:
            self.attempts.read(self.grid.selected_row)
            self._show_attempts()

    def _show_attempts(self) -> None:
        if self._state is not None:
            delays = [int(delay) for delay in self._state.delays.delay_ms]
            self.ladder.show_retry(self.grid.selected_row, self.attempts.facts, delays)

    def _failed(self, error: OrbitError) -> None:
        self._list_read.refused(error)
        self._show_read()

    def _show_read(self) -> None:
        self._list_read.show_in(self.grid, lambda: tr("The retries could not be read."), self._try_again)

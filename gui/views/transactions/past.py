"""`PastPages`: all transactions of the retained store, also those that ended before the start, page by page."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from broker_core.worker.questions.transactions import ReadTransactionHistory, TransactionHistory
from gui.models.transactions import TransactionRow, past_rows
from gui.operations.queries import LatestQuery
from monitoring.payload.listed import MaskOf
from monitoring.sources.base import ClusterSource

PAGE_ROWS = 200
NEWEST = -1


class PastPages(QObject):
    """Pages from the newest transaction backwards.

    Signals:
        changed: A page was read.
        failed: It was not read; carries the error.
    """

    changed = Signal()
    failed = Signal(object)

    def __init__(self, source: ClusterSource, mask_of: MaskOf, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._mask_of = mask_of
        self._query: LatestQuery[TransactionHistory] = LatestQuery(self)
        self._starts = [NEWEST]
        self._next = -1
        self.rows: list[TransactionRow] = []
        self.notice = ""

    @property
    def has_older(self) -> bool:
        return self._next >= 0

    @property
    def has_newer(self) -> bool:
        return self._starts[-1] != NEWEST

    def read(self) -> None:
        """Read the page again."""
        self._query.ask(self._source.ask(ReadTransactionHistory(self._starts[-1], PAGE_ROWS)), self._show, self.failed.emit)

    def begin(self, before: int = NEWEST) -> None:
        """Read the transactions before a half offset, or the newest ones."""
        self._starts = [NEWEST] if before == NEWEST else [NEWEST, before]
        self.read()

    def turn(self, *, older: bool) -> None:
        """Go a page on, or back."""
        if older and self.has_older:
            self._starts.append(self._next)
        elif not older and self.has_newer:
            self._starts.pop()
        self.read()

    def _show(self, history: TransactionHistory) -> None:
        self._next, self.notice = history.next_before, history.notice
        self.rows = past_rows(history, self._mask_of)
        self.changed.emit()

"""`TransactionLists`: undecided, ended and all stored transactions; read again when the counts change.

`PastPages`: all transactions of the retained store, also those that ended before the start, page by page.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.transactions import (
    ListTransactions,
    ReadTransactionHistory,
    TransactionHistory,
    TransactionPage,
)
from gui.models.transactions import (
    CHECKING,
    COMMITTED,
    LOST,
    PREPARED,
    ROLLED_BACK,
    UNDECIDED,
    TransactionRow,
    past_rows,
    transaction_rows,
)
from gui.operations.decoding import ListMasks
from gui.operations.queries import LatestQuery
from gui.views.list_read import ListRead
from gui.views.page import PageContext
from gui.views.transactions.board_picture import GIVEN_UP_KEY
from monitoring.payload.listed import MaskOf
from monitoring.sources.base import ClusterSource

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


PAGE_ROWS = 200
ENDED_ROWS = 500
ENDED_AGAIN_MS = 3_000
OPEN = "open"
PAST = "past"
"""All transactions of the retained store, in any state."""
FILTERS = {OPEN: UNDECIDED, GIVEN_UP_KEY: LOST, COMMITTED: {COMMITTED}, ROLLED_BACK: {ROLLED_BACK}, PAST: set[str]()}
"""Key of a filter → states of its transactions."""


class TransactionLists(QObject):
    """Reads the lists of the page; holds rows, and the state of each list's reads.

    Signals:
        changed: The undecided or ended ones were read, or were not.
        past_changed: A page of the store was read, or was not.
    """

    changed = Signal()
    past_changed = Signal()

    def __init__(self, context: PageContext, parent: QObject) -> None:
        super().__init__(parent)
        self._source = context.source
        self.masks = ListMasks(context.decoders, self)
        self._open_query: LatestQuery[TransactionPage] = LatestQuery(self)
        self._ended_query: LatestQuery[TransactionPage] = LatestQuery(self)
        self._open_read, self._ended_read, self._past_read = (ListRead(context.times) for _list in range(3))
        self._counted: tuple[float, ...] = ()
        self._now_ms = 0
        self._start = 0
        self.open: list[TransactionRow] = []
        """One page of the undecided ones, in the order of the half queue."""
        self.ended: list[TransactionRow] = []
        """The last ones that ended since the start of the broker."""
        self.total = -1
        """Number of undecided ones; -1 is unknown."""
        self.missing = ""
        """What the list lacks, and why, in the broker's words."""
        self.sought = ""
        """The searched words, as the broker receives them."""
        self.past = PastPages(context.source, self.masks.of, self)
        self.past.changed.connect(self._show_past)
        self.past.failed.connect(self._past_failed)
        self._forget()

    def _forget(self) -> None:
        self._open_read_ms = self._ended_read_ms = -ENDED_AGAIN_MS
        self._open_for: tuple[float, ...] | None = None
        self._ended_for: tuple[float, ...] | None = None

    def read_of(self, filter_key: str) -> ListRead:
        if filter_key == PAST:
            return self._past_read
        return self._open_read if filter_key == OPEN else self._ended_read

    def rows(self, filter_key: str, only: str) -> list[TransactionRow]:
        """Rows of a filter; ``only`` limits undecided ones to `PREPARED` or `CHECKING`."""
        if self.read_of(filter_key).is_failed:
            return []
        if only in (PREPARED, CHECKING):
            return [one for one in self.open if (one.check_times > 0) == (only == CHECKING)]
        if filter_key == PAST:
            here = {one.origin: one for one in self.open}
            return [here.get(one.origin, one) for one in self.past.rows]
        # A transaction that ended between the two reads may be in both lists.
        known = {one.origin: one for one in (*self.open, *self.ended)}
        return [one for one in known.values() if one.state in FILTERS[filter_key]]

    def filter_with(self, origin: int) -> str:
        """The filter that shows a transaction; `PAST` for one that ended before the start of the broker."""
        known = (one for one in (*self.open, *self.ended) if one.origin == origin)
        states = {one.state for one in known}
        return next((key for key, shown in FILTERS.items() if states & shown), PAST)

    @property
    def check_times_max(self) -> int:
        """How often the broker checks one; -1 is unknown."""
        first = next(iter((*self.open[:1], *self.ended[:1])), None)
        return first.check_times_max if first is not None else -1

    @property
    def has_earlier(self) -> bool:
        """Whether undecided ones are before the page."""
        return self._start > 0

    @property
    def has_later(self) -> bool:
        """Whether undecided ones are after the page."""
        return self._start + PAGE_ROWS < self.total

    def take(self, counted: tuple[float, ...], now_ms: int) -> None:
        """Use new figures; lists read at other counts are read again."""
        self._counted, self._now_ms = counted, now_ms
        self._read_stale()

    def read_again(self) -> None:
        """Read again, also where nothing has changed."""
        self._forget()
        self._read_stale()

    def search(self, text: str) -> None:
        """Search for the words of a text, in any case, from the first page on."""
        words = " ".join(text.casefold().split())
        if words != self.sought:
            self.sought, self._start = words, 0
            self._open_query.cancel()
            self._ended_query.cancel()
            self.read_again()

    def turn(self, filter_key: str, *, later: bool) -> None:
        """Read the page after or before the one that a filter shows."""
        self.read_of(filter_key).begin()
        if filter_key == PAST:
            self.past.turn(older=later)
            return
        self._start = max(0, self._start + (PAGE_ROWS if later else -PAGE_ROWS))
        self._read_open()

    def begin_past(self, before: int = NEWEST) -> None:
        """Read the store before a half offset, or from the newest one back."""
        self._past_read.begin()
        self.past.begin(before)

    def _read_stale(self) -> None:
        """Read lists whose counts changed; a pending answer is awaited."""
        if not self._now_ms:
            return  # no figures yet
        counted, now_ms = self._counted, self._now_ms
        # A search reads all undecided transactions, so it does not run with all figures.
        is_old = not self.sought or now_ms - self._open_read_ms >= ENDED_AGAIN_MS
        if self._open_for != counted and is_old and not self._open_query.waiting:
            self._read_open()
        is_old = now_ms - self._ended_read_ms >= ENDED_AGAIN_MS
        if self._ended_for != counted and is_old and not self._ended_query.waiting:
            self._ended_for, self._ended_read_ms = counted, now_ms
            pending = self._source.ask(ListTransactions(0, ENDED_ROWS, ended=True, words=self.sought))
            self._ended_query.ask(pending, self._show_ended, self._ended_failed)

    def _read_open(self) -> None:
        self._open_for, self._open_read_ms = self._counted, self._now_ms
        pending = self._source.ask(ListTransactions(self._start, PAGE_ROWS, words=self.sought))
        self._open_query.ask(pending, self._show_open, self._open_failed)

    def _show_open(self, page: TransactionPage) -> None:
        self._open_read.answered()
        self.total, self.missing = page.total, page.notice
        self.masks.refresh()
        self.open = transaction_rows(page, self.masks.of)
        self.changed.emit()

    def _open_failed(self, error: OrbitError) -> None:
        self._open_read.refused(error)
        self.open, self.total, self.missing = [], -1, ""
        self.changed.emit()

    def _show_ended(self, page: TransactionPage) -> None:
        self._ended_read.answered()
        self.ended = transaction_rows(page, self.masks.of)
        self.changed.emit()

    def _ended_failed(self, error: OrbitError) -> None:
        self._ended_read.refused(error)
        self.ended = []
        self.changed.emit()

    def _show_past(self) -> None:
        self._past_read.answered()
        self.past_changed.emit()

    def _past_failed(self, error: OrbitError) -> None:
        self._past_read.refused(error)
        self.past_changed.emit()

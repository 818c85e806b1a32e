"""Reads of the page: the dead letters of a group, the oldest of each group, the waiting retries."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.api import names as reserved
from broker_core.worker.questions.delays import DelayedMessages, ListDelayed
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    FoundOffset,
    MessageDetail,
    MessagePage,
    ReadMessage,
)
from gui.operations.decoding import DecoderBook, ListMasks
from gui.operations.queries import LatestQuery
from gui.operations.requests import InTurn
from monitoring.dead_letters import (
    DeadLetter,
    GroupFigures,
    WaitingRetry,
    dead_letter,
    known_names,
    may_have_any,
    waiting_retries,
)
from monitoring.sources.base import ClusterSource, Pending
from monitoring.state import ClusterState

logger = logging.getLogger(__name__)

LETTERS_MAX = 200
RETRIES_MAX = 1_000
"""Read of one delay level; more are not listed, and the page says so."""
AGES_MAX = 100
"""Groups whose oldest and recent dead letters are read."""
AGE_QUEUES_MAX = 400
"""Queues of these groups that are read, with two requests each."""
RECENT_MS = 15 * 60_000
RECENT_AGAIN_MS = 30_000


class DeadLetterReader(QObject):
    """Reads one after another, and nothing that is already known.

    Signals:
        letters_changed: ``letters`` are those of ``group``.
        retries_changed: ``retries`` were read.
        ages_changed: ``oldest_ms`` or ``recent`` have changed.
        letters_failed: The dead letters were not read; carries the error.
        retries_failed: The retries were not read; carries the error.
    """

    letters_changed = Signal()
    retries_changed = Signal()
    ages_changed = Signal()
    letters_failed = Signal(object)
    retries_failed = Signal(object)

    def __init__(self, source: ClusterSource, book: DecoderBook, parent: QObject) -> None:
        super().__init__(parent)
        self.group = ""
        self.letters: list[DeadLetter] = []
        self.retries: list[WaitingRetry] | None = None
        self.retries_are_cut = self.retries_lack_brokers = False
        self.retries_are_unknown = False
        """Whether the last read of them failed."""
        self.waiting: Counter[str] = Counter()
        """Retries of ``retries`` by group."""
        self.first_due_ms: dict[str, int] = {}
        """When the next of them is due, by group."""
        self.oldest_ms: dict[str, int] = {}
        self._source = source
        self._book = book
        self.masks = ListMasks(book, self)
        self._known: dict[int, DeadLetter] = {}
        self.recent: dict[str, int] = {}
        """Dead letters of the last `RECENT_MS`, by group."""
        self._ages_for: dict[str, tuple[tuple[tuple[int, int], ...], int]] = {}
        """Ends of queues and turn of `RECENT_AGAIN_MS` of the shown ages, by group."""
        self._ages_failed_in = -1
        """The turn in which a read of ages failed; the next turn reads again."""
        self._heads: LatestQuery[MessagePage] = LatestQuery(self)
        self._details: LatestQuery[list[MessageDetail]] = LatestQuery(self)
        self._levels: LatestQuery[list[DelayedMessages]] = LatestQuery(self)
        self._ages: LatestQuery[list[MessagePage | FoundOffset]] = LatestQuery(self)

    @property
    def is_reading(self) -> bool:
        """Whether dead letters of ``group`` are being read."""
        return self._heads.waiting or self._details.waiting

    def read_letters(self, group: str) -> None:
        """Read the newest dead letters of a group."""
        self.masks.refresh()
        if group != self.group:
            self.group, self.letters = group, []
            self._known.clear()
        self._details.cancel()
        self._heads.ask(
            self._source.ask(BrowseQueue(reserved.DLQ_PREFIX + group, -1, 0, LETTERS_MAX)),
            self._show_heads,
            self.letters_failed.emit,
        )

    def no_letters(self, group: str) -> None:
        """Take a group without dead letters, for which nothing is read."""
        for query in (self._heads, self._details):
            query.cancel()
        self.group, self.letters = group, []
        self._known.clear()

    def read_retries(self, state: ClusterState) -> None:
        """Read the waiting messages of the delay levels."""
        if self._levels.waiting:
            return
        levels = [
            int(level) for level, pending in zip(state.delays.level, state.delays.pending, strict=True) if int(pending) != 0
        ]
        asks = [partial(self._source.ask, ListDelayed(level, 0, RETRIES_MAX)) for level in levels]
        self._levels.ask(InTurn(asks), self._show_levels, self._levels_failed)

    def read_ages(self, groups: Sequence[GroupFigures], now_ms: int) -> None:
        """Read the oldest dead letter of each group and the number of recent ones, after their number or the time changed."""
        turn = now_ms // RECENT_AGAIN_MS
        wanted = [one for one in _with_ages(groups) if self._ages_for.get(one.group) != (one.ends, turn)]
        if not wanted or self._ages.waiting or turn == self._ages_failed_in:
            return
        asks: list[Callable[[], Pending[MessagePage | FoundOffset]]] = []
        for one in wanted:
            topic = reserved.DLQ_PREFIX + one.group
            for queue, _end in one.ends:
                asks.append(partial(self._source.ask, BrowseQueue(topic, queue, 0, 1)))
                asks.append(partial(self._source.ask, FindOffset(topic, queue, now_ms - RECENT_MS)))
        self._ages.ask(InTurn(asks), partial(self._show_ages, turn, wanted), partial(self._no_ages, turn))

    @property
    def retries_are_partial(self) -> bool:
        """Whether more retries may wait than were read."""
        return self.retries_are_cut or self.retries_lack_brokers

    def may_have_any(self, figures: GroupFigures) -> bool:
        """Whether a group may have dead letters or retries; by its figures alone until retries were read."""
        waiting = self.waiting[figures.group]
        if self.retries_are_unknown or (self.retries_are_partial and not waiting):
            waiting = -1
        return may_have_any(figures, waiting)

    def forget(self) -> None:
        """Read everything again next time."""
        self._known.clear()
        self._ages.cancel()
        self._ages_for.clear()
        self._ages_failed_in = -1

    def _show_heads(self, page: MessagePage) -> None:
        known = known_names(self._source.state)
        missing = [position for position in page.physical_offset if position not in self._known]

        def keep(_number: int, detail: MessageDetail) -> None:
            self._known[detail.physical_offset] = dead_letter(detail, self._book.mask_of(detail), known)

        def show(_details: list[MessageDetail]) -> None:
            self._known = {position: self._known[position] for position in page.physical_offset}
            self.letters = list(self._known.values())
            self.letters_changed.emit()

        asks = [partial(self._source.ask, ReadMessage(position)) for position in missing]
        self._details.ask(InTurn(asks, keep), show, self.letters_failed.emit)

    def _show_levels(self, pages: list[DelayedMessages]) -> None:
        self.retries_are_unknown = False
        self.retries = sorted(
            (one for page in pages for one in waiting_retries(page, self.masks.of)), key=lambda one: one.due_ms
        )
        self.waiting = Counter(one.group for one in self.retries)
        self.first_due_ms = {one.group: one.due_ms for one in reversed(self.retries)}  # the next is first
        self.retries_are_cut = any(page.next_offset < page.max_offset for page in pages)
        self.retries_lack_brokers = any(page.notice for page in pages)
        self.retries_changed.emit()

    def _show_ages(self, turn: int, groups: list[GroupFigures], answers: list[MessagePage | FoundOffset]) -> None:
        self._ages_for |= {one.group: (one.ends, turn) for one in groups}
        of_queues = iter(zip(answers[::2], answers[1::2], strict=True))
        for one in groups:
            oldest: list[int] = []
            recent = 0
            for (_queue, end), (page, found) in zip(one.ends, of_queues, strict=False):
                if isinstance(page, MessagePage):
                    oldest += page.store_ms[:1]
                if isinstance(found, FoundOffset):
                    recent += max(0, end - found.offset)
            if oldest:
                self.oldest_ms[one.group] = min(oldest)
            if one.ends:
                self.recent[one.group] = recent
        self.ages_changed.emit()

    def _levels_failed(self, error: OrbitError) -> None:
        self.retries, self.retries_are_unknown = None, True
        self.retries_failed.emit(error)

    def _no_ages(self, turn: int, error: OrbitError) -> None:
        """Keep the last result; the next turn sends the request again."""
        self._ages_failed_in = turn
        logger.info("the ages of dead letters were not read: %s", error.message)


def _with_ages(groups: Sequence[GroupFigures]) -> Iterator[GroupFigures]:
    """The groups with dead letters whose ages are read, within `AGES_MAX` and `AGE_QUEUES_MAX`."""
    left = AGE_QUEUES_MAX
    for one in groups[:AGES_MAX]:
        if one.dead and len(one.ends) <= left:
            left -= len(one.ends)
            yield one

"""What the page reads of the store: the dead letters of a group, the oldest of each group, the retries that wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import DelayedMessages, MessageDetail, MessagePage, OrbitError
from gui.operations.in_turn import InTurn
from gui.operations.queries import LatestQuery
from monitoring.dead_letters import DEAD_PREFIX, DeadLetter, GroupFigures, WaitingRetry, dead_letter, waiting_retries
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

LETTERS_MAX = 200
RETRIES_MAX = 1_000
"""Read of one delay level; more are not listed, and the page says so."""
OLDEST_MAX = 100
"""Groups whose oldest dead letter is looked up."""


class DeadLetterReader(QObject):
    """Reads one after another, and nothing that it knows already.

    Signals:
        letters_changed: ``letters`` are those of ``group``.
        retries_changed: ``retries`` are those that wait.
        oldest_changed: ``oldest_ms`` has more groups.
        failed: Something was not read; carries the error.
    """

    letters_changed = Signal()
    retries_changed = Signal()
    oldest_changed = Signal()
    failed = Signal(object)

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self.group = ""
        self.letters: list[DeadLetter] = []
        self.retries: list[WaitingRetry] | None = None
        self.retries_are_cut = False
        self.oldest_ms: dict[str, int] = {}
        self._source = source
        self._known: dict[int, DeadLetter] = {}
        self._oldest_for: dict[str, int] = {}
        self._heads: LatestQuery[MessagePage] = LatestQuery(self)
        self._details: LatestQuery[list[MessageDetail]] = LatestQuery(self)
        self._levels: LatestQuery[list[DelayedMessages]] = LatestQuery(self)
        self._firsts: LatestQuery[list[MessagePage]] = LatestQuery(self)

    def read_letters(self, group: str) -> None:
        """Read the newest dead letters of a group."""
        if group != self.group:
            self.group, self.letters = group, []
            self._known.clear()
        self._details.cancel()
        self._heads.ask(self._source.browse_queue(DEAD_PREFIX + group, -1, 0, LETTERS_MAX), self._show_heads, self.failed.emit)

    def read_retries(self, state: ClusterState) -> None:
        """Read what waits in the delay levels."""
        if self._levels.waiting:
            return
        levels = [
            int(level) for level, pending in zip(state.delays.level, state.delays.pending, strict=True) if int(pending) > 0
        ]
        asks = [partial(self._source.list_delayed, level, 0, RETRIES_MAX) for level in levels]
        self._levels.ask(InTurn(asks), self._show_levels, self.failed.emit)

    def read_oldest(self, groups: Sequence[GroupFigures]) -> None:
        """Look up when the oldest dead letter of each group died, where their number has changed."""
        wanted = [one for one in groups[:OLDEST_MAX] if one.dead and self._oldest_for.get(one.group) != one.dead]
        if not wanted or self._firsts.waiting:
            return
        self._oldest_for |= {one.group: one.dead for one in wanted}
        asks = [partial(self._source.browse_queue, DEAD_PREFIX + one.group, 0, 0, 1) for one in wanted]
        names = [one.group for one in wanted]
        self._firsts.ask(InTurn(asks), lambda pages: self._show_firsts(names, pages), self._oldest_failed)

    def forget(self) -> None:
        """Read everything anew next time."""
        self._known.clear()
        self._oldest_for.clear()

    def _show_heads(self, page: MessagePage) -> None:
        missing = [position for position in page.physical_offset if position not in self._known]

        def show(details: list[MessageDetail]) -> None:
            self._known |= {detail.physical_offset: dead_letter(detail) for detail in details}
            self.letters = [self._known[position] for position in page.physical_offset]
            self.letters_changed.emit()

        asks = [partial(self._source.read_message, position) for position in missing]
        self._details.ask(InTurn(asks), show, self.failed.emit)

    def _show_levels(self, pages: list[DelayedMessages]) -> None:
        self.retries = sorted((one for page in pages for one in waiting_retries(page)), key=lambda one: one.due_ms)
        self.retries_are_cut = any(page.next_offset < page.max_offset for page in pages)
        self.retries_changed.emit()

    def _show_firsts(self, names: list[str], pages: list[MessagePage]) -> None:
        self.oldest_ms |= {name: page.store_ms[0] for name, page in zip(names, pages, strict=True) if page.store_ms}
        self.oldest_changed.emit()

    def _oldest_failed(self, error: OrbitError) -> None:
        self._oldest_for.clear()
        self.failed.emit(error)

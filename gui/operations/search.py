"""`SearchRun`: one search at a time, requested turn by turn; a pause sends no request."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.searches import (
    ContinueSearch,
    EndSearch,
    FindBound,
    FoundBound,
    SearchHits,
    SearchStarted,
    StartSearch,
)
from gui.models.filter_text import narrowed
from gui.operations.queries import LatestQuery
from gui.operations.tasks import Pausing, Task, TaskList
from gui.words.text import count_text, tr
from monitoring.sources.base import ClusterSource


class SearchState(Enum):
    NONE = "none"
    PLANNING = "planning"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


ENDED = frozenset({SearchState.NONE, SearchState.COMPLETE, SearchState.PARTIAL, SearchState.FAILED})


class SearchRun(QObject):
    """Runs searches on a source; a new one, and the end of the owner, end the previous one. GUI thread only.

    Signals:
        changed: State, plan or counts changed.
        found: Hits arrived; carries `SearchHits`.
    """

    changed = Signal()
    found = Signal(object)

    def __init__(
        self, source: ClusterSource, tasks: TaskList, parent: QObject, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._tasks = tasks
        self._now_s = now_s
        self._task: Task | None = None
        self._search_id = -1
        self._query: LatestQuery[SearchStarted] = LatestQuery(self)
        self._turn: LatestQuery[SearchHits] = LatestQuery(self)
        self._bound_query: LatestQuery[FoundBound] = LatestQuery(self)
        self.bound: FoundBound | None = None
        """The time that bounds the search, if one was asked for; `is_oldest`: the messages before it."""
        self.is_oldest = False
        self._hold = False
        self._began_s = self._worked_s = 0.0
        self.state = SearchState.NONE
        self.text = ""
        self.plan: list[str] = []
        self.scanned = self.total = self.hits = 0
        self.reasons: list[str] = []
        """Why it is partial."""
        self.notes: list[str] = []
        """What is not certain of the hits."""
        self.error: OrbitError | None = None

    @property
    def is_over(self) -> bool:
        """Whether no search runs or is paused."""
        return self.state in ENDED

    @property
    def rate(self) -> float | None:
        """Messages scanned in a second, without pauses; None while it is not known."""
        spent = self._worked_s + (self._now_s() - self._began_s if self.state is SearchState.RUNNING else 0.0)
        return self.scanned / spent if spent > 0 and self.scanned else None

    @property
    def seconds_left(self) -> float | None:
        """At the current rate; None while that is not known."""
        rate = self.rate
        return max(0, self.total - self.scanned) / rate if rate and not self.is_over else None

    def start(self, text: str, *, hold: bool = False, count: int = 0, oldest: bool = False) -> None:
        """Begin a search; ``hold`` pauses when the plan is known, until `resume`.

        With a ``count`` only the newest so many messages are searched, or the oldest: those of the queues in which the filter
        may have a match.
        """
        self.end()
        self.state, self.text, self._hold = SearchState.PLANNING, text, hold
        self.plan, self.reasons, self.notes, self.error = [], [], [], None
        self.scanned = self.total = self.hits = 0
        self._worked_s = 0.0
        self.bound, self.is_oldest = None, oldest
        if count:
            self._bound_query.ask(self._source.ask(FindBound(text, count, oldest)), self._bounded, self._failed)
        else:
            self._begin()
        self.changed.emit()

    def pause(self) -> None:
        """Send no more requests; the pending answer still arrives."""
        if self.state is SearchState.RUNNING:
            self._worked_s += self._now_s() - self._began_s
            self._go_to(SearchState.PAUSED)

    def resume(self) -> None:
        if self.state is SearchState.PAUSED:
            self._run()

    def cancel(self) -> None:
        """End the search; its hits stay."""
        if not self.is_over:
            self.end()
            self.reasons = ["it was cancelled"]
            self._over(SearchState.PARTIAL)

    def end(self) -> None:
        """Cancel the search silently."""
        self._bound_query.cancel()
        self._query.cancel()
        self._turn.cancel()
        if self._search_id >= 0:
            self._source.ask(EndSearch(self._search_id)).then(_ignore, _ignore)
            self._search_id = -1
        task, self._task = self._task, None
        if task is not None:
            task.cancelled()

    def forget(self) -> None:
        """Reset to the state before the first search."""
        self.end()
        self.text, self.error = "", None
        self._go_to(SearchState.NONE)

    # ---- answers -------------------------------------------------------------------------------------------------------

    def _bounded(self, found: FoundBound) -> None:
        """Search within the found time, which is a condition of the filter from now on."""
        self.bound = found
        self.text = narrowed(self.text, f"stored {'<' if self.is_oldest else '>='} {found.at_ms}")
        self._begin()
        self.changed.emit()

    def _begin(self) -> None:
        self._query.ask(self._source.ask(StartSearch(self.text, body_starts=False)), self._planned, self._failed)

    def _planned(self, started: SearchStarted) -> None:
        self._search_id, self.plan, self.total = started.search_id, started.plan, started.total
        if self._hold:
            self._go_to(SearchState.PAUSED)
        else:
            self._run()

    def _run(self) -> None:
        self._began_s = self._now_s()
        if self._task is None:
            self._task = self._tasks.start(lambda: tr("Search"), self.cancel, quiet=True)
            self._task.pausing = Pausing(lambda: self.state is SearchState.PAUSED, self.pause, self.resume)
        self._go_to(SearchState.RUNNING)
        if not self._turn.waiting:
            self._ask()

    def _ask(self) -> None:
        self._turn.ask(self._source.ask(ContinueSearch(self._search_id)), self._took_turn, self._failed)

    def _took_turn(self, hits: SearchHits) -> None:
        self.scanned, self.total, self.hits = hits.scanned, hits.total, hits.found
        if hits.topic:
            self.found.emit(hits)
        if hits.is_over:
            self._search_id = -1
            self.reasons, self.notes = hits.reasons, hits.notes
            self._over(SearchState.PARTIAL if hits.reasons else SearchState.COMPLETE)
            return
        if self._task is not None:
            self._task.report(partial(_hits_words, self.hits), self.scanned, self.total)
        if self.state is SearchState.RUNNING:
            self._ask()
        self.changed.emit()

    def _failed(self, error: OrbitError) -> None:
        self.end()
        self.error = error
        # The hits so far are shown, and are not all.
        self.reasons = [error.message] if self.hits else []
        self._over(SearchState.PARTIAL if self.hits else SearchState.FAILED)

    def _over(self, state: SearchState) -> None:
        if self.state is SearchState.RUNNING:
            self._worked_s += self._now_s() - self._began_s
        task, self._task = self._task, None
        if task is not None:
            task.finish(partial(_hits_words, self.hits))
        self._go_to(state)

    def _go_to(self, state: SearchState) -> None:
        self.state = state
        if self._task is not None:
            self._task.changed.emit()
        self.changed.emit()


def _hits_words(hits: int) -> str:
    return tr("{count} hits", count=count_text(hits))


def _ignore(_answer: Done | OrbitError) -> None:
    """Ignores the answer to the end of a search."""

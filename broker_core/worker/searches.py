"""Searches of the store for the window: started, continued a moment at a time, ended.

Large searches run in processes of their own, because a thread that the processor suspends may hold the interpreter meanwhile,
and the broker would wait. Others run on a thread and give way to the broker every millisecond (`Breather`). A search is idle
between two questions.
"""

from __future__ import annotations

import asyncio
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

from broker_core.errors import UsageError
from broker_core.protocol.names import LMQ_PREFIX
from broker_core.protocol.retry_names import NOTHING_KNOWN, FindKnown, KnownNames, nothing_known
from broker_core.worker.message_bound import QUEUES_MAX, bound_of
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.searches import (
    ContinueSearch,
    EndSearch,
    FindBound,
    FoundBound,
    SearchHits,
    SearchStarted,
    StartSearch,
)
from broker_core.worker.search_turns import SearchTurns

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore
    from broker_core.tools.search.expression import Expression
    from broker_core.tools.search.plan import Plan
    from broker_core.worker.search_process import SearchProcess

_T = TypeVar("_T")
_Open = TypeVar("_Open")

SEARCHES_MAX = 8
BESIDE_FROM_MESSAGES = 20_000
"""With so many messages to search, a search gets a process of its own."""
WINDOW_BYTES = 1024 * 1024
"""Small, because the broker waits while bytes are compared."""


def check_bound(count: int, queues: int) -> None:
    """Raise `UsageError` for a bound that is not counted."""
    if count < 1:
        raise UsageError(f"a bound is 1 message or more, not {count}")
    if queues > QUEUES_MAX:
        raise UsageError(f"{queues:,} queues may have a match, and a bound is counted in {QUEUES_MAX} at most: name a topic")


class OpenSearches(ABC, Generic[_Open]):
    """The searches that a window has open, by their numbers; each is idle between two questions. On the loop."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._numbers = itertools.count(1)

    def handlers(self) -> list[Handler]:
        """The handlers of searches. They raise `FilterError` for a filter that cannot be read."""
        return [
            StartSearch.answered_by(self._start),
            ContinueSearch.answered_by(self._continue),
            EndSearch.answered_by(self._end),
            FindBound.answered_by(self._find_bound),
        ]

    async def _start(self, query: StartSearch) -> SearchStarted:
        if len(self._open) >= SEARCHES_MAX:
            raise UsageError(f"{SEARCHES_MAX} searches are open; end one of them, then try again")
        opened, steps, total = await self._prepare(query)
        number = next(self._numbers)
        self._open[number] = opened
        return SearchStarted(number, steps, total)

    async def _continue(self, query: ContinueSearch) -> SearchHits:
        opened = self._open.get(query.search_id)
        if opened is None:
            raise UsageError(f"there is no search {query.search_id}: it has ended, or was given up; start it again")
        try:
            hits = await self._turn(query.search_id, opened)
        except Exception:
            # It cannot go on, and would take the place of another one.
            await self._forget(query.search_id)
            raise
        if hits.is_over:
            await self._forget(query.search_id)
        return hits

    async def _end(self, query: EndSearch) -> Done:
        await self._forget(query.search_id)
        return Done()

    async def _forget(self, search_id: int) -> None:
        opened = self._open.pop(search_id, None)
        if opened is not None:
            await self._close(opened)

    @abstractmethod
    async def _find_bound(self, query: FindBound) -> FoundBound:
        """A time that bounds a search by a number of messages; raises `FilterError` and `UsageError`."""

    @abstractmethod
    async def _prepare(self, query: StartSearch) -> tuple[_Open, list[str], int]:
        """A new search, the steps of its plan, and the number of messages to scan."""

    @abstractmethod
    async def _turn(self, search_id: int, opened: _Open) -> SearchHits:
        """What a moment of search finds."""

    @abstractmethod
    async def _close(self, opened: _Open) -> None:
        """End a search that may be in a turn."""


class Searches(OpenSearches["SearchTurns | SearchProcess"]):
    """The searches of a store, of which the search thread takes the turns.

    ``clock`` returns ms since the epoch; ``known`` is called on the loop.
    """

    def __init__(self, store: MessageStore, *, clock: Callable[[], int], known: FindKnown = nothing_known) -> None:
        super().__init__()
        self._known = known
        self._store = store
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")

    def close(self) -> None:
        for turns in self._open.values():
            self._give_up(turns)
        self._open.clear()
        self._thread.shutdown(wait=True)

    async def _prepare(self, query: StartSearch) -> tuple[SearchTurns | SearchProcess, list[str], int]:
        now_ms, known = self._clock(), NOTHING_KNOWN
        expression, compares_groups = await self._run(lambda: _parsed(query.filter, now_ms))
        if compares_groups:
            known = self._known().about(topic for topic, _queue in self._store.queues())
        turns, plan = await self._run(lambda: self._prepared(query, expression, now_ms, known))
        return turns, list(plan.steps), plan.total_messages

    def _prepared(
        self, query: StartSearch, expression: Expression, now_ms: int, known: KnownNames
    ) -> tuple[SearchTurns | SearchProcess, Plan]:
        from broker_core.tools.search.scan import Breather, StoreSearch

        root, limit = self._store.config.root, None if query.limit < 0 else query.limit
        if self._store.read_only:
            # A store that is only read: its files, with messages that no queue knows; and no broker waits.
            search = StoreSearch(root, expression, limit=limit, known=known)
            return SearchTurns(search, body_starts=query.body_starts), search.plan
        breathe = Breather()
        search = StoreSearch(
            root, expression, store=self._store, limit=limit, breathe=breathe, window_bytes=WINDOW_BYTES, known=known
        )
        plan = search.plan
        if plan.total_messages < BESIDE_FROM_MESSAGES or not (plan.spans or plan.ranges):
            return SearchTurns(search, body_starts=query.body_starts, breathe=breathe), plan
        from broker_core.worker.search_process import SearchOrder, SearchProcess

        return SearchProcess(SearchOrder(root, query.filter, now_ms, limit, plan, query.body_starts, known)), plan

    async def _find_bound(self, query: FindBound) -> FoundBound:
        queues = await self._run(lambda: self._queues_of(query.filter))
        check_bound(query.count, len(queues))
        store = self._store

        def counted(at_ms: int) -> int:
            begins = (max(store.offset_by_time(*queue, at_ms), store.min_offset(*queue)) for queue in queues)
            return sum(max(store.max_offset(*queue) - begin, 0) for queue, begin in zip(queues, begins, strict=True))

        return await bound_of(lambda at_ms: self._run(lambda: counted(at_ms)), self._clock(), query.count, oldest=query.oldest)

    def _queues_of(self, text: str) -> list[tuple[str, int]]:
        """Queues in which a filter may have a match; those of light topics name messages of others."""
        from broker_core.tools.search.columns import may_match
        from broker_core.tools.search.language import parse_filter

        expression = parse_filter(text, now_ms=self._clock())
        own = (queue for queue in self._store.queues() if not queue[0].startswith(LMQ_PREFIX))
        return [queue for queue in own if may_match(expression, *queue)]

    async def _turn(self, search_id: int, opened: SearchTurns | SearchProcess) -> SearchHits:
        return await self._run(lambda: opened.turn(search_id))

    async def _close(self, opened: SearchTurns | SearchProcess) -> None:
        self._give_up(opened)

    def _give_up(self, turns: SearchTurns | SearchProcess) -> None:
        turns.cancel()
        self._thread.submit(turns.close)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _parsed(text: str, now_ms: int) -> tuple[Expression, bool]:
    """A filter, and whether it compares groups; on the search thread, which loads the language."""
    from broker_core.tools.search.language import parse_filter
    from broker_core.tools.search.shared_retries import is_about_groups

    expression = parse_filter(text, now_ms=now_ms)
    return expression, is_about_groups(expression)

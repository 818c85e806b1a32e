"""Searches of the store for the window: begun, continued a moment at a time, given up.

They run on a thread of their own and give way to the broker every millisecond (`Breather`). One that nobody continues does
nothing. What they find is sent in heads, as the pages of a queue are.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from broker_core.config import StoreConfig
from broker_core.errors import UsageError
from broker_core.ipc.schema import Answer, ContinueSearch, Done, EndSearch, SearchHits, SearchStarted, StartSearch
from broker_core.store.results import QueueUnit
from broker_core.worker.message_views import MessageHead, head_of

if TYPE_CHECKING:
    # Brings numpy, which a worker that is not asked for a search does without.
    from broker_core.search.results import Outcome, Step
    from broker_core.search.scan import Breather, StoreSearch

_T = TypeVar("_T")

SEARCHES_MAX = 8
TURN_SECONDS = 0.2
"""How long a search goes on before it says how far it is."""
HITS_ENOUGH = 256
WINDOW_BYTES = 1024 * 1024
"""Small, as the broker waits while bytes are compared."""


class SearchStore(Protocol):
    """What a search needs of the store."""

    @property
    def config(self) -> StoreConfig: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def commit_log_max_offset(self) -> int: ...

    def queues(self) -> list[tuple[str, int]]: ...

    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def stored_max_offset(self, topic: str, queue_id: int) -> int: ...

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int) -> list[QueueUnit]: ...


@dataclass(slots=True)
class _Open:
    """A search that has not ended. Only its thread touches ``steps``."""

    search: StoreSearch
    steps: Generator[Step, None, None]
    last: tuple[int, int, int]
    """Scanned, total and found of the last step."""
    body_starts: bool
    breathe: Breather | None
    """None where no broker waits."""


class Searches:
    """The searches of a worker. To be called on the engine's loop.

    Args:
        store: What is searched.
        clock: Milliseconds since the epoch, for times like ``-15m``.
    """

    def __init__(self, store: SearchStore, *, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._open: dict[int, _Open] = {}
        self._numbers = itertools.count(1)

    def close(self) -> None:
        """Give all up and end the thread."""
        for one in self._open.values():
            one.search.cancel()
        self._open.clear()
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def answer(self, query: StartSearch | ContinueSearch | EndSearch) -> Answer:
        """Carry one request out.

        Raises:
            FilterError: The filter cannot be read.
            UsageError: Too many searches are open, or there is none of that number.
        """
        match query:
            case StartSearch():
                return await self._start(query)
            case ContinueSearch(search_id):
                return await self._continue(search_id)
            case EndSearch(search_id):
                return self._end(search_id)

    async def _start(self, query: StartSearch) -> SearchStarted:
        if len(self._open) >= SEARCHES_MAX:
            raise UsageError(f"{SEARCHES_MAX} searches are open; end one of them, then try again")
        opened = await self._run(lambda: self._prepared(query))
        number = next(self._numbers)
        self._open[number] = opened
        return SearchStarted(number, list(opened.search.plan.steps), opened.search.plan.total_messages)

    def _prepared(self, query: StartSearch) -> _Open:
        from broker_core.search.language import parse_filter  # noqa: PLC0415  see above
        from broker_core.search.scan import Breather, StoreSearch  # noqa: PLC0415

        root, limit = self._store.config.root, None if query.limit < 0 else query.limit
        expression = parse_filter(query.filter, now_ms=self._clock())
        # A store that is only looked at: the files, with what no queue knows; and no broker waits.
        breathe = None if self._store.read_only else Breather()
        if breathe is None:
            search = StoreSearch(root, expression, limit=limit)
        else:
            search = StoreSearch(root, expression, store=self._store, limit=limit, breathe=breathe, window_bytes=WINDOW_BYTES)
        return _Open(search, search.steps(), (0, search.plan.total_messages, 0), query.body_starts, breathe)

    async def _continue(self, search_id: int) -> SearchHits:
        opened = self._open.get(search_id)
        if opened is None:
            raise UsageError(f"there is no search {search_id}: it has ended, or was given up; start it again")
        try:
            heads = await self._run(lambda: _turn(opened))
        except Exception:
            # It cannot go on, and would take the place of another one.
            self._open.pop(search_id, None)
            raise
        if opened.search.outcome is not None:
            self._open.pop(search_id, None)
        outcome = opened.search.outcome
        return search_hits(search_id, heads, outcome=outcome, last=opened.last, body_starts=opened.body_starts)

    def _end(self, search_id: int) -> Done:
        opened = self._open.pop(search_id, None)
        if opened is not None:
            opened.search.cancel()
            self._thread.submit(opened.steps.close)
        return Done()

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _turn(opened: _Open) -> list[tuple[str, MessageHead]]:
    """Topics and heads that a moment of search finds."""
    if opened.breathe is not None:
        opened.breathe.begin()
    until = time.monotonic() + TURN_SECONDS
    found: list[tuple[str, MessageHead]] = []
    for step in opened.steps:
        found += [(hit.message.topic, head_of(hit.message)) for hit in step.hits]
        opened.last = step.scanned, step.total, step.found
        if len(found) >= HITS_ENOUGH or time.monotonic() >= until:
            break
    return found


def search_hits(
    search_id: int,
    found: list[tuple[str, MessageHead]],
    *,
    outcome: Outcome | None,
    last: tuple[int, int, int],
    body_starts: bool = True,
) -> SearchHits:
    """Put what a moment of search brought into columns.

    Args:
        search_id: Of the search.
        found: Topics and heads.
        outcome: Of the whole search, once it is over.
        last: Scanned, total and found so far.
        body_starts: Whether the beginnings of the bodies are wanted.
    """
    heads = [head for _, head in found]
    scanned, total, count = last
    return SearchHits(
        search_id=search_id,
        topic=[topic for topic, _ in found],
        queue_id=[head.queue_id for head in heads],
        queue_offset=[head.queue_offset for head in heads],
        physical_offset=[head.physical_offset for head in heads],
        store_ms=[head.store_ms for head in heads],
        born_ms=[head.born_ms for head in heads],
        body_bytes=[head.body_bytes for head in heads],
        tag=[head.tag for head in heads],
        keys=[head.keys for head in heads],
        unique_key=[head.unique_key for head in heads],
        body_start=[head.body_start for head in heads] if body_starts else [],
        scanned=scanned if outcome is None else outcome.scanned,
        total=total if outcome is None else outcome.scanned,
        found=count if outcome is None else outcome.found,
        is_over=outcome is not None,
        reasons=[] if outcome is None else list(outcome.reasons),
    )

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from functools import partial

from broker_core.clock import wall_clock_ms
from broker_core.cluster.link import ClusterLink
from broker_core.errors import UsageError
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.results import SearchStep
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.message_views import MessageHead, head_of
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, SearchHits, SearchStarted, StartSearch
from broker_core.worker.search_turns import HITS_ENOUGH, TURN_SECONDS, search_hits
from broker_core.worker.searches import SEARCHES_MAX


@dataclass(slots=True)
class _RunningSearch:
    search: ClusterSearch
    steps: AsyncGenerator[SearchStep, None]
    last: tuple[int, int, int]
    """Scanned, total and found of the last step."""
    is_busy: bool = False


class ClusterSearches:
    """The searches of a worker that watches a cluster; each is idle between two questions. On its loop."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures) -> None:
        self._link = link
        self._figures = figures
        self._open: dict[int, _RunningSearch] = {}
        self._numbers = itertools.count(1)

    async def close(self) -> None:
        """End all searches."""
        for search_id in list(self._open):
            await self._end(search_id)

    def handlers(self) -> list[Handler]:
        """The handlers of searches. They raise `FilterError` for a filter that cannot be read."""
        return [
            StartSearch.answered_by(self._start),
            ContinueSearch.answered_by(self._continue),
            EndSearch.answered_by(self._end_asked),
        ]

    async def _start(self, query: StartSearch) -> SearchStarted:
        if len(self._open) >= SEARCHES_MAX:
            raise UsageError(f"{SEARCHES_MAX} searches are open; end one of them, then try again")
        expression = parse_filter(query.filter, now_ms=wall_clock_ms())
        limit = None if query.limit < 0 else query.limit
        search = ClusterSearch(
            self._link,
            expression,
            limit=limit,
            queue_number=partial(_number, self._link),
            known_topics=self._figures.brokers_of_topics(),
        )
        await search.prepare()
        number = next(self._numbers)
        self._open[number] = _RunningSearch(search, search.steps(), (0, search.total_messages, 0))
        return SearchStarted(number, [search.plan], search.total_messages)

    async def _continue(self, query: ContinueSearch) -> SearchHits:
        search_id = query.search_id
        opened = self._open.get(search_id)
        if opened is None:
            raise UsageError(f"there is no search {search_id}: it has ended, or was given up; start it again")
        if opened.is_busy:
            raise UsageError(f"search {search_id} is being continued already; wait for its answer")
        opened.is_busy = True
        try:
            heads = await self._turn(opened)
        except Exception:
            # A failed search cannot continue, and would count against `SEARCHES_MAX`.
            self._open.pop(search_id, None)
            raise
        finally:
            opened.is_busy = False
        if opened.search.outcome is not None:
            self._open.pop(search_id, None)
        return search_hits(search_id, heads, outcome=opened.search.outcome, last=opened.last)

    async def _end_asked(self, query: EndSearch) -> Done:
        await self._end(query.search_id)
        return Done()

    async def _end(self, search_id: int) -> None:
        opened = self._open.pop(search_id, None)
        if opened is not None:
            opened.search.cancel()
            if not opened.is_busy:
                await opened.steps.aclose()

    async def _turn(self, opened: _RunningSearch) -> list[tuple[str, MessageHead]]:
        until = time.monotonic() + TURN_SECONDS
        found: list[tuple[str, MessageHead]] = []
        async for step in opened.steps:
            found += [(hit.message.topic, _shown(self._link, hit.broker, head_of(hit.message))) for hit in step.hits]
            opened.last = step.scanned, step.total, step.found
            if len(found) >= HITS_ENOUGH or time.monotonic() >= until:
                break
        return found


def _number(link: ClusterLink, broker: str, queue_id: int) -> int:
    return link.numbers.shown_queue(broker, queue_id) if broker in link.brokers else queue_id


def _shown(link: ClusterLink, broker: str, head: MessageHead) -> MessageHead:
    if broker not in link.brokers:
        return head  # it came since the last look at the brokers
    queue_id = link.numbers.shown_queue(broker, head.queue_id)
    return replace(head, queue_id=queue_id, physical_offset=link.numbers.shown_place(broker, head.physical_offset))

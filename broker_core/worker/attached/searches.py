from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from functools import partial

from broker_core.clock import wall_clock_ms
from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.time_bounds import first_stored_from
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.retry_names import NOTHING_KNOWN
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.columns import may_match
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.results import SearchStep
from broker_core.tools.search.shared_retries import is_about_groups
from broker_core.worker.attached.browsing import whole_queue
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.message_bound import bound_of
from broker_core.worker.message_views import MessageHead, head_of
from broker_core.worker.questions.searches import FindBound, FoundBound, SearchHits, StartSearch
from broker_core.worker.search_turns import HITS_ENOUGH, TURN_SECONDS, search_hits
from broker_core.worker.searches import OpenSearches, check_bound


@dataclass(slots=True)
class _RunningSearch:
    search: ClusterSearch
    steps: AsyncGenerator[SearchStep, None]
    last: tuple[int, int, int]
    """Scanned, total and found of the last step."""
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Questions about one search take turns, as on the thread of a store's searches."""


class ClusterSearches(OpenSearches[_RunningSearch]):
    def __init__(self, link: ClusterLink, figures: ClusterFigures) -> None:
        super().__init__()
        self._link = link
        self._figures = figures

    async def close(self) -> None:
        for search_id in list(self._open):
            await self._forget(search_id)

    async def _prepare(self, query: StartSearch) -> tuple[_RunningSearch, list[str], int]:
        expression = parse_filter(query.filter, now_ms=wall_clock_ms())
        search = ClusterSearch(
            self._link,
            expression,
            limit=None if query.limit < 0 else query.limit,
            queue_number=partial(_number, self._link),
            known_topics=self._figures.brokers_of_topics(),
            known=self._figures.known_names() if is_about_groups(expression) else NOTHING_KNOWN,
        )
        await search.prepare()
        return _RunningSearch(search, search.steps(), (0, search.total_messages, 0)), [search.plan], search.total_messages

    async def _find_bound(self, query: FindBound) -> FoundBound:
        expression = parse_filter(query.filter, now_ms=wall_clock_ms())
        queues = [queue for queue in self._queues() if may_match(expression, queue.topic, self._shown_number(queue))]
        check_bound(query.count, len(queues))
        parts = await asyncio.gather(*(whole_queue(self._link, queue) for queue in queues))
        puller = Puller(self._link)

        async def left(part: QueueSlice, at_ms: int) -> int:
            return part.end - max(await first_stored_from(puller, part, at_ms), part.first) if part.messages else 0

        async def counted(at_ms: int) -> int:
            return sum(await asyncio.gather(*(left(part, at_ms) for part in parts)))

        return await bound_of(counted, wall_clock_ms(), query.count, oldest=query.oldest)

    def _queues(self) -> list[MessageQueue]:
        found = []
        for topic, brokers in self._figures.brokers_of_topics().items():
            for broker in brokers:
                row = self._figures.of(broker).topics.get(topic)
                found += [MessageQueue(topic, broker, queue) for queue in range(row.read_queues if row is not None else 0)]
        return found

    def _shown_number(self, queue: MessageQueue) -> int:
        return _number(self._link, queue.broker_name, queue.queue_id)

    async def _turn(self, search_id: int, opened: _RunningSearch) -> SearchHits:
        async with opened.turns:
            until = time.monotonic() + TURN_SECONDS
            found: list[tuple[str, MessageHead]] = []
            async for step in opened.steps:
                found += [(hit.message.topic, _shown(self._link, hit.broker, head_of(hit.message))) for hit in step.hits]
                opened.last = step.scanned, step.total, step.found
                if len(found) >= HITS_ENOUGH or time.monotonic() >= until:
                    break
            return search_hits(search_id, found, outcome=opened.search.outcome, last=opened.last)

    async def _close(self, opened: _RunningSearch) -> None:
        opened.search.cancel()
        if not opened.turns.locked():
            await opened.steps.aclose()


def _number(link: ClusterLink, broker: str, queue_id: int) -> int:
    return link.numbers.shown_queue(broker, queue_id) if broker in link.brokers else queue_id


def _shown(link: ClusterLink, broker: str, head: MessageHead) -> MessageHead:
    if broker not in link.brokers:
        return head  # it came since the last look at the brokers
    queue_id = link.numbers.shown_queue(broker, head.queue_id)
    return replace(head, queue_id=queue_id, physical_offset=link.numbers.shown_place(broker, head.physical_offset))

"""Answers questions about the messages of the store: pages of queues, single messages, fields, lives.

A thread reads messages in small batches, so that a producer waits for one batch at most. A cancelled question ends after the
present batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TypeVar

from broker_core.clock import wall_clock_ms
from broker_core.errors import UsageError
from broker_core.protocol.retry_names import NOTHING_KNOWN
from broker_core.worker.embedded.connections import protocol_of_group
from broker_core.worker.embedded.engine import EngineView, known_names
from broker_core.worker.field_views import field_reader, joined
from broker_core.worker.handlers import Run
from broker_core.worker.history import HistoryService
from broker_core.worker.lifelines import read_lifeline
from broker_core.worker.message_views import (
    BATCH_MESSAGES,
    MessageHead,
    check_page_size,
    message_handlers,
    newest_first,
    oldest_first,
    page_of,
    read_batch,
    read_detail_by_id,
    record_of,
    topic_page_of,
)
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    BrowseTopic,
    FieldValues,
    FindOffset,
    FoundOffset,
    Lifeline,
    MessageDetail,
    MessagePage,
    ReadFields,
    ReadLifeline,
    ReadMessageById,
    TopicPage,
)

_T = TypeVar("_T")


class StoredMessages:
    """Answers on the engine's loop; ``history`` is None where no history of offsets is kept."""

    def __init__(self, engine: EngineView, history: HistoryService | None, run: Run) -> None:
        self._engine = engine
        self._store = engine.store
        self._history = history
        self._run = run

    def handlers(self) -> list[Handler]:
        return [
            *message_handlers(self._view),
            BrowseQueue.answered_by(self._browse),
            BrowseTopic.answered_by(self._browse_topic),
            FindOffset.answered_by(self._find_offset),
            ReadMessageById.answered_by(self._read_by_id),
            ReadFields.answered_by(self._read_fields),
            ReadLifeline.answered_by(self._read_lifeline),
        ]

    async def _view(self, place: int, view: Callable[[bytes | memoryview], _T]) -> _T:
        return await self._run(lambda: view(record_of(self._store, place)))

    async def _find_offset(self, query: FindOffset) -> FoundOffset:
        look = partial(self._store.offset_by_time, query.topic, query.queue_id, query.timestamp_ms)
        return FoundOffset(await self._run(look))

    async def _read_by_id(self, query: ReadMessageById) -> MessageDetail:
        return await self._run(partial(read_detail_by_id, self._store, query.offset_message_id))

    async def _read_fields(self, query: ReadFields) -> FieldValues:
        known = known_names(self._engine) if "group" in query.fields else NOTHING_KNOWN
        parts = [await self._run(part) for part in field_reader(self._store, query, known)]
        return joined(parts, len(query.fields))

    async def _read_lifeline(self, query: ReadLifeline) -> Lifeline:
        place, offsets = query.physical_offset, self._engine.offsets
        return await read_lifeline(
            place,
            self._store,
            offsets,
            self._history,
            run=self._run,
            now_ms=wall_clock_ms(),
            known=known_names(self._engine),
            protocol_of=partial(protocol_of_group, self._engine),
        )

    async def _browse(self, query: BrowseQueue) -> MessagePage:
        ids = self._queue_ids(query)
        return await (self._browse_all(query, ids) if query.queue_id < 0 else self._browse_one(query))

    async def _browse_one(self, query: BrowseQueue) -> MessagePage:
        store, topic, queue_id = self._store, query.topic, query.queue_id
        low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
        offset = min(max(query.start_offset, low), high)
        heads: list[MessageHead] = []
        missing = 0
        while len(heads) < query.count and offset < high:
            batch = await self._run(partial(read_batch, store, topic, queue_id, offset, query.count - len(heads)))
            heads += batch.heads
            missing += batch.missing
            if batch.next_offset <= offset:
                break
            offset = batch.next_offset
        return page_of(topic, heads, min_offset=low, max_offset=high, next_offset=offset, missing=missing)

    async def _browse_all(self, query: BrowseQueue, ids: list[int]) -> MessagePage:
        newest = newest_first(self._store, query.topic, ids, query.count)
        heads: list[MessageHead] = []
        while batch := await self._run(lambda: list(islice(newest, BATCH_MESSAGES))):
            heads += batch
        return page_of(query.topic, heads, min_offset=-1, max_offset=-1, next_offset=-1, missing=0)

    async def _browse_topic(self, query: BrowseTopic) -> TopicPage:
        store, topic, ids, newer = self._store, query.topic, self._queue_ids(query), query.newer or query.at_ms >= 0
        edges = await self._run(lambda: self._edges(query, ids, newer=newer))
        found = (oldest_first if newer else newest_first)(store, topic, ids, query.count, edges)
        heads: list[MessageHead] = []
        while batch := await self._run(lambda: list(islice(found, BATCH_MESSAGES))):
            heads += batch
        heads = heads[::-1] if newer else heads
        page = page_of(topic, heads, min_offset=-1, max_offset=-1, next_offset=-1, missing=0)
        return topic_page_of(page, edges, newer=newer)

    def _edges(self, query: BrowseTopic, ids: list[int], *, newer: bool) -> dict[int, int]:
        """The offset of each queue between older and newer messages."""
        store, topic = self._store, query.topic
        if query.at_ms >= 0:
            return {queue_id: store.offset_by_time(topic, queue_id, query.at_ms) for queue_id in ids}
        told = dict(zip(query.edge_queue, query.edge_offset, strict=False))
        found = {}
        for queue_id in ids:
            low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
            found[queue_id] = min(max(told.get(queue_id, low if newer else high), low), high)
        return found

    def _queue_ids(self, query: BrowseQueue | BrowseTopic) -> list[int]:
        """The queues of a page's topic. Raises `UsageError` where there is none, and for a page of no possible size."""
        check_page_size(query.count)
        ids = sorted(queue_id for known, queue_id in self._store.queues() if known == query.topic)
        if not ids and query.topic not in self._engine.topics:
            raise UsageError(f"there is no topic {query.topic} on this broker", topic=query.topic)
        return ids

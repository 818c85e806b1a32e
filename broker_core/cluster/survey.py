"""Queues of a cluster, their first and last offsets, and which of them are wanted: found once, before the first read.

A broker that does not answer and an unknown topic are reported; the others are read nevertheless.

Source: docs/spec/remoting.md §2.2.5 (offsets by time), §2.5.4 (GET_TOPIC_STATS_INFO), §4.4 (routes).
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from dataclasses import replace

from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import UNLISTED_TOPICS, Puller
from broker_core.cluster.slices import CLOCK_MARGIN_MS, QueueSlice, Survey, SurveyRequest, Unknown
from broker_core.cluster.time_bounds import within_times
from broker_core.errors import AccountRefusedError, CodecError, NetworkError, OrbitError, RemoteError, UsageError
from broker_core.protocol import names
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.admin.routes import QueueData, Route
from broker_core.protocol.admin.topics import PERM_READ
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID

QUESTIONS_AT_ONCE = 16
SHRUNK_GAP = 8
"""Ids without a queue in a row after which no more are asked for: a topic has 8 queues unless somebody says otherwise."""
SHRUNK_IDS_MAX = 4_096
INTERNAL_TOPICS = (names.SCHEDULE_TOPIC, names.WHEEL_TIMER_TOPIC, HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC)
_GROUP_TOPICS = (names.RETRY_PREFIX, names.DLQ_PREFIX)
_TOLD = (NetworkError, RemoteError, CodecError)
_NEAR_NAMES = 3


async def queues_on(
    puller: Puller, topic: str, broker: str, address: str, read_queues: int
) -> list[tuple[QueueSlice, QueueOffsets]]:
    """Queues of a topic on one broker, by id, each as a whole slice with its offsets.

    Brokers of 4.x leave out queues that may be read but no longer written (docs/spec/remoting.md §2.5.6): the offsets of those
    among the first ``read_queues`` are requested one by one, without a time of the last message. No broker lists the queues
    that a topic had before it shrank, and they keep their messages: they are looked for behind those that are known.
    Raises as `Puller`.
    """
    any_queue = QueueSlice(topic, broker, address, 0, 0, 0)
    held = {queue.queue_id: offsets for queue, offsets in (await puller.held(any_queue)).items()}
    for queue_id in range(read_queues):
        if queue_id not in held:
            held[queue_id] = await offsets_of(puller, replace(any_queue, queue_id=queue_id))
    for part in await _shrunk_queues(puller, any_queue, max(held, default=-1) + 1):
        held[part.queue_id] = await offsets_of(puller, part)
    return [
        (replace(any_queue, queue_id=queue_id, first=offsets.min_offset, end=offsets.max_offset), offsets)
        for queue_id, offsets in sorted(held.items())
    ]


async def _shrunk_queues(puller: Puller, any_queue: QueueSlice, first: int) -> list[QueueSlice]:
    """Queues from an id on, up to the first `SHRUNK_GAP` ids that the broker has not."""
    found: list[QueueSlice] = []
    for start in range(first, SHRUNK_IDS_MAX, SHRUNK_GAP):
        some = [replace(any_queue, queue_id=queue_id) for queue_id in range(start, start + SHRUNK_GAP)]
        known = await asyncio.gather(*map(puller.has_queue, some))
        if not any(known):
            break
        found += [part for part, is_there in zip(some, known, strict=True) if is_there]
    return found


async def offsets_of(puller: Puller, part: QueueSlice) -> QueueOffsets:
    """Offsets of the slice's queue, requested for that queue; raises as `Puller`."""
    return QueueOffsets(*await asyncio.gather(puller.min_offset(part), puller.max_offset(part)), 0)


class ClusterSurvey:
    """Looks at a cluster once, with a started client. On one event loop."""

    def __init__(self, client: ClusterLink, wanted: SurveyRequest, puller: Puller) -> None:
        self._client = client
        self._wanted = wanted
        self._puller = puller
        self._at_once = asyncio.Semaphore(QUESTIONS_AT_ONCE)
        self._slices: list[QueueSlice] = []
        self._unknown: dict[Unknown, None] = {}

    async def look(self) -> Survey:
        """Find the slices of the request.

        Raises `NetworkError` when no name server answers or no broker is registered there, `UsageError` when none of the named
        topics exists, `RemoteError` or `CodecError` when the name server answers otherwise.
        """
        brokers = [broker.name for broker in await self._client.find_brokers()]
        if not brokers:
            raise NetworkError(
                f"no broker is registered at {self._client.name_servers}: is it the right name server, and do the brokers run?",
                address=self._client.name_servers,
            )
        known = await self._client.topics()
        topics = self._topics_of(known)
        await asyncio.gather(*(self._topic(topic) for topic in topics))
        unlisted = [topic for topic in UNLISTED_TOPICS if topic not in known and self._wants(topic)]
        await asyncio.gather(*(self._unlisted(topic, broker) for topic in unlisted for broker in brokers))
        slices = sorted(self._slices, key=lambda one: (one.topic, one.broker, one.queue_id))
        return Survey(tuple(slices), tuple(self._unknown), tuple(brokers))

    # ---- which topics --------------------------------------------------------------------------------------------------

    def _topics_of(self, known: Sequence[str]) -> list[str]:
        named = self._wanted.topics
        if named is None:
            return list(known)
        missing = [topic for topic in named if topic not in known and topic not in INTERNAL_TOPICS]
        if missing and len(missing) == len(named):
            raise UsageError(f"there is no topic {', '.join(missing)} at {self._client.name_servers}{_near(missing[0], known)}")
        for topic in missing:
            self._miss("", f"there is no topic {topic}")
        more = [topic for topic in known if topic in INTERNAL_TOPICS or topic.startswith(_GROUP_TOPICS)]
        return sorted({topic for topic in named if topic in known} | set(more if self._wanted.with_internal else ()))

    def _wants(self, internal_topic: str) -> bool:
        return self._wanted.topics is None or self._wanted.with_internal or internal_topic in self._wanted.topics

    # ---- one topic -----------------------------------------------------------------------------------------------------

    async def _topic(self, topic: str) -> None:
        try:
            async with self._at_once:
                route = await self._client.listed_route(topic)
        except _TOLD as error:
            self._miss("", f"the name server could not tell where topics are: {error.message}")
            return
        if route is not None:  # else it was deleted since its name was listed
            await asyncio.gather(*(self._part(topic, route, data) for data in route.queues))

    async def _part(self, topic: str, route: Route, data: QueueData) -> None:
        """Add the wanted slices of a topic on one broker."""
        broker, address = data.broker_name, route.address_of(data.broker_name)
        if address is None:
            self._miss(broker, f"the name server tells no address of broker {broker}")
            return
        readable = data.read_queues if data.permission & PERM_READ else 0
        try:
            async with self._at_once:
                queues = await queues_on(self._puller, topic, broker, address, readable)
        except _TOLD as error:
            self._miss(broker, _reason(broker, error))
            return
        await asyncio.gather(
            *(self._queue(replace(part, singly=part.queue_id >= readable), held.last_store_ms) for part, held in queues)
        )

    async def _unlisted(self, topic: str, broker: str) -> None:
        """Add the queue of a topic that no broker lists."""
        part = QueueSlice(topic, broker, self._client.address_of(broker), TRANSACTION_QUEUE_ID, 0, 0)
        try:
            async with self._at_once:
                held = await offsets_of(self._puller, part)
        except _TOLD as error:
            self._miss(broker, _reason(broker, error))
            return
        await self._queue(replace(part, first=held.min_offset, end=held.max_offset), 0)

    async def _queue(self, queue: QueueSlice, last_store_ms: int) -> None:
        """Add the wanted part of a queue, if there is any."""
        bounds = self._wanted.bounds(queue.topic, queue.broker, queue.queue_id)
        if bounds is None:
            return
        whole = replace(queue, first=max(queue.first, bounds[0]), end=min(queue.end, bounds[1]))
        if self._wanted.with_empty:
            self._slices.append(replace(whole, end=max(whole.first, whole.end)))
            return
        from_ms = self._wanted.from_ms
        if whole.messages <= 0 or (from_ms is not None and 0 < last_store_ms < from_ms - CLOCK_MARGIN_MS):
            return
        try:
            async with self._at_once:
                part = await self._within_times(whole)
        except _TOLD as error:
            self._miss(queue.broker, _reason(queue.broker, error))
            return
        if part.messages > 0:
            self._slices.append(part)

    async def _within_times(self, queue: QueueSlice) -> QueueSlice:
        """The part of a queue in a range of times, with a margin for a broker whose clock was set back."""
        if queue.singly:
            return queue  # to look for a time costs as much as to read on
        from_ms, to_ms = self._wanted.from_ms, self._wanted.to_ms
        return await within_times(
            self._puller,
            queue,
            None if from_ms is None else from_ms - CLOCK_MARGIN_MS,
            None if to_ms is None else to_ms + CLOCK_MARGIN_MS,
        )

    def _miss(self, broker: str, reason: str) -> None:
        self._unknown[Unknown(broker, reason)] = None


def _reason(broker: str, error: OrbitError) -> str:
    is_refused = isinstance(error, RemoteError) and error.context.get("code") == ResponseCode.NO_PERMISSION
    if is_refused or isinstance(error, AccountRefusedError):
        return f"broker {broker} refuses to be asked: {error.message}"
    return f"broker {broker} could not be asked: {error.message}"


def _near(topic: str, known: Sequence[str]) -> str:
    found = difflib.get_close_matches(topic, known, n=_NEAR_NAMES, cutoff=0.5)
    return f". Near: {', '.join(found)}" if found else ""

"""What queues of a cluster hold something that is wanted, and from where to where: asked once, before anything is read.

A broker that does not answer and a topic that nobody knows are named; the others are read all the same.

Source: spec remoting §2.2.5 (offsets by time), §2.5.4 (GET_TOPIC_STATS_INFO), §4.4 (routes).
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from broker_core.cluster.model import CLOCK_MARGIN_MS, QueueSlice, Survey, Unknown, Wanted
from broker_core.cluster.pulls import BrokerPatience, RecordPuller
from broker_core.cluster.queue_client import QueueClient
from broker_core.cluster.time_bounds import first_from, time_of_answer
from broker_core.errors import AccountRefusedError, CodecError, NetworkError, OrbitError, RemoteError, UsageError
from broker_core.protocol import names
from broker_core.protocol.admin.offsets import QueueOffsets, read_offset, read_queue_offsets
from broker_core.protocol.admin.routes import PERMISSION_READ, QueueData, Route
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.transaction_topics import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, QUEUE_ID

QUESTIONS_AT_ONCE = 16
INTERNAL_TOPICS = (names.SCHEDULE_TOPIC, names.WHEEL_TIMER_TOPIC, HALF_TOPIC, OP_TOPIC, DISCARD_TOPIC)
UNLISTED_TOPICS = (HALF_TOPIC, OP_TOPIC)
"""Those of them that 4.x brokers tell no name server of."""
_GROUP_TOPICS = ("%RETRY%", "%DLQ%")
_TOLD = (NetworkError, RemoteError, CodecError)
_NEAR_NAMES = 3


class ClusterSurvey:
    """Looks at a cluster once. On one event loop.

    Args:
        client: Started.
        wanted: What to look for.
        patience: With brokers.
    """

    def __init__(self, client: QueueClient, wanted: Wanted, patience: BrokerPatience) -> None:
        self._client = client
        self._wanted = wanted
        self._patience = patience
        self._puller = RecordPuller(client, patience)
        self._at_once = asyncio.Semaphore(QUESTIONS_AT_ONCE)
        self._slices: list[QueueSlice] = []
        self._unknown: dict[Unknown, None] = {}

    async def look(self) -> Survey:
        """Find out what there is.

        Raises:
            NetworkError: No name server answers, or no broker is registered there.
            UsageError: None of the topics that are named exists.
            RemoteError, CodecError: The name server answers otherwise.
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
        await asyncio.gather(
            *(
                self._unlisted(topic, broker, self._client.address_of(broker), QUEUE_ID)
                for topic in unlisted
                for broker in brokers
            )
        )
        slices = sorted(self._slices, key=lambda one: (one.topic, one.broker, one.queue_id))
        return Survey(tuple(slices), tuple(self._unknown), tuple(brokers))

    # ---- which topics --------------------------------------------------------------------------------------------------

    def _topics_of(self, known: Sequence[str]) -> list[str]:
        named = self._wanted.topics
        if named is None:
            return list(known)
        missing = [topic for topic in named if topic not in known and topic not in INTERNAL_TOPICS]
        if missing and len(missing) == len(named):
            raise UsageError(f"there is no topic {_said(missing)} at {self._client.name_servers}{_near(missing[0], known)}")
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
                route = await self._client.current_route(topic)
        except _TOLD as error:
            self._miss("", f"the name server could not tell where topics are: {error.message}")
            return
        if route is None:
            return  # it was deleted since its name was told
        await asyncio.gather(*(self._part(topic, route, data) for data in route.queues))

    async def _part(self, topic: str, route: Route, data: QueueData) -> None:
        """The queues of a topic on one broker."""
        broker, address = data.broker_name, route.address_of(data.broker_name)
        if address is None:
            self._miss(broker, f"the name server tells no address of broker {broker}")
            return
        try:
            async with self._at_once:
                call = partial(self._client.call, address, RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
                told = read_queue_offsets((await self._patience.ask(address, call)).body)
        except _TOLD as error:
            self._miss(broker, _reason(broker, error))
            return
        held = {queue.queue_id: offsets for queue, offsets in told.items()}
        readable = data.read_queues if data.permission & PERMISSION_READ else 0
        # Brokers of 4.x leave out queues that may be read but no longer written (remoting specification §2.5.6).
        await asyncio.gather(*(self._unlisted(topic, broker, address, one) for one in range(readable) if one not in held))
        await asyncio.gather(
            *(
                self._queue(QueueSlice(topic, broker, address, queue_id, 0, 0, queue_id >= readable), offsets)
                for queue_id, offsets in held.items()
            )
        )

    async def _unlisted(self, topic: str, broker: str, address: str, queue_id: int) -> None:
        """A queue that no answer lists with what it holds."""
        part = QueueSlice(topic, broker, address, queue_id, 0, 0)
        try:
            async with self._at_once:
                first = await self._puller.min_offset(part)
                end = await self._offset(part, RequestCode.GET_MAX_OFFSET, {})
        except _TOLD as error:
            self._miss(broker, _reason(broker, error))
            return
        await self._queue(part, QueueOffsets(first, end, 0))

    async def _queue(self, queue: QueueSlice, held: QueueOffsets) -> None:
        """Add what is wanted of a queue, if it holds any of it."""
        bounds = self._wanted.bounds(queue.topic, queue.broker, queue.queue_id)
        if bounds is None:
            return
        whole = replace(queue, first=max(held.min_offset, bounds[0]), end=min(held.max_offset, bounds[1]))
        if self._wanted.with_empty:
            self._slices.append(replace(whole, end=max(whole.first, whole.end)))
            return
        from_ms = self._wanted.from_ms
        if whole.messages <= 0 or (from_ms is not None and 0 < held.last_store_ms < from_ms - CLOCK_MARGIN_MS):
            return
        try:
            async with self._at_once:
                part = await self._within_times(whole)
        except _TOLD as error:
            self._miss(queue.broker, _reason(queue.broker, error))
            return
        if part.messages > 0:
            self._slices.append(part)

    # ---- times ---------------------------------------------------------------------------------------------------------

    async def _within_times(self, queue: QueueSlice) -> QueueSlice:
        """The part of a queue that holds a range of times; those of a broker whose clock was set back lie around it."""
        if queue.singly:
            return queue  # to look for a time costs as much as to read on
        first, end = queue.first, queue.end
        if self._wanted.from_ms is not None:
            first = await self._first_from(queue, first, self._wanted.from_ms - CLOCK_MARGIN_MS)
        if self._wanted.to_ms is not None:
            end = await self._first_from(queue, first, self._wanted.to_ms + CLOCK_MARGIN_MS)
        return replace(queue, first=first, end=end)

    async def _first_from(self, queue: QueueSlice, first: int, at_ms: int) -> int:
        if at_ms <= 0:
            return first
        more = {"timestamp": str(at_ms), "boundaryType": "LOWER"}
        guess = await self._offset(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, more)
        return await first_from(partial(self._store_ms, queue), at_ms, first, queue.end, guess)

    async def _store_ms(self, queue: QueueSlice, offset: int) -> int:
        """Store time of the first message from an offset on; before all times where it is not there any more."""
        record, following = await self._puller.records(queue, offset, 1)
        return time_of_answer(record, offset, following, name=queue.name)

    async def _offset(self, part: QueueSlice, code: RequestCode, more: dict[str, str]) -> int:
        fields = {"topic": part.topic, "queueId": str(part.queue_id), **more}
        answer = await self._patience.ask(part.address, partial(self._client.call, part.address, code, fields))
        return read_offset(answer.ext_fields)

    def _miss(self, broker: str, reason: str) -> None:
        self._unknown[Unknown(broker, reason)] = None


def _reason(broker: str, error: OrbitError) -> str:
    is_refused = isinstance(error, RemoteError) and error.context.get("code") == ResponseCode.NO_PERMISSION
    if is_refused or isinstance(error, AccountRefusedError):
        return f"broker {broker} refuses to be asked: {error.message}"
    return f"broker {broker} could not be asked: {error.message}"


def _said(topics: Iterable[str]) -> str:
    return ", ".join(topics)


def _near(topic: str, known: Sequence[str]) -> str:
    found = difflib.get_close_matches(topic, known, n=_NEAR_NAMES, cutoff=0.5)
    return f". Near: {', '.join(found)}" if found else ""

"""The one way to pull a slice of a queue of a broker.

It pulls as the group of tools (`broker_core.client.message_admin`), so no group's offset changes. Queues that a broker does not
let clients pull are read record by record. `broker_core.cluster.request_pacing` decides on retries and pace, the callers on the
order of slices, parallel pulls and filters.

Source: docs/spec/remoting.md §2.2.3 (pulls), §2.5.5 (QUERY_CONSUME_QUEUE); docs/spec/broker.md §0.3 (queues that
nobody may pull).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial

from broker_core.client.admin import AdminClient
from broker_core.cluster.records import cut_to, queue_offset_of, record_count, split_records
from broker_core.cluster.request_pacing import Asking, AskOnce
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import RemoteError
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import JsonBodyError, MessageQueue
from broker_core.protocol.message.record import FIXED_BYTES
from broker_core.protocol.names import HALF_TOPIC, OP_TOPIC

PULL_MESSAGES = 32
"""A broker's default maximum for one answer."""
UNLISTED_TOPICS = (HALF_TOPIC, OP_TOPIC)
"""Topics that 4.x brokers register at no name server; their op queue has messages and no topic config."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """An answer to one pull.

    Attributes:
        offset: Offset of the pull.
        body: Records of the slice, concatenated; bytes that are no record may follow them.
        following: Next offset. Not above ``offset`` when the broker has nothing from there on.
    """

    offset: int
    body: bytes
    following: int

    def records(self) -> list[bytes]:
        """The records; raises `RecordError` when they do not add up."""
        return list(split_records(self.body))

    @property
    def is_end(self) -> bool:
        """Whether the queue ends before the slice does."""
        return self.following <= self.offset

    @property
    def found_at(self) -> int:
        """Offset of the first message of the answer; the next offset, if it has none."""
        return queue_offset_of(self.body) if len(self.body) >= FIXED_BYTES else self.following


class Puller:
    """Pulls slices of queues. On one event loop; a cancelled pull has no later effect.

    Every method raises `NetworkError` when the broker does not answer, `RemoteError` when it refuses, and `CodecError` when its
    answer cannot be read. The client need not be started, because no name server is used.
    """

    def __init__(self, client: AdminClient, asking: Asking | None = None) -> None:
        self._client = client
        self._asking = asking or AskOnce()
        self._single = set[tuple[str, str]]()
        """Addresses of brokers, each with a topic that it does not let clients pull."""

    async def through(
        self, part: QueueSlice, offset: int, *, at_most: Callable[[], int] = lambda: PULL_MESSAGES
    ) -> AsyncGenerator[Pulled, None]:
        """Answers from an offset of a slice to its end, or to the end of its queue if that is earlier.

        ``at_most`` returns the number of messages of the next answer before each pull; 0 ends the pulls.
        """
        while offset < part.end and (count := at_most()) > 0:
            pulled = await self.pull(part, offset, count)
            if pulled.is_end:
                return
            offset = pulled.following
            yield pulled

    async def pull(self, part: QueueSlice, offset: int, at_most: int = PULL_MESSAGES) -> Pulled:
        """Records of a slice from one of its offsets on, ``at_most`` of them, and none outside of the slice."""
        body, following = await self.records(part, offset, min(at_most, part.end - offset))
        self._asking.took(part, record_count(body), len(body))
        pulled = Pulled(offset, body, following)
        if following > part.end or pulled.found_at < part.first:
            pulled = Pulled(offset, cut_to(body, part.first, part.end), min(following, part.end))
        return pulled

    async def records(self, part: QueueSlice, offset: int, count: int) -> tuple[bytes, int]:
        """The broker's answer: records of the slice's queue from an offset on, and the next offset."""
        if self.reads_singly(part):
            return await self._singly(part, offset, count)
        question = partial(self._client.pull_records, part.address, part.queue, offset, count)
        try:
            return await self._asking.ask(part, question)
        except RemoteError as error:
            if part.topic not in UNLISTED_TOPICS or error.context.get("code") != ResponseCode.TOPIC_NOT_EXIST:
                raise
            self._single.add((part.address, part.topic))
            return await self._singly(part, offset, count)

    def reads_singly(self, part: QueueSlice) -> bool:
        return part.singly or (part.address, part.topic) in self._single

    async def expired(self, part: QueueSlice, pulled: Pulled) -> int:
        """Offsets before an answer's first message that were deleted, because the queue begins after them by now.

        Other offsets without a message are never delivered, such as those of an aborted transaction.
        """
        gap = min(pulled.found_at, part.end) - pulled.offset
        return max(min(await self.min_offset(part) - pulled.offset, gap), 0) if gap > 0 else 0

    # ---- offsets of queues ---------------------------------------------------------------------------------------------

    async def held(self, part: QueueSlice) -> dict[MessageQueue, QueueOffsets]:
        """Offsets of the queues of the slice's topic on its broker, as far as the broker lists them."""
        return await self._asking.ask(part, partial(self._client.topic_stats_of, part.address, part.topic))

    async def min_offset(self, part: QueueSlice) -> int:
        return await self._asking.ask(part, partial(self._client.min_offset_of, part.address, part.queue))

    async def max_offset(self, part: QueueSlice) -> int:
        return await self._asking.ask(part, partial(self._client.max_offset_of, part.address, part.queue))

    async def has_queue(self, part: QueueSlice) -> bool:
        """Whether the broker has a queue, also one that its topic does not name; the question makes none."""
        asked = partial(self._client.queue_units_of, part.address, part.queue, 0, 1)
        try:
            await self._asking.ask(part, asked)
        except JsonBodyError:
            return True  # 4.x has nothing to say of an entry that was deleted
        except RemoteError as error:
            if error.context.get("code") not in (ResponseCode.SYSTEM_ERROR, ResponseCode.REQUEST_CODE_NOT_SUPPORTED):
                raise
            return False
        return True

    async def offset_near(self, part: QueueSlice, at_ms: int) -> int:
        """The broker's offset of a time; `broker_core.cluster.time_bounds` finds the exact one."""
        return await self._asking.ask(part, partial(self._client.offset_near_of, part.address, part.queue, at_ms))

    # ---- record by record ----------------------------------------------------------------------------------------------

    async def _singly(self, part: QueueSlice, offset: int, count: int) -> tuple[bytes, int]:
        """Read the consume queue, and then its records one by one."""
        count = min(count, PULL_MESSAGES)
        units = await self._asking.ask(part, partial(self._client.queue_units_of, part.address, part.queue, offset, count))
        places = [unit.physical_offset for unit in units[:count]]
        found = await asyncio.gather(*(self._record_at(part, place) for place in places))
        return b"".join(found), offset + len(places)

    async def _record_at(self, part: QueueSlice, physical_offset: int) -> bytes:
        """One record; empty when the broker has deleted it."""
        try:
            return await self._asking.ask(part, partial(self._client.record_at, part.address, physical_offset))
        except RemoteError as error:
            if error.context.get("code") != ResponseCode.SYSTEM_ERROR:
                raise
            return b""

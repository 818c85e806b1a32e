"""A search of any RocketMQ cluster, with the requests that every broker answers.

    lookup    ids by the broker that is named in them, keys and clients' ids by the index of each broker
    queues    the rest is pulled, queue by queue, from the offsets that a time bounds

Pulls commit nothing, so no group moves. What no queue holds cannot be found this way, nor what is added after the start.

Source: spec remoting §2.2.3 (pulls), §2.2.5 (offsets by time), §2.2.6 (queries).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

from broker_core.client.admin import AdminClient
from broker_core.errors import CodecError, NetworkError, RecordError, RemoteError, UsageError
from broker_core.message.message_id import offset_message_id
from broker_core.message.record import SIZE, decode_record
from broker_core.remoting.json_body import MessageQueue
from broker_core.search.bounds import HIGHEST, LOWEST, Lookup, interval_of, lookups_of
from broker_core.search.columns import topic_verdict
from broker_core.search.expression import Comparison, Expression, verdict
from broker_core.search.facts import MessageFacts, compare, matches
from broker_core.search.needles import offset_in_id
from broker_core.search.results import Hit, Outcome, Step

PULL_MESSAGES = 32
"""Asked for in one pull; a broker gives no more by default."""
KEY_ANSWER_MESSAGES = 64
UNIQUE_ANSWER_MESSAGES = 32
"""What a broker gives at most by default."""
KEY_PAGES_MAX = 10_000
REASONS_MAX = 20
_LATEST_MS = HIGHEST
_OVERLAP_MS = 1_000
"""A broker knows the store times in its index to the second."""


def _own_number(_address: str, queue_id: int) -> int:
    return queue_id


@dataclass(frozen=True, slots=True)
class QueuePart:
    """Messages of one queue from ``first`` up to, not with, ``end``."""

    queue: MessageQueue
    address: str
    """Of the broker."""
    first: int
    end: int


class ClusterSearch:
    """One search of a cluster. `prepare` first, then `steps`; on one event loop.

    Args:
        admin: A started client.
        expression: The filter.
        limit: Hits after which it stops; None for all.
        queue_number: The number that ``queue`` in the filter means for a queue of the broker at an address; the broker's own
            where several brokers are not told apart by numbers.
    """

    def __init__(
        self,
        admin: AdminClient,
        expression: Expression,
        *,
        limit: int | None = None,
        queue_number: Callable[[str, int], int] = _own_number,
    ) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"a search gives 1 hit or more, not {limit}")
        self._admin = admin
        self._expression = expression
        self._limit = limit
        self._queue_number = queue_number
        self._lookups = lookups_of(expression)
        self._parts: list[QueuePart] = []
        self._topics: list[str] = []
        self._scanned = self._found = self._undecoded = 0
        self._reasons: list[str] = []
        self._faults = 0
        self._is_cancelled = False
        self.plan = ""
        """What it will look at, in words; known after `prepare`."""
        self.total_messages = 0
        self.outcome: Outcome | None = None

    def cancel(self) -> None:
        """End it soon; the outcome says that it is partial."""
        self._is_cancelled = True

    async def prepare(self) -> None:
        """Find out what there is to look at.

        Raises:
            NetworkError: No name server answers.
            RemoteError: It answers with an error.
        """
        self._topics = [topic for topic in await self._admin.topics() if self._may_match(topic, None)]
        if self._lookups is not None:
            self.plan = f"lookup of {len(self._lookups):,} keys in {len(self._topics):,} topics"
            self.total_messages = len(self._lookups)
            return
        for topic in self._topics:
            await self._guarded(f"topic {topic}", self._add_parts(topic))
        self.total_messages = sum(part.end - part.first for part in self._parts)
        self.plan = f"scan of {len(self._parts):,} queues in {len(self._topics):,} topics, {self.total_messages:,} messages"

    async def steps(self) -> AsyncGenerator[Step, None]:
        """Carry the search out; `outcome` is known afterwards."""
        is_finished = False
        try:
            async for records in self._batches():
                hits = list(self._hits(records))
                yield Step(hits, self._scanned, max(self.total_messages, self._scanned), self._found)
                if self._is_over():
                    break
            is_finished = True
        finally:
            self._is_cancelled = self._is_cancelled or not is_finished
            self._end()

    def _is_over(self) -> bool:
        return self._is_cancelled or (self._limit is not None and self._found >= self._limit)

    def _end(self) -> None:
        reasons = self._reasons
        if self._faults > len(reasons):
            reasons.append(f"and {self._faults - len(reasons):,} more faults like these")
        if self._limit is not None and self._found >= self._limit:
            reasons.insert(0, f"the limit of {self._limit:,} hits was reached")
        elif self._is_cancelled:
            reasons.insert(0, "it was cancelled")
        if self._undecoded:
            reasons.append(f"{self._undecoded:,} bodies could not be decompressed and were searched as they are stored")
        self.outcome = Outcome(self._scanned, self._found, tuple(reasons))

    def _hits(self, records: list[bytes]) -> Iterator[Hit]:
        for record in records:
            self._scanned += 1
            try:
                message = decode_record(record)
            except RecordError as error:
                self._fault(f"a message could not be read: {error.message}")
                continue
            number = self._queue_number(str(message.store_host), message.queue_id)
            facts = MessageFacts(message if number == message.queue_id else replace(message, queue_id=number))
            is_match = matches(self._expression, facts)
            self._undecoded += bool(facts.body_fault)
            if is_match:
                self._found += 1
                yield Hit(message, record)
                if self._is_over():
                    return

    async def _batches(self) -> AsyncIterator[list[bytes]]:
        if self._lookups is not None:
            yield await self._looked_up(self._lookups)
            return
        for part in self._parts:
            async for records in self._pulled(part):
                yield records

    def _fault(self, text: str) -> None:
        self._faults += 1
        if len(self._reasons) < REASONS_MAX:
            self._reasons.append(text)

    # ---- queues --------------------------------------------------------------------------------------------------------

    def _may_match(self, topic: str, queue_id: int | None) -> bool:
        def known(comparison: Comparison) -> bool | None:
            if comparison.field.name == "queue":
                return None if queue_id is None else compare(comparison, (queue_id,))
            return topic_verdict(comparison, topic)

        return verdict(self._expression, known) is not False

    async def _add_parts(self, topic: str) -> None:
        stored, offsets = interval_of(self._expression, "stored"), interval_of(self._expression, "offset")
        route = await self._admin.readable_route(topic)
        for queue in route.subscribe_queues():
            address = route.address_of(queue.broker_name)
            if address is None or not self._may_match(topic, self._queue_number(address, queue.queue_id)):
                continue
            first, end = await self._admin.min_offset(queue), await self._admin.max_offset(queue)
            # A broker answers with the message nearest to a time, or the first at or after it: one more on each side has both.
            if first < end and stored.low > LOWEST:
                first = max(first, await self._admin.offset_by_time(queue, max(stored.low - 1, 0)))
            if first < end and stored.high < HIGHEST:
                end = min(end, await self._admin.offset_by_time(queue, max(stored.high + 1, 0)) + 1)
            first, end = max(first, offsets.low), min(end, max(offsets.high, -1) + 1)
            if first < end:
                self._parts.append(QueuePart(queue, address, first, end))

    async def _pulled(self, part: QueuePart) -> AsyncIterator[list[bytes]]:
        offset = part.first
        queue = part.queue
        name = f"queue {queue.queue_id} of {queue.topic} on {queue.broker_name}"
        while offset < part.end and not self._is_cancelled:
            try:
                body, following = await self._admin.pull_records(
                    part.address, queue, offset, min(PULL_MESSAGES, part.end - offset)
                )
                records = list(split_records(body))
            except (NetworkError, RemoteError, CodecError) as error:
                self._fault(f"{name} could not be read from offset {offset:,} on: {error.message}")
                return
            if following <= offset:
                self._fault(f"{name} gives no message from offset {offset:,} on, though it ends at {part.end:,}")
                return
            offset = following
            yield records

    # ---- lookups -------------------------------------------------------------------------------------------------------

    async def _looked_up(self, lookups: frozenset[Lookup]) -> list[bytes]:
        found: dict[str, bytes] = {}
        for lookup in sorted(lookups):
            if lookup.field == "id" and offset_in_id(lookup.text) >= 0 and await self._by_id(lookup.text, found):
                continue
            for topic in self._topics:
                await self._guarded(f"topic {topic}", self._by_key(topic, lookup, found))
                if self._is_cancelled:
                    return list(found.values())
        return list(found.values())

    async def _by_id(self, message_id: str, found: dict[str, bytes]) -> bool:
        """Whether the broker that an id names has it; if not, the id may be that of a client."""
        try:
            record = await self._admin.record_by_offset_id(message_id)
            message = decode_record(record)
        except (NetworkError, RemoteError, CodecError):
            return False
        found[offset_message_id(message.store_host, message.physical_offset)] = record
        return True

    async def _by_key(self, topic: str, lookup: Lookup, found: dict[str, bytes]) -> None:
        route = await self._admin.readable_route(topic)
        for address in filter(None, map(route.address_of, sorted(route.brokers))):
            until_ms = _LATEST_MS
            for _ in range(KEY_PAGES_MAX):
                body = await self._admin.records_by_key(
                    address, topic, lookup.text, unique=lookup.field == "id", count=KEY_ANSWER_MESSAGES, until_ms=until_ms
                )
                messages = [(decode_record(record), record) for record in split_records(body)]
                ids = {offset_message_id(message.store_host, message.physical_offset): record for message, record in messages}
                if ids.keys() <= found.keys():
                    if len(messages) >= (UNIQUE_ANSWER_MESSAGES if lookup.field == "id" else KEY_ANSWER_MESSAGES):
                        self._fault(
                            f"{address} names only {len(messages)} messages of {topic} with {lookup.text} in one second"
                        )
                    break
                found.update(ids)
                until_ms = min(message.store_timestamp_ms for message, _ in messages) + _OVERLAP_MS

    async def _guarded(self, what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except (NetworkError, RemoteError, CodecError) as error:
            self._fault(f"{what} could not be searched: {error.message}")


def split_records(body: bytes | memoryview) -> Iterator[bytes]:
    """Records of an answer, one behind the other.

    Raises:
        RecordError: They do not add up.
    """
    position = 0
    while position < len(body):
        size = SIZE.unpack_from(body, position)[0] if position + SIZE.size <= len(body) else 0
        if size <= 0 or position + size > len(body):
            raise RecordError(f"an answer of {len(body):,} bytes holds no whole record at {position:,}")
        yield bytes(body[position : position + size])
        position += size

"""A search of any RocketMQ cluster, with requests that every broker answers.

    lookup    ids by the broker that is named in them, keys and clients' ids by the index of each broker
    queues    otherwise several queues are pulled at once, from the offsets that a time bounds

Pulls commit nothing, so no group's offset changes. Records without a queue cannot be found this way, nor messages added after
the start. Everything that could not be searched is a reason in the outcome.

Source: docs/spec/remoting.md §2.2.3 (pulls), §2.2.6 (queries).
"""

from __future__ import annotations

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any

from broker_core.client.admin import AdminClient
from broker_core.cluster.puller import Puller
from broker_core.cluster.records import split_records
from broker_core.cluster.slices import CLOCK_MARGIN_MS, QueueSlice
from broker_core.counted import counted
from broker_core.errors import CodecError, NetworkError, RecordError, RemoteError, UsageError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message.message_id import offset_message_id, parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames, known_names, possible_owners
from broker_core.tools.search.bounds import HIGHEST, Lookup, interval_of, literal_topics, lookups_of
from broker_core.tools.search.cluster_parts import ClusterParts
from broker_core.tools.search.columns import may_match
from broker_core.tools.search.expression import Expression, comparisons
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.gaps import Gaps, unknown_topic
from broker_core.tools.search.parallel_pulls import RETRY_PAUSES_S, Answers, ParallelPulls
from broker_core.tools.search.pulled_filter import PulledFilter
from broker_core.tools.search.results import Hit, Outcome, SearchStep, limit_reason, undecoded_reason
from broker_core.tools.search.shared_retries import SharedRetries

KEY_ANSWER_MESSAGES = 64
UNIQUE_ANSWER_MESSAGES = 32
"""A broker's default maximum for one answer."""
KEY_PAGES_MAX = 10_000
_LATEST_MS = HIGHEST
_OVERLAP_MS = 1_000
"""A broker's index has store times to the second."""
_PORT_MAX = 65_535


def _own_number(_broker: str, queue_id: int) -> int:
    return queue_id


class ClusterSearch:
    """One search of a cluster, with a started client. `prepare` first, then `steps`; on one event loop.

    Args:
        limit: Hits after which it stops; None for all.
        queue_number: The number that ``queue`` in the filter means for a queue of a broker, by its name; by default the
            broker's own.
        known_topics: Topic → brokers known to have it, from the watch of the cluster; those that the name server has
            forgotten make the outcome partial.
        retry_pauses_s: Before each retry of a broker lost during the search, in seconds.
        known: Groups and topics, to tell retry topics apart; None: the brokers are asked, where the filter compares groups.
    """

    def __init__(
        self,
        admin: AdminClient,
        expression: Expression,
        *,
        limit: int | None = None,
        queue_number: Callable[[str, int], int] = _own_number,
        known_topics: Mapping[str, Collection[str]] | None = None,
        retry_pauses_s: Sequence[float] = RETRY_PAUSES_S,
        known: KnownNames | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise UsageError(f"a search gives 1 hit or more, not {limit}")
        self._admin = admin
        self._expression = expression
        self._limit = limit
        self._queue_number = queue_number
        self._retry_pauses_s = retry_pauses_s
        self._gaps = Gaps()
        self._puller = Puller(admin)
        self._places = ClusterParts(admin, self._puller, self._gaps, known_topics or {})
        self._lookups = lookups_of(expression)
        self._parts: list[QueueSlice] = []
        self._topics: list[str] = []
        self._shared = SharedRetries(expression)
        self._known = known
        self._scanned = self._found = self._undecoded = 0
        self._is_given_up = False
        self._cancelled = asyncio.Event()
        by_queue = any(one.field.name == "queue" for one in comparisons(expression))
        is_plain = self._lookups is None and (queue_number is _own_number or not by_queue)
        self._pulled_filter = PulledFilter(expression) if is_plain else None
        self.plan = ""
        """What it will search, in words; known after `prepare`."""
        self.total_messages = 0
        self.outcome: Outcome | None = None

    def cancel(self) -> None:
        """End it, whatever requests are pending; the outcome says that it is partial."""
        self._cancelled.set()

    async def prepare(self) -> None:
        """Find out what to search; incomplete if it is cancelled meanwhile.

        Raises `NetworkError`, `RemoteError` or `CodecError` without a usable answer of the name server.
        """
        await self._unless_cancelled(self._prepare())

    async def _unless_cancelled(self, work: Coroutine[Any, Any, None]) -> None:
        """Run some work, which ends as soon as the search is cancelled."""
        working, cancelled = asyncio.ensure_future(work), asyncio.ensure_future(self._cancelled.wait())
        try:
            await asyncio.wait((working, cancelled), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            cancelled.cancel()
            working.cancel()
            await asyncio.gather(working, cancelled, return_exceptions=True)

    async def _prepare(self) -> None:
        topics = await self._places.topics()
        for topic in sorted(literal_topics(self._expression) - topics):
            if may_match(self._expression, topic, None):
                self._gaps.add(unknown_topic(topic, topics))
        self._topics = sorted(topic for topic in topics if may_match(self._expression, topic, None))
        if self._known is None:
            self._known = await self._known_names(topics) if self._shared.is_needed else NOTHING_KNOWN
        if self._lookups is not None:
            self.plan = f"lookup of {counted(len(self._lookups), 'key')} in {counted(len(self._topics), 'topic')}"
            self.total_messages = len(self._lookups)
            return
        await self._places.each(self._topics, self._add_parts)
        self._parts.sort(key=lambda part: part.queue)
        self.total_messages = sum(part.messages for part in self._parts)
        queues = counted(len(self._parts), "queue")
        self.plan = f"scan of {queues} in {counted(len(self._topics), 'topic')}, {counted(self.total_messages, 'message')}"

    async def _known_names(self, topics: set[str]) -> KnownNames:
        """Names with the groups of the brokers, which are asked only for a retry topic of several possible owners.

        Without an answer the topics alone are known.
        """
        groups: set[str] = set()
        if any(len(possible_owners(topic)) > 1 for topic in topics):
            with contextlib.suppress(NetworkError, RemoteError, CodecError):
                groups.update(await self._admin.groups())
        return known_names(groups, topics)

    async def steps(self) -> AsyncGenerator[SearchStep, None]:
        """Carry the search out; `outcome` is known afterwards."""
        is_finished = False
        pulls = ParallelPulls(
            self._pulled,
            self._parts,
            self._places.addresses,
            self._gaps,
            pauses_s=self._retry_pauses_s,
            cancelled=self._cancelled,
        )
        try:
            async with aclosing(pulls.batches() if self._lookups is None else self._looked_up(self._lookups)) as batches:
                async for answers in batches:
                    hits: list[Hit] = []
                    try:
                        hits.extend(self._hits(answers))
                    except UsageError as error:  # a regular expression timed out: the hits so far are kept
                        self._gaps.add(error.message)
                        self._is_given_up = True
                    if answers:
                        pulls.taken(any_hits=bool(hits))
                    yield SearchStep(hits, self._scanned, max(self.total_messages, self._scanned), self._found)
                    if self._is_over():
                        break
            is_finished = True
        finally:
            if not is_finished:
                self._cancelled.set()
            self._end()

    def _is_over(self) -> bool:
        is_enough = self._limit is not None and self._found >= self._limit
        return self._cancelled.is_set() or self._is_given_up or is_enough

    def _end(self) -> None:
        reasons = self._gaps.reasons()
        if self._limit is not None and self._found >= self._limit:
            reasons.insert(0, limit_reason(self._limit))
        elif self._cancelled.is_set():
            reasons.insert(0, "it was cancelled")
        if self._undecoded:
            reasons.append(undecoded_reason(self._undecoded))
        self.outcome = Outcome(
            self._scanned, self._found, tuple(reasons), notes=(*self._places.gone.notes(), *self._shared.notes())
        )

    def _hits(self, answers: Answers) -> Iterator[Hit]:
        found = list(chain.from_iterable(records for _broker, records in answers))
        ends = list(accumulate(len(records) for _broker, records in answers))
        opened = range(len(found)) if self._pulled_filter is None else self._pulled_filter.open_rows(found)
        self._scanned += len(found) - len(opened)
        for row in opened:
            broker, record = answers[bisect_right(ends, row)][0], found[row]
            self._scanned += 1
            try:
                message = decode_record(record)
            except RecordError as error:
                self._gaps.add(f"a message could not be read: {error.message}")
                continue
            # Not by its store host: a broker that moved, or a slave that became master, has messages of another address.
            number = self._queue_number(broker, message.queue_id)
            shown = message if number == message.queue_id else replace(message, queue_id=number)
            facts = MessageFacts(shown, self._known or NOTHING_KNOWN)
            is_match = matches(self._expression, facts)
            self._undecoded += bool(facts.body_fault)
            if is_match:
                self._found += 1
                self._shared.take(facts)
                yield Hit(message, record, broker)
                if self._is_over():
                    return

    # ---- queues --------------------------------------------------------------------------------------------------------

    async def _add_parts(self, topic: str) -> None:
        stored = interval_of(self._expression, "stored").widened(CLOCK_MARGIN_MS)
        offsets = interval_of(self._expression, "offset")

        def may_hold(broker: str, queue_id: int) -> bool:
            return may_match(self._expression, topic, self._queue_number(broker, queue_id))

        self._parts += await self._places.parts_of(topic, may_hold, stored, offsets)

    async def _pulled(self, part: QueueSlice, offset: int) -> tuple[list[bytes], int]:
        """Records of a part from an offset on, and the next offset."""
        pulled = await self._puller.pull(part, offset)
        records = pulled.records()
        if gone := await self._puller.expired(part, pulled):
            self._gaps.add(f"{part.name}: {counted(gone, 'message')} from offset {offset:,} on expired during the search")
        return records, pulled.following

    # ---- lookups -------------------------------------------------------------------------------------------------------

    async def _looked_up(self, lookups: frozenset[Lookup]) -> AsyncGenerator[Answers, None]:
        """Names of brokers with a record each, by store time: a message before its retries."""
        found: dict[str, tuple[str, bytes]] = {}
        await self._unless_cancelled(self._find(lookups, found))
        if not found:
            await self._unless_cancelled(self._places.each(self._topics, self._places.look_for_gone))
        for broker, record in sorted(found.values(), key=lambda one: decode_record(one[1]).store_timestamp_ms):
            yield [(broker, [record])]

    async def _find(self, lookups: frozenset[Lookup], found: dict[str, tuple[str, bytes]]) -> None:
        for lookup in sorted(lookups):
            if lookup.field == "id" and await self._by_id(lookup.text, found):
                continue
            await self._places.each(self._topics, partial(self._by_key, lookup, found))

    async def _by_id(self, message_id: str, found: dict[str, tuple[str, bytes]]) -> bool:
        """Whether the broker of an id has its record; if not, the id may be that of a client.

        Only brokers of the cluster are asked, because a client's id may look as if it named any address.
        """
        try:
            host, _offset = parse_offset_message_id(message_id)
        except CodecError:
            return False
        if str(host) not in self._places.registered:
            if 0 < host.port <= _PORT_MAX:
                self._gaps.add(f"id {message_id} may name the broker at {host}, which is not registered at the name server now")
            return False
        try:
            record = await self._admin.record_by_offset_id(message_id)
            message = decode_record(record)
        except (NetworkError, RemoteError, CodecError) as error:
            if error.context.get("code") == ResponseCode.SYSTEM_ERROR:
                # The broker's answer for a place without a message.
                return False
            self._gaps.add(f"id {message_id} could not be looked for on the broker at {host}: {error.message}")
            return False
        found[offset_message_id(message.store_host, message.physical_offset)] = self._places.registered[str(host)], record
        return True

    async def _by_key(self, lookup: Lookup, found: dict[str, tuple[str, bytes]], topic: str) -> None:
        route = await self._places.route(topic)
        addresses = {name: address for name in sorted(route.brokers) if (address := route.address_of(name)) is not None}
        await self._places.on_each_broker(
            topic, addresses, lambda name, address: self._by_key_at(name, address, topic, lookup, found)
        )

    async def _by_key_at(
        self, broker: str, address: str, topic: str, lookup: Lookup, found: dict[str, tuple[str, bytes]]
    ) -> None:
        until_ms = _LATEST_MS
        for _ in range(KEY_PAGES_MAX):
            body = await self._admin.records_by_key(address, topic, lookup.text, count=KEY_ANSWER_MESSAGES, until_ms=until_ms)
            messages = [(decode_record(record), record) for record in split_records(body)]
            ids = {
                offset_message_id(message.store_host, message.physical_offset): (broker, record) for message, record in messages
            }
            if ids.keys() <= found.keys():
                if len(messages) >= (UNIQUE_ANSWER_MESSAGES if lookup.field == "id" else KEY_ANSWER_MESSAGES):
                    self._gaps.add(f"{address} names only {len(messages)} messages of {topic} with {lookup.text} in one second")
                break
            found.update(ids)
            until_ms = min(message.store_timestamp_ms for message, _ in messages) + _OVERLAP_MS

"""Live tails of an attached cluster: what arrives in the queues of some topics, pulled within the budgets of the brokers.

A look asks which queues have grown, some topics at a time, and pulls what is new with the group that brokers keep for tools;
nothing is committed. Looks happen only while the window asks. A look takes at most `REQUESTS_A_LOOK` requests of each broker,
four times a second: half of a broker's budget. Messages beyond the limit of a batch are counted by their offsets and left out.
A broker that answers again is read from where the tail stopped; a slow one is read for longer, and the window gets the
messages of the others meanwhile.

A new tail with other topics or rules continues at the place of an old one. Places in several logs are no single number, so the
old tail's number stands for them.

Source: docs/spec/remoting.md §2.2.3 (pulls), §2.5 (GET_TOPIC_STATS_INFO).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from broker_core.clock import wall_clock_ms
from broker_core.cluster.link import AskGently, ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.errors import RecordError, UsageError
from broker_core.protocol.admin.offsets import QueueOffsets, read_queue_offsets
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.tools.search.expression import Expression
from broker_core.tools.search.facts import MessageFacts, matches
from broker_core.tools.search.fields import state_of_topic
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.lost_brokers import PART_ERRORS, LostParts
from broker_core.worker.follows import TOPICS_MAX, FollowBatch, OpenTails, compares_groups, filter_of, rules_of
from broker_core.worker.message_views import head_of
from broker_core.worker.questions.searches import StartFollow

PACE_SECONDS = 0.25
HOLD_SECONDS = 1.0
LOOK_SECONDS = 0.5
"""How long a question waits for slow brokers; a later one returns what they found."""
REQUESTS_A_LOOK = 6
"""Of one broker; every look asks for the next topics."""
BEHIND_MAX = 500
"""Messages of a queue; those further behind are left out."""
KEPT_PLACES = 8
"""Ended tails that a new one can still continue."""


@dataclass(slots=True)
class _BrokerLook:
    """One look at a broker, and where the tail is there once the window has what was found."""

    batch: FollowBatch = field(default_factory=FollowBatch)
    offsets: dict[MessageQueue, int] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    pulled: dict[str, int] = field(default_factory=dict)
    turn: int = 0


@dataclass(slots=True)
class _ClusterTail:
    topics: tuple[str, ...]
    """Empty: all of the cluster."""
    expression: Expression | None
    rules: tuple[Expression, ...]
    offsets: dict[MessageQueue, int]
    known: frozenset[str]
    """Brokers whose topics were known at the start; the former content of others is unknown."""
    names: KnownNames = NOTHING_KNOWN
    """To tell retry topics apart; as of the start."""
    turn: dict[str, int] = field(default_factory=dict)
    pulled: dict[tuple[str, str], int] = field(default_factory=dict)
    unheard: set[tuple[str, str]] = field(default_factory=set)
    """Brokers, each with a topic, that did not answer at the start: what they hold then has not just arrived."""
    looks: dict[str, asyncio.Task[_BrokerLook]] = field(default_factory=dict)
    """Broker → the look that is under way, or whose findings are not returned yet."""
    is_asked: bool = False
    is_held: bool = False
    """While another tail begins at its place, because both would report what it took meanwhile."""
    is_ended: bool = False

    def take(self, broker: str, look: _BrokerLook) -> None:
        self.offsets.update(look.offsets)
        self.pulled.update({(broker, topic): queue for topic, queue in look.pulled.items()})
        self.unheard -= {(broker, topic) for topic in look.heard}
        self.turn[broker] = look.turn


class ClusterFollows(OpenTails[_ClusterTail]):
    """The live tails of a worker that watches a cluster.

    A look waits ``look_seconds`` for slow brokers. ``clock`` returns ms since the epoch, for times like ``-15m``.
    """

    def __init__(
        self,
        link: ClusterLink,
        figures: ClusterFigures,
        *,
        clock: Callable[[], int] = wall_clock_ms,
        pace_seconds: float = PACE_SECONDS,
        hold_seconds: float = HOLD_SECONDS,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        super().__init__(pace_seconds=pace_seconds, hold_seconds=hold_seconds)
        self._link = link
        self._figures = figures
        self._clock = clock
        self._puller = Puller(link, AskGently(link))
        self._look_seconds = look_seconds
        self._ended: deque[tuple[int, dict[MessageQueue, int]]] = deque(maxlen=KEPT_PLACES)

    def close(self) -> None:
        for follow_id in list(self._open):
            self._end_tail(follow_id)

    def _end_tail(self, follow_id: int) -> _ClusterTail | None:
        ended = super()._end_tail(follow_id)
        if ended is not None:
            for look in ended.looks.values():
                look.cancel()
            self._ended.append((follow_id, ended.offsets))
        return ended

    def _position(self, follow_id: int, _opened: _ClusterTail) -> int:
        return follow_id

    async def _prepare(self, query: StartFollow) -> _ClusterTail:
        now_ms = self._clock()
        opened = _ClusterTail(
            tuple(query.topics),
            filter_of(replace(query, topics=[]), now_ms),
            rules_of(query, now_ms),
            self._left_at(query),
            frozenset(name for name in self._link.numbers.names if self._figures.of(name).topics),
        )
        self._check_topics(opened)
        if compares_groups(opened.expression, opened.rules):
            opened.names = self._figures.known_names()
        before = self._open.get(query.position, opened)
        before.is_held = True
        try:
            await self._find_ends(opened)
        finally:
            before.is_held = False
        return opened

    def _left_at(self, query: StartFollow) -> dict[MessageQueue, int]:
        """Where the tail that this one continues is in the queues that this one follows."""
        before = self._open.get(query.position)
        places = before.offsets if before is not None else dict(self._ended).get(query.position, {})
        wanted = set(query.topics)
        return {queue: offset for queue, offset in places.items() if not wanted or queue.topic in wanted}

    def _check_topics(self, opened: _ClusterTail) -> None:
        known = {topic for broker in self._link.numbers.names for topic in self._topics_on(opened, broker)}
        unknown = [topic for topic in opened.topics if topic not in known]
        if unknown:
            raise UsageError(f"no broker of this cluster is known to have topic {', '.join(unknown)}: is it spelled right?")
        count = len(known)
        if count > TOPICS_MAX:
            text = f"this cluster has {count:,} topics, and a live tail of a cluster follows {TOPICS_MAX} at most: choose some"
            raise UsageError(text)

    async def _find_ends(self, opened: _ClusterTail) -> None:
        """Note the ends of the queues to follow; slow brokers are read later."""
        lost, settings = LostParts(self._figures), self._link.settings
        topics = {broker: self._topics_on(opened, broker) for broker in self._link.numbers.names}
        every = {(broker, topic) for broker, of in topics.items() for topic in of}
        opened.unheard |= every

        async def ask(broker: str) -> None:
            for topic in topics[broker]:
                for queue_id, offsets in (await self._held(broker, topic)).items():
                    opened.offsets.setdefault(MessageQueue(topic, broker, queue_id), offsets.max_offset)
                opened.unheard.discard((broker, topic))

        # A budget allows so many requests a second, and other requests take turns with these.
        allowed_ms = 2_000 * max(map(len, topics.values()), default=0) / settings.requests_per_second
        asked = [broker for broker in topics if not lost.is_lost(broker)]
        await asyncio.gather(*(lost.one(broker, ask, within_ms=settings.page_ms + allowed_ms) for broker in asked))
        lost.check(not every or opened.unheard != every)

    def _topics_on(self, opened: _ClusterTail, broker: str) -> list[str]:
        known = self._figures.of(broker).topics
        if opened.topics:
            return [topic for topic in opened.topics if topic in known]
        return sorted(topic for topic in known if state_of_topic(topic) in ("normal", "retry", "dead"))

    async def _held(self, broker: str, topic: str) -> dict[int, QueueOffsets]:
        answer = await self._link.ask_gently(broker, RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
        return {queue.queue_id: held for queue, held in read_queue_offsets(answer.body).items()}

    # ---- looking -------------------------------------------------------------------------------------------------------

    async def _look(self, opened: _ClusterTail) -> FollowBatch:
        batch = FollowBatch()
        if not opened.is_held:
            await self._look_around(opened, batch)
            batch.heads.sort(key=lambda one: one[1].store_ms)
        return batch

    async def _look_around(self, opened: _ClusterTail, batch: FollowBatch) -> None:
        """Look at every broker; take the findings of all that end within the time limit."""
        for broker in self._link.numbers.names:
            if broker not in opened.looks:
                opened.looks[broker] = asyncio.create_task(self._look_on(opened, broker), name=f"look at {broker}")
        if opened.looks:
            await asyncio.wait(opened.looks.values(), timeout=self._look_seconds)
        for broker, look in list(opened.looks.items()):
            if look.done() and not (batch.is_full or opened.is_held or opened.is_ended):
                del opened.looks[broker]
                found = look.result()
                opened.take(broker, found)
                batch.heads += found.batch.heads
                batch.body_bytes += found.batch.body_bytes
                batch.left_out += found.batch.left_out

    async def _look_on(self, opened: _ClusterTail, broker: str) -> _BrokerLook:
        """What one broker has got, as far as this look may ask it."""
        topics = self._topics_on(opened, broker)
        begin = opened.turn.get(broker, 0) % len(topics) if topics else 0
        look = _BrokerLook(turn=begin)
        if not topics or self._figures.of(broker).is_lost:
            return look
        left = REQUESTS_A_LOOK
        for count, topic in enumerate([*topics[begin:], *topics[:begin]]):
            # A topic takes two at least, or one that is always read last would never be pulled.
            if left < 2 or look.batch.is_full:
                look.turn = begin + count
                break
            left -= 1
            try:
                left -= await self._look_at(opened, broker, topic, look, left)
            except PART_ERRORS:
                # The banner over all pages says what is missing since when; the next look continues here. A topic that is
                # refused each time does not keep the later ones from being read.
                look.turn = begin + count + 1
                break
        return look

    async def _look_at(self, opened: _ClusterTail, broker: str, topic: str, look: _BrokerLook, left: int) -> int:
        """Find what a topic has got on one broker; returns the number of pulls."""
        pulls, batch = 0, look.batch
        all_held = await self._held(broker, topic)
        is_late = broker not in opened.known or (broker, topic) in opened.unheard
        look.heard.add(topic)
        last = opened.pulled.get((broker, topic), -1)
        # Queues take turns: the first ones may have something new at every look.
        for queue_id in sorted(all_held, key=lambda one: (one <= last, one)):
            held, queue = all_held[queue_id], MessageQueue(topic, broker, queue_id)
            # A new queue has got all that it holds since the start.
            offset = opened.offsets.get(queue, held.max_offset if is_late else held.min_offset)
            offset = min(max(offset, held.min_offset), held.max_offset)
            if held.max_offset - offset > BEHIND_MAX:
                batch.left_out += held.max_offset - BEHIND_MAX - offset
                offset = held.max_offset - BEHIND_MAX
            look.offsets[queue] = offset
            while offset < held.max_offset and pulls < left and not batch.is_full:
                pulls += 1
                look.pulled[topic] = queue_id
                pulled = await self._puller.pull(self._link.slice_of(queue), offset)
                if pulled.is_end:
                    break
                try:
                    records = pulled.records()
                except RecordError:  # asked for once more it would be no better
                    records, batch.left_out = [], batch.left_out + pulled.following - offset
                self._take(opened, queue, records, batch)
                look.offsets[queue] = offset = pulled.following
        return pulls

    def _take(self, opened: _ClusterTail, queue: MessageQueue, records: Iterable[bytes], batch: FollowBatch) -> None:
        numbers = self._link.numbers
        for record in records:
            try:
                own = decode_record(record)
            except RecordError:
                batch.left_out += 1
                continue
            # Filters mean queues by the numbers under which they are shown, as those of searches do.
            message = replace(own, queue_id=numbers.shown_queue(queue.broker_name, own.queue_id))
            facts = MessageFacts(message, opened.names)
            if opened.expression is not None and not matches(opened.expression, facts):
                continue
            head = head_of(message)
            shown = replace(head, physical_offset=numbers.shown_place(queue.broker_name, head.physical_offset))
            rule = next((number for number, one in enumerate(opened.rules) if matches(one, facts)), -1)
            batch.heads.append((queue.topic, shown, rule))
            batch.body_bytes += len(message.body)

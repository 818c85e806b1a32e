"""Asks the brokers of a cluster for their figures, round after round, each broker on a task of its own.

    names        which brokers there are, every few seconds, from the name server
    slaves       how far they are, as often (1 request each)
    proxies      where they are, as often (1 request to each broker; where some run, their newest announcements)
    each broker  all consumer offsets, its runtime figures and its timers (3 requests); every few rounds its topics, groups,
                 settings and producers (4 requests);
                 then queue offsets, members and ages as far as the budget goes: topics that a person asked about first, then
                 those that are written to, then all others in turn

A slow, lost or faulty broker delays no other. No request moves a consumer offset.

Source: docs/spec/remoting.md §2.5 (administration), §2.2.3 (a pull commits nothing unless it says so).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from broker_core.cluster.link import ASKED_AGAIN, ClusterLink, refused_as
from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError
from broker_core.protocol.admin.brokers import BrokerPlace, read_broker_settings, read_level_table, read_runtime
from broker_core.protocol.admin.connections import read_members, read_producers, read_subscriptions
from broker_core.protocol.admin.groups import read_group_configs
from broker_core.protocol.admin.offsets import (
    NO_OFFSETS,
    QueueOffsets,
    read_consumer_offsets,
    read_delay_offsets,
    read_queue_offsets,
    read_timer_counts,
)
from broker_core.protocol.admin.topics import PERM_READ, read_all_topic_settings
from broker_core.protocol.admin.values import Body, whole_number
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import HALF_TOPIC, INNER_PRODUCER_GROUP, OP_TOPIC, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.lost_brokers import body_unless
from broker_core.worker.questions.abilities import Ability

logger = logging.getLogger(__name__)

_NO_DELAYS = "No delay offset in this broker"
AGES_IN_ROUND = 12
"""Messages read for their store time, of the positions that lag."""
HEADS_IN_ROUND = 4
"""Messages read for the next due time of delay levels."""
_OWN_TOPICS = (SCHEDULE_TOPIC, HALF_TOPIC, OP_TOPIC)
"""Topics of brokers whose queues are read every round."""
_FIXED_IN_ROUND = 7 + len(_OWN_TOPICS) + 1 + HEADS_IN_ROUND
UNLISTED_QUEUES_MAX = 64
"""Queues of a topic that a broker does not list and that are requested one by one; those beyond stay unknown."""
ROUTES_TOGETHER = 8
ROUTES_IN_ROUND, ROUTES_AT_ONCE = 64, 1_024
"""Routes requested while a broker has not reported its topics; sums of topics beyond stay unknown until their turn."""
ENDS_READ_AGAIN = 64
"""Topics in a round."""
MEMBERS_SHARE = 4
"""One group in so many requests for queue offsets is asked for its members."""


class Sampling:
    """Keeps `ClusterFigures` true over a started link. On one event loop."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures, *, clock: Callable[[], int]) -> None:
        self._link = link
        self._figures = figures
        self._clock = clock
        self._asked_ms: dict[str, int] = {}
        self._rounds: dict[str, BrokerRounds] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._names: asyncio.Task[None] | None = None
        self._others: asyncio.Task[None] | None = None
        self._route_turn = 0

    def start(self) -> None:
        self._names = asyncio.create_task(self._watch_names(), name="cluster names")
        self._others = asyncio.create_task(self._watch_others(), name="cluster slaves and proxies")

    async def close(self) -> None:
        tasks = [task for task in (self._names, self._others, *self._tasks.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()

    def asked_about(self, topics: Iterable[str]) -> None:
        """A person looks at topics: their queues are read first for a while."""
        self._asked_ms = {topic: self._asked_ms[topic] for topic in self.recent()} | dict.fromkeys(topics, self._clock())

    def recent(self) -> set[str]:
        """Topics that a person looked at within ``asked_ms``."""
        now_ms, asked_ms = self._clock(), self._link.settings.asked_ms
        return {topic for topic, at in self._asked_ms.items() if now_ms - at < asked_ms}

    async def once(self) -> None:
        """Ask everything once, all brokers side by side; the figures hold the faults. Raises as `ClusterLink.find_brokers`."""
        await self._find_brokers()
        await asyncio.gather(*(BrokerRounds(self._link, self._figures, name).whole() for name in self._link.brokers))
        await self._ask_slaves()
        await self._find_proxies()
        await self._ask_routes(ROUTES_AT_ONCE)

    async def greet(self) -> None:
        """Ask every broker for its identity and tables, so that all names are known at once; four requests each.

        A broker that does not answer counts as lost until its first round; a slow one reports its names there.
        """
        # The places of brokers, and the topics that are system topics by cluster names, are known since the link was made.
        self._take_brokers()
        greetings = (self._rounds_of(name).greet() for name in self._link.brokers)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._link.settings.timeout_ms / 1000):
                await asyncio.gather(*greetings)

    def _rounds_of(self, broker: str) -> BrokerRounds:
        return self._rounds.setdefault(broker, BrokerRounds(self._link, self._figures, broker))

    async def _find_brokers(self) -> list[BrokerPlace]:
        found = await self._link.find_brokers()
        self._take_brokers()
        self._figures.take_registered({broker.name for broker in found})
        return found

    def _take_brokers(self) -> None:
        for place in self._link.brokers.values():
            self._figures.take_place(place)
        self._figures.cluster_names.update(broker.cluster for broker in self._link.brokers.values() if broker.cluster)

    async def _watch_names(self) -> None:
        settings = self._link.settings
        while True:
            pause_ms = settings.tables_ms
            try:
                await self._find_brokers()
                self._figures.name_server_state("")
                await self._ask_routes(ROUTES_IN_ROUND)
                if self._figures.any_unregistered:
                    pause_ms = settings.retry_ms
            except (NetworkError, RemoteError, CodecError) as error:
                self._figures.name_server_state(error.message)
                pause_ms = settings.retry_ms
            except Exception as error:
                # The root of a task, as below.
                logger.exception("watching the name server failed")
                self._figures.name_server_state(f"Orbit failed at its answer: {error!r}")
                pause_ms = settings.retry_ms
            for name in self._link.brokers:
                if name not in self._tasks:
                    self._tasks[name] = asyncio.create_task(self._watch_broker(name), name=f"watch {name}")
            await asyncio.sleep(pause_ms / 1000)

    async def _ask_routes(self, count: int) -> None:
        """Learn which topics have no part on brokers without a report: those whose routes do not name these brokers.

        Only a registered master is in the routes of all its topics.
        """
        untold = self._figures.untold()
        catalog = self._figures.listed() if untold else None
        routes: dict[str, frozenset[str]] = {}
        if catalog is not None:
            topics = [name for name, is_own in zip(catalog.topics, catalog.topic_is_system, strict=True) if not is_own]
            anywhere = frozenset(name for name in untold if not self._figures.is_in_routes(name))
            turn = _in_turn(topics, self._route_turn, count)
            self._route_turn += len(turn)
            # A topic whose request fails stays unknown, and is requested again in its turn.
            with contextlib.suppress(NetworkError, RemoteError, CodecError):
                for first in range(0, len(turn), ROUTES_TOGETHER):
                    some = turn[first : first + ROUTES_TOGETHER]
                    found = await asyncio.gather(*map(self._link.brokers_of_route, some))
                    routes |= {topic: named | anywhere for topic, named in zip(some, found, strict=True) if named}
        self._figures.take_routes(routes)

    async def _watch_others(self) -> None:
        while True:
            try:
                await self._ask_slaves()
                await self._find_proxies()
            except Exception:
                # The root of a task, as above.
                logger.exception("asking for slaves and proxies failed")
            await asyncio.sleep(self._link.settings.tables_ms / 1000)

    async def _find_proxies(self) -> None:
        self._figures.take_proxies(await self._link.proxies.places())

    async def _ask_slaves(self) -> None:
        """Ask the slaves of brokers that have a master for their progress; without a master the slave itself is read."""
        places = [place for place in self._link.brokers.values() if place.has_master]
        await asyncio.gather(*(self._ask_slave(place.name, address) for place in places for address in place.slaves))

    async def _ask_slave(self, broker: str, address: str) -> None:
        end: int | None = None
        # Its lag is unknown then. Nothing else depends on it: the name server drops a slave that is gone.
        with contextlib.suppress(NetworkError, RemoteError, CodecError):
            answer = await self._link.ask_slave_gently(broker, address, RequestCode.GET_BROKER_RUNTIME_INFO)
            end = whole_number(read_runtime(answer.body).get("commitLogMaxOffset"))
        self._figures.take_slave(broker, address, end)

    async def _watch_broker(self, name: str) -> None:
        settings = self._link.settings
        rounds = self._rounds_of(name)
        while True:
            try:
                await rounds.next(self._clock(), self.recent())
            except NetworkError as error:
                self._figures.lost(name, error.message)
                await asyncio.sleep(settings.retry_ms / 1000)
            except OrbitError as error:
                self._figures.answered(name, error.message)
            except Exception as error:
                # The root of a task: a fault of one round must not end the watching.
                logger.exception("watching broker %s failed", name)
                self._figures.answered(name, f"Orbit failed at its answer: {error!r}")
            await asyncio.sleep(settings.round_ms / 1000)


class BrokerRounds:
    """Requests to one broker, a round at a time."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures, name: str) -> None:
        self._link = link
        self._figures = figures
        self._name = name
        self._tables_ms: int | None = None
        self._are_names_new = False
        """Whether `greet` has read the tables just now, and nothing else that is read with them."""
        self._moving: set[str] = set()
        self._moving_groups: set[str] = set()
        self._looks = 0
        self._looked: dict[str, int] = {}
        """Topic or group → number of the last look at its queues or members."""
        self._beyond: set[tuple[str, str, int, int]] = set()
        """Group, topic, queue and offset of positions that were beyond the end, whose queues were read again."""
        self._topic_turn = self._group_turn = self._age_turn = 0
        self._faults: list[str] = []
        """What this round did not get, and why."""

    async def next(self, now_ms: int, recent: set[str]) -> None:
        """One round; raises `NetworkError` when the broker does not answer."""
        self._faults = []
        settings = self._link.settings
        of = self._figures.of(self._name)
        if self._tables_ms is None or of.is_lost or now_ms - self._tables_ms >= settings.tables_ms:
            if not self._are_names_new or of.is_lost:
                await self._guarded("topics and groups", self.names())
            await self._guarded("producers", self._producers())
            self._tables_ms, self._are_names_new = now_ms, False
        await self._guarded("its figures", self._runtime())
        await self._guarded("consumer offsets", self._positions())
        await self._guarded("delay levels", self._levels())
        await self._guarded("timers", self._timers())
        room = max(settings.requests_per_second * settings.round_ms // 1000 - _FIXED_IN_ROUND - AGES_IN_ROUND, 4)
        await self._some_queues(room - room // MEMBERS_SHARE, recent)
        await self._some_members(room // MEMBERS_SHARE)
        lagging = self._figures.lagging(self._name)
        for step in range(min(AGES_IN_ROUND, len(lagging))):
            group, topic, queue, offset = lagging[(self._age_turn + step) % len(lagging)]
            await self._guarded(f"the next message of group {group} in {topic}", self._age(group, topic, queue, offset))
        self._age_turn += AGES_IN_ROUND
        self._figures.answered(self._name, self._fault())

    async def whole(self) -> None:
        """All requests once; the figures hold the faults."""
        try:
            await self._guarded("topics and groups", self.names())
            await self._guarded("producers", self._producers())
            await self._guarded("its figures", self._runtime())
            await self._guarded("consumer offsets", self._positions())
            await self._guarded("delay levels", self._levels())
            await self._guarded("timers", self._timers())
            of = self._figures.of(self._name)
            await self._some_queues(len(of.topics), set())
            await self._some_members(len(self._groups()))
            self._figures.answered(self._name, self._fault())
        except NetworkError as error:
            self._figures.lost(self._name, error.message.removesuffix(ASKED_AGAIN))

    async def greet(self) -> None:
        """Read its own figures and the names of its tables, which the first round then leaves out."""
        try:
            await self._guarded("its figures", self._runtime())
            await self._guarded("topics and groups", self.names())
            self._are_names_new = not self._faults
        except NetworkError as error:
            self._figures.lost(self._name, error.message)

    async def _guarded(self, what: str, asking: Awaitable[None]) -> None:
        """Ask; a refusal or an unreadable answer concerns this part only."""
        try:
            await asking
        except (RemoteError, CodecError) as error:
            self._faults.append(f"{what}: {error.message}")

    def _fault(self) -> str:
        """The first fault of the round, and how many more there are."""
        more = len(self._faults) - 1
        first = next(iter(self._faults), "")
        return f"{first} (and {more:,} more)" if more > 0 else first

    async def names(self) -> None:
        """Topics, groups and settings, each with one request; raises as `ClusterLink.ask`."""
        topics = read_all_topic_settings((await self._ask(RequestCode.GET_ALL_TOPIC_CONFIG)).body)
        groups = frozenset(read_group_configs((await self._ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)).body))
        self._figures.take_tables(self._name, topics, groups)
        self._looked = {name: look for name, look in self._looked.items() if name in topics or name in groups}
        config = read_broker_settings((await self._ask(RequestCode.GET_BROKER_CONFIG)).body)
        self._figures.take_config(self._name, config)
        self._figures.of(self._name).levels.table = read_level_table(config.get("messageDelayLevel", ""))

    async def _runtime(self) -> None:
        runtime = read_runtime((await self._ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body)
        own, system = self._link.own_reads[self._name], self._link.own_system_reads[self._name]
        self._figures.take_runtime(self._name, runtime, console_got=own, console_got_of_system=system)
        version = whole_number(runtime.get("brokerVersion"))
        if version is not None:
            self._link.versions[self._name] = version

    async def _producers(self) -> None:
        of = self._figures.of(self._name)
        try:
            groups = read_producers((await self._ask(RequestCode.GET_ALL_PRODUCER_INFO)).body)
        except RemoteError as error:
            # Older brokers cannot list them.
            if not refused_as(error, ResponseCode.REQUEST_CODE_NOT_SUPPORTED):
                raise
            of.producers = None
        else:
            # The producer inside every Java client makes no producer of it.
            groups.pop(INNER_PRODUCER_GROUP, None)
            of.producers = frozenset(member.client_id for members in groups.values() for member in members)

    async def _positions(self) -> None:
        positions = read_consumer_offsets(await self._body_unless_empty(RequestCode.GET_ALL_CONSUMER_OFFSET, NO_OFFSETS))
        read_ms = self._figures.now_ms
        await self._read_ends(positions)
        self._moving_groups = self._figures.take_positions(self._name, positions, read_ms)

    async def _read_ends(self, positions: Mapping[tuple[str, str], Mapping[int, int]]) -> None:
        """Read the queues again of topics in which a group is beyond the end that was read before its offset.

        A position stays beyond the end after that, which is an alarm; the next look at the topic comes in its turn.
        """
        held, known = self._figures.of(self._name).offsets, self._beyond
        self._beyond = {
            (group, topic, queue, offset)
            for (group, topic), queues in positions.items()
            for queue, offset in queues.items()
            if topic in held and queue in held[topic] and offset > held[topic][queue].max_offset
        }
        for topic in sorted({topic for _group, topic, _queue, _offset in self._beyond - known})[:ENDS_READ_AGAIN]:
            await self._guarded(f"topic {topic}", self._queues(topic))

    async def _levels(self) -> None:
        """Queues of the broker's own topics, deliveries of its delay levels, and their next due times."""
        of = self._figures.of(self._name)
        for topic in _OWN_TOPICS:
            if topic in of.topics:
                await self._queues(topic)
        queues = of.offsets.get(SCHEDULE_TOPIC, {})
        if not any(held.max_offset for held in queues.values()):
            return
        body = await self._body_unless_empty(RequestCode.GET_ALL_DELAY_OFFSET, _NO_DELAYS)
        of.levels.take_offsets(read_delay_offsets(body) if body else {}, of.offsets_ms.get(SCHEDULE_TOPIC, 0))
        for level, offset in of.levels.unread_heads(queues)[:HEADS_IN_ROUND]:
            body = await self._link.pull_gently(MessageQueue(SCHEDULE_TOPIC, self._name, level - 1), offset)
            of.levels.heads[level] = (offset, decode_record(body).store_timestamp_ms if body else -1)

    async def _timers(self) -> None:
        of = self._figures.of(self._name)
        if Ability.TIMERS in of.cannot or WHEEL_TIMER_TOPIC not in of.topics:
            of.timers = None
        else:
            of.timers = read_timer_counts((await self._ask(RequestCode.GET_TIMER_METRICS)).body)

    async def _some_queues(self, count: int, recent: set[str]) -> None:
        topics = sorted(self._figures.of(self._name).topics)
        turn = _in_turn(topics, self._topic_turn, count)
        wanted = self._chosen([*sorted(recent), *sorted(self._moving)], topics, turn, count)
        for topic in wanted:
            await self._guarded(f"topic {topic}", self._queues(topic))
        self._topic_turn += _taken(turn, wanted)

    def _chosen(self, first: list[str], known: list[str], turn: list[str], count: int) -> list[str]:
        """The names to read now: urgent ones first, but half of the room goes to all in turn, however many are urgent."""
        # They take turns too, because a screen has more rows than there is room for.
        first = sorted(set(first).intersection(known), key=lambda name: (self._looked.get(name, 0), name))
        wanted = list(dict.fromkeys((*first[: max(count // 2, 1)], *turn)))[:count]
        for name in wanted:
            self._looks += 1
            self._looked[name] = self._looks
        return wanted

    async def _queues(self, topic: str) -> None:
        try:
            answer = await self._ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
        except RemoteError as error:
            if refused_as(error, ResponseCode.TOPIC_NOT_EXIST):
                # It was deleted since the table was read.
                return
            raise
        held = {queue.queue_id: found for queue, found in read_queue_offsets(answer.body).items()}
        held |= await self._unlisted_queues(topic, held)
        moves = self._figures.take_offsets(self._name, topic, held)
        self._moving = self._moving | {topic} if moves else self._moving - {topic}

    async def _unlisted_queues(self, topic: str, listed: Collection[int]) -> dict[int, QueueOffsets]:
        """Queues that brokers do not list, as far as they are known.

        On 4.x those that may be read but no longer written (docs/spec/remoting.md §2.5.6); on all brokers those in which groups
        stand although the topic has shrunk.
        """
        of = self._figures.of(self._name)
        row = of.topics.get(topic)
        readable = row.read_queues if row is not None and row.permission & PERM_READ else 0
        stood = {queue for (_group, where), queues in of.positions.items() if where == topic for queue in queues}
        found: dict[int, QueueOffsets] = {}
        for queue_id in [one for one in sorted(stood.union(range(readable))) if one not in listed][:UNLISTED_QUEUES_MAX]:
            fields = {"topic": topic, "queueId": str(queue_id)}
            first = whole_number((await self._ask(RequestCode.GET_MIN_OFFSET, fields)).ext_fields.get("offset"))
            end = whole_number((await self._ask(RequestCode.GET_MAX_OFFSET, fields)).ext_fields.get("offset"))
            if first is not None and end is not None:
                found[queue_id] = QueueOffsets(first, end, 0)
        return found

    def _groups(self) -> list[str]:
        of = self._figures.of(self._name)
        return sorted(of.groups | {group for group, _topic in of.positions})

    async def _some_members(self, count: int) -> None:
        groups = self._groups()
        turn = _in_turn(groups, self._group_turn, count)
        # A group that moves has members, and they are what a person wants to know of 2,000 groups.
        wanted = self._chosen(sorted(self._moving_groups), groups, turn, count)
        for group in wanted:
            await self._guarded(f"members of group {group}", self._members(group))
        self._group_turn += _taken(turn, wanted)

    async def _members(self, group: str) -> None:
        asking = self._ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
        body = await body_unless(asking, ResponseCode.CONSUMER_NOT_ONLINE)
        behind = await self._link.proxies.members(group)
        members = frozenset(member.client_id for member in read_members(body)) | behind.client_ids
        subscriptions = {**behind.subscriptions, **read_subscriptions(body)}
        wanted = {topic: (one.kind, one.expression) for topic, one in subscriptions.items()}
        if behind.unknown:
            self._faults.append(f"members of group {group}: {behind.unknown}")
        if behind.unknown and not members:
            self._figures.members_unknown(self._name, group)
            return
        self._figures.take_members(self._name, group, members)
        self._figures.take_subscriptions(self._name, group, wanted)

    async def _age(self, group: str, topic: str, queue: int, offset: int) -> None:
        place = MessageQueue(topic, self._name, queue)
        body = await self._link.pull_gently(place, offset)
        store_ms = decode_record(body).store_timestamp_ms if body else -1
        self._figures.of(self._name).next_store[group, topic, queue] = (offset, store_ms)

    async def _body_unless_empty(self, code: RequestCode, remark: str) -> Body:
        """A table of the broker; empty for its refusal with this remark, which it sends instead of an empty table."""
        try:
            return (await self._ask(code)).body
        except RemoteError as error:
            if remark not in error.message:
                raise
            return b""

    async def _ask(self, code: RequestCode, fields: dict[str, str] | None = None) -> RemotingCommand:
        return await self._link.ask_gently(self._name, code, fields)


def _in_turn(names: list[str], turn: int, count: int) -> list[str]:
    return [names[(turn + step) % len(names)] for step in range(min(count, len(names)))]


def _taken(turn: list[str], wanted: list[str]) -> int:
    """How many of a turn were taken before the first that was not."""
    return next((place for place, name in enumerate(turn) if name not in wanted), len(turn))

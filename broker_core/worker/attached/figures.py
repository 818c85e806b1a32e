"""What is known of a cluster from outside, broker by broker, as catalogs and snapshots. Pure: no network.

Figures of a broker that does not answer become unknown, those of the others stay. Messages written and got are counted here,
as growth of offsets since the watching began, because brokers report no such counts for a topic or group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from broker_core.cluster.numbering import BrokerNumbers
from broker_core.counted import counted
from broker_core.protocol.admin.brokers import BrokerPlace
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.admin.proxies import ProxyPlace
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.admin.values import whole_number
from broker_core.protocol.names import PROXY_HEARTBEAT_TOPIC, SCHEDULE_TOPIC, is_system_group
from broker_core.protocol.retry_names import KnownNames, known_names
from broker_core.worker.attached.abilities import BrokerNature, broker_cannot
from broker_core.worker.attached.broker_figures import BrokerFigures, used_queues
from broker_core.worker.attached.catalog import QueueKey, list_cluster
from broker_core.worker.attached.cluster_totals import cluster_totals
from broker_core.worker.attached.delay_levels import BrokerLevels, level_figures
from broker_core.worker.attached.timers import timer_figures
from broker_core.worker.columns import packed
from broker_core.worker.delay_views import delay_columns
from broker_core.worker.questions.figures import NO_ANSWER, Catalog, Occurred, Snapshot, Subscriptions

NOTHING_COMES = "no answer: "
"""First words of the reason of a part that does not answer at all."""
_UNKNOWN = -1
_NOBODY, _OWNER_UNKNOWN = -1, -2
_OFFLINE, _MEMBERS_UNREAD, _MEMBERS_UNLISTED = -1, -2, -3
UNLISTED_MS = 60_000
"""A group that consumed so lately has clients, although no broker lists any."""


class ClusterFigures:
    """Collects reports of brokers and returns them in the form of the embedded broker's worker. On one event loop."""

    def __init__(self, numbers: BrokerNumbers, *, clock: Callable[[], int]) -> None:
        self._numbers = numbers
        self._clock = clock
        self.brokers: dict[str, BrokerFigures] = {}
        self.cluster_names: set[str] = set()
        self.name_server_fault = ""
        self._name_server_ms = 0
        self._put: dict[str, int] = defaultdict(int)
        self._got_topic: dict[str, int] = defaultdict(int)
        self._got_group: dict[str, int] = defaultdict(int)
        self._catalog = Catalog(0, [], [], [], [], [], [], [], [], [], [])
        self._routes: dict[str, frozenset[str]] = {}
        """Topic → brokers that may have it by its route, while one has not reported its topics."""
        self._proxies: list[ProxyPlace] = []
        self._queues: list[QueueKey] = []
        self._positions: list[tuple[str, QueueKey]] = []
        self._told_revision = -1
        self._is_dirty = True
        self._events: list[Occurred] = []
        self._subscriptions: Subscriptions = {}
        self._empty_ms: dict[str, int] = {}
        """Group → since when no broker lists a client of it."""
        self._unlisted_ms: dict[str, int] = {}
        """Group → when it last consumed although no broker lists a client of it."""

    # ---- reports of brokers ----

    def of(self, broker: str) -> BrokerFigures:
        """The figures of a broker; of a new one they are empty."""
        self._numbers.see([broker])
        return self.brokers.setdefault(broker, BrokerFigures())

    def take_tables(self, broker: str, topics: dict[str, TopicConfig], groups: frozenset[str]) -> None:
        of = self.of(broker)
        if of.no_master_ms:
            # A slave learns of topics and groups from its master, some seconds later; nobody deletes any meanwhile.
            topics, groups = of.topics | topics, of.groups | groups
        self._is_dirty = self._is_dirty or not of.has_told_tables or of.topics != topics or of.groups != groups
        of.has_told_tables = True
        is_first, before = not of.topics, self.brokers_of_topics().keys()
        of.topics, of.groups = topics, groups
        if is_first:
            of.groups_at_first |= groups
        else:
            self._note_topics(before)
        of.offsets = {topic: queues for topic, queues in of.offsets.items() if topic in topics}
        of.offsets_ms = {topic: at for topic, at in of.offsets_ms.items() if topic in topics}
        known = groups | {group for group, _topic in of.positions}
        for group in of.subscriptions.keys() - known:
            # Nobody asks about a deleted group, so nothing else would end its subscriptions.
            self.take_subscriptions(broker, group, {})
        self._judge(broker)

    def take_routes(self, routes: Mapping[str, frozenset[str]]) -> None:
        """Which brokers may have topics, by their routes; forgotten once every broker has reported its own topics."""
        known = {**self._routes, **routes} if self.untold() else {}
        self._is_dirty = self._is_dirty or known != self._routes
        self._routes = known

    def untold(self) -> list[str]:
        """Brokers that do not answer, or not in full, and never reported their topics and groups."""
        return [name for name, of in self.brokers.items() if not of.has_told_tables and (of.is_lost or of.fault)]

    def is_in_routes(self, broker: str) -> bool:
        """Whether the name server routes to all topics of a broker now, as it does while its master is registered."""
        of = self.of(broker)
        return of.place is not None and of.place.has_master and not of.unregistered_ms

    def _note_topics(self, before: AbstractSet[str]) -> None:
        after = self.brokers_of_topics().keys()
        for topic in sorted(after - before):
            self._tell("topic_created", f"Topic {topic} was created", topic)
        for topic in sorted(before - after):
            self._tell("topic_deleted", f"Topic {topic} was deleted", topic)

    def take_place(self, place: BrokerPlace) -> None:
        """Where a broker is."""
        of = self.of(place.name)
        before = of.place
        self._is_dirty = self._is_dirty or before != place
        of.move(place)
        if place.has_master:
            self._note_slaves(of, place)
        if not place.has_master:
            if not of.no_master_ms:
                of.no_master_ms = self._clock()
                self._tell("master_lost", f"Broker {place.name} has no master now: slave {place.address} is read", place.name)
        elif of.no_master_ms:
            away_s = self._seconds_since(of.no_master_ms)
            of.no_master_ms = 0
            text = f"Broker {place.name} has a master again, at {place.address}, after {away_s:,} s"
            self._tell("master_back", text, place.name)
        elif before is not None and before.address != place.address:
            self._tell("master_back", f"Broker {place.name} has another master now, at {place.address}", place.name)

    def _note_slaves(self, of: BrokerFigures, place: BrokerPlace) -> None:
        """Tell of slaves that are gone or back; one that became the master is neither."""
        for address in sorted(of.slaves.difference(place.slaves, {place.address})):
            of.slaves_gone_ms[address] = self._clock()
            text = f"Broker {place.name} has lost slave {address} and has {len(place.slaves)} now"
            self._tell("slave_lost", text, place.name)
        for address in of.slaves_gone_ms.keys() & set(place.slaves):
            away_s = self._seconds_since(of.slaves_gone_ms.pop(address))
            self._tell("slave_back", f"Broker {place.name} has slave {address} again, after {away_s:,} s", place.name)
        of.slaves_gone_ms.pop(place.address, None)
        of.slaves = frozenset(place.slaves)

    def take_registered(self, names: AbstractSet[str]) -> None:
        """Which brokers the name server knows now; after its restart it learns them within half a minute."""
        for name, of in self.brokers.items():
            if name in names:
                of.unregistered_ms = 0
            elif not of.unregistered_ms:
                of.unregistered_ms = self._clock()

    def take_slave(self, broker: str, address: str, log_end: int | None) -> None:
        """End of the commit log of a slave; None where it is not reported."""
        of = self.of(broker)
        of.slave_lags.pop(address, None)
        if log_end is not None and of.master_log_end >= 0:
            of.slave_lags[address] = max(of.master_log_end - log_end, 0)

    def take_runtime(
        self, broker: str, runtime: dict[str, str], *, console_got: int = 0, console_got_of_system: int = 0
    ) -> None:
        """Runtime figures of a broker, and how many messages the console had pulled from it by then, of system topics too."""
        of = self.of(broker)
        of.runtime, of.runtime_ms, of.is_runtime_former = runtime, self._clock(), False
        if not of.counts_system_reads:
            console_got -= console_got_of_system
        if of.place is None or of.place.has_master:
            of.reads_of_others.take(whole_number(runtime.get("msgGetTotalTodayNow")), console_got)
            of.console_got = console_got
        if of.place is not None and of.place.has_master:
            of.master_log_end = of.log_end
        self._judge(broker)

    def take_config(self, broker: str, config: dict[str, str]) -> None:
        of = self.of(broker)
        before, of.config = of.grpc_address, config
        self._is_dirty = self._is_dirty or of.grpc_address != before
        self._judge(broker)

    def take_proxies(self, proxies: list[ProxyPlace]) -> None:
        """Where proxies serve the cluster."""
        self._is_dirty = self._is_dirty or proxies != self._proxies
        self._proxies = proxies

    def _judge(self, broker: str) -> None:
        of = self.of(broker)
        nature = BrokerNature(of.runtime, of.config, of.topics)
        judged = nature.version_text, broker_cannot(broker, nature)
        self._is_dirty = self._is_dirty or judged != (of.version, of.cannot)
        of.version, of.cannot = judged

    @property
    def now_ms(self) -> int:
        """The clock of all reads, ms since the epoch."""
        return self._clock()

    def take_positions(
        self, broker: str, positions: dict[tuple[str, str], dict[int, int]], read_ms: int | None = None
    ) -> set[str]:
        """All consumer offsets of a broker, and when they were read; returns the groups that have consumed something since."""
        of = self.of(broker)
        moving: set[str] = set()
        read_ms = self._clock() if read_ms is None else read_ms
        of.steady = self._steady(broker, positions, read_ms)
        before_ms, of.positions_ms = of.positions_ms, read_ms
        for (group, topic), queues in positions.items():
            before = of.positions.get((group, topic), {})
            grown = sum(max(offset - before[queue], 0) for queue, offset in queues.items() if queue in before)
            grown = 0 if of.positions_uncounted else grown
            self._got_topic[topic] += grown
            self._got_group[group] += grown
            if grown:
                moving.add(group)
                # What was consumed before the clients went away is seen at the next look only. A broker moves its own groups.
                if self._empty_ms.get(group, before_ms) < before_ms and not is_system_group(group):
                    self._unlisted_ms[group] = of.positions_ms
        shape = {key: queues.keys() for key, queues in positions.items()}
        if shape != {key: queues.keys() for key, queues in of.positions.items()}:
            self._is_dirty = True
            of.next_store = {key: store for key, store in of.next_store.items() if key[:2] in positions}
        if not of.has_told_positions:
            # Groups without a config are known by their offsets alone.
            of.has_told_positions = self._is_dirty = True
            of.groups_at_first |= {group for group, _topic in positions}
        of.positions, of.positions_uncounted = positions, False
        return moving

    def _steady(
        self, broker: str, positions: Mapping[tuple[str, str], Mapping[int, int]], read_ms: int
    ) -> dict[tuple[str, str, int], tuple[int, int]]:
        """Offsets of the look before, of positions that are beyond an end read earlier than they were."""
        of, steady = self.of(broker), {}
        for (group, topic), queues in positions.items():
            held, end_ms = of.offsets.get(topic, {}), of.offsets_ms.get(topic, 0)
            for queue, offset in queues.items() if end_ms < read_ms else ():
                if queue in held and offset > held[queue].max_offset:
                    before, before_ms = self._told_position(of, (group, topic), queue)
                    steady[group, topic, queue] = before, before_ms if before != offset else read_ms
        return steady

    @staticmethod
    def _told_position(of: BrokerFigures, place: tuple[str, str], queue: int) -> tuple[int, int]:
        """The offset of a position that agrees with the end of its queue, and when it was read; -1 unknown."""
        offset = of.positions.get(place, {}).get(queue, _UNKNOWN)
        steady = of.steady.get((*place, queue))
        held = of.offsets.get(place[1], {}).get(queue)
        is_early = steady is not None and held is not None and offset > held.max_offset
        if steady is not None and is_early and of.offsets_ms.get(place[1], 0) < of.positions_ms:
            return steady
        return offset, of.positions_ms if offset >= 0 else _UNKNOWN

    def take_offsets(self, broker: str, topic: str, queues: dict[int, QueueOffsets]) -> bool:
        """What the queues of a topic hold; returns whether something was written since."""
        of = self.of(broker)
        before = of.offsets.get(topic, {})
        grown = sum(max(now.max_offset - before[queue].max_offset, 0) for queue, now in queues.items() if queue in before)
        grown = 0 if topic in of.uncounted_topics else grown
        of.uncounted_topics.discard(topic)
        self._put[topic] += grown
        self._is_dirty = self._is_dirty or used_queues(before) != used_queues(queues)
        of.offsets[topic], of.offsets_ms[topic] = queues, self._clock()
        return grown > 0

    def take_members(self, broker: str, group: str, members: frozenset[str]) -> None:
        """Clients online in a group."""
        of = self.of(broker)
        before = self._members(group)
        if before is None and self._came_later(group):
            before = frozenset()
        of.members[group] = members
        after = self._members(group)
        if after:
            self._empty_ms.pop(group, None)
            self._unlisted_ms.pop(group, None)
        else:
            self._empty_ms.setdefault(group, self._clock())
        if before is None or after is None or before == after:
            return
        changes = [f"+{client}" for client in sorted(after - before)] + [f"-{client}" for client in sorted(before - after)]
        self._tell("members_changed", f"Group {group} has {counted(len(after), 'member')} now: {', '.join(changes)}", group)

    def members_unknown(self, broker: str, group: str) -> None:
        """Nobody can tell whether clients are online in a group: a proxy before the broker does not answer."""
        self.of(broker).members.pop(group, None)

    def _came_later(self, group: str) -> bool:
        """Whether a group was created while it was watched, without members, and no broker has reported its members yet."""
        # Not by the table of groups alone: offsets of a new group may be known before the table is read again.
        brokers = self.brokers.values()
        are_known = all(of.has_told_positions for of in brokers if of.topics)
        return are_known and not any(group in of.groups_at_first or group in of.members for of in brokers)

    def take_subscriptions(self, broker: str, group: str, wanted: dict[str, tuple[str, str]]) -> None:
        """Subscriptions of a group, by topic; empty without members. Of a lost broker the last report counts."""
        known = self.of(broker).subscriptions
        if known.get(group, {}) == wanted:
            return
        if wanted:
            known[group] = wanted
        else:
            del known[group]
        told = [of.subscriptions.get(group, {}) for of in self.brokers.values()]
        merged = {topic: expression for one in told for topic, expression in one.items()}
        others = {name: topics for name, topics in self._subscriptions.items() if name != group}
        self._subscriptions = others | {group: merged} if merged else others

    def lost(self, broker: str, reason: str) -> None:
        """A broker does not answer; its report is no longer true."""
        of = self.of(broker)
        of.fault = reason
        if not of.is_lost:
            of.is_lost, of.lost_ms = True, self._clock()
            self._tell("broker_lost", f"Broker {broker} does not answer: {reason}", broker)

    def undecided_counted(self, broker: str, undecided: int, in_check: int, *, unread: int) -> None:
        """A look at a broker's transactions ended; ``unread`` records are left for the next one."""
        of = self.of(broker)
        of.undecided, of.in_check, of.halves_unread = undecided, in_check, unread
        of.undecided_ms = self._clock() if not unread else -(1 << 62)

    def answered(self, broker: str, fault: str = "") -> None:
        """A broker answered a round of requests: all of them, unless ``fault`` names those that failed."""
        of = self.of(broker)
        if fault and (of.is_lost or not of.fault):
            of.fault_ms = self._clock()
        of.fault = fault
        if of.is_lost:
            of.is_lost = False
            away_s = self._seconds_since(of.lost_ms)
            self._tell("broker_back", f"Broker {broker} answers again, after {away_s:,} s", broker)

    def name_server_state(self, fault: str) -> None:
        """Whether the name server answers: then ``fault`` is empty."""
        before, self.name_server_fault = self.name_server_fault, fault
        if fault and not before:
            self._name_server_ms = self._clock()
            self._tell("name_server_lost", f"The name server does not answer: {fault}", "")
        if before and not fault:
            self._tell("name_server_back", "The name server answers again", "")

    def recording_taken_over(self, text: str) -> None:
        """This process records now in place of another one."""
        self._tell("recording_taken_over", text, "")

    # ---- figures for the window ----

    def catalog(self) -> Catalog | None:
        """The set of things to measure, if it differs from the one returned last."""
        catalog = self.listed()
        if self._told_revision == catalog.revision:
            return None
        self._told_revision = catalog.revision
        return catalog

    def listed(self) -> Catalog:
        """The set of things to measure now."""
        if self._is_dirty:
            self._is_dirty = False
            replies = (f"{name}_REPLY_TOPIC" for name in self.cluster_names)
            own = frozenset({*self._numbers.names, *self.cluster_names, *replies})
            listing = list_cluster(
                self.brokers,
                self._numbers,
                own,
                routes=self._routes,
                proxies=self._proxies,
                revision=self._catalog.revision + 1,
            )
            self._catalog, self._queues, self._positions = listing.catalog, listing.queues, listing.positions
        return self._catalog

    def snapshot(self) -> Snapshot:
        """Figures of this moment, for the catalog returned last."""
        queues = self.queue_offsets()
        topics, groups = self._catalog.topics, self._catalog.groups
        members = [None if self._catalog.brokers_untold else self._members(group) for group in groups]
        online = dict(zip(groups, members, strict=True))
        in_part = {topic for topic, is_part in zip(topics, self._catalog.topic_in_part, strict=True) if is_part}
        known = {key[0] for key, offsets in zip(self._queues, queues, strict=True) if offsets is not None} - in_part
        got_of_group = dict.fromkeys(groups, _UNKNOWN) if self._catalog.brokers_without_offsets else self._got_group
        return Snapshot(
            revision=self._catalog.revision,
            taken_ms=self._clock(),
            queues={
                "min_offset": packed(_UNKNOWN if found is None else found.min_offset for found in queues),
                "max_offset": packed(_UNKNOWN if found is None else found.max_offset for found in queues),
                "last_store_ms": packed(_last_ms(found) for found in queues),
                "read_ms": packed(map(self._read_ms, self._queues)),
            },
            topics={
                "put_messages": packed(self._put.get(topic, 0) if topic in known else _UNKNOWN for topic in topics),
                "put_bytes": packed(_UNKNOWN for _topic in topics),
                "got_messages": packed(_UNKNOWN if topic in in_part else self._got_topic.get(topic, 0) for topic in topics),
                "got_bytes": packed(_UNKNOWN for _topic in topics),
            },
            groups={
                "members": packed(self._members_figure(group, online[group]) for group in groups),
                "got_messages": packed(got_of_group.get(group, 0) for group in groups),
                "consume_failed": packed(_UNKNOWN for _group in groups),
            },
            positions={
                "offset": packed(self.position_offsets()),
                "next_store_ms": packed(self._next_ms(group, key) for group, key in self._positions),
                "owner": packed(self._owner_of(group, online) for group, _key in self._positions),
                "read_ms": packed(self._position_at(group, key)[1] for group, key in self._positions),
            },
            owners=[],
            totals=self._totals(members),
            delays=delay_columns(level_figures(self._levels(), self._clock(), all_answer=self._all_answer)),
            timers=timer_figures(self.brokers.values()),
            faults=self.faults(),
            slave_lag_bytes=[self.of(broker).slave_lag_bytes for broker in self._catalog.brokers],
        )

    def queue_offsets(self) -> list[QueueOffsets | None]:
        """What each queue of the catalog holds; None where that is unknown now."""
        return [self._offsets_of(key) for key in self._queues]

    def position_offsets(self) -> list[int]:
        """Offset of each position of the catalog; -1 where it is unknown now."""
        return [self._position_of(group, key) for group, key in self._positions]

    def is_read(self, topic: str) -> bool:
        """Whether all brokers that have a topic report its queues; unused queues of system topics are in no catalog."""
        return all(not of.is_lost and topic in of.offsets for of in self.brokers.values() if topic in of.topics)

    def members_of(self, group: str) -> frozenset[str] | None:
        """Clients online in a group; None while a broker that may have some has not reported them."""
        having = [of for of in self.brokers.values() if group in of.groups or group in of.members or of.has_group(group)]
        if self._catalog.brokers_untold or any(of.is_lost or group not in of.members for of in having):
            return None
        return self._members(group)

    def events(self) -> list[Occurred]:
        """Events since the last call, in order."""
        events, self._events = self._events, []
        return events

    def subscriptions(self) -> Subscriptions:
        """Subscriptions of groups with members; the same object as long as nothing changes."""
        return self._subscriptions

    def reasons(self) -> dict[str, str]:
        """As `faults`, without durations: the same for as long as nothing changes."""
        found = {"name server": self.name_server_fault} if self.name_server_fault else {}
        return found | {broker: reason for broker in sorted(self.brokers) if (reason := self.reason_of(broker))}

    def reason_of(self, broker: str) -> str:
        """As `fault_of`, without durations: also true for as long as an answer that names it is shown."""
        of = self.of(broker)
        if of.is_lost:
            return f"{NOTHING_COMES}{of.fault}"
        return ". ".join(filter(None, (of.reason_without_master, of.reason_unregistered, of.fault)))

    def faults(self) -> dict[str, str]:
        """What does not answer now, or not as it should, and why; empty when all is well."""
        found = {}
        if self.name_server_fault:
            found["name server"] = f"for {self._seconds_since(self._name_server_ms):,} s: {self.name_server_fault}"
        return found | {broker: fault for broker in sorted(self.brokers) if (fault := self.fault_of(broker))}

    def fault_of(self, broker: str) -> str:
        """The fault of a broker now, since when and why; empty without one."""
        of = self.of(broker)
        if of.is_lost:
            return f"{NO_ANSWER} {self._seconds_since(of.lost_ms):,} s: {of.fault}"
        fault = f"for {self._seconds_since(of.fault_ms):,} s: {of.fault}" if of.fault else ""
        now_ms = self._clock()
        return ". ".join(filter(None, (of.fault_without_master(now_ms), of.fault_unregistered(now_ms), fault)))

    @property
    def any_unregistered(self) -> bool:
        """Whether a broker answers that the name server does not know."""
        return any(of.unregistered_ms and not of.is_lost for of in self.brokers.values())

    def brokers_of_topics(self) -> dict[str, set[str]]:
        """Topic → brokers that have it, also those that are lost now."""
        found: dict[str, set[str]] = defaultdict(set)
        for broker, of in self.brokers.items():
            for topic in of.topics:
                found[topic].add(broker)
        return dict(found)

    def known_names(self) -> KnownNames:
        """Groups and topics that brokers reported, to tell retry topics apart."""
        brokers = list(self.brokers.values())  # the loop may add one while a thread looks
        with_offsets = {group for of in brokers for group, _topic in of.positions}
        return known_names(with_offsets.union(*(of.groups for of in brokers)), (topic for of in brokers for topic in of.topics))

    def lagging(self, broker: str) -> list[tuple[str, str, int, int]]:
        """Group, topic, queue and next offset of positions whose next message has an unknown age."""
        of, found = self.of(broker), []
        for (group, topic), queues in of.positions.items():
            for queue, offset in queues.items():
                held = of.offsets.get(topic, {}).get(queue)
                if held is None or not 0 <= offset < held.max_offset:
                    continue
                wanted = max(offset, held.min_offset)
                if of.next_store.get((group, topic, queue), (-1, 0))[0] != wanted:
                    found.append((group, topic, queue, wanted))
        return found

    # ---- inside ----

    def _seconds_since(self, at_ms: int) -> int:
        return max(self._clock() - at_ms, 0) // 1000

    def _tell(self, kind: str, text: str, subject: str) -> None:
        self._events.append(Occurred(kind, text, self._clock(), subject))

    def _offsets_of(self, key: QueueKey) -> QueueOffsets | None:
        topic, broker, queue = key
        of = self.brokers[broker]
        return None if of.is_lost else of.offsets.get(topic, {}).get(queue)

    def _read_ms(self, key: QueueKey) -> int:
        """When a queue was read; -1 where what it holds is unknown."""
        topic, broker, _queue = key
        return _UNKNOWN if self._offsets_of(key) is None else self.brokers[broker].offsets_ms.get(topic, _UNKNOWN)

    def _position_of(self, group: str, key: QueueKey) -> int:
        return self._position_at(group, key)[0]

    def _position_at(self, group: str, key: QueueKey) -> tuple[int, int]:
        """The offset of a position, of the same look as the end of its queue, and when it was read; -1 unknown."""
        topic, broker, queue = key
        of = self.brokers[broker]
        return (_UNKNOWN, _UNKNOWN) if of.is_lost else self._told_position(of, (group, topic), queue)

    def _next_ms(self, group: str, key: QueueKey) -> int:
        topic, broker, queue = key
        offset, held = self._position_of(group, key), self._offsets_of(key)
        if held is None or not 0 <= offset < held.max_offset:
            return _UNKNOWN
        at, store_ms = self.brokers[broker].next_store.get((group, topic, queue), (-1, _UNKNOWN))
        # A moving offset is ahead of the message read last, which makes it look older by a round or two, not younger.
        return store_ms if at <= max(offset, held.min_offset) else _UNKNOWN

    def _members(self, group: str) -> frozenset[str] | None:
        told = [of.members[group] for of in self.brokers.values() if not of.is_lost and group in of.members]
        return frozenset().union(*told) if told else None

    def _members_figure(self, group: str, found: frozenset[str] | None) -> int:
        """Number of members. None that brokers list is offline only where no proxy may have some, and nothing is consumed."""
        if found is None:
            return _MEMBERS_UNREAD
        return len(found) or (_MEMBERS_UNLISTED if self._may_be_unlisted(group) else _OFFLINE)

    def _may_be_unlisted(self, group: str) -> bool:
        return self.has_proxies or self._clock() - self._unlisted_ms.get(group, -UNLISTED_MS) < UNLISTED_MS

    @property
    def has_proxies(self) -> bool:
        """Whether proxies of RocketMQ 5 serve the cluster; brokers do not list the clients behind them."""
        return any(PROXY_HEARTBEAT_TOPIC in of.topics for of in self.brokers.values())

    def _owner_of(self, group: str, online: dict[str, frozenset[str] | None]) -> int:
        """Only members report who owns a queue, when they are asked; without members it is nobody."""
        is_nobody = online.get(group) == frozenset() and not self._may_be_unlisted(group)
        return _NOBODY if is_nobody else _OWNER_UNKNOWN

    def _totals(self, members: list[frozenset[str] | None]) -> dict[str, float]:
        consumers = float(sum(len(found) for found in members if found))
        known = {} if self._catalog.brokers_untold else {"consumers": consumers}
        return known | cluster_totals(list(self.brokers.values()), self._clock())

    def _levels(self) -> list[tuple[BrokerLevels, dict[int, QueueOffsets]]]:
        return [(of.levels, of.offsets.get(SCHEDULE_TOPIC, {})) for of in self.brokers.values()]

    @property
    def _all_answer(self) -> bool:
        return not any(of.is_lost or not of.has_told_tables for of in self.brokers.values())


def _last_ms(held: QueueOffsets | None) -> int:
    return held.last_store_ms if held is not None and held.last_store_ms > 0 else _UNKNOWN

"""Plans a copy from the state of source and target, and changes neither.

Source: docs/spec/remoting.md §2.5 (administration); docs/spec/broker.md §2.1 (topics), §10.2 (groups), §6.4 (offsets).
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from broker_core.client.admin import AdminClient
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.survey import queues_on
from broker_core.cluster.time_bounds import within_times
from broker_core.counted import counted
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.admin.groups import GROUP_KEYS
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import LMQ_PREFIX, check_group, is_group_name, is_system_group
from broker_core.tools.copying.copied_message import is_reserved, target_topic
from broker_core.tools.copying.mapping import TargetQueues, differences, matched, wanted_queues
from broker_core.tools.copying.order import ALL_GROUPS, CopyOrder, CopyRange
from broker_core.tools.copying.plan import CopyPart, CopyPlan, GroupPlan, OffsetPlan, TopicPlan

GROUPS_ASKED_MAX = 50
"""Groups of a target topic whose members are checked."""
UNREAD_NAMED = 8
"""Queues that a warning names."""
SAMPLES_MAX = 64
"""Pulls for the estimate of bytes."""


@dataclass(slots=True)
class CopySide:
    """One of the two clusters; ``admin`` is a started client.

    Attributes:
        name: Its name servers.
        addresses: Address that a broker registered → the one that is used, where they differ.
        way: The proxy or tunnel to it, if any: equal addresses of two ways are different machines.
        masters: Broker name → address, as registered.
        topics, groups: Broker name → settings.
        offsets: Broker name → (group, topic) → queue → offset.
    """

    admin: AdminClient
    name: str
    addresses: Mapping[str, str] = field(default_factory=dict)
    way: object = None
    masters: dict[str, str] = field(default_factory=dict)
    topics: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    groups: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    offsets: dict[str, dict[tuple[str, str], dict[int, int]]] = field(default_factory=dict)

    async def look(self, *, groups: bool) -> None:
        """Read the tables of all brokers."""
        self.masters = dict(sorted((await self.admin.master_addresses()).items()))
        if not self.masters:
            raise UsageError(f"no broker is registered at {self.name}: is it the right name server, and does a master run?")
        for broker, address in self.masters.items():
            self.topics[broker] = await self.admin.topic_configs(address)
            if groups:
                self.groups[broker] = await self.admin.group_configs(address)
                self.offsets[broker] = await self.admin.offsets_of_groups(address)

    def reached(self) -> set[tuple[str, str]]:
        """Names of brokers, with the addresses that connections use."""
        return {(name, self.addresses.get(address, address)) for name, address in self.masters.items()}

    def topic(self, name: str) -> dict[str, Any] | None:
        """Settings of a topic on the first broker that has it."""
        return next((table[name] for table in self.topics.values() if name in table), None)

    def group(self, name: str) -> dict[str, Any] | None:
        """Settings of a group on the first broker that has it."""
        return next((table[name] for table in self.groups.values() if name in table), None)


class CopyPlanner:
    """Plans one copy of ``order`` between its two ends."""

    def __init__(self, order: CopyOrder, source: CopySide, target: CopySide) -> None:
        self._order = order
        self._source = source
        self._target = target
        self._puller = Puller(source.admin)
        self._parts: list[CopyPart] = []
        self._warnings: list[str] = []

    async def plan(self) -> CopyPlan:
        """The plan; raises `UsageError`, which says why and what to do, `NetworkError` and `RemoteError`."""
        order = self._order
        for side in (self._source, self._target):
            await side.look(groups=bool(order.groups))
        same = self._source.reached() & self._target.reached() if self._source.way == self._target.way else set()
        if same:
            name, address = min(same)
            raise UsageError(
                f"{order.source} and {order.target} are the same cluster (both have broker {name} at {address}): "
                "messages of a cluster are sent again within it with “orbit replay”"
            )
        topics = [await self._topic(name) for name in dict.fromkeys(order.topics)]
        taken: dict[str, str] = {}
        for topic in topics:
            if topic.target in taken:
                raise UsageError(f"{taken[topic.target]} and {topic.source} would both become {topic.target}: copy one of them")
            taken[topic.target] = topic.source
        groups = [await self._group(name) for name in self._group_names()]
        size, is_exact = await self._bytes()
        return CopyPlan(
            order=order,
            topics=tuple(topics),
            groups=tuple(groups),
            parts=tuple(self._parts),
            offsets=tuple(self._offsets([group.name for group in groups])) if order.offsets else (),
            bytes=size,
            is_exact=is_exact,
            warnings=tuple(self._warnings),
        )

    # ---- topics --------------------------------------------------------------------------------------------------------

    async def _topic(self, name: str) -> TopicPlan:
        config = self._source.topic(name)
        if config is None:
            known = sorted({topic for table in self._source.topics.values() for topic in table})
            near = difflib.get_close_matches(name, known, 3)
            hint = f": did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"{self._order.source} has no topic {name}{hint}")
        if name.startswith(LMQ_PREFIX) or (config.get("attributes") or {}).get("queue.type") == "BatchCQ":
            raise UsageError(
                f"{name} is a light or batch queue, whose messages lie in those of other topics or in one another: "
                "copy the topic that they were sent to"
            )
        route = await self._source.admin.readable_route(name)
        queues = route.subscribe_queues()
        if not queues:
            raise UsageError(
                f"topic {name} of {self._order.source} has no queue that may be read, or no broker that has it runs"
            )
        target = target_topic(name)
        found = TargetQueues.of(target, self._target.topics)
        wanted = wanted_queues(config, queues, brokers=len(self._target.masters), plain=is_reserved(name) and target != name)
        changes = found.exists and self._order.change_settings
        goals = found.after_change(wanted) if changes else found.queues if found.exists else found.created(wanted)
        if not goals:
            raise UsageError(
                f"topic {target} of {self._order.target} takes no messages (it may not be written): "
                "give it write permission, or --change-settings"
            )
        pairs = matched(queues, goals)
        ends = await self._target_ends(target) if found.exists else {}
        await self._add_parts(name, pairs, ends)
        if found.exists:
            await self._warn_of_consumers(target)
        others = differences(wanted, found)
        return TopicPlan(
            source=name,
            target=target,
            exists=found.exists,
            config=wanted if not found.exists else found.enlarged(wanted),
            differences=others,
            changes=changes and bool(others),
            in_place=len(set(pairs.values())) == len(pairs),
            notes=tuple(self._notes(name, config, wanted, found, changes=changes)),
        )

    def _notes(
        self, name: str, config: Mapping[str, Any], wanted: Mapping[str, Any], found: TargetQueues, *, changes: bool
    ) -> list[str]:
        notes = []
        read, write = int(config["readQueueNums"]), int(config["writeQueueNums"])
        if read < write:
            notes.append(f"{write - read} queues of {name} may be written but not read: their messages cannot be copied")
        if (changes or not found.exists) and int(config.get("perm", 6)) != int(wanted["perm"]):
            how = "changed to" if found.exists else "created with"
            why = f"as messages could not be written with {config['perm']}, and stays so"
            notes.append(f"{how} permission {wanted['perm']}, {why}: set {config['perm']} after the copy if it is wanted")
        others = {str(table[name]) for table in self._source.topics.values() if name in table}
        if len(others) > 1:
            notes.append("brokers of the source have different settings for it; those of the first count")
        return notes

    async def _target_ends(self, topic: str) -> dict[MessageQueue, int]:
        return {queue: held.max_offset for queue, held in (await self._target.admin.topic_stats(topic)).items()}

    async def _add_parts(
        self, topic: str, pairs: Mapping[MessageQueue, MessageQueue], ends: Mapping[MessageQueue, int]
    ) -> None:
        held = await self._held(topic, Counter(queue.broker_name for queue in pairs))
        self._warn_of_unread(topic, [whole for queue, whole in held.items() if queue not in pairs])
        gone = 0
        for queue, goal in pairs.items():
            part = await copied_part(self._puller, held[queue], self._order.wanted)
            gone += max(held[queue].first - (self._order.wanted.first_offset or held[queue].first), 0)
            self._parts.append(
                CopyPart(
                    number=len(self._parts), topic=topic, broker=part.broker, queue_id=part.queue_id, first=part.first,
                    end=part.end, to_topic=goal.topic, to_broker=goal.broker_name, to_queue_id=goal.queue_id,
                    to_offset=ends.get(goal, 0),
                )
            )  # fmt: skip
        if gone:
            one, several = f"message of {topic} that was asked for is", f"messages of {topic} that were asked for are"
            self._warnings.append(f"{counted(gone, one, several)} no longer kept by the source")

    def _warn_of_unread(self, topic: str, queues: Sequence[QueueSlice]) -> None:
        """Say what lies in queues that may not be read any more, as after the topic shrank."""
        left = [queue for queue in queues if queue.messages > 0]
        if left:
            messages = counted(sum(queue.messages for queue in left), "message", "messages")
            places = ", ".join(f"{queue.queue_id} on {queue.broker}" for queue in left[:UNREAD_NAMED])
            more = f" and {len(left) - UNREAD_NAMED:,} more" if len(left) > UNREAD_NAMED else ""
            self._warnings.append(
                f"{messages} of {topic} lie in queues that consumers may no longer read and are not copied "
                f"(queue {places}{more}): raise its read queues to copy them"
            )

    async def _held(self, topic: str, brokers: Mapping[str, int]) -> dict[MessageQueue, QueueSlice]:
        """Whole slices of the queues of a topic; ``brokers`` has the number of readable queues of each broker."""
        found: dict[MessageQueue, QueueSlice] = {}
        route = await self._source.admin.route_of(topic)
        for broker, count in brokers.items():
            address = route.address_of(broker)
            if address is None:
                raise UsageError(f"broker {broker} of {topic} has no address at {self._order.source}: start it first")
            found |= {whole.queue: whole for whole, _offsets in await queues_on(self._puller, topic, broker, address, count)}
        return found

    async def _warn_of_consumers(self, topic: str) -> None:
        admin = self._target.admin
        groups = (await admin.groups_of_topic(topic))[:GROUPS_ASKED_MAX]
        online = [group for group in groups if await admin.members(group)]
        if online:
            names = ", ".join(online[:5]) + ("…" if len(online) > 5 else "")
            self._warnings.append(f"consumers of {names} are online at the target: they get the copies of {topic} at once")

    # ---- groups and offsets --------------------------------------------------------------------------------------------

    def _group_names(self) -> Sequence[str]:
        order, source = self._order, self._source
        with_offsets = {
            group
            for table in source.offsets.values()
            for group, topic in table
            if topic in order.topics and not is_system_group(group)
        }
        in_topics = sorted(filter(is_group_name, with_offsets))
        if ALL_GROUPS in order.groups:
            odd = sorted(with_offsets.difference(in_topics))
            if odd:
                names = ", ".join(f"“{name[:40]}”" for name in odd[:5]) + ("…" if len(odd) > 5 else "")
                one, several = "group has a name", "groups have names"
                self._warnings.append(f"{counted(len(odd), one, several)} that no broker creates, and stay behind: {names}")
            return in_topics
        for name in order.groups:
            check_group(name)
            if is_system_group(name):
                raise UsageError(f"group {name} belongs to the brokers themselves: leave it out")
            if source.group(name) is None and not any(name == group for table in source.offsets.values() for group, _ in table):
                hint = f"; groups with offsets in these topics: {', '.join(in_topics[:10])}" if in_topics else ""
                raise UsageError(f"{order.source} has no group {name}{hint}")
        return tuple(dict.fromkeys(order.groups))

    async def _group(self, name: str) -> GroupPlan:
        wanted = {**(self._source.group(name) or {}), "groupName": name}
        there = self._target.group(name)
        others = tuple(
            f"{key}: {there[key]}, not {wanted[key]}"
            for key in GROUP_KEYS
            if there is not None and None not in (there.get(key), wanted.get(key)) and there[key] != wanted[key]
        )
        members = len(await self._target.admin.members(name)) if there is not None else 0
        if members and self._order.offsets:
            self._warnings.append(
                f"{members} members of {name} are online at the target and would overwrite its offsets: "
                "end them before they are set, or they are not set"
            )
        return GroupPlan(
            name=name,
            exists=there is not None,
            config=wanted,
            differences=others,
            changes=bool(others) and self._order.change_settings,
            members=members,
        )

    def _offsets(self, groups: Sequence[str]) -> list[OffsetPlan]:
        rows = []
        for group in groups:
            for part in self._parts:
                offset = self._source.offsets.get(part.broker, {}).get((group, part.topic), {}).get(part.queue_id)
                if offset is not None and not is_reserved(part.topic):
                    before = self._target.offsets.get(part.to_broker, {}).get((group, part.to_topic), {}).get(part.to_queue_id)
                    rows.append(OffsetPlan(group=group, part=part.number, offset=offset, before=before))
        return rows

    # ---- bytes ---------------------------------------------------------------------------------------------------------

    async def _bytes(self) -> tuple[int, bool]:
        """Bytes of the records of all parts, and whether they are exact rather than estimated."""
        parts = [part for part in self._parts if part.count]
        counted = sampled = 0
        sampled_bytes = 0
        for part in parts[:SAMPLES_MAX]:
            sizes = await self._sizes(part)
            sampled, sampled_bytes = sampled + len(sizes), sampled_bytes + sum(sizes)
            counted += len(sizes) >= part.count
        total = sum(part.count for part in parts)
        if counted == len(parts):
            return sampled_bytes, True
        return (round(total * sampled_bytes / sampled) if sampled else 0), False

    async def _sizes(self, part: CopyPart) -> list[int]:
        address = (await self._source.admin.route_of(part.topic)).address_of(part.broker)
        if address is None:
            raise RemoteError(f"broker {part.broker} of {part.topic} is gone", code=1)
        source = QueueSlice(part.topic, part.broker, address, part.queue_id, part.first, part.end)
        return [len(record) for record in (await self._puller.pull(source, part.first)).records()]


async def copied_part(puller: Puller, whole: QueueSlice, wanted: CopyRange) -> QueueSlice:
    """The copied part of a whole queue; raises as `Puller`."""
    part = await within_times(puller, whole, wanted.since_ms, wanted.until_ms)
    first, end = part.first, part.end
    if wanted.first_offset is not None:
        first = max(first, wanted.first_offset)
    if wanted.end_offset is not None:
        end = min(end, wanted.end_offset)
    if wanted.last is not None:
        first = max(first, end - wanted.last)
    first = min(first, whole.end)
    return replace(part, first=first, end=max(first, end))

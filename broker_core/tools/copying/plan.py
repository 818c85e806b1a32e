"""The plan of a copy, made before any change: topics, groups, messages and offsets. Values, and their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_core.counted import counted
from broker_core.errors import CodecError
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.copying.copied_message import what_becomes
from broker_core.tools.copying.order import CopyOrder

LINES_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPart:
    """Messages of one source queue from ``first`` up to, not including, ``end``, and their target queue."""

    number: int
    topic: str
    broker: str
    queue_id: int
    first: int
    end: int
    to_topic: str
    to_broker: str
    to_queue_id: int
    to_offset: int
    """End of the target queue when the copy was planned."""

    @property
    def source(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker, self.queue_id)

    @property
    def target(self) -> MessageQueue:
        return MessageQueue(self.to_topic, self.to_broker, self.to_queue_id)

    @property
    def count(self) -> int:
        return self.end - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """One topic; ``source`` and ``target`` are its names there.

    Attributes:
        exists: Whether the target has it.
        config: Settings for its creation, or change; with RocketMQ's keys, for each broker.
        differences: What is different at the target, in words.
        changes: Whether the target's settings are changed.
        in_place: Whether each source queue has a target queue of its own.
    """

    source: str
    target: str
    exists: bool
    config: Mapping[str, Any]
    differences: tuple[str, ...] = ()
    changes: bool = False
    in_place: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """One consumer group; attributes as of `TopicPlan`."""

    name: str
    exists: bool
    config: Mapping[str, Any]
    differences: tuple[str, ...] = ()
    changes: bool = False
    members: int = 0
    """Online at the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPlan:
    """A group's offset in one source queue: it consumes the message at ``offset`` next."""

    group: str
    part: int
    """Number of the `CopyPart`."""
    offset: int
    before: int | None
    """Its offset in the target queue now; None: it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """All that a copy will do; ``bytes`` are those of the messages as stored, an estimate unless ``is_exact``."""

    order: CopyOrder
    topics: tuple[TopicPlan, ...]
    groups: tuple[GroupPlan, ...] = ()
    parts: tuple[CopyPart, ...] = ()
    offsets: tuple[OffsetPlan, ...] = ()
    bytes: int = 0
    is_exact: bool = True
    warnings: tuple[str, ...] = field(default=())

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    def topic_of(self, part: CopyPart) -> TopicPlan:
        return next(topic for topic in self.topics if topic.source == part.topic)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CopyPlan:
        """Plan of a receipt; raises `CodecError` when it is none."""
        try:
            return cls(
                order=CopyOrder.from_json(values["order"]),
                topics=tuple(TopicPlan(**_with_tuples(row, "differences", "notes")) for row in values["topics"]),
                groups=tuple(GroupPlan(**_with_tuples(row, "differences")) for row in values["groups"]),
                parts=tuple(CopyPart(**row) for row in values["parts"]),
                offsets=tuple(OffsetPlan(**row) for row in values["offsets"]),
                bytes=int(values["bytes"]),
                is_exact=bool(values["is_exact"]),
                warnings=tuple(map(str, values["warnings"])),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise CodecError(f"the receipt names no plan of a copy: {error}") from error

    # ---- words ---------------------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The preview, a line for each fact."""
        order = self.order
        about = "" if self.is_exact else "about "
        messages, size = counted(self.count, "message"), counted(self.bytes, "byte")
        yield f"plan: {messages} with {about}{size}, from {order.source} to {order.target}"
        yield from _cut([line for topic in self.topics for line in self._topic_lines(topic)])
        yield from _cut([_group_line(group) for group in self.groups])
        if order.offsets:
            yield from _cut(list(self._offset_lines()))
        yield from (f"  {line}" for line in what_becomes({topic.source: topic.target for topic in self.topics}))
        yield from (f"warning: {text}" for text in self.warnings)

    def _topic_lines(self, topic: TopicPlan) -> Iterator[str]:
        parts = [part for part in self.parts if part.topic == topic.source]
        count = sum(part.count for part in parts)
        name = topic.source if topic.source == topic.target else f"{topic.source} as {topic.target}"
        yield f"  topic {name}: {counted(count, 'message')} of {counted(len(parts), 'queue')}; {_verdict(topic)}"
        if not topic.in_place:
            targets = len({part.target for part in parts})
            become = counted(len(parts), "queue will become", "queues become")
            yield f"    {become} {targets}: those that share one are merged by store time, each in its order"
        yield from (f"    note: {note}" for note in topic.notes)

    def _offset_lines(self) -> Iterator[str]:
        by_number = {part.number: part for part in self.parts}
        pairs = dict.fromkeys((row.group, by_number[row.part].topic) for row in self.offsets)
        for group, topic in pairs:
            rows = [row for row in self.offsets if row.group == group and by_number[row.part].topic == topic]
            in_place = self.topic_of(by_number[rows[0].part]).in_place
            how = (
                "by the position of the copied message"
                if in_place
                else "by time, as queue numbers do not agree: at the oldest message of a queue that is not consumed yet"
            )
            yield f"  offsets of {group} in {topic}, {how}:"
            yield from _cut([f"    {_offset_line(row, by_number[row.part], in_place=in_place)}" for row in rows])
        silent = [group.name for group in self.groups if not any(row.group == group.name for row in self.offsets)]
        yield from (f"  group {name} has no offset in these topics: none is set" for name in silent)


def _verdict(plan: TopicPlan | GroupPlan) -> str:
    if not plan.exists:
        return "it is created"
    if not plan.differences:
        return "the target has it with the same settings"
    words = ", ".join(plan.differences)
    return f"its settings are changed ({words})" if plan.changes else f"the target has it with others, which stay ({words})"


def _group_line(group: GroupPlan) -> str:
    online = f"; {group.members} of its members are online at the target" if group.members else ""
    return f"  group {group.name}: {_verdict(group)}{online}"


def _offset_line(row: OffsetPlan, part: CopyPart, *, in_place: bool) -> str:
    where = f"queue {part.queue_id} on {part.broker}: {row.offset:,}"
    before = "none" if row.before is None else f"{row.before:,}"
    to = f"queue {part.to_queue_id} on {part.to_broker}"
    inside = min(max(row.offset - part.first, 0), part.count)
    at = f"about {part.to_offset + inside:,}" if in_place else "by time"
    if row.offset < part.first:
        extra = "; " + counted(part.first - row.offset, "message before the range is", "messages before the range are")
    elif row.offset > part.end:
        extra = "; " + counted(
            row.offset - part.end, "consumed message behind the range is", "consumed messages behind the range are"
        )
    else:
        extra = ""
    return f"{where} → {to}: {at}, now {before}" + (f"{extra} not copied" if extra else "")


def _cut(lines: list[str]) -> Iterator[str]:
    yield from lines[:LINES_SHOWN]
    if len(lines) > LINES_SHOWN:
        yield f"  and {counted(len(lines) - LINES_SHOWN, 'line')} more"


def _with_tuples(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**row, **{name: tuple(map(str, row[name])) for name in names}}

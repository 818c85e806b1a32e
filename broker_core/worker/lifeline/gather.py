"""Finds what a store holds of one message: its copies in all topics, op records, trace records. Reads, changes nothing.

Copies of a message (half, waiting, retry, dead letter) keep its unique key and its body, and the index knows each under its own
topic. Messages without a unique key, or without an index entry, cannot be found this way; the result says so.
(Source: docs/spec/broker.md §4.2 to §4.5, §8.1, §13.1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from broker_core.engine.schedule.timer.messages import OUT_MS
from broker_core.engine.store.results import GetResult
from broker_core.engine.transaction.fate import decoded
from broker_core.engine.transaction.messages import parse_op_body
from broker_core.errors import CodecError, UsageError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import PLACE_BITS, offset_message_id, own_offset, parse_offset_message_id
from broker_core.protocol.message.model import HostAddress, StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.protocol.names import (
    CLOUD_TRACE_PREFIX,
    DISCARD_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TRACE_TOPIC,
    WHEEL_TIMER_TOPIC,
)
from broker_core.protocol.queue_unit import QueueUnit
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.tools.search.fields import state_of_topic
from broker_core.worker.lifeline.traces import Trace, TraceKind, read_traces

COPIES_MAX = 64
TOPICS_MAX = 1_000
OPS_MAX = 20_000
TRACES_MAX = 64
KEYS_MAX = 4
ALIKE_MAX = 16
"""Messages of the same key and body in the answer; more of them say nothing more."""
OTHER_TOPICS_MAX = 200
ORIGINS_MAX = 8
_BATCH = 32
_INTERNAL = frozenset({HALF_TOPIC, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC, DISCARD_TOPIC})


class LifelineStore(Protocol):
    """The part of `broker_core.engine.store.message_store.MessageStore` that is used here."""

    def record_at(self, physical_offset: int) -> memoryview | None: ...

    def get_messages(self, topic: str, queue_id: int, offset: int, max_count: int) -> GetResult: ...

    def query(self, topic: str, key: str, *, max_count: int, unique: bool = False) -> list[memoryview]: ...

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int) -> list[QueueUnit]: ...

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...

    def queues(self) -> list[tuple[str, int]]: ...


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that was found, in the order of the log.

    Attributes:
        message: The requested one.
        records: It and its copies.
        due_ms: When waiting records are due, by physical offset.
        op: The op record that names a half message of it, if there is one.
        alike: Messages of another unique key with one of its keys and its body.
        missing: What could not be found, and why.
        resent: Messages of other unique keys that name one of the records as their origin.
        origins: The message that this one names as its origin, then that one's origin, and so on.
        known: Groups and topics, to tell retry topics apart.
    """

    message: StoredMessage
    records: tuple[StoredMessage, ...]
    due_ms: dict[int, int]
    op: StoredMessage | None
    alike: tuple[StoredMessage, ...]
    traces: tuple[Trace, ...]
    missing: tuple[str, ...]
    resent: tuple[StoredMessage, ...] = ()
    origins: tuple[StoredMessage, ...] = ()
    known: KnownNames = NOTHING_KNOWN


def _own_place(_host: HostAddress, physical_offset: int) -> int | None:
    return physical_offset


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a store is searched.

    ``place_of`` maps store host and physical offset of an id to the place here; None where it is none of here.
    """

    place_of: Callable[[HostAddress, int], int | None] = _own_place
    ops_max: int = OPS_MAX
    other_topics_max: int = OTHER_TOPICS_MAX


WHOLE = Reach()
"""Of a store on this machine."""


def id_of(record: StoredMessage) -> str:
    """Offset message id of a record, which a resend names."""
    return offset_message_id(record.store_host, own_offset(record.physical_offset))


def in_log_order(records: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Records in the order in which they were stored; those of several brokers by their times."""
    if len({record.physical_offset >> PLACE_BITS for record in records}) < 2:
        return tuple(sorted(records, key=lambda record: record.physical_offset))
    return tuple(sorted(records, key=lambda record: (record.store_timestamp_ms, record.physical_offset)))


def gather(store: LifelineStore, physical_offset: int, reach: Reach = WHOLE) -> Gathered:
    """Find everything about a message, within bounds. Any thread. Raises `UsageError` where no message starts."""
    record = store.record_at(physical_offset)
    if record is None:
        raise UsageError(f"there is no message at {physical_offset:,} of the commit log", physical_offset=physical_offset)
    return _Gathering(store, decode_record(record), reach).all()


class _Gathering:
    def __init__(self, store: LifelineStore, message: StoredMessage, reach: Reach) -> None:
        self._store = store
        self._reach = reach
        self._message = message
        self._key = message.properties.get(props.UNIQUE_KEY, "")
        self._missing: list[str] = []

    def all(self) -> Gathered:
        records = self._copies()
        alike, resent = self._others(records)
        origins = self._origins(records)
        traces = self._traces() if self._key else ()
        if self._key and not traces:
            self._missing.append("No trace records were found: tracing is off in its clients or in the broker.")
        return Gathered(
            message=self._message,
            records=records,
            due_ms={one.physical_offset: self._due(one) for one in records if one.topic in (SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC)},
            op=self._op([one for one in records if one.topic == HALF_TOPIC]),
            alike=alike,
            traces=traces,
            missing=tuple(self._missing),
            resent=resent,
            origins=origins,
        )

    def _copies(self) -> tuple[StoredMessage, ...]:
        message = self._message
        found = {message.physical_offset: message}
        if not self._key:
            self._missing.append("The message has no unique key: copies and traces of it cannot be looked up.")
        others = 0
        for topic in self._topics() if self._key else ():
            for one in self._indexed(topic, self._key, unique=True):
                # A batch may give all its members one unique key; copies have the body in common too.
                if (one.body_crc, len(one.body)) == (message.body_crc, len(message.body)):
                    found[one.physical_offset] = one
                else:
                    others += 1
        if others:
            self._missing.append(f"{others:,} other messages have the same unique key, as in a batch; they are left out.")
        return in_log_order(list(found.values()))

    def _topics(self) -> list[str]:
        message = self._message
        named = (props.REAL_TOPIC, props.RETRY_TOPIC, props.DLQ_ORIGIN_TOPIC)
        topics = {message.topic, *(message.properties.get(name, "") for name in named)} - {""}
        topics |= _INTERNAL
        further = [*self._known((RETRY_PREFIX, DLQ_PREFIX)), *self._others_topics()]
        return [*sorted(topics), *(topic for topic in dict.fromkeys(further) if topic not in topics)]

    def _others_topics(self) -> list[str]:
        """Topics of users, because a message may be sent again to any of them."""
        known = sorted({topic for topic, _queue in self._store.queues() if state_of_topic(topic) == "normal"})
        most = self._reach.other_topics_max
        if len(known) > most:
            self._say(f"There are {len(known):,} topics; resends were looked for in {most:,} of them.")
        return known[:most]

    def _say(self, text: str) -> None:
        if text not in self._missing:
            self._missing.append(text)

    def _known(self, prefixes: tuple[str, ...]) -> list[str]:
        known = sorted({topic for topic, _queue in self._store.queues() if topic.startswith(prefixes)})
        if len(known) > TOPICS_MAX:
            self._missing.append(f"There are {len(known):,} retry and dead letter topics; {TOPICS_MAX:,} were looked into.")
        return known[:TOPICS_MAX]

    def _indexed(self, topic: str, key: str, *, unique: bool = False, count: int = COPIES_MAX) -> list[StoredMessage]:
        found = list(decoded(self._store.query(topic, key, max_count=count, unique=unique)))
        if (
            unique
            and topic == self._message.topic
            and all(one.physical_offset != self._message.physical_offset for one in found)
        ):
            self._missing.append("The index does not hold this message: copies of it may not have been found.")
        return found

    def _due(self, waiting: StoredMessage) -> int:
        """When a waiting record is due; -1 where nothing says so."""
        if waiting.topic == WHEEL_TIMER_TOPIC:
            return props.number_of(waiting.properties.get(OUT_MS))
        # The consume queue of a delay level holds the due time in place of a tag's hash (docs/spec/broker.md §3.2).
        units = self._store.queue_units(SCHEDULE_TOPIC, waiting.queue_id, waiting.queue_offset, 1)
        return units[0].tags_code if units and units[0].physical_offset == waiting.physical_offset else -1

    def _op(self, halves: Sequence[StoredMessage]) -> StoredMessage | None:
        if not halves:
            return None
        wanted = {half.queue_offset for half in halves}
        looked_at = 0
        queue_id = halves[0].queue_id  # both topics have one queue on each broker
        offset = self._store.offset_by_time(OP_TOPIC, queue_id, halves[0].store_timestamp_ms)
        end = self._store.max_offset(OP_TOPIC, queue_id)
        while offset < end and looked_at < self._reach.ops_max:
            result = self._store.get_messages(OP_TOPIC, queue_id, offset, _BATCH)
            for op in decoded(result.records):
                if wanted.intersection(parse_op_body(op.body)):
                    return op
            if result.next_offset <= offset:
                break
            looked_at += result.next_offset - offset
            offset = result.next_offset
        if offset < end and looked_at >= self._reach.ops_max:
            self._missing.append(f"Only the first {self._reach.ops_max:,} op records behind the half message were looked at.")
        return None

    def _traces(self) -> tuple[Trace, ...]:
        found: dict[Trace, None] = {}
        for topic in (TRACE_TOPIC, *self._known((CLOUD_TRACE_PREFIX,))):
            for message in self._indexed(topic, self._key, count=TRACES_MAX):
                found |= dict.fromkeys(read_traces(_body(message), message.physical_offset))
        requests = {one.request_id for one in found if one.kind is TraceKind.BEFORE and one.message_id == self._key}
        return tuple(one for one in found if one.message_id == self._key or (one.request_id and one.request_id in requests))

    def _origins(self, records: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
        """The origins along the links of resends, as far as their records are found."""
        found: list[StoredMessage] = []
        own = {id_of(record) for record in records}
        link = next((one.properties[ORIGIN_LINK] for one in records if ORIGIN_LINK in one.properties), "")
        while link and link not in own and len(found) < ORIGINS_MAX:
            record = self._record_of(link)
            if record is None:
                self._say("The message that it was made of is not in this store, or no longer.")
                break
            found.append(record)
            own.add(link)
            link = record.properties.get(ORIGIN_LINK, "")
        return tuple(found)

    def _record_of(self, message_id: str) -> StoredMessage | None:
        try:
            place = self._reach.place_of(*parse_offset_message_id(message_id))
            record = None if place is None else self._store.record_at(place)
            found = None if record is None else decode_record(record)
        except CodecError:
            return None
        return found if found is not None and id_of(found) == message_id else None

    def _others(self, records: Sequence[StoredMessage]) -> tuple[tuple[StoredMessage, ...], tuple[StoredMessage, ...]]:
        """Messages that look like this one, and messages that name it as their origin."""
        message, ids = self._message, {id_of(record) for record in records}
        found, resent = dict[int, StoredMessage](), dict[int, StoredMessage]()
        keys = message.properties.get(props.KEYS, "").split(props.KEY_SEPARATOR)[:KEYS_MAX]
        topics = {one.topic for one in records if not _is_system(one.topic)}
        topics |= {message.properties.get(props.RETRY_TOPIC, ""), message.properties.get(props.REAL_TOPIC, "")}
        near = {topic for topic in topics if topic and not _is_system(topic)}
        wanted = [(topic, key) for topic in sorted(near) for key in keys if key]
        wanted += [(topic, keys[0]) for topic in self._others_topics() if topic not in near and keys[0]]
        for topic, key in wanted:
            for one in self._indexed(topic, key):
                if one.properties.get(props.UNIQUE_KEY, "") == self._key:
                    continue
                if one.properties.get(ORIGIN_LINK) in ids:
                    resent[one.physical_offset] = one
                elif topic in near and (one.body_crc, len(one.body)) == (message.body_crc, len(message.body)):
                    found[one.physical_offset] = one
        nearest = sorted(found, key=lambda place: abs(place - message.physical_offset))
        if len(nearest) > ALIKE_MAX:
            self._missing.append(f"More than {ALIKE_MAX} messages have the same key and body; the nearest are told.")
        return (
            tuple(found[place] for place in sorted(nearest[:ALIKE_MAX])),
            tuple(resent[place] for place in sorted(resent)[:ALIKE_MAX]),
        )


def _is_system(topic: str) -> bool:
    return topic in _INTERNAL or topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def _body(message: StoredMessage) -> bytes:
    try:
        return decompress_body(message.sys_flag, message.body)
    except CodecError:
        return b""

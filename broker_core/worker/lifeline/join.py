"""Joins the records of a message to its life. Pure.

    produced ── half ── checked … ── committed ── stored ── attempt 1 ── retry waits ── retry 1 ── attempt 2 … ── dead
                                     delayed ── delivered ──┘

The content of a record is *stored*. A failed attempt without a trace is *inferred* from the retry that followed; a rollback
from its op record and the lack of a real message.

Source: docs/spec/broker.md §3.4, §4.5, §8.1, §13.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from broker_core.engine.transaction.messages import CHECK_TIMES
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import PLACE_BITS
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.protocol.message.sys_flag import TransactionType, transaction_type
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC
from broker_core.protocol.retry_names import RetryOwner, groups_of, names_text, owners_of_message, shared_note
from broker_core.tools.search.fields import state_of_topic
from broker_core.worker.lifeline.gather import Gathered, id_of
from broker_core.worker.lifeline.model import FAILED, POP, SUCCESS, UNKNOWN, Event, EventKind, Evidence, Position, Story
from broker_core.worker.lifeline.order import in_order
from broker_core.worker.lifeline.traces import Trace, TraceKind
from broker_core.worker.questions.administration import GRPC, REMOTING

BORN, STORE_TIME, OP_RECORD, NO_REAL, REAL_RECORD, RETRY_EXISTS, COMMITTED_OFFSET, OFFSET_HISTORY, TRACE, SAME_BODY, LINK = (
    "Born timestamp", "Store timestamp", "Op record", "Op record, and no real message", "Real message",
    "Retry or dead letter of it", "Committed offset", "History of offsets", "Trace record", "Same key and body",
    "It names its origin",
)  # fmt: skip


def readable_places(gathered: Gathered) -> list[tuple[str, int, int]]:
    """Topic, queue and offset of the records that consumers could read, each once."""
    records = [
        one
        for one in (*gathered.records, *gathered.resent)
        if state_of_topic(one.topic) in ("normal", "retry") and one.topic != DISCARD_TOPIC
    ]
    return sorted({(one.topic, one.queue_id, one.queue_offset) for one in records})


def sending_protocol(record: StoredMessage) -> str:
    """The protocol by which a client sent a message; empty for one that the broker's own console stored.

    Proxies and Orbit note the host of a client of gRPC in a property (Source: docs/spec/grpc.md §7.1). The console has no
    connection, so its messages are born at the address of the broker.
    """
    if props.BORN_HOST in record.properties:
        return GRPC
    return "" if record.born_host == record.store_host else REMOTING


def join(gathered: Gathered, positions: Sequence[Position]) -> Story:
    """The whole story; ``positions`` are those of groups in the queues of `readable_places`."""
    return _Joining(gathered, positions).story()


class _Joining:
    def __init__(self, gathered: Gathered, positions: Sequence[Position]) -> None:
        self._gathered = gathered
        self._positions = positions
        self._ids = {id_of(record) for record in gathered.records}
        self._recorded: list[tuple[int, Event]] = []
        """Events of records, each with its place in the log."""
        self._between: list[Event] = []
        self._missing = list(gathered.missing)
        self._waiting: dict[tuple[str, int], list[int]] = {}
        """Due times of waits without a delivery, by real topic and reconsume times."""

    def story(self) -> Story:
        self._produced()
        for record in self._gathered.records:
            self._take(record)
        self._decision()
        traced = self._attempts()
        self._inferred_attempts(traced)
        self._passes()
        self._likenesses()
        self._name_undelivered()
        # At one place: the decision, and the message that became readable by it.
        many = len({place >> PLACE_BITS for place, _event in self._recorded}) > 1
        recorded = sorted(
            self._recorded, key=lambda one: (one[1].at_ms if many else one[0], one[1].kind is not EventKind.COMMITTED)
        )
        return Story(in_order([event for _place, event in recorded], self._between), tuple(self._missing))

    def _add(
        self,
        kind: EventKind,
        record: StoredMessage,
        evidence: Evidence = Evidence.STORED,
        *,
        made: StoredMessage | None = None,
        **more: Any,
    ) -> None:
        """Add the event of a record, or of the record ``made`` of it, at the time and the place of that one."""
        at = made or record
        event = Event(
            kind=kind,
            at_ms=at.store_timestamp_ms,
            evidence=evidence,
            source=STORE_TIME,
            topic=record.topic,
            queue_id=record.queue_id,
            queue_offset=record.queue_offset,
            physical_offset=record.physical_offset,
        )
        self._recorded.append((at.physical_offset, replace(event, **more)))

    # ---- records ---------------------------------------------------------------------------------------------------

    def _produced(self) -> None:
        first = self._gathered.records[0]
        group = first.properties.get(props.PRODUCER_GROUP, "")
        self._between.append(
            Event(
                kind=EventKind.PRODUCED,
                at_ms=first.born_timestamp_ms,
                evidence=Evidence.STORED,
                source=BORN,
                group=group,
                host=str(first.born_host),
                protocol=sending_protocol(first),
                topic=first.topic,
                queue_id=first.queue_id,
                queue_offset=first.queue_offset,
                physical_offset=first.physical_offset,
            )
        )

    def _take(self, record: StoredMessage) -> None:
        state, topic = state_of_topic(record.topic), record.topic
        if self._is_resent(record, state):
            self._due(record)
            self._add(EventKind.RESENT, record, source=LINK, group=self._group(record))
        elif topic == HALF_TOPIC:
            self._take_half(record)
        elif topic == DISCARD_TOPIC:
            self._add(EventKind.GIVEN_UP, record, group=record.properties.get(props.PRODUCER_GROUP, ""))
        elif topic in (SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC):
            self._take_waiting(record)
        elif state == "retry":
            group, times = self._group(record), record.reconsume_times
            self._add(EventKind.RETRY, record, group=group, number=times, until_ms=self._due(record))
        elif state == "dead":
            self._add(EventKind.DEAD, record, group=self._group(record), number=record.reconsume_times)
        elif state == "normal":
            self._take_real(record)

    def _is_resent(self, record: StoredMessage, state: str) -> bool:
        """Whether a record is a copy that was sent again; its own retries have the link as well, and count on."""
        is_first = state == "normal" or (state == "retry" and record.reconsume_times == 0)
        return is_first and record.properties.get(ORIGIN_LINK) in self._ids

    def _take_half(self, record: StoredMessage) -> None:
        times = props.number_of(record.properties.get(CHECK_TIMES))
        group = record.properties.get(props.PRODUCER_GROUP, "")
        before = [event for _place, event in self._recorded if event.kind in (EventKind.HALF, EventKind.CHECKED)]
        if times <= 0 and not before:
            kind = EventKind.HALF
        elif before and times <= before[-1].number:
            kind = EventKind.POSTPONED
        else:
            kind = EventKind.CHECKED
            if not before:
                self._missing.append("The first half message is no longer stored; a copy made for a check is.")
        self._add(kind, record, group=group, number=max(times, 0))

    def _take_waiting(self, record: StoredMessage) -> None:
        properties = record.properties
        due_ms, real = self._gathered.due_ms.get(record.physical_offset, -1), properties.get(props.REAL_TOPIC, "")
        group, level = self._group(record, real), props.number_of(properties.get(props.DELAY))
        self._waiting.setdefault((real, record.reconsume_times), []).append(due_ms)
        if record.topic == WHEEL_TIMER_TOPIC:
            self._add(EventKind.TIMED, record, until_ms=due_ms)
        elif not group:
            self._add(EventKind.DELAYED, record, until_ms=due_ms, number=level)
        else:
            self._add(EventKind.RETRY_WAITS, record, until_ms=due_ms, group=group, number=record.reconsume_times)

    def _due(self, record: StoredMessage) -> int:
        """When the wait that this record ended was due; -1 where there was none."""
        waits = self._waiting.pop((record.topic, record.reconsume_times), None)
        return waits[-1] if waits else -1

    def _take_real(self, record: StoredMessage) -> None:
        due_ms = self._due(record)
        known = {EventKind.STORED, EventKind.DELIVERED}
        if due_ms >= 0:
            self._add(EventKind.DELIVERED, record, until_ms=due_ms)
        elif any(event.kind in known and event.topic == record.topic for _place, event in self._recorded):
            self._add(EventKind.STORED_AGAIN, record)
        else:
            self._add(EventKind.STORED, record)
        if transaction_type(record.sys_flag) is TransactionType.COMMIT and not self._has_half():
            self._missing.append("The half message of its transaction is no longer stored.")

    def _has_half(self) -> bool:
        return any(record.topic == HALF_TOPIC for record in self._gathered.records)

    def _name_undelivered(self) -> None:
        """Name a lost wait: one that ended without a record that could be found. Its event stays visible."""
        after = self._gathered.records[-1]
        late = [due for waits in self._waiting.values() for due in waits if 0 <= due < after.store_timestamp_ms]
        if late:
            self._missing.append("A wait was over before the last record was stored, and what was delivered was not found.")

    # ---- groups ----------------------------------------------------------------------------------------------------

    def _group(self, record: StoredMessage, topic: str = "") -> str:
        """The group of a retry or a dead letter; all possible ones if its topic, or ``topic`` for which it waits, is shared."""
        name = topic or record.topic
        owners = self._popped_here(owners_of_message(name, record.properties, self._gathered.known))
        if len(owners) > 1:
            note = shared_note(name, owners)
            self._missing += [] if note in self._missing else [note]
        return names_text(groups_of(owners))

    def _popped_here(self, owners: tuple[RetryOwner, ...]) -> tuple[RetryOwner, ...]:
        """Those owners that popped a topic in which this message lies, or all, if no record of it is left there."""
        here = {record.topic for record in self._gathered.records if state_of_topic(record.topic) == "normal"}
        return tuple(owner for owner in owners if owner.topic in here) or owners

    # ---- transactions ----------------------------------------------------------------------------------------------

    def _decision(self) -> None:
        op, records = self._gathered.op, self._gathered.records
        halves = [record for record in records if record.topic == HALF_TOPIC]
        if not halves:
            return
        places = {half.physical_offset for half in halves}
        real = next(
            (
                record
                for record in records
                if transaction_type(record.sys_flag) is TransactionType.COMMIT and record.prepared_transaction_offset in places
            ),
            None,
        )
        group = halves[0].properties.get(props.PRODUCER_GROUP, "")
        given_up = any(record.topic == DISCARD_TOPIC for record in records)
        if op is not None and real is not None:
            # The decision made the real message; its op record is written after that, perhaps together with others.
            self._add(EventKind.COMMITTED, op, made=real, source=OP_RECORD, group=group)
        elif real is not None:
            self._add(EventKind.COMMITTED, real, source=REAL_RECORD, group=group)
            self._missing.append("The op record of the transaction was not found.")
        elif op is not None and not given_up:
            self._add(EventKind.ROLLED_BACK, op, Evidence.INFERRED, source=NO_REAL, group=group)

    # ---- attempts --------------------------------------------------------------------------------------------------

    def _attempts(self) -> set[tuple[str, int]]:
        """Add the traced attempts; returns group and number of each."""
        traces, known = self._gathered.traces, set[tuple[str, int]]()
        after = {trace.request_id: trace for trace in traces if trace.kind is TraceKind.AFTER}
        for trace in traces:
            if trace.kind is TraceKind.PUB:
                self._traced(
                    EventKind.SENT, trace, trace.group, outcome=SUCCESS if trace.is_success else FAILED, host=trace.host
                )
            elif trace.kind is TraceKind.END:
                self._traced(EventKind.ANSWERED, trace, trace.group, outcome=trace.state, number=int(trace.from_check))
            elif trace.kind is TraceKind.BEFORE:
                known.add((trace.group, trace.retry_times + 1))
                self._attempt(trace, after.pop(trace.request_id, None))
        return known

    def _attempt(self, before: Trace, after: Trace | None) -> None:
        number, record = before.retry_times + 1, self._read_by(before.group, before.retry_times)
        place = {} if record is None else {
            "topic": record.topic, "queue_id": record.queue_id, "queue_offset": record.queue_offset,
        }  # fmt: skip
        outcome = UNKNOWN if after is None else SUCCESS if after.is_success else FAILED
        cost_ms = -1 if after is None else after.cost_ms
        until_ms = before.at_ms + cost_ms if cost_ms >= 0 and before.at_ms >= 0 else -1
        self._traced(EventKind.ATTEMPT, before, before.group, number=number, outcome=outcome, until_ms=until_ms, **place)

    def _traced(self, kind: EventKind, trace: Trace, group: str, **more: Any) -> None:
        event = Event(
            kind=kind,
            at_ms=trace.at_ms,
            evidence=Evidence.TRACE,
            source=TRACE,
            group=group,
            physical_offset=trace.position,
            protocol=REMOTING,  # SDKs of gRPC write no trace messages
        )
        self._between.append(replace(event, **more))

    def _read_by(self, group: str, retry_times: int) -> StoredMessage | None:
        for record in self._gathered.records:
            state = state_of_topic(record.topic)
            if retry_times == 0 and state == "normal":
                return record
            if state == "retry" and (self._group(record), record.reconsume_times) == (group, retry_times):
                return record
        return None

    def _inferred_attempts(self, traced: set[tuple[str, int]]) -> None:
        """Infer a failed attempt from the retry or the dead letter after it, at the latest when that record was stored."""
        kinds = (EventKind.RETRY_WAITS, EventKind.RETRY, EventKind.DEAD)
        known = set(traced)
        for _place, event in self._recorded:
            if event.kind not in kinds or event.number < 1 or (event.group, event.number) in known:
                continue
            known.add((event.group, event.number))
            record = self._read_by(event.group, event.number - 1)
            if record is None:
                self._missing.append(f"What {event.group} read at attempt {event.number:,} is no longer stored.")
            self._between.append(
                Event(
                    kind=EventKind.ATTEMPT,
                    at_ms=event.at_ms,
                    evidence=Evidence.INFERRED,
                    source=RETRY_EXISTS,
                    group=event.group,
                    number=event.number,
                    outcome=FAILED,
                    protocol=self._received_by(event),
                    topic="" if record is None else record.topic,
                    queue_id=-1 if record is None else record.queue_id,
                    queue_offset=-1 if record is None else record.queue_offset,
                    physical_offset=event.physical_offset,
                )
            )

    def _received_by(self, event: Event) -> str:
        """How the failed attempt before a retry received the message; empty where its record does not say so."""
        record = next((one for one in self._gathered.records if one.physical_offset == event.physical_offset), None)
        return POP if record is not None and props.FIRST_POP_TIME in record.properties else ""

    # ---- offsets and likenesses ------------------------------------------------------------------------------------

    def _passes(self) -> None:
        for position in self._positions:
            has_passed = position.offset > position.queue_offset
            is_dated = has_passed and position.passed_ms >= 0
            self._between.append(
                Event(
                    kind=EventKind.PASSED if has_passed else EventKind.AHEAD,
                    at_ms=position.passed_ms if is_dated else -1,
                    evidence=Evidence.HISTORY if is_dated else Evidence.OFFSET,
                    source=OFFSET_HISTORY if is_dated else COMMITTED_OFFSET,
                    group=position.group,
                    protocol=position.protocol if has_passed else "",
                    number=-1 if has_passed else position.queue_offset - position.offset,
                    topic=position.topic,
                    queue_id=position.queue_id,
                    queue_offset=position.queue_offset,
                )
            )
        readable = [topic for topic, _queue_id, _offset in readable_places(self._gathered)]
        if any(state_of_topic(topic) != "retry" for topic in readable) and not self._positions:
            self._missing.append("No consumer group has an offset in its queue.")

    def _likenesses(self) -> None:
        """Add origins and resends: messages that look like this one, and messages that are linked to it."""
        first, last = self._gathered.records[0].physical_offset, self._gathered.records[-1].physical_offset
        linked = {record.physical_offset for record in (*self._gathered.origins, *self._gathered.resent)}
        for record in (one for one in self._gathered.alike if one.physical_offset not in linked):
            if record.physical_offset > first:
                self._add(EventKind.RESENT, record, Evidence.INFERRED, source=SAME_BODY)
            elif record.physical_offset < last:
                self._add(EventKind.RESENT_FROM, record, Evidence.INFERRED, source=SAME_BODY)
        for record in self._gathered.resent:
            self._add(EventKind.RESENT, record, source=LINK, group=self._group(record))
        for record in self._gathered.origins:
            self._add(EventKind.RESENT_FROM, record, source=LINK)

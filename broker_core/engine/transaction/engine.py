"""Transactions of one broker: decisions, checks, giving up, resuming. All on the broker's loop.

    END commit      real message → op record → no longer undecided
    END rollback    op record → no longer undecided
    check           copy with a raised count to the end of the half queue → question to a connected producer of the group
    give up         copy in the discard topic → op record

The order protects against a crash between two steps: the real message precedes the op record, and the copy precedes the
progress past the original, so a message may be stored twice and is never lost. Progress is reported only when the log is on
disk that far.

The engine knows no connections: `ProducerLookup` sends its questions.

Source: docs/spec/broker.md §4.4 to §4.8.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, Protocol

from broker_core.engine.store.results import NEVER_STORED, Arrival, PutResult, PutStatus
from broker_core.engine.tables.set_aside import GIVEN_UP, STAYS, SetAside, why_never
from broker_core.engine.transaction.fate import FateStore, read_fate, read_real
from broker_core.engine.transaction.ledger import TransactionLedger, TransactionOutcome
from broker_core.engine.transaction.messages import (
    CHECK_IMMUNITY,
    PREPARED_QUEUE_OFFSET,
    RESUMED_OFFSET,
    HalfMessage,
    op_bodies,
    op_body,
    op_message,
    read_half,
    read_op,
    to_copy,
    to_discarded,
    to_real,
    to_resumed,
    with_property,
)
from broker_core.engine.transaction.settings import TransactionSettings
from broker_core.errors import RecordError, RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.message.properties import PRODUCER_GROUP, PROPERTIES_BYTES_MAX, TRANSACTION_PREPARED, UNIQUE_KEY
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID

logger = logging.getLogger(__name__)

ROUND_SLICE = 16
"""Half messages handled before the loop runs other work."""
RECENT_MAX = 1_000
"""Ended transactions kept for the console."""
_LOAD_COUNT = 32
"""Records read before the loop runs other work: half a millisecond."""


class Store(FateStore, Protocol):
    """The part of `broker_core.engine.store.message_store.MessageStore` used here."""

    @property
    def write_refusal(self) -> str: ...

    def put(self, message: MessageToStore) -> PutResult: ...

    def record_at(self, physical_offset: int) -> memoryview | None: ...


_TOLD = frozenset((TransactionOutcome.COMMITTED, TransactionOutcome.ROLLED_BACK))
_DECIDED = _TOLD | {TransactionOutcome.DECIDED}


class Decision(IntEnum):
    """The decision of END_TRANSACTION (Source: docs/spec/remoting.md §2.2.8)."""

    UNKNOWN = 0
    COMMIT = 8
    ROLLBACK = 12


class CheckRequest(NamedTuple):
    """A question to a producer: CHECK_TRANSACTION_STATE."""

    group: str
    fields: dict[str, str]
    body: bytes


class ProducerLookup(Protocol):
    """Connected producers, by group."""

    def living(self, group: str, /) -> int:
        """How many can be asked."""

    def ask(self, request: CheckRequest) -> bool:
        """Send a question to one of them, in turn; False when that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRequest:
    """END_TRANSACTION, parsed; ``message_id`` is the unique key that the producer knows, or empty."""

    group: str
    half_offset: int
    physical_offset: int
    decision: Decision
    from_check: bool
    message_id: str = ""


class EndResult(NamedTuple):
    """The answer, and how far the log must be on disk for it."""

    code: int
    remark: str = ""
    durable_end: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction that ended while this process ran; ``op_offset`` is -1 while its op record is collected with others."""

    half: HalfMessage
    outcome: TransactionOutcome
    at_ms: int
    real_offset: int = -1
    op_offset: int = -1


@dataclass(slots=True)
class TransactionCounters:
    """Counted since the start."""

    committed: int = 0
    rolled_back: int = 0
    unknown: int = 0
    given_up: int = 0
    expired: int = 0
    checks: int = 0
    repeated: int = 0
    refused: int = 0


@dataclass(slots=True)
class Hooks:
    """Callbacks of the engine.

    Attributes:
        ensure_topic: Called before the first message of the discard topic.
        put_real: Stores a committed message; None for the store's own put.
        stored: Called with topic and bytes of every real message.
        set_aside: Records messages that cannot be copied.
    """

    ensure_topic: Callable[[str], object] = lambda _topic: None
    put_real: Callable[[MessageToStore], PutResult] | None = None
    stored: Callable[[str, int], None] = lambda _topic, _bytes: None
    set_aside: SetAside = field(default_factory=SetAside)


class TransactionEngine:
    """Decides, checks and gives up half messages; ``host`` is the broker's address, for op records."""

    def __init__(
        self,
        store: Store,
        producers: ProducerLookup,
        settings: TransactionSettings,
        *,
        clock: Callable[[], int],
        host: HostAddress,
        hooks: Hooks | None = None,
    ) -> None:
        self._store = store
        self._producers = producers
        self.settings = settings
        self._clock = clock
        self._host = host
        self._hooks = hooks or Hooks()
        self.ledger = TransactionLedger()
        self.counters = TransactionCounters()
        self.recent: deque[Ended] = deque(maxlen=RECENT_MAX)
        self._owed: list[int] = []
        self._owed_bytes = 0
        self.is_loaded = False
        """Whether all records of the queues are processed."""
        self._found_end = 0
        """End of the half queue when the queues were read."""
        self.unread = 0
        """Records of half and op queue that `loading` has not read yet."""

    # ---- taking in the queues ----

    def load(self, half_start: int, op_start: int) -> None:
        """Read the queues from the saved progress on; -1: there is none yet."""
        for _slice in self.loading(half_start, op_start):
            pass

    def loading(self, half_start: int, op_start: int) -> Iterator[None]:
        """The same in slices of a millisecond; nothing may be decided or checked before its end.

        Messages stored meanwhile are at the ends of the queues, and are read with the rest.
        """
        self.is_loaded = False
        read = self._starts({OP_TOPIC: op_start, HALF_TOPIC: half_start})
        self.ledger = TransactionLedger(half_start=read[HALF_TOPIC], op_start=read[OP_TOPIC])
        takes = {OP_TOPIC: self._take_op, HALF_TOPIC: self._take_half}
        while left := {topic: self._store.max_offset(topic, TRANSACTION_QUEUE_ID) - offset for topic, offset in read.items()}:
            self.unread = sum(left.values())
            # Op records first: a half message that one of them names is never undecided, not even for a moment.
            topic = next((topic for topic, count in left.items() if count > 0), None)
            if topic is None:
                break
            read[topic] = self._take_slice(topic, read[topic], takes[topic])
            yield
        self.ledger.half_end = max(self.ledger.half_end, read[HALF_TOPIC])
        self.ledger.op_end = max(self.ledger.op_end, read[OP_TOPIC])
        self.ledger.loaded()
        self._found_end = self.ledger.half_end
        self.is_loaded = True

    def _take_slice(self, topic: str, offset: int, take: Callable[[memoryview], None]) -> int:
        """Process the records of one read; returns the next offset. Unreadable records are skipped."""
        found = self._store.get_messages(topic, TRANSACTION_QUEUE_ID, offset, _LOAD_COUNT)
        for record in found.records:
            try:
                take(record)
            except RecordError as error:
                logger.warning("a record of %s behind offset %d is passed over: %s", topic, offset, error.message)
        if found.next_offset > offset:
            return found.next_offset
        end = self._store.max_offset(topic, TRANSACTION_QUEUE_ID)
        logger.warning("%s cannot be read from offset %d on; it goes on at its end, %d", topic, offset, end)
        return end

    def _starts(self, progress: Mapping[str, int]) -> dict[str, int]:
        """First offsets to read. Both queues are read from their begin if the progress of one is not that of its queue.

        Its op records say which half messages are decided; without them, or from the end on, undecided ones would be missed.
        """
        lows = {topic: self._store.min_offset(topic, TRANSACTION_QUEUE_ID) for topic in progress}
        for topic, offset in progress.items():
            end = self._store.max_offset(topic, TRANSACTION_QUEUE_ID)
            if offset > end:
                logger.warning("the progress of %s is %d, beyond its end, %d; all is read again", topic, offset, end)
                return lows
        return {topic: max(offset, lows[topic]) for topic, offset in progress.items()}

    def arrived(self, arrival: Arrival) -> None:
        """Process a message that has just been stored; to be called inside the put."""
        if not self.is_loaded or arrival.topic not in (HALF_TOPIC, OP_TOPIC):
            return
        record = self._store.record_at(arrival.physical_offset)
        assert record is not None
        if arrival.topic == HALF_TOPIC:
            self._take_half(record)
        else:
            self._take_op(record)

    def _take_half(self, record: memoryview) -> None:
        self.ledger.half_arrived(read_half(record, timeout_ms=self.settings.timeout_ms))

    def _take_op(self, record: memoryview) -> None:
        self.ledger.op_arrived(*read_op(record))

    @property
    def refusal(self) -> str:
        """Why no further half message is accepted; empty while they are."""
        if len(self.ledger) < self.settings.pending_max:
            return ""
        return (
            f"{len(self.ledger):,} transactions are undecided, more than {self.settings.pending_max:,} are not kept; commit or "
            "roll back some first"
        )

    # ---- END_TRANSACTION ----

    def end(self, request: EndRequest) -> EndResult | None:
        """Carry out a producer's decision; None if there is nothing to answer."""
        if request.decision is Decision.UNKNOWN:
            self.counters.unknown += 1
            return None
        half, refusal = self._checked(request)
        if half is None:
            self.counters.refused += 1
            return refusal
        found = self._half_of(half.physical_offset)
        pending, outcome = self._known(half, found.origin)
        if pending is not None:
            return self.decide(pending, request.decision)
        if outcome not in _DECIDED:
            # No record says that it was decided, so the producer's decision counts: late rather than never.
            return self._decide_late(found, half, request.decision)
        self.counters.repeated += 1
        asked = TransactionOutcome.COMMITTED if request.decision is Decision.COMMIT else TransactionOutcome.ROLLED_BACK
        if outcome is asked:
            return EndResult(ResponseCode.SUCCESS, f"the transaction is {outcome.value} already")
        logger.warning(
            "transaction %d of group %s is %s; %s comes too late", found.origin, request.group, outcome.value, asked.value
        )
        return EndResult(ResponseCode.SYSTEM_ERROR, f"the transaction is {outcome.value} already, it cannot be {asked.value}")

    def _known(self, message: StoredMessage, origin: int) -> tuple[HalfMessage | None, TransactionOutcome | None]:
        """The undecided transaction of a half message, or how it ended; the store answers what the ledger does not remember.

        Args:
            message: The half message, or its copy in the discard topic.
            origin: Of the transaction; -1 if the message does not name it.
        """
        pending, outcome = self.ledger.find(origin), self.ledger.outcome(origin)
        if pending is not None and pending.real_offset < 0 and origin < self._found_end:
            # It may have been committed before a kill that came before the op record.
            real = read_real(self._store, message)
            if real is not None:
                pending.real_offset, pending.real_end = real.physical_offset, real.physical_offset + real.store_size
        if pending is not None or outcome in _TOLD:
            return pending, outcome
        outcome, origins = read_fate(self._store, message)
        if outcome is not TransactionOutcome.COMMITTED:
            # A real broker's copies for a check and resumed ones do not name their original.
            pending = next((half for half in map(self.ledger.find, origins) if half is not None), None)
            # The op record of a decision may be owed.
            outcome = next((known for known in map(self.ledger.outcome, origins) if known in _TOLD), outcome)
        if pending is None and outcome in _DECIDED and origin >= 0:
            self.ledger.remember(origin, outcome)
        return pending, outcome

    def _half_of(self, physical_offset: int) -> HalfMessage:
        record = self._store.record_at(physical_offset)
        assert record is not None
        return read_half(record, timeout_ms=self.settings.timeout_ms)

    def _checked(self, request: EndRequest) -> tuple[StoredMessage | None, EndResult]:
        """The half message of a request, or the refusal (Source: docs/spec/broker.md §4.4 steps 3 to 5)."""
        record = self._store.record_at(request.physical_offset)
        missing = EndResult(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
        if record is None:
            return None, missing
        try:
            half = decode_record(record)
        except RecordError:
            return None, missing
        if half.topic != HALF_TOPIC or half.physical_offset != request.physical_offset:
            return None, missing
        if half.properties.get(PRODUCER_GROUP) != request.group:
            remark = f"The producer group wrong: the half message is of {half.properties.get(PRODUCER_GROUP, 'none')}"
            return None, EndResult(ResponseCode.SYSTEM_ERROR, remark)
        if half.queue_offset != request.half_offset:
            remark = (
                f"The transaction state table offset wrong: {request.half_offset}, the half message has {half.queue_offset}"
            )
            return None, EndResult(ResponseCode.SYSTEM_ERROR, remark)
        if _is_another(request.message_id, half):
            # After a power cut, another message can lie at the place that the producer knows.
            remark = f"The message id wrong: the half message there has {half.properties[UNIQUE_KEY]}"
            return None, EndResult(ResponseCode.SYSTEM_ERROR, remark)
        if not request.from_check and CHECK_IMMUNITY in half.properties:
            immunity_ms = read_half(record, timeout_ms=self.settings.timeout_ms).immunity_ms
            if self._clock() - half.born_timestamp_ms > immunity_ms:
                remark = f"the message is older than its {CHECK_IMMUNITY}: only the answer to a check decides it now"
                return None, EndResult(ResponseCode.ILLEGAL_OPERATION, remark)
        return half, missing

    def decide(self, half: HalfMessage, decision: Decision) -> EndResult:
        """Commit or roll back an undecided transaction."""
        if decision is Decision.ROLLBACK:
            return self._roll_back(half)
        if half.real_offset < 0:
            record = self._store.record_at(half.physical_offset)
            if record is None:
                return EndResult(ResponseCode.SYSTEM_ERROR, "Find prepared transaction message failed")
            result, refusal = self._put_real(decode_record(record))
            if result is None or result.status is not PutStatus.PUT_OK:
                if result is not None and result.status in NEVER_STORED:
                    self._give_up_refused(half, result.status)
                half.refusal = refusal.remark
                return refusal
            half.real_offset, half.real_end = result.physical_offset, result.physical_offset + result.wrote_bytes
        op_end = self._op_written(half.half_offset)
        if op_end is not None:
            self._ended(half, TransactionOutcome.COMMITTED)
        # Without an op record the real message is stored all the same; the next round of checks writes the record.
        return EndResult(ResponseCode.SUCCESS, durable_end=max(op_end or 0, half.real_end))

    def _give_up_refused(self, half: HalfMessage, status: PutStatus) -> None:
        """Give up a transaction whose real message is never stored: further checks would end in the same way."""
        if self._give_up(half):
            self._hooks.set_aside.note(half.physical_offset, half.topic, status, GIVEN_UP)

    def _roll_back(self, half: HalfMessage) -> EndResult:
        if half.real_offset >= 0:
            return EndResult(ResponseCode.SYSTEM_ERROR, "the transaction is committed already, it cannot be rolled back")
        op_end = self._op_written(half.half_offset)
        if op_end is None:
            return self._store_refused()
        self._ended(half, TransactionOutcome.ROLLED_BACK)
        return EndResult(ResponseCode.SUCCESS, durable_end=op_end)

    def _decide_late(self, found: HalfMessage, half: StoredMessage, decision: Decision) -> EndResult:
        """Carry out a decision on a transaction that is not pending: given up, or older than what is remembered."""
        if decision is Decision.COMMIT:
            result, refusal = self._put_real(half)
            if result is None or result.status is not PutStatus.PUT_OK:
                return refusal
            found.real_offset, found.real_end = result.physical_offset, result.physical_offset + result.wrote_bytes
        op_end = self._op_written(half.queue_offset)
        outcome = TransactionOutcome.COMMITTED if decision is Decision.COMMIT else TransactionOutcome.ROLLED_BACK
        self.ledger.remember(found.origin, outcome)
        self._note(found, outcome)
        return EndResult(ResponseCode.SUCCESS, durable_end=max(op_end or 0, found.real_end))

    def _put_real(self, half: StoredMessage) -> tuple[PutResult | None, EndResult]:
        try:
            message = to_real(half)
        except RecordError as error:
            return None, EndResult(ResponseCode.SYSTEM_ERROR, error.message)
        put = self._hooks.put_real or self._store.put
        try:
            result = put(message)
        except RequestRefusedError as error:
            return None, EndResult(error.code, error.message)
        if result.status is not PutStatus.PUT_OK:
            return result, self._store_refused(result)
        self._hooks.stored(message.topic, result.wrote_bytes)
        return result, EndResult(ResponseCode.SUCCESS)

    def _store_refused(self, result: PutResult | None = None) -> EndResult:
        if result is not None and result.status in NEVER_STORED:
            return EndResult(ResponseCode.MESSAGE_ILLEGAL, f"the message is illegal: {why_never(result.status)}")
        return EndResult(ResponseCode.SERVICE_NOT_AVAILABLE, f"service not available now: {self._store.write_refusal}")

    # ---- op records ----

    def _op_written(self, half_offset: int) -> int | None:
        """Record a decision; returns the end of its record in the log (0 when it is collected), None when that failed."""
        if self.settings.op_batch_interval_ms:
            self._owed.append(half_offset)
            self._owed_bytes += len(str(half_offset)) + 1
            if self._owed_bytes >= self.settings.op_batch_bytes:
                self.write_owed_ops()
            return 0
        result = self._store.put(op_message(op_body([half_offset], as_list=False), self._host, self._clock()))
        return None if result.status is not PutStatus.PUT_OK else result.physical_offset + result.wrote_bytes

    def write_owed_ops(self) -> None:
        """Write the collected decisions; those that the store refuses stay owed."""
        for body in op_bodies(self._owed, bytes_max=self.settings.op_batch_bytes):
            if self._store.put(op_message(body, self._host, self._clock())).status is not PutStatus.PUT_OK:
                return
            done = body.count(b",")
            del self._owed[:done]
            self._owed_bytes = max(self._owed_bytes - len(body), 0)

    @property
    def owed_ops(self) -> int:
        """Decisions without an op record."""
        return len(self._owed)

    # ---- checks ----

    def check_round(self) -> Iterator[None]:
        """One round of checks; yields so that the loop can run other work. Ends early when the store refuses."""
        started_ms = self._clock()
        for number, half in enumerate(list(self.ledger), 1):
            if self.ledger.is_undecided(half) and half.store_ms <= started_ms and not self._tend(half):
                logger.warning("the round of checks ends early: %s", self._store.write_refusal)
                return
            if number % ROUND_SLICE == 0:
                yield

    def _tend(self, half: HalfMessage) -> bool:
        """Do the next step for one half message; False when the store refuses a write."""
        if half.real_offset >= 0:
            return self.decide(half, Decision.COMMIT).code == ResponseCode.SUCCESS
        now_ms = self._clock()
        if not self.is_due(half, now_ms):
            return self._kept_near_the_end(half)
        if half.check_times >= self.settings.check_times_max or now_ms - half.born_ms > self.settings.reserved_ms:
            return self._give_up(half)
        if not self._producers.living(half.group):
            return self._kept_near_the_end(half)
        return self._check(half)

    def is_due(self, half: HalfMessage, now_ms: int) -> bool:
        """Whether a half message is old enough for a check; one from the future is, because its age is not known."""
        age_ms = now_ms - half.born_ms
        return age_ms <= -1 or age_ms >= self.wait_ms(half)

    def wait_ms(self, half: HalfMessage) -> int:
        """Time without checks after the birth of a message."""
        return self.settings.timeout_ms if half.immunity_ms < 0 else half.immunity_ms

    def _check(self, half: HalfMessage) -> bool:
        message = self._read(half)
        if message is None:
            return True
        if not self._copied(half, message, half.check_times + 1):
            return False
        half.asked_ms = self._clock()
        self.counters.checks += 1
        if not self._producers.ask(self._question(half, message)):
            logger.info("no producer of group %s could be asked about transaction %d", half.group, half.origin)
        return True

    def _copied(self, half: HalfMessage, message: StoredMessage, check_times: int) -> bool:
        # `arrived` updates the place of the half message inside this put.
        result = self._store.put(to_copy(message, check_times=check_times, origin=half.origin))
        if result.status in NEVER_STORED:
            # The half message has no room for the count: it keeps its place, and its checks are counted in memory only.
            self.ledger.count_checks(half, check_times)
            return True
        return result.status is PutStatus.PUT_OK

    def _kept_near_the_end(self, half: HalfMessage) -> bool:
        if self.ledger.half_end - half.half_offset <= self.settings.span_max:
            return True
        message = self._read(half)
        return message is None or self._copied(half, message, half.check_times)

    def _question(self, half: HalfMessage, message: StoredMessage) -> CheckRequest:
        """CHECK_TRANSACTION_STATE with the place of the copy (Source: docs/spec/broker.md §4.7)."""
        unique_key = message.properties.get(UNIQUE_KEY, "")
        fields = {
            "commitLogOffset": str(half.physical_offset),
            "tranStateTableOffset": str(half.half_offset),
            "offsetMsgId": offset_message_id(message.store_host, half.physical_offset),
            "msgId": unique_key,
            "transactionId": unique_key,
        }
        real = to_copy(message, check_times=half.check_times, origin=half.origin)
        real.topic, real.queue_id = half.topic, half.queue_id
        real.properties = with_property(real.properties, RESUMED_OFFSET, None)
        if len(real.properties) > PROPERTIES_BYTES_MAX:
            real.properties = message.properties_bytes
        body = encode_record(
            real, queue_offset=half.half_offset, physical_offset=half.physical_offset, store_timestamp_ms=half.store_ms
        )
        return CheckRequest(half.group, fields, body)

    def _read(self, half: HalfMessage) -> StoredMessage | None:
        """The record of an undecided half message; if it is gone from the log or damaged, the transaction ends."""
        record = self._store.record_at(half.physical_offset)
        try:
            if record is not None:
                return decode_record(record)
            why = "gone from the log"
        except RecordError as error:
            why = error.message
        logger.warning("half message %d of group %s is lost, undecided: %s", half.half_offset, half.group, why)
        self._ended(half, TransactionOutcome.EXPIRED)
        return None

    def _give_up(self, half: HalfMessage) -> bool:
        message = self._read(half)
        if message is None:
            return True
        self._hooks.ensure_topic(DISCARD_TOPIC)
        result = self._store.put(to_discarded(message))
        if result.status in NEVER_STORED:
            self._hooks.set_aside.note(half.physical_offset, DISCARD_TOPIC, result.status, STAYS)
        elif result.status is not PutStatus.PUT_OK:
            return False
        # Without an op record, a restart would discard it again while an older message holds progress back.
        if self._op_written(half.half_offset) is not None:
            self._ended(half, TransactionOutcome.GIVEN_UP)
        if half.refusal:
            self._hooks.set_aside.note_commit(half.physical_offset, half.topic, half.refusal)
        return True

    # ---- by hand ----

    def check_now(self, half: HalfMessage) -> str:
        """Ask a producer at once, whatever the age; returns why that was not possible, empty when it was."""
        if not self._producers.living(half.group):
            return f"no producer of group {half.group or '(none named)'} is connected: start one and try again"
        if not self._check(half):
            return f"the store does not take the check: {self._store.write_refusal}"
        return ""

    def resume(self, physical_offset: int) -> EndResult:
        """Copy a given-up message back into the half topic, to be checked again (Source: docs/spec/broker.md §4.8)."""
        record = self._store.record_at(physical_offset)
        message = None if record is None else decode_record(record)
        if message is None or message.topic not in (DISCARD_TOPIC, HALF_TOPIC):
            remark = f"no half message and none that was given up starts at {physical_offset} of the commit log"
            return EndResult(ResponseCode.SYSTEM_ERROR, remark)
        if message.properties.get(TRANSACTION_PREPARED, "").lower() != "true" or not message.properties.get(PRODUCER_GROUP):
            return EndResult(ResponseCode.SYSTEM_ERROR, f"the message at {physical_offset} is no transactional one")
        origin = props.number_of(message.properties.get(PREPARED_QUEUE_OFFSET))
        if message.topic == HALF_TOPIC:
            origin = self._half_of(message.physical_offset).origin
        pending, outcome = self._known(message, origin)
        if pending is None and outcome in _DECIDED:
            remark = f"the transaction at {physical_offset} is {outcome.value} already: there is nothing to resume"
            return EndResult(ResponseCode.SYSTEM_ERROR, remark)
        copy = to_resumed(message) if pending is None else to_copy(message, check_times=0, origin=pending.origin)
        result = self._store.put(copy)
        if result.status is not PutStatus.PUT_OK:
            return EndResult(ResponseCode.SYSTEM_ERROR, self._store_refused(result).remark)
        return EndResult(ResponseCode.SUCCESS, durable_end=result.physical_offset + result.wrote_bytes)

    # ---- what is told ----

    def _ended(self, half: HalfMessage, outcome: TransactionOutcome) -> None:
        self.ledger.resolve(half, outcome)
        self._note(half, outcome)

    def _note(self, half: HalfMessage, outcome: TransactionOutcome) -> None:
        op_offset = (
            -1 if self.settings.op_batch_interval_ms or outcome is TransactionOutcome.EXPIRED else self.ledger.op_end - 1
        )
        self.recent.append(Ended(half, outcome, self._clock(), half.real_offset, op_offset))
        match outcome:
            case TransactionOutcome.COMMITTED:
                self.counters.committed += 1
            case TransactionOutcome.ROLLED_BACK:
                self.counters.rolled_back += 1
            case TransactionOutcome.GIVEN_UP:
                self.counters.given_up += 1
            case TransactionOutcome.EXPIRED:
                self.counters.expired += 1


def _is_another(message_id: str, half: StoredMessage) -> bool:
    """Whether a message id is a unique key, but not that of this half message; clients may send other ids, or none."""
    unique_key = half.properties.get(UNIQUE_KEY, "")
    if not message_id or len(message_id) != len(unique_key):
        return False
    return message_id not in (unique_key, offset_message_id(half.store_host, half.physical_offset))

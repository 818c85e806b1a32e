"""How a transaction ended that the ledger does not remember, read from the records that its decision left in the store.

    a message whose prepared offset is one of its halves    committed
    a copy in the discard topic                             given up; a second op record after it: rolled back later
    an op record that names one of its halves               rolled back, because no message was stored
    none of these                                           nothing says that it ended

At most `RECORDS_MAX` records of op queue and discard topic are read, from the place of the half on, so that the answer costs
milliseconds. If more op records follow, the transaction counts as decided, because the progress of the half queue has passed a
half that the ledger does not hold. A copy in the discard topic names the first half, so that it counts all the same.

Source: docs/spec/broker.md §4.4 to §4.7.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from broker_core.engine.schedule.timer.messages import ASKING
from broker_core.engine.store.results import GetResult
from broker_core.engine.transaction.ledger import TransactionOutcome
from broker_core.engine.transaction.messages import (
    CHECK_TIMES,
    PREPARED_QUEUE_OFFSET,
    RESUMED_OFFSET,
    first_half,
    read_op,
    to_discarded,
)
from broker_core.errors import RecordError, StoreError
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.sys_flag import TransactionType, transaction_type
from broker_core.protocol.names import (
    DISCARD_TOPIC,
    HALF_TOPIC,
    OP_TOPIC,
    SCHEDULE_TOPIC,
    TRANSACTION_QUEUE_ID,
    WHEEL_TIMER_TOPIC,
)
from broker_core.protocol.queue_unit import QueueUnit

RECORDS_MAX = 2_000
"""Records read of one queue; the loop waits meanwhile."""
KEYED_MAX = 32
"""Records read with one unique key."""
DELAY_TOPICS = (SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC)
"""Topics that store a committed message with a delay first."""
_BATCH = 32


class FateStore(Protocol):
    """The part of `broker_core.engine.store.message_store.MessageStore` used here."""

    def get_messages(self, topic: str, queue_id: int, offset: int, max_count: int) -> GetResult: ...

    def query(self, topic: str, key: str, *, max_count: int, unique: bool = False) -> list[memoryview]: ...

    @property
    def delay_levels(self) -> DelayLevels: ...

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int) -> list[QueueUnit]: ...

    def min_offset(self, topic: str, queue_id: int, /) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...


class Fate(NamedTuple):
    """The end of a transaction, None if no record names one; and its origins, by which the ledger may hold it as undecided."""

    outcome: TransactionOutcome | None
    origins: tuple[int, ...]


def read_real(store: FateStore, half: StoredMessage) -> StoredMessage | None:
    """The message that was stored when the transaction of a half message was committed; None where there is none."""
    return _EndSearch(store, half).real()


def read_fate(store: FateStore, asked: StoredMessage) -> Fate:
    """The end of the transaction of a half message, or of a copy in the discard topic."""
    search = _EndSearch(store, asked)
    return Fate(search.outcome(), tuple(_origin(half) for half in search.halves))


class _EndSearch:
    def __init__(self, store: FateStore, asked: StoredMessage) -> None:
        self._store = store
        self._asked = asked
        self._key = asked.properties.get(props.UNIQUE_KEY, "")
        self._is_complete = True
        """Whether the last scan reached the end of its queue."""
        self.halves = self._halves()

    def outcome(self) -> TransactionOutcome | None:
        if self.real() is not None:
            return TransactionOutcome.COMMITTED
        is_known = self._is_complete
        given_up = self._discarded()
        if given_up is not None:
            return given_up
        if not self._is_named_by_an_op():
            return None
        return TransactionOutcome.ROLLED_BACK if is_known else TransactionOutcome.DECIDED

    # ---- halves ----

    def _halves(self) -> list[StoredMessage]:
        """All halves found of the transaction, in order, including the asked one if it is a half."""
        known = self._keyed(HALF_TOPIC)
        asked = [self._asked] if self._asked.topic == HALF_TOPIC else []
        if not self._holds_asked(known):
            known += [*asked, *(half for offset in self._near_halves() for half in decoded(self._scan(HALF_TOPIC, offset)))]
        found: dict[int, StoredMessage] = {}
        more = [half for half in known if _are_one(half, self._asked)]
        while more:
            found |= {half.queue_offset: half for half in more}
            # A copy for a check names the resumed one, which may name nothing.
            more = [half for half in known if half.queue_offset not in found and any(_are_one(half, one) for one in more)]
        return [half for _offset, half in sorted(found.items())]

    def _near_halves(self) -> Iterator[int]:
        """Places to begin to read the half queue at: before the first half, and after the asked one."""
        offset = self._asked.queue_offset if self._asked.topic == HALF_TOPIC else -1
        first = first_half(self._asked)
        if first >= 0 and (CHECK_TIMES in self._asked.properties or offset < 0):
            # Those before a copy need not be named by it: of a resumed transaction, and of RocketMQ.
            yield max(first - RECORDS_MAX // 2, 0)
        if offset >= 0:
            yield offset + 1

    def _holds_asked(self, found: list[StoredMessage]) -> bool:
        return any(message.physical_offset == self._asked.physical_offset for message in found)

    # ---- what was done to them ----

    def real(self) -> StoredMessage | None:
        """The message that was stored for one of the halves."""
        places = {half.physical_offset for half in self.halves}
        self._is_complete = True
        return next(
            (
                message
                for message in self._candidates()
                # What no transaction stored names 0, which is a place too.
                if message.prepared_transaction_offset in places
                and transaction_type(message.sys_flag) is TransactionType.COMMIT
            ),
            None,
        )

    def _candidates(self) -> Iterator[StoredMessage]:
        """What may be the committed message: what has its key, and without an index all that came later to its queues."""
        for topic in (self._asked.properties.get(props.REAL_TOPIC, ""), *DELAY_TOPICS):
            yield from self._keyed(topic)
        if self._holds_asked(self._keyed(self._asked.topic)):
            return  # and so the index has what came later
        is_complete = True
        for topic, queue_id in self._real_queues():
            yield from decoded(self._after(self._asked, topic, queue_id))
            is_complete = is_complete and self._is_complete
        self._is_complete = is_complete

    def _real_queues(self) -> Iterator[tuple[str, int]]:
        """Queues in which the committed message may lie."""
        found = self._asked.properties
        topic, queue_id = found.get(props.REAL_TOPIC), props.number_of(found.get(props.REAL_QUEUE_ID))
        level = props.number_of(found.get(props.DELAY))
        if topic and queue_id >= 0:
            yield topic, queue_id
        if level > 0:
            yield SCHEDULE_TOPIC, min(level, self._store.delay_levels.count) - 1
        if any(name in found for name in ASKING):
            yield WHEEL_TIMER_TOPIC, 0

    def _discarded(self) -> TransactionOutcome | None:
        """Whether the transaction was given up and has not been resumed since, and whether it was rolled back then."""
        copy = self._given_up()
        if copy is None:
            return None
        # The first op record is that of giving up, for a half that may be beyond those that were read.
        is_first_known = not self.halves or any(_is_same(copy, half) for half in self.halves)
        ops = sum(1 for _offset in self._ops_after(copy))
        return TransactionOutcome.ROLLED_BACK if ops > is_first_known else TransactionOutcome.GIVEN_UP

    def _given_up(self) -> StoredMessage | None:
        """The copy in the discard topic with which the transaction was given up."""
        if not self.halves:
            return self._asked
        last = self.halves[-1]
        found = None
        for copy in decoded(self._after(last, DISCARD_TOPIC)):
            is_named = first_half(copy) >= 0 and any(_are_one(copy, half) for half in self.halves)
            if is_named or _is_same(copy, last):
                found = copy
        return found

    def _is_named_by_an_op(self) -> bool:
        """Whether an op record names one of the halves, or too many follow to read all."""
        places = {half.physical_offset: half for half in (self.halves[-1], self._asked)}
        return any(True for half in places.values() for _number in self._ops_after(half)) or not self._is_complete

    def _ops_after(self, message: StoredMessage) -> Iterator[int]:
        """Halves of the transaction named by op records after a message in the log."""
        offsets = {half.queue_offset for half in self.halves}
        for record in self._after(message, OP_TOPIC):
            try:
                yield from (number for number in read_op(record)[1] if number in offsets)
            except RecordError:
                continue

    # ---- reading ----

    def _keyed(self, topic: str) -> list[StoredMessage]:
        if not self._key or not topic:
            return []
        try:
            return list(decoded(self._store.query(topic, self._key, max_count=KEYED_MAX, unique=True)))
        except StoreError:
            # The writer of a broken index reports it; the queues contain the same.
            return []

    def _after(self, message: StoredMessage, topic: str, queue_id: int = TRANSACTION_QUEUE_ID) -> Iterator[memoryview]:
        """Records of a queue that follow a message in the log."""

        def place(offset: int) -> int:
            units = self._store.queue_units(topic, queue_id, offset, 1)
            return units[0].physical_offset if units else message.physical_offset + 1

        offsets = range(self._store.min_offset(topic, queue_id), self._store.max_offset(topic, queue_id))
        return self._scan(topic, offsets.start + bisect_right(offsets, message.physical_offset, key=place), queue_id)

    def _scan(self, topic: str, offset: int, queue_id: int = TRANSACTION_QUEUE_ID) -> Iterator[memoryview]:
        end = self._store.max_offset(topic, queue_id)
        self._is_complete = end - offset <= RECORDS_MAX
        end = min(end, offset + RECORDS_MAX)
        while offset < end:
            found = self._store.get_messages(topic, queue_id, offset, min(_BATCH, end - offset))
            yield from found.records
            if found.next_offset <= offset:
                return
            offset = found.next_offset


def _are_one(one: StoredMessage, other: StoredMessage) -> bool:
    """Whether two halves, or a half and a copy in the discard topic, are of one transaction."""
    if one.physical_offset == other.physical_offset:
        return True
    first, last = sorted((one, other), key=lambda message: message.physical_offset)
    if first.properties.get(props.PRODUCER_GROUP) != last.properties.get(props.PRODUCER_GROUP):
        return False
    if RESUMED_OFFSET in last.properties:
        return first_half(last) == first_half(first)
    if PREPARED_QUEUE_OFFSET in last.properties:
        return _origin(last) == _origin(first)
    # RocketMQ's copies for a check name no original, and neither do resumed ones without room for it.
    is_copy, key = CHECK_TIMES in last.properties or last.topic == DISCARD_TOPIC, last.properties.get(props.UNIQUE_KEY)
    return is_copy and bool(key) and first.properties.get(props.UNIQUE_KEY) == key


def _is_same(copy: StoredMessage, half: StoredMessage) -> bool:
    return copy.body == half.body and copy.properties_bytes in (half.properties_bytes, to_discarded(half).properties)


def decoded(records: Iterable[memoryview]) -> Iterator[StoredMessage]:
    """Records that can be read; what others say is of more use than nothing."""
    for record in records:
        try:
            yield decode_record(record)
        except RecordError:
            continue


def _origin(half: StoredMessage) -> int:
    """Queue offset of the first half of a transaction."""
    prepared = props.number_of(half.properties.get(PREPARED_QUEUE_OFFSET))
    return prepared if prepared >= 0 else half.queue_offset

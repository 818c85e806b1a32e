"""The life of each transaction that a store still holds, from half, op, discard and real topic.

    half 5 ── check ── half 9 ── check ── half 14 ── op “14” ── real message, prepared offset = place of half 14

It reads any open store, also a read-only one that RocketMQ wrote, and changes nothing. Copies belong to the original that
TRAN_PREPARED_QUEUE_OFFSET names; RocketMQ's copies for a check lack it and are matched by unique key. An op record says only
that something was decided: with a real message it was a commit, without one a rollback.

Source: docs/spec/broker.md §4.2 to §4.8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from broker_core.engine.transaction.fate import DELAY_TOPICS, decoded
from broker_core.engine.transaction.messages import CHECK_TIMES, first_half, parse_op_body
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.sys_flag import TransactionType, transaction_type
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

ROWS_MAX = 1_000
HALVES_BACK = 20_000
"""Half messages read before the wanted place for one page."""
SCAN_MAX = 200_000
"""Records read of one queue for one page."""
_REAL_MAX = 32
_REAL_SCAN = 2_000
_BATCH = 32


class LifeState(Enum):
    """The state of a transaction according to the store."""

    PREPARED = "prepared"
    CHECKING = "checking"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    GIVEN_UP = "given up"
    DONE_WITH = "done with"
    """Progress has passed it and no record says how it ended."""


class StepKind(Enum):
    """The meaning of one record of a transaction."""

    PREPARED = "prepared"
    CHECKED = "checked"
    POSTPONED = "postponed"
    RESUMED = "resumed"
    DECIDED = "decided"
    DELIVERED = "delivered"
    GIVEN_UP = "given up"


class Step(NamedTuple):
    """One record in the life of a transaction; ``at_ms`` is its store time."""

    kind: StepKind
    at_ms: int
    queue_offset: int
    physical_offset: int


@dataclass(slots=True)
class Life:
    """One transaction.

    Attributes:
        origin: Queue offset of its first half; if that has expired, of the first that is kept or named.
        steps: Its records, in the order of time.
        real_offsets: Physical offsets of its real messages; more than one if it was delivered again.
    """

    origin: int
    group: str
    topic: str
    queue_id: int
    unique_key: str
    keys: str
    tags: str
    born_ms: int
    check_times: int = 0
    state: LifeState = LifeState.PREPARED
    half_offsets: list[int] = field(default_factory=list)
    half_places: list[int] = field(default_factory=list)
    real_offsets: list[int] = field(default_factory=list)
    op_offset: int = -1
    steps: list[Step] = field(default_factory=list)


class HistoryPage(NamedTuple):
    """Transactions, the newest first; ``next_before`` is -1 on the last page, ``notice`` names what is incomplete."""

    lives: list[Life]
    next_before: int
    notice: str


def read_history(
    store: MessageStore, *, before: int = -1, count: int = 100, half_progress: int = 0, halves_back: int = HALVES_BACK
) -> HistoryPage:
    """A page of transactions whose first half lies before a half offset. Any thread; reads a bounded number of records.

    Args:
        store: An open store.
        before: Half offset; -1 for the end of the queue.
        count: Transactions at most, up to `ROWS_MAX`.
        half_progress: First half offset that is still checked, if known.
        halves_back: Half messages to read before that place, up to `HALVES_BACK`.
    """
    end = store.max_offset(HALF_TOPIC, TRANSACTION_QUEUE_ID)
    before = end if before < 0 else min(before, end)
    low = max(store.min_offset(HALF_TOPIC, TRANSACTION_QUEUE_ID), before - min(max(halves_back, 1), HALVES_BACK))
    scan = _Scan(store)
    scan.halves(low)
    chosen = sorted((life for life in scan.lives if life.origin < before), key=lambda life: -life.origin)
    lives = chosen[: min(max(count, 1), ROWS_MAX)]
    for life in lives:
        scan.complete(life, half_progress)
    more = len(chosen) > len(lives) or low > store.min_offset(HALF_TOPIC, TRANSACTION_QUEUE_ID)
    next_before = -1 if not more else lives[-1].origin if len(chosen) > len(lives) else low
    return HistoryPage(lives, next_before, "; ".join(scan.notices))


class _Scan:
    """Reads the queues once and groups their records by transaction."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self.lives: list[Life] = []
        self.notices: list[str] = []
        self._by_origin: dict[int, Life] = {}
        self._by_key: dict[tuple[str, str], Life] = {}
        self._ops: dict[int, list[Step]] = defaultdict(list)
        self._discarded: dict[tuple[str, str], list[Step]] = defaultdict(list)

    def halves(self, low: int) -> None:
        """Read half, op and discard queue from the place of a half message on."""
        first_ms = -1
        for half in self._records(HALF_TOPIC, low):
            first_ms = half.store_timestamp_ms if first_ms < 0 else first_ms
            self._take_half(half)
        if first_ms < 0:
            return
        for op in self._records(OP_TOPIC, self._store.offset_by_time(OP_TOPIC, TRANSACTION_QUEUE_ID, first_ms)):
            step = Step(StepKind.DECIDED, op.store_timestamp_ms, op.queue_offset, op.physical_offset)
            for offset in parse_op_body(op.body):
                self._ops[offset].append(step)
        for given in self._records(DISCARD_TOPIC, self._store.offset_by_time(DISCARD_TOPIC, TRANSACTION_QUEUE_ID, first_ms)):
            step = Step(StepKind.GIVEN_UP, given.store_timestamp_ms, given.queue_offset, given.physical_offset)
            self._discarded[_key(given)].append(step)

    def _records(self, topic: str, offset: int) -> Iterator[StoredMessage]:
        end = self._store.max_offset(topic, TRANSACTION_QUEUE_ID)
        if end - offset > SCAN_MAX:
            self.notices.append(f"{end - offset:,} records of {topic} follow, the first {SCAN_MAX:,} are looked at")
            end = offset + SCAN_MAX
        return self._between(topic, TRANSACTION_QUEUE_ID, offset, end)

    def _between(self, topic: str, queue_id: int, offset: int, end: int) -> Iterator[StoredMessage]:
        while offset < end:
            found = self._store.get_messages(topic, queue_id, offset, _BATCH)
            yield from decoded(found.records)
            if found.next_offset <= offset:
                return
            offset = found.next_offset

    def _take_half(self, half: StoredMessage) -> None:
        life, kind = self._life_of(half)
        times = props.number_of(half.properties.get(CHECK_TIMES), 0)
        if kind is StepKind.CHECKED and times == life.check_times:
            kind = StepKind.POSTPONED
        life.check_times = times
        life.half_offsets.append(half.queue_offset)
        life.half_places.append(half.physical_offset)
        life.steps.append(Step(kind, half.store_timestamp_ms, half.queue_offset, half.physical_offset))

    def _life_of(self, half: StoredMessage) -> tuple[Life, StepKind]:
        """The transaction of a half message, and the meaning of this record for it."""
        origin = first_half(half)
        known = self._by_origin.get(origin)
        if known is None and CHECK_TIMES in half.properties:
            known = self._by_key.get(_key(half))
        if known is not None:
            resumed = half.properties.get(CHECK_TIMES) == "0" and known.check_times > 0
            return known, StepKind.RESUMED if resumed else StepKind.CHECKED
        properties = half.properties
        life = Life(
            origin=min(origin, half.queue_offset),
            group=properties.get(props.PRODUCER_GROUP, ""),
            topic=properties.get(props.REAL_TOPIC, ""),
            queue_id=props.number_of(properties.get(props.REAL_QUEUE_ID)),
            unique_key=properties.get(props.UNIQUE_KEY, ""),
            keys=properties.get(props.KEYS, ""),
            tags=properties.get(props.TAGS, ""),
            born_ms=half.born_timestamp_ms,
        )
        self.lives.append(life)
        self._by_origin[life.origin] = life
        if life.unique_key:
            self._by_key[_key(half)] = life
        return life, StepKind.CHECKED if CHECK_TIMES in properties else StepKind.PREPARED

    def complete(self, life: Life, half_progress: int) -> None:
        """Add the records of other topics: decision, real messages, giving up."""
        ops = sorted(
            (op for offset in life.half_offsets for op in self._ops.get(offset, ())), key=lambda op: op.physical_offset
        )
        op = ops[-1] if ops else None
        reals = self._reals(life)
        given_up = self._discarded.get((life.unique_key, life.group), []) if life.unique_key else []
        life.op_offset = -1 if op is None else op.queue_offset
        life.real_offsets = [real.physical_offset for real in reals]
        life.steps += [*ops, *reals, *given_up]
        life.steps.sort(key=lambda step: step.physical_offset)
        last_half = life.half_places[-1]
        if reals:
            life.state = LifeState.COMMITTED
        elif any(step.physical_offset > last_half for step in given_up):
            # Giving up writes an op record too; a second one belongs to a later decision.
            after = sum(step.physical_offset > given_up[-1].physical_offset for step in ops)
            life.state = LifeState.ROLLED_BACK if after > 1 else LifeState.GIVEN_UP
        elif op is not None and op.physical_offset > last_half:
            life.state = LifeState.ROLLED_BACK
        elif life.half_offsets[-1] < half_progress:
            life.state = LifeState.DONE_WITH
        else:
            life.state = LifeState.CHECKING if life.check_times else LifeState.PREPARED

    def _reals(self, life: Life) -> list[Step]:
        places = set(life.half_places)
        reals: dict[int, Step] = {}
        for topic in (life.topic, *DELAY_TOPICS):
            found = self._indexed(life, topic) or (self._beside(life) if topic == life.topic else [])
            reals = {
                message.physical_offset: Step(
                    StepKind.DELIVERED, message.store_timestamp_ms, message.queue_offset, message.physical_offset
                )
                for message in found
                if transaction_type(message.sys_flag) is TransactionType.COMMIT
                and message.prepared_transaction_offset in places
            }
            if reals:
                break
        return [reals[place] for place in sorted(reals)]

    def _indexed(self, life: Life, topic: str) -> list[StoredMessage]:
        if not life.unique_key or not topic:
            return []
        records = self._store.query(topic, life.unique_key, max_count=_REAL_MAX, unique=True)
        return [decode_record(record) for record in records]

    def _beside(self, life: Life) -> list[StoredMessage]:
        """Messages of the real queue from shortly before the decision on, for stores without an index or without the key."""
        is_decided = any(offset in self._ops for offset in life.half_offsets)
        if not is_decided or life.queue_id < 0 or not life.topic:
            return []
        offset = self._store.offset_by_time(life.topic, life.queue_id, life.steps[0].at_ms)
        end = min(self._store.max_offset(life.topic, life.queue_id), offset + _REAL_SCAN)
        return list(self._between(life.topic, life.queue_id, offset, end))


def _key(message: StoredMessage) -> tuple[str, str]:
    return message.properties.get(props.UNIQUE_KEY, ""), message.properties.get(props.PRODUCER_GROUP, "")

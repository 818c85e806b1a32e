"""The records of a transaction, made from one another: half, copy of a half, real message, op record. Bytes and values only.

    half         RMQ_SYS_TRANS_HALF_TOPIC: the message as sent, with REAL_TOPIC and REAL_QID
    copy         the same again, further back in the half queue, with a raised TRANSACTION_CHECK_TIMES
    real         the topic that was meant: sysFlag COMMIT, preparedTransactionOffset = physical offset of its half
    op           RMQ_SYS_TRANS_OP_HALF_TOPIC: “these half messages are decided”, tag d, body 5 (4.x) or 5,7, (5.1 and later)
    discarded    TRANS_CHECK_MAX_TIME_TOPIC: a half message that nobody would decide

A copy names the first half of its transaction in TRAN_PREPARED_QUEUE_OFFSET. RocketMQ writes that for postponed copies only and
not for those of a check; both are read. A resumed message begins a new series of copies, because RocketMQ takes the op record
of the first half for its own; ORBIT_RESUMED_OFFSET names the first half of all series.

Source: docs/spec/broker.md §4.2, §4.4 to §4.8, docs/spec/store.md §8.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from broker_core.errors import RecordError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.message.record import check_record
from broker_core.protocol.message.sys_flag import TRANSACTION_MASK, TransactionType
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID

CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
CHECK_IMMUNITY = "CHECK_IMMUNITY_TIME_IN_SECONDS"
RESUMED_OFFSET = "ORBIT_RESUMED_OFFSET"
OP_TAG = "d"
_INT64_MAX = (1 << 63) - 1
CHECKED = {PREPARED_QUEUE_OFFSET: str(_INT64_MAX), CHECK_TIMES: str(_INT64_MAX)}
"""The longest properties that checks add to a half message."""

_OP_PROPERTIES = props.encode_properties({props.TAGS: OP_TAG, props.WAIT: "true"})

_GROUP = props.property_marker(props.PRODUCER_GROUP)
_REAL_TOPIC = props.property_marker(props.REAL_TOPIC)
_REAL_QUEUE = props.property_marker(props.REAL_QUEUE_ID)
_CHECK_TIMES = props.property_marker(CHECK_TIMES)
_PREPARED = props.property_marker(PREPARED_QUEUE_OFFSET)
_IMMUNITY = props.property_marker(CHECK_IMMUNITY)


@dataclass(slots=True)
class HalfMessage:
    """The facts kept in memory of one half message, about 250 bytes. Its place changes when it is copied further back.

    Attributes:
        origin: Queue offset of the first half of the transaction; its name within a store.
        half_offset: Queue offset of the current half.
        physical_offset: Of that half.
        group: Producer group, empty if the record names none.
        topic: The real topic, empty if the record names none.
        born_ms: When the producer made it; all waiting times count from here.
        immunity_ms: Time without checks from birth that the producer requested; -1 for none.
        check_times: How often a producer was asked.
        asked_ms: When a producer was last asked by this process; -1 never.
        real_offset: Physical offset of its real message when only the op record is still missing; -1 otherwise.
        real_end: Where that message ends in the log; 0 when there is none.
        refusal: Why its last commit was refused by this process; empty for none.
    """

    origin: int
    half_offset: int
    physical_offset: int
    record_bytes: int
    group: str
    topic: str
    queue_id: int
    born_ms: int
    store_ms: int
    immunity_ms: int
    check_times: int
    asked_ms: int = -1
    real_offset: int = -1
    real_end: int = 0
    refusal: str = ""


def read_half(record: memoryview, *, timeout_ms: int) -> HalfMessage:
    """The transaction of a record of the half topic; reads neither the body nor the other properties.

    Args:
        record: The whole record.
        timeout_ms: Time without checks of a message whose requested time is no number: ``transactionTimeOut``.

    Raises:
        RecordError: It is no record.
    """
    parts = check_record(record, 0, len(record), check_crc=False)
    head, found = parts.head, parts.properties
    prepared = props.number_of(props.find_property_bytes(found, _PREPARED))
    immunity = props.find_property_bytes(found, _IMMUNITY)
    return HalfMessage(
        origin=prepared if 0 <= prepared < head.queue_offset else head.queue_offset,
        half_offset=head.queue_offset,
        physical_offset=head.physical_offset,
        record_bytes=head.size,
        group=_text(props.find_property_bytes(found, _GROUP)),
        topic=_text(props.find_property_bytes(found, _REAL_TOPIC)),
        queue_id=props.number_of(props.find_property_bytes(found, _REAL_QUEUE)),
        born_ms=head.born_timestamp_ms,
        store_ms=head.store_timestamp_ms,
        immunity_ms=-1 if immunity is None else _immunity_ms(immunity, timeout_ms),
        check_times=max(props.number_of(props.find_property_bytes(found, _CHECK_TIMES), 0), 0),
    )


def _immunity_ms(text: bytes, timeout_ms: int) -> int:
    """Text that is no number counts as -1, and -1 as the usual time (Source: docs/spec/broker.md §4.6 step g)."""
    seconds = props.number_of(text)
    return timeout_ms if seconds < 0 else min(seconds * 1_000, _INT64_MAX)


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


def first_half(message: StoredMessage) -> int:
    """Queue offset of the first half of a transaction, before any resume; -1 if a copy in the discard topic names none."""
    own = message.queue_offset if message.topic == HALF_TOPIC else -1
    prepared = props.number_of(message.properties.get(PREPARED_QUEUE_OFFSET), own)
    return props.number_of(message.properties.get(RESUMED_OFFSET), prepared)


# ---- what is written ---------------------------------------------------------------------------------------------------


def to_real(half: StoredMessage) -> MessageToStore:
    """The message for consumers, from its half.

    TRAN_MSG, PGROUP, REAL_TOPIC and REAL_QID stay in its properties, as in RocketMQ.

    Raises:
        RecordError: The half does not name its topic and queue.
    """
    topic = half.properties.get(props.REAL_TOPIC, "")
    queue_id = props.number_of(half.properties.get(props.REAL_QUEUE_ID))
    if not topic or queue_id < 0:
        raise RecordError(f"the half message at {half.physical_offset} names no topic and queue (REAL_TOPIC, REAL_QID)")
    real = half.copy_for(topic, queue_id, with_property(half.properties_bytes, RESUMED_OFFSET, None))
    real.sys_flag = half.sys_flag & ~TRANSACTION_MASK | TransactionType.COMMIT
    real.prepared_transaction_offset = half.physical_offset
    return real


def to_copy(half: StoredMessage, *, check_times: int, origin: int) -> MessageToStore:
    """A copy of a half message, for the end of the half queue.

    Args:
        half: The half that the copy replaces.
        check_times: How often a producer was asked, including the check that is about to be sent.
        origin: Queue offset of the first half of the transaction; -1 makes the copy a first half itself.
    """
    kept = with_property(half.properties_bytes, PREPARED_QUEUE_OFFSET, None if origin < 0 else str(origin))
    properties = with_property(kept, CHECK_TIMES, str(check_times))
    if len(properties) > props.PROPERTIES_BYTES_MAX:
        properties = with_property(properties, RESUMED_OFFSET, None)
    if not check_times and len(properties) > props.PROPERTIES_BYTES_MAX:
        properties = with_property(kept, CHECK_TIMES, None)
    return _without_type(half, HALF_TOPIC, properties)


def to_resumed(message: StoredMessage) -> MessageToStore:
    """A half message, or its copy in the discard topic, to be checked again: the first half of a new series of copies."""
    copy, first = to_copy(message, check_times=0, origin=-1), first_half(message)
    linked = copy.properties if first < 0 else with_property(copy.properties, RESUMED_OFFSET, str(first))
    copy.properties = linked if len(linked) <= props.PROPERTIES_BYTES_MAX else copy.properties
    return copy


def to_discarded(half: StoredMessage) -> MessageToStore:
    """A given-up half message, for the discard topic. If there is room, it names the first half, as copies for checks do."""
    properties = half.properties_bytes
    if PREPARED_QUEUE_OFFSET not in half.properties:
        named = with_property(properties, PREPARED_QUEUE_OFFSET, str(half.queue_offset))
        properties = named if len(named) <= props.PROPERTIES_BYTES_MAX else properties
    return _without_type(half, DISCARD_TOPIC, properties)


def _without_type(half: StoredMessage, topic: str, properties: bytes) -> MessageToStore:
    message = half.copy_for(topic, TRANSACTION_QUEUE_ID, properties)
    message.sys_flag &= ~TRANSACTION_MASK
    return message


def with_property(properties: bytes, name: str, value: str | None) -> bytes:
    """Encoded properties with one set or removed; the others stay, in order."""
    marker = props.property_marker(name)
    kept = properties
    if marker in properties:
        items = [item for item in properties.split(b"\x02") if item and not item.startswith(marker)]
        kept = b"\x02".join(items)
    return kept if value is None else props.append_properties(kept, marker + value.encode())


# ---- op records --------------------------------------------------------------------------------------------------------


def op_message(body: bytes, host: HostAddress, now_ms: int) -> MessageToStore:
    """An op record with a body made by `op_body`."""
    return MessageToStore(OP_TOPIC, TRANSACTION_QUEUE_ID, 0, 0, now_ms, host, host, 0, 0, body, _OP_PROPERTIES)


def op_body(half_offsets: Sequence[int], *, as_list: bool) -> bytes:
    """Body of an op record: ``5`` as 4.x brokers read it, or ``5,7,`` as later ones write it."""
    if as_list:
        return "".join([f"{offset}," for offset in half_offsets]).encode()
    (offset,) = half_offsets
    return str(offset).encode()


def parse_op_body(body: bytes | memoryview) -> list[int]:
    """Half offsets of an op record's body, either form; parts that are no numbers are left out."""
    return [number for part in bytes(body).split(b",") if (number := props.number_of(part.strip())) >= 0]


def read_op(record: memoryview) -> tuple[int, list[int]]:
    """Queue offset of an op record and the half offsets that it decides; none for a record of another kind.

    Raises:
        RecordError: It is no record.
    """
    parts = check_record(record, 0, len(record), check_crc=False)
    if props.find_property(parts.properties, props.TAGS) != OP_TAG:
        return parts.head.queue_offset, []
    return parts.head.queue_offset, parse_op_body(record[parts.body_position : parts.body_position + parts.head.body_bytes])


def op_bodies(half_offsets: Iterable[int], *, bytes_max: int) -> list[bytes]:
    """List bodies for offsets, each of at most ``bytes_max`` bytes unless one offset alone is longer."""
    bodies: list[bytes] = []
    current = b""
    for offset in half_offsets:
        text = b"%d," % offset
        if current and len(current) + len(text) > bytes_max:
            bodies.append(current)
            current = b""
        current += text
    return [*bodies, current] if current else bodies

"""Properties, flags, checksum and facts of a stored message in words; `level_delay_ms`. Pure but for the language."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from broker_core.api import own_offset
from broker_core.outside import whole_of
from broker_core.worker.questions.stored_messages import MessageDetail
from gui.models.messages import KEYS, TAGS, UNIQUE_KEY
from gui.words.text import UNKNOWN, QueueText, TimeZoneChoice, count_text, duration_text, tr
from monitoring.state import ClusterState

PROPERTY_MEANINGS: Mapping[str, str] = {
    KEYS: "Keys for looking the message up, separated by spaces",
    TAGS: "Tag that consumers filter by",
    UNIQUE_KEY: "Unique ID that the producer's client gave",
    "WAIT": "Whether the producer waits until the message is stored safely",
    "DELAY": "Delay level of a scheduled delivery",
    "RETRY_TOPIC": "Topic that the message had before its first retry",
    "REAL_TOPIC": "Topic that the message is for while it waits in a system topic",
    "REAL_QID": "Queue that the message is for while it waits in a system topic",
    "TRAN_MSG": "Half message of a transaction",
    "PGROUP": "Producer group, asked for the outcome of the transaction",
    "MIN_OFFSET": "Smallest offset of the queue at the time of a pull",
    "MAX_OFFSET": "End of the queue at the time of a pull",
    "ORIGIN_MESSAGE_ID": "ID of the message that this one is a retry of",
    "RECONSUME_TIME": "How often consumers gave the message back",
    "MSG_REGION": "Region of the broker, for message traces",
    "TRACE_ON": "Whether the broker lets clients write message traces",
    "MAX_RECONSUME_TIMES": "Retries before the message becomes a dead letter",
    "CONSUME_START_TIME": "When a consumer began with the message",
    "INSTANCE_ID": "Name space of the client",
    "CLUSTER": "Cluster of the broker that stored the message",
    "TIMER_DELAY_SEC": "Delay of a timer message in seconds",
    "TIMER_DELAY_MS": "Delay of a timer message in milliseconds",
    "TIMER_DELIVER_MS": "Delivery time of a timer message",
    "__SHARDINGKEY": "Key that orders messages: equal keys go to one queue",
    "DLQ_ORIGIN_TOPIC": "Topic of the message before it became a dead letter",
    "DLQ_ORIGIN_MESSAGE_ID": "ID of the message before it became a dead letter",
    "traceparent": "Trace context of W3C",
    "TRANSACTION_CHECK_TIMES": "How often the producer was asked for the outcome",
    "TRAN_PREPARED_QUEUE_OFFSET": "Offset of the half message that this one is a copy of",
    "ORBIT_RESUMED_OFFSET": "Offset of the first half message of a resumed transaction",
    "__transactionId__": "Name of the transaction that the producer gave",
    "CHECK_IMMUNITY_TIME_IN_SECONDS": "How long the producer is not asked",
    "POP_CK": "Receipt of the delivery by pop",
    "1ST_POP_TIME": "When the message was popped first",
    "TIMER_OUT_MS": "When the timer message is due",
    "TIMER_ROLL_TIMES": "How often the timer message was put into the wheel again",
    "CORRELATION_ID": "Ties a reply to its request",
    "REPLY_TO_CLIENT": "Client that waits for the reply",
    "INNER_MULTI_DISPATCH": "Further queues that the message is in",
}
"""Meanings of system properties, in English; shown through `gui.words.text.tr`."""


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property of a message."""

    name: str
    value: str

    @property
    def meaning(self) -> str:
        """English sentence for a property of the system, empty for one of the user."""
        return PROPERTY_MEANINGS.get(self.name, "")


def property_rows(properties: Mapping[str, str]) -> list[PropertyRow]:
    """Properties as rows: unique key, keys and tag first, then by name."""
    first = {UNIQUE_KEY: 0, KEYS: 1, TAGS: 2}
    names = sorted(properties, key=lambda name: (first.get(name, 3), name in PROPERTY_MEANINGS, name))
    return [PropertyRow(name, properties[name]) for name in names]


COMPRESSED = 0x1
_TRANSACTION = 0xC
_COMPRESSION_SHIFT, _COMPRESSION_MASK = 8, 0x700
_COMPRESSIONS = {0: "zlib", 1: "LZ4", 2: "Zstandard", 3: "zlib"}
_KNOWN_BITS = 0x1 | 0x2 | _TRANSACTION | 0x10 | 0x20 | 0x40 | 0x80 | _COMPRESSION_MASK
_BITS = {
    0x2: "several tags",
    0x10: "producer on IPv6",
    0x20: "broker on IPv6",
    0x40: "to be unwrapped",
    0x80: "batch in one record",
}
_TRANSACTION_STATES = {0x4: "half message", 0x8: "committed", 0xC: "rolled back"}
_CRC_MASK = 0x7FFFFFFF

_MOMENTS = frozenset({
    "CONSUME_START_TIME", "TIMER_DELIVER_MS", "TIMER_OUT_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "1ST_POP_TIME",
    "BORN_TIMESTAMP", "ARRIVE_TIME", "PUSH_REPLY_TIME",
})  # fmt: skip
_COUNTS = {
    "RECONSUME_TIME": "Given back {count} times",
    "MAX_RECONSUME_TIMES": "A dead letter after {count} retries",
    "TRANSACTION_CHECK_TIMES": "The producer was asked {count} times",
    "TIMER_ROLL_TIMES": "Put into the wheel again {count} times",
    "CHECK_IMMUNITY_TIME_IN_SECONDS": "Not checked in the first {count} s",
    "TRAN_PREPARED_QUEUE_OFFSET": "Copy of the half message at offset {count}",
    "TIMER_DELAY_SEC": "Delivered after {count} s",
    "TIMER_DELAY_MS": "Delivered after {count} ms",
}


def sys_flag_words(sys_flag: int) -> list[str]:
    """Meaning of the bits of a system flag (docs/spec/store.md §2.4)."""
    words = []
    if sys_flag & COMPRESSED:
        number = (sys_flag & _COMPRESSION_MASK) >> _COMPRESSION_SHIFT
        words.append(tr("body compressed with {name}", name=_COMPRESSIONS.get(number, f"№ {number}")))
    if state := _TRANSACTION_STATES.get(sys_flag & _TRANSACTION):
        words.append(tr(state))
    words += [tr(text) for bit, text in _BITS.items() if sys_flag & bit]
    if unknown := sys_flag & ~_KNOWN_BITS:
        words.append(tr("unknown bits {bits}", bits=f"0x{unknown & 0xFFFFFFFF:x}"))
    return words


class PropertyWords:
    """Describes the properties of a message; ``delay_ms`` returns the delay of a level, or None where it is not known."""

    def __init__(self, times: TimeZoneChoice, delay_ms: Callable[[int], int | None]) -> None:
        self._times = times
        self._delay_ms = delay_ms

    def words(self, name: str, value: str) -> str:
        """A sentence for a property of the system, empty for one of the user."""
        number = whole_of(value)
        if number is not None:
            if name == "DELAY":
                return self._level(number)
            if name in _MOMENTS:
                return self._times.full(number)
            if name in _COUNTS:
                return tr(_COUNTS[name], count=count_text(number))
        meaning = PROPERTY_MEANINGS.get(name, "")
        return tr(meaning) if meaning else ""

    def _level(self, level: int) -> str:
        delay_ms = self._delay_ms(level)
        if delay_ms is None:
            return tr("Delay level {level}", level=level)
        return tr("Delay level {level}, {delay}", level=level, delay=duration_text(delay_ms))


def crc_words(detail: MessageDetail) -> str:
    """The checksum of the body, and whether it matches; of compressed bodies it is that of the stored bytes."""
    shown = f"{detail.body_crc & 0xFFFFFFFF:08x}"
    if detail.sys_flag & COMPRESSED:
        return shown
    fits = zlib.crc32(detail.body) & _CRC_MASK == detail.body_crc & _CRC_MASK
    return tr("{crc}, fits the body", crc=shown) if fits else tr("{crc}, does not fit the body", crc=shown)


def record_facts(detail: MessageDetail, times: TimeZoneChoice, queue_text: QueueText) -> list[tuple[str, str]]:
    flags = sys_flag_words(detail.sys_flag)
    facts = [
        (tr("Offset message ID"), detail.offset_message_id),
        (tr("Unique ID"), detail.properties.get(UNIQUE_KEY, "") or UNKNOWN),
        (tr("Topic"), detail.topic),
        (tr("Queue and offset"), f"{queue_text(detail.queue_id)} · {count_text(detail.queue_offset)}"),
        (tr("Stored"), _moment(detail.store_ms, times)),
        (tr("Born"), _moment(detail.born_ms, times)),
        (tr("Producer"), detail.born_host),
        (tr("Broker"), detail.store_host),
        (tr("Physical offset"), count_text(own_offset(detail.physical_offset))),
        (tr("On disk"), tr("{count} bytes", count=count_text(detail.store_bytes))),
        (tr("Body on disk"), tr("{count} bytes", count=count_text(detail.stored_body_bytes))),
        (tr("Body CRC"), crc_words(detail)),
        (tr("Flag"), str(detail.flag)),
        (tr("System flag"), ", ".join((f"0x{detail.sys_flag:x}", *flags))),
        (tr("Given back by consumers"), count_text(detail.reconsume_times)),
    ]
    if detail.sys_flag & _TRANSACTION == 0x8:
        facts.append((tr("Half message at"), count_text(detail.prepared_transaction_offset)))
    return facts


def _moment(at_ms: int, times: TimeZoneChoice) -> str:
    return f"{times.full(at_ms)} {times.name(at_ms)}" if at_ms >= 0 else UNKNOWN


def level_delay_ms(state: ClusterState | None, level: int) -> int | None:
    """Delay of a level at the broker; None where it is not known."""
    if state is None:
        return None
    found = np.flatnonzero(state.delays.level == level)
    return int(state.delays.delay_ms[found[0]]) if len(found) else None

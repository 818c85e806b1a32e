"""Properties of a message as rows, and what those of the system mean. Pure: no widget, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gui.models.messages import KEYS, TAGS, UNIQUE_KEY

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

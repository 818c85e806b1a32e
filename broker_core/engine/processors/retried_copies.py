"""Copies of a message for a consumer group that did not consume it: the common part of retries and dead letters.

A dead letter can always have the properties of its original, so no message is too long for one.

Source: docs/spec/broker.md §6.7, §8.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.engine.store.paths import is_topic_name
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.names import DLQ_PREFIX


def retried_copy(message: StoredMessage, topic: str, queue_id: int, properties: bytes, host: HostAddress) -> MessageToStore:
    """The message after one more failed consumption; ``properties`` are those of the copy, ``host`` is its store host."""
    return MessageToStore(
        topic=topic,
        queue_id=queue_id,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_timestamp_ms=message.born_timestamp_ms,
        born_host=message.born_host,
        store_host=host,
        reconsume_times=message.reconsume_times + 1,
        prepared_transaction_offset=0,
        body=message.body,
        properties=properties,
    )


def put_counted(state: BrokerState, copy: MessageToStore) -> PutResult:
    """Store a copy, and count it as a message of its topic."""
    result = state.store.put(copy)
    if result.status is PutStatus.PUT_OK:
        state.counters.put(copy.topic, 1, result.wrote_bytes)
    return result


def put_dead_letter(
    state: BrokerState, message: StoredMessage, group: str, properties: Mapping[str, str], host: HostAddress
) -> PutResult:
    """Store a message in the dead letter topic of a group, which is created if need be.

    Where ``properties`` are too long, the copy has those of the original.
    """
    topic = DLQ_PREFIX + group
    if not is_topic_name(topic):
        return PutResult(PutStatus.MESSAGE_ILLEGAL)
    state.topics.ensure(topic, queues=1)
    encoded = props.encode_fitting(properties)
    if encoded is None:
        encoded = message.properties_bytes
    return put_counted(state, retried_copy(message, topic, 0, encoded, host))

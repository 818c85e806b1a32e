"""Which properties a message keeps when it is sent again.

Properties that brokers and consumers added are left out, because a broker would act on them again: a half message would wait
for its transaction, a retry would count on.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.protocol.message import properties as props

ORIGIN_LINK = "ORBIT_ORIGIN_ID"
"""Property of a message that was sent again: offset message id of the original."""
TIMED = frozenset((props.DELAY, "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"))
"""Properties that delay a message."""
BROKERS_OWN = frozenset((
    props.WAIT, props.CLUSTER, props.REAL_TOPIC, props.REAL_QUEUE_ID, props.RETRY_TOPIC, props.ORIGIN_MESSAGE_ID,
    props.RECONSUME_TIME, props.MAX_RECONSUME_TIMES, props.CONSUME_START_TIME, props.MIN_OFFSET, props.MAX_OFFSET,
    props.TRANSACTION_PREPARED, props.PRODUCER_GROUP, props.INNER_MULTI_QUEUE_OFFSET,
    "TRAN_PREPARED_QUEUE_OFFSET", "TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS", "ORBIT_RESUMED_OFFSET",
    props.FIRST_POP_TIME, "POP_CK",
    props.BORN_HOST, props.BORN_TIMESTAMP,
    "TIMER_OUT_MS", "TIMER_ROLL_TIMES", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_DEL_UNIQKEY",
    props.DLQ_ORIGIN_TOPIC, "DLQ_ORIGIN_MESSAGE_ID", "KTX",
))  # fmt: skip
"""Properties that are not sent again."""
ROOM_OF_BROKERS = 512
"""Bytes of properties that a link to the origin leaves for what a broker adds to any message, for example its cluster."""


def resent_properties(properties: Mapping[str, str], origin_id: str, *, without_delay: bool) -> dict[str, str]:
    """Properties of the new message, from those of the stored one.

    ``origin_id`` is the stored one's offset message id, empty for no link; ``without_delay`` also leaves out what delays it.
    A message with long properties has no room for a link.
    """
    # The stored message may have an origin itself, which is not that of the new one.
    left_out = BROKERS_OWN | {ORIGIN_LINK} | (TIMED if without_delay else frozenset())
    kept = {name: value for name, value in properties.items() if name not in left_out}
    linked = kept | {ORIGIN_LINK: origin_id} if origin_id else kept
    fits = len(props.encode_properties(linked)) + ROOM_OF_BROKERS <= props.PROPERTIES_BYTES_MAX
    return linked if fits else kept

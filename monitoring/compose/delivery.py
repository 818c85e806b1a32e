"""When and where a composed message is delivered: delay levels, times, and queues by sharding key."""

from __future__ import annotations

from enum import Enum

from broker_core.api import java_string_hash

SHARDING_KEY = "__SHARDINGKEY"
DELAY = "DELAY"
TIMER_DELAY_MS = "TIMER_DELAY_MS"
TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
DELAY_LEVELS = 18


class When(Enum):
    """How the delivery of a message is put off, named by the property that says it."""

    NOW = ""
    LEVEL = DELAY
    AFTER = TIMER_DELAY_MS
    AT = TIMER_DELIVER_MS


def queue_of_key(key: str, queues: int) -> int:
    """The queue to which the Java client's `SelectMessageQueueByHash` sends a sharding key.

    Args:
        key: Not empty.
        queues: Queues that can be written, at least 1.
    """
    # Java's remainder has the sign of the dividend, and its absolute value is taken afterwards.
    return abs(java_string_hash(key)) % queues

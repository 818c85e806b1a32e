"""Delivery of a composed message: delay levels, times, and queues by sharding key."""

from __future__ import annotations

from enum import Enum

from broker_core.api import java_string_hash

SHARDING_KEY = "__SHARDINGKEY"
DELAY = "DELAY"
TIMER_DELAY_MS = "TIMER_DELAY_MS"
TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
DELAY_LEVELS = 18


class When(Enum):
    """How delivery is delayed; the value is the property that sets it."""

    NOW = ""
    LEVEL = DELAY
    AFTER = TIMER_DELAY_MS
    AT = TIMER_DELIVER_MS


def queue_of_key(key: str, queues: int) -> int:
    """The queue to which the Java client's `SelectMessageQueueByHash` sends a non-empty sharding key."""
    # Java's remainder has the sign of the dividend, and its absolute value is taken afterwards.
    return abs(java_string_hash(key)) % queues

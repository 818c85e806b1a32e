"""Timers of a cluster from outside: how many messages wait for a time of their own. Pure: no network.

    waiting     GET_TIMER_METRICS of each broker: messages by the topic they go to, less cancels
    late by     ``timerReadBehind`` of its runtime figures: seconds that its wheel is behind the clock
    not there   ``timerOffsetBehind``: messages that are stored, but not in its wheel yet

Which messages wait and when the next is due is known inside a broker only.

Source: spec remoting §2.5.3, §2.1 (request 61), store §14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker_core.worker.attached.answers import whole_number
from broker_core.worker.attached.broker_figures import BrokerFigures

OF_BROKERS = "rmq_sys_"
"""Topics of brokers: checkpoints of pops wait for their time in the wheel, too, and nobody sent them."""
NOT_TOLD = -2


def timer_figures(brokers: Iterable[BrokerFigures]) -> dict[str, float]:
    """`Snapshot.timers` of all brokers together; empty where none has timers.

    Args:
        brokers: What each told; those that do not answer are left out.
    """
    told = [of for of in brokers if of.timers is not None and not of.is_lost]
    if not told:
        return {}
    return {
        "pending": float(sum(sum(messages_waiting(of.timers or {}).values()) for of in told)),
        "next_due_ms": float(NOT_TOLD),
        "overdue_ms": float(max(_seconds_behind(of) for of in told) * 1_000),
        "not_yet_in_wheel": float(sum(whole_number(of.runtime.get("timerOffsetBehind")) or 0 for of in told)),
    }


def messages_waiting(counts: Mapping[str, int]) -> dict[str, int]:
    """Topic → messages that people sent and that wait for it. A count that a crash put below zero is none."""
    return {topic: count for topic, count in counts.items() if count > 0 and not topic.startswith(OF_BROKERS)}


def _seconds_behind(of: BrokerFigures) -> int:
    return max(whole_number(of.runtime.get("timerReadBehind")) or 0, 0)

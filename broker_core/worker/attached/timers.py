"""Timers of a cluster from outside: how many timer messages are pending. Pure: no network.

    waiting     GET_TIMER_METRICS of each broker: messages by the topic they go to, less cancels
    late by     ``timerReadBehind`` of its runtime figures: seconds that its wheel is behind the clock
    not there   ``timerOffsetBehind``: messages that are stored, but not in its wheel yet

Only the broker itself knows which messages are pending and when the next is due.

Source: docs/spec/remoting.md §2.5.3, §2.1 (request 61), docs/spec/store.md §14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker_core.protocol.admin.values import whole_number
from broker_core.protocol.names import SYSTEM_PREFIX, WHEEL_TIMER_TOPIC
from broker_core.worker.attached.broker_figures import BrokerFigures
from broker_core.worker.questions.abilities import Ability

NOT_TOLD = -2
UNKNOWN = -1


def timer_figures(brokers: Iterable[BrokerFigures]) -> dict[str, float]:
    """`Snapshot.timers` of all brokers together; empty where none has timers.

    All is unknown while a broker that may have timers is lost or never reported its topics: the others would be taken for all.
    """
    every = list(brokers)
    told = [of for of in every if of.timers is not None]
    if not told:
        return {}
    if any((of.is_lost or not of.has_told_tables) and _may_have_timers(of) for of in every):
        unknown = dict.fromkeys(("pending", "overdue_ms", "not_yet_in_wheel"), float(UNKNOWN))
        return unknown | {"next_due_ms": float(NOT_TOLD)}
    return {
        "pending": float(sum(sum(messages_waiting(of.timers or {}).values()) for of in told)),
        "next_due_ms": float(NOT_TOLD),
        "overdue_ms": float(max(_seconds_behind(of) for of in told) * 1_000),
        "not_yet_in_wheel": float(sum(whole_number(of.runtime.get("timerOffsetBehind")) or 0 for of in told)),
    }


def messages_waiting(counts: Mapping[str, int]) -> dict[str, int]:
    """Topic → pending messages that people sent. A count that a crash made negative is dropped.

    System topics are left out, because the wheel also holds checkpoints of pops.
    """
    return {topic: count for topic, count in counts.items() if count > 0 and not topic.startswith(SYSTEM_PREFIX)}


def _may_have_timers(of: BrokerFigures) -> bool:
    """Whether it has timers, or never reported that it has none."""
    return Ability.TIMERS not in of.cannot and (not of.topics or WHEEL_TIMER_TOPIC in of.topics or of.timers is not None)


def _seconds_behind(of: BrokerFigures) -> int:
    return max(whole_number(of.runtime.get("timerReadBehind")) or 0, 0)

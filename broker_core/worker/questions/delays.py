"""Pending messages: of delay levels, and of timers."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.question import Question, question

# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DelayedMessages:
    """Pending messages in the order of their queue; parallel lists. ``topic`` and ``queue_id`` are their destination."""

    level: int
    queue_offset: list[int]
    physical_offset: list[int]
    due_ms: list[int]
    store_ms: list[int]
    topic: list[str]
    queue_id: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_bytes: list[int]
    reconsume_times: list[int]
    next_offset: int
    max_offset: int
    """Equal to ``next_offset`` when there is nothing more."""
    notice: str = ""
    part_first: list[int] = field(default_factory=list)
    """First offset of what each broker has from the asked one on, as ``queue_offset`` counts; ``part_end`` is its end. Empty
    where one broker has all."""
    part_end: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DelayedActed:
    """``done`` messages were changed; those at the offsets ``gone`` were no longer pending."""

    done: int
    gone: list[int]


@dataclass(frozen=True, slots=True)
class TimerForecast:
    """Messages due in each of the next 60 minutes and 48 hours, from ``taken_ms`` on, and on each day (UTC) until the last.

    ``first_day`` counts days since the epoch. Overdue messages count in the first of each.
    """

    taken_ms: int
    minutes: list[int]
    hours: list[int]
    first_day: int
    days: list[int]


@dataclass(frozen=True, slots=True)
class PendingTimers:
    """Timer messages by time, within a second the last sent first; parallel lists. ``topic`` is their destination.

    ``due_ms`` is the requested time, at the end of its second, or -1 for an unreadable message; ``slot_ms`` and ``position``
    name the message to `ActOnTimers`.
    """

    slot_ms: list[int]
    position: list[int]
    due_ms: list[int]
    store_ms: list[int]
    physical_offset: list[int]
    topic: list[str]
    queue_id: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_bytes: list[int]
    is_cancelled: list[bool]
    next_slot_ms: int
    """-1 when there is nothing more."""
    next_position: int


@dataclass(frozen=True, slots=True)
class TimersActed:
    """``done`` messages were changed; those in the slots ``gone`` were no longer pending, or cannot be cancelled."""

    done: int
    gone: list[int]


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=False)
class ListDelayed(Question[DelayedMessages]):
    """Pending messages of a delay level, from an offset of its queue on.

    ``start_offset`` 0 begins with the first pending one; ``count`` is at most 1,000.
    """

    level: int
    start_offset: int
    count: int


@question(acts=True)
class ActOnDelayed(Question[DelayedActed]):
    """Act on at most 1,000 pending messages of a delay level.

    ``action`` is ``deliver`` (now), ``cancel`` (never) or ``move`` (to ``due_ms``). The two lists name the messages as
    `DelayedMessages` did; a message that is no longer pending is left alone and counted.
    """

    action: str
    level: int
    queue_offset: list[int]
    physical_offset: list[int]
    due_ms: int = -1


@question(acts=False)
class ForecastTimers(Question[TimerForecast]):
    """How many timer messages are due when."""


@question(acts=False)
class ListTimers(Question[PendingTimers]):
    """Pending timer messages, by due time.

    ``slot_ms`` and ``position`` are 0 and -1 for the first page, a time and -1 to begin there, or those of the page before;
    ``count`` is at most 1,000; ``topic`` empty means all.
    """

    slot_ms: int
    position: int
    count: int
    topic: str = ""


@question(acts=True)
class ActOnTimers(Question[TimersActed]):
    """Act on at most 1,000 pending timer messages.

    ``action`` is ``deliver`` (now), ``cancel`` (never) or ``move`` (to ``due_ms``). The two lists name the messages as
    `PendingTimers` did; a message that is no longer pending is left alone and counted.
    """

    action: str
    slot_ms: list[int]
    position: list[int]
    due_ms: int = -1

"""The order of the events of a life: by time, and by cause where times are equal or contradict each other.

The log holds records in the order in which they were stored; their times need not rise, because a clock may be set back. Traces
and the birth of a message carry the times of other machines. So the log gives the order, and events of clients are placed
between their cause and their effect. The times themselves stay as they were recorded. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from broker_core.worker.lifeline.model import Event, EventKind

_HALVES = (EventKind.HALF, EventKind.CHECKED, EventKind.POSTPONED)
_DECISIONS = (EventKind.COMMITTED, EventKind.ROLLED_BACK, EventKind.GIVEN_UP)
_OUTCOMES = (EventKind.RETRY_WAITS, EventKind.RETRY, EventKind.DEAD)
"""Effects of a failed attempt; number and group are those of the attempt."""


def in_order(recorded: Sequence[Event], between: Sequence[Event]) -> tuple[Event, ...]:
    """Events in their order; those of unknown time last.

    ``recorded`` events have a place in the log and its order, a commit just before the record that it made; ``between`` are the
    others, in any order.
    """
    log = _Causes(recorded)
    # Of one millisecond: a birth, the record, what follows from the record.
    placed = [((False, at_ms, place, 1), recorded[place]) for place, at_ms in enumerate(log.reached_ms)]
    sent_ms = min((event.at_ms for event in between if event.kind is EventKind.SENT), default=-1)
    for event in between:
        is_repeated = event.kind is EventKind.SENT and event.at_ms > sent_ms
        after, before = log.bounds(event, is_repeated=is_repeated)
        at_ms = event.at_ms if before < 0 else min(event.at_ms, log.reached_ms[before])
        at_ms = at_ms if after < 0 else max(at_ms, log.reached_ms[after])
        rank = 0 if event.kind is EventKind.PRODUCED else 2
        placed.append(((event.at_ms < 0, at_ms, after, rank), event))
    return tuple(event for _key, event in sorted(placed, key=lambda one: one[0]))


class _Causes:
    """Finds cause and effect of an event among the recorded ones; -1 is none. ``reached_ms`` is the latest time up to each."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.reached_ms = list(accumulate((event.at_ms for event in events), max))
        self._first = self._half = self._decision = -1
        self._stored: dict[tuple[str, int, int], int] = {}
        self._outcomes: dict[tuple[str, int], int] = {}
        for place, event in reversed(list(enumerate(events))):
            if event.kind is not EventKind.RESENT_FROM:
                self._first = place
            if event.kind in _HALVES:
                self._half = place
            elif event.kind in _OUTCOMES:
                self._outcomes[event.group, event.number] = place
            if event.kind in _DECISIONS:
                self._decision = place
            else:
                self._stored[event.topic, event.queue_id, event.queue_offset] = place

    def bounds(self, event: Event, *, is_repeated: bool) -> tuple[int, int]:
        """Place of its cause, and of its effect."""
        if event.kind in (EventKind.PRODUCED, EventKind.SENT):
            # A client repeats a send when the record of the first attempt may be stored already.
            return -1, -1 if is_repeated else self._first
        if event.kind is EventKind.ANSWERED:
            return self._half, self._decision
        after = self._stored.get((event.topic, event.queue_id, event.queue_offset), -1)
        if event.kind is not EventKind.ATTEMPT:
            return after, -1
        before = self._outcomes.get((event.group, event.number), -1)
        # The consumed record may be gone; then the event is placed before its outcome.
        return (before - 1 if after < 0 <= before else after), before

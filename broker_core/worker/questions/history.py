"""What was recorded: series, events, who owned which queue."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question, question

# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HistoryLines:
    """One item a requested series, in that order; empty for a series never recorded. N differs from series to series."""

    step_ms: int
    begin_ms: int
    """When the record begins; -1 when there is none."""
    times_ms: list[bytes]
    """i8[N]: the first sample of each stretch."""
    low: list[bytes]
    """f8[N], as the next two; the smallest value of the stretch. NaN: from here to the next there was no sample."""
    high: list[bytes]
    last: list[bytes]


@dataclass(frozen=True, slots=True)
class EventPage:
    """Parallel lists, one item an event."""

    total: int
    """Events that match the query, not only those of this page."""
    at_ms: list[int]
    kind: list[str]
    subject: list[str]
    text: list[str]


@dataclass(frozen=True, slots=True)
class Ownership:
    """Parallel lists, one item a stretch of time in which one client owned a queue, by queue and time."""

    topic: list[str]
    queue_id: list[int]
    from_ms: list[int]
    to_ms: list[int]
    """Exclusive."""
    client: list[str]
    left_out: int = 0
    """Queues of the group beyond the room of one answer."""


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=False)
class ReadHistory(Question[HistoryLines]):
    """Series of the recorded history, thinned out.

    Attributes:
        names: At most 200, e.g. ``totals.put_rate``, ``topic:<name>.put_rate``, ``group:<name>.lag_messages``,
            ``queue:<topic>/<id>.max_offset``, ``position:<group>/<topic>/<id>.lag_messages``, ``level:<n>.pending``.
        from_ms: Begin, ms since the epoch.
        to_ms: End, exclusive.
        points: Stretches that the range is cut into, 2 to 20,000.
    """

    names: list[str]
    from_ms: int
    to_ms: int
    points: int = 600


@question(acts=False)
class ReadEvents(Question[EventPage]):
    """Events, newest first. Without ``kinds`` of any kind, without ``subject`` of any."""

    from_ms: int
    to_ms: int
    count: int = 1_000
    kinds: list[str] = field(default_factory=list)
    subject: str = ""


@question(acts=False)
class ReadOwnership(Question[Ownership]):
    """Which client of a group owned which queue when, from the history."""

    group: str
    from_ms: int
    to_ms: int
    points: int = 600


@question(acts=True)
class NoteEvent(Question[Done]):
    """Write an event into the history that the worker cannot know. Recorded.

    ``kind`` is ``alert`` for a finding of the window's rules and ``note`` for a person's own words.
    """

    kind: str
    subject: str
    text: str


RecordQuery = ReadHistory | ReadEvents | ReadOwnership

"""The life of a message: events in order, the evidence of each, and what is missing. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from broker_core.worker.questions.administration import GRPC, REMOTING


class Evidence(Enum):
    """How an event is known."""

    STORED = "stored"
    """A record in the store says it."""
    OFFSET = "offset"
    """The committed offset of a group says it."""
    HISTORY = "history"
    """The recorded history of offsets says when."""
    TRACE = "trace"
    """A client wrote it into a trace topic."""
    INFERRED = "inferred"
    """It follows from something else."""


class EventKind(Enum):
    PRODUCED = "produced"
    SENT = "sent"
    HALF = "half"
    CHECKED = "checked"
    POSTPONED = "postponed"
    ANSWERED = "answered"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    GIVEN_UP = "given up"
    DELAYED = "delayed"
    TIMED = "timed"
    STORED = "stored"
    STORED_AGAIN = "stored again"
    DELIVERED = "delivered"
    ATTEMPT = "attempt"
    PASSED = "passed"
    AHEAD = "ahead"
    RETRY_WAITS = "retry waits"
    RETRY = "retry"
    DEAD = "dead"
    RESENT = "resent"
    RESENT_FROM = "resent from"


SUCCESS, FAILED, UNKNOWN = "success", "failed", "unknown"
"""Outcomes of attempts and of sends."""
POP = "POP"
PROTOCOLS = (REMOTING, GRPC, POP)
"""``POP``: received by this request, which remoting and gRPC both make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step.

    Attributes:
        at_ms: When; -1 where that is unknown.
        source: The evidence, beside the place: a property, an op record, a trace record. English, one of `SOURCES`.
        until_ms: When a wait ends or was to end; when an attempt ended; -1 where there is none.
        group: Consumer group, or the producer group of a transaction.
        number: Attempt, retry, check or delay level, how many messages are ahead of it for a group, or the branch that a branch
            was made of; -1 for none.
        topic: Where its record lies, as the next three; of an attempt, the record that was consumed.
        physical_offset: Of the record, the op record or the trace message that is the evidence; -1 for none.
        outcome: Of attempts, sends and answers.
        host: Address of a client, or name of the state that it answered.
        branch: Its life in a line, from 0 (`broker_core.worker.lifeline.family`).
        protocol: By which a client sent or received it, one of `PROTOCOLS`; empty where nothing says so.
    """

    kind: EventKind
    at_ms: int
    evidence: Evidence
    source: str
    until_ms: int = -1
    group: str = ""
    number: int = -1
    topic: str = ""
    queue_id: int = -1
    queue_offset: int = -1
    physical_offset: int = -1
    outcome: str = ""
    host: str = ""
    branch: int = 0
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a group is in a queue that holds a record of the message.

    Attributes:
        queue_offset: Of that record.
        offset: Committed offset: the next message to consume.
        passed_ms: When it passed the message by the history; -1 where that is unknown.
        protocol: Which all present members of the group speak; empty where they differ, or that is unknown.
    """

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    offset: int
    passed_ms: int = -1
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """Events in the order of `broker_core.worker.lifeline.order`, and what could not be found, each with its reason."""

    events: tuple[Event, ...]
    missing: tuple[str, ...]

"""The messages between window and worker: tagged and versioned.

On the channel a message is a msgpack array ``[tag, field, field, …]`` in a length-prefixed frame
(`broker_core.worker.channel.framing`). Fields keep their order for ever; a new field is the last and has a default, so that an
older peer's shorter array still reads and a newer peer's longer one is cut. `PROTOCOL_VERSION` changes only when that is not
enough.

`broker_core.worker.questions` defines the messages by subject. This module defines the envelopes of questions and answers, and
which message may be sent where. `SUBJECTS` names every module of questions: those of other modules cannot be sent.

Live figures travel as columns: a `Catalog` names topics, queues, groups and positions whenever that set changes, and each
`Snapshot` carries arrays of the same lengths and order, valid for the catalog of the same ``revision``. An array is the raw
little-endian bytes of its items (``i8`` = int64, ``f8`` = float64), so that ``numpy.frombuffer`` reads it without a copy.
An unknown value is -1 in an int64 column (offsets, times, counts) and NaN in a float64 column; the window shows it as unknown,
never as zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker_core.worker.questions import (
    administration,
    alerts,
    delays,
    history,
    in_flight,
    letter_notes,
    lifecycle,
    searches,
    stored_messages,
    transactions,
)
from broker_core.worker.questions.figures import Catalog, Occurred, Snapshot
from broker_core.worker.questions.lifecycle import Fatal, Hello, Ready, Stage
from broker_core.worker.questions.question import Question

PROTOCOL_VERSION = 1
SUBJECTS = (
    administration,
    alerts,
    delays,
    history,
    in_flight,
    letter_notes,
    lifecycle,
    searches,
    stored_messages,
    transactions,
)


@dataclass(frozen=True, slots=True)
class Request:
    """A question, answered by exactly one `Reply` or `Failure` with the same ``request_id``."""

    request_id: int
    body: Question[Any]


@dataclass(frozen=True, slots=True)
class Cancel:
    """The answer is no longer wanted."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question, of the type that the question names."""

    request_id: int
    body: object


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as `broker_core.errors.error_from_wire` takes it."""

    request_id: int
    kind: str
    message: str
    context: dict[str, str | int | float | bool | None] = field(default_factory=dict)


WorkerMessage = Hello | Stage | Ready | Catalog | Snapshot | Occurred | Fatal | Reply | Failure
WindowMessage = Request | Cancel

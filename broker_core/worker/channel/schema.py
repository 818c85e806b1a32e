"""What window and worker say to each other: tagged, versioned messages.

On the channel a message is a msgpack array ``[tag, field, field, …]`` in a length-prefixed frame
(`broker_core.worker.channel.framing`). Fields keep their order for ever; a new field comes last and has a default, so that an
older peer's shorter array still reads and a newer peer's longer one is cut. `PROTOCOL_VERSION` changes only when that is not
enough.

Messages are defined by subject in `broker_core.worker.questions`. This module defines their envelopes, and which message may be
sent where: a message that is in none of the unions below cannot be sent.

Live figures travel as columns: a `Catalog` names topics, queues, groups and positions whenever that set changes, and each
`Snapshot` carries arrays of the same lengths and order, valid for the catalog of the same ``revision``. An array is the raw
little-endian bytes of its items (``i8`` = int64, ``f8`` = float64), so that ``numpy.frombuffer`` reads it without a copy.
An unknown value is -1 in an int64 column (offsets, times, counts) and NaN in a float64 column; it is shown as unknown,
never as zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.administration import (
    AskBroker,
    BrokerAnswer,
    CloseConnection,
    ConnectionPage,
    CreateTopic,
    ListConnections,
    ListMembers,
    MeasureTopics,
    Members,
    ReadStore,
    StorePicture,
    TopicMeasures,
)
from broker_core.worker.questions.alerts import (
    AdoptAlerts,
    AlertPage,
    MarkAlertsTold,
    MuteAlert,
    PutAlertRules,
    ReadAlerts,
    RemoveAlertRule,
    SetAlertWebhook,
    TryAlertWebhook,
)
from broker_core.worker.questions.delays import (
    ActOnDelayed,
    ActOnTimers,
    DelayedActed,
    DelayedMessages,
    ForecastTimers,
    ListDelayed,
    ListTimers,
    PendingTimers,
    TimerForecast,
    TimersActed,
)
from broker_core.worker.questions.figures import Catalog, Occurred, Snapshot
from broker_core.worker.questions.history import (
    EventPage,
    HistoryLines,
    NoteEvent,
    Ownership,
    ReadEvents,
    ReadHistory,
    ReadOwnership,
)
from broker_core.worker.questions.letter_notes import LetterNotePage, NoteQuery
from broker_core.worker.questions.lifecycle import Done, Fatal, Hello, Ready, Shutdown, Stage
from broker_core.worker.questions.searches import (
    ContinueFollow,
    ContinueSearch,
    EndFollow,
    EndSearch,
    Followed,
    FollowStarted,
    SearchHits,
    SearchStarted,
    StartFollow,
    StartSearch,
)
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FieldValues,
    FindOffset,
    FoundOffset,
    Lifeline,
    MessageDetail,
    MessagePage,
    ReadFields,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
    SendMessage,
    SendReceipt,
)
from broker_core.worker.questions.transactions import (
    AbortAtomic,
    AtomicPage,
    CheckTransaction,
    EndTransaction,
    ListAtomic,
    ListTransactions,
    ReadTransactionHistory,
    ResumeTransaction,
    TransactionHistory,
    TransactionPage,
)

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A query or a command, answered by exactly one `Reply` or `Failure` with the same ``request_id``."""

    request_id: int
    body: Query


@dataclass(frozen=True, slots=True)
class Cancel:
    """The answer is no longer wanted."""

    request_id: int


@dataclass(frozen=True, slots=True)
class Reply:
    request_id: int
    body: Answer


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as `broker_core.errors.error_from_wire` takes it."""

    request_id: int
    kind: str
    message: str
    context: dict[str, str | int | float | bool | None] = field(default_factory=dict)


Query = (
    BrowseQueue
    | FindOffset
    | ReadMessage
    | ReadMessageById
    | SendMessage
    | CreateTopic
    | ListMembers
    | ListDelayed
    | ActOnDelayed
    | ForecastTimers
    | ListTimers
    | ActOnTimers
    | Shutdown
    | ListTransactions
    | EndTransaction
    | CheckTransaction
    | ResumeTransaction
    | ReadTransactionHistory
    | ListAtomic
    | AbortAtomic
    | StartSearch
    | ContinueSearch
    | EndSearch
    | StartFollow
    | ContinueFollow
    | EndFollow
    | ReadFields
    | ReadHistory
    | ReadEvents
    | AskBroker
    | MeasureTopics
    | ReadOwnership
    | ListConnections
    | CloseConnection
    | ReadStore
    | NoteEvent
    | ReadLifeline
    | ReadAlerts
    | PutAlertRules
    | RemoveAlertRule
    | MuteAlert
    | SetAlertWebhook
    | TryAlertWebhook
    | AdoptAlerts
    | MarkAlertsTold
    | NoteQuery
)
Answer = (
    MessagePage
    | FoundOffset
    | MessageDetail
    | SendReceipt
    | Members
    | DelayedMessages
    | DelayedActed
    | Done
    | TransactionPage
    | TransactionHistory
    | AtomicPage
    | TimerForecast
    | PendingTimers
    | TimersActed
    | SearchStarted
    | SearchHits
    | FollowStarted
    | Followed
    | FieldValues
    | HistoryLines
    | EventPage
    | BrokerAnswer
    | TopicMeasures
    | Ownership
    | ConnectionPage
    | StorePicture
    | Lifeline
    | AlertPage
    | LetterNotePage
)
WorkerMessage = Hello | Stage | Ready | Catalog | Snapshot | Occurred | Fatal | Reply | Failure
WindowMessage = Request | Cancel

"""`ClusterSource`: the one interface through which pages see a cluster.

The embedded broker is one adapter, an attached real cluster the other; no page knows which it has. This module knows no
Qt, no process and no socket. Callbacks run on the thread that feeds the source (the GUI thread in the console) and must
return quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    # Needed for types only, and slow to import: the frame of the window is on screen before them.
    from broker_core.api import OrbitError
    from broker_core.worker.questions.administration import (
        AskBroker,
        BrokerAnswer,
        CloseConnection,
        ConnectionPage,
        CreateTopic,
        Members,
        StorePicture,
        TopicMeasures,
    )
    from broker_core.worker.questions.alerts import AlertCommand, AlertPage, ReadAlerts
    from broker_core.worker.questions.delays import (
        ActOnDelayed,
        ActOnTimers,
        DelayedActed,
        DelayedMessages,
        ListTimers,
        PendingTimers,
        TimerForecast,
        TimersActed,
    )
    from broker_core.worker.questions.figures import Occurred
    from broker_core.worker.questions.history import (
        EventPage,
        HistoryLines,
        NoteEvent,
        Ownership,
        ReadEvents,
        ReadHistory,
        ReadOwnership,
    )
    from broker_core.worker.questions.letter_notes import LetterNotePage, NoteCommand, ReadLetterNotes
    from broker_core.worker.questions.lifecycle import Done, Ready
    from broker_core.worker.questions.searches import Followed, FollowStarted, SearchHits, SearchStarted, StartFollow
    from broker_core.worker.questions.stored_messages import (
        FieldValues,
        FoundOffset,
        Lifeline,
        MessageDetail,
        MessagePage,
        SendMessage,
        SendReceipt,
    )
    from broker_core.worker.questions.transactions import (
        AtomicPage,
        CheckTransaction,
        EndTransaction,
        ListTransactions,
        ResumeTransaction,
        TransactionHistory,
        TransactionPage,
    )
    from monitoring.state import ClusterState

    TransactionAction = EndTransaction | CheckTransaction | ResumeTransaction

EMBEDDED_NAME = "Embedded"
"""`ClusterSource.name` of an embedded broker; that of an attached cluster is its name servers."""

T_co = TypeVar("T_co", covariant=True)


class Reach(Enum):
    """How much of a cluster answers as it should."""

    ALL = "all"
    PART = "part"
    NOTHING = "nothing"


class SourceStatus(Enum):
    """Where a source stands."""

    STARTING = "starting"
    READY = "ready"
    LOST = "lost"
    STOPPED = "stopped"


class Pending(Protocol[T_co]):
    """An answer that will come. Exactly one of the two callbacks of ``then`` is called, unless it is cancelled first."""

    def then(self, done: Callable[[T_co], None], failed: Callable[[OrbitError], None]) -> None:
        """Set what is called with the answer or the error; at once if it is already there."""

    def cancel(self) -> None:
        """Give up the answer; neither callback is called afterwards."""


class ClusterListener(Protocol):
    """What a source reports by itself."""

    def status_changed(self, status: SourceStatus, reason: OrbitError | None) -> None: ...

    def stage_changed(self, text: str, done: int, total: int) -> None: ...

    def state_changed(self, state: ClusterState) -> None:
        """New figures, about ten times a second. ``state`` is immutable; arrays must not be written."""

    def occurred(self, event: Occurred) -> None: ...


class ClusterSource(Protocol):
    """A cluster to watch and to act on."""

    @property
    def name(self) -> str: ...

    @property
    def kept_under(self) -> str:
        """Under which settings keep what belongs to an attached cluster alone; empty for the embedded broker."""

    @property
    def connect_details(self) -> str:
        """How other processes reach an attached cluster, a line of JSON with its keys for their input alone; else empty."""

    @property
    def status(self) -> SourceStatus: ...

    @property
    def reason(self) -> OrbitError | None:
        """Why the cluster was lost, in the status LOST."""

    @property
    def read_only(self) -> bool:
        """Whether this connection may only look: everything that acts fails with `ReadOnlyConnectionError`."""

    @property
    def ready(self) -> Ready | None:
        """Addresses and names, once known."""

    @property
    def state(self) -> ClusterState | None:
        """The newest figures, once known."""

    def add_listener(self, listener: ClusterListener) -> None: ...

    def remove_listener(self, listener: ClusterListener) -> None: ...

    def browse_queue(self, topic: str, queue_id: int, start_offset: int, count: int) -> Pending[MessagePage]: ...

    def find_offset(self, topic: str, queue_id: int, timestamp_ms: int) -> Pending[FoundOffset]: ...

    def read_message(self, physical_offset: int) -> Pending[MessageDetail]: ...

    def read_message_by_id(self, offset_message_id: str) -> Pending[MessageDetail]: ...

    def send_message(self, message: SendMessage) -> Pending[SendReceipt]: ...

    def create_topic(self, topic: CreateTopic) -> Pending[Done]: ...

    def ask_broker(self, request: AskBroker) -> Pending[BrokerAnswer]:
        """Ask what only the remoting protocol's administration knows; a refusal fails as `RemoteError` with its code."""

    def list_connections(self) -> Pending[ConnectionPage]:
        """Connections of broker and name server with their traffic; only of a broker that Orbit runs itself."""

    def close_connection(self, command: CloseConnection) -> Pending[Done]:
        """End a connection; recorded in the journal of actions."""

    def note_event(self, note: NoteEvent) -> Pending[Done]:
        """Write an alert or a person's note into the history of events."""

    def read_alerts(self, query: ReadAlerts) -> Pending[AlertPage]:
        """Alert rules and what they found; they are judged where the history is kept, with or without a window."""

    def change_alerts(self, command: AlertCommand) -> Pending[Done]:
        """Change a rule, a mute or the web hook; what a person changes becomes an event."""

    def read_letter_notes(self, query: ReadLetterNotes) -> Pending[LetterNotePage]:
        """Notes on dead letters and their groups; they are kept in the history, and fail where none is kept."""

    def change_letter_notes(self, command: NoteCommand) -> Pending[Done]: ...

    def read_store(self) -> Pending[StorePicture]:
        """The store from inside; only of a broker that Orbit runs itself."""

    def list_members(self, group: str) -> Pending[Members]: ...

    def list_delayed(self, level: int, start_offset: int, count: int) -> Pending[DelayedMessages]: ...

    def act_on_delayed(self, action: ActOnDelayed) -> Pending[DelayedActed]: ...

    def list_transactions(self, query: ListTransactions) -> Pending[TransactionPage]: ...

    def act_on_transaction(self, action: TransactionAction) -> Pending[Done]:
        """Commit, roll back, check now or resume; each is recorded in the journal of actions."""

    def list_atomic(self, start: int, count: int) -> Pending[AtomicPage]:
        """Producers with atomic transactions; fails where these are off."""

    def abort_atomic(self, name: str) -> Pending[Done]:
        """Abort an open atomic transaction; recorded in the journal of actions."""

    def read_history(self, query: ReadHistory) -> Pending[HistoryLines]:
        """Series of the recorded history, of any time range."""

    def read_events(self, query: ReadEvents) -> Pending[EventPage]: ...

    def read_ownership(self, query: ReadOwnership) -> Pending[Ownership]:
        """Who owned which queue of a group when, from the recorded history."""

    def measure_topics(self, topics: Sequence[str]) -> Pending[TopicMeasures]:
        """Bytes on disk and oldest message of the queues of up to 100 topics."""

    def transaction_history(self, before: int = -1, count: int = 100, halves_back: int = 20_000) -> Pending[TransactionHistory]:
        """What the store tells of transactions; reads half messages from ``halves_back`` before ``before`` on."""

    def forecast_timers(self) -> Pending[TimerForecast]: ...

    def list_timers(self, query: ListTimers) -> Pending[PendingTimers]: ...

    def act_on_timers(self, action: ActOnTimers) -> Pending[TimersActed]: ...

    def start_search(self, text: str, limit: int = -1, *, body_starts: bool = True) -> Pending[SearchStarted]:
        """Begin a search; `continue_search` brings its hits, and not calling that is a pause."""

    def continue_search(self, search_id: int) -> Pending[SearchHits]:
        """What a moment of search brings; to be called again until it is over."""

    def read_fields(self, places: list[int], fields: list[str], around: str = "") -> Pending[FieldValues]:
        """Fields of up to 1,000 messages by physical offset, and bodies from shortly before a match of ``around`` on."""

    def end_search(self, search_id: int) -> Pending[Done]:
        """Give a search up."""

    def read_lifeline(self, physical_offset: int) -> Pending[Lifeline]:
        """What is known of the life of the message at a place of the commit log."""

    def start_follow(self, query: StartFollow) -> Pending[FollowStarted]:
        """Begin a live tail; `continue_follow` waits for what arrives, and not calling that costs nobody anything."""

    def continue_follow(self, follow_id: int) -> Pending[Followed]:
        """What has arrived; to be called again when the answer is there."""

    def end_follow(self, follow_id: int) -> Pending[Done]: ...

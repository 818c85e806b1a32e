"""The embedded broker as a `ClusterSource`: figures and answers of the worker process, over a transport given from outside.

It starts and stops no process itself; who owns the process calls `worker_starting`, `received` and `worker_ended`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from broker_core.api import (
    Answer,
    CodecError,
    Failure,
    OrbitError,
    Query,
    Reply,
    WorkerClient,
    WorkerError,
    WorkerLostError,
    WorkerMessage,
    acts,
    error_from_wire,
    refusal,
)
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
from broker_core.worker.questions.alerts import AlertCommand, AlertPage, ReadAlerts
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
from broker_core.worker.questions.letter_notes import LetterNotePage, NoteCommand, ReadLetterNotes
from broker_core.worker.questions.lifecycle import Done, Fatal, Ready, Stage
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
from monitoring.collector import Collector
from monitoring.series import History
from monitoring.sources.base import EMBEDDED_NAME, ClusterListener, Pending, SourceStatus
from monitoring.state import ClusterState

_A = TypeVar("_A")


class Transport(Protocol):
    """The way to a worker process."""

    def send(self, data: bytes) -> None:
        """Pass bytes to the worker; without effect when there is none."""

    def abort(self) -> None:
        """End a worker that cannot be talked to."""


class EmbeddedSource:
    """One embedded broker, over the lives of its worker processes. Not thread-safe.

    Args:
        transport: The way to the worker.
        name: How the cluster is called in the window.
        read_only: Whether to refuse what would change something, whatever the worker says.
        connect_details: How an attached cluster is reached; see `ClusterSource`.
        kept_under: Likewise.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        name: str = EMBEDDED_NAME,
        read_only: bool = False,
        connect_details: str = "",
        kept_under: str = "",
    ) -> None:
        self._transport = transport
        self._kept_under = kept_under
        self._connect_details = connect_details
        self._read_only = read_only
        self._name = name
        self._history = History()
        self._collector = Collector(self._history)
        self._client = WorkerClient()
        self._status = SourceStatus.STOPPED
        self._reason: OrbitError | None = None
        self._ready: Ready | None = None
        self._state: ClusterState | None = None
        self._listeners: list[ClusterListener] = []
        self._answers: dict[int, _Answer[Any]] = {}

    # ---- what pages see ----

    @property
    def name(self) -> str:
        return self._name

    @property
    def kept_under(self) -> str:
        return self._kept_under

    @property
    def connect_details(self) -> str:
        return self._connect_details

    @property
    def status(self) -> SourceStatus:
        return self._status

    @property
    def reason(self) -> OrbitError | None:
        """Why the worker was lost, in the status LOST."""
        return self._reason

    @property
    def read_only(self) -> bool:
        return self._read_only or (self._ready is not None and self._ready.read_only)

    @property
    def ready(self) -> Ready | None:
        return self._ready

    @property
    def state(self) -> ClusterState | None:
        return self._state

    @property
    def history(self) -> History:
        """The figures of the last hour; it goes on over a restart of the worker."""
        return self._history

    def add_listener(self, listener: ClusterListener) -> None:
        self._listeners.append(listener)

    def remove_listener(self, listener: ClusterListener) -> None:
        self._listeners.remove(listener)

    def browse_queue(self, topic: str, queue_id: int, start_offset: int, count: int) -> Pending[MessagePage]:
        return self._ask(BrowseQueue(topic, queue_id, start_offset, count), MessagePage)

    def find_offset(self, topic: str, queue_id: int, timestamp_ms: int) -> Pending[FoundOffset]:
        return self._ask(FindOffset(topic, queue_id, timestamp_ms), FoundOffset)

    def read_message(self, physical_offset: int) -> Pending[MessageDetail]:
        return self._ask(ReadMessage(physical_offset), MessageDetail)

    def read_message_by_id(self, offset_message_id: str) -> Pending[MessageDetail]:
        return self._ask(ReadMessageById(offset_message_id), MessageDetail)

    def send_message(self, message: SendMessage) -> Pending[SendReceipt]:
        return self._ask(message, SendReceipt)

    def create_topic(self, topic: CreateTopic) -> Pending[Done]:
        return self._ask(topic, Done)

    def ask_broker(self, request: AskBroker) -> Pending[BrokerAnswer]:
        return self._ask(request, BrokerAnswer)

    def list_connections(self) -> Pending[ConnectionPage]:
        return self._ask(ListConnections(), ConnectionPage)

    def close_connection(self, command: CloseConnection) -> Pending[Done]:
        return self._ask(command, Done)

    def note_event(self, note: NoteEvent) -> Pending[Done]:
        return self._ask(note, Done)

    def read_alerts(self, query: ReadAlerts) -> Pending[AlertPage]:
        return self._ask(query, AlertPage)

    def change_alerts(self, command: AlertCommand) -> Pending[Done]:
        return self._ask(command, Done)

    def read_letter_notes(self, query: ReadLetterNotes) -> Pending[LetterNotePage]:
        return self._ask(query, LetterNotePage)

    def change_letter_notes(self, command: NoteCommand) -> Pending[Done]:
        return self._ask(command, Done)

    def read_store(self) -> Pending[StorePicture]:
        return self._ask(ReadStore(), StorePicture)

    def list_members(self, group: str) -> Pending[Members]:
        return self._ask(ListMembers(group), Members)

    def list_delayed(self, level: int, start_offset: int, count: int) -> Pending[DelayedMessages]:
        return self._ask(ListDelayed(level, start_offset, count), DelayedMessages)

    def act_on_delayed(self, action: ActOnDelayed) -> Pending[DelayedActed]:
        return self._ask(action, DelayedActed)

    def list_transactions(self, query: ListTransactions) -> Pending[TransactionPage]:
        return self._ask(query, TransactionPage)

    def act_on_transaction(self, action: EndTransaction | CheckTransaction | ResumeTransaction) -> Pending[Done]:
        return self._ask(action, Done)

    def list_atomic(self, start: int, count: int) -> Pending[AtomicPage]:
        return self._ask(ListAtomic(start, count), AtomicPage)

    def abort_atomic(self, name: str) -> Pending[Done]:
        return self._ask(AbortAtomic(name), Done)

    def read_history(self, query: ReadHistory) -> Pending[HistoryLines]:
        return self._ask(query, HistoryLines)

    def read_events(self, query: ReadEvents) -> Pending[EventPage]:
        return self._ask(query, EventPage)

    def read_ownership(self, query: ReadOwnership) -> Pending[Ownership]:
        return self._ask(query, Ownership)

    def measure_topics(self, topics: Sequence[str]) -> Pending[TopicMeasures]:
        return self._ask(MeasureTopics(list(topics)), TopicMeasures)

    def transaction_history(self, before: int = -1, count: int = 100, halves_back: int = 20_000) -> Pending[TransactionHistory]:
        return self._ask(ReadTransactionHistory(before, count, halves_back), TransactionHistory)

    def forecast_timers(self) -> Pending[TimerForecast]:
        return self._ask(ForecastTimers(), TimerForecast)

    def list_timers(self, query: ListTimers) -> Pending[PendingTimers]:
        return self._ask(query, PendingTimers)

    def act_on_timers(self, action: ActOnTimers) -> Pending[TimersActed]:
        return self._ask(action, TimersActed)

    def start_search(self, text: str, limit: int = -1, *, body_starts: bool = True) -> Pending[SearchStarted]:
        return self._ask(StartSearch(text, limit, body_starts), SearchStarted)

    def read_fields(self, places: list[int], fields: list[str], around: str = "") -> Pending[FieldValues]:
        return self._ask(ReadFields(places, fields, around), FieldValues)

    def continue_search(self, search_id: int) -> Pending[SearchHits]:
        return self._ask(ContinueSearch(search_id), SearchHits)

    def end_search(self, search_id: int) -> Pending[Done]:
        return self._ask(EndSearch(search_id), Done)

    def read_lifeline(self, physical_offset: int) -> Pending[Lifeline]:
        return self._ask(ReadLifeline(physical_offset), Lifeline)

    def start_follow(self, query: StartFollow) -> Pending[FollowStarted]:
        return self._ask(query, FollowStarted)

    def continue_follow(self, follow_id: int) -> Pending[Followed]:
        return self._ask(ContinueFollow(follow_id), Followed)

    def end_follow(self, follow_id: int) -> Pending[Done]:
        return self._ask(EndFollow(follow_id), Done)

    # ---- what the owner of the process tells ----

    def worker_starting(self) -> None:
        """A worker process is being started."""
        self._client = WorkerClient()
        self._collector.restarted()
        self._ready = None
        self._reason = None
        self._set_status(SourceStatus.STARTING)

    def received(self, data: bytes) -> None:
        """Take in bytes of the worker. One that cannot be understood is given up, with the reason as its fate."""
        if self._reason is not None:
            return
        try:
            for message in self._client.receive(data):
                self._take(message)
        except (CodecError, WorkerError) as error:
            self._reason = error
            self._transport.abort()

    def worker_ended(self, reason: OrbitError | None) -> None:
        """The worker process is gone.

        Args:
            reason: None when it was asked to stop; what the worker itself told before it ended counts more.
        """
        reason = self._reason or reason
        error = reason or WorkerLostError("the broker has been stopped")
        self._reason = reason
        answers, self._answers = self._answers, {}
        self._set_status(SourceStatus.STOPPED if reason is None else SourceStatus.LOST)
        for answer in answers.values():
            answer.fail(error)

    # ---- inside ----

    def _ask(self, query: Query, expected: type[_A]) -> _Answer[_A]:
        answer = _Answer(expected, cancelled=self._cancel)
        if self._status is not SourceStatus.READY:
            answer.fail(WorkerError(f"the broker is not running ({self._status.value}); start it and try again"))
            return answer
        if self.read_only and acts(query):
            answer.fail(refusal(query))
            return answer
        try:
            answer.request_id, data = self._client.request(query)
        except (CodecError, WorkerError) as error:
            answer.fail(error)
            return answer
        self._answers[answer.request_id] = answer
        self._transport.send(data)
        return answer

    def _cancel(self, request_id: int) -> None:
        if self._answers.pop(request_id, None) is not None:
            self._transport.send(self._client.cancel(request_id))

    def _take(self, message: WorkerMessage) -> None:
        match message:
            case Snapshot():
                self._take_snapshot(message)
            case Catalog():
                self._collector.catalog_changed(message)
            case Reply() | Failure():
                self._take_answer(message)
            case Stage(text, done, total):
                for listener in tuple(self._listeners):
                    listener.stage_changed(text, done, total)
            case Ready():
                self._ready = message
                self._set_status(SourceStatus.READY)
            case Occurred():
                for listener in tuple(self._listeners):
                    listener.occurred(message)
            case Fatal(kind, text, context):
                self._reason = error_from_wire(kind, text, context)

    def _take_answer(self, message: Reply | Failure) -> None:
        answer = self._answers.pop(message.request_id, None)
        if answer is None:
            return  # given up by what was done with another answer that came with it
        if isinstance(message, Reply):
            answer.succeed(message.body)
        else:
            answer.fail(error_from_wire(message.kind, message.message, message.context))

    def _take_snapshot(self, snapshot: Snapshot) -> None:
        state = self._collector.snapshot_taken(snapshot)
        if state is not None:
            self._state = state
            for listener in tuple(self._listeners):
                listener.state_changed(state)

    def _set_status(self, status: SourceStatus) -> None:
        self._status = status
        for listener in tuple(self._listeners):
            listener.status_changed(status, self._reason)


class _Answer(Generic[_A]):
    """A `Pending` that is resolved from outside. What was resolved before `then` is delivered by it.

    Once it is over it knows neither the answer nor who asked: those mostly know it, and an answer in such a ring, some
    thousand messages, would stay until all garbage is looked for, a minute and more.
    """

    def __init__(self, expected: type[_A], *, cancelled: Callable[[int], None]) -> None:
        self.request_id = 0
        self._expected = expected
        self._cancelled = cancelled
        self._value: _A | None = None
        self._error: OrbitError | None = None
        self._callbacks: tuple[Callable[[_A], None], Callable[[OrbitError], None]] | None = None
        self._over = False

    def then(self, done: Callable[[_A], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        self._deliver()

    def cancel(self) -> None:
        if not self._over:
            self._end()
            self._cancelled(self.request_id)

    def succeed(self, value: Answer) -> None:
        if not isinstance(value, self._expected):
            self.fail(CodecError(f"the worker answered with {type(value).__name__}, expected {self._expected.__name__}"))
            return
        self._value = value
        self._deliver()

    def fail(self, error: OrbitError) -> None:
        self._error = error
        self._deliver()

    def _deliver(self) -> None:
        if self._over or self._callbacks is None or (self._value is None and self._error is None):
            return
        (done, failed), value, error = self._callbacks, self._value, self._error
        self._end()
        if error is not None:
            failed(error)
        elif value is not None:
            done(value)

    def _end(self) -> None:
        self._over = True
        self._callbacks = self._value = self._error = None

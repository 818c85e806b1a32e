"""A worker process as a `ClusterSource`: its figures and answers, over a transport passed in.

The worker runs a broker, reads a broker's files, or watches an attached cluster. The source starts and stops no process: the
owner of the process calls `worker_starting`, `received` and `worker_ended`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from broker_core.api import (
    CodecError,
    Failure,
    OrbitError,
    Reply,
    WorkerClient,
    WorkerError,
    WorkerLostError,
    WorkerMessage,
    error_from_wire,
)
from broker_core.worker.questions.figures import Catalog, Occurred, Snapshot
from broker_core.worker.questions.lifecycle import Fatal, Ready, Stage
from broker_core.worker.questions.question import Question, read_only_refusal
from monitoring.collector import Collector
from monitoring.series import History
from monitoring.sources.base import EMBEDDED_NAME, ClusterListener, Pending, SourceStatus
from monitoring.state import ClusterState

_A = TypeVar("_A")


class Transport(Protocol):
    """The connection to a worker process."""

    def send(self, data: bytes) -> None:
        """Send bytes to the worker; no effect without one."""

    def abort(self) -> None:
        """End a worker that sent invalid data."""


class WorkerSource:
    """One embedded broker or attached cluster, across restarts of its worker process. Not thread-safe.

    With ``read_only`` commands are refused even if the worker accepts them; for the other arguments see `ClusterSource`.
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
        self.kept_under = kept_under
        self._connect_details = connect_details
        self._read_only = read_only
        self.name = name
        self.history = History()
        """The figures of the last hour; kept across restarts of the worker."""
        self._collector = Collector(self.history)
        self._client = WorkerClient()
        self._status = SourceStatus.STOPPED
        self._reason: OrbitError | None = None
        self._ready: Ready | None = None
        self._state: ClusterState | None = None
        self._listeners: list[ClusterListener] = []
        self._answers: dict[int, _Answer[Any]] = {}

    # ---- for pages ----

    @property
    def connect_details(self) -> str:
        return self._connect_details or ("" if self._ready is None else self._ready.own_access)

    @property
    def status(self) -> SourceStatus:
        return self._status

    @property
    def reason(self) -> OrbitError | None:
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

    def add_listener(self, listener: ClusterListener) -> None:
        self._listeners.append(listener)

    def remove_listener(self, listener: ClusterListener) -> None:
        self._listeners.remove(listener)

    def ask(self, question: Question[_A]) -> Pending[_A]:
        answer = _Answer[_A](question.answer_type, cancelled=self._cancel)
        if self._status is not SourceStatus.READY:
            answer.fail(WorkerError(f"the broker is not running ({self._status.value}); start it and try again"))
            return answer
        if self.read_only and question.acts:
            answer.fail(read_only_refusal(question))
            return answer
        try:
            answer.request_id, data = self._client.request(question)
        except (CodecError, WorkerError) as error:
            answer.fail(error)
            return answer
        self._answers[answer.request_id] = answer
        self._transport.send(data)
        return answer

    # ---- calls by the owner of the process ----

    def worker_starting(self) -> None:
        """Reset for a worker process that is being started."""
        self._client = WorkerClient()
        self._collector.restarted()
        self._ready = None
        self._reason = None
        self._set_status(SourceStatus.STARTING)

    def received(self, data: bytes) -> None:
        """Process bytes from the worker. Invalid data aborts the worker and becomes the reason of its end."""
        if self._reason is not None:
            return
        try:
            for message in self._client.receive(data):
                self._take(message)
        except (CodecError, WorkerError) as error:
            self._reason = error
            self._transport.abort()

    def worker_ended(self, reason: OrbitError | None) -> None:
        """Handle the end of the worker process: None on request; a reason that the worker itself sent takes precedence."""
        reason = self._reason or reason
        error = reason or WorkerLostError("the broker has been stopped")
        self._reason = reason
        answers, self._answers = self._answers, {}
        self._set_status(SourceStatus.STOPPED if reason is None else SourceStatus.LOST)
        for answer in answers.values():
            answer.fail(error)

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
            return  # cancelled by the callback of another answer in the same data
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
    """A `Pending` resolved by its owner. A result that arrives before `then` is delivered by `then`.

    Afterwards it drops the value and the callbacks: callbacks mostly refer to the answer, and such a cycle of some thousand
    messages would live until the next full garbage collection, a minute or more.
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

    def succeed(self, value: object) -> None:
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

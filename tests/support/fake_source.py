"""A `ClusterSource` without a broker, for tests of the window: a small shop (`tests.support.fake_shop`) that answers.

Nothing here moves by itself: a test pushes states and decides when an answer comes. What belongs to the shop is in modules by
subject; tests import all of it from here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from broker_core.api import OrbitError, WorkerError
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
from broker_core.worker.questions.alerts import AlertCommand, AlertPage, AlertQuery, MarkAlertsTold, ReadAlerts
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
from broker_core.worker.questions.letter_notes import LetterNotePage, NoteCommand, NoteQuery, ReadLetterNotes
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
from monitoring.history.notes import carried_out
from monitoring.sources.base import ClusterListener, SourceStatus
from monitoring.state import ClusterState
from tests.support.clock import ManualClock
from tests.support.fake_alerts import FakeHook, fake_alerts
from tests.support.fake_broker import fake_broker_answer
from tests.support.fake_delays import DELAY_PENDING, fake_delayed, fake_delays, fake_forecast, fake_timers
from tests.support.fake_figures import fake_measures, fake_members, fake_state
from tests.support.fake_history import fake_history, fake_history_lines, fake_ownership
from tests.support.fake_letter_notes import fake_letter_notes
from tests.support.fake_messages import fake_body, fake_detail, fake_lifeline, fake_page
from tests.support.fake_operations import fake_broker_answers, fake_connections, fake_events, fake_store
from tests.support.fake_shop import PAYMENT_SHARES, READY, TAKEN_MS, TOPICS
from tests.support.fake_transactions import fake_atomic, fake_ended_transactions, fake_transaction_history, fake_transactions

__all__ = [
    "DELAY_PENDING",
    "PAYMENT_SHARES",
    "READY",
    "TAKEN_MS",
    "TOPICS",
    "FakePending",
    "FakeSource",
    "fake_atomic",
    "fake_delayed",
    "fake_delays",
    "fake_detail",
    "fake_ended_transactions",
    "fake_history",
    "fake_lifeline",
    "fake_members",
    "fake_page",
    "fake_state",
    "fake_transaction_history",
    "fake_transactions",
]

T = TypeVar("T")


class FakePending(Generic[T]):
    """An answer that is there, an error, or one that a test holds back."""

    def __init__(self, value: T | None = None, error: OrbitError | None = None, *, held: bool = False) -> None:
        self._value = value
        self._error = error
        self._held = held
        self._callbacks: tuple[Callable[[T], None], Callable[[OrbitError], None]] | None = None
        self.was_cancelled = False

    def then(self, done: Callable[[T], None], failed: Callable[[OrbitError], None]) -> None:
        self._callbacks = (done, failed)
        if not self._held:
            self.release()

    def cancel(self) -> None:
        self.was_cancelled = True
        self._callbacks = None

    @property
    def answers_with(self) -> type:
        """Type of the answer that is held back."""
        return type(self._value)

    def release(self, value: T | None = None, error: OrbitError | None = None) -> None:
        """Let the answer come, or another one."""
        self._held = False
        self._value = self._value if value is None else value
        self._error = error or self._error
        if self._callbacks is None:
            return
        (done, failed), self._callbacks = self._callbacks, None
        if self._error is not None:
            failed(self._error)
        else:
            done(self._value)  # type: ignore[arg-type]  # a value or an error is always given


class FakeSource:
    """See the module. ``asked`` holds what was asked, newest last, as (method, arguments)."""

    name = "Embedded"
    kept_under = ""
    connect_details = ""

    def __init__(self, state: ClusterState | None = None, *, status: SourceStatus = SourceStatus.READY) -> None:
        self.status = status
        self.ready: Ready | None = READY if status is SourceStatus.READY else None
        self.state: ClusterState | None = state if state is not None else fake_state() if self.ready else None
        self.reason: OrbitError | None = None
        self.listeners: list[ClusterListener] = []
        self.asked: list[tuple[str, tuple[object, ...]]] = []
        self.hold = False
        self.read_only = False
        self.held: list[FakePending[Any]] = []
        self.fail_with: OrbitError | None = None
        self.broker_answers: dict[int, BrokerAnswer] = fake_broker_answers()
        """By request code."""
        self.follow: FakePending[Followed] | None = None
        self._clock = ManualClock(TAKEN_MS)
        self.hook = FakeHook()
        self.alerts = fake_alerts(self._clock, self.hook)
        """A real keeper of alerts, in memory."""
        weakref.finalize(self, self.alerts.close)
        self.asked_alerts: list[AlertQuery] = []
        """Questions and commands about alerts, newest last; the window asks all the time, so they are not in ``asked``."""
        self.hold_alerts = False
        self.fail_alerts_with: OrbitError | None = None
        self.letter_notes = fake_letter_notes()
        """Real tables of notes, in memory."""
        weakref.finalize(self, self.letter_notes.close)
        self.asked_notes: list[NoteQuery] = []
        """Questions and commands about notes, newest last."""
        self.hold_notes = False
        self.held_notes: list[FakePending[Any]] = []
        self.fail_notes_with: OrbitError | None = None
        if self.state is not None:
            self._judge(self.state)
            # What fires from the start was told by a window before.
            page = self.alerts.answer(ReadAlerts())
            assert isinstance(page, AlertPage)
            self.alerts.answer(MarkAlertsTold(len(page.change_id)))

    # ---- what a test does ----

    def push(self, state: ClusterState | None = None) -> None:
        """Report figures."""
        self.state = state if state is not None else self.state or fake_state()
        self._judge(self.state)
        for listener in tuple(self.listeners):
            listener.state_changed(self.state)

    def push_later(self, milliseconds: int = 1_000, **changes: object) -> None:
        """Report the figures again, taken later, with some replaced."""
        state = self.state or fake_state()
        self.push(replace(state, taken_ms=state.taken_ms + milliseconds, **changes))  # type: ignore[arg-type]

    def set_status(self, status: SourceStatus, reason: OrbitError | None = None) -> None:
        """Report another status."""
        self.status, self.reason = status, reason
        self.ready = READY if status is SourceStatus.READY else None
        for listener in tuple(self.listeners):
            listener.status_changed(status, reason)

    def report_stage(self, text: str, done: int = 0, total: int = 0) -> None:
        """Report a step of the start."""
        for listener in tuple(self.listeners):
            listener.stage_changed(text, done, total)

    def report(self, event: Occurred) -> None:
        """Report an event."""
        for listener in tuple(self.listeners):
            listener.occurred(event)

    def _judge(self, state: ClusterState) -> None:
        self._clock.now_ms = state.taken_ms
        self.alerts.look(state)

    # ---- ClusterSource ----

    def add_listener(self, listener: ClusterListener) -> None:
        self.listeners.append(listener)

    def remove_listener(self, listener: ClusterListener) -> None:
        self.listeners.remove(listener)

    def browse_queue(self, topic: str, queue_id: int, start_offset: int, count: int) -> FakePending[MessagePage]:
        return self._answer(
            "browse_queue", (topic, queue_id, start_offset, count), fake_page(self.state, topic, queue_id, start_offset, count)
        )

    def find_offset(self, topic: str, queue_id: int, timestamp_ms: int) -> FakePending[FoundOffset]:
        return self._answer("find_offset", (topic, queue_id, timestamp_ms), FoundOffset(100))

    def read_message(self, physical_offset: int) -> FakePending[MessageDetail]:
        return self._answer("read_message", (physical_offset,), fake_detail(physical_offset))

    def read_message_by_id(self, offset_message_id: str) -> FakePending[MessageDetail]:
        return self._answer("read_message_by_id", (offset_message_id,), fake_detail(int(offset_message_id[16:], 16)))

    def send_message(self, message: SendMessage) -> FakePending[SendReceipt]:
        receipt = SendReceipt("7F00000100002A9F0000000000000400", max(0, message.queue_id), 4_242, TAKEN_MS)
        return self._answer("send_message", (message,), receipt)

    def create_topic(self, topic: CreateTopic) -> FakePending[Done]:
        return self._answer("create_topic", (topic,), Done())

    def ask_broker(self, request: AskBroker) -> FakePending[BrokerAnswer]:
        return self._answer("ask_broker", (request,), self.broker_answers.get(request.code) or fake_broker_answer(request))

    def measure_topics(self, topics: Sequence[str]) -> FakePending[TopicMeasures]:
        return self._answer("measure_topics", (tuple(topics),), fake_measures(topics))

    def read_ownership(self, query: ReadOwnership) -> FakePending[Ownership]:
        return self._answer("read_ownership", (query,), fake_ownership(query))

    def list_connections(self) -> FakePending[ConnectionPage]:
        return self._answer("list_connections", (), fake_connections())

    def close_connection(self, command: CloseConnection) -> FakePending[Done]:
        return self._answer("close_connection", (command,), Done())

    def note_event(self, note: NoteEvent) -> FakePending[Done]:
        return self._answer("note_event", (note,), Done())

    def read_alerts(self, query: ReadAlerts) -> FakePending[AlertPage]:
        return self._ask_alerts(query)

    def change_alerts(self, command: AlertCommand) -> FakePending[Done]:
        return self._ask_alerts(command)

    def _ask_alerts(self, query: AlertQuery) -> FakePending[Any]:
        self.asked_alerts.append(query)
        if self.status is not SourceStatus.READY or self.fail_alerts_with is not None:
            return FakePending(error=self.fail_alerts_with or WorkerError("the broker is not running"))
        try:
            return FakePending(self.alerts.answer(query), held=self.hold_alerts)
        except OrbitError as error:
            return FakePending(error=error)

    def read_letter_notes(self, query: ReadLetterNotes) -> FakePending[LetterNotePage]:
        return self._ask_notes(query)

    def change_letter_notes(self, command: NoteCommand) -> FakePending[Done]:
        return self._ask_notes(command)

    def _ask_notes(self, query: NoteQuery) -> FakePending[Any]:
        self.asked_notes.append(query)
        if self.fail_notes_with is not None:
            return FakePending(error=self.fail_notes_with)
        answer: FakePending[Any] = FakePending(carried_out(self.letter_notes, query), held=self.hold_notes)
        if self.hold_notes:
            self.held_notes.append(answer)
        return answer

    def read_store(self) -> FakePending[StorePicture]:
        return self._answer("read_store", (), fake_store())

    def list_members(self, group: str) -> FakePending[Members]:
        return self._answer("list_members", (group,), fake_members(group))

    def list_delayed(self, level: int, start_offset: int, count: int) -> FakePending[DelayedMessages]:
        return self._answer("list_delayed", (level, start_offset, count), fake_delayed(level, start_offset, count))

    def act_on_delayed(self, action: ActOnDelayed) -> FakePending[DelayedActed]:
        return self._answer("act_on_delayed", (action,), DelayedActed(len(action.queue_offset), []))

    def list_transactions(self, query: ListTransactions) -> FakePending[TransactionPage]:
        page = fake_ended_transactions() if query.ended else fake_transactions()
        return self._answer("list_transactions", (query,), page)

    def act_on_transaction(self, action: EndTransaction | CheckTransaction | ResumeTransaction) -> FakePending[Done]:
        return self._answer("act_on_transaction", (action,), Done())

    def list_atomic(self, start: int, count: int) -> FakePending[AtomicPage]:
        return self._answer("list_atomic", (start, count), fake_atomic())

    def abort_atomic(self, name: str) -> FakePending[Done]:
        return self._answer("abort_atomic", (name,), Done())

    def read_history(self, query: ReadHistory) -> FakePending[HistoryLines]:
        return self._answer("read_history", (query,), fake_history_lines(query))

    def read_events(self, query: ReadEvents) -> FakePending[EventPage]:
        return self._answer("read_events", (query,), fake_events(query))

    def transaction_history(
        self, before: int = -1, count: int = 100, halves_back: int = 20_000
    ) -> FakePending[TransactionHistory]:
        return self._answer("transaction_history", (before, count, halves_back), fake_transaction_history())

    def forecast_timers(self) -> FakePending[TimerForecast]:
        return self._answer("forecast_timers", (), fake_forecast())

    def list_timers(self, query: ListTimers) -> FakePending[PendingTimers]:
        return self._answer("list_timers", (query,), fake_timers(query.count))

    def act_on_timers(self, action: ActOnTimers) -> FakePending[TimersActed]:
        return self._answer("act_on_timers", (action,), TimersActed(len(action.slot_ms), []))

    def read_fields(self, places: list[int], fields: list[str], around: str = "") -> FakePending[FieldValues]:
        texts = [[f"{field}@{place}" for place in places] for field in fields]
        starts = [fake_body(place // 256)[:200] for place in places]
        return self._answer("read_fields", (places, fields, around), FieldValues(texts, starts))

    def start_search(self, text: str, limit: int = -1, *, body_starts: bool = True) -> FakePending[SearchStarted]:
        return self._answer("start_search", (text, limit, body_starts), SearchStarted(1, ["scan of 1 queue, 0 messages"], 0))

    def continue_search(self, search_id: int) -> FakePending[SearchHits]:
        none = SearchHits(search_id, [], [], [], [], [], [], [], [], [], [], [], 0, 0, 0, is_over=True)
        return self._answer("continue_search", (search_id,), none)

    def end_search(self, search_id: int) -> FakePending[Done]:
        return self._answer("end_search", (search_id,), Done())

    def read_lifeline(self, physical_offset: int) -> FakePending[Lifeline]:
        return self._answer("read_lifeline", (physical_offset,), fake_lifeline())

    def start_follow(self, query: StartFollow) -> FakePending[FollowStarted]:
        return self._answer("start_follow", (query,), FollowStarted(1, 0))

    def continue_follow(self, follow_id: int) -> FakePending[Followed]:
        """Always held back, as nothing arrives by itself: a test gives it to `feed_follow`."""
        self.asked.append(("continue_follow", (follow_id,)))
        self.follow = FakePending(held=True)
        return self.follow

    def feed_follow(self, followed: Followed) -> None:
        """Answer the open question of a live tail."""
        assert self.follow is not None, "nothing is followed"
        pending, self.follow = self.follow, None
        pending.release(followed)

    def end_follow(self, follow_id: int) -> FakePending[Done]:
        return self._answer("end_follow", (follow_id,), Done())

    def _answer(self, method: str, arguments: tuple[object, ...], value: T) -> FakePending[T]:
        self.asked.append((method, arguments))
        if self.status is not SourceStatus.READY:
            return FakePending(error=WorkerError("the broker is not running; start it and try again"))
        pending: FakePending[T] = FakePending(value, self.fail_with, held=self.hold)
        if self.hold:
            self.held.append(pending)
        return pending

"""A `ClusterSource` without a broker, for tests of the window: a small shop (`tests.support.fake_shop`) that answers.

Nothing here moves by itself: a test pushes states and decides when an answer comes. What belongs to the shop is in modules by
subject; tests import all of it from here.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from broker_core.api import OrbitError, RequestCode, WorkerError
from broker_core.worker.questions.administration import (
    AskBroker,
    BrokerAnswer,
    CloseConnection,
    CreateTopic,
    ListConnections,
    ListMembers,
    MeasureTopics,
    ReadStore,
)
from broker_core.worker.questions.alerts import AlertPage, AlertQuery, MarkAlertsTold, ReadAlerts
from broker_core.worker.questions.delays import (
    ActOnDelayed,
    ActOnTimers,
    DelayedActed,
    ForecastTimers,
    ListDelayed,
    ListTimers,
    TimersActed,
)
from broker_core.worker.questions.figures import Occurred
from broker_core.worker.questions.history import (
    NoteEvent,
    ReadEvents,
    ReadHistory,
    ReadOwnership,
)
from broker_core.worker.questions.in_flight import ListInFlight
from broker_core.worker.questions.letter_notes import NoteQuery
from broker_core.worker.questions.lifecycle import Done, Ready
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.searches import (
    ContinueFollow,
    ContinueSearch,
    EndFollow,
    EndSearch,
    FindBound,
    Followed,
    FollowStarted,
    FoundBound,
    SearchHits,
    SearchStarted,
    StartFollow,
    StartSearch,
)
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    BrowseTopic,
    FieldValues,
    FindOffset,
    FoundOffset,
    MessageBody,
    ReadBody,
    ReadFields,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
    SendMessage,
    SendReceipt,
)
from broker_core.worker.questions.transactions import (
    AbortAtomic,
    CheckTransaction,
    EndTransaction,
    ListAtomic,
    ListTransactions,
    ReadTransactionHistory,
    ResumeTransaction,
)
from monitoring.history.notes import carried_out
from monitoring.sources.base import ClusterListener, SourceStatus
from monitoring.state import ClusterState
from tests.support.clock import ManualClock
from tests.support.fake_alerts import FakeHook, fake_alerts
from tests.support.fake_broker import FOUND_OFFSET, fake_broker_answer
from tests.support.fake_delays import DELAY_PENDING, fake_delayed, fake_delays, fake_forecast, fake_timers
from tests.support.fake_figures import fake_measures, fake_members, fake_state
from tests.support.fake_history import fake_history, fake_history_lines, fake_ownership
from tests.support.fake_letter_notes import fake_letter_notes
from tests.support.fake_messages import fake_body, fake_detail, fake_lifeline, fake_page, fake_topic_page
from tests.support.fake_operations import fake_broker_answers, fake_connections, fake_events, fake_in_flight, fake_store
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
Q = TypeVar("Q", bound=Question[Any])
Answers = dict[type[Question[Any]], Callable[[Any], object]]


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
    """See the module.

    Attributes:
        asked: The questions that were asked, newest last, but for those about alerts and notes.
        answers: What each kind of question is answered with: a function of the question that returns the answer or an error.
    """

    name = "Embedded"
    kept_under = ""
    connect_details = ""

    def __init__(self, state: ClusterState | None = None, *, status: SourceStatus = SourceStatus.READY) -> None:
        self.status = status
        self.ready: Ready | None = READY if status is SourceStatus.READY else None
        self.state: ClusterState | None = state if state is not None else fake_state() if self.ready else None
        self.reason: OrbitError | None = None
        self.listeners: list[ClusterListener] = []
        self.asked: list[Question[Any]] = []
        self.answers = self.made_answers()
        self.hold = False
        self.read_only = False
        self.held: list[FakePending[Any]] = []
        self.fail_with: OrbitError | None = None
        self.broker_answers: dict[int, BrokerAnswer] = fake_broker_answers()
        """By request code."""
        self.set_offsets: dict[tuple[str, str, str], str] = {}
        """Group, topic, queue → the offset that was set last."""
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
        self.asked_notes: list[NoteQuery] = []
        """Questions and commands about notes, newest last; they are not in ``asked``."""
        self.hold_notes = False
        self.held_notes: list[FakePending[Any]] = []
        self.fail_notes_with: OrbitError | None = None
        if self.state is not None:
            self._judge(self.state)
            # What fires from the start was told by a window before.
            page = self.alerts.answer(ReadAlerts())
            assert isinstance(page, AlertPage)
            self.alerts.answer(MarkAlertsTold(len(page.change_id)))

    @cached_property
    def letter_notes(self) -> sqlite3.Connection:
        """Real tables of notes, in memory."""
        made = fake_letter_notes()
        weakref.finalize(self, made.close)
        return made

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

    def ask(self, question: Question[T]) -> FakePending[T]:
        if isinstance(question, AlertQuery):
            return self._ask_alerts(question)
        if isinstance(question, NoteQuery):
            return self._ask_notes(question)
        self.asked.append(question)
        if isinstance(question, ContinueFollow):
            # Always held back, as nothing arrives by itself: a test gives it to `feed_follow`.
            self.follow = FakePending(held=True)
            return self.follow  # type: ignore[return-value]  # what a follow is answered with
        if self.status is not SourceStatus.READY:
            return FakePending(error=WorkerError("the broker is not running; start it and try again"))
        return self._pending(self.answers[type(question)](question))

    def _pending(self, answer: Any) -> FakePending[Any]:
        error = self.fail_with
        if isinstance(answer, OrbitError):
            answer, error = None, answer
        pending = FakePending(answer, error, held=self.hold)
        if self.hold:
            self.held.append(pending)
        return pending

    def _ask_alerts(self, query: AlertQuery) -> FakePending[Any]:
        self.asked_alerts.append(query)
        if self.status is not SourceStatus.READY or self.fail_alerts_with is not None:
            return FakePending(error=self.fail_alerts_with or WorkerError("the broker is not running"))
        try:
            return FakePending(self.alerts.answer(query), held=self.hold_alerts)
        except OrbitError as error:
            return FakePending(error=error)

    def _ask_notes(self, query: NoteQuery) -> FakePending[Any]:
        self.asked_notes.append(query)
        if self.fail_notes_with is not None:
            return FakePending(error=self.fail_notes_with)
        answer: FakePending[Any] = FakePending(carried_out(self.letter_notes, query), held=self.hold_notes)
        if self.hold_notes:
            self.held_notes.append(answer)
        return answer

    def asked_for(self, *kinds: type[Q]) -> list[Q]:
        """The questions of some kinds that were asked, newest last."""
        return [question for question in self.asked if isinstance(question, kinds)]

    @property
    def sent(self) -> list[SendMessage]:
        """The messages that were sent, newest last."""
        return self.asked_for(SendMessage)

    def feed_follow(self, followed: Followed) -> None:
        """Answer the open question of a live tail."""
        assert self.follow is not None, "nothing is followed"
        pending, self.follow = self.follow, None
        pending.release(followed)

    # ---- the answers ----

    def _broker_answer(self, one: AskBroker) -> BrokerAnswer:
        """What the broker says; it keeps the offsets that are set in it."""
        fields = one.fields
        if one.code == RequestCode.UPDATE_CONSUMER_OFFSET:
            self.set_offsets[fields["consumerGroup"], fields["topic"], fields["queueId"]] = fields["commitOffset"]
        if one.code == RequestCode.QUERY_CONSUMER_OFFSET:
            return BrokerAnswer({"offset": self.set_offsets[fields["consumerGroup"], fields["topic"], fields["queueId"]]})
        return self.broker_answers.get(one.code) or fake_broker_answer(one)

    def made_answers(self) -> Answers:
        """What each kind of question is answered with from the start."""
        return {
            BrowseTopic: lambda one: fake_topic_page(self.state, one),
            BrowseQueue: lambda one: fake_page(self.state, one.topic, one.queue_id, one.start_offset, one.count),
            FindOffset: lambda _one: FoundOffset(FOUND_OFFSET),
            ReadMessage: lambda one: fake_detail(one.physical_offset),
            ReadMessageById: lambda one: fake_detail(int(one.offset_message_id[16:], 16)),
            ReadBody: lambda one: MessageBody(fake_detail(one.physical_offset).body),
            ReadFields: _fields,
            ReadLifeline: lambda _one: fake_lifeline(),
            SendMessage: lambda one: SendReceipt("7F00000100002A9F0000000000000400", max(0, one.queue_id), 4_242, TAKEN_MS),
            CreateTopic: _done,
            AskBroker: self._broker_answer,
            MeasureTopics: lambda one: fake_measures(one.topics),
            ListConnections: lambda _one: fake_connections(),
            CloseConnection: _done,
            ReadStore: lambda _one: fake_store(),
            ListInFlight: lambda one: fake_in_flight(one.group),
            ListMembers: lambda one: fake_members(one.group),
            NoteEvent: _done,
            ReadHistory: fake_history_lines,
            ReadEvents: fake_events,
            ReadOwnership: fake_ownership,
            ListDelayed: lambda one: fake_delayed(one.level, one.start_offset, one.count),
            ActOnDelayed: lambda one: DelayedActed(len(one.queue_offset), []),
            ForecastTimers: lambda _one: fake_forecast(),
            ListTimers: lambda one: fake_timers(one.count),
            ActOnTimers: lambda one: TimersActed(len(one.slot_ms), []),
            ListTransactions: lambda one: fake_ended_transactions() if one.ended else fake_transactions(),
            ReadTransactionHistory: lambda _one: fake_transaction_history(),
            EndTransaction: _done,
            CheckTransaction: _done,
            ResumeTransaction: _done,
            ListAtomic: lambda _one: fake_atomic(),
            AbortAtomic: _done,
            FindBound: lambda one: FoundBound(TAKEN_MS - 60_000, one.count),
            StartSearch: lambda _one: SearchStarted(1, ["scan of 1 queue, 0 messages"], 0),
            ContinueSearch: lambda one: SearchHits(one.search_id, [], [], [], [], [], [], [], [], [], [], [], 0, 0, 0, True),
            EndSearch: _done,
            StartFollow: lambda _one: FollowStarted(1, 0),
            EndFollow: _done,
        }


def _done(_question: Question[Done]) -> Done:
    return Done()


def _fields(question: ReadFields) -> FieldValues:
    texts = [[f"{field}@{place}" for place in question.places] for field in question.fields]
    return FieldValues(texts, [fake_body(place // 256)[:200] for place in question.places])

"""A `ClusterSource` without a broker, for tests of the window: a small shop with figures that agree with each other.

Lag 18,402 = 412 + 16,870 + 903 + 217; put rates 612 + 311 + 142 + 118 + 54 + 24 + 14 + 7.2 plus retries. Nothing here moves
by itself: a test pushes states and decides when an answer comes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from broker_core.api import (
    ActOnDelayed,
    ActOnTimers,
    AskBroker,
    AtomicPage,
    BrokerAnswer,
    Catalog,
    CheckTransaction,
    CloseConnection,
    ConnectionPage,
    CreateTopic,
    DelayedActed,
    DelayedMessages,
    Done,
    EndTransaction,
    EventPage,
    FieldValues,
    Followed,
    FollowStarted,
    FoundOffset,
    HistoryLines,
    Lifeline,
    ListTimers,
    ListTransactions,
    Members,
    MessageDetail,
    MessagePage,
    NoteEvent,
    Occurred,
    OrbitError,
    Ownership,
    PendingTimers,
    ReadEvents,
    ReadHistory,
    ReadOwnership,
    Ready,
    ResumeTransaction,
    SearchHits,
    SearchStarted,
    SendMessage,
    SendReceipt,
    StartFollow,
    StorePicture,
    TimerForecast,
    TimersActed,
    TopicMeasures,
    TransactionHistory,
    TransactionPage,
    WorkerError,
)
from gui.bridge.demo import DemoController
from gui.operations.actions import ActionRegistry
from gui.operations.tasks import TaskList
from gui.text import TimeZoneChoice
from gui.theme.manager import ThemeManager, ThemeMode
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.views.time_range import TimeRangeChoice
from monitoring.delay import DelayState
from monitoring.series import History
from monitoring.sources.base import ClusterListener, SourceStatus
from monitoring.state import ClusterState
from tests.support.fake_broker import fake_broker_answer
from tests.support.fake_operations import fake_broker_answers, fake_connections, fake_events, fake_store

if TYPE_CHECKING:
    from gui.operations.reports import ReportRunner

T = TypeVar("T")

TAKEN_MS = 1_795_227_302_640
"""2026-11-21 02:15:02.640 UTC."""

# name, write and read queues, put/s, kept, average bytes, milliseconds since the last write
TOPICS: tuple[tuple[str, int, float, int, int, int], ...] = (
    ("orders", 8, 612.0, 4_318_220, 1_946, 200),
    ("payments", 8, 311.0, 2_190_774, 1_229, 200),
    ("order-timeout", 4, 142.0, 998_102, 640, 100),
    ("inventory-reserve", 16, 118.0, 822_640, 812, 300),
    ("shipment-notify", 4, 54.0, 377_180, 2_458, 400),
    ("pay-result", 4, 24.0, 168_930, 1_126, 600),
    ("user-points", 4, 14.0, 97_655, 388, 1_100),
    ("audit-log", 2, 7.2, 50_211, 5_734, 2_000),
    ("coupon-grant", 4, 0.0, 8_012, 800, 3 * 86_400_000),
    ("%RETRY%payment-settle", 1, 2.2, 1_602, 1_331, 4_000),
    ("%RETRY%stock-worker", 1, 0.9, 840, 921, 11_000),
    ("%DLQ%stock-worker", 1, 0.0, 21, 921, 14 * 60_000),
    ("%DLQ%payment-settle", 1, 0.0, 12, 1_229, 52 * 60_000),
)
# name, topic, lag, behind ms, out/s, members (-1 offline)
GROUPS: tuple[tuple[str, str, float, float, float, int], ...] = (
    ("payment-settle", "payments", 16_870.0, 131_000.0, 382.0, 2),
    ("stock-worker", "inventory-reserve", 903.0, 7_700.0, 118.0, 4),
    ("order-service", "orders", 412.0, 700.0, 611.0, 3),
    ("notify-sms", "shipment-notify", 217.0, 4_000.0, 54.0, 2),
    ("timeout-cancel", "order-timeout", 0.0, 0.0, 142.0, 1),
    ("points-calc", "user-points", 0.0, 0.0, 14.0, 1),
    ("risk-scan", "inventory-reserve", 0.0, 0.0, 118.0, 1),
    ("bi-export", "orders", float("nan"), float("nan"), 0.0, -1),
)
READY = Ready(
    name_server="127.0.0.1:9876",
    broker="127.0.0.1:10911",
    store_directory="/var/lib/orbit/store",
    cluster_name="DefaultCluster",
    broker_name="broker-a",
    started_ms=TAKEN_MS - (2 * 60 + 14) * 60_000,
    startup_ms=800,
)
DELAYS_MS = tuple(
    seconds * 1_000 for seconds in (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
)
DELAY_PENDING = (38, 166, 240, 618, 402, 188, 97, 64, 86, 41, 38, 36, 35, 112, 204, 1_288, 179, 72)
"""Messages in each delay level; 3,904 in all."""
DELAY_FIRST_OFFSET = 1_000
PAYMENT_SHARES = (12, 31, 4_079, 28, 612, 4_696, 5_092, 2_320)
"""Lag of payment-settle by queue of payments; sums to 16,870."""


def fake_catalog() -> Catalog:
    """Topics, queues, groups and positions of the shop."""
    queue_topic = [index for index, topic in enumerate(TOPICS) for _ in range(topic[1])]
    queue_id = [queue for topic in TOPICS for queue in range(topic[1])]
    names = [topic[0] for topic in TOPICS]
    positions = [
        (group_index, queue_index)
        for group_index, group in enumerate(GROUPS)
        for queue_index, topic_index in enumerate(queue_topic)
        if names[topic_index] == group[1]
    ]
    return Catalog(
        revision=1,
        topics=names,
        topic_read_queues=[topic[1] for topic in TOPICS],
        topic_write_queues=[topic[1] for topic in TOPICS],
        topic_permission=[6] * len(TOPICS),
        topic_is_system=[name.startswith("%") for name in names],
        queue_topic=queue_topic,
        queue_id=queue_id,
        groups=[group[0] for group in GROUPS],
        position_group=[group for group, _ in positions],
        position_queue=[queue for _, queue in positions],
        group_is_system=[False] * len(GROUPS),
    )


def fake_state(taken_ms: int = TAKEN_MS) -> ClusterState:
    """Figures of the shop at a moment."""
    catalog = fake_catalog()
    queue_topic = np.array(catalog.queue_topic)
    queues_of = np.array([topic[1] for topic in TOPICS])
    kept = np.array([topic[3] for topic in TOPICS], dtype=np.int64)
    rates = np.array([topic[2] for topic in TOPICS])
    last = taken_ms - np.array([topic[5] for topic in TOPICS], dtype=np.int64)
    queue_max = kept[queue_topic] // queues_of[queue_topic]
    # The first queue of each topic takes what does not divide evenly.
    first = np.array([catalog.queue_topic.index(i) for i in range(len(TOPICS))])
    queue_max[first] += kept - (kept // queues_of) * queues_of
    lag, behind, owner = _positions(catalog)
    group_lag = np.array([group[2] for group in GROUPS])
    return ClusterState(
        catalog=catalog,
        taken_ms=taken_ms,
        queue_min_offset=np.zeros(len(queue_topic), dtype=np.int64),
        queue_max_offset=queue_max,
        queue_last_store_ms=last[queue_topic],
        queue_put_rate=_queue_rates(queue_topic, rates, queues_of),
        topic_put_messages=kept.copy(),
        topic_put_bytes=kept * np.array([topic[4] for topic in TOPICS], dtype=np.int64),
        topic_put_rate=rates,
        topic_got_rate=rates * 1.5,
        topic_kept_messages=kept,
        topic_last_store_ms=last,
        group_members=np.array([group[5] for group in GROUPS], dtype=np.int64),
        group_lag_messages=group_lag,
        group_behind_ms=np.array([group[3] for group in GROUPS]),
        group_got_rate=np.array([group[4] for group in GROUPS]),
        position_offset=np.where(np.isnan(lag), -1, queue_max[catalog.position_queue] - np.nan_to_num(lag)).astype(np.int64),
        position_lag_messages=lag,
        position_behind_ms=behind,
        position_owner=owner,
        owners=["c1@10.23.4.11", "c2@10.23.4.12", "c3@10.23.4.15"],
        totals=_totals(kept),
        delays=fake_delays(taken_ms),
        timers={
            "pending": 312.0,
            "next_due_ms": taken_ms + 5_938_000.0,
            "overdue_ms": 0.0,
            "delivered": 40.0,
            "cancelled": 1.0,
            "late_p50_ms": 210.0,
            "late_p99_ms": 38.0,
            "delivered_rate": 0.1,
        },
    )


def fake_forecast() -> TimerForecast:
    """312 timers: one in each of the next minutes and hours, the rest on the day after."""
    return TimerForecast(TAKEN_MS, [1] * 60, [60] + [1] * 47, TAKEN_MS // 86_400_000, [100, 212])


def fake_timers(count: int) -> PendingTimers:
    """Three timers, the last of them cancelled."""
    rows = min(3, count)
    slots = [TAKEN_MS + 5_938_000 + number * 30_000 for number in range(rows)]
    return PendingTimers(
        slot_ms=slots,
        position=[number * 52 for number in range(rows)],
        due_ms=slots,
        store_ms=[TAKEN_MS - 60_000] * rows,
        physical_offset=[70_000 + number for number in range(rows)],
        topic=["order-timeout", "coupon-grant", "user-points"][:rows],
        queue_id=[0] * rows,
        tag=["REMIND"] * rows,
        keys=["SO-004", "CP-88121", "U-530017"][:rows],
        unique_key=[f"7F0000010F2A18B4AAC2{number:012X}" for number in range(rows)],
        body_bytes=[640] * rows,
        is_cancelled=[False, False, True][:rows],
        next_slot_ms=-1,
        next_position=-1,
    )


def fake_delays(taken_ms: int) -> DelayState:
    """18 levels with 3,904 messages; level 16 comes late."""
    pending = np.array(DELAY_PENDING, np.int64)
    late = np.full(len(pending), 31.0)
    late[15] = 212.0
    return DelayState(
        level=np.arange(1, len(pending) + 1),
        delay_ms=np.array(DELAYS_MS, np.int64),
        pending=pending,
        next_due_ms=taken_ms + np.array(DELAYS_MS, np.int64) // pending,
        overdue_ms=np.zeros(len(pending), np.int64),
        delivered=pending * 40,
        skipped=np.zeros(len(pending), np.int64),
        late_p50_ms=np.full(len(pending), 12.0),
        late_p99_ms=late,
        delivered_rate=pending / np.array(DELAYS_MS) * 1_000,
    )


def fake_delayed(level: int, start_offset: int, count: int) -> DelayedMessages:
    """Waiting messages of a level, evenly over its delay; the first has offset 1,000."""
    pending, delay_ms = DELAY_PENDING[level - 1], DELAYS_MS[level - 1]
    end = DELAY_FIRST_OFFSET + pending
    offsets = list(range(max(start_offset, DELAY_FIRST_OFFSET), end))[:count]
    due = [TAKEN_MS + delay_ms * (offset - DELAY_FIRST_OFFSET + 1) // pending for offset in offsets]
    return DelayedMessages(
        level=level,
        queue_offset=offsets,
        physical_offset=[level * 1_000_000 + offset * 256 for offset in offsets],
        due_ms=due,
        store_ms=[at - delay_ms for at in due],
        topic=[("order-timeout", "coupon-grant")[offset % 2] for offset in offsets],
        queue_id=[offset % 4 for offset in offsets],
        tag=["TIMEOUT"] * len(offsets),
        keys=[f"SO-20261121-{offset:05d}" for offset in offsets],
        unique_key=[f"7F0000010F2A18B4AAC2{offset:012X}" for offset in offsets],
        body_bytes=[640] * len(offsets),
        next_offset=offsets[-1] + 1 if offsets else end,
        max_offset=end,
    )


def _queue_rates(queue_topic: Any, rates: Any, queues_of: Any) -> Any:
    even = rates[queue_topic] / queues_of[queue_topic]
    skewed = even.copy()
    inventory = np.flatnonzero(queue_topic == 3)
    skewed[inventory] *= 0.944
    skewed[inventory[5]] = even[inventory[5]] * 1.84
    return skewed


def _positions(catalog: Catalog) -> tuple[Any, Any, Any]:
    count = len(catalog.position_group)
    lag, behind = np.zeros(count), np.zeros(count)
    owner = np.full(count, -1, dtype=np.int64)
    for group_index, group in enumerate(GROUPS):
        rows = np.flatnonzero(np.array(catalog.position_group) == group_index)
        shares = np.array(PAYMENT_SHARES) if group[0] == "payment-settle" else _even(group[2], len(rows))
        lag[rows] = shares
        behind[rows] = np.where(shares > 0, group[3] * shares / max(1.0, float(np.nan_to_num(shares).max())), shares * 0)
        owner[rows] = -1 if group[5] < 0 else (np.arange(len(rows)) * min(3, group[5])) // len(rows)
    return lag, behind, owner


def _even(total: float, count: int) -> Any:
    if np.isnan(total):
        return np.full(count, np.nan)
    shares = np.full(count, total // count)
    shares[: int(total - shares.sum())] += 1
    return shares


def _totals(kept: Any) -> dict[str, float]:
    return {
        "put_messages": float(kept.sum()),
        "put_bytes": 14.6e9,
        "got_messages": float(kept.sum()) * 1.5,
        "got_bytes": 21.9e9,
        "put_failed": 0.0,
        "put_p50_ms": 0.31,
        "put_p99_ms": 4.2,
        "put_max_ms": 9.8,
        "connections": 20.0,
        "producers": 6.0,
        "consumers": 14.0,
        "commit_log_min": 0.0,
        "commit_log_max": 14.6e9,
        "flushed": 14.6e9 - 3_250_585,
        "store_bytes": 14.6e9,
        "disk_used_bytes": 41.8e9,
        "disk_total_bytes": 100e9,
        "disk_used_percent": 41.8,
        "held_pulls": 11.0,
        "process_cpu_s": 812.0,
        "process_rss_bytes": 186e6,
        "put_rate": 1_284.0,
        "put_byte_rate": 1_284 * 1_640.0,
        "got_rate": 1_931.0,
        "got_byte_rate": 1_931 * 1_640.0,
        "lag_messages": 18_402.0,
        "transactions_pending": 3.0,
        "transactions_checking": 1.0,
        "transactions_waiting": 1.0,
        "transactions_committed": 19_620.0,
        "transactions_rolled_back": 1_706.0,
        "transactions_unknown": 12.0,
        "transactions_given_up": 1.0,
        "transactions_expired": 0.0,
        "transactions_checks": 44.0,
        "transactions_half_lag": 41.0,
        "transactions_op_lag": 2.0,
        "transactions_next_round_ms": TAKEN_MS + 48_000.0,
        "transaction_commit_rate": 21.8,
        "transaction_rollback_rate": 1.9,
        "atomic_open": 1.0,
        "atomic_oldest_ms": TAKEN_MS - 21_000.0,
        "atomic_held_back": 253.0,
        "unflushed_bytes": 3_250_585.0,
        "process_cpu_percent": 31.0,
    }


def fake_history(state: ClusterState, seconds: int = 900) -> History:
    """A quarter of an hour before ``state`` that leads to its figures."""
    history = History()
    shape = _Shape(seconds)
    for i in range(seconds):
        values = {f"totals.{name}": value * shape.factor(name, i) for name, value in state.totals.items()}
        for index, name in enumerate(state.catalog.topics):
            values[f"topic:{name}.put_rate"] = float(state.topic_put_rate[index]) * shape.factor(name, i)
        for index, name in enumerate(state.catalog.groups):
            values[f"group:{name}.lag_messages"] = float(state.group_lag_messages[index]) * shape.lag(name, i)
            values[f"group:{name}.behind_ms"] = float(state.group_behind_ms[index]) * shape.lag(name, i)
        history.record(state.taken_ms - (seconds - 1 - i) * 1_000, values)
    return history


class _Shape:
    """Believable wobble, the same on every run; 1.0 at the last second."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._random = np.random.default_rng(7)
        self._waves: dict[str, Any] = {}

    def factor(self, name: str, i: int) -> float:
        steady = name.startswith(
            ("disk", "store", "commit", "process", "put_messages", "put_bytes", "got_m", "got_b", "flushed")
        )
        if name in ("disk_total_bytes", "connections", "producers", "consumers", "commit_log_min", "put_failed"):
            return 1.0
        if steady:
            return 1.0 - 0.02 * (self._seconds - 1 - i) / self._seconds
        if name == "lag_messages":
            return self.lag("payment-settle", i)
        if name not in self._waves:
            wobble = np.cumsum(self._random.normal(0, 1, self._seconds // 5 + 1))
            wobble -= np.linspace(wobble[0], wobble[-1], len(wobble))
            self._waves[name] = (
                1.0 + 0.09 * wobble / max(1e-9, float(np.abs(wobble).max())) + self._random.normal(0, 0.015, len(wobble))
            )
            self._waves[name][-1] = 1.0
        dip = 0.72 if name == "got_rate" and 0.58 < i / self._seconds < 0.7 else 1.0
        return float(self._waves[name][i // 5]) * dip

    def lag(self, name: str, i: int) -> float:
        share = i / (self._seconds - 1)
        if name != "payment-settle":
            return self.factor(f"lag of {name}", i)
        if share < 0.6:
            return 0.06 + 0.01 * float(np.sin(i / 7))
        return 0.06 + 1.4 * (share - 0.6) / 0.27 if share < 0.87 else 1.46 - 0.46 * (share - 0.87) / 0.13


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

    # ---- what a test does ----

    def push(self, state: ClusterState | None = None) -> None:
        """Report figures."""
        self.state = state if state is not None else self.state or fake_state()
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

    def read_fields(self, places: list[int], fields: list[str]) -> FakePending[FieldValues]:
        texts = [[f"{field}@{place}" for place in places] for field in fields]
        starts = [fake_body(place // 256)[:200] for place in places]
        return self._answer("read_fields", (places, fields), FieldValues(texts, starts))

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


def fake_lifeline() -> Lifeline:
    """A payment that was committed after a check and consumed at the third attempt."""
    born, half, op, real = TAKEN_MS - 100_740, 168_912, "RMQ_SYS_TRANS_OP_HALF_TOPIC", "pay-result"
    half_topic, delays, retry = "RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "%RETRY%order-service"
    inferred = "Retry or dead letter of it"
    # ms after birth, kind, evidence, source, ms to the end, group, number, topic, queue, offset, position, outcome, host
    rows = [
        (0, "produced", "stored", "Born timestamp", -1, "pay-tx", -1, half_topic, 0, half, 100, "", "10.23.4.9:51200"),
        (8, "half", "stored", "Store timestamp", -1, "pay-tx", 0, half_topic, 0, half, 100, "", ""),
        (60_222, "checked", "stored", "Store timestamp", -1, "pay-tx", 1, half_topic, 0, 168_958, 900, "", ""),
        (60_234, "committed", "stored", "Op record", -1, "pay-tx", -1, op, 0, 167_004, 1_000, "", ""),
        (60_235, "stored", "stored", "Store timestamp", -1, "", -1, real, 2, 42_231, 1_100, "", ""),
        (60_253, "attempt", "trace", "Trace record", 148, "order-service", 1, real, 2, 42_231, 1_200, "failed", ""),
        (60_402, "retry waits", "stored", "Store timestamp", 10_000, "order-service", 1, delays, 2, 77, 1_300, "", ""),
        (70_420, "retry", "stored", "Store timestamp", -18, "order-service", 1, retry, 0, 1_583, 1_400, "", ""),
        (70_800, "attempt", "inferred", inferred, -1, "order-service", 2, retry, 0, 1_583, 1_500, "failed", ""),
        (70_801, "retry waits", "stored", "Store timestamp", 30_000, "order-service", 2, delays, 3, 78, 1_500, "", ""),
        (100_810, "retry", "stored", "Store timestamp", -9, "order-service", 2, retry, 0, 1_590, 1_600, "", ""),
        (100_822, "attempt", "trace", "Trace record", 212, "order-service", 3, retry, 0, 1_590, 1_700, "success", ""),
    ]  # fmt: skip
    passed = (-1, "passed", "offset", "Committed offset", -1, "bi-export", -1, real, 2, 42_231, -1, "", "")
    at = [born + row[0] for row in rows]
    waits = {"retry waits", "attempt", "retry"}
    until = [at_ms + row[4] if row[1] in waits and row[4] != -1 else -1 for at_ms, row in zip(at, rows, strict=True)]
    columns: list[list[Any]] = [list(column) for column in zip(*rows, passed, strict=True)]
    kinds, evidence, source, _, group, number, topic, queue_id, queue_offset, position, outcome, host = columns[1:]
    return Lifeline(
        "C0A80A171F9018B4AAC27D3E5A1C0042", [*at, -1], kinds, evidence, source, [*until, -1], group, number, topic, queue_id,
        queue_offset, position, outcome, host, ["The half message of its transaction is no longer stored."],
    )  # fmt: skip


def fake_body(number: int) -> bytes:
    """A JSON order with Chinese in it."""
    order = {
        "orderId": f"SO-20261121-{number:05d}",
        "buyer": "李雨桐",
        "city": "杭州",
        "amount": 128.5 + number % 700,
        "items": [{"sku": "SKU-10027", "qty": 2}],
    }
    return json.dumps(order, ensure_ascii=False).encode()


def fake_page(state: ClusterState | None, topic: str, queue_id: int, start_offset: int, count: int) -> MessagePage:
    """Heads of a queue as far as the fake state says it has messages."""
    state = state or fake_state()
    catalog = state.catalog
    rows = [i for i, t in enumerate(catalog.queue_topic) if catalog.topics[t] == topic]
    ends = {catalog.queue_id[i]: int(state.queue_max_offset[i]) for i in rows} or {0: 0}
    if queue_id < 0:
        wanted = [
            (queue, end - 1 - i) for i in range(-(-count // len(ends))) for queue, end in ends.items() if end - 1 - i >= 0
        ][:count]
        end = max(ends.values())
    else:
        end = ends.get(queue_id, 0)
        wanted = [(queue_id, offset) for offset in range(max(0, start_offset), min(end, start_offset + count))]
    behind = [ends[queue] - offset for queue, offset in wanted]
    return MessagePage(
        topic=topic,
        queue_id=[queue for queue, _ in wanted],
        queue_offset=[offset for _, offset in wanted],
        physical_offset=[offset * 256 for _, offset in wanted],
        store_ms=[state.taken_ms - back * 13 for back in behind],
        born_ms=[state.taken_ms - back * 13 - 2 for back in behind],
        body_bytes=[len(fake_body(offset)) for _, offset in wanted],
        tag=[("CREATED", "PAID", "CANCELLED")[offset % 3] for _, offset in wanted],
        keys=[f"SO-20261121-{offset:05d}" for _, offset in wanted],
        unique_key=[f"7F0000010F2A18B4AAC2{offset:012X}" for _, offset in wanted],
        body_start=[fake_body(offset)[:200] for _, offset in wanted],
        min_offset=0,
        max_offset=end,
        next_offset=min(end, start_offset + count),
    )


def fake_detail(physical_offset: int) -> MessageDetail:
    """A whole message."""
    offset = physical_offset // 256
    body = fake_body(offset)
    return MessageDetail(
        topic="orders",
        queue_id=3,
        queue_offset=offset,
        physical_offset=physical_offset,
        offset_message_id=f"7F00000100002A9F{physical_offset:016X}",
        store_bytes=len(body) + 190,
        body=body,
        stored_body_bytes=len(body),
        body_crc=zlib.crc32(body) & 0x7FFFFFFF,
        flag=0,
        sys_flag=0,
        born_ms=TAKEN_MS - 2_002,
        born_host="127.0.0.1:53814",
        store_ms=TAKEN_MS - 2_000,
        store_host="127.0.0.1:10911",
        reconsume_times=0,
        prepared_transaction_offset=0,
        properties={
            "TAGS": "PAID",
            "KEYS": f"SO-20261121-{offset:05d}",
            "UNIQ_KEY": f"7F0000010F2A18B4AAC2{offset:012X}",
            "region": "hangzhou",
        },
    )


def fake_transactions() -> TransactionPage:
    """Three undecided transactions of the shop: one new, one that is checked, one whose producers are gone."""
    return TransactionPage(
        total=3,
        check_times_max=15,
        origin=[40, 38, 12],
        half_offset=[40, 52, 12],
        op_offset=[31, 31, 31],
        physical_offset=[90_112, 94_208, 40_960],
        real_offset=[-1, -1, -1],
        state=["prepared", "checking", "waiting"],
        group=["pay-tx", "pay-tx", "stock-tx"],
        producers=[2, 2, 0],
        topic=["pay-result", "pay-result", "inventory-reserve"],
        queue_id=[0, 3, 7],
        keys=["pay-7", "pay-6", "sku-9"],
        tag=["paid", "paid", ""],
        unique_key=["7F0000010000000000000000000000A1", "7F0000010000000000000000000000A0", "7F000001000000000000000000000090"],
        body_bytes=[1_126, 1_126, 812],
        born_ms=[TAKEN_MS - 2_000, TAKEN_MS - 130_000, TAKEN_MS - 900_000],
        check_times=[0, 2, 0],
        asked_ms=[-1, TAKEN_MS - 12_000, -1],
        next_check_ms=[TAKEN_MS + 48_000, TAKEN_MS + 48_000, -1],
        ended_ms=[-1, -1, -1],
    )


def fake_atomic() -> AtomicPage:
    """Two producers, one with an open transaction over two queues."""
    return AtomicPage(
        total=2,
        name=["shop-1", "billing"],
        producer_id=[1000, 1001],
        epoch=[4, 0],
        state=["open", "committed"],
        start_ms=[TAKEN_MS - 21_000, -1],
        update_ms=[TAKEN_MS - 21_000, TAKEN_MS - 900_000],
        timeout_ms=[60_000, 60_000],
        offsets=[1, 0],
        queue_row=[0, 0],
        queue_topic=["audit", "orders"],
        queue_id=[0, 2],
        queue_first_offset=[17, 4_711],
        queue_held_back=[3, 250],
    )


def fake_history_lines(query: ReadHistory) -> HistoryLines:
    """A wave between 100 and 300 for every series, from ten days before the newest figures on."""
    step_ms = max(1_000, (query.to_ms - query.from_ms) // query.points)
    begin_ms = TAKEN_MS - 10 * 86_400_000
    times = np.arange(max(query.from_ms, begin_ms), query.to_ms, step_ms, dtype=np.int64)
    wave = 200 + 100 * np.sin(times / 3_600_000)
    count = len(query.names)
    low, high, last = ([(wave + shift).tobytes()] * count for shift in (-5, 5, 0))
    return HistoryLines(step_ms, begin_ms, [times.tobytes()] * count, low, high, last)


def fake_ended_transactions() -> TransactionPage:
    """Three that ended: committed after 84 ms, rolled back after 120 ms, given up after its checks."""
    return TransactionPage(
        total=3,
        check_times_max=15,
        origin=[36, 35, 2],
        half_offset=[36, 35, 33],
        op_offset=[30, 29, 28],
        physical_offset=[88_064, 87_040, 86_016],
        real_offset=[95_232, -1, -1],
        state=["committed", "rolled back", "given up"],
        group=["pay-tx", "pay-tx", "risk-tx"],
        producers=[2, 2, 0],
        topic=["pay-result", "pay-result", "pay-result"],
        queue_id=[1, 2, 0],
        keys=["pay-5", "pay-4", "risk-1"],
        tag=["paid", "paid", ""],
        unique_key=["7F0000010000000000000000000000B2", "7F0000010000000000000000000000B1", "7F0000010000000000000000000000B0"],
        body_bytes=[1_126, 1_126, 1_126],
        born_ms=[TAKEN_MS - 5_000, TAKEN_MS - 6_000, TAKEN_MS - 960_000],
        check_times=[0, 0, 15],
        asked_ms=[-1, -1, TAKEN_MS - 60_000],
        next_check_ms=[-1, -1, -1],
        ended_ms=[TAKEN_MS - 4_916, TAKEN_MS - 5_880, TAKEN_MS - 30_000],
    )


def fake_transaction_history() -> TransactionHistory:
    """One transaction that was committed after a check."""
    return TransactionHistory(
        next_before=-1,
        origin=[38],
        state=["committed"],
        group=["pay-tx"],
        topic=["pay-result"],
        queue_id=[3],
        keys=["pay-6"],
        tag=["paid"],
        unique_key=["7F0000010000000000000000000000A0"],
        born_ms=[TAKEN_MS - 130_000],
        check_times=[1],
        op_offset=[30],
        deliveries=[1],
        step_row=[0, 0, 0, 0],
        step_kind=["prepared", "checked", "delivered", "decided"],
        step_ms=[TAKEN_MS - 130_000, TAKEN_MS - 60_000, TAKEN_MS - 59_900, TAKEN_MS - 59_900],
        step_queue_offset=[38, 52, 1_204, 30],
        step_physical_offset=[81_920, 94_208, 95_232, 96_256],
    )


def fake_measures(topics: Sequence[str]) -> TopicMeasures:
    """The queues of topics of the shop on disk, kept for two hours; those of orders are measured by a part of their records."""
    made = TopicMeasures([], [], [], [], [], [])
    for name, queues, _rate, kept, average, _age in TOPICS:
        for queue_id in range(queues) if name in topics else ():
            made.topic.append(name)
            made.queue_id.append(queue_id)
            made.oldest_ms.append(TAKEN_MS - 2 * 3_600_000)
            made.log_bytes.append(kept // queues * average)
            made.queue_bytes.append(kept // queues * 20)
            made.is_estimate.append(name == "orders")
    return made


def fake_ownership(query: ReadOwnership) -> Ownership:
    """Eight queues of payments: three clients shared them until the middle, then two."""
    middle = (query.from_ms + query.to_ms) // 2
    made = Ownership([], [], [], [], [])
    for queue_id in range(8):
        stretches = ((query.from_ms, middle, queue_id * 3 // 8), (middle, query.to_ms, queue_id // 4))
        for from_ms, to_ms, number in stretches:
            made.topic.append("payments")
            made.queue_id.append(queue_id)
            made.from_ms.append(from_ms)
            made.to_ms.append(to_ms)
            made.client.append(f"c{number + 1}@10.23.4.{11 + number}")
    return made


def fake_members(group: str) -> Members:
    """Clients of a group of the shop."""
    found = next((entry for entry in GROUPS if entry[0] == group), None)
    count = max(0, found[5]) if found else 0
    topic = found[1] if found else ""
    return Members(
        client_id=[f"c{i + 1}@10.23.4.{11 + i}" for i in range(count)],
        address=[f"10.23.4.{11 + i}:51{i}22" for i in range(count)],
        language=["JAVA"] * count,
        version=["V4_9_8"] * count,
        last_heartbeat_ms=[TAKEN_MS - 4_000 - i * 900 for i in range(count)],
        subscriptions=[{topic: "*"} for _ in range(count)],
    )


class FakeWindow:
    """Records what a page asks of the window."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, dict[str, object]]] = []
        self.notices: list[tuple[str, State]] = []
        self.offers: list[tuple[str, Callable[[], None] | None]] = []
        self.restarts = 0
        self.languages: list[str] = []

    def navigate(self, page_id: str, /, **arguments: object) -> None:
        self.opened.append((page_id, arguments))

    def notify(
        self, text: str, *, state: State = State.INFO, action: str = "", on_action: Callable[[], None] | None = None
    ) -> None:
        self.notices.append((text, state))
        self.offers.append((action, on_action))

    def restart(self) -> None:
        self.restarts += 1


def fake_context(
    source: FakeSource,
    settings: QSettings,
    *,
    window: FakeWindow | None = None,
    theme: ThemeManager | None = None,
    history: History | None = None,
    demo: DemoController | None = None,
    reports: ReportRunner | None = None,
) -> PageContext:
    """A page's context over a fake source; what is not given is made, real but idle. Needs the application object."""
    from gui.operations.alert_center import AlertCenter
    from gui.operations.reports import ReportRunner

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    window = window or FakeWindow()
    tasks = TaskList(application)
    times = TimeZoneChoice(application, utc=True)
    return PageContext(
        source=source,
        history=history or fake_history(source.state or fake_state()),
        theme=theme or ThemeManager(application, ThemeMode.DARK, application),
        navigate=window.navigate,
        notify=window.notify,
        tasks=tasks,
        actions=ActionRegistry(application),
        settings=settings,
        times=times,
        time_range=TimeRangeChoice(parent=application),
        demo=demo or DemoController(application),
        reports=reports or ReportRunner(tasks, application),
        restart_worker=window.restart,
        set_language=window.languages.append,
        alerts=AlertCenter(source, settings, window.notify, application),
    )

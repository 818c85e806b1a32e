"""The message flow of the Overview from a `ClusterState`. NaN: unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from broker_core.api import names as reserved
from gui.models.topics import is_system_topic
from gui.views.overview.figures import NAN, own_groups, total
from gui.views.overview.flow_scene import FlowBand, FlowCard, FlowPicture, FlowRole
from gui.words.text import UNKNOWN, count_text, duration_text, milliseconds_text, rate_text, tr
from monitoring.alert_rules import total_of
from monitoring.delay import LATE_MS
from monitoring.reach import ClusterReach
from monitoring.state import ClusterState, Ints, are_members_known


@dataclass(frozen=True, slots=True)
class MessageFlow:
    """Rates in messages/s. ``sent_rate`` is the sum of ``normal_rate``, ``delayed_rate`` and ``half_rate``."""

    sent_rate: float
    sent_least: float
    """The same, but where commits are not counted as if every half message were committed."""
    producers: float
    normal_rate: float
    topics_written: float
    delayed_rate: float
    delayed_pending: float
    late_ms: float
    """Of the latest level, or of the timers, above `LATE_MS`; NaN: nothing is late, or that is unknown."""
    due_rate: float
    """Deliveries to the topics that producers named; retries are not among them."""
    half_rate: float
    half_open: float
    half_in_check: float
    commit_rate: float
    rollback_rate: float
    ready_messages: float
    oldest_ms: float
    groups_online: float
    groups: int
    consumers: float
    got_rate: float
    retry_rate: float
    retry_waiting: float
    """Retries that are due and not consumed yet."""
    dead_messages: float
    dead_groups: int


def message_flow(state: ClusterState) -> MessageFlow:
    rates = _TopicRates(state)
    groups = own_groups(state)
    behind = state.group_behind_ms[groups]
    retry_rate = rates.of(lambda name: name.startswith(reserved.RETRY_PREFIX))
    delivered = _sum_known([*state.delays.delivered_rate.tolist(), state.timers.get("delivered_rate", NAN)])
    due_rate = _at_least_0(delivered - _or_0(retry_rate))
    half_rate = rates.of(lambda name: name == reserved.HALF_TOPIC)
    commit_rate = total(state, "transaction_commit_rate")
    # An attached cluster counts no commits, so its normal rate is unknown while half messages are put.
    committed = commit_rate if half_rate > 0 else _or_0(commit_rate)
    normal_rate = _at_least_0(rates.own - _or_0(due_rate) - committed)
    normal_least = _at_least_0(rates.own - _or_0(due_rate) - (half_rate if math.isnan(committed) else committed))
    # A failed message waits in a delay level before its next attempt; no producer has sent it again.
    delayed_rate = _at_least_0(
        rates.of(lambda name: name in (reserved.SCHEDULE_TOPIC, reserved.WHEEL_TIMER_TOPIC)) - _or_0(retry_rate)
    )
    dead = rates.rows(lambda name: name.startswith(reserved.DLQ_PREFIX))
    kept = state.topic_kept_messages[dead]
    return MessageFlow(
        sent_rate=normal_rate + delayed_rate + half_rate,
        sent_least=normal_least + delayed_rate + half_rate,
        producers=total(state, "producers"),
        normal_rate=normal_rate,
        topics_written=rates.own_written,
        delayed_rate=delayed_rate,
        delayed_pending=_pending(state),
        late_ms=_latest_ms(state),
        due_rate=due_rate,
        half_rate=half_rate,
        half_open=total(state, "transactions_pending"),
        half_in_check=total(state, "transactions_checking"),
        commit_rate=commit_rate,
        rollback_rate=total(state, "transaction_rollback_rate"),
        ready_messages=total(state, "lag_messages"),
        oldest_ms=max(_known(behind.tolist()), default=NAN),
        groups_online=_groups_online(state, state.group_members[groups]),
        groups=len(groups),
        consumers=total_of(state, "consumers") if state.lists_all else NAN,
        got_rate=total(state, "got_rate"),
        retry_rate=retry_rate,
        retry_waiting=_retry_lag(state, set(rates.rows(lambda name: name.startswith(reserved.RETRY_PREFIX)))),
        dead_messages=float(kept.sum()) if (kept >= 0).all() and state.lists_all else NAN,
        dead_groups=int(np.count_nonzero(kept > 0)),
    )


class _TopicRates:
    """Write rates of topics, messages/s."""

    def __init__(self, state: ClusterState) -> None:
        self._names = state.catalog.topics
        count = len(self._names)
        topic = np.asarray(state.catalog.queue_topic, np.int64)
        rates = state.queue_put_rate
        known = ~np.isnan(rates)
        self._rates = np.bincount(topic[known], rates[known], minlength=count)[:count]
        self._known = np.bincount(topic[known], minlength=count)[:count] > 0
        # Where the broker counts puts, a queue without a rate was never written.
        self._nothing = NAN if math.isnan(total(state, "put_rate")) else 0.0
        self._lists_all = state.lists_all
        own = [row for row in range(count) if not is_system_topic(state.catalog, row)]
        # Queues of an attached cluster are read in turn, and a rate needs two reads.
        is_unread = state.is_from_outside and bool(own) and not self._known[own].any()
        # What is known of a part says less than there is.
        self._in_part = state.topics_in_part
        self.own = NAN if is_unread else self._sum(own)
        is_written_known = state.lists_all and not is_unread and not self._in_part[own].any()
        self.own_written = float(np.count_nonzero(self._rates[own] > 0)) if is_written_known else NAN

    def rows(self, accepts: Callable[[str], bool]) -> list[int]:
        return [row for row, name in enumerate(self._names) if accepts(name)]

    def of(self, accepts: Callable[[str], bool]) -> float:
        """Rate of the topics with certain names: 0 where there are none, NaN where it is unknown."""
        return self._sum(self.rows(accepts))

    def _sum(self, rows: list[int]) -> float:
        if not rows or not self._lists_all:
            return 0.0 if self._lists_all else NAN
        if self._in_part[rows].any():
            return NAN
        return float(self._rates[rows].sum()) if self._known[rows].any() else self._nothing


def _pending(state: ClusterState) -> float:
    levels, timers = state.delays.pending, state.timers.get("pending", NAN)
    if (levels < 0).any() or timers < 0:
        return NAN
    return _sum_known([float(levels.sum()) if levels.size else NAN, timers])


def _latest_ms(state: ClusterState) -> float:
    timers = [state.timers.get(figure, NAN) for figure in ("overdue_ms", "late_p99_ms")]
    return max((late for late in _known([*state.delays.late_ms.tolist(), *timers]) if late > LATE_MS), default=NAN)


def _groups_online(state: ClusterState, members: Ints) -> float:
    if not state.lists_all or not are_members_known(members).all():
        return NAN
    return float(np.count_nonzero(members > 0))


def _retry_lag(state: ClusterState, topics: set[int]) -> float:
    queue_topic = np.asarray(state.catalog.queue_topic, np.int64)
    queues = np.asarray(state.catalog.position_queue, np.int64)
    if not queues.size or state.catalog.brokers_without_offsets:
        return NAN
    lag = state.position_lag_messages[np.isin(queue_topic[queues], list(topics))]
    # A part of them would be taken for all.
    return _sum_known(lag.tolist()) if state.reach is ClusterReach.ALL else NAN


def _known(values: list[float]) -> list[float]:
    return [value for value in values if not math.isnan(value) and value >= 0]


def _sum_known(values: list[float]) -> float:
    known = _known(values)
    return sum(known) if known else NAN


def _or_0(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _at_least_0(value: float) -> float:
    """Clamp at 0, because differences of separately measured means may fall slightly below it."""
    return value if math.isnan(value) else max(0.0, value)


PRODUCERS, NORMAL, DELAYED, HALF = "producers", "normal", "delayed", "half"
READY, ROLLED_BACK, CONSUMERS = "ready", "rolled back", "consumers"
CONSUMED, RETRY, DEAD = "consumed", "retry", "dead"
STAGE_PAGES: dict[str, tuple[str, dict[str, object]]] = {
    PRODUCERS: ("clients", {}),
    NORMAL: ("topics", {}),
    DELAYED: ("delay", {}),
    HALF: ("transactions", {}),
    READY: ("consumers", {}),
    ROLLED_BACK: ("transactions", {"show": "rolled back"}),
    CONSUMERS: ("consumers", {}),
    CONSUMED: ("consumers", {}),
    RETRY: ("dead_letters", {}),
    DEAD: ("dead_letters", {}),
}
"""Page and arguments that a stage opens."""


def flow_picture(state: ClusterState) -> FlowPicture:
    """The picture of the message flow. The sent rate is the sum of normal, delayed and half messages."""
    flow = message_flow(state)
    return FlowPicture(
        columns=((_producers(flow),), _kinds(flow), _waiting(flow), (_consumers(flow),), _ends(flow)),
        bands=(
            FlowBand(PRODUCERS, NORMAL, flow.normal_rate, FlowRole.NORMAL),
            FlowBand(PRODUCERS, DELAYED, flow.delayed_rate, FlowRole.DELAYED),
            FlowBand(PRODUCERS, HALF, flow.half_rate, FlowRole.HALF),
            FlowBand(NORMAL, READY, flow.normal_rate, FlowRole.NORMAL),
            FlowBand(DELAYED, READY, flow.due_rate, FlowRole.DELAYED, _way(flow.due_rate, "{rate} due")),
            FlowBand(HALF, READY, flow.commit_rate, FlowRole.DONE, _way(flow.commit_rate, "{rate} commit")),
            FlowBand(HALF, ROLLED_BACK, flow.rollback_rate, FlowRole.IDLE),
            FlowBand(READY, CONSUMERS, flow.got_rate, FlowRole.NORMAL),
            FlowBand(CONSUMERS, CONSUMED, flow.got_rate, FlowRole.DONE),
            FlowBand(CONSUMERS, RETRY, flow.retry_rate, FlowRole.RETRY),
        ),
    )


def _producers(flow: MessageFlow) -> FlowCard:
    is_bound = math.isnan(flow.sent_rate) and not math.isnan(flow.sent_least)
    sent = f"≥ {rate_text(flow.sent_least)}" if is_bound else rate_text(flow.sent_rate)
    return FlowCard(PRODUCERS, tr("Producers"), sent, _clients_text(flow.producers), FlowRole.NORMAL)


def _kinds(flow: MessageFlow) -> tuple[FlowCard, ...]:
    topics = tr("{count} topics", count=count_text(flow.topics_written))
    late = milliseconds_text(flow.late_ms)
    checks = count_text(flow.half_in_check)
    return (
        FlowCard(NORMAL, tr("Normal"), rate_text(flow.normal_rate), topics, FlowRole.NORMAL),
        FlowCard(DELAYED, tr("Delayed"), count_text(flow.delayed_pending),
                 tr("late {time}", time=late) if late != UNKNOWN else tr("pending"), FlowRole.DELAYED),
        FlowCard(HALF, tr("Half (transactions)"), count_text(flow.half_open),
                 tr("{count} in check", count=checks) if checks != UNKNOWN else tr("open to count"), FlowRole.HALF),
    )  # fmt: skip


def _waiting(flow: MessageFlow) -> tuple[FlowCard, ...]:
    oldest = UNKNOWN if flow.ready_messages == 0 else duration_text(flow.oldest_ms)
    fact = tr("oldest {age}", age=oldest) if oldest != UNKNOWN else ""
    return (
        FlowCard(READY, tr("Ready to consume"), count_text(flow.ready_messages), fact, FlowRole.WAITING),
        FlowCard(ROLLED_BACK, tr("Rolled back"), rate_text(flow.rollback_rate), "", FlowRole.IDLE),
    )


def _consumers(flow: MessageFlow) -> FlowCard:
    groups = tr("{count} groups", count=count_text(flow.groups_online))
    return FlowCard(CONSUMERS, tr("Consumers"), groups, _clients_text(flow.consumers), FlowRole.NORMAL)


def _ends(flow: MessageFlow) -> tuple[FlowCard, ...]:
    waiting = tr("{count} ready", count=count_text(flow.retry_waiting)) if flow.retry_waiting > 0 else ""
    groups = tr("{count} groups", count=flow.dead_groups)
    return (
        FlowCard(CONSUMED, tr("Delivered"), rate_text(flow.got_rate), "", FlowRole.DONE),
        FlowCard(RETRY, tr("Retry"), rate_text(flow.retry_rate), waiting, FlowRole.RETRY),
        FlowCard(DEAD, tr("Dead"), count_text(flow.dead_messages), groups if flow.dead_groups else "", FlowRole.DEAD),
    )


def _way(rate: float, words: str) -> str:
    return tr(words, rate=rate_text(rate)) if rate > 0 else ""


def _clients_text(count: float) -> str:
    return tr("1 client") if count == 1 else tr("{count} clients", count=count_text(count))

"""From a `ClusterState` to the message flow of the Overview: what is sent, where it waits, what becomes of it."""

from __future__ import annotations

from gui.views.overview.flow_figures import MessageFlow, message_flow
from gui.views.overview.flow_scene import FlowBand, FlowCard, FlowPicture, FlowRole
from gui.words.text import UNKNOWN, count_text, duration_text, milliseconds_text, rate_text, tr
from monitoring.state import ClusterState

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
    """Everything the message flow draws. What is sent is the sum of normal, delayed and half messages."""
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
    return FlowCard(PRODUCERS, tr("Producers"), rate_text(flow.sent_rate), _clients_text(flow.producers), FlowRole.NORMAL)


def _kinds(flow: MessageFlow) -> tuple[FlowCard, ...]:
    topics = tr("{count} topics", count=count_text(flow.topics_written))
    late = milliseconds_text(flow.late_p99_ms)
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
        FlowCard(CONSUMED, tr("Consumed"), rate_text(flow.got_rate), "", FlowRole.DONE),
        FlowCard(RETRY, tr("Retry"), rate_text(flow.retry_rate), waiting, FlowRole.RETRY),
        FlowCard(DEAD, tr("Dead"), count_text(flow.dead_messages), groups if flow.dead_groups else "", FlowRole.DEAD),
    )


def _way(rate: float, words: str) -> str:
    return tr(words, rate=rate_text(rate)) if rate > 0 else ""


def _clients_text(count: float) -> str:
    return tr("1 client") if count == 1 else tr("{count} clients", count=count_text(count))

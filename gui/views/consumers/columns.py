"""Columns of the tables on the Consumers page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from broker_core.worker.questions.administration import GRPC
from gui.models.consumers import (
    GroupHealth,
    GroupRow,
    MemberRow,
    PositionRow,
    SubscriptionRow,
    group_health,
)
from gui.models.table import CellKind, Column, known_number, number_column
from gui.models.topic_queues import TopicQueueRow
from gui.theme.tokens import State
from gui.words.amounts import online_text
from gui.words.outlooks import explained, outlook_text
from gui.words.text import (
    UNKNOWN,
    QueueText,
    TimeZoneChoice,
    count_text,
    duration_text,
    milliseconds_text,
    rate_number,
    rate_text,
    tr,
)
from monitoring.admin.clients import FindingKind, MemberFinding
from monitoring.admin.connections import language_text, version_text
from monitoring.group_outlook import GroupOutlook
from monitoring.lag import Forecast

CLIENTS_NAMED = 4

YOUR_GROUPS, SYSTEM_GROUPS = "Your groups", "System groups"
HEALTH_CHIPS = {
    GroupHealth.BEYOND_END: ("Beyond the end", State.CRITICAL),
    GroupHealth.LOST: ("Messages lost unread", State.WARNING),
    GroupHealth.OFFLINE: ("Offline", State.IDLE),
    GroupHealth.UNKNOWN: ("Lag unknown", State.IDLE),
    GroupHealth.TURNED: ("Direction unknown", State.IDLE),
    GroupHealth.NO_POSITION: ("No position yet", State.IDLE),
    GroupHealth.CAUGHT_UP: ("Caught up", State.HEALTHY),
    GroupHealth.STEADY: ("Keeping up", State.HEALTHY),
    GroupHealth.BEHIND: ("Above its limit", State.WARNING),
    GroupHealth.DRAINING: ("Draining", State.PENDING),
    GroupHealth.GROWING: ("Growing", State.WARNING),
}
"""Words and colour of a group's health."""


def health_chip(group: GroupRow, lag: Forecast) -> tuple[str, State]:
    """Words and colour of a group's health; a group above its limit has the colour of a warning."""
    health = group_health(group, lag)
    word, state = HEALTH_CHIPS[health]
    is_warning = group.over_limit and health not in (GroupHealth.OFFLINE, GroupHealth.BEYOND_END)
    return tr(word), State.WARNING if is_warning else state


def group_section(row: GroupRow) -> str:
    return SYSTEM_GROUPS if row.is_system else YOUR_GROUPS


class Standing(Protocol):
    """A row with a position in one queue, or in several."""

    @property
    def beyond_messages(self) -> float:
        """Messages from the end to the position."""

    @property
    def lost_messages(self) -> float:
        """Messages that were deleted before they were read."""


def standing_text(row: Standing) -> str:
    """A position beyond the end, and messages deleted before they were read, which no lag shows; else empty."""
    beyond, lost = row.beyond_messages, row.lost_messages
    words = [tr("{count} beyond the end", count=count_text(beyond))] if beyond > 0 else []
    return ", ".join([*words, *([tr("{count} lost unread", count=count_text(lost))] if lost > 0 else [])])


def _standing_word(row: Standing) -> str:
    """The same where a cell has no room for how far it is beyond the end; the detail says it."""
    return tr("beyond the end") if row.beyond_messages > 0 else standing_text(row)


def standing_state(row: Standing) -> State | None:
    """Colour of a position beyond the end, or of lost messages; else None."""
    if row.beyond_messages > 0:
        return State.CRITICAL
    return State.WARNING if row.lost_messages > 0 else None


def group_dot(row: GroupRow) -> State:
    wrong = standing_state(row)
    if wrong is not None:
        return wrong
    if row.offline or math.isnan(row.lag_messages):
        return State.IDLE  # an unknown state must not look healthy
    return State.WARNING if row.over_limit else State.HEALTHY


def group_columns(
    lag_over_time: Callable[[GroupRow], Sequence[float] | None],
    outlook: Callable[[GroupRow], GroupOutlook],
    versions: Callable[[GroupRow], Sequence[str]],
    over_grpc: Callable[[GroupRow], int],
    queue_text: QueueText,
) -> list[Column[GroupRow]]:
    """Columns of the group list; the functions are called for painted rows only."""
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG, dot=group_dot, wants=140),
        Column(
            "lag",
            "Lag",
            lambda row: count_text(row.lag_messages),
            # A group beyond the end has no lag, and comes before all groups with a lag.
            sort=lambda row: math.inf if row.beyond_messages > 0 else row.lag_messages,
            state=lambda row: standing_state(row) or (State.WARNING if row.over_limit else None),
            tip=standing_text,
            right=True,
            width=62,
        ),
        number_column("behind", "Behind", lambda row: row.behind_ms, duration_text, width=62),
        number_column("in", "In", lambda row: row.in_rate, rate_text, dim=True, width=60, gives_way=2),
        number_column("out", "Out", lambda row: row.out_rate, rate_text, dim=True, width=60, gives_way=1),
        Column(
            "trend",
            "Trend",
            lambda row: tr("offline") if row.offline else "",
            sort=lambda row: row.lag_messages,
            kind=CellKind.SPARKLINE,
            value=lambda row: None if row.offline else lag_over_time(row),
            state=_trend_state,
            width=60,
            gives_way=3,
        ),
        Column(
            "forecast",
            "Forecast",
            lambda row: _standing_word(row) or outlook_text(outlook(row), queue_text),
            # Sorting needs the values of all rows, and a forecast for each would take too long.
            sort=lambda row: row.lag_messages,
            tip=lambda row: standing_text(row) or explained(outlook(row), queue_text),
            state=standing_state,
            right=True,
            dim=True,
            width=118,
        ),
        Column(
            "members",
            "Clients",
            lambda row: members_text(row, versions(row)),
            sort=lambda row: row.members,
            tip=lambda row: unlisted_reason() if row.is_unlisted else _members_tip(versions(row), over_grpc(row)),
            right=True,
            dim=True,
            width=70,
            gives_way=4,
        ),
    ]


def unlisted_reason() -> str:
    """Why the online clients of a group are unknown."""
    return tr("The brokers list no client of this group. It may consume behind a proxy of RocketMQ 5, which cannot be asked.")


def no_client_text(group: GroupRow) -> str:
    """The text of an empty list of a group's clients."""
    return unlisted_reason() if group.is_unlisted else tr("No client of this group is online.")


def members_text(row: GroupRow, versions: Sequence[str]) -> str:
    """Number of clients and their version: ``3 · 4.9.8``; ``…`` for several versions."""
    if row.offline or row.is_unread:
        return online_text(row.members) if row.is_unlisted else UNKNOWN
    if not versions:
        return str(row.members)
    shown = version_text(versions[-1])
    return f"{row.members} · {shown}…" if len(versions) > 1 else f"{row.members} · {shown}"


def _members_tip(versions: Sequence[str], over_grpc: int) -> str:
    lines = [version_text(version) for version in versions]
    return "\n".join([*lines, *([tr("{count} over gRPC", count=count_text(over_grpc))] if over_grpc else [])])


def columns_to_hide(rows: Sequence[PositionRow]) -> set[str]:
    """Keys of columns without information: the topic where all rows have the same, the standing where no position is wrong."""
    topic = {"topic"} if len({row.topic for row in rows}) == 1 else set()
    return topic if any(map(standing_text, rows)) else topic | {"standing"}


def position_columns(queue_text: QueueText) -> list[Column[PositionRow]]:
    return [
        Column("topic", "Topic", lambda row: row.topic, kind=CellKind.STRONG),
        number_column("queue", "Queue", lambda row: row.queue_id, queue_text, width=66),
        number_column("broker", "Broker offset", lambda row: row.broker_offset, known=True, width=100, gives_way=2),
        number_column("group", "Group offset", lambda row: row.group_offset, known=True, width=98),
        # A position beyond the end has no lag, and comes before all positions with a lag.
        Column("lag", "Lag", lambda row: count_text(row.lag_messages),
               sort=lambda row: math.inf if row.beyond_messages > 0 else row.lag_messages,
               kind=CellKind.STRONG, state=_lag_state, tip=standing_text, right=True, width=72),
        number_column("behind", "Behind", lambda row: row.behind_ms, duration_text, width=66),
        Column("standing", "Standing", standing_text, sort=lambda row: (row.beyond_messages, row.lost_messages),
               state=standing_state, tip=standing_text, wants=164),
        Column("owner", "Owner", owner_text, kind=CellKind.MONO, dim=True, tip=_owner_tip, gives_way=1),
    ]  # fmt: skip


def member_columns(times: TimeZoneChoice) -> list[Column[MemberRow]]:
    return [
        Column("client", "Client ID", lambda row: row.client_id, kind=CellKind.MONO,
               tip=lambda row: f"{row.client_id}\n{row.address}", wants=150),
        Column("language", "Client", _client_text, width=124, gives_way=1),
        number_column("queues", "Queues", lambda row: row.queues, known=True, width=68),
        Column("threads", "Threads", lambda row: count_text(row.info.threads) if row.info else UNKNOWN,
               sort=lambda row: row.info.threads if row.info else None, tip=_told_tip, right=True, width=70),
        Column("time", "Consume", lambda row: milliseconds_text(row.info.consume_ms) if row.info else UNKNOWN,
               sort=lambda row: row.info.consume_ms if row.info else None, tip=_told_tip, right=True, width=76),
        Column("out", "OK /s", lambda row: rate_number(row.info.consumed_rate) if row.info else UNKNOWN,
               sort=lambda row: row.info.consumed_rate if row.info else None, tip=_told_tip, right=True, width=66),
        Column("failed", "Failed /s", lambda row: rate_number(row.info.failed_rate) if row.info else UNKNOWN,
               sort=lambda row: row.info.failed_rate if row.info else None, state=_failed_state, tip=_told_tip, right=True,
               width=72),
        Column("held", "Held", lambda row: count_text(row.info.held_messages) if row.info else UNKNOWN,
               sort=lambda row: row.info.held_messages if row.info else None, tip=_told_tip, right=True, width=60),
        Column("heartbeat", "Heartbeat", _heartbeat_text, sort=lambda row: known_number(row.last_heartbeat_ms),
               tip=lambda row: _heartbeat_tip(row, times), right=True, dim=True, width=86),
    ]  # fmt: skip


def owner_text(row: PositionRow | TopicQueueRow) -> str:
    """The owner of a queue, “nobody”, or a dash where it is unknown."""
    return UNKNOWN if row.owner is None else row.owner or tr("nobody")


def _owner_tip(row: PositionRow) -> str:
    return tr("The broker does not report who owns a queue, and no client reports that it does") if row.owner is None else ""


def _heartbeat_text(row: MemberRow) -> str:
    if row.last_heartbeat_ms < 0:
        return UNKNOWN
    return tr("{age} ago", age=duration_text(max(0, row.now_ms - row.last_heartbeat_ms)))


def _heartbeat_tip(row: MemberRow, times: TimeZoneChoice) -> str:
    if row.last_heartbeat_ms < 0:
        return tr("Brokers of an attached cluster do not report when a client sent a heartbeat")
    return times.full(row.last_heartbeat_ms)


def _client_text(row: MemberRow) -> str:
    over = GRPC if row.protocol == GRPC else ""
    return f"{language_text(row.language)} {version_text(row.version)} {over}".strip() or UNKNOWN


def subscription_columns() -> list[Column[SubscriptionRow]]:
    return [
        Column("topic", "Topic", lambda row: row.topic, kind=CellKind.STRONG, width=180),
        Column("client", "Client ID", lambda row: row.client_id, kind=CellKind.MONO),
        Column("expression", "Filter", _expression_text, state=_difference, width=120),
        Column("note", "Agreement", _agreement_text, kind=CellKind.CHIP, state=_agreement, width=120),
    ]  # fmt: skip


def finding_words(finding: MemberFinding) -> tuple[str, str]:
    """Title and consequence of a finding on a group's members."""
    clients = "; ".join(f"{client}: {said or tr('nothing')}" for client, said in finding.clients[:CLIENTS_NAMED])
    match finding.kind:
        case FindingKind.TOPICS_DIFFER:
            return tr("Members subscribe to different topics: {topic}", topic=finding.topic), tr(
                "{clients}. Queues of {topic} are given to members that do not read it, so their messages stay; each heartbeat "
                "starts a rebalance.",
                clients=clients,
                topic=finding.topic,
            )
        case FindingKind.FILTERS_DIFFER:
            return tr("Members filter differently: {topic}", topic=finding.topic), tr(
                "{clients}. The broker uses one filter for all, and members drop what is not theirs: messages are skipped.",
                clients=clients,
            )
        case FindingKind.NOTHING_SUBSCRIBED:
            names = ", ".join(client for client, _ in finding.clients[:CLIENTS_NAMED])
            return tr("Members subscribe to nothing"), tr("{clients} take part in the group and read nothing.", clients=names)
        case FindingKind.TWO_PROTOCOLS:
            return tr("Members use gRPC and remoting"), tr(
                "{clients}. Clients of gRPC pop and the others pull, each kind with its own progress: a message may be "
                "consumed twice.",
                clients=clients,
            )
        case FindingKind.MAY_BE_BLOCKED:
            return tr("A member may be blocked: {topic}", topic=finding.topic), tr(
                "{clients}: messages wait in these queues of it, and none was consumed for more than 60 s.", clients=clients
            )
        case FindingKind.NOT_LOCKED:
            return tr("Queues are not locked: {topic}", topic=finding.topic), tr(
                "{clients}: an orderly member reads these queues only when it has locked them.", clients=clients
            )


def _agreement_text(row: SubscriptionRow) -> str:
    if not row.told:
        return tr("not asked yet")
    return tr("differs") if row.differs else tr("same")


def _agreement(row: SubscriptionRow) -> State:
    if not row.told:
        return State.IDLE
    return State.WARNING if row.differs else State.HEALTHY


def _failed_state(row: MemberRow) -> State | None:
    return State.RETRY if row.info is not None and row.info.failed_rate > 0 else None


def _told_tip(row: MemberRow) -> str:
    if row.info is not None:
        return tr("As the client reported it within the last 30 s")
    return row.fault or tr("Asking the client…")


def _difference(row: SubscriptionRow) -> State | None:
    return State.WARNING if row.differs else None


def _expression_text(row: SubscriptionRow) -> str:
    return row.expression or tr("not subscribed")


def _trend_state(row: GroupRow) -> State | None:
    if row.offline:
        return State.IDLE
    return State.WARNING if row.over_limit else None


def _lag_state(row: PositionRow) -> State | None:
    return standing_state(row) or (State.WARNING if row.over_limit else None)

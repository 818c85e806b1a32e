"""Columns of the tables on the Topic page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gui.models.consumers import GroupRow
from gui.models.table import CellKind, Column, known_number, number_column
from gui.models.topic_queues import RouteRow, TopicQueueRow
from gui.theme.tokens import State
from gui.views.consumers.columns import owner_text, standing_state, standing_text
from gui.views.topics.columns import writes_text
from gui.views.topics.detail import permission_text
from gui.words.amounts import online_text
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, QueueText, TimeZoneChoice, bytes_text, duration_text, rate_number, tr

EMBEDDED_ONLY = frozenset({"span", "disk"})
"""Columns that an attached cluster cannot fill."""


def topic_queue_columns(
    times: TimeZoneChoice,
    queue_text: QueueText,
    now_ms: Callable[[], int],
    rates: Callable[[TopicQueueRow], Sequence[float] | None],
) -> list[Column[TopicQueueRow]]:
    """Columns of the queue table; times leave out today's date."""
    return [
        number_column("queue", "Queue", lambda row: row.queue_id, queue_text, kind=CellKind.STRONG, width=76),
        number_column("min", "Min offset", lambda row: row.min_offset, known=True, width=96, gives_way=4),
        number_column("max", "Max offset", lambda row: row.max_offset, known=True, width=100),
        number_column("messages", "Messages", lambda row: row.messages, known=True, width=96, gives_way=1),
        number_column("span", "Retained span", lambda row: row.span_ms, duration_text, known=True,
                      tip=lambda row: tr("Oldest message {oldest}, newest {newest}", oldest=times.full(row.oldest_ms),
                                         newest=times.full(row.last_store_ms)),
                      width=108, gives_way=3),
        Column("disk", "On disk", lambda row: f"≈ {bytes_text(row.bytes)}" if row.is_estimate else bytes_text(row.bytes),
               sort=lambda row: known_number(row.bytes), right=True, width=96, gives_way=5),
        number_column("in", "In /s", lambda row: row.put_rate, rate_number, kind=CellKind.STRONG, width=72),
        Column("spark", "15 min", writes_text,
               sort=lambda row: row.put_rate, kind=CellKind.SPARKLINE, value=rates, width=84, gives_way=2),
        number_column("group", "Group offset", lambda row: row.group_offset, known=True, state=standing_state,
                      tip=standing_text, width=104),
        number_column("lag", "Lag", lambda row: row.lag_messages, state=standing_state, tip=standing_text, width=76),
        Column("last", "Last write", lambda row: times.shown(row.last_store_ms, now_ms()),
               sort=lambda row: known_number(row.last_store_ms), right=True, dim=True, width=112),
        Column("owner", "Owner", _owner_text, kind=CellKind.MONO, dim=True),
    ]  # fmt: skip


def topic_consumer_columns(
    lag: Callable[[GroupRow], float], behind: Callable[[GroupRow], float], state: Callable[[GroupRow], tuple[str, State]]
) -> list[Column[GroupRow]]:
    """Columns of the table of groups; ``behind`` is in ms."""
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG),
        number_column("lag", "Lag", lag, state=lambda row: State.WARNING if row.over_limit else None, width=110),
        number_column("behind", "Behind", behind, duration_text, width=100),
        number_column("out", "Out /s", lambda row: row.out_rate, rate_number,
                      tip=lambda _row: tr("Of all topics of the group"), width=90),
        number_column("members", "Members", lambda row: row.members, online_text, width=100),
        Column("state", "State", lambda row: state(row)[0], kind=CellKind.CHIP, state=lambda row: state(row)[1], width=170),
    ]  # fmt: skip


def route_columns(fault_of: Callable[[RouteRow], str]) -> list[Column[RouteRow]]:
    """``fault_of`` returns why a broker does not answer: a route that was read before it was lost lists it, too."""
    return [
        Column("broker", "Broker", lambda row: row.broker_name, kind=CellKind.STRONG),
        Column("cluster", "Cluster", lambda row: row.cluster or UNKNOWN),
        Column("role", "Role", lambda row: _role(row.broker_id), width=120),
        Column("address", "Address", lambda row: row.address or UNKNOWN, kind=CellKind.MONO, width=220),
        number_column("write", "Write queues", lambda row: row.write_queues, str, width=120),
        number_column("read", "Read queues", lambda row: row.read_queues, str, width=120),
        Column("permission", "Permission", lambda row: permission_text(row.permission), width=160),
        Column("answers", "Answers",
               lambda row: broker_text(fault_of(row)) or (tr("yes") if row.broker_id == 0 else UNKNOWN),
               state=lambda row: State.WARNING if fault_of(row) else None, width=220),
    ]  # fmt: skip


def _role(broker_id: int) -> str:
    if broker_id < 0:
        return UNKNOWN
    return tr("master") if broker_id == 0 else tr("replica {number}", number=broker_id)


def _owner_text(row: TopicQueueRow) -> str:
    return owner_text(row) if row.group_offset >= 0 else UNKNOWN

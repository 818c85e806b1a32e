"""Columns of the tables on the Topic page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gui.models.consumers import GroupRow
from gui.models.table import CellKind, Column
from gui.models.topic_queues import RouteRow, TopicQueueRow
from gui.theme.tokens import State
from gui.views.topics.detail import permission_text
from gui.words.amounts import online_text
from gui.words.text import UNKNOWN, TimeZoneChoice, bytes_text, count_text, duration_text, rate_number, tr


def topic_queue_columns(
    times: TimeZoneChoice, now_ms: Callable[[], int], rates: Callable[[TopicQueueRow], Sequence[float] | None]
) -> list[Column[TopicQueueRow]]:
    """Columns of the queue table.

    Args:
        times: Zone of the times.
        now_ms: The broker's clock, to leave out today's date.
        rates: The sparkline of a queue, None for no writes.
    """
    return [
        Column("queue", "Queue", lambda row: str(row.queue_id), sort=lambda row: row.queue_id, kind=CellKind.STRONG, right=True,
               width=76),
        Column("min", "Min offset", lambda row: count_text(row.min_offset), sort=lambda row: _known(row.min_offset), right=True,
               width=96, gives_way=4),
        Column("max", "Max offset", lambda row: count_text(row.max_offset), sort=lambda row: _known(row.max_offset), right=True,
               width=100),
        Column("messages", "Messages", lambda row: count_text(row.messages), sort=lambda row: _known(row.messages), right=True,
               width=96, gives_way=1),
        Column("span", "Retained span", lambda row: duration_text(row.span_ms), sort=lambda row: _known(row.span_ms),
               tip=lambda row: tr("Oldest message {oldest}, newest {newest}", oldest=times.full(row.oldest_ms),
                                  newest=times.full(row.last_store_ms)),
               right=True, width=108, gives_way=3),
        Column("disk", "On disk", lambda row: f"≈ {bytes_text(row.bytes)}" if row.is_estimate else bytes_text(row.bytes),
               sort=lambda row: _known(row.bytes), right=True, width=96, gives_way=5),
        Column("in", "In /s", lambda row: rate_number(row.put_rate), sort=lambda row: row.put_rate, kind=CellKind.STRONG,
               right=True, width=72),
        Column("spark", "15 min", lambda row: tr("no writes") if row.put_rate == 0 else rate_number(row.put_rate),
               sort=lambda row: row.put_rate, kind=CellKind.SPARKLINE, value=rates, width=84, gives_way=2),
        Column("group", "Group offset", lambda row: count_text(row.group_offset), sort=lambda row: _known(row.group_offset),
               right=True, width=104),
        Column("lag", "Lag", lambda row: count_text(row.lag_messages), sort=lambda row: row.lag_messages, right=True, width=76),
        Column("last", "Last write", lambda row: times.shown(row.last_store_ms, now_ms()),
               sort=lambda row: _known(row.last_store_ms), right=True, dim=True, width=112),
        Column("owner", "Owner", lambda row: row.owner or UNKNOWN, kind=CellKind.MONO, dim=True),
    ]  # fmt: skip


def topic_consumer_columns(
    lag: Callable[[GroupRow], float], behind: Callable[[GroupRow], float], state: Callable[[GroupRow], tuple[str, State]]
) -> list[Column[GroupRow]]:
    """Columns of the table of groups.

    Args:
        lag: Of a group on this topic.
        behind: Of a group on this topic, ms.
        state: Word and colour of a group's state.
    """
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG),
        Column("lag", "Lag", lambda row: count_text(lag(row)), sort=lag,
               state=lambda row: State.WARNING if row.over_limit else None, right=True, width=110),
        Column("behind", "Behind", lambda row: duration_text(behind(row)), sort=behind, right=True, width=100),
        Column("out", "Out /s", lambda row: rate_number(row.got_rate), sort=lambda row: row.got_rate,
               tip=lambda _row: tr("Of all topics of the group"), right=True, width=90),
        Column("members", "Members", lambda row: online_text(row.members),
               sort=lambda row: row.members, right=True, width=100),
        Column("state", "State", lambda row: state(row)[0], kind=CellKind.CHIP, state=lambda row: state(row)[1], width=170),
    ]  # fmt: skip


def route_columns() -> list[Column[RouteRow]]:
    """Columns of the route table."""
    return [
        Column("broker", "Broker", lambda row: row.broker_name, kind=CellKind.STRONG),
        Column("cluster", "Cluster", lambda row: row.cluster or UNKNOWN),
        Column("role", "Role", lambda row: _role(row.broker_id), width=120),
        Column("address", "Address", lambda row: row.address or UNKNOWN, kind=CellKind.MONO, width=220),
        Column("write", "Write queues", lambda row: str(row.write_queues), sort=lambda row: row.write_queues, right=True,
               width=120),
        Column("read", "Read queues", lambda row: str(row.read_queues), sort=lambda row: row.read_queues, right=True,
               width=120),
        Column("permission", "Permission", lambda row: permission_text(row.permission), width=160),
    ]  # fmt: skip


def _role(broker_id: int) -> str:
    if broker_id < 0:
        return UNKNOWN
    return tr("master") if broker_id == 0 else tr("replica {number}", number=broker_id)


def _known(value: int) -> int | None:
    return value if value >= 0 else None

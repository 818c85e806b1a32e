"""Columns of the tables on the Topics page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gui.models.table import CellKind, Column
from gui.models.topics import QueueRow, TopicGroupRow, TopicHealth, TopicRow
from gui.text import UNKNOWN, TimeZoneChoice, bytes_text, count_text, duration_text, rate_number, tr
from gui.theme.tokens import State

NOW_MS = 100
YOUR_TOPICS, SYSTEM_TOPICS = "Your topics", "System topics"

_HEALTH_STATES = {
    TopicHealth.ACTIVE: State.HEALTHY,
    TopicHealth.IDLE: State.IDLE,
    TopicHealth.LAGGING: State.WARNING,
}


def topic_section(row: TopicRow) -> str:
    """Heading under which a topic stands."""
    return SYSTEM_TOPICS if row.is_system else YOUR_TOPICS


def topic_columns(put_rates: Callable[[TopicRow], Sequence[float] | None]) -> list[Column[TopicRow]]:
    """Columns of the topic table.

    Args:
        put_rates: The sparkline of a topic, None for nothing written; asked only for rows that are painted.
    """
    return [
        Column("topic", "Topic", lambda row: row.name, kind=CellKind.STRONG, dot=lambda row: _HEALTH_STATES[row.health]),
        Column(
            "queues",
            "Queues W / R",
            lambda row: f"{row.write_queues} / {row.read_queues}",
            sort=lambda row: (row.write_queues, row.read_queues),
            right=True,
            width=110,
        ),
        Column(
            "in",
            "In /s",
            lambda row: rate_number(row.put_rate),
            sort=lambda row: row.put_rate,
            kind=CellKind.STRONG,
            right=True,
            width=80,
        ),
        Column("spark", "15 min", _writes_text, sort=lambda row: row.put_rate, kind=CellKind.SPARKLINE,
               value=put_rates, width=104),
        Column(
            "size",
            "Avg size",
            lambda row: bytes_text(row.average_bytes),
            sort=lambda row: row.average_bytes,
            tip=lambda _row: tr("Body size of what was written since the broker started"),
            right=True,
            width=90,
        ),
        Column(
            "kept",
            "Messages kept",
            lambda row: count_text(row.kept_messages),
            sort=lambda row: _known(row.kept_messages),
            right=True,
            width=120,
        ),
        Column("group", "Slowest group", lambda row: row.slowest_group or UNKNOWN, dim=True, width=160),
        Column(
            "lag",
            "Lag",
            lambda row: count_text(row.lag_messages),
            sort=lambda row: row.lag_messages,
            state=lambda row: State.WARNING if row.health is TopicHealth.LAGGING else None,
            right=True,
            width=90,
        ),
        Column(
            "last",
            "Last write",
            age_text,
            sort=lambda row: _known(row.age_ms),
            right=True,
            dim=True,
            width=100,
        ),
    ]  # fmt: skip


def queue_columns(times: TimeZoneChoice, now_ms: Callable[[], int]) -> list[Column[QueueRow]]:
    """Columns of the queue table. ``now_ms`` is the broker's clock, to leave out today's date."""
    return [
        Column("queue", "Queue", lambda row: str(row.queue_id), sort=lambda row: row.queue_id, right=True, width=64),
        Column(
            "min", "Min offset", lambda row: count_text(row.min_offset), sort=lambda row: row.min_offset, right=True, width=92
        ),
        Column(
            "max", "Max offset", lambda row: count_text(row.max_offset), sort=lambda row: row.max_offset, right=True, width=92
        ),
        Column("messages", "Messages", lambda row: count_text(row.messages), sort=lambda row: _known(row.messages), right=True),
        Column("in", "In /s", lambda row: rate_number(row.put_rate), sort=lambda row: row.put_rate, right=True, width=64),
        Column(
            "last",
            "Last write",
            lambda row: times.shown(row.last_store_ms, now_ms()),
            sort=lambda row: _known(row.last_store_ms),
            right=True,
            dim=True,
            width=116,
        ),
    ]


def group_columns() -> list[Column[TopicGroupRow]]:
    """Columns of the table of groups on a topic."""
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG),
        Column("lag", "Lag", lambda row: count_text(row.lag_messages), sort=lambda row: row.lag_messages, right=True, width=62),
        Column(
            "behind", "Behind", lambda row: duration_text(row.behind_ms), sort=lambda row: row.behind_ms, right=True, width=62
        ),
        Column("clients", "Clients", members_text, sort=lambda row: row.members, right=True, dim=True, width=64),
    ]


def age_text(row: TopicRow) -> str:
    """Time since the last write of a topic."""
    return tr("now") if 0 <= row.age_ms < NOW_MS else duration_text(row.age_ms)


def members_text(row: TopicGroupRow) -> str:
    """How many clients of a group are online."""
    return tr("offline") if row.members <= 0 else str(row.members)


def _writes_text(row: TopicRow) -> str:
    if row.put_rate > 0:
        return rate_number(row.put_rate)
    if math.isnan(row.put_rate):
        return UNKNOWN
    return tr("no writes")


def _known(value: int) -> int | None:
    return value if value >= 0 else None

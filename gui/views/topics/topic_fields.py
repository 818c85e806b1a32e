"""Conditions of the filter of the Topics page: ``type:FIFO lag>1000 group:settle``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gui.models.row_filter import RowField, WordKind
from gui.models.topics import TopicRow
from gui.views.topics.columns import TopicColumnSources
from gui.words.text import tr
from monitoring.admin.topics import TopicType


def topic_fields(sources: TopicColumnSources, groups: Callable[[], Sequence[str]]) -> list[RowField[TopicRow]]:
    """The fields, in the order of the columns.

    Args:
        sources: Facts of topics beside their rows.
        groups: Returns the names of all groups.
    """

    def disk(row: TopicRow) -> float:
        measure = sources.measure(row)
        return float("nan") if measure is None else measure.bytes

    return [
        RowField("name", "Topic", WordKind.TEXT, lambda row: (row.name,)),
        RowField("type", "Type", WordKind.TEXT, lambda row: type_words(sources.topic_type(row)),
                 lambda: [kind.value for kind in TopicType]),
        RowField("queues", "Write queues", WordKind.COUNT, lambda row: row.write_queues, lambda: ["4", "8", "16"]),
        RowField("in", "In /s", WordKind.COUNT, lambda row: row.put_rate, lambda: ["0", "10", "100", "1k"]),
        RowField("size", "Avg size", WordKind.SIZE, lambda row: row.average_bytes, lambda: ["1KiB", "64KiB", "1MiB"]),
        RowField("kept", "Messages kept", WordKind.COUNT, lambda row: row.kept_messages, lambda: ["0", "1k", "1m"]),
        RowField("group", "Group", WordKind.TEXT, lambda row: [name for name, _lag in sources.groups(row)], groups),
        RowField("lag", "Lag", WordKind.COUNT, lambda row: row.lag_messages, lambda: ["0", "1000", "15k"]),
        RowField("disk", "On disk", WordKind.SIZE, disk, lambda: ["10MiB", "100MiB", "1GiB"]),
        RowField("idle", "Last write", WordKind.TIME, lambda row: row.age_ms, lambda: ["1m", "1h", "1d"]),
    ]  # fmt: skip


def type_words(kind: TopicType | None) -> tuple[str, ...]:
    """Names of a type in English and in the language of the window; empty while unknown."""
    return () if kind is None else (kind.value, tr(kind.value))

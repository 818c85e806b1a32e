"""Columns of the live tail."""

from __future__ import annotations

from gui.models.table import CellKind, Column
from gui.models.tail_rows import TailRow
from gui.words.text import UNKNOWN, TimeZoneChoice, count_text, tr


def tail_columns(times: TimeZoneChoice) -> list[Column[TailRow]]:
    """Columns of the table of arrivals."""
    return [
        Column(
            "stored",
            "Stored",
            lambda row: times.clock(row.store_ms),
            tip=lambda row: tr("Stored {stored}, born {born}", stored=times.full(row.store_ms), born=times.full(row.born_ms)),
            width=112,
        ),
        Column("topic", "Topic", lambda row: row.topic, width=198),
        Column("queue", "Queue", lambda row: str(row.queue_id), right=True, width=76),
        Column("offset", "Offset", lambda row: count_text(row.queue_offset), right=True, width=92),
        Column("tag", "Tag", lambda row: row.tag or UNKNOWN, width=112),
        Column("key", "Key", lambda row: row.keys or UNKNOWN, kind=CellKind.MONO, width=172),
        Column("body", "Body", lambda row: row.body_text, kind=CellKind.CODE, dim=True),
        Column("bytes", "Bytes", lambda row: count_text(row.body_bytes), right=True, width=76),
    ]

"""Columns of the Store page's tables."""

from __future__ import annotations

from gui.models.store import CleaningRow, IndexRow, QueueTopicRow
from gui.models.table import CellKind, Column
from gui.theme.tokens import State
from gui.words.text import TimeZoneChoice, bytes_exact_text, bytes_text, count_text, short_count_text, tr

TRIGGER_NAMES = {
    "deleteWhen": "hour of deleteWhen",
    "diskMaxUsedSpaceRatio": "disk too full",
    "manual": "by hand",
}


def queue_columns() -> list[Column[QueueTopicRow]]:
    """Consume queues by topic."""
    return [
        Column("topic", "Topic", lambda row: row.topic, kind=CellKind.STRONG),
        Column("queues", "Queues", lambda row: str(row.queues), sort=lambda row: row.queues, right=True, width=68),
        Column(
            "entries", "Entries", lambda row: count_text(row.entries), sort=lambda row: row.entries, right=True, width=96
        ),
        Column(
            "behind",
            "Behind",
            lambda row: count_text(row.behind),
            sort=lambda row: row.behind,
            tip=lambda _row: tr("Entries in memory that are not in the files yet"),
            right=True,
            width=62,
        ),
        Column("size", "Size", lambda row: bytes_text(row.size), sort=lambda row: row.size,
               tip=lambda row: bytes_exact_text(row.size), right=True, width=84),
    ]  # fmt: skip


def index_columns(times: TimeZoneChoice) -> list[Column[IndexRow]]:
    """Index files."""
    return [
        Column("name", "File", lambda row: row.name, kind=CellKind.MONO),
        Column(
            "entries",
            "Entries",
            lambda row: tr(
                "{entries} of {capacity}", entries=short_count_text(row.entries), capacity=short_count_text(row.capacity)
            ),
            sort=lambda row: row.entries,
            tip=lambda row: tr("{entries} of {capacity}", entries=count_text(row.entries), capacity=count_text(row.capacity)),
            right=True,
            width=116,
        ),
        Column(
            "range",
            "Range",
            lambda row: _range_text(row, times),
            sort=lambda row: row.begin_ms,
            tip=lambda row: f"{times.full(row.begin_ms)} – {times.full(row.end_ms)}",
            right=True,
            dim=True,
            width=112,
        ),
    ]


def cleaning_columns(times: TimeZoneChoice) -> list[Column[CleaningRow]]:
    """Runs of cleaning."""
    return [
        Column("at", "Time", lambda row: times.minutes(row.at_ms), sort=lambda row: row.at_ms,
               tip=lambda row: times.full(row.at_ms), width=150),
        Column("trigger", "Why", lambda row: tr(TRIGGER_NAMES.get(row.trigger, row.trigger))),
        Column("files", "Files", _files_text, sort=lambda row: row.log_files, tip=_cleaning_tip,
               state=lambda row: State.CRITICAL if row.error else None, right=True, width=64),
        Column("freed", "Freed", lambda row: bytes_text(row.log_bytes), sort=lambda row: row.log_bytes, right=True, width=78),
    ]  # fmt: skip


def _range_text(row: IndexRow, times: TimeZoneChoice) -> str:
    if row.entries == 0:
        return tr("empty")
    return f"{times.seconds(row.begin_ms)[:5]} – {times.seconds(row.end_ms)[:5]}"


def _files_text(row: CleaningRow) -> str:
    return tr("failed") if row.error else count_text(row.log_files)


def _cleaning_tip(row: CleaningRow) -> str:
    return row.error or tr(
        "{log} commit log, {queue} consume queue and {index} index files",
        log=row.log_files,
        queue=row.queue_files,
        index=row.index_files,
    )

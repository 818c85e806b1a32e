from __future__ import annotations

from collections import Counter

import pyarrow as pa

from spark_reports.datasource.plan import FileRange
from spark_reports.datasource.schema import SKIPPED_REASON, SKIPPED_ROWS

OUTSIDE_RANGE = "outside the time range"
OTHER_TOPIC = "of another topic"
FILE_REMOVED = "file was removed by the broker's cleaning while it was read"


class SkippedRows:
    """Records that a task read and left out: damaged places one by one, records of each other reason as a sum."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.damage: list[tuple[str, int, str, int]] = []
        self.unread: Counter[tuple[str | None, str]] = Counter()

    def add(self, reason: str, rows: int, byte_count: int) -> None:
        """Count records that were left out."""
        if rows:
            self.rows[reason] += rows
            self.bytes[reason] += byte_count

    def add_damage(self, part: FileRange, position: int, reason: str, byte_count: int) -> None:
        """Count a place that could not be read."""
        self.damage.append((part.store, part.base_offset + position, reason, byte_count))

    def add_unread(self, store: str | None, reason: str, messages: int) -> None:
        """Count messages that were not received; their bytes are unknown."""
        self.unread[store, reason] += messages

    def batch(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """Accounting rows, or None if nothing was left out."""
        rows = [
            {"store": store, "physical_offset": offset, SKIPPED_REASON: reason, SKIPPED_ROWS: 1, "skipped_bytes": byte_count}
            for store, offset, reason, byte_count in self.damage
        ]
        rows += [
            {SKIPPED_REASON: reason, SKIPPED_ROWS: count, "skipped_bytes": self.bytes[reason]}
            for reason, count in self.rows.items()
        ]
        rows += [
            {"store": store, SKIPPED_REASON: reason, SKIPPED_ROWS: count, "skipped_bytes": 0}
            for (store, reason), count in self.unread.items()
        ]
        return pa.RecordBatch.from_pylist(rows, schema=schema) if rows else None

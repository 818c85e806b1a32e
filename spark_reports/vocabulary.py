"""The columns of result tables: their headings and units.

One list for all reports, so that a column of one name means the same on the page, in the window and in files. Imports
neither Spark nor Arrow.
"""

from __future__ import annotations

from enum import StrEnum


class ValueUnit(StrEnum):
    """Unit of a column's values."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    TIME = "time"
    SHARE = "share"  # 0 … 1, written in percent
    RATE = "rate"  # per second
    DURATION = "duration"  # milliseconds
    RATIO = "ratio"  # a plain figure with decimals


COLUMNS: dict[str, tuple[str, ValueUnit]] = {
    "minute": ("Minute", ValueUnit.TIME),
    "day": ("Day", ValueUnit.TIME),
    "weekday": ("Weekday", ValueUnit.TEXT),
    "hour": ("Hour", ValueUnit.TEXT),
    "store": ("Store", ValueUnit.TEXT),
    "topic": ("Topic", ValueUnit.TEXT),
    "topics": ("Topics", ValueUnit.COUNT),
    "kind": ("Kind", ValueUnit.TEXT),
    "tag": ("Tag", ValueUnit.TEXT),
    "group": ("Group", ValueUnit.TEXT),
    "host": ("Host", ValueUnit.TEXT),
    "level": ("Level", ValueUnit.TEXT),
    "key": ("Key", ValueUnit.TEXT),
    "keys": ("Keys", ValueUnit.TEXT),
    "unique_key": ("Unique key", ValueUnit.TEXT),
    "property": ("Property", ValueUnit.TEXT),
    "example": ("Example", ValueUnit.TEXT),
    "outcome": ("Outcome", ValueUnit.TEXT),
    "cause": ("Cause", ValueUnit.TEXT),
    "age": ("Age", ValueUnit.TEXT),
    "size": ("Size", ValueUnit.TEXT),
    "step": ("Step", ValueUnit.TEXT),
    "state": ("State", ValueUnit.TEXT),
    "sameness": ("Same", ValueUnit.TEXT),
    "skew": ("Clock", ValueUnit.TEXT),
    "owner": ("Owner", ValueUnit.TEXT),
    "owner_before": ("Owner before", ValueUnit.TEXT),
    "action": ("Action", ValueUnit.TEXT),
    "subject": ("Subject", ValueUnit.TEXT),
    "details": ("Details", ValueUnit.TEXT),
    "text": ("What happened", ValueUnit.TEXT),
    "queue_id": ("Queue", ValueUnit.COUNT),
    "queues": ("Queues", ValueUnit.COUNT),
    "queue_offset": ("Queue offset", ValueUnit.COUNT),
    "offset_first": ("First offset", ValueUnit.COUNT),
    "offset_last": ("Last offset", ValueUnit.COUNT),
    "offsets_missing": ("Offsets missing", ValueUnit.COUNT),
    "physical_offset": ("Physical offset", ValueUnit.COUNT),
    "attempt": ("Attempt", ValueUnit.COUNT),
    "attempts": ("Attempts", ValueUnit.COUNT),
    "checks": ("Checks", ValueUnit.COUNT),
    "copies": ("Copies", ValueUnit.COUNT),
    "extra_copies": ("Extra copies", ValueUnit.COUNT),
    "listed": ("Listed", ValueUnit.COUNT),
    "list_row": ("Row of the list", ValueUnit.COUNT),
    "retried": ("Retries", ValueUnit.COUNT),
    "messages": ("Messages", ValueUnit.COUNT),
    "messages_before": ("Before", ValueUnit.COUNT),
    "messages_change": ("Change", ValueUnit.COUNT),
    "keyed": ("With key", ValueUnit.COUNT),
    "largest": ("Of the fullest", ValueUnit.COUNT),
    "silent": ("Silent queues", ValueUnit.COUNT),
    "skewness": ("Fullest by mean", ValueUnit.RATIO),
    "delivered": ("Delivered", ValueUnit.COUNT),
    "waiting": ("Waiting", ValueUnit.COUNT),
    "cancelled": ("Cancelled", ValueUnit.COUNT),
    "early": ("Early", ValueUnit.COUNT),
    "late": ("Late", ValueUnit.COUNT),
    "subscribers": ("Subscribed by", ValueUnit.COUNT),
    "transactions": ("Transactions", ValueUnit.COUNT),
    "committed": ("Committed", ValueUnit.COUNT),
    "rolled_back": ("Rolled back", ValueUnit.COUNT),
    "given_up": ("Given up", ValueUnit.COUNT),
    "undecided": ("Undecided", ValueUnit.COUNT),
    "reached": ("Reached", ValueUnit.COUNT),
    "last_seen": ("Last seen here", ValueUnit.COUNT),
    "dead": ("Dead letters", ValueUnit.COUNT),
    "repeats": ("Repeats", ValueUnit.COUNT),
    "groups": ("Cases", ValueUnit.COUNT),
    "producers": ("Producers", ValueUnit.COUNT),
    "hosts": ("Hosts", ValueUnit.COUNT),
    "distinct_values": ("Distinct values", ValueUnit.COUNT),
    "changes": ("Changes", ValueUnit.COUNT),
    "owners": ("Owners", ValueUnit.COUNT),
    "samples": ("Samples", ValueUnit.COUNT),
    "times": ("Times", ValueUnit.COUNT),
    "failed": ("Failed", ValueUnit.COUNT),
    "lag_avg": ("Lag, average", ValueUnit.RATIO),
    "lag_max": ("Lag, largest", ValueUnit.COUNT),
    "beyond_max": ("Beyond the end", ValueUnit.COUNT),
    "lost_max": ("Lost unread", ValueUnit.COUNT),
    "lag_before": ("Lag before", ValueUnit.COUNT),
    "lag_last": ("Lag at the end", ValueUnit.COUNT),
    "within_share": ("Service level", ValueUnit.SHARE),
    "share": ("Share", ValueUnit.SHARE),
    "queue_share": ("Of its queue", ValueUnit.SHARE),
    "relative_change": ("Relative", ValueUnit.SHARE),
    "saved_share": ("Would shrink by", ValueUnit.SHARE),
    "gini": ("Gini", ValueUnit.RATIO),
    "body_bytes": ("Bodies", ValueUnit.BYTES),
    "store_bytes": ("Stored size", ValueUnit.BYTES),
    "store_bytes_before": ("Stored before", ValueUnit.BYTES),
    "body_bytes_avg": ("Body, average", ValueUnit.BYTES),
    "body_bytes_p50": ("Body, median", ValueUnit.BYTES),
    "body_bytes_p99": ("Body, 99 %", ValueUnit.BYTES),
    "body_bytes_max": ("Body, largest", ValueUnit.BYTES),
    "store_bytes_max": ("Record, largest", ValueUnit.BYTES),
    "overhead_bytes": ("Beside bodies", ValueUnit.BYTES),
    "compressed_bytes": ("Compressed", ValueUnit.BYTES),
    "p50_ms": ("Median", ValueUnit.DURATION),
    "p90_ms": ("90 %", ValueUnit.DURATION),
    "p99_ms": ("99 %", ValueUnit.DURATION),
    "min_ms": ("Shortest", ValueUnit.DURATION),
    "max_ms": ("Longest", ValueUnit.DURATION),
    "apart_ms": ("Apart", ValueUnit.DURATION),
    "silent_ms": ("Silent for", ValueUnit.DURATION),
    "sampled_ms": ("Sampled", ValueUnit.DURATION),
    "late_ms": ("Late for", ValueUnit.DURATION),
    "drain_ms": ("Drained in", ValueUnit.DURATION),
    "behind_max_ms": ("Behind, longest", ValueUnit.DURATION),
    "unowned_ms": ("Without owner", ValueUnit.DURATION),
    "length_ms": ("Length", ValueUnit.DURATION),
    "hour_time": ("Hour", ValueUnit.TIME),
    "peak_time": ("Peak", ValueUnit.TIME),
    "change_time": ("Changed at", ValueUnit.TIME),
    "time": ("Time", ValueUnit.TIME),
    "first_time": ("First", ValueUnit.TIME),
    "last_time": ("Last", ValueUnit.TIME),
    "store_time": ("Stored at", ValueUnit.TIME),
}
"""Column → heading and unit."""


_WORD_COLUMNS = frozenset(("weekday", "outcome", "age", "size", "state", "sameness", "step", "level"))
_FREE = "sql"
"""The report whose columns the user chooses."""


_KEYS = {"rolled_back": "rolled back", "given_up": "given up"}


def word_in_english(text: str) -> str:
    """A word of a word column for readers; other texts unchanged."""
    return _KEYS.get(text, text)


def is_free(report: str) -> bool:
    """Whether the user chooses the columns of a report."""
    return report == _FREE


def word_columns(report: str) -> frozenset[str]:
    """Columns of a report's tables that hold its own words, which are translated on display; files have the originals."""
    return frozenset() if is_free(report) else _WORD_COLUMNS


def title_of(column: str) -> str:
    """Heading of a column; its own name if the list does not have it."""
    return COLUMNS[column][0] if column in COLUMNS else column


def unit_of(column: str) -> ValueUnit:
    """Unit of a column; text if the list does not have it."""
    return COLUMNS[column][1] if column in COLUMNS else ValueUnit.TEXT

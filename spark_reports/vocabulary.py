"""The columns of result tables: what they are called and how their values are written.

One list for all reports, so that a column of one name means one thing on the page, in the window and in files. Imports
neither Spark nor Arrow.
"""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """How the values of a column are written."""

    TEXT = "text"
    COUNT = "count"
    BYTES = "bytes"
    TIME = "time"
    SHARE = "share"  # 0 … 1, written in percent
    RATE = "rate"  # per second
    DURATION = "duration"  # milliseconds
    RATIO = "ratio"  # a plain figure with decimals


COLUMNS: dict[str, tuple[str, Unit]] = {
    "minute": ("Minute", Unit.TIME),
    "day": ("Day", Unit.TIME),
    "weekday": ("Weekday", Unit.TEXT),
    "hour": ("Hour", Unit.TEXT),
    "store": ("Store", Unit.TEXT),
    "topic": ("Topic", Unit.TEXT),
    "topics": ("Topics", Unit.COUNT),
    "kind": ("Kind", Unit.TEXT),
    "tag": ("Tag", Unit.TEXT),
    "group": ("Group", Unit.TEXT),
    "host": ("Host", Unit.TEXT),
    "level": ("Level", Unit.TEXT),
    "key": ("Key", Unit.TEXT),
    "keys": ("Keys", Unit.TEXT),
    "unique_key": ("Unique key", Unit.TEXT),
    "property": ("Property", Unit.TEXT),
    "example": ("Example", Unit.TEXT),
    "outcome": ("Outcome", Unit.TEXT),
    "cause": ("Cause", Unit.TEXT),
    "age": ("Age", Unit.TEXT),
    "size": ("Size", Unit.TEXT),
    "step": ("Step", Unit.TEXT),
    "detail": ("Detail", Unit.TEXT),
    "period": ("Period", Unit.TEXT),
    "state": ("State", Unit.TEXT),
    "sameness": ("Same", Unit.TEXT),
    "skew": ("Clock", Unit.TEXT),
    "body_form": ("Body", Unit.TEXT),
    "owner": ("Owner", Unit.TEXT),
    "owner_before": ("Owner before", Unit.TEXT),
    "action": ("Action", Unit.TEXT),
    "subject": ("Subject", Unit.TEXT),
    "details": ("Details", Unit.TEXT),
    "text": ("What happened", Unit.TEXT),
    "queue_id": ("Queue", Unit.COUNT),
    "queues": ("Queues", Unit.COUNT),
    "queue_offset": ("Queue offset", Unit.COUNT),
    "offset_first": ("First offset", Unit.COUNT),
    "offset_last": ("Last offset", Unit.COUNT),
    "offsets_missing": ("Offsets missing", Unit.COUNT),
    "physical_offset": ("Physical offset", Unit.COUNT),
    "attempt": ("Attempt", Unit.COUNT),
    "attempts": ("Attempts", Unit.COUNT),
    "checks": ("Checks", Unit.COUNT),
    "copies": ("Copies", Unit.COUNT),
    "extra_copies": ("Extra copies", Unit.COUNT),
    "listed": ("Listed", Unit.COUNT),
    "list_row": ("Row of the list", Unit.COUNT),
    "retried": ("Retries", Unit.COUNT),
    "messages": ("Messages", Unit.COUNT),
    "messages_before": ("Before", Unit.COUNT),
    "messages_change": ("Change", Unit.COUNT),
    "messages_per_day": ("Messages a day", Unit.RATE),
    "keyed": ("With key", Unit.COUNT),
    "largest": ("Of the fullest", Unit.COUNT),
    "silent": ("Silent queues", Unit.COUNT),
    "skewness": ("Fullest by mean", Unit.RATIO),
    "delivered": ("Delivered", Unit.COUNT),
    "waiting": ("Waiting", Unit.COUNT),
    "cancelled": ("Cancelled", Unit.COUNT),
    "early": ("Early", Unit.COUNT),
    "late": ("Late", Unit.COUNT),
    "subscribers": ("Subscribed by", Unit.COUNT),
    "transactions": ("Transactions", Unit.COUNT),
    "committed": ("Committed", Unit.COUNT),
    "rolled_back": ("Rolled back", Unit.COUNT),
    "given_up": ("Given up", Unit.COUNT),
    "undecided": ("Undecided", Unit.COUNT),
    "reached": ("Reached", Unit.COUNT),
    "last_seen": ("Last seen here", Unit.COUNT),
    "dead": ("Dead letters", Unit.COUNT),
    "repeats": ("Repeats", Unit.COUNT),
    "groups": ("Cases", Unit.COUNT),
    "producers": ("Producers", Unit.COUNT),
    "hosts": ("Hosts", Unit.COUNT),
    "distinct_values": ("Distinct values", Unit.COUNT),
    "changes": ("Changes", Unit.COUNT),
    "owners": ("Owners", Unit.COUNT),
    "samples": ("Samples", Unit.COUNT),
    "times": ("Times", Unit.COUNT),
    "failed": ("Failed", Unit.COUNT),
    "lag_avg": ("Lag, average", Unit.RATIO),
    "lag_max": ("Lag, largest", Unit.COUNT),
    "lag_before": ("Lag before", Unit.COUNT),
    "lag_last": ("Lag at the end", Unit.COUNT),
    "within_share": ("Service level", Unit.SHARE),
    "share": ("Share", Unit.SHARE),
    "queue_share": ("Of its queue", Unit.SHARE),
    "relative_change": ("Relative", Unit.SHARE),
    "recovered_share": ("Recovered", Unit.SHARE),
    "saved_share": ("Would shrink by", Unit.SHARE),
    "gini": ("Gini", Unit.RATIO),
    "body_bytes": ("Bodies", Unit.BYTES),
    "store_bytes": ("Stored size", Unit.BYTES),
    "store_bytes_before": ("Stored before", Unit.BYTES),
    "body_bytes_avg": ("Body, average", Unit.BYTES),
    "body_bytes_p50": ("Body, median", Unit.BYTES),
    "body_bytes_p99": ("Body, 99 %", Unit.BYTES),
    "body_bytes_max": ("Body, largest", Unit.BYTES),
    "store_bytes_max": ("Record, largest", Unit.BYTES),
    "overhead_bytes": ("Beside bodies", Unit.BYTES),
    "compressed_bytes": ("Compressed", Unit.BYTES),
    "p50_ms": ("Median", Unit.DURATION),
    "p90_ms": ("90 %", Unit.DURATION),
    "p99_ms": ("99 %", Unit.DURATION),
    "min_ms": ("Shortest", Unit.DURATION),
    "max_ms": ("Longest", Unit.DURATION),
    "apart_ms": ("Apart", Unit.DURATION),
    "silent_ms": ("Silent for", Unit.DURATION),
    "sampled_ms": ("Sampled", Unit.DURATION),
    "late_ms": ("Late for", Unit.DURATION),
    "drain_ms": ("Drained in", Unit.DURATION),
    "behind_max_ms": ("Behind, longest", Unit.DURATION),
    "unowned_ms": ("Without owner", Unit.DURATION),
    "length_ms": ("Length", Unit.DURATION),
    "hour_time": ("Hour", Unit.TIME),
    "peak_time": ("Peak", Unit.TIME),
    "change_time": ("Changed at", Unit.TIME),
    "time": ("Time", Unit.TIME),
    "first_time": ("First", Unit.TIME),
    "last_time": ("Last", Unit.TIME),
    "store_time": ("Stored at", Unit.TIME),
}
"""Column → heading and unit."""


_WORD_COLUMNS = frozenset(("weekday", "outcome", "age", "size", "state", "sameness", "step", "level"))
_FREE = "sql"
"""The report whose columns may hold anything."""


_KEYS = {"rolled_back": "rolled back", "given_up": "given up"}


def word_in_english(text: str) -> str:
    """A word of a word column as people read it; any other text as it is."""
    return _KEYS.get(text, text)


def is_free(report: str) -> bool:
    """Whether the columns of a report's tables are those that its user asked for."""
    return report == _FREE


def word_columns(report: str) -> frozenset[str]:
    """Columns of a report's tables that hold its own words, to be translated where they are shown; files have them as such."""
    return frozenset() if is_free(report) else _WORD_COLUMNS


def title_of(column: str) -> str:
    """Heading of a column; its own name if the list does not have it."""
    return COLUMNS[column][0] if column in COLUMNS else column


def unit_of(column: str) -> Unit:
    """How a column's values are written; as text if the list does not have it."""
    return COLUMNS[column][1] if column in COLUMNS else Unit.TEXT

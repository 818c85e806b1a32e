"""Tables and columns that a query of the report ``sql`` can name, for an editor; imports no Spark.

Each figure of a table of samples has two more columns, its smallest and largest value within the interval: ``_min``, ``_max``.
"""

from __future__ import annotations

ENDS = ("", "_min", "_max")

MESSAGE_COLUMNS = (
    "store", "topic", "real_topic", "queue_id", "queue_offset", "physical_offset", "store_time", "born_time", "born_host",
    "store_host", "body_bytes", "store_bytes", "body_crc", "keys", "tag", "unique_key", "properties", "sys_flag", "flag",
    "delay_level", "reconsume_times", "prepared_offset", "kind", "retry_topic", "origin_id", "producer_group",
    "transaction_id", "check_times", "deliver_time", "ordering_key", "cancelled_key", "decided_offsets", "member_key",
    "real_queue_id", "roll_times", "body",
)  # fmt: skip


def _of_samples(names: str, figures: str) -> tuple[str, ...]:
    return (
        "store", "time", "step_ms", *names.split(),
        *(figure + end for figure in figures.split() for end in ENDS),
    )  # fmt: skip


SQL_TABLES: dict[str, tuple[str, ...]] = {
    "messages": MESSAGE_COLUMNS,
    "lag": _of_samples("group", "lag_messages behind_ms got_rate members lost_messages beyond_messages"),
    "positions": _of_samples("group topic queue_id owner", "offset lag_messages behind_ms lost_messages beyond_messages"),
    "delay": _of_samples("level", "pending overdue_ms delivered_rate late_p50_ms late_p99_ms"),
    "rates": _of_samples("topic", "put_rate got_rate kept_messages"),
    "queues": _of_samples("topic queue_id", "min_offset max_offset put_rate"),
    "transactions": _of_samples("", "pending committed rolled_back given_up checks commit_rate rollback_rate"),
    "totals": _of_samples("figure", "value"),
    "ownership": ("store", "group", "topic", "queue_id", "owner", "from_time", "to_time", "after_gap"),
    "events": ("store", "time", "kind", "subject", "text"),
    "runs": ("store", "from_time", "to_time"),
    "subscriptions": ("store", "group", "topic", "expression_type", "expression", "from_time", "to_time"),
    "actions": ("store", "time", "action", "subject", "details"),
}
"""Table → its columns."""

SQL_WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON", "AND", "OR", "NOT", "IN",
    "LIKE", "BETWEEN", "IS NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "AS", "DISTINCT", "WITH", "UNION ALL", "OVER",
    "PARTITION BY", "count", "sum", "avg", "min", "max", "percentile_approx", "date_trunc", "get_json_object",
)  # fmt: skip
"""Words that an editor completes besides the names."""

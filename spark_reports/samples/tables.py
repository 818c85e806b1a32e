"""The tables of the ``orbit-samples`` data source: figures and events that Orbit recorded of a running broker.

Lag, owners and rates cannot be computed from stored messages; they are known only for the time in which they were sampled.
Orbit's worker samples once a second and stores the figures in ``orbit/history.db`` of the store (docs/history.md).

    table         a row is                                       columns beside store, time, step_ms
    lag           a consumer group in an interval                group; lag_messages, behind_ms, got_rate, members,
                                                                 lost_messages, beyond_messages
    positions     a group in a queue in an interval              group, topic, queue_id, owner; offset, lag_messages,
                                                                 behind_ms, lost_messages, beyond_messages
    delay         a delay level in an interval                   level; pending, overdue_ms, delivered_rate, late_p50_ms,
                                                                 late_p99_ms
    rates         a topic in an interval                         topic; put_rate, got_rate, kept_messages
    queues        a queue in an interval                         topic, queue_id; min_offset, max_offset, put_rate
    transactions  the broker in an interval                      pending; committed, rolled_back, given_up, checks since the
                                                                 broker's start; commit_rate, rollback_rate
    totals        a figure of the broker in an interval          figure; value

    table         a row is                                       columns beside store
    ownership     a queue with one owner                         group, topic, queue_id, owner (null: none), from_time,
                                                                 to_time, after_gap (nothing was sampled just before)
    events        something that happened                        time, kind, subject, text
    runs          an interval with samples                       from_time, to_time
    subscriptions a subscription of a group to a topic           group, topic, expression_type, expression, from_time, to_time;
                                                                 without a group: an interval in which all of them are known
    actions       a user's action in the console                 time, action, subject, details (JSON)

An interval begins at ``time`` and is ``step_ms`` long; each figure has three columns: its last value under its own name, the
smallest with the suffix ``_min`` and the largest with ``_max``. Unknown values are null. Rates are per second, ``_ms``
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import BooleanType, DataType, DoubleType, IntegerType, LongType, StringType, StructField, StructType
from pyspark.sql.types import TimestampType as Timestamp

SAMPLES_FORMAT = "orbit-samples"
SUBSCRIPTIONS = "subscriptions"


@dataclass(frozen=True, slots=True)
class SampleTable:
    """One table of figures.

    Attributes:
        kind: Kind of the subjects in the history.
        names: Columns of the parts of a subject's name, with their types; ``figure`` stands for each figure by itself.
        figures: Column → figure of the history.
    """

    kind: str
    names: tuple[tuple[str, DataType], ...]
    figures: dict[str, str]


_TEXT, _WHOLE, _FIGURE = StringType(), IntegerType(), DoubleType()


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


FIGURE_TABLES: dict[str, SampleTable] = {
    "lag": SampleTable(
        "group", (("group", _TEXT),),
        _same("lag_messages", "behind_ms", "got_rate", "members", "lost_messages", "beyond_messages"),
    ),
    "positions": SampleTable(
        "position", (("group", _TEXT), ("topic", _TEXT), ("queue_id", _WHOLE), ("owner", _TEXT)),
        _same("offset", "lag_messages", "behind_ms", "lost_messages", "beyond_messages"),
    ),
    "delay": SampleTable(
        "level", (("level", _WHOLE),), _same("pending", "overdue_ms", "delivered_rate", "late_p50_ms", "late_p99_ms")
    ),
    "rates": SampleTable("topic", (("topic", _TEXT),), _same("put_rate", "got_rate", "kept_messages")),
    "queues": SampleTable(
        "queue", (("topic", _TEXT), ("queue_id", _WHOLE)), _same("min_offset", "max_offset", "put_rate")
    ),
    "transactions": SampleTable(
        "totals", (),
        {
            "pending": "transactions_pending", "committed": "transactions_committed",
            "rolled_back": "transactions_rolled_back", "given_up": "transactions_given_up", "checks": "transactions_checks",
            "commit_rate": "transaction_commit_rate", "rollback_rate": "transaction_rollback_rate",
        },
    ),
    "totals": SampleTable("totals", (("figure", _TEXT),), {"value": ""}),
}  # fmt: skip

_OTHER_TABLES: dict[str, tuple[tuple[str, DataType], ...]] = {
    "ownership": (
        ("group", _TEXT), ("topic", _TEXT), ("queue_id", _WHOLE), ("owner", _TEXT), ("from_time", Timestamp()),
        ("to_time", Timestamp()), ("after_gap", BooleanType()),
    ),
    "events": (("time", Timestamp()), ("kind", _TEXT), ("subject", _TEXT), ("text", _TEXT)),
    "runs": (("from_time", Timestamp()), ("to_time", Timestamp())),
    SUBSCRIPTIONS: (
        ("group", _TEXT), ("topic", _TEXT), ("expression_type", _TEXT), ("expression", _TEXT), ("from_time", Timestamp()),
        ("to_time", Timestamp()),
    ),
    "actions": (("time", Timestamp()), ("action", _TEXT), ("subject", _TEXT), ("details", _TEXT)),
}  # fmt: skip

JOURNAL = "actions"
"""The table of the journal of actions, which is not in the history."""
TABLES = (*FIGURE_TABLES, *_OTHER_TABLES)


def table_schema(name: str) -> StructType:
    fields = [StructField("store", _TEXT)]
    if name in _OTHER_TABLES:
        return StructType(fields + [StructField(column, data_type) for column, data_type in _OTHER_TABLES[name]])
    table = FIGURE_TABLES[name]
    fields += [StructField("time", Timestamp()), StructField("step_ms", LongType())]
    fields += [StructField(column, data_type) for column, data_type in table.names]
    fields += [StructField(column + end, _FIGURE) for column in table.figures for end in ("", "_min", "_max")]
    return StructType(fields)


def kind_of(name: str) -> str | None:
    """Kind of the subjects of a table's samples; None: it has other rows."""
    if name == "ownership":
        return "position"
    return FIGURE_TABLES[name].kind if name in FIGURE_TABLES else None

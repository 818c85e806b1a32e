"""Transforms on samples: a few rows in, a few rows out."""

from datetime import UTC, datetime

import pytest

from spark_reports.samples.tables import table_schema
from spark_reports.transforms.lag import by_group, episodes, judged
from spark_reports.transforms.ownership import by_queue, changes, rebalances

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]

MINUTE_MS = 60_000


def at(minute):
    return datetime.fromtimestamp(1_700_000_040 + minute * 60, UTC)


def lag_rows(spark, *rows):
    """Rows of table ``lag`` from group, minute and largest lag."""
    schema = table_schema("lag")
    made = []
    for group, minute, lag in rows:
        values = {
            "store": "s",
            "time": at(minute),
            "step_ms": MINUTE_MS,
            "group": group,
            "lag_messages": lag,
            "lag_messages_max": lag,
        }
        made.append(tuple(values.get(name) for name in schema.names))
    return spark.createDataFrame(made, schema)


def test_episodes_end_where_lag_or_samples_do(spark):
    rows = lag_rows(
        spark, ("a", 0, 5.0), ("a", 1, 50.0), ("a", 2, 90.0), ("a", 3, 20.0), ("a", 4, 5.0), ("a", 6, 30.0), ("a", 9, 40.0),
        ("b", 1, 11.0),
    )  # fmt: skip
    found = episodes(judged(rows, lag_max=10, behind_ms_max=1)).orderBy("group", "first_time").toArrow().to_pylist()
    assert [(row["group"], row["first_time"], row["late_ms"] // MINUTE_MS, row["lag_max"], row["drain_ms"] // MINUTE_MS)
            for row in found] == [
        ("a", at(1), 3, 90, 2), ("a", at(6), 1, 30, 1), ("a", at(9), 1, 40, 1), ("b", at(1), 1, 11, 1),
    ]  # fmt: skip


def test_a_service_level_counts_sampled_time_only(spark):
    rows = lag_rows(spark, ("a", 0, 5.0), ("a", 1, 50.0), ("a", 100, 5.0), ("a", 101, 5.0), ("b", 0, None))
    (row,) = by_group(judged(rows, lag_max=10, behind_ms_max=1)).toArrow().to_pylist()
    assert (row["sampled_ms"], row["late_ms"], row["within_share"], row["lag_last"]) == (4 * MINUTE_MS, MINUTE_MS, 0.75, 5)


def test_minutes_beyond_the_end_are_late_and_have_no_lag(spark):
    schema = table_schema("lag")
    made = [
        tuple({"store": "s", "time": at(minute), "step_ms": MINUTE_MS, "group": "a", "lag_messages_max": lag,
               "beyond_messages_max": beyond, "lost_messages_max": lost}.get(name) for name in schema.names)
        for minute, lag, beyond, lost in ((0, 5.0, 0.0, 0.0), (1, None, 7.0, 0.0), (2, 0.0, 0.0, 150.0), (3, None, None, None))
    ]  # fmt: skip
    (row,) = by_group(judged(spark.createDataFrame(made, schema), lag_max=10, behind_ms_max=1)).toArrow().to_pylist()
    assert (row["sampled_ms"], row["late_ms"]) == (3 * MINUTE_MS, MINUTE_MS)
    assert (row["lag_max"], row["beyond_max"], row["lost_max"]) == (5, 7, 150)


def owned(spark, *rows):
    """Rows of table ``ownership`` from queue, owner, minutes and whether a gap lies before."""
    made = [("s", "g", "t", queue, owner, at(begin), at(end), gap) for queue, owner, begin, end, gap in rows]
    return spark.createDataFrame(made, table_schema("ownership"))


def test_changes_behind_a_gap_are_not_known(spark):
    rows = owned(
        spark, (0, "a", 0, 5, False), (0, None, 5, 6, False), (0, "b", 6, 9, False), (0, "c", 20, 30, True),
        (1, "a", 5, 9, False), (1, "b", 9, 12, False),
    )  # fmt: skip
    found = changes(rows).orderBy("queue_id", "change_time").toArrow().to_pylist()
    assert [(row["queue_id"], row["owner_before"], row["owner"]) for row in found] == [
        (0, "a", None), (0, None, "b"), (1, "a", "b"),
    ]  # fmt: skip
    queues = {row["queue_id"]: row for row in by_queue(rows).toArrow().to_pylist()}
    assert (queues[0]["changes"], queues[0]["owners"], queues[0]["unowned_ms"]) == (2, 3, MINUTE_MS)
    assert queues[1]["sampled_ms"] == 7 * MINUTE_MS


def test_changes_that_come_together_are_one_rebalance(spark):
    rows = owned(
        spark, *((queue, "a", 0, 5, False) for queue in range(4)), *((queue, "b", 5, 9, False) for queue in range(3)),
        (3, "b", 8, 9, False),
    )  # fmt: skip
    found = rebalances(changes(rows)).orderBy("first_time").toArrow().to_pylist()
    assert [(row["changes"], row["queues"], row["apart_ms"]) for row in found] == [(3, 3, 0), (1, 1, 0)]

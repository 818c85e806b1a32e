import shutil
import sqlite3
from collections import Counter
from datetime import UTC, datetime

import pytest
from pyspark.sql.datasource import GreaterThanOrEqual, LessThan

from broker_core.errors import ForeignStoreError, StoreError, UsageError
from monitoring.history.database import open_database
from monitoring.history.subscriptions import SubscriptionLog
from spark_reports.samples.rows import UNREADABLE
from spark_reports.samples.source import SamplesReader
from spark_reports.samples.tables import TABLES, table_schema
from tests.support import known_history as known


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    known.write_known_history(root)
    return root


def minute(number):
    return datetime.fromtimestamp((known.BEGIN_MS + number * known.MINUTE_MS) / 1000, UTC)


def read(root, table, filters=(), **options):
    reader = SamplesReader({"path": str(root), "table": table, **options}, table_schema(table))
    assert list(reader.pushFilters(list(filters))) == list(filters)
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_lag_has_a_row_for_each_sampled_minute(store):
    rows = read(store, "lag")
    assert len(rows) == known.SAMPLED_MINUTES
    assert {row["group"] for row in rows} == {"billing"}
    high = [row["time"] for row in rows if row["lag_messages"] == known.LAG_HIGH]
    assert high == [minute(number) for number in known.HIGH]
    assert {row["behind_ms"] / row["lag_messages"] for row in rows} == {known.BEHIND_BY_LAG_MS}
    assert minute(known.GAP[0]) not in [row["time"] for row in rows]


def test_stretches_hold_the_smallest_and_the_largest(store):
    rows = read(store, "lag", step_ms="3600000")
    assert [(row["step_ms"], row["lag_messages_min"], row["lag_messages_max"]) for row in rows] == [
        (3_600_000, known.LAG, known.LAG_HIGH), (3_600_000, known.LAG, known.LAG),
    ]  # fmt: skip


def test_ownership_is_one_row_for_each_owner_in_turn(store):
    rows = [row for row in read(store, "ownership") if row["queue_id"] == 1]
    assert [(row["owner"], row["from_time"], row["after_gap"]) for row in rows] == [
        (known.FIRST, minute(0), False),
        (known.SECOND, minute(known.SECOND_FROM), False),
        (None, minute(known.NOBODY_FROM), False),
        (known.FIRST, minute(known.BACK_FROM), False),
        (known.FIRST, minute(known.GAP[-1] + 1), True),
    ]
    assert Counter(row["owner"] for row in read(store, "ownership") if row["queue_id"] == 0) == {known.FIRST: 2}


def test_every_table_has_its_columns(store):
    found = {table: read(store, table) for table in TABLES}
    assert {table: set(rows[0]) for table, rows in found.items() if rows} == {
        table: set(table_schema(table).names) for table in TABLES if found[table]
    }
    assert [table for table, rows in found.items() if not rows] == ["delay"]
    assert [row["put_rate"] for row in found["rates"] if row["topic"] == "invoices"] == pytest.approx(
        [known.PUT_RATE] * known.SAMPLED_MINUTES
    )
    assert {row["owner"] for row in found["positions"]} == {known.FIRST, known.SECOND, None}
    assert {row["pending"] for row in found["transactions"]} == {4.0}
    assert {row["figure"] for row in found["totals"]} == {"put_rate", "transactions_pending", "transactions_committed"}
    assert [(row["kind"], row["subject"]) for row in found["events"]] == [(event[1], event[2]) for event in known.EVENTS]
    assert [row["action"] for row in found["actions"]] == [action[1] for action in known.ACTIONS]
    assert [(row["from_time"], row["to_time"]) for row in found["runs"]] == [
        (minute(0), minute(known.GAP[0]).replace(second=0) - (minute(1) - minute(0)) / 60 * 4),
        (minute(known.GAP[-1] + 1), minute(known.MINUTES) - (minute(1) - minute(0)) / 60 * 4),
    ]


def test_times_bound_a_read(store):
    bounds = {"from_ms": str(known.BEGIN_MS + 30 * known.MINUTE_MS), "to_ms": str(known.BEGIN_MS + 40 * known.MINUTE_MS)}
    assert [row["time"] for row in read(store, "lag", **bounds)] == [minute(number) for number in range(30, 40)]
    pushed = [GreaterThanOrEqual(("time",), minute(30)), LessThan(("time",), minute(40))]
    rows = [row["time"] for row in read(store, "lag", pushed)]
    assert rows[:10] == [minute(number) for number in range(30, 40)]
    assert len(rows) <= 11  # Spark leaves out the rest
    half = [LessThan(("time",), minute(30.5))]
    assert read(store, "lag", half, step_ms="3600000") == read(store, "lag", step_ms="3600000")[:1]
    assert len(read(store, "events", **bounds)) == 0
    assert len(read(store, "ownership", **bounds)) == 2
    with pytest.raises(UsageError, match="the range is empty"):
        read(store, "lag", from_ms="5", to_ms="5")


def test_it_is_read_while_it_is_written(store, tmp_path):
    root = tmp_path / "store"
    path = known.write_known_history(root)
    writer = open_database(path)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO events (at_ms, kind, subject, text) VALUES (5, 'later', '', '')")
    assert len(read(root, "events")) == len(known.EVENTS)
    writer.execute("COMMIT")
    assert len(read(root, "events")) == len(known.EVENTS) + 1
    writer.close()


def test_a_copy_that_cannot_be_written_beside_is_read(store, tmp_path):
    shutil.copytree(store, tmp_path / "copy")
    folder = tmp_path / "copy" / "orbit"
    folder.chmod(0o500)
    try:
        assert len(read(tmp_path / "copy", "lag")) == known.SAMPLED_MINUTES
    finally:
        folder.chmod(0o700)


def test_lines_of_the_journal_that_cannot_be_read_are_shown(store, tmp_path):
    shutil.copytree(store, tmp_path / "copy")
    with (tmp_path / "copy" / "config" / "orbitActions.log").open("a") as file:
        file.write('{"atMs": 5')
    last = read(tmp_path / "copy", "actions")[-1]
    assert (last["action"], last["details"], last["time"]) == (UNREADABLE, '{"atMs": 5', minute(60))


def test_subscriptions_are_stretches_within_those_that_were_sampled(store):
    rows = read(store, "subscriptions")
    whole = [(row["from_time"], row["to_time"]) for row in read(store, "runs")]
    assert len(whole) == 2
    assert [(row["from_time"], row["to_time"]) for row in rows if row["group"] is None] == whole
    orders = [(row["expression"], row["from_time"], row["to_time"]) for row in rows if row["topic"] == "orders"]
    assert orders == [
        ("paid", minute(0), minute(known.LATE_FROM)), ("paid || big", minute(known.LATE_FROM), whole[0][1]),
        ("paid || big", *whole[1]),
    ]  # fmt: skip
    assert {(row["group"], row["expression_type"]) for row in rows if row["topic"] == "invoices"} == {("billing", "")}
    bounds = {"from_ms": str(known.BEGIN_MS), "to_ms": str(known.BEGIN_MS + known.MINUTE_MS)}
    assert len(read(store, "subscriptions", **bounds)) == 3


def test_a_new_beginning_ends_what_was_subscribed(store, tmp_path):
    shutil.copytree(store, tmp_path / "copy")
    connection = open_database(tmp_path / "copy" / "orbit" / "history.db")
    SubscriptionLog(connection).write({"late": {"orders": ("TAG", "*")}}, known.BEGIN_MS + 100 * known.MINUTE_MS)
    rows = read(tmp_path / "copy", "subscriptions")
    end = max(row["to_time"] for row in rows)
    assert {(row["group"], row["from_time"]) for row in rows if row["to_time"] == end} == {
        (None, minute(known.GAP[-1] + 1)), ("late", minute(100)),
    }  # fmt: skip
    connection.execute("DROP TABLE subscriptions")  # an earlier Orbit had none
    assert read(tmp_path / "copy", "subscriptions") == []
    connection.close()


def test_what_is_no_history_is_refused(store, tmp_path):
    with pytest.raises(ForeignStoreError, match="has no history"):
        read(tmp_path, "lag")
    (tmp_path / "orbit").mkdir()
    path = tmp_path / "orbit" / "history.db"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path, "lag")
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE runs (begin_ms, end_ms)")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match="has format 99; this Orbit reads 1"):
        read(tmp_path, "lag")


@pytest.mark.parametrize(
    ("options", "said"), [({"table": "nothing"}, "no table “nothing”"), ({"step_ms": "5"}, "step_ms is from 1,000")]
)
def test_options_that_make_no_sense_are_refused(store, options, said):
    with pytest.raises(UsageError, match=said):
        SamplesReader({"path": str(store)} | options, table_schema("lag"))
    with pytest.raises(UsageError, match="no column topic"):
        SamplesReader({"path": str(store)}, table_schema("rates"))

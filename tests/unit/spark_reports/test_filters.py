from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, IsNull, LessThan, Not, StringContains, StringStartsWith

from spark_reports.datasource.filters import comparison_of, one_of, times_of
from spark_reports.datasource.schema import SKIPPED_REASON, columns
from spark_reports.datasource.source import StoreSourceReader
from tests.support.store_writer import StoreWriter

START_MS = 1_700_000_000_000


def at(ms):
    return datetime.fromtimestamp(ms / 1000, UTC)


@pytest.fixture
def store(tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=8192)
    for index in range(120):
        properties = {"TAGS": f"t{index % 3}"} if index % 4 else {}
        writer.append(f"topic-{index % 5}", b"x" * index, properties, queue_id=index % 2, store_ms=START_MS + index * 60_000)
    writer.flush()
    return tmp_path / "store"


def read(store, filters, *names, **options):
    """Rows that the reader gives, and the filters that it leaves to Spark."""
    reader = StoreSourceReader({"path": str(store), **options}, columns(*names))
    left = list(reader.pushFilters(filters))
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    return rows, left, reader


@pytest.mark.parametrize(
    ("pushed", "wanted"),
    [
        (EqualTo(("topic",), "topic-1"), lambda row: row["topic"] == "topic-1"),
        (In(("topic",), ["topic-1", "topic-4", "none"]), lambda row: row["topic"] in ("topic-1", "topic-4")),
        (Not(EqualTo(("topic",), "topic-1")), lambda row: row["topic"] != "topic-1"),
        (StringStartsWith(("topic",), "topic-2"), lambda row: row["topic"] == "topic-2"),
        (EqualTo(("queue_id",), 1), lambda row: row["queue_id"] == 1),
        (GreaterThan(("physical_offset",), 9_000), lambda row: row["physical_offset"] > 9_000),
        (LessThan(("store_time",), at(START_MS + 600_000)), lambda row: row["store_time"] < at(START_MS + 600_000)),
        (Not(LessThan(("body_bytes",), 100)), lambda row: row["body_bytes"] >= 100),
        (EqualTo(("tag",), "t1"), lambda row: row["tag"] == "t1"),
        # As in SQL: what has no tag is neither one nor not one.
        (Not(In(("tag",), ["t1"])), lambda row: row["tag"] not in (None, "t1")),
        (Not(StringContains(("tag",), "1")), lambda row: row["tag"] is not None and "1" not in row["tag"]),
    ],
)
def test_the_reader_gives_what_a_filter_lets_through(store, pushed, wanted):
    names = ("topic", "queue_id", "physical_offset", "store_time", "body_bytes", "tag")
    every, _, _ = read(store, [], *names)
    rows, left, _ = read(store, [pushed], *names)
    assert rows == [row for row in every if wanted(row)]
    assert 0 < len(rows) < len(every)
    assert left == []


def test_what_the_reader_cannot_decide_goes_back(store):
    strange = [IsNull(("tag",)), EqualTo(("properties",), "x"), EqualTo(("topic", "part"), "x"), In(("topic",), [])]
    rows, left, _ = read(store, strange, "topic")
    assert (len(rows), left) == (120, strange)
    _, left, _ = read(store, [IsNotNull(("topic",)), IsNotNull(("tag",))], "topic")
    assert left == [IsNotNull(("tag",))]  # every record has a topic


def test_beside_accounting_rows_spark_looks_again(store):
    pushed = EqualTo(("topic",), "topic-1")
    rows, left, _ = read(store, [pushed], "topic", SKIPPED_REASON)
    assert (len(rows), left) == (24, [pushed])


def test_a_time_filter_passes_over_log_files(store):
    far = 80 * 60_000
    _, _, reader = read(store, [GreaterThan(("store_time",), at(START_MS + far))], "topic")
    _, _, everything = read(store, [], "topic")
    sizes = [sum(part.byte_count for task in one.partitions() for part in task.ranges) for one in (reader, everything)]
    assert sizes[0] < sizes[1] * 0.7
    assert times_of([comparison_of(EqualTo(("store_time",), at(5)))], "store_time") == (5, 6)
    assert times_of([comparison_of(Not(EqualTo(("store_time",), at(5))))], "store_time") == (None, None)


def test_a_store_filter_leaves_out_stores(store, tmp_path):
    writer = StoreWriter(tmp_path / "other")
    writer.append("other")
    writer.flush()
    reader = StoreSourceReader({"paths": f'["{store}", "{tmp_path / "other"}"]'}, columns("store", "topic"))
    assert list(reader.pushFilters([EqualTo(("store",), str(tmp_path / "other"))])) == []
    assert {part.store for task in reader.partitions() for part in task.ranges} == {str(tmp_path / "other")}


def test_the_values_that_remain_possible():
    both = [comparison_of(In(("topic",), ["a", "b"])), comparison_of(EqualTo(("topic",), "b"))]
    assert one_of(both, "topic") == {"b"}
    assert one_of([comparison_of(Not(EqualTo(("topic",), "b")))], "topic") is None
    assert comparison_of(EqualTo(("queue_id",), 3)).holds(pa.array([3, None, 4], pa.int32())).tolist() == [True, False, False]

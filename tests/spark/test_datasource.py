"""The data source inside a real Spark session."""

import json
from collections import Counter

import pytest

from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import FORMAT, MESSAGES, SUMS_BY, columns, sums
from spark_reports.reports.throughput import MESSAGE_COLUMNS, TRAFFIC_KEYS, by_traffic_keys, each_a_sum
from tests.support.golden import golden_store
from tests.support.store_writer import StoreWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def store(tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=4096)
    for index in range(60):
        writer.append(f"topic-{index % 3}", b"x" * index, {"TAGS": f"t{index % 2}"}, store_ms=1_700_000_000_000 + index * 4_000)
    writer.flush()
    return tmp_path / "store"


def test_golden_counts_by_topic_and_tag_are_those_of_the_broker(spark, tmp_path):
    golden = golden_store("normal")
    expected = Counter((message.topic, message.columns["properties"].get("TAGS")) for message in golden.messages())
    rows = spark.read.format(FORMAT).load(str(golden.unpack(tmp_path))).groupBy("topic", "tag").count().toArrow().to_pylist()
    assert {(row["topic"], row["tag"]): row["count"] for row in rows} == expected


def test_every_column_arrives(spark, store):
    rows = spark.read.format(FORMAT).load(str(store)).orderBy("physical_offset").toArrow()
    assert rows.column_names == MESSAGES.names
    last = rows.to_pylist()[-1]
    assert (last["topic"], last["tag"], last["body_bytes"], dict(last["properties"])) == ("topic-2", "t1", 59, {"TAGS": "t1"})


def test_bodies_come_when_asked_for(spark, store):
    rows = (
        spark.read.format(FORMAT)
        .schema(columns("body", "physical_offset"))
        .load(str(store))
        .orderBy("physical_offset")
        .toArrow()
    )
    assert [len(body) for body in rows["body"].to_pylist()] == list(range(60))


def test_a_plan_fixes_the_end_of_all_reads(spark, store, tmp_path):
    plan = plan_read([store], split_bytes=1_000).to_json()
    writer = StoreWriter(tmp_path / "other")
    writer.append("later")
    writer.flush()
    (tmp_path / "other" / "commitlog" / f"{0:020d}").rename(store / "commitlog" / f"{1 << 40:020d}")
    read = spark.read.format(FORMAT).schema(columns("topic", "queue_offset")).option("plan", plan).load()
    assert [read.count(), read.count()] == [60, 60]


def test_traffic_rows_count_each_minute_topic_and_tag(spark, store):
    """The same whether the reader makes the sums or Spark adds up messages one by one."""
    read = spark.read.format(FORMAT).option("topics", '["topic-1"]')
    plan = plan_read([store], split_bytes=1_000).to_json()
    by_sums = read.schema(sums(*TRAFFIC_KEYS)).option(SUMS_BY, json.dumps(TRAFFIC_KEYS)).option("plan", plan).load()
    one_by_one = spark.read.format(FORMAT).option("topics", '["topic-1"]').schema(columns(*MESSAGE_COLUMNS)).load(str(store))
    rows = one_by_one.transform(each_a_sum).transform(by_traffic_keys).toArrow().to_pylist()
    summed = by_sums.transform(by_traffic_keys).toArrow().to_pylist()
    assert sorted(map(repr, summed)) == sorted(map(repr, rows))
    read = [row for row in rows if row["skipped_reason"] is None]
    assert sum(row["messages"] for row in read) == 20
    assert sum(row["body_bytes"] for row in read) == sum(range(1, 60, 3))
    assert {row["minute"].second for row in read} == {0}
    (skipped,) = [row for row in rows if row["skipped_reason"] is not None]
    assert (skipped["skipped_reason"], skipped["skipped_rows"], skipped["messages"]) == ("of another topic", 40, 0)


def test_what_spark_asks_of_sums_is_asked_of_sums(spark, store):
    parts = spark.read.format(FORMAT).schema(sums("topic")).option(SUMS_BY, '["topic"]').load(str(store))
    assert parts.where("messages > 20").count() == 0
    assert parts.where("topic = 'topic-1' and messages = 20").select("body_bytes").toArrow().to_pylist() == [
        {"body_bytes": sum(range(1, 60, 3))}
    ]


def test_a_stream_goes_on_where_its_checkpoint_ends(spark, tmp_path):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 14)
    seen = []

    def run_once():
        stream = spark.readStream.format(FORMAT).schema(columns("physical_offset")).load(str(tmp_path / "store"))
        query = stream.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        running = query.foreachBatch(lambda batch, _: seen.extend(batch.toArrow()["physical_offset"].to_pylist())).start()
        assert running.awaitTermination(100)

    places = [writer.append("orders", b"x" * 40) for _ in range(300)]
    writer.flush()
    run_once()
    places += [writer.append("orders", b"x" * 40) for _ in range(50)]
    writer.flush()
    run_once()
    assert seen == places


def test_filters_of_where_reach_the_reader(spark, store, capsys):
    messages = spark.read.format(FORMAT).schema(columns("topic", "store_time", "queue_id")).load(str(store))
    query = "topic = 'topic-1' and store_time < timestamp_millis(1700000120000) and queue_id in (0, 5)"
    assert messages.where(query).count() == 10
    messages.where(query).explain()
    assert "Filter (" not in capsys.readouterr().out  # the reader decides all of it


def test_filters_beside_accounting_rows_keep_them_apart(spark, store):
    names = ("topic", "store", "skipped_reason", "skipped_rows", "skipped_bytes", "physical_offset")
    rows = spark.read.format(FORMAT).schema(columns(*names)).option("topics", '["topic-0", "topic-1"]').load(str(store))
    assert rows.where("topic = 'topic-1'").count() == 20
    assert rows.where("skipped_reason is not null").select("skipped_rows").toArrow().to_pylist() == [{"skipped_rows": 20}]

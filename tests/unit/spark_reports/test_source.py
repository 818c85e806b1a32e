import json

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from broker_core.errors import UsageError
from spark_reports.datasource import columns as columns_module
from spark_reports.datasource import source
from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import ALL_COLUMNS, SKIPPED_COLUMNS, columns
from spark_reports.datasource.source import Selection, StoreSourceReader, read_ranges, selection_of
from tests.support.golden import golden_store
from tests.support.store_writer import StoreWriter


def rows_of(roots, *names, selection=None, **plan):
    schema = to_arrow_schema(columns(*names) if names else ALL_COLUMNS, timezone="UTC")
    tasks = plan_read(roots, **plan).tasks
    return [row for task in tasks for batch in read_ranges(task, selection or Selection(), schema) for row in batch.to_pylist()]


def milliseconds(moment):
    return round(moment.timestamp() * 1000)


@pytest.mark.parametrize("name", ["normal", "normal-5", "crash", "torn", "transaction", "delay-5", "bigkeys", "cleaned", "lmq"])
def test_golden_stores_are_read_as_the_broker_served_them(name, tmp_path):
    store = golden_store(name)
    rows = {row["physical_offset"]: row for row in rows_of([store.unpack(tmp_path)]) if row["skipped_reason"] is None}
    expected = {message.columns["physicalOffset"]: message for message in store.messages()}
    assert rows.keys() == expected.keys()
    for offset, message in expected.items():
        row, told = rows[offset], message.columns
        assert (row["topic"], row["queue_id"], row["store_bytes"], row["body_crc"], row["sys_flag"], row["flag"]) == (
            message.topic, message.queue_id, told["storeSize"], told["bodyCrc"], told["sysFlag"], told["flag"],
        ) or message.topic.startswith("%LMQ%")  # fmt: skip
        assert (milliseconds(row["born_time"]), milliseconds(row["store_time"])) == (
            told["bornTimestamp"],
            told["storeTimestamp"],
        )
        assert (row["born_host"], row["store_host"]) == (told["bornHost"], told["storeHost"])
        assert (row["reconsume_times"], row["prepared_offset"]) == (told["reconsumeTimes"], told["preparedTransactionOffset"])
        assert dict(row["properties"]) == told["properties"]
        assert (row["tag"], row["unique_key"]) == (told["properties"].get("TAGS"), told["properties"].get("UNIQ_KEY"))
        assert row["keys"] == told["properties"].get("KEYS", "").split()
        assert (row["body_bytes"], len(row["body"])) == (told["storedBodyLength"], told["storedBodyLength"])
        if told["storedBodyLength"] == told["bodyLength"]:
            assert message.body_matches(row["body"])


def test_a_torn_tail_is_one_accounting_row(tmp_path):
    store = golden_store("torn")
    skipped = [row for row in rows_of([store.unpack(tmp_path)]) if row["skipped_reason"]]
    assert [(row["physical_offset"], row["skipped_rows"], row["skipped_bytes"]) for row in skipped] == [(366158, 1, 60)]


def test_what_is_left_out_adds_up(tmp_path):
    writer = StoreWriter(tmp_path, file_bytes=4096)
    for index in range(300):
        writer.append(f"topic-{index % 3}", b"x" * (index % 40), store_ms=1_000 + index)
    writer.flush()
    rows = rows_of([tmp_path], "topic", *SKIPPED_COLUMNS, selection=Selection(1_100, 1_200, ("topic-1",)))
    messages = [row for row in rows if row["skipped_reason"] is None]
    skipped = {row["skipped_reason"]: row["skipped_rows"] for row in rows if row["skipped_reason"]}
    assert [row["topic"] for row in messages] == ["topic-1"] * 34
    assert skipped == {source.OUTSIDE_RANGE: 200, source.OTHER_TOPIC: 66}


def test_damage_in_a_full_file_is_counted_and_the_rest_read(tmp_path):
    writer = StoreWriter(tmp_path, file_bytes=4096)
    offsets = [writer.append("orders", b"x" * 30) for _ in range(60)]
    writer.flush()
    assert offsets[20] < 4096
    writer.overwrite(offsets[20], b"\xff\xff\xff\xff")
    rows = rows_of([tmp_path], "physical_offset", *SKIPPED_COLUMNS)
    damaged = [(row["physical_offset"], row["skipped_bytes"]) for row in rows if row["skipped_reason"]]
    assert damaged == [(offsets[20], offsets[21] - offsets[20])]
    assert {row["physical_offset"] for row in rows if not row["skipped_reason"]} == {*offsets} - {offsets[20]}


def test_records_behind_a_filler_are_not_read(tmp_path):
    writer = StoreWriter(tmp_path, file_bytes=4096)
    offsets = [writer.append("orders") for _ in range(100)]
    writer.flush()
    border = offsets[10]
    writer.overwrite(border, (4096 - border).to_bytes(4, "big") + bytes.fromhex("cbd43194"))
    rows = rows_of([tmp_path], "physical_offset", *SKIPPED_COLUMNS)
    assert {row["physical_offset"] for row in rows} == {offset for offset in offsets if offset < border or offset >= 4096}


@pytest.mark.parametrize("scan_bytes", [64, 300, 5_000])
@pytest.mark.parametrize("split_bytes", [200, 3_000, 1 << 20])
def test_results_do_not_depend_on_the_partitioning(tmp_path, monkeypatch, scan_bytes, split_bytes):
    monkeypatch.setattr(source, "SCAN_BYTES", scan_bytes)
    writer = StoreWriter(tmp_path, file_bytes=8192)
    offsets = [writer.append("orders", b"x" * (index * 7 % 400), {"TAGS": f"t{index % 5}"}) for index in range(150)]
    writer.flush()
    rows = rows_of([tmp_path], "physical_offset", "tag", split_bytes=split_bytes)
    assert [(row["physical_offset"], row["tag"]) for row in rows] == [(offset, f"t{i % 5}") for i, offset in enumerate(offsets)]


def test_what_is_appended_after_planning_is_not_read(tmp_path):
    writer = StoreWriter(tmp_path)
    offsets = [writer.append("orders") for _ in range(20)]
    writer.flush()
    plan = plan_read([tmp_path])
    for _ in range(20):
        writer.append("orders")
    writer.flush()
    schema = to_arrow_schema(columns("physical_offset", *SKIPPED_COLUMNS), timezone="UTC")
    rows = [row for task in plan.tasks for batch in read_ranges(task, Selection(), schema) for row in batch.to_pylist()]
    assert [row["physical_offset"] for row in rows] == offsets


def test_a_file_that_the_broker_removed_meanwhile_is_counted(tmp_path):
    writer = StoreWriter(tmp_path, file_bytes=4096)
    for _ in range(100):
        writer.append("orders")
    writer.flush()
    plan = plan_read([tmp_path])
    (tmp_path / "commitlog" / f"{0:020d}").unlink()
    schema = to_arrow_schema(columns("physical_offset", *SKIPPED_COLUMNS), timezone="UTC")
    rows = [row for task in plan.tasks for batch in read_ranges(task, Selection(), schema) for row in batch.to_pylist()]
    skipped = [(row["skipped_reason"], row["skipped_bytes"]) for row in rows if row["skipped_reason"]]
    assert skipped == [(source.FILE_REMOVED, 4096)]


def test_columns_that_nobody_asked_for_are_not_made(tmp_path, monkeypatch):
    writer = StoreWriter(tmp_path)
    writer.append("orders", b"body", {"TAGS": "a"})
    writer.flush()

    def refuse(*_):
        raise AssertionError("bodies and properties were taken apart")

    monkeypatch.setattr(columns_module, "PropertyColumns", refuse)
    made = columns_module.RecordColumns._MAKERS
    monkeypatch.setitem(made, "body", refuse)
    assert [row["body_bytes"] for row in rows_of([tmp_path], "topic", "store_time", "body_bytes", "store_bytes")] == [4]
    with pytest.raises(AssertionError):
        rows_of([tmp_path], "tag")


def test_kinds_follow_topic_flag_and_properties(tmp_path):
    writer = StoreWriter(tmp_path)
    for topic in (
        "orders",
        "%RETRY%g",
        "%DLQ%g",
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    ):
        writer.append(topic)
    writer.append("orders", sys_flag=0x8)
    writer.append("orders", properties={"__SHARDINGKEY": "k", "DELAY": "3"})
    writer.flush()
    rows = rows_of([tmp_path], "kind", "delay_level")
    assert [row["kind"] for row in rows] == ["normal", "retry", "dead_letter", "delay", "half", "op", "committed", "fifo"]
    assert rows[-1]["delay_level"] == 3


def test_unknown_columns_are_refused_with_the_list_of_columns():
    from pyspark.sql.types import StringType, StructField, StructType

    with pytest.raises(UsageError, match=r"no column colour\. Columns: store, topic"):
        StoreSourceReader({"path": "x"}, StructType([StructField("colour", StringType())]))


@pytest.mark.parametrize(
    ("options", "said"),
    [({"from_ms": "x"}, "whole number of milliseconds"), ({"from_ms": "5", "to_ms": "5"}, "range is empty")],
)
def test_unusable_options_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        selection_of(options)


def test_options_become_a_selection():
    options = {"from_ms": "1", "to_ms": "2", "topics": json.dumps(["a"])}
    assert selection_of(options) == Selection(1, 2, ("a",))


def test_batches_have_the_asked_schema(tmp_path):
    writer = StoreWriter(tmp_path)
    writer.append("orders")
    writer.flush()
    schema = to_arrow_schema(ALL_COLUMNS, timezone="UTC")
    (batch,) = [batch for task in plan_read([tmp_path]).tasks for batch in read_ranges(task, Selection(), schema)]
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema == schema

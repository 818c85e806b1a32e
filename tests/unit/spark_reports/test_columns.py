from datetime import UTC, datetime

import pyarrow as pa

from broker_core.engine.store.layout import scan_records
from spark_reports.datasource.columns import RecordColumns
from tests.support.store_writer import StoreWriter


def columns_of(root, *records):
    writer = StoreWriter(root, file_bytes=1 << 16)
    for topic, properties in records:
        writer.append(topic, b"body", properties)
    writer.flush()
    data = (root / "commitlog" / f"{0:020d}").read_bytes()
    return RecordColumns(data, scan_records(data, 0, 0, writer.position), str(root))


def column(records, name, data_type):
    return records.batch(pa.schema([(name, data_type)])).column(0).to_pylist()


def test_chosen_records_keep_their_columns_together(tmp_path):
    records = columns_of(tmp_path, ("a", {"TAGS": "x"}), ("b", {"TAGS": "y"}), ("a", {"TAGS": "z"}))
    chosen = records.choose(records.topic_among(["a"]))
    assert (column(chosen, "topic", pa.string()), column(chosen, "tag", pa.string())) == (["a", "a"], ["x", "z"])
    twice = chosen.choose(chosen.head("queue_offset") == 1)
    assert column(twice, "tag", pa.string()) == ["z"]


def test_keys_are_separated_by_spaces(tmp_path):
    records = columns_of(
        tmp_path,
        ("a", {"KEYS": "one two"}),
        ("a", {}),
        ("a", {"KEYS": " three "}),
        ("a", {"KEYS": "a  b"}),
        ("a", {"KEYS": " "}),
    )
    assert column(records, "keys", pa.list_(pa.string())) == [["one", "two"], [], ["three"], ["a", "b"], []]


def test_members_of_a_batch_have_a_key_of_their_own_before_that_of_the_batch(tmp_path):
    both = b"UNIQ_KEY\x01m1\x02WAIT\x01true\x02UNIQ_KEY\x01batch"
    records = columns_of(tmp_path, ("a", both), ("a", {"UNIQ_KEY": "u"}), ("a", {}), ("a", b"UNIQ_KEY\x01u\x02UNIQ_KEY\x01u"))
    assert column(records, "unique_key", pa.string()) == ["batch", "u", None, "u"]
    assert column(records, "member_key", pa.string()) == ["m1", None, None, None]


def test_a_delay_that_is_no_number_is_no_level(tmp_path):
    records = columns_of(tmp_path, ("a", {"DELAY": "4"}), ("a", {"DELAY": "soon"}), ("a", {}))
    assert column(records, "delay_level", pa.int32()) == [4, None, None]


def test_the_real_topic_is_that_of_the_producer(tmp_path):
    records = columns_of(tmp_path, ("SCHEDULE_TOPIC_XXXX", {"REAL_TOPIC": "orders"}), ("orders", {}))
    assert column(records, "real_topic", pa.string()) == ["orders", "orders"]


def test_the_real_queue_is_that_of_the_producer(tmp_path):
    waiting = {"REAL_TOPIC": "orders", "REAL_QID": "3"}
    strange = ({"REAL_QID": "3"}, waiting | {"REAL_QID": "none"}, {})
    records = columns_of(tmp_path, ("SCHEDULE_TOPIC_XXXX", waiting), *(("orders", own) for own in strange))
    assert column(records, "real_queue_id", pa.int32()) == [3, 0, 0, 0]


def test_a_timer_message_that_is_written_again_counts_how_often(tmp_path):
    records = columns_of(tmp_path, ("rmq_sys_wheel_timer", {"TIMER_ROLL_TIMES": "2"}), ("rmq_sys_wheel_timer", {}))
    assert column(records, "roll_times", pa.int32()) == [2, None]


def test_times_that_no_date_can_show_are_the_first_or_the_last(tmp_path):
    writer = StoreWriter(tmp_path)
    for ms in (-(1 << 63), 0, (1 << 63) - 1):
        writer.append("a", b"", {"TIMER_OUT_MS": "999999999999999"}, store_ms=ms, born_ms=ms)
    writer.flush()
    data = (tmp_path / "commitlog" / f"{0:020d}").read_bytes()
    records = RecordColumns(data, scan_records(data, 0, 0, writer.position), "store")
    first, last = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, 999_000, tzinfo=UTC)
    for name in ("born_time", "store_time"):
        assert column(records, name, pa.timestamp("us", tz="UTC")) == [first, datetime(1970, 1, 1, tzinfo=UTC), last]
    assert column(records, "deliver_time", pa.timestamp("us", tz="UTC")) == [last] * 3


def test_hosts_are_written_with_their_port(tmp_path):
    records = columns_of(tmp_path, ("a", {}))
    assert column(records, "born_host", pa.string()) == ["10.0.0.7:40001"]
    assert column(records, "store_host", pa.string()) == ["127.0.0.1:10911"]

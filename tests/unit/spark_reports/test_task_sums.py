import sys
from collections import defaultdict

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from broker_core.errors import UsageError
from spark_reports.datasource import kernels, store_records
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import SUM_KEYS, SUMS, columns, sums
from spark_reports.datasource.source import StoreSourceReader
from spark_reports.datasource.store_records import read_ranges, read_sums
from spark_reports.datasource.stream import StoreStreamReader
from tests.support.golden import golden_store
from tests.support.store_writer import StoreWriter

MINUTE_MS = 60_000


def added_up(roots, keys, selection, **plan):
    """The reader's sums of all tasks together, and its accounting rows."""
    schema = to_arrow_schema(sums(*keys), timezone="UTC")
    tasks = plan_read(roots, **plan).tasks
    rows = [row for task in tasks for batch in read_sums(task, selection, keys, schema) for row in batch.to_pylist()]
    skipped = [row for row in rows if row["skipped_reason"]]
    whole = defaultdict(lambda: [0, 0, 0, 0, 0, None, None])
    for row in rows:
        if row["skipped_reason"]:
            assert {row[one.name] for one in SUMS} == {None}
            continue
        so_far = whole[tuple(row[key] for key in keys)]
        for place, name in enumerate(("messages", "body_bytes", "store_bytes")):
            so_far[place] += row[name]
        for place, name in enumerate(("body_bytes_max", "store_bytes_max"), start=3):
            so_far[place] = max(so_far[place], row[name])
        so_far[5] = min(so_far[5] or row["first_time"], row["first_time"])
        so_far[6] = max(so_far[6] or row["last_time"], row["last_time"])
    return dict(whole), skipped


def one_by_one(roots, keys, selection, **plan):
    """The same from the records."""
    names = dict.fromkeys(("store_time", "born_host", "body_bytes", "store_bytes"))
    names |= dict.fromkeys(key for key in keys if key not in ("minute", "host"))
    names |= dict.fromkeys(("store", "physical_offset", "skipped_reason", "skipped_rows", "skipped_bytes"))
    schema = to_arrow_schema(columns(*names), timezone="UTC")
    tasks = plan_read(roots, **plan).tasks
    rows = [row for task in tasks for batch in read_ranges(task, selection, schema) for row in batch.to_pylist()]
    groups = defaultdict(list)
    for row in rows:
        if not row["skipped_reason"]:
            row["minute"] = row["store_time"].replace(second=0, microsecond=0)
            row["host"] = row["born_host"].rpartition(":")[0].strip("[]")
            groups[tuple(row[key] for key in keys)].append(row)
    whole = {}
    for key, of_key in groups.items():
        body, stored, at = ([row[name] for row in of_key] for name in ("body_bytes", "store_bytes", "store_time"))
        whole[key] = [len(of_key), sum(body), sum(stored), max(body), max(stored), min(at), max(at)]
    return whole, [row for row in rows if row["skipped_reason"]]


def same(one, other):
    assert one[0] == other[0]
    names = ("store", "physical_offset", "skipped_reason", "skipped_rows", "skipped_bytes")
    places = [[[row[name] for name in names] for row in rows] for _, rows in (one, other)]
    assert places[0] == places[1]


@pytest.mark.parametrize("name", ["torn", "transaction", "delay-5", "bigkeys", "ipv6"])
def test_sums_of_the_reader_are_those_of_its_records(name, tmp_path):
    root = golden_store(name).unpack(tmp_path)
    for keys in (("minute", "topic", "tag"), ("store", "queue_id", "kind"), ("real_topic", "producer_group"), ("host", "tag")):
        expected = one_by_one([root], keys, Selection())
        same(added_up([root], keys, Selection()), expected)
        same(added_up([root], keys, Selection(), split_bytes=20_000), expected)


def test_what_is_left_out_is_not_summed(tmp_path, monkeypatch):
    monkeypatch.setattr(store_records, "SCAN_BYTES", 2_000)  # several batches a task
    writer = StoreWriter(tmp_path, file_bytes=4096)
    for index in range(300):
        writer.append(f"topic-{index % 3}", b"x" * (index % 40), store_ms=-3 * MINUTE_MS + index * 1_000)
    writer.flush()
    selection = Selection(-2 * MINUTE_MS, 30_000, ("topic-1",))
    found = added_up([tmp_path], ("minute",), selection)
    same(found, one_by_one([tmp_path], ("minute",), selection))
    assert [row["skipped_rows"] for row in found[1]] != []
    assert {moment.second for (moment,) in found[0]} == {0}
    assert sum(values[0] for values in found[0].values()) == 50


def test_groups_come_out_the_same_however_few_places_and_rows_are_kept(tmp_path, monkeypatch):
    writer = StoreWriter(tmp_path)
    for index in range(120):
        topic = f"topic-{index % 5}" if index % 2 else f"a-topic-with-a-rather-long-name-{index % 7}"
        tags = {"TAGS": f"tag{index % 11}"} if index % 3 else {}
        writer.append(topic, b"x" * index, tags, queue_id=index % 4 * 1000, store_ms=index * index * 999)
    writer.flush()
    keys = ("minute", "topic", "queue_id", "tag")
    expected = one_by_one([tmp_path], keys, Selection())
    same(added_up([tmp_path], keys, Selection()), expected)
    # By name, because an import here compiles code in each process that collects tests.
    monkeypatch.setattr("spark_reports.datasource.task_sums.GROUPS_MAX", 2)
    monkeypatch.setattr("spark_reports.datasource.task_sums._PARTS_ROWS_MAX", 1)
    monkeypatch.setattr(store_records, "SCAN_BYTES", 4_000)
    same(added_up([tmp_path], keys, Selection()), expected)


def test_only_the_sums_that_are_asked_for_are_made(tmp_path):
    writer = StoreWriter(tmp_path)
    for index in range(6):
        writer.append("orders", b"x" * index, queue_id=index % 2)
    writer.flush()
    schema = to_arrow_schema(columns("queue_id").add(SUMS["body_bytes"]).add(SUMS["messages"]), timezone="UTC")
    (batch,) = read_sums(plan_read([tmp_path]).tasks[0], Selection(), ("topic", "queue_id"), schema)
    assert batch.to_pylist() == [
        {"queue_id": 0, "body_bytes": 6, "messages": 3},
        {"queue_id": 1, "body_bytes": 9, "messages": 3},
    ]


def test_nothing_found_is_no_row(tmp_path):
    (tmp_path / "commitlog").mkdir()
    assert added_up([tmp_path], ("topic",), Selection()) == ({}, [])


@pytest.mark.parametrize(
    ("keys", "schema", "said"),
    [
        ('["body"]', sums("topic"), "cannot be summed by body. There are: minute, store, topic"),
        ("[]", sums("topic"), "cannot be summed by nothing"),
        ('["topic"]', columns("topic", "born_time"), "a read by sums has no column born_time. Columns: topic, messages"),
    ],
)
def test_sums_that_there_are_not_are_refused(keys, schema, said):
    with pytest.raises(UsageError, match=said):
        StoreSourceReader({"path": "/s", "sums_by": keys}, schema)


def test_a_stream_gives_no_sums():
    with pytest.raises(UsageError, match="a stream gives records, not sums"):
        StoreStreamReader({"path": "/s", "sums_by": '["topic"]'}, sums("topic"))


def test_every_key_can_be_summed_by(tmp_path):
    writer = StoreWriter(tmp_path)
    writer.append("orders", b"x", {"TAGS": "a", "PGROUP": "g"})
    writer.flush()
    ((key, values),) = added_up([tmp_path], SUM_KEYS, Selection())[0].items()
    assert (len(key), values[0]) == (len(SUM_KEYS), 1)


@pytest.mark.parametrize("lacks", ["machine code", "machine code and numba"])
def test_a_worker_without_machine_code_makes_the_same_sums(tmp_path, monkeypatch, lacks):
    writer = StoreWriter(tmp_path)
    for number in range(20):
        writer.append(f"t{number % 3}", b"x" * number, {"TAGS": "a", "PGROUP": "g"})
    writer.flush()
    expected = added_up([tmp_path], SUM_KEYS, Selection())
    monkeypatch.setenv("ORBIT_NATIVE", "off")
    if lacks == "machine code and numba":
        monkeypatch.delitem(sys.modules, "broker_core.native.build.compiler", raising=False)
        monkeypatch.setitem(sys.modules, "numba", None)
    kernels.library.cache_clear()
    try:
        found = added_up([tmp_path], SUM_KEYS, Selection())
        assert (kernels.library() is None) == (lacks == "machine code and numba")
    finally:
        kernels.library.cache_clear()
    assert found == expected

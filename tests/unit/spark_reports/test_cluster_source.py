"""What the source reads of our own broker, against what was sent and what the broker's store holds."""

import json

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from broker_core.cluster.slices import QueueSlice, ReadLimits
from broker_core.errors import NetworkError, ReportError, UsageError
from spark_reports.datasource.cluster_plan import ClusterPlan
from spark_reports.datasource.cluster_source import NOT_GIVEN, ClusterReader, partitions_of, read_partition, read_partition_sums
from spark_reports.datasource.cluster_stream import ClusterStreamReader
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import ALL_COLUMNS, MESSAGES, SKIPPED_COLUMNS, columns, sums
from spark_reports.datasource.skipped import OUTSIDE_RANGE
from spark_reports.datasource.source import read_ranges, read_sums
from tests.support.attached import BROKER
from tests.support.broker_thread import broker_thread
from tests.support.client_thread import ClientThread
from tests.support.fake_cluster import FakeBroker, FakeCluster

QUEUES, MESSAGES_A_QUEUE = 3, 50
OWN = ("store",)
"""What tells a store from the broker on it."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with broker_thread(tmp_path_factory.mktemp("broker") / "store") as made:
        made.create("orders", QUEUES)
        for queue_id in range(QUEUES):
            made.send("orders", queue_id, [b"%d-%d" % (queue_id, number) for number in range(MESSAGES_A_QUEUE)], tags="new")
        yield made


def read(broker, schema=ALL_COLUMNS, **options):
    options = {"retry_seconds": "0", "messages_per_second": "0", "bytes_per_second": "0", **options}
    reader = ClusterReader({"name_servers": broker.name_server, **options}, schema)
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def from_store(broker):
    schema = to_arrow_schema(ALL_COLUMNS, timezone="UTC")
    tasks = plan_read([broker.root]).tasks
    return [row for task in tasks for batch in read_ranges(task, Selection(), schema) for row in batch.to_pylist()]


def sent(*queues, first=0, end=MESSAGES_A_QUEUE):
    return sorted(b"%d-%d" % (queue_id, number) for queue_id in queues for number in range(first, end))


def bodies(rows):
    return sorted(row["body"] for row in rows if row["body"] is not None)


def test_every_column_of_every_record_is_that_of_the_store(broker):
    by_place = {row["physical_offset"]: row for row in from_store(broker)}
    rows = read(broker, slice_messages="7")
    assert len(rows) == QUEUES * MESSAGES_A_QUEUE
    assert {row["store"] for row in rows} == {BROKER}
    for row in rows:
        assert {**row, "store": ""} == {**by_place[row["physical_offset"]], "store": ""}


def test_offsets_bound_the_read_to_the_row(broker):
    offsets = {"orders": {f"{BROKER}:0": [10, 20], f"{BROKER}:2": [49, 1_000]}}
    assert bodies(read(broker, offsets=json.dumps(offsets))) == sorted(sent(0, first=10, end=20) + sent(2, first=49))


def test_times_bound_the_read_to_the_row(broker):
    times = sorted({round(row["store_time"].timestamp() * 1000) for row in from_store(broker)})
    border = times[len(times) // 2]
    everything = from_store(broker)
    for bounds, holds in (({"from_ms": border}, lambda ms: ms >= border), ({"to_ms": border}, lambda ms: ms < border)):
        wanted = sorted(row["body"] for row in everything if holds(round(row["store_time"].timestamp() * 1000)))
        rows = read(broker, topics='["orders"]', **{name: str(value) for name, value in bounds.items()})
        assert bodies(rows) == wanted
        skipped = [(row["skipped_reason"], row["skipped_rows"]) for row in rows if row["skipped_reason"]]
        assert sum(count for _reason, count in skipped) == len(everything) - len(wanted)
        assert {reason for reason, _count in skipped} <= {OUTSIDE_RANGE}


def test_what_is_stored_after_the_plan_is_not_read(broker):
    broker.create("later", 1)
    broker.send("later", 0, [b"before"])
    reader = ClusterReader({"name_servers": broker.name_server, "topics": '["later"]'}, columns("body"))
    planned = reader.partitions()
    broker.send("later", 0, [b"behind"])
    assert [row["body"] for part in planned for batch in reader.read(part) for row in batch.to_pylist()] == [b"before"]


def test_sums_are_those_of_the_store(broker):
    keys = ("topic", "queue_id", "tag")
    schema = to_arrow_schema(sums(*keys), timezone="UTC")
    reader = ClusterReader({"name_servers": broker.name_server, "topics": '["orders"]'}, columns("topic"))
    rows = [
        row
        for part in reader.partitions()
        for batch in read_partition_sums(part, Selection(topics=("orders",)), keys, schema)
        for row in batch.to_pylist()
    ]
    stored = [
        row
        for task in plan_read([broker.root]).tasks
        for batch in read_sums(task, Selection(topics=("orders",)), keys, schema)
        for row in batch.to_pylist()
        if row["skipped_reason"] is None
    ]
    assert {repr(row) for row in rows} == {repr(row) for row in stored}


def test_a_broker_that_is_gone_is_in_the_accounting_or_an_error(broker):
    gone = QueueSlice("orders", "broker-b", "127.0.0.1:1", 0, 5, 30)
    plan = ClusterPlan(broker.name_server, tasks=((gone,),), limits=ReadLimits(0, 0, 0)).to_json()
    (row,) = read(broker, columns("store", "topic", *SKIPPED_COLUMNS), plan=plan)
    assert (row["store"], row["skipped_rows"]) == ("broker-b", 25)
    assert "127.0.0.1:1" in row["skipped_reason"]
    with pytest.raises(ReportError, match="25 messages of queue 0 of orders on broker-b are missing"):
        read(broker, columns("topic"), plan=plan)


def test_a_topic_that_is_gone_is_in_the_accounting_or_an_error(broker):
    rows = read(broker, topics='["orders", "never"]')
    assert bodies(rows) == sent(*range(QUEUES))
    assert [row["skipped_reason"] for row in rows if row["skipped_reason"]] == ["there is no topic never"]
    with pytest.raises(NetworkError, match="no topic never"):
        read(broker, columns("topic"), topics='["orders", "never"]')


def test_offsets_without_a_message_are_counted(broker, monkeypatch):
    from spark_reports.datasource import cluster_source

    class Holed(cluster_source.SliceReader):
        def turns(self, parts):
            for turn in super().turns(parts):
                size = int.from_bytes(turn.records[:4], "big")
                yield cluster_source_turn(turn.part, turn.records[size:], turn.left)

    cluster_source_turn = type(next(iter(_turns(broker))))
    monkeypatch.setattr(cluster_source, "SliceReader", Holed)
    rows = read(broker, topics='["orders"]')
    assert [(row["skipped_reason"], row["skipped_rows"]) for row in rows if row["skipped_reason"]] == [(NOT_GIVEN, QUEUES)]
    assert len(rows) == QUEUES * MESSAGES_A_QUEUE - QUEUES + 1


def _turns(broker):
    from broker_core.cluster.reader import SliceReader
    from broker_core.cluster.slices import SurveyRequest

    with SliceReader(broker.name_server) as reader:
        yield from reader.turns(reader.survey(SurveyRequest(("orders",))).slices)


def test_columns_that_there_are_not_are_refused(broker):
    from pyspark.sql.types import StringType, StructField, StructType

    with pytest.raises(UsageError, match="no column colour"):
        ClusterReader({"name_servers": "x:1"}, StructType([StructField("colour", StringType())]))


# ---- streams -----------------------------------------------------------------------------------------------------------


def stream(broker, schema=None, **options):
    schema = schema or columns("body", "queue_id")
    return ClusterStreamReader(
        {"name_servers": broker.name_server, "topics": '["flow"]', "retry_seconds": "0", **options}, schema
    )


def between(reader, start, end):
    return sorted(
        row["body"] for part in reader.partitions(start, end) for batch in reader.read(part) for row in batch.to_pylist()
    )


@pytest.fixture(scope="module")
def flow(broker):
    broker.create("flow", 2)
    broker.send("flow", 0, [b"a", b"b"])
    return broker


def test_a_stream_goes_on_exactly_where_it_stopped(flow):
    begin = stream(flow).initialOffset()
    assert begin == {f"flow {BROKER}:0": 0, f"flow {BROKER}:1": 0}
    middle = stream(flow).latestOffset(begin, None)
    flow.send("flow", 1, [b"c"])
    flow.send("flow", 0, [b"d"])
    again = stream(flow)  # another process, which knows the offsets alone
    end = again.latestOffset(middle, None)
    assert between(stream(flow), begin, middle) == [b"a", b"b"]
    assert between(again, middle, end) == [b"c", b"d"]
    assert between(stream(flow), middle, end) == [b"c", b"d"]
    assert again.latestOffset(end, None) == end


def test_the_newest_begin_behind_what_is_there(flow):
    newest = stream(flow, begin="newest")
    start = newest.initialOffset()
    flow.send("flow", 1, [b"new"])
    assert between(newest, start, newest.latestOffset(start, None)) == [b"new"]


def test_a_batch_can_be_bounded(flow):
    flow.create("many", 2)
    for queue_id in range(2):
        flow.send("many", queue_id, [b"x"] * 10)
    reader = stream(flow, topics='["many"]', messages_per_batch="6")
    start = reader.initialOffset()
    taken = []
    while (end := reader.latestOffset(start, None)) != start:
        taken.append(sum(end.values()) - sum(start.values()))
        start = end
    assert taken == [6, 6, 6, 2]


def test_a_queue_that_ends_before_its_place_stops_the_stream(flow):
    reader = stream(flow)
    with pytest.raises(ReportError, match="1,000,000"):
        reader.latestOffset({f"flow {BROKER}:0": 1_000_000}, None)


@pytest.fixture
def lonely():
    """A name server and its only broker, in memory."""
    with ClientThread() as clients:
        cluster = FakeCluster([FakeBroker(BROKER, {"flow": 2}, {"flow": 3})])
        clients.call(cluster.__aenter__())
        yield clients, cluster
        clients.call(cluster.__aexit__())


@pytest.mark.parametrize("loss", ["gone", "knows no broker", "knows other brokers only"])
def test_a_stream_waits_while_its_name_server_is_lost(lonely, loss):
    clients, cluster = lonely
    reader = stream(cluster)
    start = reader.initialOffset()
    middle = reader.latestOffset(start, None)
    assert sum(middle.values()) == 6
    cluster.brokers[0].held["flow"] = 5
    if loss == "gone":
        clients.call(cluster.stop_name_server())
    else:
        cluster.hidden.add(BROKER)
    if loss == "knows other brokers only":
        cluster.brokers.append(FakeBroker("broker-b", {"other": 1}))
        clients.call(cluster.brokers[1].start())
    assert reader.latestOffset(middle, None) == middle
    with pytest.raises((NetworkError, UsageError)):
        stream(cluster).latestOffset(middle, None)  # another process, for which the address may be a wrong one
    if loss == "gone":
        clients.call(cluster.start_name_server())
    cluster.hidden.clear()
    assert sum(reader.latestOffset(middle, None).values()) == 10


def test_a_broker_that_is_down_does_not_hold_up_the_queues_of_others(lonely):
    clients, cluster = lonely
    cluster.brokers.append(FakeBroker("broker-b", {"flow": 1}, {"flow": 1}))
    clients.call(cluster.brokers[1].start())
    reader = stream(cluster, retry_seconds="1e9")
    start = reader.latestOffset(reader.initialOffset(), None)
    cluster.brokers[0].held["flow"] = 4
    clients.call(cluster.brokers[1].stop())
    end = reader.latestOffset(start, None)
    assert {name: end[name] - start[name] for name in end} == {
        f"flow {BROKER}:0": 1, f"flow {BROKER}:1": 1, "flow broker-b:0": 0,
    }  # fmt: skip
    clients.call(cluster.brokers[1].start())


def test_a_stream_never_skips_what_it_can_read_later(flow):
    reader = stream(flow, columns("body", *SKIPPED_COLUMNS))
    end = reader.latestOffset(reader.initialOffset(), None)
    parts = reader.partitions({}, end)
    lost = [type(part)(part.name_servers, part.place, tuple(
        QueueSlice(one.topic, one.broker, "127.0.0.1:1", one.queue_id, one.first, one.end) for one in part.slices), part.limits)
        for part in parts]  # fmt: skip
    with pytest.raises(ReportError, match="missing"):
        list(reader.read(lost[0]))


def test_options_that_a_stream_has_not_are_refused(flow):
    for option in ({"plan": "{}"}, {"offsets": "{}"}, {"sums_by": '["topic"]'}, {"begin": "soon"}):
        with pytest.raises(UsageError):
            stream(flow, **option)


def test_a_plan_of_nothing_reads_nothing():
    schema = to_arrow_schema(MESSAGES, timezone="UTC")
    assert [list(read_partition(part, Selection(), schema)) for part in partitions_of(ClusterPlan("x:1"))] == []

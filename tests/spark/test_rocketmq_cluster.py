"""A running cluster as a Spark table, and reports on it: the same figures as from the store of its broker."""

import importlib
import json

import pytest

from broker_core.cluster.slices import ReadLimits
from spark_reports import catalog
from spark_reports.clusters import ReportCluster, plan_report
from spark_reports.datasource.cluster_options import ClusterOptions
from spark_reports.datasource.cluster_source import NOT_GIVEN, RocketMQClusterDataSource
from spark_reports.datasource.schema import CLUSTER_FORMAT, columns
from spark_reports.parameters import ReportParameters, read_values
from spark_reports.report_input import ReportInput
from spark_reports.run import gather
from tests.spark.support import rows, run
from tests.support import known_store as known
from tests.support.attached import BROKER
from tests.support.broker_thread import broker_thread

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]

QUEUES = 24
BLOBS = 15
ALIKE = "transactions"
"""The report that needs most of what a record says: offsets, halves, ops, and where each of them lies."""
OWN_PARAMETERS = {"story": {"key": "TRAN000001"}, "incident": {"before_min": 60}, "sql": {
    "query": "select topic, count(*) as n from messages group by topic order by topic"}}  # fmt: skip
WHOLE = (None, known.NOW_MS)
BOUNDS = {
    "incident": (known.START_MS + 4 * known.DAY_MS, known.START_MS + 5 * known.DAY_MS),
    "compare": (known.START_MS + 7 * known.DAY_MS, known.NOW_MS),
}
WITH_KEYS = ("reconcile",)
PATIENCE_SECONDS = 60
"""The broker shares this process with the tests: on a busy machine it is silent for a while and comes back."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    """Our broker on the known store: what it stores itself meanwhile has another time."""
    store = known.write_known_store(tmp_path_factory.mktemp("known") / "store")
    (store.root / "config").mkdir()
    table = {
        topic: {"topicName": topic, "readQueueNums": QUEUES, "writeQueueNums": QUEUES, "perm": 6} for topic in store.by_topic
    }
    (store.root / "config" / "topics.json").write_text(json.dumps({"topicConfigTable": table, "dataVersion": {"counter": 1}}))
    with broker_thread(store.root) as made:
        yield made


@pytest.fixture
def source(spark, broker, tmp_path):
    spark.dataSource.register(RocketMQClusterDataSource)
    limits = ReadLimits(0, 0, PATIENCE_SECONDS)
    return ReportCluster(ClusterOptions(broker.name_server, limits=limits, slice_messages=300), tmp_path)


def report_on(spark, source, name, *, topics=(), **own):
    spec = catalog.find(name)
    values = read_values(spec, {key.replace("_", "-"): str(value) for key, value in own.items()})
    parameters = ReportParameters(*BOUNDS.get(name, WHOLE), topics, values, known.NOW_MS)
    report = importlib.import_module(f"spark_reports.reports.{spec.module}")
    plan = plan_report(source, spec, parameters, None)
    return report.result(gather(ReportInput(spark, plan, parameters, None, (str(source.history),)), report))


def plain(result, names):
    """What a result says, but for the name of where it was read."""
    tables = {
        table.name: [{key: BROKER if key == "store" else value for key, value in row.items()} for row in table.data.to_pylist()]
        for table in result.tables
    }
    return (
        result.rows, result.found_from_ms, result.found_to_ms, [headline.value for headline in result.headlines],
        [one.replace(names, BROKER) for one in result.findings], tables,
    )  # fmt: skip


def same_as_of_the_store(spark, source, broker, name, **own):
    on_cluster = report_on(spark, source, name, **own)
    damaged = [(skip.reason, skip.rows) for skip in on_cluster.skipped if skip.damaged]
    # A store does not say that offsets are missing; a queue does, where the range of times reaches it.
    assert damaged == ([] if name == "incident" else [(NOT_GIVEN, known.GAP_OFFSETS)])
    from_ms, to_ms = BOUNDS.get(name, WHOLE)
    on_store = run(spark, broker.root, name, from_ms=from_ms, to_ms=to_ms, **own)
    assert plain(on_cluster, BROKER) == plain(on_store, str(broker.root))


def test_a_report_gives_the_figures_of_the_store(spark, source, broker):
    same_as_of_the_store(spark, source, broker, ALIKE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [spec.name for spec in catalog.reports() if not spec.needs_samples and spec.name not in (ALIKE, *WITH_KEYS)]
)
def test_the_whole_catalogue_gives_the_figures_of_the_store(spark, source, broker, name):
    same_as_of_the_store(spark, source, broker, name, **OWN_PARAMETERS.get(name, {}))


@pytest.mark.slow
def test_reconciliation_gives_the_figures_of_the_store(spark, source, broker, tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text("order\norder-1\norder-2\nsame-0\nnever\n")
    same_as_of_the_store(spark, source, broker, "reconcile", keys_file=path)


def test_of_the_topics_that_are_asked_for_every_message_is_counted(spark, source, broker):
    result = report_on(spark, source, "throughput", topics=("orders", "later"))
    messages = {row["topic"]: row["messages"] for row in rows(result, "by_topic")}
    assert {topic: messages[topic] for topic in ("orders", "later")} == {
        "orders": known.ORDERS, "later": sum(known.DELAYED.values()) + known.TIMERS,
    }  # fmt: skip
    assert not any(skip.damaged for skip in result.skipped)


def test_filters_reach_the_brokers(spark, broker, source, capsys):
    orders = spark.read.format(CLUSTER_FORMAT).schema(columns("topic", "queue_id", "queue_offset", "tag")).load(
        broker.name_server
    )  # fmt: skip
    query = orders.where("topic = 'orders' and queue_id = 1 and queue_offset between 10 and 19")
    assert sorted(row["queue_offset"] for row in query.toArrow().to_pylist()) == list(range(10, 20))
    query.explain()
    assert "Filter (" not in capsys.readouterr().out


def test_secrets_stand_in_no_plan(spark, broker, source, tmp_path):
    details = tmp_path / "details.json"
    details.write_text('{"accessKey": "reader", "secretKey": "hush-hush"}')
    details.chmod(0o600)
    read = spark.read.format(CLUSTER_FORMAT).schema(columns("topic")).option("details", str(details))
    orders = read.option("topics", '["blobs"]').load(broker.name_server)
    assert orders.count() == BLOBS
    for text in (orders._jdf.queryExecution().toString(), orders._jdf.queryExecution().optimizedPlan().toJSON()):
        assert "hush-hush" not in text


def test_a_stream_goes_on_where_its_checkpoint_ends(spark, broker, source, tmp_path):
    broker.create("flow", 2)
    seen = []

    def run_once():
        stream = spark.readStream.format(CLUSTER_FORMAT).schema(columns("body")).option("topics", '["flow"]')
        writer = stream.load(broker.name_server).writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer = writer.trigger(availableNow=True)
        running = writer.foreachBatch(lambda batch, _: seen.extend(batch.toArrow()["body"].to_pylist())).start()
        assert running.awaitTermination(100)

    broker.send("flow", 0, [b"%d" % number for number in range(20)])
    run_once()
    broker.send("flow", 1, [b"%d" % number for number in range(20, 30)])
    run_once()
    assert sorted(seen) == sorted(b"%d" % number for number in range(30))

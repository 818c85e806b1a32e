"""What the source of reports reads of a real RocketMQ, against what was sent to it; on demand."""

import asyncio
import json
import subprocess
import sys

import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.pull_consumer import PullConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import CHECK_GROUP
from spark_reports.datasource.cluster_source import ClusterReader
from spark_reports.datasource.options import Selection
from spark_reports.datasource.plan import plan_read
from spark_reports.datasource.schema import ALL_COLUMNS
from spark_reports.datasource.source import OUTSIDE_RANGE, read_ranges
from tests.support.broker_process import CHECKOUT
from tests.support.real_broker import RealBroker
from tests.support.remoting_peer import eventually, eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

BROKER = "broker-a"
QUEUES, MESSAGES_A_QUEUE = 3, 200
COMMITS, ROLLBACKS = 4, 3
INTERNAL = ("RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX")


@pytest.fixture(scope="module", params=["4.9.4", "5.3.3"])
def filled(request, tmp_path_factory):
    broker = RealBroker(request.param, tmp_path_factory.mktemp("real") / "real", {"autoCreateTopicEnable": "true"})
    broker.start()
    try:
        broker.until_registered()
        asyncio.run(fill(broker))
        yield broker
    finally:
        broker.stop()


@pytest.fixture
def real(filled):
    filled.until_registered()
    return filled


def body(queue_id, number):
    return b"%d-%d" % (queue_id, number)


async def fill(broker):
    async with AdminClient(broker.name_server) as admin:
        await admin.create_topic("orders", queues=QUEUES)
        await admin.create_topic("pay", queues=1)
        await eventually_answers(lambda: routed(admin, "orders", "pay"))
    async with Producer(broker.name_server) as producer:
        for queue_id in range(QUEUES):
            for first in range(0, MESSAGES_A_QUEUE, 50):
                batch = [Message("orders", body(queue_id, first + number), tags="new") for number in range(50)]
                await producer.send_batch(batch, queue=MessageQueue("orders", BROKER, queue_id))
        await producer.send(Message("pay", b"later", properties={"DELAY": "18"}))
    decisions = [LocalState.COMMIT] * COMMITS + [LocalState.ROLLBACK] * ROLLBACKS
    async with TransactionProducer(broker.name_server, "bank", lambda _message: LocalState.UNKNOWN) as bank:
        for decision in decisions:
            await bank.send_in_transaction(Message("pay", b"x"), lambda _message, decision=decision: decision)
        await eventually(lambda: len(decided(broker)) == len(decisions))  # 5.x gathers them for some seconds


def decided(broker):
    return [one for row in stored(broker) for one in (row["decided_offsets"] or "").split(",") if one]


async def routed(admin, *topics):
    return set(topics) <= set(await admin.topics())


def read(broker, **options):
    reader = ClusterReader({"name_servers": broker.name_server, "slice_messages": "70", **options}, ALL_COLUMNS)
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def messages(rows):
    return [row for row in rows if row["skipped_reason"] is None]


def stored(broker):
    schema = to_arrow_schema(ALL_COLUMNS, timezone="UTC")
    tasks = plan_read([broker.store]).tasks
    return messages(row for task in tasks for batch in read_ranges(task, Selection(), schema) for row in batch.to_pylist())


def test_every_message_is_read_once_with_every_column(real):
    rows = read(real, topics='["orders"]')
    sent = sorted(body(queue_id, number) for queue_id in range(QUEUES) for number in range(MESSAGES_A_QUEUE))
    assert sorted(row["body"] for row in messages(rows)) == sent
    assert [row for row in rows if row["skipped_reason"]] == []
    in_store = {row["physical_offset"]: row for row in stored(real)}
    for row in rows:
        assert {**row, "store": ""} == {**in_store[row["physical_offset"]], "store": ""}


def test_times_and_offsets_bound_the_read_to_the_row(real):
    orders = [row for row in stored(real) if row["topic"] == "orders"]
    times = sorted({round(row["store_time"].timestamp() * 1000) for row in orders})
    for border in (times[0], times[len(times) // 2], times[-1], times[-1] + 1):
        wanted = sorted(row["body"] for row in orders if round(row["store_time"].timestamp() * 1000) < border)
        rows = read(real, topics='["orders"]', to_ms=str(border)) if border > times[0] else []
        assert sorted(row["body"] for row in messages(rows)) == wanted
        assert {row["skipped_reason"] for row in rows if row["skipped_reason"]} <= {OUTSIDE_RANGE}
    offsets = json.dumps({"orders": {f"{BROKER}:1": [150, 170]}})
    assert sorted(row["body"] for row in read(real, offsets=offsets)) == sorted(body(1, number) for number in range(150, 170))


def test_what_waits_and_what_was_decided_is_read_where_it_lies(real):
    """Also the op queue, which 4.x lets nobody pull."""
    kinds = {}
    for row in messages(read(real)):
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    in_store = {}
    for row in stored(real):
        in_store[row["kind"]] = in_store.get(row["kind"], 0) + 1
    assert kinds == in_store
    assert (kinds["half"], kinds["committed"], kinds["delay"]) == (COMMITS + ROLLBACKS, COMMITS, 1)


def test_nobody_s_offsets_move(real):
    async def positions():
        async with AdminClient(real.name_server) as admin:
            stored = await admin.offsets_of_groups(real.address)
            return {key: offsets for key, offsets in stored.items() if key[0] != CHECK_GROUP}

    async def commit():
        async with AdminClient(real.name_server) as admin:
            await admin.set_group("workers")
        async with PullConsumer(real.name_server, "workers") as consumer:
            await consumer.commit(MessageQueue("orders", BROKER, 0), 7)

    asyncio.run(commit())
    read(real)
    assert asyncio.run(positions()) == {("workers", "orders"): {0: 7}}


def test_a_report_from_the_command_line_is_complete(real, tmp_path):
    words = ["throughput", "--ns", real.name_server, "--topic", "orders", "--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, str(CHECKOUT / "main.py"), "report", *words], check=True, timeout=500)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["state"], manifest["rows"]["read"]) == ("complete", QUEUES * MESSAGES_A_QUEUE)

"""The window's view of a real RocketMQ; on demand."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.pull_consumer import PullConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.errors import UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.attached.queries import ClusterQueries
from broker_core.worker.questions.administration import AskBroker, CreateTopic, ListMembers
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.stored_messages import BrowseQueue, BrowseTopic, FindOffset, ReadMessage, SendMessage
from broker_core.worker.questions.transactions import ListTransactions
from tests.support.attached import decided, sampled
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

BROKER = "broker-a"


@pytest.fixture(params=["4.9.4", "5.3.3"])
def real(request, tmp_path):
    with running_peer(request.param, tmp_path / "real", autoCreateTopicEnable="true") as broker:
        broker.until_registered()
        yield broker


def test_it_is_shown_read_and_left_as_it_was(real):
    async def scenario():
        cluster = AttachedCluster(AttachOptions(real.name_server))
        queries = ClusterQueries(cluster.link, cluster.figures, cluster.sampling, shut_down=lambda: None)
        try:
            await cluster.connect()
            await queries.answer(CreateTopic("T", 2, 2))
            async with Producer(real.name_server) as producer:
                for number in range(10):
                    await producer.send(Message("T", b"%d" % number, keys=(f"k{number}",)), queue=MessageQueue("T", BROKER, 1))
            await cluster.link.set_group("g")
            async with PullConsumer(real.name_server, "g") as consumer:
                await consumer.commit(MessageQueue("T", BROKER, 1), 4)
            await sampled(cluster)
            catalog, snapshot = cluster.figures.catalog(), cluster.figures.snapshot()
            assert ("T" in catalog.topics, "g" in catalog.groups) == (True, True)
            assert list(memoryview(snapshot.positions["offset"]).cast("q")) == [4]

            page = await queries.answer(BrowseQueue("T", 1, 2, 3))
            assert (page.queue_offset, page.keys, page.max_offset) == ([2, 3, 4], ["k2", "k3", "k4"], 10)
            assert (await queries.answer(ReadMessage(page.physical_offset[1]))).body == b"3"
            assert len((await queries.answer(BrowseQueue("T", -1, 0, 50))).keys) == 10
            newest = await queries.answer(BrowseTopic("T", 4))
            assert (newest.page.queue_offset, newest.queue, newest.first, newest.end) == ([9, 8, 7, 6], [0, 1], [0, 6], [0, 10])
            older = await queries.answer(BrowseTopic("T", 4, newest.queue, newest.first))
            assert older.page.queue_offset == [5, 4, 3, 2]
            newer = await queries.answer(BrowseTopic("T", 4, older.queue, older.end, newer=True))
            assert newer.page == newest.page
            assert (await queries.answer(BrowseTopic("T", 3, newer=True))).page.queue_offset == [2, 1, 0]
            assert (await queries.answer(FindOffset("T", 1, page.store_ms[0]))).offset <= 2
            assert (await queries.answer(SendMessage("T", 0, b"new", {}))).queue_offset == 0
            assert (await queries.answer(ListMembers("g"))).client_id == []

            cluster.sampling.start()
            await eventually(lambda: cluster.figures.of(BROKER).next_store.get(("g", "T", 1)), 60)
            assert cluster.figures.of(BROKER).positions["g", "T"][1] == 4

            fields = {"topic": "T", "group": "g", "timestamp": "0", "isForce": "true", "queueId": "1", "offset": "2"}
            reset = AskBroker(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields)
            if real.version.startswith("4."):
                with pytest.raises(UsageError, match="whole topic"):
                    await queries.answer(reset)
                assert await cluster.link.consumer_offset("g", MessageQueue("T", BROKER, 1)) == 4
        finally:
            await queries.close()
            await cluster.close()

    asyncio.run(scenario())


def test_what_waits_and_what_is_undecided_is_seen(real):
    states = {
        "apple": LocalState.UNKNOWN,
        "birch": LocalState.COMMIT,
        "cedar": LocalState.ROLLBACK,
        "delta": LocalState.UNKNOWN,
    }

    async def scenario():
        cluster = AttachedCluster(AttachOptions(real.name_server))
        queries = ClusterQueries(cluster.link, cluster.figures, cluster.sampling, shut_down=lambda: None)
        try:
            await cluster.connect()
            await queries.answer(CreateTopic("T", 2, 2))
            async with Producer(real.name_server) as producer:
                for number in range(5):
                    await producer.send(Message("T", b"x", keys=(f"k{number}",), properties={"DELAY": "18"}))
            async with TransactionProducer(real.name_server, "PG", lambda _message: LocalState.UNKNOWN) as producer:
                for key, state in states.items():
                    message = Message("T", b"x", keys=(key,))
                    await producer.send_in_transaction(message, lambda _message, state=state: state)
                await decided(queries, 2)
                await sampled(cluster)
                page = await queries.answer(ListTransactions(0, 10))
            assert (page.keys, page.group, page.producers) == (["apple", "delta"], ["PG"] * 2, [1, 1])
            assert list(memoryview(cluster.figures.snapshot().delays["pending"]).cast("q")) == [0] * 17 + [5]
            waiting = await queries.answer(ListDelayed(18, 0, 10))
            assert waiting.keys == [f"k{number}" for number in range(5)]
            assert [due - store for due, store in zip(waiting.due_ms, waiting.store_ms, strict=True)] == [7_200_000] * 5
        finally:
            await queries.close()
            await cluster.close()

    asyncio.run(scenario())

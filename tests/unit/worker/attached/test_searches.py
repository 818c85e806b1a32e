"""Searches of a cluster of several brokers: queues go by the numbers under which they are shown."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.questions.searches import ContinueSearch, StartSearch
from tests.support.attached import BROKER, QUICK, asking, broker_on


@pytest.mark.parametrize(
    ("condition", "bodies"),
    [("queue = 10001", [b"1"]), ("queue = 1", []), ("not queue = 10001", [b"0"]), ("queue in (10000, 1)", [b"0"])],
)
def test_queues_of_the_second_broker_have_numbers_of_their_own(tmp_path, condition, bodies):
    async def scenario():
        async with broker_on(tmp_path / "store") as broker:
            cluster = AttachedCluster(AttachOptions(broker.name_server_address, QUICK))
            # Another broker was seen first, so that this one is number 1.
            cluster.link.numbers.see(["another"])
            await cluster.connect()
            try:
                await cluster.link.create_topic("T", queues=2)
                async with Producer(broker.name_server_address) as producer:
                    for queue in range(2):
                        await producer.send(Message("T", b"%d" % queue), queue=MessageQueue("T", BROKER, queue))
                async with asking(cluster) as queries:
                    started = await queries.answer(StartSearch(f'topic = "T" and {condition}'))
                    hits = await queries.answer(ContinueSearch(started.search_id))
                assert (hits.is_over, hits.body_start) == (True, bodies)
                assert hits.queue_id == [10_000 + int(body) for body in bodies]
            finally:
                await cluster.close()

    asyncio.run(scenario())

"""What the console itself reads of a real broker is no message out, of whatever topic; on demand."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.stored_messages import BrowseQueue
from tests.support.attached import asking, attached, sampled
from tests.support.real_broker import RealBroker

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

LEVEL, COUNT = 18, 40


@pytest.fixture(params=["4.9.4", "5.3.3"])
def real(request, tmp_path):
    broker = RealBroker(request.param, tmp_path / "real", {"autoCreateTopicEnable": "true"})
    broker.start()
    broker.until_registered()
    yield broker
    broker.stop()


def test_reading_delay_levels_takes_nothing_from_what_others_get(real):
    async def scenario():
        async with attached(real.name_server) as cluster, Producer(real.name_server) as producer:
            for _number in range(COUNT):
                await producer.send(Message("T", b"now"))
                await producer.send(Message("T", b"later", properties={"DELAY": str(LEVEL)}))
            await sampled(cluster)
            before = cluster.figures.snapshot().totals["got_messages"]
            async with asking(cluster) as queries:
                assert len((await queries.answer(ListDelayed(LEVEL, 0, COUNT))).queue_offset) == COUNT
                assert (await queries.answer(BrowseQueue("T", -1, 0, COUNT))).keys
            await sampled(cluster)
            of = next(iter(cluster.figures.brokers.values()))
            told = int(of.runtime["msgGetTotalTodayNow"])
            assert cluster.figures.snapshot().totals["got_messages"] == before
            assert told - of.console_got == before

    asyncio.run(scenario())

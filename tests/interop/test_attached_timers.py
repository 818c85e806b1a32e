"""Timers of a real 5.3.3 as the console counts them from outside: GET_TIMER_METRICS and the runtime figures; on demand."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.protocol.codes import RequestCode
from tests.support.attached import BROKER, attached, sampled
from tests.support.real_broker import RealBroker
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

LONG_S = 120.0
WAITING = {"orders": 3, "payments": 2}


@pytest.fixture
def real(tmp_path):
    broker = RealBroker("5.3.3", tmp_path / "real", {"autoCreateTopicEnable": "true"})
    broker.start()
    broker.until_registered()
    yield broker
    broker.stop()


def test_timers_that_wait_are_counted_by_their_topics(real):
    async def scenario():
        async with attached(real.name_server, WatchSettings()) as cluster, Producer(real.name_server) as producer:
            await sampled(cluster)
            assert cluster.figures.snapshot().timers["pending"] == 0
            for topic, count in WAITING.items():
                for number in range(count):
                    later = {"TIMER_DELAY_SEC": str(3_600 + number)}
                    await producer.send(Message(topic, b"later", properties=later))
            await producer.send(Message("orders", b"soon", properties={"TIMER_DELAY_MS": "3000"}))

            async def are_counted():
                await cluster.sampling.once()
                return cluster.figures.of(BROKER).timers == WAITING

            await eventually_answers(are_counted, LONG_S)
            timers = cluster.figures.snapshot().timers
            assert (timers["pending"], timers["next_due_ms"], timers["not_yet_in_wheel"]) == (5, -2, 0)
            assert timers["overdue_ms"] < 60_000
            assert not cluster.figures.faults()
            body = (await cluster.link.ask_gently(BROKER, RequestCode.GET_TIMER_METRICS)).body
            assert b"timingCount" in bytes(body)

    asyncio.run(scenario())

"""A store that is opened with another setting: what the former one left waiting is reported, and comes when it is back."""

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode as Q
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.clock import ManualClock
from tests.support.pop_bench import pop_fields
from tests.support.remoting_peer import eventually
from tests.unit.engine.broker.test_lifecycle import asking

WAIT_MS = 10_000
OFF = "timerWheelEnable is off: messages that wait for their time are delivered after it is on again"
ANOTHER = "brokerClusterName is another: messages that were popped and not acked come again after it is First again"


class Opened:
    """One store that brokers of different settings open in turn, by one clock."""

    def __init__(self, root):
        self._root = root
        self.clock = ManualClock()

    def run(self, work, *, cluster="First", timers=True):
        """Results of ``work`` with a broker, and what it reported at its start."""

        async def scenario():
            store = StoreConfig(root=self._root, timer_wheel=timers, **SMALL_FILES)
            broker = EmbeddedBroker(
                BrokerConfig(listen_port=0, name_server_port=0, cluster_name=cluster, store=store), clock=self.clock
            )
            await broker.start()
            try:
                async with asking(broker.broker_address) as ask:
                    return await work(broker, ask), list(broker.reports)
            finally:
                await broker.stop()

        return asyncio.run(scenario())


@pytest.fixture
def opened(tmp_path):
    return Opened(tmp_path)


async def nothing(_broker, _ask):
    return None


def came(topic, count):
    async def work(broker, _ask):
        await eventually(lambda: broker.store.max_offset(topic, 0) == count)

    return work


def test_timers_that_wait_while_the_wheel_is_off(opened):
    async def send(broker, ask):
        for due_ms in (opened.clock() + 1_000, opened.clock() + WAIT_MS):
            await ask(Q.SEND_MESSAGE_V2, send_fields("T", properties=f"TIMER_DELIVER_MS\x01{due_ms}"), b"later")
        opened.clock.advance(3_000)
        await eventually(lambda: broker.store.max_offset("T", 0) == 1)

    assert opened.run(send) == (None, [])
    assert opened.run(nothing, timers=False) == (None, [OFF])
    opened.clock.advance(WAIT_MS)
    assert opened.run(came("T", 2)) == (None, [])
    assert opened.run(nothing, timers=False) == (None, [])


def test_pops_of_another_cluster_name(opened):
    async def pop(_broker, ask):
        await ask(Q.SEND_MESSAGE_V2, send_fields("T"), b"popped")
        answer = await ask(Q.POP_MESSAGE, pop_fields(opened.clock(), invisibleTime=WAIT_MS))
        assert b"popped" in answer.body

    assert opened.run(pop) == (None, [])
    opened.clock.advance(2 * WAIT_MS)
    assert opened.run(nothing, cluster="Second") == (None, [ANOTHER])
    assert opened.run(came("%RETRY%CG_T", 1)) == (None, [])
    assert opened.run(nothing, cluster="Second") == (None, [])

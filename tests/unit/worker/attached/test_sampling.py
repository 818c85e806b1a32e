"""What keeps the figures of a cluster true; whole clusters are in `test_cluster`."""

import asyncio
from typing import Any, cast

from broker_core.cluster.numbering import BrokerNumbers
from broker_core.cluster.proxies import Proxies
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.sampling import Sampling
from tests.support.clock import ManualClock


class FaultyOnce:
    """A link whose brokers cannot be had at first."""

    def __init__(self) -> None:
        self.settings = WatchSettings(tables_ms=0)
        self.asked = asyncio.Semaphore(0)
        self.is_faulty = True
        self.proxies = Proxies(cast("Any", self))

    @property
    def brokers(self) -> dict[str, Any]:
        if self.is_faulty:
            self.is_faulty = False
            raise ValueError("a fault of our own")
        self.asked.release()
        return {}

    async def find_brokers(self) -> None:
        await asyncio.Event().wait()


def test_a_fault_of_one_look_at_slaves_does_not_end_the_looking(caplog):
    async def scenario():
        link, clock = FaultyOnce(), ManualClock()
        sampling = Sampling(cast("Any", link), ClusterFigures(BrokerNumbers(), clock=clock), clock=clock)
        sampling.start()
        async with asyncio.timeout(60):
            await link.asked.acquire()
        await sampling.close()

    asyncio.run(scenario())
    assert "asking for slaves and proxies failed" in caplog.text

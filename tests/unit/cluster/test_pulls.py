import asyncio

import pytest

from broker_core.cluster.pulls import BrokerPatience
from broker_core.errors import NetworkError, RemoteError

SYSTEM_BUSY, NO_PERMISSION = 2, 16


class World:
    """A broker that fails in given ways before it answers, and a clock that only waiting moves."""

    def __init__(self, *failures):
        self.failures, self.asked, self.now = list(failures), 0, 0.0
        self.patience = BrokerPatience(10.0, monotonic=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds):
        self.now += seconds

    async def answer(self):
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return "records"

    def ask(self, address="a:1"):
        return asyncio.run(self.patience.ask(address, self.answer))


def test_a_broker_that_comes_back_is_asked_again():
    world = World(NetworkError("gone"), RemoteError("busy", code=SYSTEM_BUSY), NetworkError("gone"))
    assert world.ask() == "records"
    assert (world.asked, world.now) == (4, 1.5)


def test_a_refusal_is_no_reason_to_wait():
    world = World(RemoteError("no", code=NO_PERMISSION))
    with pytest.raises(RemoteError, match="no"):
        world.ask()
    assert (world.asked, world.now) == (1, 0.0)


def test_one_that_stays_away_is_waited_for_once():
    world = World(*[NetworkError("gone")] * 100)
    for _ in range(2):
        with pytest.raises(NetworkError, match="gone"):
            world.ask()
    assert world.now <= 10.0
    asked = world.asked
    with pytest.raises(NetworkError):
        world.ask()
    assert world.asked == asked
    world.failures.clear()
    assert world.ask("b:1") == "records"

import asyncio
from dataclasses import replace

import pytest

from broker_core.cluster.request_pacing import AskAgain
from broker_core.cluster.slices import QueueSlice, ReadLimits
from broker_core.errors import NetworkError, RemoteError

SYSTEM_BUSY, NO_PERMISSION = 2, 16
PART = QueueSlice("orders", "a", "a:1", 0, 0, 40)


class Clock:
    def __init__(self):
        self.now, self.slept = 100.0, []

    async def sleep(self, seconds):
        self.slept.append(round(seconds, 6))
        self.now += seconds


def paced(limits, *taken):
    clock = Clock()
    asking = AskAgain(limits, monotonic=lambda: clock.now, sleep=clock.sleep)

    async def answer():
        return "records"

    async def take():
        for messages, byte_count in taken:
            await asking.ask(PART, answer)
            asking.took(PART, messages, byte_count)

    asyncio.run(take())
    return clock.slept


def test_what_was_taken_is_paid_for_before_the_next():
    assert paced(ReadLimits(100, 0), (50, 1), (100, 1), (1, 1)) == [0.5, 1.0]


def test_the_tighter_of_the_two_limits_counts():
    assert paced(ReadLimits(100, 1_000), (1, 2_000), (100, 1), (1, 1)) == [2.0, 1.0]


def test_no_limit_never_waits():
    assert paced(ReadLimits(0, 0), (1_000_000, 1 << 30), (1, 1)) == []


def test_the_shares_of_several_readers_add_up_to_the_limit():
    share = ReadLimits(1_000, 8_000).shared_by(4)
    assert (share.messages_per_second * 4, share.bytes_per_second * 4) == (1_000, 8_000)


class World:
    """A broker that fails in given ways before it answers, and a clock that only waiting moves."""

    def __init__(self, *failures):
        self.failures, self.asked, self.now = list(failures), 0, 0.0
        self.asking = AskAgain(ReadLimits(0, 0, 10.0), monotonic=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds):
        self.now += seconds

    async def answer(self):
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return "records"

    def ask(self, address="a:1"):
        return asyncio.run(self.asking.ask(replace(PART, address=address), self.answer))


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

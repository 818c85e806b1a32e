import asyncio

from broker_core.cluster.model import ReadLimits
from broker_core.cluster.pace import Pace


class Clock:
    def __init__(self):
        self.now, self.slept = 100.0, []

    async def sleep(self, seconds):
        self.slept.append(round(seconds, 6))
        self.now += seconds


def paced(limits, *taken):
    clock = Clock()
    pace = Pace(limits, monotonic=lambda: clock.now, sleep=clock.sleep)

    async def take():
        for messages, byte_count in taken:
            await pace.wait()
            pace.took(messages, byte_count)

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

"""Time ranges are exact, whatever a broker answers to a search by time."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.copying.boundaries import QueueReader
from broker_core.copying.order import Wanted
from broker_core.errors import UsageError
from broker_core.message.model import HostAddress, MessageToStore
from broker_core.message.record import encode_record
from broker_core.remoting.json_body import MessageQueue

HOST = HostAddress.parse("127.0.0.1:1")


class Broker:
    """A queue with store times, and some answer to a search by time."""

    def __init__(self, times, answer):
        self.times, self.answer, self.pulls = times, answer, 0

    async def offset_by_time(self, _queue, _time_ms):
        return self.answer

    async def pull_records(self, _address, _queue, offset, count):
        assert count == 1
        self.pulls += 1
        message = MessageToStore("t", 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", b"")
        times = self.times[offset]
        return encode_record(message, queue_offset=offset, physical_offset=0, store_timestamp_ms=times), offset + 1


def answer_of(asking):
    """What a coroutine that never has to wait returns."""
    with pytest.raises(StopIteration) as ended:
        asking.send(None)
    return ended.value.value


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(0, 45), st.integers(-5, 80))
def test_the_first_at_a_time_is_found_from_any_guess(unordered, time_ms, answer):
    times = sorted(unordered)
    reader = QueueReader(Broker(times, answer), MessageQueue("t", "b", 0), "a")
    assert answer_of(reader.first_at(time_ms, 0, len(times))) == bisect_left(times, time_ms)


def test_a_good_answer_costs_two_looks():
    broker = Broker(list(range(100_000)), 70_000)
    reader = QueueReader(broker, MessageQueue("t", "b", 0), "a")
    assert answer_of(reader.first_at(70_000, 0, 100_000)) == 70_000
    assert broker.pulls <= 3


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), (10, 20)),
        (Wanted(since_ms=12, until_ms=15), (12, 15)),
        (Wanted(since_ms=99), (20, 20)),
        (Wanted(until_ms=3), (10, 10)),
        (Wanted(first_offset=0, end_offset=12), (10, 12)),
        (Wanted(first_offset=50), (20, 20)),
        (Wanted(last=3), (17, 20)),
        (Wanted(until_ms=15, last=99), (10, 15)),
    ],
)
def test_what_is_wanted_of_a_queue(wanted, found):
    reader = QueueReader(Broker(list(range(100)), 0), MessageQueue("t", "b", 0), "a")
    assert answer_of(reader.range_of(wanted, 10, 20)) == found


@pytest.mark.parametrize(
    "wrong",
    [{"since_ms": 5, "until_ms": 5}, {"first_offset": 9, "end_offset": 3}, {"last": 0}, {"since_ms": 1, "first_offset": 1}],
)
def test_ranges_that_are_none_are_refused(wrong):
    with pytest.raises(UsageError):
        Wanted(**wrong)

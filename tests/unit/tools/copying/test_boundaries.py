"""Time ranges are exact, whatever a broker answers to a search by time."""

from __future__ import annotations

import pytest

from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import UsageError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record
from broker_core.tools.copying.order import CopyRange
from broker_core.tools.copying.planner import copied_part

HOST = HostAddress.parse("127.0.0.1:1")


class Broker:
    """A queue with store times, and some answer to a search by time."""

    def __init__(self, times, answer):
        self.times, self.answer = times, answer

    async def offset_near_of(self, _address, _queue, _time_ms):
        return self.answer

    async def pull_records(self, _address, _queue, offset, count):
        assert count == 1
        message = MessageToStore("t", 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", b"")
        times = self.times[offset]
        return encode_record(message, queue_offset=offset, physical_offset=0, store_timestamp_ms=times), offset + 1


def answer_of(asking):
    """What a coroutine that never has to wait returns."""
    with pytest.raises(StopIteration) as ended:
        asking.send(None)
    return ended.value.value


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (CopyRange(), (10, 20)),
        (CopyRange(since_ms=12, until_ms=15), (12, 15)),
        (CopyRange(since_ms=99), (20, 20)),
        (CopyRange(until_ms=3), (10, 10)),
        (CopyRange(first_offset=0, end_offset=12), (10, 12)),
        (CopyRange(first_offset=50), (20, 20)),
        (CopyRange(last=3), (17, 20)),
        (CopyRange(until_ms=15, last=99), (10, 15)),
    ],
)
def test_what_is_wanted_of_a_queue(wanted, found):
    broker = Broker(list(range(100)), 0)
    part = answer_of(copied_part(Puller(broker), QueueSlice("t", "b", "a", 0, 10, 20), wanted))
    assert (part.first, part.end) == found


@pytest.mark.parametrize(
    "wrong",
    [{"since_ms": 5, "until_ms": 5}, {"first_offset": 9, "end_offset": 3}, {"last": 0}, {"since_ms": 1, "first_offset": 1}],
)
def test_ranges_that_are_none_are_refused(wrong):
    with pytest.raises(UsageError):
        CopyRange(**wrong)

"""One pull: what it brings of a slice, where it goes on, what expired, and queues that are read record by record."""

import asyncio

import pytest

from broker_core.cluster.puller import Puller
from broker_core.cluster.records import queue_offset_of
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import RemoteError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.names import OP_TOPIC
from broker_core.protocol.queue_unit import QueueUnit

HOST = HostAddress.parse("127.0.0.1:10911")
PART = QueueSlice("orders", "a", "a:1", 0, 5, 15)


def record(offset):
    message = MessageToStore("orders", 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", b"")
    return encode_record(message, queue_offset=offset, physical_offset=offset * 200, store_timestamp_ms=1_000)


class Client:
    """A queue that holds some offsets; ``low`` is where it begins, and ``refusal`` answers each pull."""

    def __init__(self, held, low=0, refusal=None):
        self.held, self.low, self.refusal = held, low, refusal
        self.asked = []

    async def pull_records(self, _address, _queue, offset, count):
        self.asked.append((offset, count))
        if self.refusal is not None:
            raise self.refusal
        found = [one for one in self.held if one >= offset][:count]
        return b"".join(map(record, found)), found[-1] + 1 if found else offset

    async def min_offset_of(self, _address, _queue):
        self.asked.append("min")
        return self.low

    async def queue_units_of(self, _address, _queue, offset, count):
        return [QueueUnit(one * 200, 100, 0) for one in self.held if one >= offset][:count]

    async def record_at(self, _address, physical_offset):
        if physical_offset == 200 * 7:
            raise RemoteError("no message there", code=ResponseCode.SYSTEM_ERROR)
        return record(physical_offset // 200)


def offsets(pulled):
    return [queue_offset_of(one) for one in pulled.records()]


def pulled_through(client, part=PART, **more):
    async def run():
        return [pulled async for pulled in Puller(client).through(part, part.first, **more)]

    return asyncio.run(run())


def test_a_slice_is_pulled_to_its_end_and_not_further():
    client = Client(range(40))
    found = pulled_through(client, at_most=lambda: 4)
    assert [offsets(one) for one in found] == [[5, 6, 7, 8], [9, 10, 11, 12], [13, 14]]
    assert client.asked == [(5, 4), (9, 4), (13, 2)]


def test_what_lies_behind_a_hole_is_not_of_the_slice():
    (found,) = pulled_through(Client([5, 6, 30, 31]))
    assert (offsets(found), found.following) == ([5, 6], 15)


def test_a_queue_that_ends_before_its_slice_ends_it():
    assert [offsets(one) for one in pulled_through(Client([5, 6]))] == [[5, 6]]
    assert asyncio.run(Puller(Client([5, 6])).pull(PART, 7)).is_end


def test_nothing_more_is_asked_for_when_enough_came():
    client = Client(range(40))
    counts = iter([3, 0])
    assert len(pulled_through(client, at_most=lambda: next(counts))) == 1
    assert client.asked == [(5, 3)]


@pytest.mark.parametrize(("held", "low", "gone"), [([8, 9], 8, 3), ([8, 9], 7, 2), ([8, 9], 0, 0), ([20], 20, 10)])
def test_expired_are_offsets_before_the_begin_of_the_queue(held, low, gone):
    async def run():
        puller = Puller(Client(held, low))
        return await puller.expired(PART, await puller.pull(PART, 5))

    assert asyncio.run(run()) == gone


def test_without_a_gap_no_begin_is_asked_for():
    client = Client(range(40))

    async def run():
        puller = Puller(client)
        return await puller.expired(PART, await puller.pull(PART, 5))

    assert asyncio.run(run()) == 0
    assert "min" not in client.asked


def test_a_queue_that_may_not_be_pulled_is_read_record_by_record():
    client = Client(range(5, 9), refusal=RemoteError("no topic", code=ResponseCode.TOPIC_NOT_EXIST))
    part = QueueSlice(OP_TOPIC, "a", "a:1", 0, 5, 9)

    async def run():
        puller = Puller(client)
        found = [await puller.pull(part, 5, 2), await puller.pull(part, 7, 2)]
        return found, puller.reads_singly(part)

    found, is_single = asyncio.run(run())
    assert ([offsets(one) for one in found], is_single) == ([[5, 6], [8]], True), "the record of offset 7 is gone"
    assert client.asked == [(5, 2)], "one refusal is enough"


def test_a_topic_that_is_gone_is_refused():
    client = Client([5], refusal=RemoteError("no topic", code=ResponseCode.TOPIC_NOT_EXIST))
    with pytest.raises(RemoteError, match="no topic"):
        asyncio.run(Puller(client).pull(PART, 5))

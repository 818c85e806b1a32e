"""Queues whose offsets are not what one expects: holes, records that hold several messages, brokers that talk nonsense."""

import asyncio

import pytest

from broker_core.cluster import reader
from broker_core.cluster.slices import QueueSlice, ReadLimits
from broker_core.engine.store.layout import answer_records
from broker_core.errors import CodecError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record

HOST = HostAddress.parse("127.0.0.1:10911")
PART = QueueSlice("orders", "a", "a:1", 0, 0, 40)


def record(offset):
    message = MessageToStore("orders", 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", b"")
    return encode_record(message, queue_offset=offset, physical_offset=offset * 200, store_timestamp_ms=1_000)


class Client:
    """A queue that holds some offsets; each answer has as many messages as are asked for, wherever they lie."""

    def __init__(self, held, spans=1):
        self.held = dict.fromkeys(held, spans)
        self.answers = {}

    async def pull_records(self, _address, _queue, offset, count):
        if offset in self.answers:
            return self.answers[offset]
        found = [one for one in sorted(self.held) if one + self.held[one] > offset][:count]
        return b"".join(map(record, found)), (found[-1] + self.held[found[-1]] if found else offset)

    async def min_offset_of(self, _address, _queue):
        return 0


def read(client, monkeypatch, span=8):
    monkeypatch.setattr(reader, "SPAN_MESSAGES", span)
    reading = reader.SharedReads(client, ReadLimits(0, 0, 0))

    async def turns():
        spans, found = reader.spans_of(PART), []
        while spans:
            found.append(await reading.turn(PART, spans))
        return found

    found = asyncio.run(turns())
    offsets = [offset for turn in found for offset in answer_records(turn.records).queue_offset.tolist()]
    return offsets, [left for turn in found for left in turn.left]


@pytest.mark.parametrize("span", [1, 7, 8, 40])
def test_holes_bring_no_message_twice(monkeypatch, span):
    held = [*range(5), *range(12, 13), *range(21, 40)]
    offsets, left = read(Client(held), monkeypatch, span)
    assert (sorted(offsets), left) == (held, [])


def test_a_record_that_holds_several_messages_comes_once(monkeypatch):
    offsets, left = read(Client(range(0, 40, 5), spans=5), monkeypatch)
    assert (sorted(offsets), left) == (list(range(0, 40, 5)), [])


def test_a_broker_that_leads_nowhere_is_left(monkeypatch):
    client = Client(range(40))
    client.answers[8] = (record(8), 8)
    offsets, left = read(client, monkeypatch)
    assert all(isinstance(one.fault, CodecError) for one in left)
    assert len(offsets) + sum(one.messages for one in left) == 40
    assert len(offsets) == len(set(offsets))


def test_what_cannot_be_read_stays_in_the_answer(monkeypatch):
    client = Client(range(40))
    client.answers[0] = (record(0) + b"\x7f" * 9, 60)
    monkeypatch.setattr(reader, "SPAN_MESSAGES", 40)
    reading = reader.SharedReads(client, ReadLimits(0, 0, 0))
    turn = asyncio.run(reading.turn(PART, reader.spans_of(PART)))
    heads = answer_records(turn.records)
    assert (heads.queue_offset.tolist(), len(turn.records) - heads.end) == ([0], 9)

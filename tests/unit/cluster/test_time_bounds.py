import asyncio
import random

import pytest

from broker_core.client.time_bounds import first_from, time_of_answer
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.time_bounds import first_stored_from, within_times
from broker_core.errors import CodecError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record

HOST = HostAddress.parse("127.0.0.1:10911")


def found(times, at_ms, guess, first=0):
    asked = []

    async def store_ms(offset):
        assert first <= offset < len(times)
        asked.append(offset)
        return times[offset]

    return asyncio.run(first_from(store_ms, at_ms, first, len(times), guess)), len(asked)


def test_it_is_found_wherever_it_is_thought_to_be():
    numbers = random.Random(7)
    for _ in range(100):
        times = sorted(numbers.randrange(40) for _ in range(numbers.randrange(30)))
        at_ms, guess = numbers.randrange(-1, 42), numbers.randrange(-3, 35)
        wanted = next((index for index, time in enumerate(times) if time >= at_ms), len(times))
        assert found(times, at_ms, guess)[0] == wanted, (times, at_ms, guess)


def test_a_right_guess_takes_two_questions_and_a_far_one_few():
    times = list(range(100_000))
    assert found(times, 70_000, 70_000) == (70_000, 2)
    offset, asked = found(times, 70_000, 3)
    assert (offset, asked < 40) == (70_000, True)


@pytest.mark.parametrize("guess", [0, 5, 9, 10, 50])
def test_nothing_before_the_beginning_is_asked_for(guess):
    assert found(list(range(10)), 3, guess, first=5)[0] == 5


@pytest.mark.parametrize(("record", "following"), [(b"", 7), (b"<html>", 8)])
def test_an_answer_that_leads_nowhere_is_no_time(record, following):
    with pytest.raises(CodecError, match="queue 1 gives"):
        time_of_answer(record, 7, following, name="queue 1")


def test_what_is_gone_lies_before_all_times():
    assert time_of_answer(b"", 7, 9, name="queue 1") == -1


class Broker:
    """A queue with store times, whose own search by time answers with any place."""

    def __init__(self, times, answer):
        self.times, self.answer = times, answer

    async def offset_near_of(self, _address, _queue, _time_ms):
        return self.answer

    async def pull_records(self, _address, _queue, offset, _count):
        message = MessageToStore("t", 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", b"")
        stored = self.times[offset]
        return encode_record(message, queue_offset=offset, physical_offset=0, store_timestamp_ms=stored), offset + 1


@pytest.mark.parametrize("answer", [0, 4, 7, 9, 10, 99])
def test_times_bound_a_slice_exactly_whatever_the_broker_answers(answer):
    puller = Puller(Broker([10, 10, 20, 20, 20, 30, 30, 40, 50, 60], answer))
    whole = QueueSlice("t", "b", "a:1", 0, 1, 9)

    def within(from_ms, to_ms):
        part = asyncio.run(within_times(puller, whole, from_ms, to_ms))
        return part.first, part.end

    assert within(20, 30) == (2, 5)
    assert within(None, 30) == (1, 5)
    assert within(0, None) == (1, 9)
    assert within(25, 26) == (5, 5)
    assert within(99, None) == (9, 9)
    assert asyncio.run(first_stored_from(puller, whole, 20)) == 2

import asyncio
import random

import pytest

from broker_core.cluster.time_bounds import first_from, time_of_answer
from broker_core.errors import CodecError


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

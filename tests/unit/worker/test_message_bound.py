import asyncio
from bisect import bisect_left

import pytest

from broker_core.worker.message_bound import bound_of
from broker_core.worker.questions.searches import FoundBound

NOW_MS = 1_800_000_000_000


def bound(times: list[int], count: int, *, oldest: bool = False) -> FoundBound:
    async def count_from(at_ms: int) -> int:
        return len(times) - bisect_left(times, at_ms)

    return asyncio.run(bound_of(count_from, NOW_MS, count, oldest=oldest))


@pytest.mark.parametrize("step_ms", [1, 10, 3_600_000])
@pytest.mark.parametrize("count", [1, 7, 99])
def test_the_bound_has_so_many_messages_on_its_side(step_ms, count):
    times = [NOW_MS - (100 - number) * step_ms for number in range(100)]
    newest = bound(times, count)
    assert newest.messages == count == sum(at >= newest.at_ms for at in times)
    oldest = bound(times, count, oldest=True)
    assert oldest.messages == count == sum(at < oldest.at_ms for at in times)


def test_messages_of_one_moment_are_not_torn_apart():
    times = [NOW_MS - 5] * 10 + [NOW_MS - 1]
    assert bound(times, 2).messages == 11
    assert bound(times, 2, oldest=True).messages == 10


@pytest.mark.parametrize("ahead_ms", [1, 90_000, 40 * 86_400_000])
@pytest.mark.parametrize("count", [1, 30, 99, 100])
def test_a_broker_whose_clock_is_ahead_is_counted_as_every_other(ahead_ms, count):
    times = [NOW_MS + ahead_ms - (100 - number) * 1_000 for number in range(100)]
    newest, oldest = bound(times, count), bound(times, count, oldest=True)
    assert newest.messages == count == sum(at >= newest.at_ms for at in times)
    assert oldest.messages == count == sum(at < oldest.at_ms for at in times)


def test_fewer_messages_are_all_of_them():
    times = [NOW_MS - 3, NOW_MS]
    assert bound(times, 5) == FoundBound(0, 2)
    found = bound(times, 5, oldest=True)
    assert found.messages == 2
    assert found.at_ms > NOW_MS
    assert bound([], 5).messages == 0


def test_a_broker_that_counts_the_same_from_any_time_on_is_asked_no_more_in_the_end():
    asked = []

    async def count_from(at_ms: int) -> int:
        asked.append(at_ms)
        return 10

    asyncio.run(bound_of(count_from, NOW_MS, 5, oldest=False))
    assert len(asked) < 200
    assert max(asked) < 1 << 62

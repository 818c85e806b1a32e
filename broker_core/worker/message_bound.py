"""The time from which the newest so many messages of some queues were stored, or before which the oldest. Pure.

Queues are counted by times only: the number of messages stored at or after a time is a search within each queue.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from broker_core.worker.questions.searches import FoundBound

QUEUES_MAX = 512
"""More queues are not counted, because each time is looked up in all of them."""
_FIRST_STEP_MS = 60_000
_STEPS_MAX = 64
_FAR_MS = 253_402_300_800_000
"""The end of the year 9999: a broker that counts messages stored later answers wrongly."""

CountFrom = Callable[[int], Awaitable[int]]
"""Messages stored at or after a time, ms since the epoch."""


async def bound_of(count_from: CountFrom, now_ms: int, count: int, *, oldest: bool) -> FoundBound:
    """The latest time with at least ``count`` messages at or after it; for ``oldest`` the earliest with so many before it.

    With fewer messages in all it is a time with all of them on the wanted side.
    """
    total = await count_from(0)
    # A message may be stored in this very millisecond, and later by the clock of a broker that is ahead.
    high_ms, low_ms, step_ms = now_ms + 1, now_ms, _FIRST_STEP_MS
    left = total - count if oldest else count
    while high_ms < _FAR_MS and await count_from(high_ms) >= max(left, 1):
        low_ms, high_ms, step_ms = high_ms, high_ms + step_ms, step_ms * 4
    if total <= count:
        return FoundBound(high_ms if oldest else 0, total)
    step_ms = _FIRST_STEP_MS
    while await count_from(low_ms) < left and low_ms > 0:
        low_ms, step_ms = max(low_ms - step_ms, 0), step_ms * 4
    # Enough were stored from the lower time on, and too few from the higher one.
    for _step in range(_STEPS_MAX):
        if high_ms - low_ms <= 1:
            break
        middle_ms = (low_ms + high_ms) // 2
        if await count_from(middle_ms) >= left:
            low_ms = middle_ms
        else:
            high_ms = middle_ms
    if not oldest:
        return FoundBound(low_ms, await count_from(low_ms))
    exact = await count_from(low_ms) == left
    at_ms = low_ms if exact else high_ms
    return FoundBound(at_ms, total - await count_from(at_ms))

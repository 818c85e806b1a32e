"""Where a time begins in a queue. Pure but for the questions that it is given.

Brokers are asked for a place first and then proved wrong or right by the messages on both sides of it: 4.x answers with the
nearest message, of several with one time with any, and looks by the times of files, which a copy of a store has lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

StoreTime = Callable[[int], Awaitable[int]]
"""Queue offset → store time in epoch milliseconds of the first message at or behind it."""


async def first_from(store_ms: StoreTime, at_ms: int, first: int, end: int, guess: int) -> int:
    """The first offset from ``first`` to ``end`` whose message was stored at or after a time; ``end`` if there is none.

    Args:
        store_ms: Asks for the time of a message; times rise along the queue.
        at_ms: The time.
        first: Offset.
        end: Offset; not asked for.
        guess: Where the answer is thought to be. Two questions if it is there.
    """
    low, high = first, end
    probe, step = guess - 1, 1
    while low < high:
        if low > first and high < end and step > 2:
            probe = (low + high) // 2
        probe = min(max(probe, low), high - 1)
        if await store_ms(probe) < at_ms:
            low = probe + 1
            probe = low + step - 1
        else:
            high = probe
            probe = high - step
        step *= 2
    return low

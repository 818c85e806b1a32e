"""The offset at which a time begins in a queue, exactly, whatever its broker answers.

A broker's answer is a guess, checked against the messages on both sides of it: 4.x answers with the nearest message, of several
with one time with any, and searches by the times of files, which a copy of a store has lost.

Source: docs/spec/remoting.md §2.2.5; docs/spec/broker.md §11.2 (search by time).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from broker_core.errors import CodecError
from broker_core.protocol.message.record import FIXED_BYTES, store_timestamp_ms

_BEFORE_ALL = -1
StoreTime = Callable[[int], Awaitable[int]]
"""Queue offset → store time in epoch milliseconds of the first message at or after it."""


async def first_from(store_ms: StoreTime, at_ms: int, first: int, end: int, guess: int) -> int:
    """The first offset from ``first`` to ``end`` whose message was stored at or after a time; ``end`` if there is none.

    ``store_ms`` fetches the time of a message; times rise along the queue. If ``guess`` is right, two fetches suffice.
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


async def first_checked(ask: Callable[[], Awaitable[int]], store_ms: StoreTime, at_ms: int, first: int, end: int) -> int:
    """As `first_from` with the answer of ``ask`` as the guess; the broker is asked only where there is something to find."""
    if first >= end:
        return end
    if at_ms <= 0:
        return first
    return await first_from(store_ms, at_ms, first, end, await ask())


def time_of_answer(record: bytes, offset: int, following: int, *, name: str) -> int:
    """Store time of the first message from an offset on; without one a time before all, so that later messages decide.

    ``record`` and ``following`` are the answer to a pull of one message from the offset. Raises `CodecError` when it is no
    record, or there is neither a message nor a later offset.
    """
    if len(record) >= FIXED_BYTES:
        return store_timestamp_ms(record)
    if record:
        raise CodecError(f"{name} gives {len(record):,} bytes at offset {offset:,}, which is no record")
    if following <= offset:
        raise CodecError(f"{name} gives no message from offset {offset:,} on: it ends before, though it told of a later end")
    return _BEFORE_ALL

"""The offset at which a time begins in a queue.

The broker's answer is a guess, checked against the messages on both sides of it: 4.x answers with the nearest message, of
several with one time with any, and searches by the times of files, which a copy of a store has lost.

Source: docs/spec/remoting.md §2.2.5; docs/spec/broker.md §11.2 (search by time).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
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


async def first_stored_from(puller: Puller, part: QueueSlice, at_ms: int) -> int:
    """The first offset of a slice stored at or after ``at_ms``; its end if there is none. Raises as `Puller`."""
    if part.first >= part.end:
        return part.end
    if at_ms <= 0:
        return part.first
    guess = await puller.offset_near(part, at_ms)
    return await first_from(partial(_store_ms, puller, part), at_ms, part.first, part.end, guess)


async def within_times(puller: Puller, part: QueueSlice, from_ms: int | None, to_ms: int | None) -> QueueSlice:
    """The part of a slice stored at or after ``from_ms`` and before ``to_ms``; raises as `first_stored_from`."""
    if from_ms is not None:
        part = replace(part, first=await first_stored_from(puller, part, from_ms))
    if to_ms is not None:
        part = replace(part, end=await first_stored_from(puller, part, to_ms))
    return part


async def _store_ms(puller: Puller, part: QueueSlice, offset: int) -> int:
    record, following = await puller.records(part, offset, 1)
    return time_of_answer(record, offset, following, name=part.name)


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

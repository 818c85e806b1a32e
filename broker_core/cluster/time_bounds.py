"""Where a time begins in a queue.

Brokers are asked for a place first and then proved wrong or right by the messages on both sides of it: 4.x answers with the
nearest message, of several with one time with any, and looks by the times of files, which a copy of a store has lost.

Source: docs/spec/remoting.md §2.2.5; docs/spec/broker.md §11.2 (search by time).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from broker_core.client.admin import AdminClient
from broker_core.errors import CodecError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import FIXED_BYTES, store_timestamp_ms

_BEFORE_ALL = -1
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


async def queue_first_from(admin: AdminClient, address: str, queue: MessageQueue, at_ms: int, *, first: int, end: int) -> int:
    """The first offset of a queue from ``first`` to ``end`` whose message was stored at or after a time; ``end`` if none was.

    Args:
        admin: A started client.
        address: Of the queue's broker.
        queue: Of that broker; moves no group's offset.
        at_ms: The time, epoch milliseconds.
        first: Offset.
        end: Offset; not asked for.

    Raises:
        NetworkError: The broker does not answer.
        RemoteError: It refuses.
        CodecError: Its answer cannot be read.
    """
    if first >= end:
        return end
    if at_ms <= 0:
        return first
    guess = await admin.offset_by_time_of(address, queue, at_ms)
    return await first_from(partial(_store_ms, admin, address, queue), at_ms, first, end, guess)


async def _store_ms(admin: AdminClient, address: str, queue: MessageQueue, offset: int) -> int:
    record, following = await admin.pull_records(address, queue, offset, 1)
    return time_of_answer(record, offset, following, name=f"queue {queue.queue_id} of {queue.topic} on {queue.broker_name}")


def time_of_answer(record: bytes, offset: int, following: int, *, name: str) -> int:
    """Store time of the first message from an offset on; before all times where there is none, so that what follows decides.

    Args:
        record: What a pull of one message from the offset gave.
        offset: Of the queue.
        following: The next offset, as the pull gave it.
        name: Of the queue.

    Raises:
        CodecError: It is no record, or there is neither a message nor a way on.
    """
    if len(record) >= FIXED_BYTES:
        return store_timestamp_ms(record)
    if record:
        raise CodecError(f"{name} gives {len(record):,} bytes at offset {offset:,}, which is no record")
    if following <= offset:
        raise CodecError(f"{name} gives no message from offset {offset:,} on: it ends before, though it told of a later end")
    return _BEFORE_ALL

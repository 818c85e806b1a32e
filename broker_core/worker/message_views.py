"""Stored messages for the window: heads for lists, details for one. Reads the store, changes nothing.

The functions here may run on any thread; each call reads a bounded number of records.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from broker_core.errors import CodecError, RecordError, UsageError
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import offset_message_id, parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.properties import KEYS, TAGS, UNIQUE_KEY
from broker_core.protocol.message.record import decode_record
from broker_core.worker.columns import columns_of
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.stored_messages import (
    MessageBody,
    MessageDetail,
    MessagePage,
    ReadBody,
    ReadMessage,
    TopicPage,
)

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

_T = TypeVar("_T")

PAGE_MESSAGES_MAX = 1_000
BODY_START_BYTES = 200
BATCH_MESSAGES = 32
"""Messages read at once; other work takes turns with these reads."""


@dataclass(frozen=True, slots=True)
class MessageHead:
    queue_id: int
    queue_offset: int
    physical_offset: int
    store_ms: int
    born_ms: int
    body_bytes: int
    tag: str
    keys: str
    unique_key: str
    body_start: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one queue, in order, and the next offset."""

    heads: list[MessageHead]
    next_offset: int
    missing: int
    """Offsets that were skipped because their record is gone or broken."""


def read_batch(store: MessageStore, topic: str, queue_id: int, offset: int, count: int) -> Batch:
    """Up to ``count`` messages of a queue from ``offset`` on, at most `BATCH_MESSAGES`.

    The batch has at least one message or a larger offset, unless the queue ends at ``offset``.
    """
    result = store.get_messages(topic, queue_id, offset, min(count, BATCH_MESSAGES))
    heads = []
    for record in result.records:
        try:
            heads.append(head_of(decode_record(record)))
        except RecordError:
            # Counted as missing: a list with a hole is of more use than none.
            continue
    end = min(max(result.next_offset, offset), max(result.max_offset, offset))
    return Batch(heads, end, max(end - offset - len(heads), 0))


def newest_first(
    store: MessageStore, topic: str, queue_ids: list[int], count: int, ends: Mapping[int, int] = MappingProxyType({})
) -> Iterator[MessageHead]:
    """Messages of several queues, newest store time first; read on demand, a few of each queue at a time.

    ``ends`` are the offsets before which to read, by queue; of other queues their ends.
    """
    batch = _batch(queue_ids, count)
    queues = [_backwards(store, topic, queue_id, batch, ends.get(queue_id)) for queue_id in queue_ids]
    return islice(heapq.merge(*queues, key=lambda head: -head.store_ms), count)


def oldest_first(
    store: MessageStore, topic: str, queue_ids: list[int], count: int, begins: Mapping[int, int]
) -> Iterator[MessageHead]:
    """Messages of several queues, oldest store time first, each queue from an offset on; as `newest_first`."""
    batch = _batch(queue_ids, count)
    queues = [_forwards(store, topic, queue_id, batch, begins.get(queue_id, 0)) for queue_id in queue_ids]
    return islice(heapq.merge(*queues, key=lambda head: head.store_ms), count)


def _batch(queue_ids: list[int], count: int) -> int:
    return max(1, min(BATCH_MESSAGES, count // max(len(queue_ids), 1) + 1))


def _forwards(store: MessageStore, topic: str, queue_id: int, batch: int, begin: int) -> Iterator[MessageHead]:
    offset, end = max(begin, store.min_offset(topic, queue_id)), store.max_offset(topic, queue_id)
    while offset < end:
        found = read_batch(store, topic, queue_id, offset, batch)
        yield from found.heads
        if found.next_offset <= offset:
            return
        offset = found.next_offset


def _backwards(store: MessageStore, topic: str, queue_id: int, batch: int, before: int | None) -> Iterator[MessageHead]:
    end, low = store.max_offset(topic, queue_id), store.min_offset(topic, queue_id)
    end = end if before is None else min(end, before)
    while end > low:
        start = max(low, end - batch)
        heads: list[MessageHead] = []
        offset = start
        while offset < end:
            found = read_batch(store, topic, queue_id, offset, end - offset)
            heads += [head for head in found.heads if head.queue_offset < end]
            if found.next_offset <= offset:
                break
            offset = found.next_offset
        yield from reversed(heads)
        end = start


def check_page_size(count: int) -> None:
    """Raise `UsageError` for a page without messages, or with too many."""
    if not 1 <= count <= PAGE_MESSAGES_MAX:
        raise UsageError(f"a page has 1 to {PAGE_MESSAGES_MAX} messages, not {count}")


def page_of(
    topic: str,
    heads: list[MessageHead],
    *,
    min_offset: int,
    max_offset: int,
    next_offset: int,
    missing: int,
) -> MessagePage:
    notice = f"{missing} messages could not be read: their records are gone or damaged" if missing else ""
    return MessagePage(
        topic=topic,
        **head_columns(heads),
        min_offset=min_offset,
        max_offset=max_offset,
        next_offset=next_offset,
        notice=notice,
    )


def topic_page_of(page: MessagePage, edges: Mapping[int, int], *, newer: bool) -> TopicPage:
    """A page with the part of each queue that it covers: from its messages to the edge, or from the edge to them."""
    first, end = dict(edges), dict(edges)
    for queue, offset in zip(page.queue_id, page.queue_offset, strict=True):
        if newer:
            end[queue] = max(end[queue], offset + 1)
        else:
            first[queue] = min(first[queue], offset)
    return TopicPage(page, list(edges), list(first.values()), list(end.values()))


def head_columns(heads: Sequence[MessageHead]) -> dict[str, Any]:
    """One list for each field of the heads, under its name."""
    return columns_of(heads, [one.name for one in fields(MessageHead)])


class ViewMessage(Protocol):
    """Reads the record at a place that the window knows, and returns the result of a function of it."""

    def __call__(self, place: int, view: Callable[[bytes | memoryview], _T], /) -> Awaitable[_T]: ...


def own_queue(_place: int, queue_id: int) -> int:
    """The number under which a queue is shown where there is one broker: its id."""
    return queue_id


def message_handlers(view: ViewMessage, shown_queue: Callable[[int, int], int] = own_queue) -> list[Handler]:
    """Handlers of questions about one message, in the store or on a broker of a cluster.

    ``shown_queue`` takes the place of a message and its queue id there, and returns the number under which the queue is shown.
    """

    async def read(query: ReadMessage) -> MessageDetail:
        place = query.physical_offset
        detail = await view(place, partial(detail_of, shown_offset=place))
        return replace(detail, queue_id=shown_queue(place, detail.queue_id))

    async def read_body(query: ReadBody) -> MessageBody:
        return await view(query.physical_offset, lambda record: MessageBody(*_body(decode_record(record))))

    return [ReadMessage.answered_by(read), ReadBody.answered_by(read_body)]


def record_of(store: MessageStore, physical_offset: int) -> memoryview:
    """The record of a message. Raises `UsageError` where none starts."""
    record = store.record_at(physical_offset)
    if record is None:
        raise UsageError(
            f"there is no message at {physical_offset} of the commit log; it may have expired, or the number is not the "
            "offset of a message",
            physical_offset=physical_offset,
        )
    return record


def read_detail_by_id(store: MessageStore, message_id: str) -> MessageDetail:
    """The message that an offset message id names.

    Raises `CodecError` for any other text, `UsageError` where no message starts, or another broker than the id names stored it.
    """
    host, offset = parse_offset_message_id(message_id)
    detail = detail_of(record_of(store, offset))
    if detail.offset_message_id != message_id.upper():
        raise UsageError(
            f"the id is of a message that the broker at {host} stored; at {offset:,} of this commit log lies another one, "
            f"stored by {detail.store_host}",
            physical_offset=offset,
        )
    return detail


def detail_of(record: bytes | memoryview, *, shown_offset: int = -1) -> MessageDetail:
    """One whole message under the physical offset ``shown_offset``, or its own for -1. Raises `RecordError` for other bytes."""
    message = decode_record(record)
    body, notice = _body(message)
    return MessageDetail(
        topic=message.topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset if shown_offset < 0 else shown_offset,
        offset_message_id=offset_message_id(message.store_host, message.physical_offset),
        store_bytes=message.store_size,
        body=body,
        stored_body_bytes=len(message.body),
        body_crc=message.body_crc,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_ms=message.born_timestamp_ms,
        born_host=str(message.born_host),
        store_ms=message.store_timestamp_ms,
        store_host=str(message.store_host),
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
        properties=message.properties,
        notice=notice,
    )


def head_of(message: StoredMessage) -> MessageHead:
    body, _notice = _body(message)
    return MessageHead(
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset,
        store_ms=message.store_timestamp_ms,
        born_ms=message.born_timestamp_ms,
        body_bytes=len(body),
        tag=message.properties.get(TAGS, ""),
        keys=message.properties.get(KEYS, ""),
        unique_key=message.properties.get(UNIQUE_KEY, ""),
        body_start=body[:BODY_START_BYTES],
    )


def _body(message: StoredMessage) -> tuple[bytes, str]:
    """The body as it was sent, or as it is stored with the reason why."""
    try:
        return decompress_body(message.sys_flag, message.body), ""
    except CodecError as error:
        return message.body, str(error)

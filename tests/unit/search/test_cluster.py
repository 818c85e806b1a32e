"""Searches of a cluster whose brokers do not do all that is asked; whole ones are in tests/interop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.route import QueueData, Route
from broker_core.errors import NetworkError, RecordError, UsageError
from broker_core.message.model import HostAddress, MessageToStore
from broker_core.message.record import encode_record
from broker_core.remoting.json_body import MessageQueue
from broker_core.search.cluster import ClusterSearch, split_records
from broker_core.search.language import parse_filter

HOST = HostAddress.parse("127.0.0.1:10911")


def record(queue_id: int, offset: int, *, stored: int = 1_000, properties: bytes = b"") -> bytes:
    message = MessageToStore("orders", queue_id, 0, 0, 1, HOST, HOST, 0, 0, b"%d" % offset, properties)
    return encode_record(
        message, queue_offset=offset, physical_offset=queue_id * 1_000_000 + offset * 500, store_timestamp_ms=stored
    )


class FakeAdmin:
    """Two queues of ten messages each, and an index."""

    def __init__(self) -> None:
        self.pulled: Callable[[int, int, int], tuple[bytes, int]] = lambda queue_id, offset, count: (
            b"".join(record(queue_id, number) for number in range(offset, offset + count)),
            offset + count,
        )
        self.by_key: Callable[[int], bytes] = lambda _until_ms: b""
        self.asked: list[tuple[int, int]] = []

    async def topics(self) -> list[str]:
        return ["orders", "pay"]

    async def readable_route(self, topic: str) -> Route:
        if topic == "pay":
            raise NetworkError("no route to pay")
        return Route(topic, (QueueData("a", 2, 2, 6),), {"a": {0: "127.0.0.1:10911"}})

    async def min_offset(self, _queue: MessageQueue) -> int:
        return 0

    async def max_offset(self, _queue: MessageQueue) -> int:
        return 10

    async def pull_records(self, _address: str, queue: MessageQueue, offset: int, count: int) -> tuple[bytes, int]:
        self.asked.append((queue.queue_id, offset))
        return self.pulled(queue.queue_id, offset, count)

    async def records_by_key(self, *_: Any, until_ms: int, **__: Any) -> bytes:
        return self.by_key(until_ms)


def searched(admin: FakeAdmin, text: str, *, cancel_after: int = 1 << 30) -> tuple[list[bytes], ClusterSearch]:
    async def run() -> tuple[list[bytes], ClusterSearch]:
        search = ClusterSearch(cast("AdminClient", admin), parse_filter(text, now_ms=0))
        await search.prepare()
        found: list[bytes] = []
        async for step in search.steps():
            found += [hit.message.body for hit in step.hits]
            if len(found) >= cancel_after:
                search.cancel()
        return found, search

    return asyncio.run(run())


def test_all_queues_that_can_hold_a_match_are_pulled():
    admin = FakeAdmin()
    found, search = searched(admin, 'topic = "orders" and queue = 1 and offset > 3')
    assert found == [b"%d" % number for number in range(4, 10)]
    assert admin.asked == [(1, 4)]
    assert str(search.outcome) == "complete: 6 hits in 6 messages"
    assert search.plan == "scan of 1 queues in 1 topics, 6 messages"


def test_a_topic_that_cannot_be_asked_for_makes_it_partial():
    found, search = searched(FakeAdmin(), "size > 0")
    assert len(found) == 20
    assert str(search.outcome).endswith("topic pay could not be searched: no route to pay")


def test_a_queue_that_breaks_off_makes_it_partial_and_the_others_are_read():
    admin = FakeAdmin()
    whole = admin.pulled

    def pulled(queue_id: int, offset: int, count: int) -> tuple[bytes, int]:
        if queue_id == 0 and offset >= 5:
            raise NetworkError("gone")
        return whole(queue_id, offset, min(count, 5))

    admin.pulled = pulled
    found, search = searched(admin, 'topic = "orders"')
    assert len(found) == 15
    assert "queue 0 of orders on a could not be read from offset 5 on: gone" in str(search.outcome)


def test_a_message_that_cannot_be_read_makes_it_partial_and_the_others_are_found():
    admin = FakeAdmin()
    whole = admin.pulled

    def pulled(queue_id: int, offset: int, count: int) -> tuple[bytes, int]:
        body, following = whole(queue_id, offset, count)
        return (body[:4] + b"????" + body[8:] if queue_id == 0 else body), following

    admin.pulled = pulled
    found, search = searched(admin, 'topic = "orders"')
    assert len(found) == 19
    assert str(search.outcome).startswith("partial: 19 hits in 20 messages; a message could not be read: ")


def test_a_broker_that_never_goes_on_is_left():
    admin = FakeAdmin()
    admin.pulled = lambda _queue_id, offset, _count: (b"", offset)
    found, search = searched(admin, 'topic = "orders"')
    assert found == []
    assert str(search.outcome).startswith(
        "partial: 0 hits in 0 messages; queue 0 of orders on a gives no message from offset 0"
    )


def test_a_cancelled_search_is_partial():
    found, search = searched(FakeAdmin(), 'topic = "orders"', cancel_after=1)
    assert len(found) == 10
    assert "it was cancelled" in str(search.outcome)


def test_more_messages_of_a_key_than_a_broker_names_at_once_are_asked_for_by_time():
    admin = FakeAdmin()
    every = [record(0, number, stored=number * 5_000, properties=b"KEYS\x01k") for number in range(150)]

    def by_key(until_ms: int) -> bytes:
        return b"".join([one for number, one in enumerate(every) if number * 5_000 <= until_ms][-64:])

    admin.by_key = by_key
    found, search = searched(admin, 'topic = "orders" and key = "k"')
    assert len(found) == 150
    assert search.outcome is not None
    assert search.outcome.is_complete


def test_what_a_broker_does_not_name_in_any_way_makes_it_partial():
    admin = FakeAdmin()
    same_time = b"".join(record(0, number, properties=b"KEYS\x01k") for number in range(64))
    admin.by_key = lambda _until_ms: same_time
    found, search = searched(admin, 'topic = "orders" and key = "k"')
    assert len(found) == 64
    assert "names only 64" in str(search.outcome)


def test_an_answer_is_split_into_its_records():
    records = [record(0, number) for number in range(3)]
    assert list(split_records(b"".join(records))) == records
    for broken in (records[0][:-1], records[0] + b"xx", bytes(8)):
        with pytest.raises(RecordError):
            list(split_records(broken))


def test_a_limit_below_one_is_refused():
    with pytest.raises(UsageError):
        ClusterSearch(cast("AdminClient", FakeAdmin()), parse_filter("size > 0", now_ms=0), limit=0)

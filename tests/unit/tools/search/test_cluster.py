"""Searches of a cluster whose brokers do not do all that is asked; whole ones are in tests/interop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from broker_core.client.admin import AdminClient
from broker_core.errors import NetworkError, OrbitError, RemoteError, UsageError
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.admin.routes import QueueData, Route
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.queue_unit import QueueUnit
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.gaps import Gaps
from broker_core.tools.search.language import parse_filter

HOST = HostAddress.parse("127.0.0.1:10911")


def record(queue_id: int, offset: int, *, stored: int = 1_000, properties: bytes = b"", body: bytes = b"") -> bytes:
    message = MessageToStore("orders", queue_id, 0, 0, 1, HOST, HOST, 0, 0, body or b"%d" % offset, properties)
    return encode_record(
        message, queue_offset=offset, physical_offset=queue_id * 1_000_000 + offset * 500, store_timestamp_ms=stored
    )


ADDRESS = "127.0.0.1:10911"
OTHER = "127.0.0.1:10921"


class FakeAdmin:
    """Two queues of ten messages each on a broker, and an index."""

    def __init__(self) -> None:
        self.pulled: Callable[[int, int, int], tuple[bytes, int]] = lambda queue_id, offset, count: (
            b"".join(record(queue_id, number) for number in range(offset, offset + count)),
            offset + count,
        )
        self.by_key: Callable[[int], bytes] = lambda _until_ms: b""
        self.asked: list[tuple[int, int]] = []
        self.brokers: dict[str, dict[int, str]] = {"a": {0: ADDRESS}}
        self.names = ["orders", "pay"]
        self.routes = {"orders": Route("orders", (QueueData("a", 2, 2, 6),), self.brokers)}
        self.lost: set[str] = set()
        self.low = self.guess = self.newest_ms = 0
        self.refusal: OrbitError = NetworkError("does not answer")

    async def registered_brokers(self) -> dict[str, dict[int, str]]:
        return self.brokers

    async def topics(self) -> list[str]:
        return self.names

    async def readable_route(self, topic: str) -> Route:
        if topic not in self.routes:
            raise NetworkError(f"no route to {topic}")
        return self.routes[topic]

    async def topic_stats_of(self, address: str, topic: str) -> dict[MessageQueue, QueueOffsets]:
        self._reach(address)
        name = next(name for name, addresses in self.brokers.items() if address in addresses.values())
        return {MessageQueue(topic, name, queue): QueueOffsets(self.low, 10, self.newest_ms) for queue in (0, 1)}

    async def offset_near_of(self, _address: str, _queue: MessageQueue, _timestamp_ms: int) -> int:
        return self.guess

    async def min_offset_of(self, _address: str, _queue: MessageQueue) -> int:
        return self.low

    async def max_offset_of(self, _address: str, _queue: MessageQueue) -> int:
        return 10

    async def queue_units_of(self, _address: str, queue: MessageQueue, _offset: int, _count: int) -> list[QueueUnit]:
        raise RemoteError(f"{queue.queue_id}@{queue.topic} is not exist!", code=ResponseCode.SYSTEM_ERROR)

    async def pull_records(self, address: str, queue: MessageQueue, offset: int, count: int) -> tuple[bytes, int]:
        self._reach(address)
        self.asked.append((queue.queue_id, offset))
        return self.pulled(queue.queue_id, offset, count)

    async def records_by_key(self, address: str, *_: Any, until_ms: int, **__: Any) -> bytes:
        self._reach(address)
        return self.by_key(until_ms)

    async def record_by_offset_id(self, _message_id: str) -> bytes:
        raise self.refusal

    def _reach(self, address: str) -> None:
        if address in self.lost:
            raise NetworkError(f"{address} is down")


def searched(
    admin: FakeAdmin, text: str, *, cancel_after: int = 1 << 30, known: dict[str, set[str]] | None = None
) -> tuple[list[bytes], ClusterSearch]:
    async def run() -> tuple[list[bytes], ClusterSearch]:
        expression = parse_filter(text, now_ms=0)
        search = ClusterSearch(cast("AdminClient", admin), expression, known_topics=known, retry_pauses_s=(0, 0))
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
    assert search.plan == "scan of 1 queue in 1 topic, 6 messages"


@pytest.mark.parametrize("guess", [0, 3, 5, 10])
def test_times_bound_exactly_wherever_the_broker_thinks_them(guess):
    admin = FakeAdmin()
    admin.guess = guess
    admin.pulled = lambda queue_id, offset, count: (
        b"".join(record(queue_id, number, stored=1_000_000 * (1 + number // 2)) for number in range(offset, offset + count)),
        offset + count,
    )
    found, search = searched(admin, 'topic = "orders" and queue = 0 and stored >= 2000000 and stored <= 4000000')
    assert found == [b"%d" % number for number in range(2, 8)]
    assert str(search.outcome) == "complete: 6 hits in 6 messages"


def test_a_queue_whose_newest_message_is_older_is_not_asked_for():
    admin = FakeAdmin()
    admin.newest_ms = 1_000
    found, search = searched(admin, 'topic = "orders" and stored > 1000000')
    assert (found, admin.asked, str(search.outcome)) == ([], [], "complete: 0 hits in 0 messages")


def test_a_topic_that_cannot_be_asked_for_makes_it_partial():
    found, search = searched(FakeAdmin(), "size > 0")
    assert len(found) == 20
    assert str(search.outcome).endswith("topic pay could not be searched: no route to pay")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('topic = "order"', "topic order is not known to the name server; near are orders"),
        ('topic in ("orders", "zebra")', "topic zebra is not known to the name server"),
        ('topic = "odrers" and key = "k"', "topic odrers is not known to the name server; near are orders"),
    ],
)
def test_a_topic_that_is_named_and_unknown_makes_it_partial(text, reason):
    _found, search = searched(FakeAdmin(), text)
    assert search.outcome is not None
    assert search.outcome.reasons == (reason,)


def test_a_topic_that_no_match_can_be_in_may_be_unknown():
    _found, search = searched(FakeAdmin(), 'topic = "orders" and not topic = "zebra"')
    assert str(search.outcome) == "complete: 20 hits in 20 messages"


def two_brokers() -> FakeAdmin:
    """The topic on two brokers, twenty messages on each."""
    admin = FakeAdmin()
    admin.brokers["b"] = {0: OTHER}
    admin.names = ["orders"]
    admin.routes["orders"] = Route("orders", (QueueData("a", 2, 2, 6), QueueData("b", 2, 2, 6)), admin.brokers)
    return admin


def test_without_brokers_nothing_is_called_complete():
    admin = FakeAdmin()
    admin.brokers, admin.names = {}, []
    _found, search = searched(admin, "size > 0")
    assert str(search.outcome) == "partial: 0 hits in 0 messages; no broker is registered at the name server now"


def test_a_broker_without_an_address_makes_it_partial_and_the_other_is_read():
    for text, hits in (('topic = "orders"', 20), ('topic = "orders" and key = "k"', 0)):
        admin = two_brokers()
        admin.brokers["a"] = {}
        found, search = searched(admin, text)
        assert len(found) == hits
        assert search.outcome.reasons == ("broker a, which has topic orders, has no address at the name server now",)


def test_one_of_two_brokers_down_makes_it_partial_and_the_other_is_read():
    for text, hits in (('topic = "orders"', 20), ('topic = "orders" and key = "k"', 1)):
        admin = two_brokers()
        admin.by_key = lambda _until_ms: record(0, 1, properties=b"KEYS\x01k")
        admin.lost = {ADDRESS}
        found, search = searched(admin, text)
        assert len(found) == hits
        reason = f"topic orders on broker a could not be searched: {ADDRESS} is down"
        assert search.outcome.reasons == (reason,)


def test_a_broker_that_is_lost_is_asked_once_however_many_topics_it_has():
    admin = two_brokers()
    admin.names = [f"orders{number}" for number in range(40)]
    admin.routes = {name: Route(name, admin.routes["orders"].queues, admin.brokers) for name in admin.names}
    admin.lost = {ADDRESS}
    asked: list[str] = []
    stats = admin.topic_stats_of

    async def topic_stats_of(address: str, topic: str) -> dict[MessageQueue, QueueOffsets]:
        asked.append(address)
        await asyncio.sleep(0)
        return await stats(address, topic)

    admin.topic_stats_of = topic_stats_of
    _found, search = searched(admin, "size > 0")
    # Those that were asked side by side with the first, and no more.
    assert 1 <= asked.count(ADDRESS) <= 8
    assert (search.outcome.scanned, asked.count(OTHER)) == (800, 40)
    assert search.outcome.reasons[-1] == "and 20 more faults like these"


def test_a_broker_that_the_name_server_forgot_makes_it_partial():
    admin = FakeAdmin()
    found, search = searched(admin, 'topic = "orders"', known={"orders": {"a", "b"}})
    assert len(found) == 20
    assert search.outcome.reasons == ("broker b, which has topic orders, is not registered at the name server now",)
    _found, search = searched(admin, 'topic = "gone"', known={"gone": {"b"}})
    assert search.outcome.reasons == ("topic gone could not be searched: no route to gone",)


def test_queues_that_may_not_be_read_make_it_partial():
    admin = two_brokers()
    admin.routes["orders"] = Route("orders", (QueueData("a", 1, 2, 6), QueueData("b", 2, 2, 2)), admin.brokers)
    found, search = searched(admin, 'topic = "orders"')
    assert len(found) == 10
    assert search.outcome.reasons == (
        "broker b lets nobody read topic orders",
        "queue 1 of orders on a could not be read from offset 0 on: 1@orders is not exist!",
    )


def test_a_slave_is_read_where_there_is_no_master_and_that_is_told():
    admin = FakeAdmin()
    admin.brokers["a"] = {1: ADDRESS}
    found, search = searched(admin, 'topic = "orders"')
    assert len(found) == 20
    assert search.outcome.reasons == ("broker a has no master now: its slave was read, which may lack the newest",)


@pytest.mark.parametrize("fault", [NetworkError("restarts"), RemoteError("too busy", code=2)])
def test_a_broker_that_restarts_or_is_busy_is_read_to_the_end(fault):
    admin = two_brokers()
    whole, times = admin.pulled, iter(range(100))

    def pulled(queue_id: int, offset: int, count: int) -> tuple[bytes, int]:
        if offset >= 5 and next(times) < 3:
            raise fault
        return whole(queue_id, offset, min(count, 5))

    admin.pulled = pulled
    found, search = searched(admin, 'topic = "orders"')
    assert len(found) == 40
    assert search.outcome.is_complete


@pytest.mark.parametrize(
    ("low", "text", "found", "notes"),
    [
        (10, 'topic = "orders"', 0, ("20 earlier messages of topic orders are no longer stored",)),
        (4, 'topic = "orders" and queue = 0', 6, ("4 earlier messages of topic orders are no longer stored",)),
        (4, 'topic = "orders" and offset >= 4', 12, ()),
        (10, 'topic = "orders" and key = "k"', 0, ("20 earlier messages of topic orders are no longer stored",)),
        (4, 'topic = "orders" and stored >= 2000000', 10, ()),
        (4, 'topic = "orders" and stored >= 1000000', 12, ("8 earlier messages of topic orders are no longer stored",)),
        (0, 'topic = "orders" and key = "k"', 0, ()),
    ],
)
def test_a_complete_search_says_what_is_no_longer_stored(low, text, found, notes):
    admin = FakeAdmin()
    admin.low = admin.guess = low
    admin.pulled = lambda queue_id, offset, _count: (
        b"".join(record(queue_id, number, stored=1_500_000 + 1_000_000 * (number > low)) for number in range(offset, 10)),
        10,
    )
    hits, search = searched(admin, text)
    assert search.outcome is not None
    assert (len(hits), search.outcome.is_complete, search.outcome.notes) == (found, True, notes)


def test_messages_that_expire_during_the_search_make_it_partial():
    admin = FakeAdmin()
    whole = admin.pulled
    admin.pulled = lambda queue_id, offset, _count: (
        whole(queue_id, 4, 6) if offset < 4 else whole(queue_id, offset, 10 - offset)
    )

    async def min_offset_of(_address: str, _queue: MessageQueue) -> int:
        return 4

    admin.min_offset_of = min_offset_of  # type: ignore[method-assign]  # as one that cleans meanwhile
    found, search = searched(admin, 'topic = "orders" and queue = 0')
    assert len(found) == 6
    assert search.outcome.reasons == ("queue 0 of orders on a: 4 messages from offset 0 on expired during the search",)


def test_offsets_without_a_message_are_no_gap_while_the_queue_begins_before_them():
    admin = FakeAdmin()
    whole = admin.pulled
    admin.pulled = lambda queue_id, offset, _count: whole(queue_id, max(offset, 4), 10 - max(offset, 4))
    found, search = searched(admin, 'topic = "orders" and queue = 0')
    assert (len(found), search.outcome.is_complete) == (6, True)


def test_an_id_of_a_broker_that_does_not_answer_or_is_not_there_makes_it_partial():
    admin = FakeAdmin()
    for address, reason in (
        (ADDRESS, f"could not be looked for on the broker at {ADDRESS}"),
        (OTHER, "which is not registered"),
    ):
        message_id = offset_message_id(HostAddress.parse(address), 4711)
        _found, search = searched(admin, f'topic = "orders" and id = "{message_id}"')
        assert reason in str(search.outcome)
    message_id = offset_message_id(HostAddress.parse(ADDRESS), 4711)
    for code, is_complete in ((ResponseCode.SYSTEM_ERROR, True), (ResponseCode.NO_PERMISSION, False)):
        admin.refusal = RemoteError("no", code=int(code))
        _found, search = searched(admin, f'topic = "orders" and id = "{message_id}"')
        assert search.outcome.is_complete is is_complete
    _found, search = searched(admin, f'topic = "orders" and id = "{"7F000001" * 4}"')
    assert search.outcome.is_complete, "an id of a client names no broker"


def test_faults_of_many_queues_are_counted_behind_the_first():
    gaps = Gaps()
    for number in (*range(30), 0):
        gaps.add(f"fault {number}")
    assert gaps.reasons() == [*(f"fault {number}" for number in range(20)), "and 10 more faults like these"]


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


def test_an_expression_that_does_not_end_makes_it_partial(monkeypatch):
    monkeypatch.setattr("broker_core.tools.search.patterns.SEARCH_SECONDS", 0.01)
    admin = FakeAdmin()
    bodies = [b"aaa", b"a" * 200 + b"b", *[b"aa"] * 8]
    admin.pulled = lambda queue_id, offset, _count: (record(queue_id, offset, body=bodies[offset]), offset + 1)
    found, search = searched(admin, 'topic = "orders" and queue = 0 and body ~ "^(a|aa)+$"')
    assert len(found) == 1
    assert str(search.outcome).startswith("partial: 1 hit in 2 messages; the regular expression '^(a|aa)+$' takes more than ")


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


def test_a_limit_below_one_is_refused():
    with pytest.raises(UsageError):
        ClusterSearch(cast("AdminClient", FakeAdmin()), parse_filter("size > 0", now_ms=0), limit=0)


@pytest.mark.parametrize(
    "text",
    [
        'topic = "orders" and size > 0',
        'topic = "orders" and size < 0',
        'topic = "orders" and offset in (2, 9)',
        'topic = "orders" and body contains "7"',
        'topic = "orders" and not body = "3" and born = 1',
        'topic = "orders" and prop.KEYS = "k" and queue = 1',
        'topic = "orders" and (body = "1" or queue = 0)',
    ],
)
def test_what_columns_decide_is_what_decoding_decides(monkeypatch, text):
    admin = FakeAdmin()
    admin.pulled = lambda queue_id, offset, count: (
        b"".join(record(queue_id, number, properties=b"KEYS\x01k") for number in range(offset, offset + count)),
        offset + count,
    )
    by_columns, search = searched(admin, text)
    monkeypatch.setattr("broker_core.tools.search.pulled_filter.FEW_RECORDS", 1 << 30)
    decoded, other = searched(admin, text)
    assert by_columns == decoded
    assert str(search.outcome) == str(other.outcome)


def test_damage_is_told_although_the_message_would_not_match():
    admin = FakeAdmin()
    whole = admin.pulled

    def pulled(queue_id: int, offset: int, count: int) -> tuple[bytes, int]:
        body, following = whole(queue_id, offset, count)
        return body[:4] + b"????" + body[8:], following

    admin.pulled = pulled
    _found, search = searched(admin, 'topic = "orders" and queue = 0 and size < 0')
    assert str(search.outcome).startswith("partial: 0 hits in 10 messages; a message could not be read: ")


def test_a_broker_that_is_lost_is_gone_on_with_where_another_took_its_place():
    admin = FakeAdmin()
    first = admin.pulled

    def pulled(queue_id: int, offset: int, count: int) -> tuple[bytes, int]:
        if ADDRESS not in admin.lost:
            # The slave registers as master while the search goes on.
            admin.lost.add(ADDRESS)
            admin.brokers["a"] = {0: "127.0.0.1:2"}
            raise NetworkError(f"{ADDRESS} ended")
        return first(queue_id, offset, count)

    admin.pulled = pulled
    found, search = searched(admin, 'topic = "orders"')
    assert len(found) == 20
    assert str(search.outcome) == "complete: 20 hits in 20 messages"


def test_brokers_are_looked_for_once_before_each_try():
    admin = FakeAdmin()
    admin.routes |= {"pay": Route("pay", (QueueData("a", 2, 2, 6),), admin.brokers)}
    asked: list[int] = []

    async def registered() -> dict[str, dict[int, str]]:
        asked.append(len(admin.asked))
        if len(asked) > 1:
            raise NetworkError("no name server answers")
        return admin.brokers

    def pulled(_queue_id: int, _offset: int, _count: int) -> tuple[bytes, int]:
        raise NetworkError(f"{ADDRESS} ended")

    admin.registered_brokers = registered
    admin.pulled = pulled
    _found, search = searched(admin, "size > 0")
    assert search.plan.startswith("scan of 4 queues in 2 topics")
    assert len(asked) == 3, "when it began, and before each of two tries"
    assert len(search.outcome.reasons) == 4


def test_batches_grow_while_nothing_is_found(monkeypatch):
    # However slow the machine is: answers wait for as many as are wanted.
    monkeypatch.setattr("broker_core.tools.search.parallel_pulls._GATHER_S", 3_600.0)
    admin = FakeAdmin()
    admin.pulled = lambda queue_id, offset, _count: (record(queue_id, offset), offset + 1)

    async def steps(text: str) -> list[int]:
        search = ClusterSearch(cast("AdminClient", admin), parse_filter(text, now_ms=0))
        await search.prepare()
        return [step.scanned async for step in search.steps()]

    assert asyncio.run(steps('topic = "orders"')) == list(range(1, 21))
    grown = asyncio.run(steps('topic = "orders" and size < 10'))
    assert grown[:3] == [1, 3, 7]
    assert grown[-1] == 20

import zlib
from collections import Counter

import pytest

from broker_core.errors import UsageError
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress
from broker_core.protocol.message.sys_flag import COMPRESSED
from broker_core.worker.message_views import BODY_START_BYTES, detail_of, newest_first, read_batch, read_detail_by_id, record_of
from tests.support.engine import Engine


def test_a_batch_goes_on_where_the_last_one_ended(engine: Engine):
    for number in range(75):
        engine.put("orders", 0, b"%d" % number)
    offset, found = 0, []
    while (batch := read_batch(engine.store, "orders", 0, offset, 1_000)).next_offset > offset:
        found += [head.queue_offset for head in batch.heads]
        offset = batch.next_offset
        assert batch.missing == 0
    assert found == list(range(75))


def test_a_head_shows_the_start_of_the_body_and_its_whole_size(engine: Engine):
    engine.put("orders", 0, b"a" * 5_000, TAGS="new", KEYS="k1 k2", UNIQ_KEY="U1")
    (head,) = read_batch(engine.store, "orders", 0, 0, 10).heads
    assert (head.body_start, head.body_bytes) == (b"a" * BODY_START_BYTES, 5_000)
    assert (head.tag, head.keys, head.unique_key) == ("new", "k1 k2", "U1")


def test_a_compressed_body_is_shown_as_it_was_sent(engine: Engine):
    body = b"hello " * 1_000
    offset = engine.put("orders", 0, zlib.compress(body), sys_flag=COMPRESSED)
    detail = detail_of(record_of(engine.store, offset))
    assert (detail.body, detail.notice) == (body, "")
    assert detail.stored_body_bytes == len(zlib.compress(body))
    assert read_batch(engine.store, "orders", 0, 0, 1).heads[0].body_start == body[:BODY_START_BYTES]


def test_a_body_that_does_not_decompress_is_shown_as_stored_with_the_reason(engine: Engine):
    offset = engine.put("orders", 0, b"not zlib", sys_flag=COMPRESSED)
    detail = detail_of(record_of(engine.store, offset))
    assert detail.body == b"not zlib"
    assert "does not decompress" in detail.notice


def test_the_newest_messages_of_all_queues_come_by_store_time(engine: Engine):
    for number in range(200):
        engine.clock.advance(1)
        engine.put("orders", number % 3, b"%d" % number)
    for number in range(200, 300):
        engine.clock.advance(1)
        engine.put("orders", 1, b"%d" % number)
    heads = list(newest_first(engine.store, "orders", [0, 1, 2], 150))
    assert [int(head.body_start) for head in heads] == list(range(299, 149, -1))
    assert Counter(head.queue_id for head in heads).keys() == {0, 1, 2}


def test_fewer_messages_than_asked_for_are_all_of_them(engine: Engine):
    engine.put("orders", 0, b"1")
    assert len(list(newest_first(engine.store, "orders", [0, 1], 100))) == 1
    assert list(newest_first(engine.store, "orders", [], 100)) == []


@pytest.mark.parametrize("offset", [-1, 5, 1 << 40])
def test_a_place_without_a_message_is_told(engine: Engine, offset: int):
    engine.put("orders", 0, b"x")
    with pytest.raises(UsageError, match=f"no message at {offset} "):
        detail_of(record_of(engine.store, offset))


def test_an_id_of_another_broker_does_not_name_what_lies_here(engine: Engine):
    place = engine.put("orders", 0, b"a")
    own, other = (offset_message_id(HostAddress.parse(f"{host}:10911"), place) for host in ("127.0.0.1", "10.0.0.1"))

    assert read_detail_by_id(engine.store, own.lower()).body == b"a"
    with pytest.raises(UsageError, match=r"the broker at 10\.0\.0\.1:10911 stored; at 0 of this commit log lies another one"):
        read_detail_by_id(engine.store, other)

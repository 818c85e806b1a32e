"""What the list of conformance checks asks and no other test shows; tests/README.md has the rest.

Source: docs/spec/broker.md §19.
"""

import asyncio
import os
import random

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.config import BrokerConfig, ClientConfig, StoreConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import SMALL_FILES, RecordingPeer, pull_fields, send_fields
from tests.support.embedded import started
from tests.support.remoting_peer import BROKER, eventually

PEER = RecordingPeer()
POSITION = {"consumerGroup": "New", "topic": "T", "queueId": 0}
LARGE = random.Random(19).randbytes(100_000)


def expire_old_files(store):
    """Delete all log files but the last, and the queue entries that lead into them."""
    store.flush()
    for file in (store.config.root / "commitlog").iterdir():
        os.utime(file, (1_600_000_000, 1_600_000_000))
    assert store.clean().log_files > 0


# ---- line 11: a queue whose first messages have expired ----


def test_a_pull_of_what_has_expired_is_sent_to_the_oldest_that_is_left(bench):
    for _ in range(33):
        bench.put(body=LARGE)
    expire_old_files(bench.state.store)
    oldest, end = bench.state.store.min_offset("T", 0), bench.state.store.max_offset("T", 0)
    assert 0 < oldest < end == 33
    for offset in (0, oldest - 1):
        gone = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=offset))
        assert (gone.code, gone.remark) == (R.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL")
        assert (gone.ext_fields["nextBeginOffset"], gone.ext_fields["minOffset"]) == (str(oldest), str(oldest))
    there = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=oldest))
    assert (there.code, decode_record(b"".join(there.body_slices)).queue_offset) == (R.SUCCESS, oldest)
    at_end = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=end))
    assert (at_end.code, at_end.remark) == (R.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE")


def test_a_pull_of_a_queue_that_has_expired_as_a_whole_goes_on_at_its_end(bench):
    for _ in range(5):
        bench.put()
    for _ in range(33):
        bench.put("Other", body=LARGE)
    expire_old_files(bench.state.store)
    assert (bench.state.store.min_offset("T", 0), bench.state.store.max_offset("T", 0)) == (5, 5)
    below = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=2))
    assert (below.code, below.remark, below.ext_fields["nextBeginOffset"]) == (R.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", "5")
    at_end = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=5))
    assert (at_end.code, at_end.remark, at_end.ext_fields["nextBeginOffset"]) == (R.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", "5")
    bench.put(body=b"again")
    again = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=5))
    assert decode_record(b"".join(again.body_slices)).body == b"again"


# ---- line 13 ----


def test_each_pull_passes_800_of_two_thousand_unwanted_messages_or_the_rest_of_the_queue_file(bench):
    entries = SMALL_FILES["consume_queue_file_bytes"] // 20
    for _ in range(2_000):
        bench.put(properties="TAGS\x01other")
    offset, pulls = 0, 0
    while offset < 2_000:
        answer = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=offset, subscription="wanted"))
        assert (answer.code, answer.remark) == (R.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
        passed = int(answer.ext_fields["nextBeginOffset"]) - offset
        assert passed >= min(800, entries - offset % entries)
        offset, pulls = offset + passed, pulls + 1
    assert pulls <= 4


# ---- line 21: a new group after its topic's beginning has expired ----


def test_a_new_group_has_no_offset_once_offset_0_has_expired(bench):
    bench.put(body=LARGE)
    assert bench.answer(PEER, Q.QUERY_CONSUMER_OFFSET, POSITION).ext_fields == {"offset": "0"}
    for _ in range(32):
        bench.put(body=LARGE)
    expire_old_files(bench.state.store)
    assert bench.answer(PEER, Q.QUERY_CONSUMER_OFFSET, POSITION).code == R.QUERY_NOT_FOUND


def running(root):
    return started(BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root, **SMALL_FILES)))


def test_a_new_group_begins_at_the_end_once_offset_0_has_expired(tmp_path):
    async def scenario():
        queue = MessageQueue("T", BROKER, 0)
        async with running(tmp_path) as broker, Producer(broker.name_server_address) as producer:
            for number in range(33):
                await producer.send(Message("T", LARGE + b"%d" % number), queue=queue)
            expire_old_files(broker.store)
            got = []
            options = {"consume_from": ConsumeFrom.LAST_OFFSET, "config": ClientConfig(commit_interval_ms=50)}
            listener = lambda messages: got.extend(message.body for message in messages)  # noqa: E731  one line says it all
            async with PushConsumer(broker.name_server_address, "New", {"T": "*"}, listener, **options) as consumer:
                await eventually(lambda: broker.held_pulls >= len(consumer.queues) > 0)
                await producer.send(Message("T", b"new"), queue=queue)
                await eventually(lambda: got)
            assert got == [b"new"]

    asyncio.run(asyncio.wait_for(scenario(), 90))


# ---- line 18, the client's half ----


def test_of_two_tags_with_one_hash_the_client_keeps_the_one_it_asked_for(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, Producer(broker.name_server_address) as producer:
            for body, tag in ((b"1", "BB"), (b"2", "Aa"), (b"3", "BB"), (b"4", "Aa")):
                await producer.send(Message("T", body, tags=tag), queue=MessageQueue("T", BROKER, 0))
            got = []

            def listener(messages):
                got.extend(message.body for message in messages)

            options = {"consume_from": ConsumeFrom.FIRST_OFFSET}
            async with PushConsumer(broker.name_server_address, "CG", {"T": "Aa"}, listener, **options):
                await eventually(lambda: len(got) >= 2)
            assert got == [b"2", b"4"]

    asyncio.run(asyncio.wait_for(scenario(), 90))


# ---- beside the list: what clients in C++ write ----


@pytest.mark.parametrize(("written", "messages"), [("1", 2), ("true", 2), ("0", 1), ("false", 1)])
@pytest.mark.parametrize("code", [Q.SEND_MESSAGE, Q.SEND_MESSAGE_V2])
def test_a_batch_is_known_by_true_and_by_the_1_of_clients_in_cpp(bench, code, written, messages):
    body = encode_batch([BatchMember(0, b"one", b""), BatchMember(0, b"two", b"")])
    fields = send_fields(batch=written)
    if code == Q.SEND_MESSAGE:
        fields = {
            "producerGroup": "PG", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 0,
            "sysFlag": 0, "bornTimestamp": 1_699_999_999_000, "flag": 0, "properties": "", "reconsumeTimes": 0,
            "unitMode": 0, "batch": written,
        }  # fmt: skip
    assert bench.answer(PEER, code, fields, body).code == R.SUCCESS
    assert bench.state.store.max_offset("T", 0) == messages


# ---- beside the list: clocks of clients that are wrong ----


@pytest.mark.parametrize("born_ms", [0, 1, -1, 253_402_300_800_000, (1 << 63) - 1, -(1 << 63)])
def test_a_message_from_a_client_with_a_wrong_clock_is_stored_with_its_time_as_it_came(bench, born_ms):
    fields = send_fields() | {"g": born_ms}
    sent = bench.answer(PEER, Q.SEND_MESSAGE_V2, fields, b"skewed")
    assert sent.code == R.SUCCESS
    pulled = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields())
    message = decode_record(b"".join(pulled.body_slices))
    assert (message.born_timestamp_ms, message.store_timestamp_ms) == (born_ms, bench.clock())


@pytest.mark.parametrize("born_ms", [1 << 63, "yesterday"])
def test_a_time_that_no_record_can_hold_is_refused(bench, born_ms):
    answer = bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields() | {"g": born_ms}, b"skewed")
    assert answer.code == R.SYSTEM_ERROR
    assert f"{born_ms}" in answer.remark
    assert bench.state.store.commit_log_max_offset == 0

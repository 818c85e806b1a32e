from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_reads import LATEST_MS
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import GetStatus
from broker_core.protocol.message.body import decompress_body
from broker_core.protocol.message.message_id import offset_message_id, parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from tests.support.golden import GOLDEN_NAMES, GoldenMessage, GoldenStore, contents, golden_store

EXT_ADDRESS_BOUND = -2147483649


@dataclass(frozen=True, slots=True)
class Opened:
    golden: GoldenStore
    root: Path
    store: MessageStore
    messages: list[GoldenMessage]


@pytest.fixture(scope="module", params=[(name, mode) for name in GOLDEN_NAMES for mode in ("read-only", "owned")], ids="-".join)
def opened(request, tmp_path_factory):
    name, mode = request.param
    golden = golden_store(name)
    root = golden.unpack(tmp_path_factory.mktemp(name))
    before = contents(root)
    with MessageStore.open(StoreConfig(root=root), read_only=mode == "read-only") as store:
        yield Opened(golden, root, store, list(golden.messages()))
    if mode == "read-only":
        assert contents(root) == before


def test_every_message_is_served_by_queue_offset(opened):
    for message in opened.messages:
        found = opened.store.get_messages(message.topic, message.queue_id, message.columns["queueOffset"], 1)
        if message.topic.startswith("%LMQ%"):
            continue  # described with the offsets of their main queues; see the next test
        assert found.status is GetStatus.FOUND
        assert_same(decode_record(found.records[0]), message)
        assert zlib.crc32(found.records[0]) == message.columns["recordCrc32"]


def test_every_queue_has_the_described_messages_in_order(opened):
    described: dict[tuple[str, int], list[int]] = {}
    for message in opened.messages:
        described.setdefault((message.topic, message.queue_id), []).append(message.columns["physicalOffset"])
    for (topic, queue_id), offsets in described.items():
        assert [decode_record(record).physical_offset for record in all_records(opened.store, topic, queue_id)] == offsets


def test_every_message_is_found_by_its_offset_id(opened):
    for message in opened.messages:
        host, physical_offset = parse_offset_message_id(message.columns["offsetMsgId"])
        record = opened.store.record_at(physical_offset)
        assert record is not None
        assert_same(decode_record(record), message)
        assert str(host) == message.columns["storeHost"]


def test_every_message_is_found_by_its_store_time(opened):
    offsets: dict[tuple[str, int, int], set[int]] = {}
    for message in opened.messages:
        if not message.topic.startswith("%LMQ%"):
            place = message.topic, message.queue_id, message.columns["storeTimestamp"]
            offsets.setdefault(place, set()).add(message.columns["queueOffset"])
    for (topic, queue_id, time_ms), stored_then in offsets.items():  # many messages of a queue have the same time
        first = opened.store.offset_by_time(topic, queue_id, time_ms)
        last = opened.store.offset_by_time(topic, queue_id, time_ms, upper=True)
        assert first <= min(stored_then)
        assert max(stored_then) <= last
        assert opened.store.store_time(topic, queue_id, first) == time_ms
        assert opened.store.store_time(topic, queue_id, last) == time_ms


def test_every_message_is_found_by_each_of_its_keys(opened):
    found: dict[tuple[str, str, bool], set[int]] = {}
    for message in opened.messages:
        if message.topic.startswith("%LMQ%"):
            continue  # indexed under their main topic
        properties = message.columns["properties"]
        keys = [(key, False) for key in properties.get("KEYS", "").split(" ") if key]
        for key, unique in [*keys, *((properties["UNIQ_KEY"], True) for _ in range("UNIQ_KEY" in properties))]:
            asked = message.topic, key, unique
            if asked not in found:
                records = opened.store.query(message.topic, key, max_count=100_000, unique=unique)
                found[asked] = {decode_record(record).physical_offset for record in records}
            assert message.columns["physicalOffset"] in found[asked], asked


def test_queries_answer_as_the_real_broker(opened):
    rows = opened.golden.queries()
    for query in rows:
        if query["begin"] or query["end"] != LATEST_MS:
            continue  # there a real broker goes by times cut to seconds, we by those of the messages
        records = opened.store.query(query["topic"], query["key"], max_count=query["maxNum"])
        answer = [decode_record(record).physical_offset for record in records]
        assert answer == sorted(answer, reverse=True)
        # A key that a message has twice is in the index twice; a real broker then returns the message twice.
        assert answer[::-1] == sorted(set(query["physicalOffsets"])), query


def test_queries_keep_to_the_store_times_asked_for(opened):
    times = {message.columns["physicalOffset"]: message.columns["storeTimestamp"] for message in opened.messages}
    for query in opened.golden.queries():
        every = opened.store.query(query["topic"], query["key"], max_count=1_000_000)
        offsets = [decode_record(record).physical_offset for record in every]
        wanted = [offset for offset in offsets if query["begin"] <= times[offset] <= query["end"]]
        records = opened.store.query(
            query["topic"], query["key"], max_count=1_000_000, from_ms=query["begin"], to_ms=query["end"]
        )
        assert [decode_record(record).physical_offset for record in records] == wanted, query


def test_a_store_that_a_real_broker_cleaned_is_cleaned_further(tmp_path):
    golden = golden_store("cleaned")
    root = golden.unpack(tmp_path)
    messages = [message.columns | {"topic": message.topic, "queueId": message.queue_id} for message in golden.messages()]
    with MessageStore.open(StoreConfig(root=root, file_reserved_hours=0)) as store:
        assert store.clean().log_files == len(list((root / "commitlog").iterdir())) + 2
        first = store.commit_log_min_offset
        assert first == max(int(path.name) for path in (root / "commitlog").iterdir())
        left = {message["physicalOffset"] for message in messages if message["physicalOffset"] >= first}
        served = {
            decode_record(record).physical_offset
            for topic, queue_id in store.queues()
            for record in all_records(store, topic, queue_id)
        }
        assert left
        assert served == left
        for message in messages:
            found = store.query(message["topic"], message["properties"]["UNIQ_KEY"], max_count=9, unique=True)
            assert bool(found) == (message["physicalOffset"] in left)


def test_searches_by_time_answer_as_a_5x_broker(opened):
    for search in opened.golden.searches():
        if search["boundary"] is None:
            continue  # asked of a 4.9 broker, which follows another rule
        upper = search["boundary"] == "UPPER"
        answer = opened.store.offset_by_time(search["topic"], search["queueId"], search["timestamp"], upper=upper)
        assert answer == search["offset"], search


def test_bounds_of_the_queues_are_those_described(opened):
    for queue in opened.golden.expected["queues"]:
        topic, queue_id = queue["topic"], queue["queueId"]
        assert opened.store.max_offset(topic, queue_id) == queue["maxOffset"]
        if not queue["messages"]:  # emptied by the cleaner: 4.9 still says 0, 5.x says the end, as we do
            assert opened.store.min_offset(topic, queue_id) == queue["maxOffset"]
            continue
        assert opened.store.min_offset(topic, queue_id) == queue["minOffset"]
        assert opened.store.store_time(topic, queue_id, queue["minOffset"]) == queue["earliestStoreTime"]


def test_bounds_of_the_log_are_those_described(opened):
    log = opened.golden.expected["log"]
    assert opened.store.commit_log_min_offset == log["minOffset"]
    assert opened.store.commit_log_max_offset == log["maxOffset"]


def test_tags_codes_are_those_described(opened):
    for message in opened.messages:
        seen: list[int] = []
        expected = message.columns["tagsCode"]
        if message.topic.startswith("%LMQ%") or expected <= EXT_ADDRESS_BOUND:
            continue
        opened.store.get_messages(message.topic, message.queue_id, message.columns["queueOffset"], 1, accepts=collect(seen))
        assert seen[:1] == [expected]


def collect(seen):
    def accepts(code: int) -> bool:
        seen.append(code)
        return True

    return accepts


def all_records(store, topic, queue_id):
    offset = store.min_offset(topic, queue_id)
    while offset < store.max_offset(topic, queue_id):
        found = store.get_messages(topic, queue_id, offset, 32)
        assert found.status is GetStatus.FOUND
        yield from found.records
        offset = found.next_offset


def assert_same(stored: StoredMessage, message: GoldenMessage) -> None:
    columns = message.columns
    assert {
        "physicalOffset": stored.physical_offset,
        "queueOffset": stored.queue_offset,
        "storeSize": stored.store_size,
        "bodyCrc": stored.body_crc,
        "sysFlag": stored.sys_flag,
        "flag": stored.flag,
        "bornTimestamp": stored.born_timestamp_ms,
        "bornHost": str(stored.born_host),
        "storeTimestamp": stored.store_timestamp_ms,
        "storeHost": str(stored.store_host),
        "reconsumeTimes": stored.reconsume_times,
        "preparedTransactionOffset": stored.prepared_transaction_offset,
        "properties": stored.properties,
        "storedBodyLength": len(stored.body),
        "offsetMsgId": offset_message_id(stored.store_host, stored.physical_offset),
    }.items() <= columns.items()
    body = decompress_body(stored.sys_flag, stored.body)
    assert len(body) == columns["bodyLength"]
    assert message.body_matches(body)

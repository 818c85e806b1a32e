"""Stores in both directions: ours is served and gone on with by a real RocketMQ, and ours opens what that wrote."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import shutil
import zlib
from pathlib import Path

import lz4.frame
import pytest

from broker_core import zstandard_frames
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, StoreConfig, with_settings
from broker_core.engine.store.config_file import ConfigFile
from broker_core.engine.store.inspection.verify import Verification
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import GetStatus, PutStatus
from broker_core.errors import RemoteError
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import ConnectionPool
from tests.support.golden import golden_store
from tests.support.real_broker import Questions, RealBroker
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

VERSIONS = ("4.9.4", "5.3.3")
SIZES = {
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "4000",
    "maxHashSlotNum": "1000",
    "maxIndexNum": "600",
}
HOST = HostAddress.parse("127.0.0.1:10911")
HOST_V6 = HostAddress.parse("[::1]:10911")
QUEUES = {
    "Orders": 4,
    "Payments": 1,
    "SCHEDULE_TOPIC_XXXX": 18,
    "RMQ_SYS_TRANS_HALF_TOPIC": 1,
    "RMQ_SYS_TRANS_OP_HALF_TOPIC": 1,
    "%RETRY%group": 1,
}
COUNT = 600


def config(root: Path, **changes: object) -> StoreConfig:
    sized = with_settings(BrokerConfig(store=StoreConfig(root=root)), SIZES).store
    return dataclasses.replace(sized, **changes)  # type: ignore[arg-type]


def write_ours(root: Path, *, crash: bool) -> dict[int, bytes]:
    """A store of all kinds of messages; returns its records by physical offset. ``crash``: it is copied while open."""
    live = root.with_name("live") if crash else root
    store = MessageStore.open(config(live))
    ConfigFile(live / "config" / "topics.json").save(topics())
    for number in range(COUNT):
        store.put(kind(number))
        if number % 20 == 0:
            members = [BatchMember(0, b"%d.%d" % (number, part), b"KEYS\x01b%d" % number) for part in range(5)]
            batch = message(b"", "Orders", 0, properties=b"CLUSTER\x01DefaultCluster")
            assert store.put_batch(dataclasses.replace(batch, body=encode_batch(members))).status is PutStatus.PUT_OK
        if number == COUNT // 2:
            store.flush()
    found = served(store)
    if crash:
        shutil.copytree(live, root)
    store.close()
    return found


def topics() -> dict[str, object]:
    table = {
        name: {
            "order": False, "perm": 6, "readQueueNums": count, "topicFilterType": "SINGLE_TAG", "topicName": name,
            "topicSysFlag": 0, "writeQueueNums": count,
        }
        for name, count in QUEUES.items()
    }  # fmt: skip
    return {"dataVersion": {"counter": 1, "timestamp": wall_clock_ms()}, "topicConfigTable": table}


def message(body: bytes, topic: str, queue_id: int, *, properties: bytes = b"", sys_flag: int = 0, v6: bool = False):
    host = HOST_V6 if v6 else HOST
    return MessageToStore(topic, queue_id, 7, sys_flag, wall_clock_ms(), host, host, 0, 0, body, properties)


def kind(number: int) -> MessageToStore:
    keys = b"KEYS\x01k%d shared\x02UNIQ_KEY\x01%032X\x02TAGS\x01Tag%d" % (number, number, number % 3)
    body = b"%d " % number * 20
    if number % 12 == 1:
        return message(zlib.compress(body * 50), "Orders", 1, properties=keys, sys_flag=0x1)
    if number % 12 == 2:
        return message(lz4.frame.compress(body * 50), "Orders", 2, properties=keys, sys_flag=0x101)
    if number % 12 == 3:
        return message(zstandard_frames.compress(body * 50), "Orders", 3, properties=keys, sys_flag=0x201)
    if number % 12 == 4:
        return message(body, "Payments", 0, properties=keys, v6=True)
    if number % 12 == 5:
        delay = b"\x02DELAY\x0118\x02REAL_TOPIC\x01Orders\x02REAL_QID\x010"
        return message(body, "SCHEDULE_TOPIC_XXXX", 17, properties=keys + delay)
    if number % 48 == 6:
        return message(body, "RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, properties=b"TAGS\x01d")
    if number % 12 == 7:
        return message(body, "%RETRY%group", 0, properties=keys + b"\x02RETRY_TOPIC\x01Orders")
    if number % 12 == 8:
        return message(body, "Orders", 0, properties=keys, sys_flag=0x8)
    return message(body, "Orders", number % 4, properties=keys)


def served(store: MessageStore) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for topic, queue_id in store.queues():
        offset = store.min_offset(topic, queue_id)
        while offset < store.max_offset(topic, queue_id):
            got = store.get_messages(topic, queue_id, offset, 32)
            assert got.status is GetStatus.FOUND
            for record in got.records:
                stored = decode_record(record, check_crc=True)
                found[stored.physical_offset] = bytes(record)
            offset = got.next_offset
    return found


async def assert_serves(broker: RealBroker, records: dict[int, bytes]) -> None:
    """The broker serves exactly these records of their queues, and finds each by each of its keys."""
    queues: dict[tuple[str, int], list[bytes]] = {}
    keys: dict[tuple[str, str], set[int]] = {}
    for offset in sorted(records):
        stored = decode_record(records[offset])
        queues.setdefault((stored.topic, stored.queue_id), []).append(records[offset])
        for key in [*stored.properties.get("KEYS", "").split(), stored.properties.get("UNIQ_KEY", "")]:
            if key:
                keys.setdefault((stored.topic, key), set()).add(offset)
    pool = ConnectionPool()
    ask = Questions(pool, broker.address)
    try:
        for (topic, queue_id), expected in queues.items():
            if topic == "RMQ_SYS_TRANS_OP_HALF_TOPIC" and broker.version.startswith("4."):
                continue  # a 4.9 broker refuses to pull it
            assert await ask.records(topic, queue_id) == expected, (topic, queue_id)
        for (topic, key), offsets in keys.items():
            found = {decode_record(record).physical_offset for record in await ask.by_key(topic, key)}
            assert found == offsets or (len(found) == 64 and found < offsets), (topic, key)
    finally:
        await pool.close()


async def has_route(producer: Producer) -> bool:
    try:
        return bool(await producer.queues("Orders"))
    except RemoteError:  # the broker has not registered yet
        return False


async def send_more(broker: RealBroker) -> None:
    async with Producer(broker.name_server, "more") as producer:
        await eventually_answers(lambda: has_route(producer))
        for number in range(100):
            await producer.send(Message("Orders", b"real %d" % number, keys=(f"r{number}", "shared")))
        await producer.send_batch([Message("Payments", b"batch %d" % number, keys=(f"rb{number}",)) for number in range(10)])


def assert_ours_serves(root: Path, before: dict[int, bytes], further: int) -> dict[int, bytes]:
    with MessageStore.open(config(root), read_only=True) as reader:
        assert served(reader).items() >= before.items()
    with MessageStore.open(config(root)) as store:
        now = served(store)
        assert now.items() >= before.items()
        assert len(now) == len(before) + further
        for offset, record in now.items():
            stored = decode_record(record)
            for key in stored.properties.get("KEYS", "").split():
                found = store.query(stored.topic, key, max_count=10_000)
                assert offset in {decode_record(one).physical_offset for one in found}
        for number in range(50):
            assert store.put(kind(10_000 + number)).status is PutStatus.PUT_OK
        assert store.put(message(b"last", "Orders", 0, properties=b"KEYS\x01last")).status is PutStatus.PUT_OK
        now = served(store)
    run = Verification(root, DelayLevels(StoreConfig().message_delay_level))
    assert [str(finding) for finding in run.findings()] == []
    return now


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "crashed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_goes_from_ours_to_the_real_broker_and_back_and_there_again(version, crash, tmp_path):
    broker = RealBroker(version, tmp_path / "peer", SIZES)
    broker.folder.mkdir()
    records = write_ours(broker.store, crash=crash)
    broker.start()
    try:
        asyncio.run(assert_serves(broker, records))
        asyncio.run(send_more(broker))
    finally:
        broker.stop(kill=crash)
    records = assert_ours_serves(broker.store, records, further=110)
    broker.start()
    try:
        asyncio.run(assert_serves(broker, records))
    finally:
        broker.stop()


def hashes(root: Path) -> dict[str, str]:
    paths = [root / "timerwheel", *sorted((root / "timerlog").glob("*"))]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.mark.parametrize("name", ["delay-5", "transaction-5", "consume-5", "delay", "transaction", "filter", "lmq"])
def test_a_golden_store_that_ours_went_on_with_is_served_by_the_broker_that_wrote_it(name, tmp_path):
    golden = golden_store(name)
    settings = {key: str(value) for key, value in golden.expected["settings"].items()}
    broker = RealBroker(golden.expected["brokerVersion"], tmp_path / "peer", settings)
    broker.folder.mkdir()
    golden.unpack(broker.folder).rename(broker.store)
    timers = hashes(broker.store) if (broker.store / "timerwheel").exists() else {}
    known = {key for key in settings if key in with_keys()}
    ours = with_settings(BrokerConfig(store=StoreConfig(root=broker.store)), {key: settings[key] for key in known}).store
    topic = next(queue["topic"] for queue in golden.expected["queues"] if "Shop" in queue["topic"][:4])
    with MessageStore.open(ours) as store:
        for number in range(20):
            put = store.put(message(b"%d" % number, topic, 0, properties=b"KEYS\x01ours%d" % number))
            assert put.status is PutStatus.PUT_OK
        records = {offset: data for offset, data in served(store).items() if decode_record(data).topic == topic}
    assert timers == (hashes(broker.store) if timers else {})
    broker.start()
    try:
        asyncio.run(assert_serves_at_least(broker, topic, records))
    finally:
        broker.stop()
    with MessageStore.open(ours) as store:
        assert served(store).items() >= records.items()


def with_keys() -> set[str]:
    return {field.metadata["key"] for field in dataclasses.fields(StoreConfig)}


async def assert_serves_at_least(broker: RealBroker, topic: str, records: dict[int, bytes]) -> None:
    """Delayed messages may be delivered meanwhile; what was there is there."""
    pool = ConnectionPool()
    ask = Questions(pool, broker.address)
    try:
        for queue_id in {decode_record(data).queue_id for data in records.values()}:
            expected = [data for data in records.values() if decode_record(data).queue_id == queue_id]
            found = await ask.records(topic, queue_id)
            assert found[: len(expected)] == sorted(expected, key=lambda data: decode_record(data).physical_offset)
        for number in range(20):
            assert len(await ask.by_key(topic, f"ours{number}")) == 1
    finally:
        await pool.close()

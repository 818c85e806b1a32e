"""Atomic transactions from our producer through the whole broker, over loopback."""

import asyncio
import json
import shutil
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.client.atomic_producer import AbortNeededError, AtomicError, AtomicProducer, FencedError
from broker_core.client.message import Message
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.atomic.snapshot import SnapshotFiles
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.processors import atomic_service
from broker_core.engine.processors.atomic_service import OFFSETS_ENTRY, ContainedDecisions
from broker_core.errors import CodecError, RemoteError, UsageError
from broker_core.protocol.atomic import OffsetKey
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, parse_object
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, pull_fields, send_fields
from tests.support.embedded import started
from tests.support.remoting_peer import eventually

SUBSCRIBED = {"sysFlag": 4, "subscription": "*"}


def running(root, **settings):
    store = StoreConfig(root=root / "store", **SMALL_FILES)
    config = BrokerConfig(listen_port=0, name_server_port=0, store=store, atomic_transactions=True)
    return started(replace(config, **settings))


def texts(fields):
    return {name: str(value) for name, value in fields.items()}


class Reader:
    """Pulls as an unmodified client does, or uncommitted."""

    def __init__(self, connection):
        self.connection = connection

    async def ask(self, code, fields, body=b""):
        return await self.connection.request(RemotingCommand(code, texts(fields), body), 20_000)

    async def committed(self, topic, queue_id=0, offset=0):
        return await self._all(Q.PULL_MESSAGE, topic, queue_id, offset)

    async def uncommitted(self, topic, queue_id=0, offset=0):
        return await self._all(Q.PULL_UNCOMMITTED, topic, queue_id, offset)

    async def _all(self, code, topic, queue_id, offset):
        got = []
        while True:
            fields = pull_fields(topic, offset=offset) | SUBSCRIBED | {"queueId": queue_id}
            answer = await self.ask(code, fields)
            data = bytes(answer.body)
            while data:
                message = decode_record(data)
                got.append(message.body.decode())
                data = data[message.store_size :]
            following = int(answer.ext_fields["nextBeginOffset"])
            if answer.code not in (R.SUCCESS, R.PULL_RETRY_IMMEDIATELY):
                return got
            assert following > offset
            offset = following

    async def max_offset(self, topic):
        return int((await self.ask(Q.GET_MAX_OFFSET, {"topic": topic, "queueId": 0})).ext_fields["offset"])


@asynccontextmanager
async def reading(broker):
    connection = await connect(broker.broker_address)
    try:
        yield Reader(connection)
    finally:
        connection.close()


async def failing(producer):
    async with producer.transaction():
        await producer.send(Message("orders", b"never"))
        raise ValueError("no")


def queue(topic, queue_id=0):
    return MessageQueue(topic, "broker-a", queue_id)


async def plain(reader, topic, body):
    answer = await reader.ask(Q.SEND_MESSAGE_V2, send_fields(topic), body)
    assert answer.code == R.SUCCESS, answer.remark


def test_messages_of_several_topics_appear_together(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            for topic in ("orders", "audit"):
                await producer.create_topic(topic, queues=2)
            producer.begin()
            await producer.send(Message("orders", b"o1"), queue=queue("orders"))
            await producer.send(Message("audit", b"a1"), queue=queue("audit"))
            await producer.send_batch([Message("orders", b"o2"), Message("orders", b"o3")], queue=queue("orders"))
            assert await reader.committed("orders") == await reader.committed("audit") == []
            assert await reader.max_offset("orders") == 0
            assert await reader.uncommitted("orders") == ["o1", "o2", "o3"]
            await producer.commit()
            assert await reader.committed("orders") == ["o1", "o2", "o3"]
            assert await reader.committed("audit") == ["a1"]
            assert await reader.max_offset("orders") == 3
            assert producer.identity.epoch == 1

    asyncio.run(scenario())


def test_aborted_messages_are_passed_over_and_plain_ones_between_are_not(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            await plain(reader, "orders", b"before")
            producer.begin()
            for number in range(40):
                await producer.send(Message("orders", f"lost{number}".encode()))
            await plain(reader, "orders", b"between")
            await producer.send(Message("orders", b"lost"))
            assert await reader.committed("orders") == ["before"]
            await producer.abort()
            await plain(reader, "orders", b"after")
            assert await reader.committed("orders") == ["before", "between", "after"]
            assert len(await reader.uncommitted("orders")) == 44
            with pytest.raises(ValueError, match="no"):
                await failing(producer)
            async with producer.transaction():
                await producer.send(Message("orders", b"at last"))
            assert (await reader.committed("orders"))[-2:] == ["after", "at last"]

    asyncio.run(scenario())


def test_a_held_pull_is_answered_by_the_decision(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            fields = texts(pull_fields("orders") | SUBSCRIBED | {"sysFlag": 6, "suspendTimeoutMillis": 30_000})
            held = reader.connection.request(RemotingCommand(Q.PULL_MESSAGE, fields), 40_000)
            await eventually(lambda: broker.held_pulls == 1)
            producer.begin()
            await producer.send(Message("orders", b"x"))
            assert broker.held_pulls == 1
            await producer.commit()
            answer = await held
            assert (answer.code, decode_record(bytes(answer.body)).body) == (R.SUCCESS, b"x")

    asyncio.run(scenario())


@pytest.mark.parametrize("outcome", ["committed", "aborted", "open"])
def test_everything_is_the_same_after_a_restart(tmp_path, outcome):
    async def scenario():
        async with running(tmp_path) as broker:
            producer = AtomicProducer(broker.name_server_address, "shop")
            await producer.start()
            await producer.create_topic("orders", queues=1)
            async with producer.transaction():
                await producer.send(Message("orders", b"first"))
            producer.begin()
            await producer.send(Message("orders", b"x"))
            await producer.send_offsets("CG", {queue("orders"): 1})
            if outcome == "committed":
                await producer.commit()
            elif outcome == "aborted":
                await producer.abort()
            await producer._instance.close()
        if outcome == "committed":
            for snapshot in (tmp_path / "store" / "config").glob("txnSnapshot-*"):
                snapshot.write_bytes(b"damaged")
        async with running(tmp_path) as broker, reading(broker) as reader:
            assert await reader.committed("orders") == (["first", "x"] if outcome == "committed" else ["first"])
            assert broker.offsets.get("CG", "orders", 0) == (1 if outcome == "committed" else -1)
            if outcome == "open":
                async with AtomicProducer(broker.name_server_address, "shop") as again:
                    assert again.identity.epoch == 3, "the open one was aborted with an epoch of its own"
                    async with again.transaction():
                        await again.send(Message("orders", b"y"))
                assert await reader.committed("orders") == ["first", "y"]

    asyncio.run(scenario())


def test_a_second_instance_fences_the_first(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as old,
        ):
            await old.create_topic("orders", queues=1)
            old.begin()
            await old.send(Message("orders", b"zombie"))
            async with AtomicProducer(broker.name_server_address, "shop") as new:
                with pytest.raises(FencedError, match="took over"):
                    await old.send(Message("orders", b"late"))
                with pytest.raises(FencedError):
                    await old.commit()
                async with new.transaction():
                    await new.send(Message("orders", b"new"))
            assert await reader.committed("orders") == ["new"]

    asyncio.run(scenario())


def test_a_transaction_that_is_open_for_too_long_is_aborted_and_the_producer_goes_on(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop", timeout_ms=200) as producer,
        ):
            await producer.create_topic("orders", queues=1)
            producer.begin()
            await producer.send(Message("orders", b"slow"))
            await eventually(lambda: broker.atomic.coordinator.timed_out == 1)
            with pytest.raises(AbortNeededError, match="open for longer"):
                await producer.commit()
            with pytest.raises(AbortNeededError):
                await producer.send(Message("orders", b"more"))
            await producer.abort()
            async with producer.transaction():
                await producer.send(Message("orders", b"quick"))
            assert await reader.committed("orders") == ["quick"]

    asyncio.run(scenario())


def test_a_repeated_send_is_stored_once(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, None) as producer,
        ):
            await plain(reader, "orders", b"plain")
            for number in range(6):
                await producer.send(Message("orders", f"{number}".encode()), queue=queue("orders"))
            command = producer._command([Message("orders", b"4")], ["id"], queue("orders"))
            identity = {"kp": str(producer.identity.producer_id), "ke": "0"}
            command.ext_fields |= {**identity, "ks": "4"}
            again = await reader.connection.request(command)
            assert (again.code, again.ext_fields["queueOffset"]) == (R.SUCCESS, "5")
            command.ext_fields |= {"ks": "7"}
            gap = await reader.connection.request(command)
            assert (gap.code, "6 is expected" in gap.remark) == (30_103, True)
            assert await reader.committed("orders") == ["plain", "0", "1", "2", "3", "4", "5"]
            with pytest.raises(UsageError):
                producer.begin()

    asyncio.run(scenario())


def test_other_topics_and_other_kinds_are_refused(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await plain(reader, "plain", b"x")
            await producer.create_topic("orders", queues=1)
            producer.begin()
            with pytest.raises(AbortNeededError, match="takes no part"):
                await producer.send(Message("plain", b"x"), queue=queue("plain"))
            await producer.abort()
            producer.begin()
            with pytest.raises(AbortNeededError, match="delayed"):
                await producer.send(Message("orders", b"x", properties={"DELAY": "1"}))
            await producer.abort()
            stamped = send_fields("orders", properties="KTX\x010:0:0:1:1")
            answer = await reader.ask(Q.SEND_MESSAGE_V2, stamped, b"forged")
            assert (answer.code, "reserved" in answer.remark) == (R.MESSAGE_ILLEGAL, True)
            sent = await reader.ask(Q.SEND_MESSAGE_V2, send_fields("ORBIT_SYS_TXN_STATE"), b"forged")
            assert sent.code == R.NO_PERMISSION

    asyncio.run(scenario())


def test_positions_of_a_group_change_with_the_transaction_only(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            producer.begin()
            await producer.send(Message("orders", b"x"))
            await producer.send_offsets("CG", {queue("orders"): 1})
            position = {"consumerGroup": "CG", "topic": "orders", "queueId": 0}
            assert (await reader.ask(Q.STABLE_OFFSET, position)).code == 30_110
            assert broker.offsets.get("CG", "orders", 0) == -1
            await producer.commit()
            assert (await reader.ask(Q.STABLE_OFFSET, position)).ext_fields == {"offset": "1"}

            producer.begin()
            await producer.send(Message("orders", b"y"))
            await producer.send_offsets("CG", {queue("orders"): 2})
            await reader.ask(Q.UPDATE_CONSUMER_OFFSET, position | {"commitOffset": 0})
            await producer.commit()
            assert broker.offsets.get("CG", "orders", 0) == 0, "what was set later by itself counts"

    asyncio.run(scenario())


def test_positions_alone_are_decided_too(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            for body in (b"v", b"w"):
                await plain(reader, "orders", body)
            async with producer.transaction():
                await producer.send_offsets("CG", {queue("orders"): 1})
            assert broker.offsets.get("CG", "orders", 0) == 1
            producer.begin()
            await producer.send_offsets("CG", {queue("orders"): 2})
            await producer.abort()
            async with producer.transaction():
                await producer.send(Message("orders", b"x"))
            assert broker.offsets.get("CG", "orders", 0) == 1, "what was aborted does not come with the next transaction"
            assert await reader.committed("orders") == ["v", "w", "x"]
            epoch = producer.identity.epoch
            async with producer.transaction():
                pass
            assert producer.identity.epoch == epoch, "of a transaction with nothing in it the broker does not hear"

    asyncio.run(scenario())


def test_a_position_that_its_queue_cannot_have_is_refused(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            await plain(reader, "orders", b"w")
            producer.begin()
            with pytest.raises(AtomicError, match="not in consume queue range"):
                await producer.send_offsets("CG", {queue("orders"): 2})
            await producer.abort()
            assert broker.offsets.get("CG", "orders", 0) == -1

    asyncio.run(scenario())


def test_a_queue_of_another_broker_is_refused_and_the_transaction_goes_on(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            elsewhere = MessageQueue("orders", "broker-b", 0)
            async with producer.transaction():
                await producer.send(Message("orders", b"x"))
                with pytest.raises(UsageError, match="is on broker broker-b, this producer works with broker-a"):
                    await producer.send(Message("orders", b"y"), queue=elsewhere)
                with pytest.raises(UsageError, match="is on broker broker-b"):
                    await producer.send_offsets("CG", {queue("orders"): 3, elsewhere: 4})
            assert await reader.committed("orders") == ["x"]
            assert broker.offsets.get("CG", "orders", 0) == -1

    asyncio.run(scenario())


def test_what_is_recorded_during_a_slow_snapshot_makes_the_next_one_due(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_service, "SNAPSHOT_TICKS", 1)
    monkeypatch.setattr(atomic_service, "TICK_SECONDS", 0.01)
    released, write, offsets = threading.Event(), SnapshotFiles.write, []

    def slow(files, data, offset):
        offsets.append(offset)
        assert released.wait(60)
        write(files, data, offset)

    monkeypatch.setattr(SnapshotFiles, "write", slow)

    async def scenario():
        async with running(tmp_path) as broker, AtomicProducer(broker.name_server_address, "shop") as producer:
            await producer.create_topic("orders", queues=1)
            await eventually(lambda: offsets)
            async with producer.transaction():
                await producer.send(Message("orders", b"x"))
            end = broker.store.commit_log_max_offset
            assert (len(offsets), offsets[0] < end) == (1, True)
            released.set()
            await eventually(lambda: offsets[-1] == end)

    asyncio.run(scenario())


def test_until_the_state_is_read_back_nobody_is_served(tmp_path, monkeypatch):
    released, started, replay = threading.Event(), threading.Event(), atomic_service.replay

    def slow(log, files):
        started.set()
        assert released.wait(60)
        return replay(log, files)

    async def scenario():
        async with running(tmp_path) as broker:
            producer = AtomicProducer(broker.name_server_address, "shop")
            await producer.start()
            await producer.create_topic("orders", queues=1)
            producer.begin()
            await producer.send(Message("orders", b"open"))
            await producer._instance.close()
        monkeypatch.setattr(atomic_service, "replay", slow)
        config = replace(broker.config, listen_port=0, name_server_port=0)
        broker = EmbeddedBroker(config)
        starting = asyncio.create_task(broker.start())
        assert await asyncio.to_thread(started.wait, 60)
        async with reading(broker) as reader:
            pull = texts(pull_fields("orders") | SUBSCRIBED)
            refusal = await reader.ask(Q.PULL_MESSAGE, pull)
            asked = await reader.ask(Q.INIT_ATOMIC_PRODUCER, {"tid": "shop", "timeoutMs": 1_000})
            sent = await reader.ask(Q.SEND_MESSAGE_V2, send_fields("orders"), b"x")
            remarks = {answer.remark for answer in (refusal, asked, sent)}
            assert (refusal.code, asked.code, sent.code) == (R.SERVICE_NOT_AVAILABLE,) * 3
            assert remarks == {"service not available now: the broker is starting"}
            released.set()
            await starting
            assert (await reader.ask(Q.SEND_MESSAGE_V2, send_fields("orders"), b"x")).code == R.SUCCESS
            assert await reader.committed("orders") == []
        await broker.stop()

    asyncio.run(scenario())


def test_a_crash_right_after_a_snapshot_loses_no_position(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, AtomicProducer(broker.name_server_address, "shop") as producer:
            await producer.create_topic("orders", queues=1)
            async with producer.transaction():
                await producer.send(Message("orders", b"x"))
                await producer.send_offsets("CG", {queue("orders"): 1})
            await broker.atomic._write_snapshot()
            shutil.copytree(tmp_path / "store", tmp_path / "crashed" / "store")
        async with running(tmp_path / "crashed") as broker:
            assert broker.offsets.get("CG", "orders", 0) == 1

    asyncio.run(scenario())


def test_a_log_that_lost_its_end_makes_the_file_of_positions_say_so(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, AtomicProducer(broker.name_server_address, "shop") as producer:
            await producer.create_topic("orders", queues=1)
        path = tmp_path / "store" / "config" / "consumerOffset.json"
        content = json.loads(path.read_text())
        path.write_text(json.dumps(content | {OFFSETS_ENTRY: {"appliedTo": 10**9, "setBeside": []}}))
        async with running(tmp_path) as broker:
            assert json.loads(path.read_text())[OFFSETS_ENTRY]["appliedTo"] == broker.store.commit_log_max_offset

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "entry",
    [[], {}, {"appliedTo": "x", "setBeside": []}, {"appliedTo": 5}, {"appliedTo": 5, "setBeside": [["CG", "orders", 0]]},
     {"appliedTo": 5, "setBeside": [["CG", "orders", 0, None]]}, {"appliedTo": 5, "setBeside": [[1, "orders", 0, 9]]}],
)  # fmt: skip
def test_a_damaged_entry_of_the_positions_is_damage(entry):
    with pytest.raises(CodecError):
        ContainedDecisions.of_offsets({OFFSETS_ENTRY: entry})


def test_positions_contain_the_decisions_that_the_entry_names():
    entry = {"appliedTo": 5, "setBeside": [["CG", "orders", 0, 9]]}
    assert ContainedDecisions.of_offsets({OFFSETS_ENTRY: entry}) == ContainedDecisions(5, {OffsetKey("CG", "orders", 0): 9})
    assert ContainedDecisions.of_offsets({}) == ContainedDecisions()


def test_it_is_off_by_default_and_then_not_to_be_seen(tmp_path):
    async def scenario():
        async with running(tmp_path, atomic_transactions=False) as broker, reading(broker) as reader:
            await plain(reader, "orders", b"x")
            assert broker.store.visibility is None
            producer = AtomicProducer(broker.name_server_address, "shop")
            with pytest.raises(AtomicError, match="not supported"):
                await producer.start()
            await producer.close()

    asyncio.run(scenario())
    names = {path.name for path in (tmp_path / "store").rglob("*")}
    assert not [name for name in names if "txn" in name.lower()]
    assert (
        "orbitAtomic" not in (tmp_path / "store" / "config" / "consumerOffset.json").read_text()
        if (tmp_path / "store" / "config" / "consumerOffset.json").exists()
        else True
    )


def test_what_is_open_can_be_listed(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            await producer.create_topic("orders", queues=1)
            await plain(reader, "orders", b"before")
            producer.begin()
            await producer.send(Message("orders", b"x"))
            await plain(reader, "orders", b"behind")
            (shown,) = parse_object((await reader.ask(Q.LIST_ATOMIC, {})).body)["transactions"]
            assert (shown["tid"], shown["state"]) == ("shop", "ONGOING")
            assert shown["queues"] == [{"topic": "orders", "queueId": 0, "firstOffset": 1, "heldBack": 2}]
            await producer.abort()

    asyncio.run(scenario())


def test_deleting_a_topic_lets_the_rest_of_the_transaction_go_on(tmp_path):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            reading(broker) as reader,
            AtomicProducer(broker.name_server_address, "shop") as producer,
        ):
            for topic in ("orders", "gone"):
                await producer.create_topic(topic, queues=1)
            producer.begin()
            await producer.send(Message("orders", b"x"))
            await producer.send(Message("gone", b"y"))
            assert (await reader.ask(Q.DELETE_TOPIC_IN_BROKER, {"topic": "gone"})).code == R.SUCCESS
            await producer.commit()
            assert await reader.committed("orders") == ["x"]

    asyncio.run(scenario())


def test_a_remote_error_of_another_kind_is_told(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker:
            producer = AtomicProducer(broker.name_server_address, "shop", timeout_ms=900_001)
            with pytest.raises(RemoteError, match="allowed are 1 to 900,000"):
                await producer.start()
            await producer.close()

    asyncio.run(scenario())

"""The whole broker over loopback, with raw frames in both header encodings."""

import asyncio
import json
import socket
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.nameserver.registration import DataVersion, Registration
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import PortInUseError, RequestRefusedError, StoreLockedError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import FrameDecoder, RemotingCommand, encode_command
from broker_core.protocol.json_body import emit, parse_object
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, consumer_heartbeat, pull_fields, send_fields
from tests.support.embedded import started
from tests.support.remoting_peer import eventually

POSITION = {"consumerGroup": "CG", "topic": "Orders", "queueId": 0}
BOTH = pytest.mark.parametrize("kind", list(SerializeType))


def config_for(root, **settings):
    flush = settings.pop("flush_disk_type", "ASYNC_FLUSH")
    store = StoreConfig(root=root / "store", flush_disk_type=flush, **SMALL_FILES)
    return replace(BrokerConfig(listen_port=0, name_server_port=0, store=store), **settings)


def running(root, **settings):
    return started(config_for(root, **settings))


class Raw:
    """A client that knows only bytes: frames out, frames in."""

    def __init__(self, reader, writer, kind):
        self.reader, self.writer, self.kind = reader, writer, kind
        self.decoder, self.came, self.opaque = FrameDecoder(), [], 100

    def tell(self, code, fields=None, body=b"", flag=0):
        self.opaque += 1
        ext = {name: str(value) for name, value in (fields or {}).items()}
        data = body if isinstance(body, bytes) else emit(body)
        command = RemotingCommand(code, ext, data, opaque=self.opaque, flag=flag, serialize_type=self.kind)
        self.writer.write(encode_command(command))
        return self.opaque

    async def take(self, wanted):
        """The next command for which ``wanted`` holds; others are kept."""
        while True:
            for index, command in enumerate(self.came):
                if wanted(command):
                    return self.came.pop(index)
            data = await asyncio.wait_for(self.reader.read(1 << 16), 60)
            assert data, "the connection ended"
            self.came += self.decoder.feed(data)

    async def ask(self, code, fields=None, body=b""):
        opaque = self.tell(code, fields, body)
        answer = await self.take(lambda c: c.is_response and c.opaque == opaque)
        assert answer.serialize_type == self.kind
        return answer


@asynccontextmanager
async def raw(address, kind=SerializeType.JSON):
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Raw(reader, writer, kind)
    finally:
        writer.close()
        await writer.wait_closed()


def bodies(answer):
    data, found = bytes(answer.body), []
    while data:
        message = decode_record(data)
        found.append(message.body)
        data = data[message.store_size :]
    return found


@BOTH
def test_what_a_client_does_from_route_to_goodbye(tmp_path, kind):
    async def scenario():
        async with (
            running(tmp_path) as broker,
            raw(broker.name_server_address, kind) as names,
            raw(broker.broker_address, kind) as client,
        ):
            missing = await names.ask(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders"})
            assert missing.code == R.TOPIC_NOT_EXIST
            template = parse_object((await names.ask(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})).body)
            assert template["brokerDatas"][0]["brokerAddrs"] == {"0": broker.broker_address}

            sent = await client.ask(Q.SEND_MESSAGE_V2, send_fields("Orders", properties="TAGS\x01中文"), b"one")
            assert (sent.code, sent.ext_fields["queueOffset"]) == (R.SUCCESS, "0")

            assert (await names.ask(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders"})).code == R.SUCCESS, "routed with the answer"

            beat = await client.ask(Q.HEART_BEAT, body=consumer_heartbeat("me", Orders="*"))
            assert (beat.code, beat.version) == (R.SUCCESS, 479)
            push = client.came.pop(0)
            assert (push.code, push.is_oneway, push.serialize_type) == (Q.NOTIFY_CONSUMER_IDS_CHANGED, True, kind)
            members = await client.ask(Q.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "CG"})
            assert parse_object(members.body) == {"consumerIdList": ["me"]}
            start = await client.ask(Q.QUERY_CONSUMER_OFFSET, POSITION)
            assert start.ext_fields == {"offset": "0"}

            registered = {"sysFlag": 2, "subscription": "", "subVersion": 1}
            first = await client.ask(Q.PULL_MESSAGE, pull_fields("Orders") | registered)
            assert (first.code, bodies(first)) == (R.SUCCESS, [b"one"])
            held = client.tell(Q.PULL_MESSAGE, pull_fields("Orders", offset=1) | registered)
            await eventually(lambda: broker.held_pulls == 1)
            client.tell(Q.SEND_MESSAGE_V2, send_fields("Orders"), b"two", flag=2)
            woken = await client.take(lambda c: c.opaque == held)
            assert bodies(woken) == [b"two"]
            assert client.came == [], "a one-way send is not answered"

            client.tell(Q.UPDATE_CONSUMER_OFFSET, POSITION | {"commitOffset": 2}, flag=2)
            stored = await client.ask(Q.QUERY_CONSUMER_OFFSET, POSITION)
            assert stored.ext_fields == {"offset": "2"}
            _, offset = parse_offset_message_id(sent.ext_fields["msgId"])
            assert bodies(await client.ask(Q.VIEW_MESSAGE_BY_ID, {"offset": offset})) == [b"one"]
            assert (await client.ask(Q.UNREGISTER_CLIENT, {"clientID": "me", "consumerGroup": "CG"})).code == R.SUCCESS
            assert (await client.ask(9999)).remark == " request type 9999 not supported"

    asyncio.run(scenario())


@BOTH
def test_a_message_is_found_by_its_keys_over_the_wire(tmp_path, kind):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.broker_address, kind) as client:
            for number in (1, 2):
                properties = f"KEYS\x01a 键\x02UNIQ_KEY\x01U{number}"
                await client.ask(Q.SEND_MESSAGE_V2, send_fields("Orders", properties=properties), b"%d" % number)
            query = {"topic": "Orders", "maxNum": 64, "beginTimestamp": 0, "endTimestamp": (1 << 63) - 1}
            by_key = await client.ask(Q.QUERY_MESSAGE, query | {"key": "键", "_UNIQUE_KEY_QUERY": "false"})
            assert (by_key.code, bodies(by_key)) == (R.SUCCESS, [b"1", b"2"])
            by_id = await client.ask(Q.QUERY_MESSAGE, query | {"key": "U2", "_UNIQUE_KEY_QUERY": "true"})
            assert bodies(by_id) == [b"2"]
            nothing = await client.ask(Q.QUERY_MESSAGE, query | {"key": "U3", "_UNIQUE_KEY_QUERY": "true"})
            assert nothing.code == R.QUERY_NOT_FOUND

    asyncio.run(scenario())


def test_messages_topics_groups_offsets_and_config_items_survive_a_restart(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.broker_address) as client, raw(broker.name_server_address) as names:
            await client.ask(Q.SEND_MESSAGE_V2, send_fields("Orders"), b"one")
            await client.ask(Q.HEART_BEAT, body=consumer_heartbeat("me", Orders="*"))
            await client.ask(Q.UPDATE_CONSUMER_OFFSET, POSITION | {"commitOffset": 1})
            await names.ask(Q.PUT_KV_CONFIG, {"namespace": "N", "key": "k", "value": "v"})
            topics, groups = broker.topics.all(), broker.groups.all()
        assert not (tmp_path / "store" / "abort").exists()
        async with running(tmp_path) as broker, raw(broker.broker_address) as client, raw(broker.name_server_address) as names:
            assert (broker.topics.all(), broker.groups.all()) == (topics, groups)
            assert bodies(await client.ask(Q.PULL_MESSAGE, pull_fields("Orders"))) == [b"one"]
            stored = await client.ask(Q.QUERY_CONSUMER_OFFSET, POSITION)
            assert stored.ext_fields == {"offset": "1"}
            assert (await names.ask(Q.GET_KV_CONFIG, {"namespace": "N", "key": "k"})).ext_fields == {"value": "v"}
            sent = await client.ask(Q.SEND_MESSAGE_V2, send_fields("Orders"), b"two")
            assert sent.ext_fields["queueOffset"] == "1"

    asyncio.run(scenario())


def test_a_topic_whose_entry_was_lost_in_a_crash_comes_back_from_its_queues(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.broker_address) as client:
            await client.ask(Q.SEND_MESSAGE_V2, send_fields("Orders", 2), b"one")
        for name in ("topics.json", "topics.json.bak"):
            (tmp_path / "store" / "config" / name).unlink(missing_ok=True)
        async with running(tmp_path) as broker, raw(broker.broker_address) as client:
            assert broker.topics.get("Orders").write_queues == 3
            assert bodies(await client.ask(Q.PULL_MESSAGE, pull_fields("Orders", 2))) == [b"one"]

    asyncio.run(scenario())


def test_offsets_are_written_while_the_broker_runs(tmp_path):
    async def scenario():
        async with (
            running(tmp_path, flush_consumer_offset_interval_ms=1_000) as broker,
            raw(broker.broker_address) as client,
        ):
            await client.ask(Q.SEND_MESSAGE_V2, send_fields(), b"x")
            await client.ask(Q.UPDATE_CONSUMER_OFFSET, {"consumerGroup": "CG", "topic": "T", "queueId": 0, "commitOffset": 1})
            path = tmp_path / "store" / "config" / "consumerOffset.json"
            await eventually(path.exists)
            assert json.loads(path.read_text())["offsetTable"] == {"T@CG": {"0": 1}}

    asyncio.run(scenario())


def test_with_sync_flush_an_answer_means_on_disk(tmp_path):
    async def scenario():
        async with running(tmp_path, flush_disk_type="SYNC_FLUSH") as broker, raw(broker.broker_address) as client:
            opaques = [client.tell(Q.SEND_MESSAGE_V2, send_fields("Orders"), b"x" * 100) for _ in range(50)]
            for opaque in opaques:
                answer = await client.take(lambda c, opaque=opaque: c.opaque == opaque)
                assert answer.code == R.SUCCESS
                _, offset = parse_offset_message_id(answer.ext_fields["msgId"])
                assert broker.store.flushed_offset > offset
            assert broker.counters.put_latency.figures(asyncio.get_running_loop().time()) is not None

    asyncio.run(scenario())


def test_a_stop_answers_held_pulls_and_says_goodbye_to_the_name_server(tmp_path):
    async def scenario():
        broker = EmbeddedBroker(config_for(tmp_path))
        await broker.start()
        async with raw(broker.broker_address) as client:
            await client.ask(Q.SEND_MESSAGE_V2, send_fields("Orders"), b"one")
            client.tell(Q.PULL_MESSAGE, pull_fields("Orders", offset=1, sysFlag=6))
            await eventually(lambda: broker.held_pulls == 1)
            stopping = asyncio.create_task(broker.stop())
            answer = await client.take(lambda c: c.is_response)
            assert answer.code == R.PULL_NOT_FOUND
            await stopping
        assert broker.routes.topics() == []
        await broker.stop()

    asyncio.run(scenario())


def test_a_foreign_broker_may_register_beside_ours(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.name_server_address) as foreign:
            body = Registration(DataVersion(1, 1), {"TBW102": TopicConfig("TBW102", 8, 8, 7)}).to_bytes()
            identity = {"brokerName": "b", "brokerAddr": "10.0.0.9:1", "clusterName": "C", "brokerId": 0, "haServerAddr": ""}
            assert (await foreign.ask(Q.REGISTER_BROKER, identity, body)).code == R.SUCCESS
            route = parse_object((await foreign.ask(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})).body)
            assert [data["brokerName"] for data in route["queueDatas"]] == ["broker-a", "b"]

    asyncio.run(scenario())


def test_topics_made_in_one_turn_are_all_routed(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.broker_address) as client:
            opaques = [client.tell(Q.SEND_MESSAGE_V2, send_fields(f"T{n}"), b"x") for n in range(200)]
            for opaque in opaques:
                await client.take(lambda c, opaque=opaque: c.opaque == opaque)
            routes = broker.routes
            await eventually(lambda: {f"T{n}" for n in range(200)} <= set(routes.topics()))

    asyncio.run(scenario())


def test_a_topic_has_its_route_before_whoever_made_it_is_answered(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker:
            broker.topics.put(TopicConfig("Made", 3, 2))
            (queues,) = broker.routes.route("Made").queues
            assert (queues.broker_name, queues.read_queues, queues.write_queues) == ("broker-a", 3, 2)

    asyncio.run(scenario())


def test_the_broker_registers_again_when_its_name_server_connection_breaks(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker:

            def registering():
                return [connection for side, connection in broker.open_connections() if side == "name server"]

            (first,) = registering()
            first.abort("a test")
            await eventually(lambda: registering() and first not in registering())
            await eventually(lambda: "TBW102" in broker.routes.topics())

    asyncio.run(scenario())


@pytest.mark.parametrize("which", ["listen_port", "name_server_port"])
def test_a_port_in_use_is_named_and_nothing_stays_behind(tmp_path, which):
    async def scenario():
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(PortInUseError, match=str(port)):
                await EmbeddedBroker(config_for(tmp_path, **{which: port})).start()
        async with running(tmp_path, **{which: port}):
            pass

    asyncio.run(scenario())


def test_a_second_owner_of_the_store_is_refused_and_frees_its_ports(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker:
            second = EmbeddedBroker(config_for(tmp_path))
            with pytest.raises(StoreLockedError):
                await second.start()
            assert (await connect(broker.broker_address)).is_closed is False

    asyncio.run(scenario())


def test_a_broken_frame_ends_its_own_connection_only(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.broker_address) as good:
            async with raw(broker.broker_address) as bad:
                bad.writer.write(b"\x00\x00\x00\x08\x07\x00\x00\x01xxxx")
                assert await asyncio.wait_for(bad.reader.read(), 60) == b""
            assert (await good.ask(Q.SEND_MESSAGE_V2, send_fields(), b"x")).code == R.SUCCESS

    asyncio.run(scenario())


def test_the_console_sends_and_creates_by_the_same_checks(tmp_path):
    async def scenario():
        broker = EmbeddedBroker(config_for(tmp_path))
        await broker.start()
        try:
            await broker.create_topic("Orders", 2, 2, 6)
            receipt = await broker.put_from_console("Orders", 1, b"hello", {"TAGS": "a"})
            message = decode_record(broker.store.record_at(parse_offset_message_id(receipt.offset_message_id)[1]))
            assert (message.body, message.queue_id, receipt.queue_offset) == (b"hello", 1, 0)
            assert len(message.properties["UNIQ_KEY"]) == 32
            assert "Orders" in broker.topics
            for topic, queue_id, properties in (("Orders", 5, {}), ("Orders", 0, {"DELAY": "x"}), ("a b", 0, {})):
                with pytest.raises(RequestRefusedError):
                    await broker.put_from_console(topic, queue_id, b"x", properties)
            with pytest.raises(RequestRefusedError, match="illegal"):
                await broker.create_topic("a b", 1, 1, 6)
        finally:
            await broker.stop()
        with pytest.raises(RequestRefusedError, match="stopping"):
            await broker.put_from_console("Orders", 1, b"hello", {})

    asyncio.run(scenario())


def test_a_client_that_leaves_without_a_word_is_out_of_its_group(tmp_path):
    async def scenario():
        async with running(tmp_path) as broker, raw(broker.broker_address) as stays:
            async with raw(broker.broker_address) as leaves:
                await leaves.ask(Q.HEART_BEAT, body=consumer_heartbeat("leaves", T="*"))
                await stays.ask(Q.HEART_BEAT, body=consumer_heartbeat("stays", T="*"))
                stays.came.clear()
            push = await stays.take(lambda c: c.code == Q.NOTIFY_CONSUMER_IDS_CHANGED)
            assert push.ext_fields == {"consumerGroup": "CG"}
            assert broker.consumers.group("CG").client_ids == ["stays"]

    asyncio.run(scenario())


def test_a_start_that_is_cancelled_in_mid_recovery_leaves_the_store_closed(tmp_path, monkeypatch):
    opens, recovered, open_store = threading.Event(), threading.Event(), MessageStore.open

    def slow_open(*args, **options):
        opens.set()
        recovered.wait(60)
        return open_store(*args, **options)

    async def scenario():
        broker = EmbeddedBroker(config_for(tmp_path))
        with monkeypatch.context() as patch:
            patch.setattr(MessageStore, "open", slow_open)
            starting = asyncio.create_task(broker.start())
            await eventually(opens.is_set)
        starting.cancel()
        recovered.set()
        with pytest.raises(asyncio.CancelledError):
            await starting
        async with running(tmp_path):
            pass

    asyncio.run(scenario())

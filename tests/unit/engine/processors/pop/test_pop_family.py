"""The whole broker over loopback: what pops keep over a stop and a start."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import LanguageCode, RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.clock import ManualClock
from tests.support.pop_bench import handle_fields, pop_fields, popped
from tests.support.remoting_peer import eventually


class Client:
    def __init__(self, connection, clock):
        self.connection, self.clock = connection, clock

    async def ask(self, code, fields=None, body=b""):
        ext = {name: str(value) for name, value in (fields or {}).items()}
        command = RemotingCommand(code, ext, body, language=LanguageCode.JAVA)
        return await self.connection.request(command, 20_000)

    async def send(self, body, queue_id=0):
        response = await self.ask(RequestCode.SEND_MESSAGE_V2, send_fields("T", queue_id), body)
        assert response.code == ResponseCode.SUCCESS, response.remark

    async def pop(self, **more):
        response = await self.ask(RequestCode.POP_MESSAGE, pop_fields(self.clock(), **more))
        response.body_slices = _records(bytes(response.body))
        return popped(response, "T")


def _records(body):
    position, found = 0, []
    while position < len(body):
        size = int.from_bytes(body[position : position + 4], "big")
        found.append(body[position : position + size])
        position += size
    return found


@asynccontextmanager
async def running(root, clock, **settings):
    store = StoreConfig(root=root / "store", **SMALL_FILES)
    broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store, **settings), clock=clock)
    await broker.start()
    connection = await connect(broker.broker_address)
    try:
        yield Client(connection, clock)
    finally:
        connection.close()
        await connection.wait_closed()
        await broker.stop()


def config_of(root, name):
    return json.loads((root / "store" / "config" / name).read_text())


def test_a_stop_and_a_start_keep_what_is_out(tmp_path):
    clock = ManualClock(time.time_ns() // 1_000_000)

    async def scenario():
        async with running(tmp_path, clock) as client:
            for number in range(3):
                await client.send(b"%d" % number)
            messages = await client.pop(queueId=0)
            assert [message.body for message in messages] == [b"0", b"1", b"2"]
            await client.ask(RequestCode.ACK_MESSAGE, handle_fields(messages[1], "CG", "T"))
        offsets = config_of(tmp_path, "consumerOffset.json")["offsetTable"]
        assert offsets["T@CG"] == {"0": 3}
        assert "rmq_sys_REVIVE_LOG_DefaultCluster" in config_of(tmp_path, "topics.json")["topicConfigTable"]
        async with running(tmp_path, clock) as client:
            assert await client.pop(queueId=0) == []
            clock.advance(10_000)
            # Each is given out inside of the put that brings it again.
            first = await client.pop(pollTime=15_000)
            second = [] if len(first) == 2 else await client.pop(pollTime=15_000)
            assert sorted(message.body for message in first + second) == [b"0", b"2"]

    asyncio.run(scenario())


def test_orderly_pops_and_modes_are_kept(tmp_path):
    clock = ManualClock(time.time_ns() // 1_000_000)
    mode = {"topic": "T", "consumerGroup": "CG", "mode": "POP", "popShareQueueNum": 0}

    async def scenario():
        async with running(tmp_path, clock) as client:
            await client.send(b"one")
            assert len(await client.pop(order="true", attemptId="a", queueId=0)) == 1
            response = await client.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=emit(mode))
            assert response.code == ResponseCode.SUCCESS
        assert config_of(tmp_path, "messageRequestMode.json")["messageRequestModeMap"]["T"]["CG"] == mode
        assert config_of(tmp_path, "consumerOrderInfo.json")["table"]["T@CG"]["0"]["o"] == [0]
        async with running(tmp_path, clock) as client:
            assert await client.pop(order="true", attemptId="b", queueId=0) == []
            assert len(await client.pop(order="true", attemptId="a", queueId=0)) == 1

    asyncio.run(scenario())


def test_the_offset_file_follows_within_seconds(tmp_path):
    clock = ManualClock(time.time_ns() // 1_000_000)

    async def scenario():
        async with running(tmp_path, clock, flush_consumer_offset_interval_ms=1_000) as client:
            await client.send(b"one")
            assert len(await client.pop(queueId=0)) == 1

            def written():
                clock.advance(100)
                path = tmp_path / "store" / "config" / "consumerOffset.json"
                return path.exists() and '"0":1' in path.read_text().replace("\n", "").replace("\t", "")

            await eventually(written, seconds=30)

    asyncio.run(scenario())


def test_held_pops_are_answered_when_the_broker_stops(tmp_path):
    clock = ManualClock(time.time_ns() // 1_000_000)

    async def stopped():
        store = StoreConfig(root=tmp_path / "other", **SMALL_FILES)
        broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store), clock=clock)
        await broker.start()
        connection = await connect(broker.broker_address)
        client = Client(connection, clock)
        await client.send(b"one")
        held = asyncio.create_task(client.ask(RequestCode.POP_MESSAGE, pop_fields(clock(), pollTime=15_000, queueId=1)))
        fields = {"consumerGroup": "CG", "topic": "T", "queueId": 1}
        await asyncio.sleep(0)  # the pop goes first
        assert (await client.ask(RequestCode.POLLING_INFO, fields)).ext_fields == {"pollingNum": "1"}
        await broker.stop()
        assert (await held).code == ResponseCode.POLLING_TIMEOUT
        await connection.wait_closed()

    asyncio.run(stopped())

"""Delay levels of a whole broker: over loopback, with what tools ask."""

import asyncio
import json
from contextlib import asynccontextmanager

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.message.record import decode_record
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, pull_fields, send_fields


def config_for(root):
    store = StoreConfig(root=root, message_delay_level="1s 1h", **SMALL_FILES)
    return BrokerConfig(listen_port=0, name_server_port=0, store=store)


@asynccontextmanager
async def running(root):
    broker = EmbeddedBroker(config_for(root))
    await broker.start()
    connection = await connect(broker.broker_address)
    try:
        yield broker, lambda code, fields, body=b"": ask(connection, code, fields, body)
    finally:
        connection.close()
        await broker.stop()


async def ask(connection, code, fields, body):
    ext = {name: str(value) for name, value in fields.items()}
    return await connection.request(RemotingCommand(code, ext, body), 30_000)


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario(), 90))


def test_a_held_pull_gets_a_delayed_message_when_it_is_due(tmp_path):
    async def scenario():
        async with running(tmp_path) as (broker, request):
            assert (await request(Q.GET_ALL_DELAY_OFFSET, {})).remark == "No delay offset in this broker"
            sent = await request(Q.SEND_MESSAGE_V2, send_fields(properties="TAGS\x01a\x02DELAY\x011"), b"later")
            assert (sent.code, sent.ext_fields["queueId"]) == (R.SUCCESS, "0")
            await request(Q.SEND_MESSAGE_V2, send_fields(properties="TAGS\x01a\x02DELAY\x012"), b"in an hour")
            subscription = {"subscription": "a", "sysFlag": 6, "suspendTimeoutMillis": 30_000}
            pulled = await request(Q.PULL_MESSAGE, pull_fields(**subscription))
            message = decode_record(pulled.body)
            assert (pulled.code, message.body, message.properties["DELAY"]) == (R.SUCCESS, b"later", "1")
            (waiting,) = broker.store.queue_units("SCHEDULE_TOPIC_XXXX", 0, 0, 1)
            assert message.store_timestamp_ms >= waiting.tags_code
            offsets = await request(Q.GET_ALL_DELAY_OFFSET, {})
            assert offsets.body == b'{"offsetTable":{1:1,2:0}}'
            table = parse_object((await request(Q.GET_BROKER_RUNTIME_INFO, {})).body)["table"]
            assert (table["scheduleMessageOffset_1"], table["scheduleMessageOffset_2"]) == ("1,1", "0,1")
        written = json.loads((tmp_path / "config" / "delayOffset.json").read_text("utf-8"))
        assert written == {"offsetTable": {"1": 1, "2": 0}}

    run(scenario)


def test_a_message_given_back_comes_again_in_the_retry_topic(tmp_path):
    async def scenario():
        async with running(tmp_path) as (broker, request):
            await request(Q.SEND_MESSAGE_V2, send_fields(), b"bad")
            fields = {"group": "CG", "offset": 0, "delayLevel": 1, "originTopic": "T"}
            assert (await request(Q.CONSUMER_SEND_MSG_BACK, fields)).code == R.SUCCESS
            pulled = await request(
                Q.PULL_MESSAGE, pull_fields("%RETRY%CG", sysFlag=6, suspendTimeoutMillis=30_000, subscription="*")
            )
            message = decode_record(pulled.body)
            assert (message.body, message.reconsume_times, message.properties["RETRY_TOPIC"]) == (b"bad", 1, "T")
            assert broker.counters.topics["%RETRY%CG"].put_messages == 1

    run(scenario)

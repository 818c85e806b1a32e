"""Ways in that other message brokers had, each tried here."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import FrameDecoder, RemotingCommand, encode_command
from broker_core.protocol.json_body import emit
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, consumer_heartbeat, pull_fields, send_fields

OUTSIDE = [
    "../../../../escape",
    "..",
    ".",
    "/tmp/escape",
    "a/../../escape",
    "..\\escape",
    "a\0b",
    "%RETRY%../../escape",
    "~root",
]


@asynccontextmanager
async def running(root):
    store = StoreConfig(root=root / "inside" / "store", **SMALL_FILES)
    broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=store))
    await broker.start()
    client = await connect(broker.broker_address)
    names = await connect(broker.name_server_address)
    try:
        yield broker, client, names
    finally:
        client.close()
        names.close()
        await broker.stop()


def texts(fields):
    return {name: str(value) for name, value in fields.items()}


async def ask(connection, code, fields=None, body=b""):
    return await connection.request(RemotingCommand(code, texts(fields or {}), body), 20_000)


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_of_a_topic_or_group_leaves_the_store(tmp_path, name):
    async def run():
        async with running(tmp_path) as (broker, client, names):
            made = {
                "defaultTopic": "TBW102",
                "readQueueNums": 1,
                "writeQueueNums": 1,
                "perm": 6,
                "topicFilterType": "SINGLE_TAG",
            }
            created = await ask(client, Q.UPDATE_AND_CREATE_TOPIC, {**made, "topic": name})
            assert created.code != R.SUCCESS
            assert (await ask(client, Q.SEND_MESSAGE_V2, send_fields(name), b"x")).code != R.SUCCESS
            assert (await ask(client, Q.PULL_MESSAGE, pull_fields(name))).code != R.SUCCESS
            beat = RemotingCommand(Q.HEART_BEAT, {}, _json(consumer_heartbeat("me", Orders="*"), name))
            await client.request(beat, 20_000)
            for code in (Q.DELETE_TOPIC_IN_BROKER, Q.GET_TOPIC_STATS_INFO, Q.GET_MIN_OFFSET):
                await ask(client, code, {"topic": name, "queueId": 0})
            await ask(names, Q.PUT_KV_CONFIG, {"namespace": name, "key": name, "value": "x"})
            assert name not in broker.topics
            assert name not in broker.groups.all()

    asyncio.run(run())
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert not [path for path in tmp_path.rglob("*") if "escape" in path.name]


def _json(heartbeat, group):

    for consumer in heartbeat["consumerDataSet"]:
        consumer["groupName"] = group
    return emit(heartbeat)


HOSTILE_SETTINGS = {
    "rocketmqHome": "-c $@|sh . echo touch escape;",
    "filterServerNums": "1",
    "brokerConfigPath": "/tmp/escape",
    "configStorePath": "/tmp/escape",
    "kvConfigPath": "/tmp/escape",
    "configBlackList": "",
    "storePathRootDir": "/tmp/escape",
    "storePathCommitLog": "/tmp/escape",
    "aclFile": "/tmp/escape",
    "aclEnable": "false",
    "tls.server.mode": "disabled",
    "tls.server.certPath": "/tmp/escape",
    "tls.server.keyPassword": "x",
    "bindAddress": "0.0.0.0",
    "allowInsecureBind": "true",
    "listenPort": "1",
    "namesrvAddr": "203.0.113.1:9876",
    "brokerIP1": "203.0.113.1",
    "messageStorePlugIn": "java.lang.Runtime",
    "transactionCheckListenerClass": "os.system",
}


@pytest.mark.parametrize("key", HOSTILE_SETTINGS)
def test_no_path_address_class_or_guard_is_set_over_the_wire(tmp_path, key):
    async def run():
        async with running(tmp_path) as (_, client, names):
            line = f"{key}={HOSTILE_SETTINGS[key]}\n".encode()
            before = bytes((await ask(client, Q.GET_BROKER_CONFIG)).body)
            assert (await ask(client, Q.UPDATE_BROKER_CONFIG, body=line)).code != R.SUCCESS
            assert (
                await ask(client, Q.UPDATE_BROKER_CONFIG, body=b"flushConsumerOffsetInterval=6000\n" + line)
            ).code != R.SUCCESS
            assert (await ask(names, Q.UPDATE_NAMESRV_CONFIG, body=line)).code != R.SUCCESS
            assert bytes((await ask(client, Q.GET_BROKER_CONFIG)).body) == before, "nothing of a refused update is taken over"

    asyncio.run(run())


def test_a_header_with_thousands_of_fields_is_refused(caplog):
    for fields in (257, 4000):
        frame = encode_command(RemotingCommand(1, {f"f{number}": "" for number in range(fields)}))
        with pytest.raises(Exception, match="more than the 256 allowed"):
            list(FrameDecoder().feed(frame))

"""Anything at all is sent to a running broker and name server: both go on serving, nothing grows, no file appears outside."""

import asyncio
import gc
import json
import logging
import os
import random
import struct
import zlib

import psutil
import pytest

from broker_core.config import BrokerConfig, RemotingLimits, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, send_fields

MIB = 1 << 20
TEXTS = [
    "", " ", "0", "1", "-1", "2147483648", "9223372036854775807", "-9223372036854775808", "1e9", "NaN", "true", "null",
    "T", "Orders", "../../escape", "..", "/etc/passwd", "a/b", "a\\b", "a\0b", "%RETRY%", "%RETRY%../x", "%DLQ%g", "TBW102",
    "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer", "x" * 128, "y" * 9000, "中文", "🚀",
    "KEYS\x01k\x02TAGS\x01t\x02", "DELAY\x0199\x02", "TRAN_MSG\x01true\x02PGROUP\x01p\x02", "TIMER_DELAY_MS\x0110\x02",
    "UNIQ_KEY\x01\x02", "\x01\x02\x01", "a is not null", "((((", "a" * 200 + " > 1", "*", "A||B", "SQL92", "TAG",
]  # fmt: skip
FIELDS = [
    "topic", "queueId", "consumerGroup", "group", "producerGroup", "defaultTopic", "defaultTopicQueueNums", "sysFlag",
    "bornTimestamp", "flag", "properties", "reconsumeTimes", "batch", "queueOffset", "maxMsgNums", "commitOffset",
    "suspendTimeoutMillis", "subscription", "subVersion", "expressionType", "offset", "timestamp", "key", "maxNum",
    "beginTimestamp", "endTimestamp", "delayLevel", "originTopic", "originMsgId", "commitLogOffset", "tranStateTableOffset",
    "commitOrRollback", "msgId", "clientId", "clientID", "isForce", "namespace", "value", "brokerName", "brokerAddr",
    "clusterName", "brokerId", "bodyCrc32", "compressed", "readQueueNums", "writeQueueNums", "perm", "topicFilterType",
    "topicSysFlag", "order", "popTime", "invisibleTime", "pollTime", "bornTime", "initMode", "extraInfo", "exp", "expType",
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "statsName", "statsKey", "srcGroup", "destGroup",
    "offline", "index", "count", "recallHandle",
]  # fmt: skip
UNSAFE_HERE = {Q.UPDATE_BROKER_CONFIG, Q.WIPE_WRITE_PERM_OF_BROKER}
"""What an administrator may do, and what would rightly stop the sends that the test makes in between."""


class Fuzz:
    """Frames that are right in some layers and wrong in others."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.codes = [int(code) for code in Q if code not in UNSAFE_HERE]

    def frames(self):
        choose = self.random.random()
        if choose < 0.1:
            return self.random.randbytes(self.random.randrange(1, 300))
        data = b"".join(self.frame() for _ in range(self.random.randrange(1, 6)))
        if choose < 0.35:
            broken = bytearray(data)
            for _ in range(self.random.randrange(1, 8)):
                broken[self.random.randrange(len(broken))] = self.random.randrange(256)
            return bytes(broken)
        return data[: self.random.randrange(1, len(data) + 1)] if choose < 0.45 else data

    def frame(self):
        code = self.random.choice(self.codes) if self.random.random() < 0.9 else self.random.randrange(0, 70_000)
        kind = self.random.choice(list(SerializeType)) if code < 32_768 else SerializeType.JSON
        names = self.random.sample(FIELDS, self.random.randrange(0, 30))
        fields = {name: self.text() for name in names}
        if code in (Q.UPDATE_AND_CREATE_TOPIC, Q.DELETE_TOPIC_IN_BROKER) and self.random.random() < 0.5:
            fields["topic"] = self.random.choice(["fuzz", "../../escape", "a/../../b"])
        command = RemotingCommand(code, fields, self.body(), flag=self.random.choice([0, 0, 0, 2]), serialize_type=kind)
        return encode_command(command)

    def text(self):
        return self.random.choice(TEXTS) if self.random.random() < 0.7 else str(self.random.randrange(-5, 5))

    def body(self):
        choose = self.random.randrange(6)
        if choose == 0:
            return b""
        if choose == 1:
            return self.random.randbytes(self.random.randrange(0, 2000))
        if choose == 2:
            return zlib.compress(self.random.randbytes(100))
        if choose == 3:
            return struct.pack(">iiii", self.random.randrange(-9, 90), 0, 0, 0) + self.random.randbytes(60)
        if choose == 4:
            return b"[" * self.random.choice([10, 100_000])
        return json.dumps(self.value(3)).encode()

    def value(self, depth):
        choose = self.random.randrange(7 if depth else 4)
        if choose < 3:
            return self.text()
        if choose == 3:
            return self.random.choice([None, True, False, 0, -1, 1 << 70, 1.5])
        if choose == 4:
            return [self.value(depth - 1) for _ in range(self.random.randrange(4))]
        names = [*self.random.sample(FIELDS, 5), "consumerDataSet", "groupName", "subscriptionDataSet", "mqSet", "offsetTable"]
        return {name: self.value(depth - 1) for name in self.random.sample(names, self.random.randrange(6))}


async def _throw(address, data):
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(data)
        writer.write_eof()
        while await asyncio.wait_for(reader.read(1 << 20), 60):
            pass
    except ConnectionError:
        pass
    finally:
        writer.close()


def _resident():
    gc.collect()
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(4_000, marks=pytest.mark.timeout(600)),
        pytest.param(60_000, marks=[pytest.mark.slow, pytest.mark.timeout(3_000)]),
    ],
)
def test_whatever_comes_a_normal_send_works_and_memory_is_flat(tmp_path, rounds, caplog):
    seed = int(os.environ.get("ORBIT_FUZZ_SEED", "20240611"))
    fuzz = Fuzz(seed)
    caplog.set_level(logging.ERROR)
    store = StoreConfig(root=tmp_path / "inside" / "store", **SMALL_FILES)
    config = BrokerConfig(listen_port=0, name_server_port=0, store=store)
    wanted = {name: str(value) for name, value in send_fields("Healthy").items()}

    async def run():
        broker = EmbeddedBroker(config, limits=RemotingLimits())
        await broker.start()
        healthy = await connect(broker.broker_address)
        names = await connect(broker.name_server_address)
        warm = 0
        for number in range(rounds):
            address = broker.name_server_address if number % 4 == 0 else broker.broker_address
            data = fuzz.frames()
            try:
                await _throw(address, data)
                answer = await healthy.request(RemotingCommand(Q.SEND_MESSAGE_V2, dict(wanted), b"still here"), 20_000)
                assert answer.code == R.SUCCESS, answer.remark
                route = await names.request(RemotingCommand(Q.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}), 20_000)
                assert route.code == R.SUCCESS, route.remark
                assert not caplog.records, "a request met a fault of ours"
            except BaseException:
                print(f"seed {seed}, round {number}, {data[:4000]!r}")
                raise
            if number == rounds // 2:
                warm = _resident()
        grown = _resident() - warm
        assert broker.connections == 1
        healthy.close()
        names.close()
        await broker.stop()
        return grown

    assert asyncio.run(run()) < 24 * MIB
    assert {path.name for path in tmp_path.iterdir()} == {"inside"}
    assert {path.name for path in (tmp_path / "inside").iterdir()} == {"store"}
    assert not [path for path in tmp_path.rglob("*") if "escape" in path.name or "passwd" in path.name]

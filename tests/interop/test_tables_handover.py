"""Topics, groups, offsets and filters of a store, handed over to a real RocketMQ and back."""

import asyncio
import json

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit, parse_object
from broker_core.transport.client import connect
from tests.support.broker_bench import consumer_heartbeat, send_fields
from tests.support.real_broker import RealBroker

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(400)]

VERSIONS = ["4.9.4", "5.3.3"]
SETTINGS = {"mappedFileSizeCommitLog": "67108864", "enablePropertyFilter": "true"}
SQL = "price > 10 AND TAGS IS NOT NULL"


class Asked:
    """A broker, asked over one connection."""

    def __init__(self, connection):
        self._connection = connection

    async def ask(self, code, fields=None, body=b""):
        ext = {name: str(value) for name, value in (fields or {}).items()}
        data = body if isinstance(body, bytes) else emit(body)
        answer = await self._connection.request(RemotingCommand(code, ext, data), 20_000)
        assert answer.code == R.SUCCESS, (code, answer.remark)
        return answer

    async def fill(self, suffix):
        """A topic, a group with settings of its own, its offsets, and a filter of another group."""
        topic, group = f"Topic{suffix}", f"Group{suffix}"
        config = {
            "topic": topic, "defaultTopic": "TBW102", "readQueueNums": 3, "writeQueueNums": 2, "perm": 6,
            "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": "false",
        }  # fmt: skip
        await self.ask(Q.UPDATE_AND_CREATE_TOPIC, config)
        rules = {"consumeEnable": False, "consumeBroadcastEnable": True, "retryQueueNums": 2, "retryMaxTimes": 5}
        await self.ask(Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, {"groupName": group, **rules})
        for queue_id in range(2):
            for _ in range(queue_id + 1):
                await self.ask(Q.SEND_MESSAGE_V2, send_fields(topic, queue_id), b"consumed")
            place = {"consumerGroup": group, "topic": topic, "queueId": queue_id, "commitOffset": queue_id + 1}
            await self.ask(Q.UPDATE_CONSUMER_OFFSET, place)
        heartbeat = consumer_heartbeat("client", f"Filter{suffix}", **{topic: (SQL, 7, "SQL92")})
        await self.ask(Q.HEART_BEAT, {}, heartbeat)

    async def tables(self, suffix):
        """What it says of them: the fields that all versions have."""
        topics = parse_object((await self.ask(Q.GET_ALL_TOPIC_CONFIG)).body)["topicConfigTable"]
        groups = parse_object((await self.ask(Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)).body)["subscriptionGroupTable"]
        offsets = parse_object((await self.ask(Q.GET_ALL_CONSUMER_OFFSET)).body)["offsetTable"]
        topic, group = topics[f"Topic{suffix}"], groups[f"Group{suffix}"]
        return (
            [topic[name] for name in ("topicName", "readQueueNums", "writeQueueNums", "perm", "topicFilterType", "order")],
            [
                group[name]
                for name in ("groupName", "consumeEnable", "consumeBroadcastEnable", "retryQueueNums", "retryMaxTimes")
            ],
            {int(queue_id): offset for queue_id, offset in offsets[f"Topic{suffix}@Group{suffix}"].items()},
        )


EXPECTED = {
    suffix: (
        [f"Topic{suffix}", 3, 2, 6, "SINGLE_TAG", False],
        [f"Group{suffix}", False, True, 2, 5],
        {0: 1, 1: 2},
    )
    for suffix in "AB"
}


async def asked(address, *, fill, look):
    connection = await connect(address)
    broker = Asked(connection)
    for suffix in fill:
        await broker.fill(suffix)
    found = {suffix: await broker.tables(suffix) for suffix in look}
    connection.close()
    await connection.wait_closed()
    return found


async def served_by_ours(root, *, fill, look):
    store = StoreConfig(root=root, commit_log_file_bytes=64 << 20)
    broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, property_filter=True, store=store))
    await broker.start()
    found = await asked(broker.broker_address, fill=fill, look=look)
    await broker.stop()
    return found


def filters(root):
    """Expressions that the store keeps, by group."""
    topics = json.loads((root / "config" / "consumerFilter.json").read_text())["filterDataByTopic"]
    return {group: data["expression"] for topic in topics.values() for group, data in topic["groupFilterData"].items()}


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_are_handed_over_both_ways(tmp_path, version):
    root = tmp_path / "store"
    assert asyncio.run(served_by_ours(root, fill="A", look="A")) == {"A": EXPECTED["A"]}
    assert filters(root) == {"FilterA": SQL}

    real = RealBroker(version, tmp_path, SETTINGS)
    real.start()
    try:
        assert asyncio.run(asked(real.address, fill="B", look="AB")) == EXPECTED
    finally:
        real.stop()
    assert filters(root) == {"FilterA": SQL, "FilterB": SQL}, "it has read ours and written both"

    assert asyncio.run(served_by_ours(root, fill="", look="AB")) == EXPECTED
    assert filters(root) == {"FilterA": SQL, "FilterB": SQL}

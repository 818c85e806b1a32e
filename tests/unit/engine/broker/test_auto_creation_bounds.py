"""Topics and groups that clients make by using them: many, and not without end."""

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import parse_object
from broker_core.transport.client import connect
from tests.support.broker_bench import SMALL_FILES, RecordingPeer, consumer_heartbeat, pull_fields, send_fields

PEER = RecordingPeer()
THOUSAND = 1_000


def limit(bench, **left):
    """So many more topics or groups may be made."""
    counts = {"Topics": len(bench.state.topics), "Groups": len(bench.state.groups.all())}
    text = "".join(f"orbitAutoCreate{what}Max={counts[what] + count}\n" for what, count in left.items())
    assert bench.answer(PEER, Q.UPDATE_BROKER_CONFIG, body=text.encode()).code == R.SUCCESS


@pytest.mark.parametrize("prefix", ["any", "%RETRY%any", "%DLQ%any"])
def test_sends_make_topics_up_to_the_bound(bench, prefix):
    limit(bench, Topics=1)
    known = f"{prefix}0"
    assert bench.put(known).code == R.SUCCESS
    refused = bench.put(f"{prefix}1")
    assert (refused.code, "orbitAutoCreateTopicsMax" in refused.remark) == (R.TOPIC_NOT_EXIST, True)
    assert f"has {len(bench.state.topics)} topics" in refused.remark
    assert bench.put(known).code == R.SUCCESS, "what is there is served as before"
    bench.state.topics.put(TopicConfig(f"{prefix}1", 1, 1))
    assert bench.put(f"{prefix}1").code == R.SUCCESS, "an administrator makes more"


def test_heartbeats_and_pulls_make_groups_up_to_the_bound(bench):
    bench.state.topics.ensure("T", queues=1)
    limit(bench, Groups=1)
    assert bench.answer(PEER, Q.HEART_BEAT, body=consumer_heartbeat("c", "one", T="*")).code == R.SUCCESS
    refused = bench.answer(PEER, Q.HEART_BEAT, body=consumer_heartbeat("c", "two", T="*"))
    assert (refused.code, "orbitAutoCreateGroupsMax" in refused.remark) == (R.SUBSCRIPTION_GROUP_NOT_EXIST, True)
    assert "%RETRY%two" not in bench.state.topics
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(consumerGroup="two")).code == R.SUBSCRIPTION_GROUP_NOT_EXIST


def test_a_thousand_topics_are_routed_and_come_back_after_a_restart(tmp_path):
    names = {f"T{number}" for number in range(THOUSAND)}
    store = StoreConfig(root=tmp_path, **SMALL_FILES)
    # All are sent at once: how long they wait is not what is asked here.
    config = BrokerConfig(listen_port=0, name_server_port=0, send_wait_max_ms=600_000, store=store)

    async def ask(connection, code, fields=None, body=b""):
        ext = {name: str(value) for name, value in (fields or {}).items()}
        answer = await connection.request(RemotingCommand(code, ext, body), 30_000)
        assert answer.code == R.SUCCESS, answer.remark
        return answer

    async def look(*, send):
        broker = EmbeddedBroker(config)
        await broker.start()
        try:
            client, server = await connect(broker.broker_address), await connect(broker.name_server_address)
            if send:
                await asyncio.gather(*(ask(client, Q.SEND_MESSAGE_V2, send_fields(name), name.encode()) for name in names))
            listed = parse_object((await ask(server, Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)).body)["topicList"]
            for name in ("T0", f"T{THOUSAND - 1}"):
                await ask(server, Q.GET_ROUTEINFO_BY_TOPIC, {"topic": name})
                found = await ask(client, Q.PULL_MESSAGE, pull_fields(name))
                assert name.encode() in bytes(found.body)
            client.close()
            server.close()
        finally:
            await broker.stop()
        return names <= set(listed)

    assert asyncio.run(look(send=True))
    assert asyncio.run(look(send=False))

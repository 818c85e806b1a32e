"""A real broker that registers at our name server, beside ours; on demand."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit, parse_object
from broker_core.transport.client import connect
from tests.support.broker_process import running_broker
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]


TABLES = {
    Q.GET_ALL_TOPIC_CONFIG: "topicConfigTable",
    Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: "subscriptionGroupTable",
    Q.GET_ALL_CONSUMER_OFFSET: "offsetTable",
}


async def asked(address, code, **fields):
    connection = await connect(address)
    try:
        return await connection.request(RemotingCommand(code, fields), 10_000)
    finally:
        connection.close()


# With compressedRegister=true, 5.3.3 does not get to register anywhere, its own name server included.
@pytest.mark.parametrize(("version", "compressed"), [("4.9.4", "false"), ("4.9.4", "true"), ("5.3.3", "false")])
def test_it_is_in_the_routes_beside_ours_until_it_stops(tmp_path, version, compressed):
    with running_broker(tmp_path / "store") as ours:

        async def names():
            answer = await asked(ours.name_server, Q.GET_BROKER_CLUSTER_INFO)
            return set(parse_object(answer.body)["brokerAddrTable"])

        async def route(topic):
            answer = await asked(ours.name_server, Q.GET_ROUTEINFO_BY_TOPIC, topic=topic)
            found = parse_object(answer.body) if answer.code == R.SUCCESS else {"brokerDatas": []}
            return {broker["brokerName"] for broker in found["brokerDatas"]}

        async def told(wanted, question):
            async def matches():
                return await question() == wanted

            await eventually_answers(matches, seconds=60)

        async def beside(address):
            await told({"broker-a", "broker-real"}, names)
            await told({"broker-a", "broker-real"}, lambda: route("TBW102"))
            made = {"topic": "Made", "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6"}
            made |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
            assert (await asked(address, Q.UPDATE_AND_CREATE_TOPIC, **made)).code == R.SUCCESS
            await told({"broker-real"}, lambda: route("Made"))
            async with Producer(ours.name_server) as producer:
                receipt = await producer.send(Message("Made", b"over our name server"))
            assert receipt.queue.broker_name == "broker-real"

        settings = {"namesrvAddr": ours.name_server, "brokerName": "broker-real", "compressedRegister": compressed}
        with running_peer(version, tmp_path / "peer", **settings) as peer:
            asyncio.run(beside(peer.address))

        async def gone():
            await told({"broker-a"}, names)
            await told(set(), lambda: route("Made"))

        asyncio.run(gone())


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_it_reads_the_tables_that_ours_wrote(tmp_path, version):
    """Topics, groups and offsets of our broker are a real broker's when it takes the directory over."""

    async def fill(address):
        connection = await connect(address)
        made = {"topic": "Made", "defaultTopic": "TBW102", "readQueueNums": "3", "writeQueueNums": "2", "perm": "6"}
        made |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "true"}
        group = {"groupName": "CG", "retryQueueNums": 2, "retryMaxTimes": 7, "consumeEnable": False}
        place = {"consumerGroup": "CG", "topic": "Made", "queueId": "1"}
        for code, fields, body in (
            (Q.UPDATE_AND_CREATE_TOPIC, made, b""),
            (Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, emit(group)),
            (Q.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": "5"}, b""),
        ):
            assert (await connection.request(RemotingCommand(code, fields, body), 10_000)).code == R.SUCCESS
        connection.close()

    async def read(address):
        bodies = [parse_object((await asked(address, code)).body) for code in TABLES]
        return [body[name] for body, name in zip(bodies, TABLES.values(), strict=True)]

    with running_broker(tmp_path / "peer" / "store") as ours:
        asyncio.run(fill(ours.broker))
        before = asyncio.run(read(ours.broker))
    with running_peer(version, tmp_path / "peer") as peer:
        topics, groups, offsets = asyncio.run(read(peer.address))
    assert _covers(topics["Made"], before[0]["Made"])
    assert _covers(groups["CG"], before[1]["CG"])
    assert offsets["Made@CG"] == {"1": 5}
    with running_broker(tmp_path / "peer" / "store") as ours:
        after = asyncio.run(read(ours.broker))
    assert _covers(after[1]["CG"], before[1]["CG"])
    assert after[2]["Made@CG"] == {"1": 5}


def _covers(found, wanted):
    return {key: found.get(key) for key in wanted} == wanted

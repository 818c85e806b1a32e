"""Answers of a name server and a broker that mean no good: whatever asks gets an error that is documented, or a result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.atomic_producer import AtomicProducer
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.pull_consumer import PullConsumer
from broker_core.cluster.access import ClusterAccess
from broker_core.errors import OrbitError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress
from broker_core.tools.doctor import Doctor
from broker_core.worker.commands.cluster import _look
from tests.support.hostile_texts import DIGITS
from tests.support.pop_consumer import PopConsumer
from tests.support.remoting_peer import BROKER, Peer

QUEUE = MessageQueue("T", BROKER, 0)
FIELDS = (
    "offset", "nextBeginOffset", "minOffset", "maxOffset", "queueId", "queueOffset", "msgId", "popTime", "invisibleTime",
    "reviveQid", "startOffsetInfo", "msgOffsetInfo", "orderCountInfo", "restNum", "indexLastUpdateTimestamp", "pid", "epoch",
    "transactionId", "regionId", "version", "timestamp", "extraInfo",
)  # fmt: skip
TEXTS = ("", DIGITS, "²", "-1", "1e400", "NaN", "9" * 18, "0 0 0;1 2", "0 qo0%1 9;;", "\ud800", "x y z;", "0 -1 " + DIGITS)
KEY = '{"brokerName":"broker-a","queueId":0,"topic":"T"}'
BODIES = (
    b"", b"\xff\xfe", b"null", b"[]", b"1e400", DIGITS.encode(), b"[" * 3_000, b'{"a":' * 3_000, b"\0" * 200,
    (2**31 - 1).to_bytes(4, "big") + bytes(100),
    *(emit({name: value}) for value in (None, 1, "x", [1], {"a": 1}, {"0": {"a": 1}}) for name in (
        "offsetTable", "topicList", "groupList", "connectionSet", "subscriptionTable", "table", "topicConfigTable",
        "subscriptionGroupTable", "consumerIdList", "queueData", "statsTable", "mqTable", "properties", "data")),
    *(f'{{"{name}":{{{json.dumps(KEY)}:{value}}}}}'.encode() for name in ("offsetTable", "mqTable") for value in (
        "1e400", f'"{DIGITS}"', "{}", '{"minOffset":1e400,"maxOffset":"²"}', '{"brokerOffset":1e400,"consumerOffset":[]}')),
)  # fmt: skip
ROUTES = (
    b"{}", b"[]", b"<html>", b'{"queueDatas":[{}]}', b'{"brokerDatas":[{"brokerName":"b","brokerAddrs":{"0":1e400}}]}',
    b'{"brokerDatas":[{"brokerName":"broker-a","brokerAddrs":{"x":"h"}}],"queueDatas":[]}',
    (b'{"brokerDatas":[{"brokerName":"broker-a","brokerAddrs":{"0":"no address"}}],'
    b'"queueDatas":[{"brokerName":"broker-a","readQueueNums":1e400,"writeQueueNums":1,"perm":6}]}'),
    (b'{"brokerDatas":[{"brokerName":"broker-a","brokerAddrs":{"0":"h:999999"}}],'
    b'"queueDatas":[{"brokerName":"broker-a","readQueueNums":1,"writeQueueNums":1,"perm":6}]}'),
    f'{{"orderTopicConf":"b:{DIGITS}"}}'.encode(), b'{"orderTopicConf":"b:x;c"}',
    b'{"brokerAddrTable":{"b":1}}', b'{"brokerAddrTable":{"b":{"brokerAddrs":{"x":"y"}}}}',
    b'{"brokerAddrTable":{"b":{"brokerAddrs":{"0":"no address"}}}}', b'{"brokerAddrTable":[1],"clusterAddrTable":1}',
)  # fmt: skip
OF_NAME_SERVER = (
    RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
)  # fmt: skip


class HostilePeer(Peer):
    """Answers what a request does not expect, while it is told to.

    Attributes:
        attacks: Such answers so far.
    """

    attacks = 0
    fields: dict[str, str] | None = None
    body = b""
    route: bytes | None = None

    def handle(self, connection, command):
        if command.code in OF_NAME_SERVER:
            if self.route is None:
                return super().handle(connection, command)
            self.attacks += 1
            return command.reply(body=self.route)
        if self.fields is None or command.code == RequestCode.HEART_BEAT:
            return super().handle(connection, command)
        self.attacks += 1
        return command.reply(ResponseCode.SUCCESS, ext_fields=dict(self.fields), body=self.body)


Act = Callable[[Peer], Awaitable[object]]


def of_admin(ask: Callable[[AdminClient, str], Awaitable[object]]) -> Act:
    async def act(peer: Peer) -> None:
        async with AdminClient(peer.address) as admin:
            await ask(admin, peer.address)

    return act


def of_puller(ask: Callable[[PullConsumer], Awaitable[object]]) -> Act:
    async def act(peer: Peer) -> None:
        async with PullConsumer(peer.address, "CG") as consumer:
            await ask(consumer)

    return act


def id_at(address: str) -> str:
    """Id of the first message of a broker."""
    return offset_message_id(HostAddress.parse(address), 0)


async def send(peer: Peer) -> None:
    async with Producer(peer.address, "PG") as producer:
        await producer.send(Message("T", b"x"))


async def send_atomic(peer: Peer) -> None:
    async with AtomicProducer(peer.address, "PG") as producer:
        await producer.send(Message("T", b"x"))


async def pop(peer: Peer) -> None:
    async with PopConsumer(peer.address, "CG") as consumer:
        await consumer.receive("T", wait_ms=0)


async def look(peer: Peer) -> None:
    await _look(ClusterAccess(peer.address))


async def doctor(peer: Peer) -> None:
    await Doctor(ClusterAccess(peer.address), lambda _hop: None).run()


ASK_NO_ROUTE = (
    "message by id", "record at", "records", "queue units", "settings", "topic configs", "group configs",
    "offsets of groups", "consume directly",
)  # fmt: skip
"""These ask the address that they are given."""
ASK_NO_BROKER = ("topics",)
ACTS: dict[str, Act] = {
    "topics": of_admin(lambda admin, _address: admin.topics()),
    "create topic": of_admin(lambda admin, _address: admin.create_topic("T")),
    "topic stats": of_admin(lambda admin, _address: admin.topic_stats("T")),
    "consume stats": of_admin(lambda admin, _address: admin.consume_stats("CG", "T")),
    "max offset": of_admin(lambda admin, _address: admin.max_offset(QUEUE)),
    "offset by time": of_admin(lambda admin, _address: admin.offset_by_time(QUEUE, 1)),
    "consumer offset": of_admin(lambda admin, _address: admin.consumer_offset("CG", QUEUE)),
    "message by id": of_admin(lambda admin, address: admin.message_by_offset_id(id_at(address))),
    "messages by key": of_admin(lambda admin, _address: admin.messages_by_key("T", "k")),
    "record at": of_admin(lambda admin, address: admin.record_at(address, 0)),
    "records": of_admin(lambda admin, address: admin.pull_records(address, QUEUE, 0, 1)),
    "queue units": of_admin(lambda admin, address: admin.queue_units_of(address, QUEUE, 0, 1)),
    "settings": of_admin(lambda admin, address: admin.broker_settings(address)),
    "topic configs": of_admin(lambda admin, address: admin.topic_configs(address)),
    "group configs": of_admin(lambda admin, address: admin.group_configs(address)),
    "offsets of groups": of_admin(lambda admin, address: admin.offsets_of_groups(address)),
    "groups": of_admin(lambda admin, _address: admin.groups()),
    "groups of a topic": of_admin(lambda admin, _address: admin.groups_of_topic("T")),
    "members": of_admin(lambda admin, _address: admin.members("CG")),
    "subscriptions": of_admin(lambda admin, _address: admin.subscriptions("CG")),
    "running info": of_admin(lambda admin, _address: admin.running_info("CG", "c")),
    "consume directly": of_admin(lambda admin, address: admin.consume_directly("CG", "c", id_at(address))),
    "pull": of_puller(lambda consumer: consumer.pull(QUEUE, 0)),
    "committed": of_puller(lambda consumer: consumer.committed(QUEUE)),
    "send": send,
    "send atomic": send_atomic,
    "pop": pop,
    "cluster": look,
    "doctor": doctor,
}


@pytest.fixture(autouse=True)
def short_repeats(monkeypatch):
    monkeypatch.setattr("broker_core.client.atomic_producer.REQUEST_SECONDS", 0.0)


def play(act: Act, attacks: list[tuple[dict[str, str] | None, bytes, bytes | None]]) -> None:
    async def scenario() -> None:
        async with HostilePeer(topics={"T": 1, "TBW102": 8}) as peer:
            peer.store("T", 0, b"x")  # nothing waits for a message
            for peer.fields, peer.body, peer.route in attacks:
                with suppress(OrbitError):
                    await act(peer)
            assert peer.attacks, "no request of the act got a hostile answer"

    asyncio.run(scenario())


@pytest.mark.parametrize("name", [name for name in ACTS if name not in ASK_NO_BROKER])
def test_header_fields_of_an_answer(name):
    sound = dict.fromkeys(FIELDS, "1")
    one_wrong = [sound | {field: text} for field in FIELDS for text in ("", DIGITS, "²")]
    all_wrong = [dict.fromkeys(FIELDS, text) for text in TEXTS]
    play(ACTS[name], [(fields, b"", None) for fields in (*one_wrong, *all_wrong, {})])


@pytest.mark.parametrize("name", [name for name in ACTS if name not in ASK_NO_BROKER])
def test_bodies_of_an_answer(name):
    sound = dict.fromkeys(FIELDS, "1")
    play(ACTS[name], [(sound, body, None) for body in BODIES])


@pytest.mark.parametrize("name", [name for name in ACTS if name not in ASK_NO_ROUTE])
def test_routes_and_lists_of_brokers(name):
    play(ACTS[name], [(None, b"", route) for route in ROUTES])


def test_pushed_replies_that_cannot_be_read_leave_a_producer_that_can_send():
    async def scenario() -> None:
        async with Peer(topics={"T": 1}) as peer, Producer(peer.address, "PG") as producer:
            await producer.send(Message("T", b"x"))
            for fields in ({"properties": "\ud800", "sysFlag": DIGITS}, {}, {"properties": "a\x01b", "sysFlag": "²"}):
                command = RemotingCommand(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, fields, b"\xff")
                pushed = [connection.send_oneway(command) for connection in list(peer.server.connections)]
                assert pushed
                assert all(pushed)
            await producer.send(Message("T", b"after all"))

    asyncio.run(scenario())

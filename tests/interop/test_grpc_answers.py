"""All calls of gRPC to our broker and to a real RocketMQ Proxy 5.3.3: answers, and the reason of each difference."""

import asyncio

import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker
from tests.support.grpc_answers import TYPES, all_answers, prepare
from tests.support.grpc_stub import RawClient, resource
from tests.support.real_peer import running_peer
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(500)]

VERSION = "5.3.3"
SETTINGS = {"recallMessageEnable": "true", "enablePropertyFilter": "true"}

_INNER = "The proxy shows the class of an inner exception before its text."
_ABSENT = "The proxy checks the type of a topic that does not exist; an absent topic is TOPIC_NOT_FOUND for every call here."
_HANDLE = "A handle that cannot be read is INVALID_RECEIPT_HANDLE, because SDKs repeat an ack for ever on others."
_ENDED = "A transaction that is over is ended again without harm, because SDKs repeat calls."
ARGUED = {
    "route: 'answers-nowhere'": "The page that the text names is that of each broker's generation.",
    "assignment: answers-nowhere 'answers-group'": "The page that the text names is that of each broker's generation.",
    "send: FIFO to NORMAL": _INNER,
    "send: NORMAL to FIFO": _INNER,
    "send: NORMAL to DELAY": _INNER,
    "send: NORMAL to TRANSACTION": _INNER,
    "send: absent topic": _ABSENT,
    "recall of no handle, answers-nowhere": _ABSENT,
    "sent: two": "Each message has an entry with its own id; the proxy names ids that the client does not know.",
    "send: born in no year": "A time outside of the years 1 to 9999 is none that the protocol can give to a consumer.",
    "receive: fewer than none wanted": "Less than nothing is nothing; the proxy fails with the capacity of a list.",
    "change by another group": "Only the group of a delivery can change it; the proxy makes a copy for the other.",
    "receive of a stranger": "The proxy fails with a null pointer where UNRECOGNIZED_CLIENT_TYPE says what is missing.",
    "receive: bad SQL": "A filter that cannot be read is ILLEGAL_FILTER_EXPRESSION and no fault of the server.",
    "received: properties": "The proxy repeats the trace context among the properties of the user.",
    "ack of no handle": _HANDLE,
    "change of no handle": _HANDLE + " The handle comes back, because SDKs overwrite theirs.",
    "forward of no handle": _HANDLE,
    "change again": "A handle that was changed is void; the proxy makes a second copy of the message.",
    "forward": "The proxy answers 0 as the text of a success.",
    "end of an unknown transaction": "The id is what is wrong, and no fault of the server.",
    "commit again": _ENDED,
    "roll back again": _ENDED,
}


def test_answers_differ_only_where_that_is_argued(tmp_path):
    with running_peer(VERSION, tmp_path / "theirs", **SETTINGS) as peer:
        peer.start_proxy()
        theirs = answers(peer.name_server, peer.grpc_port)
    options = [option for name, value in SETTINGS.items() for option in ("--set", f"{name}={value}")]
    with running_broker(tmp_path / "ours", *options) as broker:
        ours = answers(broker.name_server, int(broker.grpc.rpartition(":")[2]))
    assert ours.keys() == theirs.keys()
    differing = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    assert {name: pair for name, pair in differing.items() if name not in ARGUED} == {}
    assert [name for name in ARGUED if name not in differing] == []


def answers(name_server, port):
    async def make():
        async with AdminClient(name_server) as admin:
            await prepare(admin)

    asyncio.run(make())
    with RawClient(port) as client:
        wait_until(lambda: all(is_routed(client, topic) for topic in TYPES))
    return all_answers(port)


def is_routed(client, topic):
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))
    return route.status.code == pb.OK

"""All calls of gRPC to our broker and to a real RocketMQ Proxy 5.3.3: answers, and the reason of each difference."""

import asyncio

import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.broker_process import running_broker
from tests.support.grpc_answers import TYPES, all_answers, prepare
from tests.support.grpc_odd_answers import TYPES as ODD_TYPES
from tests.support.grpc_odd_answers import odd_answers, prepare_odd
from tests.support.grpc_stub import RawClient, resource
from tests.support.real_peer import running_peer
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

VERSION = "5.3.3"
SETTINGS = {"recallMessageEnable": "true", "enablePropertyFilter": "true"}

_INNER = "The proxy shows the class of an inner exception before its text."
_ABSENT = "The proxy checks the type of a topic that does not exist; an absent topic is TOPIC_NOT_FOUND for every call here."
_HANDLE = "A handle that cannot be read is INVALID_RECEIPT_HANDLE, because SDKs repeat an ack for ever on others."
_ENDED = "A transaction that is over is ended again without harm, because SDKs repeat calls."
_SQL = "A filter that cannot be read is ILLEGAL_FILTER_EXPRESSION and no fault of the server."
_ROUTE = "The proxy repeats the words of its name server."
ARGUED = (
    {
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
        "receive: bad SQL": _SQL,
        "received: properties": "The proxy repeats the trace context among the properties of the user.",
        "ack of no handle": _HANDLE,
        "change of no handle": _HANDLE + " The handle comes back, because SDKs overwrite theirs.",
        "forward of no handle": _HANDLE,
        "change again": "A handle that was changed is void; the proxy makes a second copy of the message.",
        "forward": "The proxy answers 0 as the text of a success.",
        "end of an unknown transaction": "The id is what is wrong, and no fault of the server.",
        "commit again": _ENDED,
        "roll back again": _ENDED,
        "odd ack: absent topic": _HANDLE,
        "odd ack: another topic": _HANDLE,
        "odd forward: no handle": _HANDLE,
        "odd forward: absent topic": "The proxy says OK, and forwards nothing.",
        "odd end: of no half message": "The id is what is wrong, and no fault of the server.",
        "odd filter: TAG ' '": "A filter that names no tag is refused; in the proxy it waits for a message that cannot come.",
        "odd filter: TAG 'AAAAAAAAA'": "The filter of a request that waits is bounded by the memory of a connection.",
        "odd heartbeat: of no group": "A heartbeat without a group is one of the group that the client has announced.",
        "odd receive by gggggggggggg of 255": "The proxy delivers once: no retry and no dead letter can be stored.",
        "odd send: delivery never": "A time outside of the years 1 to 9999 is no fault of the server.",
        "odd send: group, half and delivery": "What is not committed cannot be recalled: its handle would name no message.",
        "odd send: property __SHARDINGKEY": "It decides the type and the queue: SDKs have the message group for that.",
        "odd send: to a DLQ": _ROUTE,
        "odd send: to a retry topic": _ROUTE,
    }
    | {
        f"odd filter: SQL {text!r}": _SQL
        for text in (
            " ",
            "a > 'x'",
            "-- x",
            "a = 1 AND",
            "a = 1;",
            "a = 1e400",
            "a = 99999999999999999999",
            "a BETWEEN 1 AND",
            "a BETWEEN 2 AND 1",
            "a IN ()",
        )
    }
    | {
        f"odd filter: SQL {text!r}": "The proxy leaves out what stands behind the first expression, which nobody means."
        for text in ("a = 'x'x'", "a LIKE '%'")
    }
    | {f"odd send: {name}": _INNER for name in ("delivery to NORMAL", "group of 0", "half to NORMAL")}
    | {
        f"odd send: wrong {kind}": "A body that is not what its producer digested is damaged: the proxy stores it."
        for kind in ("CRC32", "MD5", "SHA1")
    }
)


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
            await prepare_odd(admin)

    asyncio.run(make())
    with RawClient(port) as client:
        wait_until(lambda: all(is_routed(client, topic) for topic in (*TYPES, *ODD_TYPES)))
    return all_answers(port) | odd_answers(port)


def is_routed(client, topic):
    route = client.call("QueryRoute", pb.QueryRouteRequest(topic=resource(topic)))
    return route.status.code == pb.OK

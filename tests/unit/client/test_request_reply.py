"""Requests and their replies."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.request_reply import reply_to
from broker_core.config import ClientConfig
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.properties import decode_properties, encode_properties
from broker_core.transport.connection import RequestTimeoutError
from tests.support.remoting_peer import Peer, eventually
from tests.unit.client.test_message import received


def play(scenario):
    async def run():
        async with Peer(topics={"T": 1}) as peer, Producer(peer.address) as producer:
            await scenario(peer, producer)

    asyncio.run(run())


def answering(peer, body, *, correlation=None, sys_flag="0"):
    """Have the peer push a reply when the request is sent."""

    def send(connection, command):
        properties = decode_properties(command.ext_fields["i"].encode())
        answer = {"CORRELATION_ID": correlation or properties["CORRELATION_ID"]}
        fields = {"properties": encode_properties(answer).decode(), "sysFlag": sys_flag}
        connection.send_oneway(RemotingCommand(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, fields, body))
        return peer.store_sent(connection, command)

    peer.script[RequestCode.SEND_MESSAGE_V2] = [send]


def test_a_request_ends_with_its_reply_and_says_who_asks():
    async def scenario(peer, producer):
        answering(peer, b"answer")
        assert await producer.request(Message("T", b"question"), timeout_ms=10_000) == b"answer"
        properties = decode_properties(peer.of_code(RequestCode.SEND_MESSAGE_V2)[0].ext_fields["i"].encode())
        assert (properties["REPLY_TO_CLIENT"], properties["TTL"]) == (producer._instance.client_id, "10000")

    play(scenario)


def test_replies_to_others_and_late_ones_are_dropped():
    async def scenario(peer, producer):
        answering(peer, b"answer", correlation="someone else")
        with pytest.raises(RequestTimeoutError, match="no reply to the request on T came within 50 ms"):
            await producer.request(Message("T", b"question"), timeout_ms=50)
        assert producer._requests._waiting == {}

    play(scenario)


def test_a_request_that_is_refused_or_whose_producer_closes_fails_at_once():
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [lambda _, command: command.reply(13, "illegal")]
        with pytest.raises(RemoteError, match="MESSAGE_ILLEGAL"):
            await producer.request(Message("T", b"question"))
        waiting = asyncio.create_task(producer.request(Message("T", b"question"), timeout_ms=60_000))
        await eventually(lambda: peer.records["T", 0])
        await producer.close()
        with pytest.raises(NetworkError, match="closed before the reply came"):
            await waiting

    play(scenario)


def test_a_reply_goes_to_the_cluster_s_reply_topic_with_what_the_request_said():
    async def scenario(peer, producer):
        peer.topics["DefaultCluster_REPLY_TOPIC"] = 1
        peer.script[RequestCode.SEND_REPLY_MESSAGE_V2] = [peer.store_sent]
        request = received(b"question", CLUSTER="DefaultCluster", CORRELATION_ID="c1", REPLY_TO_CLIENT="me", TTL="3000")
        await producer.send_reply(reply_to(request, b"answer"))
        (sent,) = peer.of_code(RequestCode.SEND_REPLY_MESSAGE_V2)
        properties = decode_properties(sent.ext_fields["i"].encode())
        assert (sent.ext_fields["b"], bytes(sent.body), properties["MSG_TYPE"]) == (
            "DefaultCluster_REPLY_TOPIC", b"answer", "reply",
        )  # fmt: skip
        assert (properties["CORRELATION_ID"], properties["REPLY_TO_CLIENT"]) == ("c1", "me")

    play(scenario)


def test_a_message_that_asks_nothing_cannot_be_answered():
    with pytest.raises(UsageError, match="is no request: no CLUSTER, CORRELATION_ID, REPLY_TO_CLIENT"):
        reply_to(received(b"x"), b"answer")


def test_a_slow_or_failing_broker_is_noted_where_that_is_wanted():
    async def scenario():
        config = ClientConfig(latency_fault_tolerance=True, send_retries=0)
        async with Peer(topics={"T": 1}) as peer, Producer(peer.address, config=config) as producer:
            await producer.send(Message("T", b"x"))
            assert producer._faults.is_available("broker-a", asyncio.get_running_loop().time() * 1000)
            peer.script[RequestCode.SEND_MESSAGE_V2] = [lambda _, command: command.reply(2, "busy")]
            with pytest.raises(RemoteError):
                await producer.send(Message("T", b"x"))
            assert not producer._faults.is_available("broker-a", asyncio.get_running_loop().time() * 1000)
            await producer.send(Message("T", b"there is no other"))

    asyncio.run(scenario())


def test_a_selector_chooses_once_and_a_message_not_yet_safe_is_sent_again_where_that_is_wanted():
    async def scenario():
        config = ClientConfig(retry_when_not_stored_ok=True)
        async with Peer(topics={"T": 4}) as peer, Producer(peer.address, config=config) as producer:
            result = await producer.send(Message("T", b"x"), selector=lambda queues: queues[2])
            assert result.queue.queue_id == 2
            place = {"msgId": "x", "queueId": "0", "queueOffset": "0"}
            peer.script[RequestCode.SEND_MESSAGE_V2] = [lambda _, command: command.reply(10, None, place)]
            assert (await producer.send(Message("T", b"y"))).attempts == 2

    asyncio.run(scenario())

"""Lines of docs/spec/grpc.md §11 that need an unmodified SDK (numbers in brackets)."""

import asyncio

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message, RawMessage
from broker_core.client.producer import Producer
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, parse_object
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.transport.client import ConnectionPool
from tests.support.broker_process import running_broker
from tests.support.sdk_programs import go_sdk_program, java_program, node_program, python_program

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

LANGUAGES = ("java", "go", "python", "node")
TRIALS = {"java": "bad/1,bad/2", "go": "bad/1", "python": "bad/1,bad/1", "node": "bad/1"}
"""How SDKs try a message of an ordered group that fails and may be tried twice, before the next one.

Node knows no list of delays, and tries once. Go goes on with the next one before its second trial.
"""
BODY = b"packed " * 500


@pytest.fixture(scope="module", params=LANGUAGES)
def program(request, tmp_path_factory):
    return program_of(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    return program_of("java", tmp_path_factory)


def program_of(language, tmp_path_factory):
    folder, home = tmp_path_factory.mktemp(f"{language}-sdk"), tmp_path_factory.mktemp(f"{language}-home")
    if language == "java":
        return java_program(folder, home, "SdkConformance")
    make = {"go": go_sdk_program, "python": python_program, "node": node_program}[language]
    return make(folder, home, "sdk_conformance")


def prepared(broker, work):
    """Have an admin client and a producer do something."""

    async def run():
        async with AdminClient(broker.name_server) as admin, Producer(broker.name_server) as producer:
            return await work(admin, producer)

    return asyncio.run(run())


def make_topic(broker, topic):
    prepared(broker, lambda admin, _producer: admin.create_topic(topic, queues=4))


def test_compressed_bodies_of_remoting_are_readable(program, tmp_path):  # [28]
    async def put(admin, producer):
        await admin.create_topic("packed", queues=1)
        for compression in (Compression.LZ4, Compression.ZSTD, Compression.ZLIB):
            body, sys_flag = compress_body(BODY, compression), with_compression(0, compression)
            raw = RawMessage(topic="packed", body=body, sys_flag=sys_flag)
            await producer.send_raw(raw, MessageQueue("packed", "broker-a", 0))

    with running_broker(tmp_path) as broker:
        prepared(broker, put)
        assert program.results(broker.grpc, "compressed") == {"compressed": "3"}


def test_clients_go_on_with_a_broker_that_was_started_again(program, tmp_path):  # [55]
    topic = f"again-{program.language}"
    with running_broker(tmp_path) as broker:
        make_topic(broker, topic)
        running = program.start(broker.grpc, "again")
        running.__enter__()
        running.until_it_waits()
        ports = {
            "name_server_port": int(broker.name_server.rpartition(":")[2]),
            "port": int(broker.broker.rpartition(":")[2]),
        }
        grpc_port = broker.grpc.rpartition(":")[2]
    try:
        with running_broker(tmp_path, "--grpc-port", grpc_port, **ports):
            running.go_on()
            running.until_it_waits()
    finally:
        running.__exit__()
    assert running.results == {"before": "before", "after": "after"}


def test_a_push_consumer_that_fails_gets_the_message_later(java, tmp_path):  # [41]
    with running_broker(tmp_path) as broker:
        make_topic(broker, "nack")
        assert java.results(broker.grpc, "nack") == {"nack": "[1,2,3] true true"}


def test_a_push_consumer_in_order_buries_what_fails_and_goes_on(program, tmp_path):  # [46]
    async def make(admin, _producer):
        group = f"order-{program.language}"
        await admin.create_topic("order", queues=4)
        await admin.set_group(group, consumeMessageOrderly=True, retryMaxTimes=1)
        await admin.create_topic(f"%DLQ%{group}", queues=1)

    with running_broker(tmp_path) as broker:
        prepared(broker, make)
        assert program.results(broker.grpc, "order") == {"order": f"0/1,{TRIALS[program.language]},1/1,2/1", "dead": "bad"}


def test_a_message_of_four_mebibytes_and_its_properties_passes(java, tmp_path):  # [56]
    with running_broker(tmp_path) as broker:
        make_topic(broker, "large")
        assert java.results(broker.grpc, "large") == {"large": f"{4 << 20} 12"}


def test_stacks_and_trials_of_a_java_client(java, tmp_path):  # [50]
    async def question(admin, producer):
        (member,) = await admin.members("commands-java")
        client_id = member.client_id
        pool = ConnectionPool()
        fields = {"consumerGroup": "commands-java", "clientId": client_id, "jstackEnable": "true"}
        info = await pool.request(broker.broker, RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO, fields), 20_000)
        await pool.close()
        found = []
        for body in (b"good", b"bad"):
            sent = await producer.send(Message("commands", body))
            found.append((await admin.consume_directly("commands-java", client_id, sent.offset_message_id)).name)
        return info, found

    with running_broker(tmp_path) as broker:
        make_topic(broker, "commands")
        with java.start(broker.grpc, "commands") as running:
            running.until_it_waits()
            info, found = prepared(broker, question)
            running.go_on()
    assert info.code == ResponseCode.SUCCESS
    assert "SdkConformance.commands" in parse_object(info.body)["jstack"]
    assert found == ["CR_SUCCESS", "CR_LATER"]

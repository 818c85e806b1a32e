"""The SDKs of RocketMQ 5 over gRPC, unmodified and in their default settings (docs/spec/grpc.md §11, 3).

They run against our broker, or with ORBIT_INTEROP_PEER=5.3.3 against a real one with its proxy: OPEN_ON_A_PROXY has what may
differ there.
"""

import asyncio
import os

import pytest

from broker_core.client.admin import AdminClient
from broker_core.protocol.grpc import messaging_pb2 as pb
from tests.support.grpc_stub import RawClient, resource
from tests.support.interop_target import PEER_VARIABLE, running_grpc_target
from tests.support.sdk_programs import go_sdk_program, java_program, node_program, python_program, rust_program
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

SETTINGS = {
    # A real broker writes down what is decided after up to 3 s, and checks before its proxy names a producer.
    "transactionTimeOut": "6000",
    "transactionCheckInterval": "1000",
    "transactionCheckMax": "200",
}
TOPICS = {"": "NORMAL", "-fifo": "FIFO", "-delay": "DELAY", "-push": "NORMAL", "-dead": "NORMAL", "-tx": "TRANSACTION"}
EVERY = {
    "simple": "one,two",
    "fifo": "0,1,2,3,4,5,6,7",
    "push": "[1,2]",
    "dead": "dies [1,2]",
    "transactions": "commit,orphan",
}
OPEN_ON_A_PROXY = {
    # Node loses settings that arrive while it waits for the route of a second topic, and then waits for them without end
    # (docs/spec/grpc.md §6.1). Our broker sends them again, a proxy does not.
    "node": ("start",),
}
"""Language → cases whose result on a real proxy is one thing or another."""


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    made.mkdir()
    return made


async def prepare(name_server, language):
    """Make the topics, and the group whose second failure is its last."""
    buried = f"sdk-{language}-buried"
    async with AdminClient(name_server) as admin:
        for address in (await admin.master_addresses()).values():
            for kind, message_type in TOPICS.items():
                config = {"readQueueNums": 4, "writeQueueNums": 4, "attributes": {"message.type": message_type}}
                await admin.put_topic_config(address, f"sdk-{language}{kind}", config)
            await admin.put_topic_config(address, f"%DLQ%{buried}", {"readQueueNums": 1, "writeQueueNums": 1})
        await admin.set_group(buried, retryMaxTimes=1)
        ordered = f"sdk-{language}-ordered"
        await admin.set_group(ordered, consumeMessageOrderly=True)


def results(folder, make_program):
    """What an SDK makes of a broker, and that its log has no errors."""
    program, broker = make_program(), folder / "broker"
    broker.mkdir()
    with running_grpc_target(broker, **SETTINGS) as (name_server, grpc):
        asyncio.run(prepare(name_server, program.language))
        with RawClient(int(grpc.rpartition(":")[2])) as client:
            for kind in TOPICS:
                asked = pb.QueryRouteRequest(topic=resource(f"sdk-{program.language}{kind}"))
                wait_until(lambda asked=asked: client.call("QueryRoute", asked).status.code == pb.OK)
        found = program.results(grpc)
    assert program.faults() == []
    return settled(found, program.language)


def settled(cases, language):
    """Results without those that a real proxy leaves open, where they come from one."""
    left_open = OPEN_ON_A_PROXY.get(language, ()) if PEER_VARIABLE in os.environ else ()
    return {name: value for name, value in cases.items() if name not in left_open}


def expected(fields, delay, *left_out):
    return {name: value for name, value in EVERY.items() if name not in left_out} | {"fields": fields, "delay": delay}


def test_java(tmp_path, tmp_path_factory, home):  # [3]
    found = results(tmp_path, lambda: java_program(tmp_path_factory.mktemp("java-sdk"), home, "SdkCases"))
    assert found == expected("T 2 {color=red} true", "late true")


def test_python(tmp_path, tmp_path_factory, home):  # [3]
    found = results(tmp_path, lambda: python_program(tmp_path_factory.mktemp("python-sdk"), home, "sdk_cases"))
    assert found == expected("T 1 red", "late True")


def test_node(tmp_path, tmp_path_factory, home):  # [3]
    found = results(tmp_path, lambda: node_program(tmp_path_factory.mktemp("node-sdk"), home, "sdk_cases"))
    assert found == settled(expected("T 2 red", "late true") | {"errors": "0", "start": "true"}, "node")


@pytest.mark.slow
def test_go(tmp_path, tmp_path_factory, home):  # [3]
    found = results(tmp_path, lambda: go_sdk_program(tmp_path_factory.mktemp("go-sdk"), home, "sdk_cases"))
    assert found == expected("T 2 red", "late true")


@pytest.mark.slow
@pytest.mark.timeout(1_200)  # its build takes up to 800 s, and a real broker with its proxy a minute
def test_rust(tmp_path, tmp_path_factory, home):
    """Its SDK has no push consumer."""
    found = results(tmp_path, lambda: rust_program(tmp_path_factory.mktemp("rust-sdk"), home, "sdk_cases"))
    assert found == expected("T 2 red", "late true", "push", "dead")

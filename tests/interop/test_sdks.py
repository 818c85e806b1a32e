"""The SDKs of RocketMQ 5 over gRPC, unmodified and in their default settings, against our broker (docs/spec/grpc.md §11, 3)."""

import asyncio

import pytest

from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker
from tests.support.sdk_programs import go_sdk_program, java_program, node_program, python_program

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

SETTINGS = ("transactionCheckInterval=1000", "transactionTimeOut=2000")
EVERY = {
    "simple": "one,two",
    "fifo": "0,1,2,3,4,5,6,7",
    "push": "[1,2]",
    "transactions": "commit,orphan",
}


@pytest.fixture
def broker(tmp_path):
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    with running_broker(tmp_path / "store", *settings) as running:
        yield running


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    made.mkdir()
    return made


def results(broker, program):
    async def make():
        async with AdminClient(broker.name_server) as admin:
            for kind in ("", "-fifo", "-push", "-tx"):
                await admin.create_topic(f"sdk-{program.language}{kind}", queues=4)

    asyncio.run(make())
    found = program.results(broker.grpc)
    assert program.faults() == []
    return found


def expected(fields, delay, *left_out):
    return {name: value for name, value in EVERY.items() if name not in left_out} | {"fields": fields, "delay": delay}


def test_java(broker, tmp_path_factory, home):  # [3]
    found = results(broker, java_program(tmp_path_factory.mktemp("java-sdk"), home, "SdkCases"))
    assert found == expected("T 2 {color=red} true", "late true")


def test_python(broker, tmp_path_factory, home):  # [3]
    found = results(broker, python_program(tmp_path_factory.mktemp("python-sdk"), home, "sdk_cases"))
    assert found == expected("T 1 red", "late True")


def test_node(broker, tmp_path_factory, home):  # [3]
    found = results(broker, node_program(tmp_path_factory.mktemp("node-sdk"), home, "sdk_cases"))
    assert found == expected("T 2 red", "late true", "push", "transactions") | {"errors": "0"}


@pytest.mark.slow
def test_go(broker, tmp_path_factory, home):  # [3]
    found = results(broker, go_sdk_program(tmp_path_factory.mktemp("go-sdk"), home, "sdk_cases"))
    assert found == expected("T 2 red", "late true", "push")

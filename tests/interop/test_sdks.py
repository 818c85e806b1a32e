"""The SDKs of RocketMQ 5 over gRPC, unmodified and in their default settings, against our broker."""

import asyncio
import os
import shutil
import sys

import pytest

from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker
from tests.support.foreign_client import case_results
from tests.support.toolchains import (
    GO_SDK,
    NODE_SDK,
    SHORT_LIVED,
    SUPPORT,
    go_module,
    go_program,
    java_sdk,
    node_packages,
    python_sdk,
    run,
)

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


def make_topics(broker, language):
    async def make():
        async with AdminClient(broker.name_server) as admin:
            for kind in ("", "-fifo", "-push", "-tx"):
                await admin.create_topic(f"sdk-{language}{kind}", queues=4)

    asyncio.run(make())


def results(broker, language, command, environment=None):
    make_topics(broker, language)
    return case_results([*map(str, command), broker.grpc], environment or os.environ)


def expected(fields, delay, *left_out):
    return {name: value for name, value in EVERY.items() if name not in left_out} | {"fields": fields, "delay": delay}


def test_java(broker, tmp_path_factory):
    path = java_sdk(tmp_path_factory.mktemp("java-sdk"), "SdkCases.java")
    found = results(broker, "java", ["java", *SHORT_LIVED, "-Dmq.consoleAppender.enabled=false", "-cp", path, "SdkCases"])
    assert found == expected("T 2 {color=red} true", "late true")


def test_python(broker, tmp_path_factory, tmp_path):
    packages = python_sdk(tmp_path_factory.mktemp("python-sdk"))
    environment = {**os.environ, "PYTHONPATH": str(packages), "HOME": str(tmp_path)}
    found = results(broker, "python", [sys.executable, "-P", SUPPORT / "sdk_cases.py"], environment)
    assert found == expected("T 1 red", "late True")


def test_node(broker, tmp_path_factory, tmp_path):
    packages = node_packages(tmp_path_factory.mktemp("node-sdk"), (NODE_SDK,))
    program = shutil.copy(SUPPORT / "sdk_cases.js", tmp_path)
    environment = {**os.environ, "NODE_PATH": str(packages / "node_modules")}
    assert results(broker, "node", ["node", program], environment) == expected("T 2 red", "late true", "push", "transactions")


@pytest.mark.slow
def test_go(broker, tmp_path_factory):
    module = go_module(tmp_path_factory.mktemp("go-sdk"), GO_SDK, ("",))
    shutil.copy(SUPPORT / "sdk_cases.go", module)
    run(["go", "mod", "tidy"], cwd=module)
    found = results(broker, "go", [go_program(module, "sdk_cases.go")])
    assert found == expected("T 2 red", "late true", "push")

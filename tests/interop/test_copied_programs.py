"""What the composer copies as a program: each is run as it is printed, and what arrives is what was composed."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from broker_core.client.admin import AdminClient
from broker_core.tools.commands.search import main as search
from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.compose.code import LANGUAGES
from tests.support.broker_process import running_broker
from tests.support.foreign_tools import need_package
from tests.support.toolchains import go_module, java_class_path, java_command, run
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(400)

TEXT = '\ufeff{"名": "a\\"b", "path": "C:\\new\\u0041"}\nend\t$HOME `id` \'q\' %s ${n} 😀\u2028\x7f'
PROPERTIES = {
    "KEYS": 'K-1  键"2', "TAGS": "付'款", "region": "e\"u\n\\t 'x'\ufeff", "价 格": " 7 ", "CITY": "杭州",
    "__SHARDINGKEY": "order-7",
}  # fmt: skip
MESSAGES = {
    "text": SendMessage("copied", 2, TEXT.encode(), PROPERTIES, flag=5),
    "bytes": SendMessage("copied", -1, b"\x00\xff\x01\x00\n", {"KEYS": "b"}),
    "long": SendMessage("copied", -1, ('龙"\n\\😀' * 20_000).encode(), {}),
    "commit": SendMessage("copied", -1, b"in a transaction", {"KEYS": "t-1", "region": "eu"}, transaction="commit"),
    "rollback": SendMessage("copied", -1, b"never seen", {"KEYS": "t-2"}, transaction="rollback"),
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "store") as running:
        yield running


@pytest.fixture
def topic(broker, request):
    """A topic of the test's own."""
    name = f"copied-{abs(hash(request.node.nodeid))}"

    async def create() -> None:
        async with AdminClient(broker.name_server) as admin:
            await admin.create_topic(name, queues=4)

    asyncio.run(create())
    return name


@pytest.fixture
def composed(broker, topic):
    """A message to the topic, and the program that sends it."""

    def made(what: str | SendMessage, language: str) -> tuple[SendMessage, str]:
        message = replace(MESSAGES[what] if isinstance(what, str) else what, topic=topic)
        return message, LANGUAGES[language](message, broker.name_server, "broker-a")

    return made


@pytest.fixture
def arrived(broker, topic, capsys):
    """The messages of the topic as an export has them."""

    def found() -> list[dict]:
        capsys.readouterr()
        assert search(["--ns", broker.name_server, f'topic = "{topic}"']) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return found


def check(row: dict, message: SendMessage, *, without: tuple[str, ...] = ()) -> None:
    """The row is the message but for what its client cannot say."""
    wanted = {name: value for name, value in message.properties.items() if name not in without}
    assert {name: row["properties"].get(name) for name in wanted} == wanted
    assert base64.b64decode(row["body"]) == message.body
    if message.queue_id >= 0 and "queue" not in without:
        assert row["queueId"] == message.queue_id
    if "flag" not in without:
        assert row["flag"] == message.flag


def check_all(arrived: Callable[[], list[dict]], message: SendMessage) -> None:
    """One message arrived, or none where its transaction was rolled back. Ends of transactions are not answered."""
    if message.transaction == "rollback":
        assert arrived() == []
        return
    wait_until(arrived, "no message arrived")
    (row,) = arrived()
    check(row, message)


# ---- Java --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["5.3.3", "4.9.4"])
def java(request, tmp_path_factory):
    """Start of a command that runs Java with the client, and its environment."""
    folder = tmp_path_factory.mktemp("java-copied")
    return java_command(java_class_path(folder, request.param), folder)


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("name", MESSAGES)
def test_the_java_program_sends_it(java, composed, arrived, tmp_path, name):
    message, code = composed(name, "Java")
    (tmp_path / "Send.java").write_text(code)
    start, environment = java
    run([*start, tmp_path / "Send.java"], environment=environment)
    check_all(arrived, message)


@pytest.fixture
def mqadmin(java, tmp_path):
    """Runs lines of a shell that knows mqadmin."""
    start, environment = java
    tool = tmp_path / "mqadmin"
    words = " ".join(f"'{word}'" for word in start)
    tool.write_text(f'#!/bin/sh\nexec {words} org.apache.rocketmq.tools.command.MQAdminStartup "$@"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    environment = environment | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    def call(code: str) -> None:
        # It gives a send three seconds, and ends well also when they were too few.
        wait_until(lambda: "SEND_OK" in run(["sh", "-c", code], environment=environment), "nothing was sent", deadline_s=120)

    return call


@pytest.mark.clients
@pytest.mark.slow
def test_the_call_of_mqadmin_sends_it(mqadmin, composed, arrived):
    message, code = composed("text", "mqadmin")
    mqadmin(code)
    row, *_again = arrived()
    unsaid = tuple(name for name in message.properties if name not in ("KEYS", "TAGS"))
    check(row, message, without=(*unsaid, "flag"))


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize(("body", "sent"), [('"quoted"', "quoted"), (" spaced\n", "spaced"), ('{"a": "b"}', '{"a": "b"}')])
def test_mqadmin_changes_what_the_note_says(composed, arrived, mqadmin, body, sent):
    _message, code = composed(SendMessage("", -1, body.encode(), {}), "mqadmin")
    assert code.startswith("# mqadmin may not send as it is: -p") == (sent != body)
    mqadmin(code)
    assert base64.b64decode(arrived()[0]["body"]).decode() == sent


# ---- Go ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def go(tmp_path_factory) -> Path:
    """A module with the client."""
    return go_module(tmp_path_factory.mktemp("go-copied"))


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("name", MESSAGES)
def test_the_go_program_sends_it(go, composed, arrived, name):
    message, code = composed(name, "Go")
    (go / "main.go").write_text(code)
    run(["go", "run", "main.go"], cwd=go)
    check_all(arrived, message)


# ---- Python ------------------------------------------------------------------------------------------------------------


@pytest.mark.clients
@pytest.mark.parametrize("name", ["text", "bytes"])
def test_the_python_program_sends_it(composed, arrived, tmp_path, name):
    need_package("rocketmq")
    message, code = composed(name, "Python")
    (tmp_path / "send.py").write_text(code)
    # The client writes its logs below HOME.
    run([sys.executable, tmp_path / "send.py"], environment={**os.environ, "HOME": str(tmp_path)})
    (row,) = arrived()
    check(row, message, without=("flag",))

"""What the composer copies as a program of an SDK of RocketMQ 5: each is run as it is printed. C# was not run: read only."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_core.client.admin import AdminClient
from broker_core.tools.commands.search import main as search
from broker_core.worker.questions.stored_messages import SendMessage
from gui.views.welcome.samples import SDK_SAMPLES
from monitoring.compose.sdk_code import SDK_LANGUAGES
from tests.support.broker_process import BrokerProcess, running_broker
from tests.support.toolchains import (
    GO_SDK,
    NODE_SDK,
    SHORT_LIVED,
    compile_java,
    go_module,
    java_sdk,
    node_packages,
    python_sdk,
    run,
    rust_project,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

TEXT = '{"名": "a\\"b", "path": "C:\\new\\u0041"}\nend\t$HOME `id` \'q\' %s ${n} {n} 😀\u2028\u2029\x7f\x85\ufeff'
TOPIC = "sdk-programs"
MESSAGES = {
    "text": SendMessage(
        TOPIC, -1, TEXT.encode(), {"KEYS": 'k-1 键"2', "TAGS": "付'款", "region": "e\"u\\ 'x'", "价 格": " 7 "}
    ),
    "ordered": SendMessage(TOPIC, -1, b"\x00\xff\x01\x00\n", {"KEYS": "b", "__SHARDINGKEY": "order-7"}),
    "late": SendMessage(TOPIC, -1, b"later", {"TIMER_DELAY_MS": "1000"}),
    "commit": SendMessage(TOPIC, -1, b"in a transaction", {"KEYS": "t-1", "city": "杭州"}, transaction="commit"),
    "rollback": SendMessage(TOPIC, -1, b"never seen", {"KEYS": "t-2"}, transaction="rollback"),
}
Start = Callable[[str], None]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "store") as running:
        yield running


def create(broker: BrokerProcess, topic: str) -> None:
    async def make() -> None:
        async with AdminClient(broker.name_server) as admin:
            await admin.create_topic(topic, queues=4)

    asyncio.run(make())


@pytest.fixture
def start_java(tmp_path_factory, tmp_path) -> Start:
    path = java_sdk(tmp_path_factory.mktemp("java-sdk"))

    def start(code: str) -> None:
        (tmp_path / "Send.java").write_text(code)
        compile_java(path, tmp_path, tmp_path / "Send.java")
        quiet = "-Dmq.consoleAppender.enabled=false"
        run(["java", *SHORT_LIVED, quiet, f"-Duser.home={tmp_path}", "-cp", f"{tmp_path}{os.pathsep}{path}", "Send"])

    return start


@pytest.fixture
def start_go(tmp_path_factory) -> Start:
    module = go_module(tmp_path_factory.mktemp("go-sdk"), GO_SDK, ("",))

    def start(code: str) -> None:
        (module / "send").mkdir()
        (module / "send" / "main.go").write_text(code)
        run(["go", "mod", "tidy"], cwd=module)
        run(["go", "run", "./send"], cwd=module)

    return start


@pytest.fixture
def start_python(tmp_path_factory, tmp_path) -> Start:
    packages = python_sdk(tmp_path_factory.mktemp("python-sdk"))

    def start(code: str) -> None:
        (tmp_path / "send.py").write_text(code)
        run([sys.executable, "-P", tmp_path / "send.py"],
            environment={**os.environ, "PYTHONPATH": str(packages), "HOME": str(tmp_path)})  # fmt: skip

    return start


@pytest.fixture
def start_node(tmp_path_factory, tmp_path) -> Start:
    packages = node_packages(tmp_path_factory.mktemp("node-sdk"), (NODE_SDK,))

    def start(code: str) -> None:
        (tmp_path / "send.js").write_text(code)
        environment = {**os.environ, "NODE_PATH": str(packages / "node_modules"), "HOME": str(tmp_path)}
        run(["node", tmp_path / "send.js"], environment=environment)

    return start


@pytest.fixture
def start_rust(tmp_path_factory, tmp_path) -> Start:
    project = rust_project(tmp_path_factory.mktemp("rust-sdk"))

    def start(code: str) -> None:
        (project / "src" / "main.rs").write_text(code)
        run(["cargo", "run", "-q", "--offline"], cwd=project, environment={**os.environ, "HOME": str(tmp_path)} | CARGO)

    return start


CARGO = {name: os.environ.get(name, str(Path.home() / folder)) for name, folder in
         (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))}  # fmt: skip
LANGUAGES = [
    pytest.param(name, marks=pytest.mark.slow) if name in ("Go", "Rust") else name for name in SDK_LANGUAGES if name != "C#"
]


def stored(topic: str, broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> list[dict]:
    capsys.readouterr()
    assert search(["--ns", broker.name_server, f'topic = "{topic}"']) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_program_sends_what_was_composed(broker, request, capsys, language, name):
    start = request.getfixturevalue(f"start_{language.lower()}")
    topic = f"{TOPIC}-{language}-{name}"
    create(broker, topic)
    message = MESSAGES[name]
    start(
        SDK_LANGUAGES[language](SendMessage(topic, -1, message.body, message.properties, 0, message.transaction), broker.grpc)
    )
    if name == "rollback":
        assert stored(topic, broker, capsys) == []
        return
    wait_until(lambda: stored(topic, broker, capsys), "no message arrived")
    (row,) = stored(topic, broker, capsys)
    assert base64.b64decode(row["body"]) == message.body
    wanted = {key: value for key, value in message.properties.items() if key not in ("KEYS", "TIMER_DELAY_MS")}
    assert {key: row["properties"].get(key) for key in wanted} == wanted
    assert set(row["properties"].get("KEYS", "").split()) == set(message.properties.get("KEYS", "").split())
    assert ("TIMER_OUT_MS" in row["properties"]) == (name == "late")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sample_program_runs_as_it_is_shown(broker, request, capsys, language):
    create(broker, "orders")
    before = len(stored("orders", broker, capsys))
    sample = next(sample for sample in SDK_SAMPLES if sample.title == language)
    request.getfixturevalue(f"start_{language.lower()}")(sample.code(broker.grpc))
    assert len(stored("orders", broker, capsys)) == before + 1

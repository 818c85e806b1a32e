"""Timer messages with the Java client of 5.3 and a real 5.3.3 broker: sent and recalled, and each takes over from the other."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.record import decode_record
from tests.support.broker_process import running_broker
from tests.support.foreign_tools import need
from tests.support.real_broker import PEER
from tests.support.toolchains import SHORT_LIVED, SUPPORT, compile_java
from tests.support.waiting import LOOK_PAUSE_S, wait_until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

VERSION = "5.3.3"
TOPIC = "java-timers"
COUNT, RECALLED = 8, 3
OPTIONS = ("--set", "recallMessageEnable=true", "--set", "mappedFileSizeCommitLog=1048576")


class Peer:
    """The program that runs a published broker, with a name server of its own."""

    def __init__(self, folder: Path) -> None:
        need("java", "mvn")
        self.folder = folder
        port = random.randrange(21_000, 31_000)
        self.name_server = f"127.0.0.1:{port}"
        self._environment = {**os.environ, "PEER_NS_PORT": str(port), "PEER_PORT": str(port + 500), "PEER_HEAP": "256m"}
        self._environment["JAVA_TOOL_OPTIONS"] = " ".join(SHORT_LIVED)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def class_path(self) -> str:
        return self.run("cp", VERSION).strip()

    def start(self) -> None:
        self.run("start", VERSION, str(self.folder), "recallMessageEnable=true", "mappedFileSizeCommitLog=1048576")

    def run(self, *arguments: str) -> str:
        command = [str(PEER), *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=250)
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout


@pytest.fixture
def peer(tmp_path):
    made = Peer(tmp_path / "peer")
    yield made
    if made.folder.exists():
        made.run("kill", str(made.folder))


@pytest.fixture
def send_timers(peer, tmp_path):
    class_path = f"{tmp_path}{os.pathsep}{peer.class_path()}"
    compile_java(class_path, tmp_path, SUPPORT / "JavaTimers.java")

    def send(name_server: str, *, first_ms: int) -> None:
        options = [*SHORT_LIVED, f"-Duser.home={tmp_path}", "-Xmx128m", "-cp", class_path, "JavaTimers"]
        arguments = [name_server, TOPIC, str(COUNT), str(first_ms), "700", str(RECALLED)]
        done = subprocess.run(["java", *options, *arguments], capture_output=True, text=True, check=False, timeout=240)
        lines = done.stdout.splitlines()
        assert sum(line.startswith("sent SEND_OK ") for line in lines) == COUNT, done.stdout + done.stderr
        assert sum(line.startswith("recalled ") for line in lines) == 1, done.stdout + done.stderr

    return send


EXPECTED = {f"timer-{number}" for number in range(COUNT)} - {f"timer-{RECALLED}"}


def wait_for_all(root: Path) -> None:
    """Until all that were not recalled are there; then none was early, and each came once."""
    wait_until(
        lambda: {body for body, _late in delivered(root)} >= EXPECTED, lambda: str(delivered(root)), pause_s=LOOK_PAUSE_S
    )
    found = delivered(root)
    assert sorted(body for body, _late in found) == sorted(EXPECTED)
    assert all(late_ms >= 0 for _body, late_ms in found)


def delivered(root: Path) -> list[tuple[str, int]]:
    """Body and lateness of the messages in the topic, by a look at the files."""
    found = []
    with MessageStore.open(StoreConfig(root=root), read_only=True) as store:
        for topic, queue_id in store.queues():
            records = store.get_messages(topic, queue_id, 0, 32).records if topic == TOPIC else []
            for message in map(decode_record, records):
                due_ms = int(message.properties["TIMER_OUT_MS"]) + 1_000
                found.append((message.body.decode(), message.store_timestamp_ms - due_ms))
    return found


def test_the_java_client_sends_timers_to_ours_and_recalls_one(tmp_path, send_timers):
    with running_broker(tmp_path / "store", *OPTIONS) as broker:
        send_timers(broker.name_server, first_ms=5_000)
        wait_for_all(tmp_path / "store")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_ours_takes_over_the_timers_of_a_real_broker(peer, send_timers, how):
    peer.start()
    send_timers(peer.name_server, first_ms=25_000)
    peer.run(how, str(peer.folder))
    assert delivered(peer.store) == []
    with running_broker(peer.store):
        wait_for_all(peer.store)


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_real_broker_takes_over_our_timers(peer, send_timers, is_killed):
    peer.folder.mkdir()
    try:
        with running_broker(peer.store, *OPTIONS) as broker:
            send_timers(broker.name_server, first_ms=30_000)
            if is_killed:
                broker.process.kill()
    except AssertionError:
        assert is_killed
    assert delivered(peer.store) == []
    peer.start()
    wait_for_all(peer.store)

"""The real window on two brokers of RocketMQ, 4.9.4 and 5.3.3, of which one is killed, and on one that refuses its key.

Marked, as they need Java and Maven; `test_lost_brokers` looks at every page, over brokers in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gui.connections import ATTACHED, Cluster
from gui.garbage import GarbageTurns
from tests.support.client_thread import ClientThread
from tests.support.real_accounts import ACCOUNTS
from tests.support.real_broker import RealBroker
from tests.support.real_peer import running_peer
from tests.support.real_traffic import fill
from tests.support.watched_pages import Lines, Place, WatchedPages

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(1_800)]

A, B = "broker-a", "broker-b"
SENT = 40
MESSAGES, QUEUES = Place("messages", {"topic": "T"}), Place("topic", {"topic": "T", "tab": "queues"})


class Scene:
    """A window and what is started with it."""

    def __init__(self, clients: ClientThread, watched: WatchedPages) -> None:
        self.clients = clients
        self.watched = watched

    @property
    def banner(self) -> str:
        """What stands over all pages; empty while nothing does."""
        banner = self.watched.window.banner
        return banner.text if banner.isVisible() else ""

    def unsaid(self, place: Place, patterns: Sequence[str]) -> list[str]:
        """What a page does not say, however long one waits."""

        def missing(said: Lines) -> list[str]:
            return [pattern for pattern in patterns if not any(re.fullmatch(pattern, line) for line in said)]

        return missing(self.watched.see(place, lambda _name, said: not missing(said)))


MakeScene = Callable[[str], Scene]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def make_scene(qapp: QApplication, home: Path) -> Iterator[MakeScene]:
    opened: list[WatchedPages] = []
    with ClientThread() as clients, GarbageTurns():

        def make(name_server: str) -> Scene:
            opened.append(WatchedPages(qapp, home, Cluster(ATTACHED, name_server, title="Real")))
            return Scene(clients, opened[0])

        yield make
        for watched in opened:
            watched.close(clients)


def kept(watched: WatchedPages) -> int:
    """Messages of the topic that the window knows of; -1 before it knows the topic, or of a broker that is lost."""
    state = watched.source.state
    if state is None or "T" not in state.catalog.topics:
        return -1
    return int(state.topic_kept_messages[state.catalog.topics.index("T")])


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_a_broker_that_is_killed_is_marked_and_comes_back(make_scene: MakeScene, home: Path, version: str) -> None:
    settings = {"autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"}
    with running_peer(version, home / "a", **settings) as first:
        second = RealBroker(version, home / "b", {**settings, "brokerName": B, "namesrvAddr": first.name_server})
        second.start()
        try:
            scene = make_scene(first.name_server)
            watched = scene.watched
            watched.start()
            watched.until(lambda: set(watched.source.state.catalog.brokers) == {A, B}, "not both are registered")
            for number, broker in enumerate((A, B)):
                sending = scene.clients.begin(fill(first.name_server, "T", SENT, broker=broker, first=number * SENT))
                watched.until(sending.done, "the messages are not sent")
                sending.result()
            watched.until(lambda: kept(watched) == 2 * SENT, "the messages are not known")
            second.stop(kill=True)
            told = rf"A part of the cluster is missing\. {B}: no answer since [\d,]+ s: .+"
            watched.until(lambda: re.fullmatch(told, scene.banner), "it is not told")
            queues = (r"8 queues, — kept, .*", rf"- 0 \| 0 \| {SENT} \| {SENT} \| .*", r"- 10000( \| —){10}")
            assert scene.unsaid(QUEUES, queues) == []
            missing = rf"Not all brokers answered, and what they hold is missing here\. {B}: .*"
            assert scene.unsaid(MESSAGES, (missing, f"{SENT} messages, newest first")) == []
            second.start()
            watched.until(lambda: not scene.banner, "it is still missing")
            watched.until(lambda: kept(watched) == 2 * SENT, "what it holds is not counted")
            assert scene.unsaid(MESSAGES, (f"{2 * SENT} messages, newest first",)) == []
            assert watched.console.errors.count == 0
        finally:
            second.stop(kill=True)


def test_a_broker_that_lets_nobody_in_is_told_with_its_reason(make_scene: MakeScene, home: Path) -> None:
    with running_peer("5.3.3", home / "a", **ACCOUNTS) as broker:
        broker.until_registered()
        scene = make_scene(broker.name_server)
        scene.watched.start()
        told = rf"A part of the cluster is missing\. {A}: .*NO_PERMISSION.*; for [\d,]+ s"
        scene.watched.until(lambda: re.fullmatch(told, scene.banner), "it is not told")
        row = rf"- {A} \| <address> \| — \| 0 \| .*NO_PERMISSION.*; for <age> \|"
        assert scene.unsaid(Place("store"), (row,)) == []
        assert scene.watched.console.errors.count == 0

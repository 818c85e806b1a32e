"""A cluster that only a SOCKS proxy or an SSH tunnel leads to, connected to in the real window as a person does it.

The name server and the broker of RocketMQ 5.3.3 are asked for at an address that no network has. The dialog tries the way and
goes there, pages show what lies there, the window says when the way is gone and goes on by itself when it is back. On demand,
as Java and Maven are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Protocol

import pytest
from PySide6.QtWidgets import QApplication

from broker_core.client.instance import ClientSecurity
from broker_core.transport.proxies import SocksProxy, SshTunnel, Way
from gui.models.hops import ConnectionHop
from gui.views.connections.asking import ConnectDialog
from gui.views.connections.connect_fields import SOCKS, SSH, ConnectFields
from gui.views.settings.connections_panel import ConnectionsPanel
from gui.views.settings.view import SettingsView
from tests.support.client_thread import ClientThread
from tests.support.real_broker import RealBroker
from tests.support.real_peer import running_peer
from tests.support.real_traffic import fill
from tests.support.watched_pages import Place, WatchedPages, WatchedScene
from tests.support.ways import FAR, PASSWORD, USER, SshKeys, know_host, socks_proxy, ssh_keys, ssh_server

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1_800)]

SENT = 40
MESSAGES = Place("messages", {"topic": "T"})


class Server(Protocol):
    """The proxy or the SSH server while it runs."""

    port: int
    asked: list[str]


class Passage:
    """A proxy or an SSH server on the thread of the clients; it comes back at the port that it had."""

    hop = "SOCKS proxy"

    def __init__(self) -> None:
        self.port = 0
        self.asked: set[str] = set()
        self._running = AsyncExitStack()
        self._server: Server | None = None

    async def start(self) -> None:
        """Start it, again too."""
        self._server = await self._running.enter_async_context(self.server())
        self.port = self._server.port

    async def stop(self) -> None:
        """End it with all that goes through it."""
        if self._server is not None:
            self.asked |= set(self._server.asked)
        await self._running.aclose()

    def server(self) -> AbstractAsyncContextManager[Server]:
        """What is started."""
        return socks_proxy(with_password=True, port=self.port)

    @property
    def way(self) -> Way:
        """How clients of the test use it."""
        return SocksProxy("127.0.0.1", self.port, USER, PASSWORD)

    def fill_in(self, fields: ConnectFields) -> None:
        """Write it into the dialog."""
        fields.way.choose(SOCKS)
        fields.way.chosen.emit(SOCKS)
        fields.socks.setText(f"127.0.0.1:{self.port}")
        fields.socks_user.setText(USER)
        fields.socks_password.setText(PASSWORD)


class Tunnel(Passage):
    """An SSH server that lets one locked key in."""

    hop = "SSH tunnel"

    def __init__(self, keys: SshKeys) -> None:
        super().__init__()
        self._keys = keys

    async def start(self) -> None:
        await super().start()
        know_host(self._keys, self.port)

    def server(self) -> AbstractAsyncContextManager[Server]:
        return ssh_server(self._keys, self.port)

    @property
    def way(self) -> Way:
        keys = self._keys
        return SshTunnel("127.0.0.1", self.port, keys.user, keys.locked_key, keys.passphrase, keys.known_hosts)

    def fill_in(self, fields: ConnectFields) -> None:
        keys = self._keys
        fields.way.choose(SSH)
        fields.way.chosen.emit(SSH)
        fields.ssh.setText(f"127.0.0.1:{self.port}")
        fields.ssh_user.setText(keys.user)
        fields.ssh_key.setText(str(keys.locked_key))
        fields.ssh_passphrase.setText(keys.passphrase)
        fields.ssh_known_hosts.setText(str(keys.known_hosts))


class Scene(WatchedScene):
    """A window on its own broker, clients beside it, and what they do together."""

    def __init__(self, application: QApplication, folder: Path, clients: ClientThread, passage: Passage) -> None:
        super().__init__(clients, WatchedPages(application, folder))
        self.passage = passage

    def send(self, name_server: str) -> None:
        """Send to the cluster by the same way."""
        self.run(fill(name_server, "T", SENT, security=ClientSecurity(way=self.passage.way)))

    def connect(self, name_server: str) -> list[ConnectionHop]:
        """Write a connection into the dialog, try it, and go there; returns what the test found."""
        window = self.watched.window
        assert window.actions_known.run("broker.connect")
        (dialog,) = window.findChildren(ConnectDialog)
        dialog.fields.name.setText("Far away")
        dialog.fields.address.setText(name_server)
        dialog.fields.tabs.choose("way")
        dialog.fields.tabs.chosen.emit("way")
        self.passage.fill_in(dialog.fields)
        self.watched.until(dialog.test.isEnabled, dialog.fault.text())
        dialog.test.click()
        self.watched.until(lambda: dialog.probe.is_running, "the test does not begin")
        self.watched.until(lambda: not dialog.probe.is_running, "the test does not end")
        found = dialog.probe.hops
        self.watched.until(dialog.go.isEnabled, dialog.fault.text())
        dialog.go.click()
        self.watched.until(lambda: self.watched.source.name == name_server, "it does not go there")
        return found

    def doctor(self) -> list[ConnectionHop]:
        """What the doctor of the settings finds."""
        self.watched.window.navigate("settings", show="connections")
        view = self.watched.window.area.current
        assert isinstance(view, SettingsView)
        panel = view.section("connections")
        assert isinstance(panel, ConnectionsPanel)
        ended: list[bool] = []
        panel.doctor.ended.connect(lambda: ended.append(True))
        panel.test_button.click()
        self.watched.until(lambda: ended, "the doctor does not end")
        return list(panel.doctor.hops)

    def kept(self) -> int:
        """Messages of the topic that the window knows of; -1 before it knows the topic, or of a broker that is lost."""
        state = self.watched.source.state
        if state is None or "T" not in state.catalog.topics:
            return -1
        return int(state.topic_kept_messages[state.catalog.topics.index("T")])

    def shows(self, line: str) -> bool:
        """Whether the page of messages says a line, sooner or later."""

        def is_there(said: list[str]) -> bool:
            return any(re.fullmatch(line, one) for one in said)

        return is_there(self.watched.see(MESSAGES, lambda _name, said: is_there(said)))


def faults(hops: list[ConnectionHop]) -> dict[str, str]:
    """Hop → what is wrong, of those that were tried and failed."""
    return {hop.name: hop.what_is_wrong for hop in hops if hop.fault}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RealBroker]:
    settings = {"brokerIP1": FAR, "autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"}
    with running_peer("5.3.3", tmp_path / "real", **settings) as running:
        yield running


@pytest.fixture(params=[Passage, Tunnel])
def passage(request: pytest.FixtureRequest, tmp_path: Path) -> Passage:
    return Tunnel(ssh_keys(tmp_path)) if request.param is Tunnel else Passage()


@pytest.fixture
def scene(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passage: Passage) -> Iterator[Scene]:
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    with ClientThread() as clients:
        clients.call(passage.start())
        made = Scene(qapp, tmp_path, clients, passage)
        try:
            yield made
        finally:
            made.watched.close(clients)
            clients.call(passage.stop())


def test_a_cluster_behind_a_way_is_connected_to_shown_lost_with_the_way_and_found_again(
    scene: Scene, broker: RealBroker, passage: Passage
) -> None:
    near, far = broker.name_server, broker.name_server.replace("127.0.0.1", FAR)
    watched, seen = scene.watched, broker.address.replace("127.0.0.1", FAR)
    watched.start()
    scene.send(far)
    hops = scene.connect(far)
    assert (faults(hops), [hop.name for hop in hops if not hop.is_tried]) == ({}, [])
    assert passage.hop in {hop.name for hop in hops}
    watched.until(lambda: scene.kept() == SENT, "the messages are not known")
    assert scene.shows(f"{SENT} messages, newest first")
    assert faults(scene.doctor()) == {}
    scene.run(passage.stop())
    assert {far, seen} <= passage.asked
    assert not any("127.0.0.1" in asked for asked in passage.asked), near
    told = rf"A part of the cluster is missing\. .*127\.0\.0\.1:{passage.port}.*"
    watched.until(lambda: re.fullmatch(told, scene.banner), "it is not told")
    assert list(faults(scene.doctor())) == [passage.hop]
    scene.run(passage.start())
    watched.until(lambda: not scene.banner, "it is still missing")
    assert faults(scene.doctor()) == {}
    scene.send(far)
    watched.until(lambda: scene.kept() == 2 * SENT, "what is sent anew is not counted")
    assert scene.shows(f"{2 * SENT} messages, newest first")
    assert watched.console.errors.count == 0

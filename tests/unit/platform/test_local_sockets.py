"""Local sockets: what is sent arrives, and a stranger has no greeting."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from broker_core.platform import local_sockets

SECONDS = 10.0

pytestmark = pytest.mark.usefixtures("both_platforms")


@pytest.fixture
def path():
    # A path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="orbit-") as folder:
        yield Path(folder) / "a.sock"


def test_who_connects_is_heard(path):
    listening = local_sockets.listen_local(path)
    with listening.socket as server:
        end = local_sockets.connect_local(path, SECONDS)
        with end.socket as client:
            client.sendall(end.greeting + b"words")
            line, _ = server.accept()
            with line:
                line.settimeout(SECONDS)
                assert line.recv(1000) == listening.greeting + b"words"


def test_nobody_listens_at_a_path_without_a_socket(path):
    with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
        local_sockets.connect_local(path, SECONDS)
    path.write_bytes(b"no port")
    with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
        local_sockets.connect_local(path, SECONDS)


def test_nobody_listens_where_a_closed_socket_left_its_path(path):
    local_sockets.listen_local(path).socket.close()
    assert path.exists()
    with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
        local_sockets.connect_local(path, SECONDS)


def test_a_path_that_is_taken_is_refused(path):
    path.write_bytes(b"")
    with pytest.raises(OSError, match=r"exists|in use"):
        local_sockets.listen_local(path)


def test_the_secret_of_the_plain_way_is_the_user_s_alone_and_new_each_time(path):
    first = local_sockets.plain_listen_local(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(first.greeting) == 33
    assert first.socket.getsockname()[0] == "127.0.0.1"
    first.socket.close()
    path.unlink()
    second = local_sockets.plain_listen_local(path)
    second.socket.close()
    assert second.greeting != first.greeting


def test_two_ends_of_a_pair_are_connected():
    near, far = local_sockets.socket_pair()
    with near, far:
        far.settimeout(SECONDS)
        near.sendall(b"words")
        assert far.recv(100) == b"words"
        assert near.gettimeout() is None


def test_a_stranger_does_not_become_an_end_of_a_pair(monkeypatch):
    """Between ``listen`` and ``connect`` another program may connect to the port."""
    strangers = []

    class Listener(socket.socket):
        def listen(self, waiting):
            super().listen(waiting + 1)
            strangers.append(socket.create_connection(self.getsockname()))

    monkeypatch.setattr(socket, "socket", Listener)
    with pytest.raises(ConnectionRefusedError, match="another program"):
        local_sockets.plain_socket_pair()
    for stranger in strangers:
        stranger.close()


def test_a_port_can_be_taken_again(monkeypatch):
    with socket.socket() as listener:
        local_sockets.allow_reuse(listener)
        is_set = listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
    assert bool(is_set) == (os.environ.get("ORBIT_PLATFORM") != "plain")

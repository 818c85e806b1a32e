"""The command line refuses targets that the window keeps as read-only."""

import socket

import pytest
from PySide6.QtCore import QSettings

from gui.connections.cluster import ATTACHED, EMBEDDED, STORES_KEY, Cluster, kept_text
from gui.connections.target_refusal import target_refusal


@pytest.fixture
def settings_file(tmp_path):
    path = tmp_path / "window.ini"
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    kept = (
        Cluster(EMBEDDED, "/data/store"),
        Cluster(ATTACHED, "a:9876;b:9876", read_only=True, title="Production"),
        Cluster(ATTACHED, "c:9876"),
        Cluster(ATTACHED, "d:9876", production=True),
        Cluster(ATTACHED, "localhost:9871", production=True, title="At home"),
        Cluster(ATTACHED, "127.0.0.1:9872", production=True, ssh="jump:22"),
    )
    settings.setValue(STORES_KEY, [kept_text(cluster) for cluster in kept])
    settings.sync()
    return path


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Names of this machine are known; the network, which may take seconds for others, is not asked."""
    look_up = socket.getaddrinfo

    def known(host, *arguments, **options):
        if host.lower() not in {"localhost", "127.0.0.1"}:
            raise socket.gaierror(socket.EAI_NONAME, "unknown here")
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", known)


def test_one_of_its_name_servers_is_enough(settings_file):
    assert "read-only connection “Production”" in target_refusal(settings_file, "x:1; b:9876")
    assert target_refusal(settings_file, "c:9876;x:1") == ""
    assert "the production connection “d:9876”" in target_refusal(settings_file, "d:9876")


def test_where_no_window_keeps_anything_nothing_is_refused(tmp_path):
    assert target_refusal(tmp_path / "none.ini", "a:9876") == ""


def test_a_host_of_two_names_is_one(settings_file):
    assert "“At home”" in target_refusal(settings_file, "127.0.0.1:9871")
    assert "“At home”" in target_refusal(settings_file, "LOCALHOST:9871")
    assert target_refusal(settings_file, "127.0.0.1:9870") == ""


def test_loopback_behind_a_tunnel_is_another_machine(settings_file):
    assert target_refusal(settings_file, "127.0.0.1:9872") == ""


def test_a_production_cluster_is_changed_when_its_name_is_given(settings_file):
    assert "--production 'At home'" in target_refusal(settings_file, "localhost:9871", confirmed="")
    assert "--production 'At home'" in target_refusal(settings_file, "localhost:9871", confirmed="Production")
    assert target_refusal(settings_file, "localhost:9871", confirmed="At home") == ""
    assert target_refusal(settings_file, "d:9876", confirmed="d:9876") == ""
    assert "read-only" in target_refusal(settings_file, "a:9876", confirmed="Production")

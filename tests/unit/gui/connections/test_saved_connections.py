"""What commands find of the window's connections by their names."""

import json

import pytest
from PySide6.QtCore import QSettings

from broker_core.cluster.access import access_of_line
from broker_core.errors import UsageError
from gui.connections.cluster import ATTACHED, EMBEDDED, STORES_KEY, Cluster, kept_text
from gui.connections.saved_connections import saved_details
from gui.connections.secret_file import SecretFile
from gui.connections.secret_store import SecretStore

PROD = Cluster(ATTACHED, "h:9876;g:9876", True, title="Prod", access_key="ann", addresses=(("a:1", "b:1"),))
TEST = Cluster(ATTACHED, "t:9876", title="Test")


@pytest.fixture
def secrets(tmp_path):
    return SecretStore(SecretFile(tmp_path / "secrets.json"), lambda: None)


@pytest.fixture
def find(tmp_path, secrets):
    """Finds by a name, among what is kept."""

    def keep(*clusters):
        path = tmp_path / "window.ini"
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        settings.setValue(STORES_KEY, [kept_text(cluster) for cluster in clusters])
        settings.sync()
        return lambda name: access_of_line(saved_details(path, secrets, name))

    return keep


def test_a_connection_is_found_by_its_name_or_its_name_servers(find, secrets):
    secrets.keep(PROD.address, {"ann": "hidden"})
    by_name = find(Cluster(EMBEDDED, "/store"), PROD, TEST)
    for name in ("Prod", "prod", "h:9876;g:9876"):
        access = by_name(name)
        assert (access.name_servers, access.security.addresses, access.read_only) == (PROD.address, {"a:1": "b:1"}, True)
        assert access.security.credentials.secret_key == "hidden"
    assert by_name("Test").security.credentials is None
    assert find(TEST)("Test").name_servers == "t:9876", "Qt gives a list of one back as the one"


def test_a_name_that_nobody_has_says_which_there_are(find):
    with pytest.raises(UsageError, match=r"no connection is called “Live”\. There are: “Prod”, “Test”"):
        find(PROD, TEST)("Live")
    with pytest.raises(UsageError, match="There are: none"):
        find(Cluster(EMBEDDED, "/store"))("Live")


def test_a_name_that_several_have_is_not_guessed(find):
    with pytest.raises(UsageError, match="2 connections are called “Test”: say which by its name servers: t:9876, u:9876"):
        find(TEST, Cluster(ATTACHED, "u:9876", title="Test"))("Test")


def test_a_secret_that_is_not_kept_is_told(find):
    with pytest.raises(UsageError, match="no secret key is kept for the access key of “Prod”"):
        find(PROD)("Prod")


def test_without_a_window_there_are_none(tmp_path, secrets):
    with pytest.raises(UsageError, match="no connections are kept in"):
        saved_details(tmp_path / "none.ini", secrets, "Prod")


def test_details_are_one_line(find, tmp_path, secrets):
    find(TEST)
    line = saved_details(tmp_path / "window.ini", secrets, "Test")
    assert (b"\n" in line, json.loads(line)) == (False, {"nameServers": "t:9876"})

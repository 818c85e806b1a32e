"""The command line refuses targets that the window keeps as read-only."""

import pytest
from PySide6.QtCore import QSettings

from gui.connections import ATTACHED, EMBEDDED, STORES_KEY, Cluster, kept_text
from gui.copy_refusal import copy_refusal


@pytest.fixture
def settings_file(tmp_path):
    path = tmp_path / "window.ini"
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    kept = (
        Cluster(EMBEDDED, "/data/store"),
        Cluster(ATTACHED, "a:9876;b:9876", read_only=True, title="Production"),
        Cluster(ATTACHED, "c:9876"),
        Cluster(ATTACHED, "d:9876", production=True),
    )
    settings.setValue(STORES_KEY, [kept_text(cluster) for cluster in kept])
    settings.sync()
    return path


def test_one_of_its_name_servers_is_enough(settings_file):
    assert "read-only connection “Production”" in copy_refusal(settings_file, "x:1; b:9876")
    assert copy_refusal(settings_file, "c:9876;x:1") == ""
    assert "the production connection “d:9876”" in copy_refusal(settings_file, "d:9876")


def test_where_no_window_keeps_anything_nothing_is_refused(tmp_path):
    assert copy_refusal(tmp_path / "none.ini", "a:9876") == ""

"""Every badge of the side bar is the number with which its page opens, on the own broker, attached and in an opened store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from broker_core.config import BrokerConfig, StoreConfig, with_settings
from gui.connections.cluster import ATTACHED, Cluster
from gui.words.text import UNKNOWN
from tests.gui.test_figures_agree import OPENS_WITH, VIEWS, number
from tests.support.broker_thread import broker_thread
from tests.support.client_thread import ClientThread
from tests.support.known_traffic import BROKER, SETTINGS
from tests.support.watched_pages import CONNECTION, WatchedPages, watching

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WITHOUT_BADGE = {
    "own": set(),
    # Known after a look at them, and for connections only within a broker.
    "attached": {"transactions", "clients"},
    "opened": {"clients", "alerts"},
}
"""Pages without a badge."""
LAG, DELAYED = 10, 5


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return


def check_badges(watched: WatchedPages, source: str) -> None:
    bar = watched.window.side_bar
    badged = VIEWS.keys() - WITHOUT_BADGE[source]
    watched.until(lambda: all(number_or_none(bar.items[page_id].toolTip()) for page_id in badged), "a badge is missing")
    for page_id in VIEWS:
        watched.window.navigate(page_id)
        watched.settled(page_id, watched._page, lambda _name, _said: True)
        badge = bar.items[page_id]
        assert badge.count != UNKNOWN, f"{source} {page_id}"
        if page_id in badged or badge.count:
            assert number(badge.toolTip()) == number(OPENS_WITH[page_id](watched._page())), f"{source} {page_id}"
    assert (number(bar.items["consumers"].toolTip()), number(bar.items["delay"].toolTip())) == (LAG, DELAYED)


def number_or_none(text: str) -> int | None:
    return number(text) if any(letter.isdigit() for letter in text) else None


def test_badges_of_the_own_broker_and_of_its_store_when_it_is_opened(qapp: QApplication, tmp_path: Path) -> None:
    with watching(qapp, tmp_path) as watched:
        check_badges(watched, "own")
    opened = WatchedPages(qapp, tmp_path / "again", opened_store=tmp_path / "store")
    with ClientThread() as clients:
        try:
            opened.start()
            check_badges(opened, "opened")
        finally:
            opened.close(clients)


def test_badges_of_an_attached_cluster(qapp: QApplication, tmp_path: Path) -> None:
    root = tmp_path / "broker"
    config = BrokerConfig(listen_port=0, name_server_port=0, broker_name=BROKER, store=StoreConfig(root=root))
    with (
        broker_thread(root, with_settings(config, SETTINGS)) as broker,
        watching(qapp, tmp_path / "window", Cluster(ATTACHED, broker.name_server, title=CONNECTION)) as watched,
    ):
        check_badges(watched, "attached")

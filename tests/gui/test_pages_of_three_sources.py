"""The same traffic on the window's own broker, on RocketMQ 4.9.4 and on 5.3.3: every page opens and shows what was sent.

That the answers behind the pages are the same is tested by `tests.interop.test_sources_agree`. The own broker is looked at in
every run; the real ones are marked, because they need Java and Maven. ``ORBIT_PAGES`` names the pages to look at, as a pattern
of their names (``topic .*|store``), because all of them take minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from gui.connections.cluster import ATTACHED, Cluster
from tests.support.known_traffic import BEHIND_AT, DEAD, PENDING, RETRIED, SETTINGS
from tests.support.real_peer import running_peer
from tests.support.watched_pages import CONNECTION, ONLY, Lines, places, watching

OWN = "own"
REAL = [pytest.param(name, marks=(pytest.mark.clients, pytest.mark.slow)) for name in ("4.9.4", "5.3.3")]
pytestmark = pytest.mark.timeout(3_600)


@dataclass(slots=True)
class Toured:
    """What the pages of a source said."""

    pages: dict[str, Lines]
    errors: int


def tour(application: QApplication, folder: Path, version: str) -> Toured:
    """Open every page of a source; each may take a while to show what follows from the traffic."""

    def accepts(name: str, said: Lines) -> bool:
        return not missing_facts({name: said})

    def seen(cluster: Cluster | None) -> Toured:
        with watching(application, folder, cluster) as watched:
            return Toured(watched.tour(accepts), watched.console.errors.count)

    if version == OWN:
        return seen(None)
    with running_peer(version, folder / "real", **SETTINGS) as broker:
        broker.until_registered()
        return seen(Cluster(ATTACHED, broker.name_server, title=CONNECTION))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    """Folders of a user of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STATE", "DATA", "CONFIG", "CACHE"):
            patch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name.lower())))
        yield patch


@pytest.fixture(scope="module")
def own(qapp: QApplication, home: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Toured:
    del home
    return tour(qapp, tmp_path_factory.mktemp("own"), OWN)


@pytest.fixture(scope="module", params=REAL)
def real(
    qapp: QApplication, home: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Toured:
    del home
    return tour(qapp, tmp_path_factory.mktemp("real"), request.param)


RATES = r"[\d,.]+/s \| [\d,.]+/s"
"""In and out of a group; how fast the traffic was depends on the machine."""
FACTS = {
    "topic queues": [
        "4 queues, 12 kept, .*last message <age> ago",
        *(rf"- {queue} \| 0 \| 3 \| 3 \| .*" for queue in range(4)),
    ],
    "order topic settings": [r"\[field: 2\]", r"\[button: yes, on\]"],
    "group billing lag": [
        *(rf"- orders \| {queue} \| 3 \| {at} \| {3 - at} \| <age> \| \| nobody" for queue, at in enumerate(BEHIND_AT)),
        rf"- billing \| 9 \| <age> \| {RATES} \| offline \| [^|]+ \| —",
        rf"- shipping \| 0 \| <age> \| {RATES} \| offline \| no lag \| —",
        rf"- stock \| 1 \| <age> \| {RATES} \| offline \| [^|]+ \| —",
        rf"- team \| 0 \| <age> \| {RATES} \| \| no lag \| 2 · 4.9.8",
    ],
    "group team members": [r"- 127.0.0.1@one \| Python 4.9.8 \| 3 \| .*", r"- 127.0.0.1@two \| Python 4.9.8 \| 2 \| .*"],
    "delay level 5": [
        r"\[picture: Pending: 5 messages 5 by level, .*\]",
        *(rf"- .*level-5-{number}.*" for number in range(PENDING[5])),
    ],
    "transactions open": [r"- Prepared \| pay-cedar \| payments \| payers \| .*"],
    "dead letters": [rf"- .*order-{DEAD} .*"],
    "messages by offset": [rf"- .* \| order-{RETRIED} .*"],
    "tail": [r"- .*audit at last.*"],
}
"""Page → lines that follow from the traffic, whatever the source is."""


def missing_facts(pages: dict[str, Lines]) -> dict[str, list[str]]:
    """Page → facts that it does not tell."""
    found = {
        name: [fact for fact in facts if not any(re.fullmatch(fact, line) for line in pages[name])]
        for name, facts in FACTS.items()
        if name in pages
    }
    return {name: facts for name, facts in found.items() if facts}


def test_a_window_on_its_own_broker_tells_what_was_sent(qapp: QApplication, home: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del home
    wanted = {"topic queues", "group billing lag", "delay level 5", "transactions open"}

    def accepts(name: str, said: Lines) -> bool:
        return not missing_facts({name: said})

    with watching(qapp, tmp_path) as watched:
        pages = {place.name: watched.see(place, accepts) for place in places() if place.name in wanted}
        errors = watched.console.errors.count
    assert pages.keys() == wanted
    assert (missing_facts(pages), errors) == ({}, 0)


@pytest.mark.slow
def test_all_pages_of_the_own_broker_tell_what_was_sent(own: Toured) -> None:
    assert {name for name in FACTS if ONLY.fullmatch(name)} <= set(own.pages)
    assert (missing_facts(own.pages), own.errors) == ({}, 0)


def test_pages_of_a_real_broker_show_what_was_sent(real: Toured) -> None:
    assert {name for name in FACTS if ONLY.fullmatch(name)} <= set(real.pages)
    assert (missing_facts(real.pages), real.errors) == ({}, 0)

"""The real window on two brokers of which one fails: pages mark what is missing, show the rest, and are as before afterwards.

These brokers are in memory; `test_lost_real_brokers` has real ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from broker_core.protocol.names import SCHEDULE_TOPIC
from gui.connections.cluster import ATTACHED, Cluster
from tests.support.client_thread import ClientThread
from tests.support.fake_cluster import Answer, FakeBroker, FakeCluster, refused, rubbish, silent
from tests.support.watched_pages import Lines, Place, WatchedPages

pytestmark = pytest.mark.timeout(600)

A, B = "broker-a", "broker-b"
MARK = "Not all brokers answered"
MISSING = rf"{MARK}, and what they hold is missing here\. {B}: .*"
HERE = rf"- .* \| {A} orders \d \d \| .*"
LOST = (
    (
        Place("overview"),
        (
            r"\[Part missing\]",
            r"\[picture: Consumer lag: — *\]",
            r"- orders \| — \|.*",
            r"(.*\W)?a broker does not answer(\W.*)?",
        ),
    ),
    (Place("topics", {"topic": "orders"}), (rf"\[picture: Write rate by queue: {A} 0: .*{B} 0: —, {B} 1: —\]",)),
    (
        Place("topic", {"topic": "orders", "tab": "queues"}),
        (r"4 queues, — kept", rf"- {A} 1 \| 0 \| 3 \| 3 \| .*", rf"- {B} 1( \| —){{11}}"),
    ),
    (
        Place("consumers", {"group": "g", "tab": "lag"}),
        (r"- g \| — \| — \| .*", rf"- orders \| {A} 0 \| 3 \| 1 \| 2 \| .*", rf"- orders \| {B} 0 \| — \| — \| — \| — \| .*"),
    ),
    (Place("consumers", {"group": "g", "tab": "members"}), (MISSING,)),
    (Place("delay", {"level": 1}), (MISSING, "1 to 2 by due time")),
    (
        Place("transactions", {"show": "open"}),
        (MISSING, "0 undecided on the brokers that answered", r".*No open transactions on the brokers that answered\."),
    ),
    (Place("clients"), (MISSING,)),
    (Place("store"), (rf"- {A} \| .* \| yes \| .*", rf"- {B} \| .* \| no answer for <age>: cannot connect to .* \| .*")),
    (Place("messages", {"topic": "orders"}), (MISSING, HERE, "6 messages, newest first")),
    (Place("tail"), (r"\[Following in part\]",)),
    (Place("broker_settings"), (MISSING, r"- messageDelayLevel \| .*")),
    (Place("topic", {"topic": "orders", "tab": "settings"}), (MISSING,)),
)
"""Where to look, and what is said there while the second broker is down: what is missing, and what is not."""


class Scene:
    """A window on two brokers."""

    def __init__(self, clients: ClientThread, cluster: FakeCluster, watched: WatchedPages) -> None:
        self.clients = clients
        self.cluster = cluster
        self.watched = watched

    @property
    def banner(self) -> str:
        """What stands over all pages; empty while nothing does."""
        banner = self.watched.window.banner
        return banner.text if banner.isVisible() else ""

    def unsaid(self, place: Place, patterns: Sequence[str]) -> list[str]:
        """What a page does not say, however long one waits."""
        said = self.watched.see(place, lambda _name, said: not missing(said, patterns))
        return missing(said, patterns)

    def is_marked(self, place: Place) -> bool:
        """Whether a page says that something is missing, however long one waits for it to stop."""
        return MARK in "".join(self.watched.see(place, lambda _name, said: MARK not in "".join(said)))


def missing(said: Lines, patterns: Sequence[str]) -> list[str]:
    """Patterns that no line has."""
    return [pattern for pattern in patterns if not any(re.fullmatch(pattern, line) for line in said)]


def broker(name: str) -> FakeBroker:
    topics = {"orders": 2, SCHEDULE_TOPIC: 18}
    return FakeBroker(name, topics, {"orders": 3, SCHEDULE_TOPIC: 2}, ["g"], {"orders@g": {0: 1, 1: 1}})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def scene(qapp: QApplication, home: Path) -> Iterator[Scene]:
    with scene_of(qapp, home, [broker(A), broker(B)]) as made:
        made.watched.until(lambda: kept(made.watched) == 12, "the messages are not known")
        yield made


@contextmanager
def scene_of(qapp: QApplication, home: Path, brokers: list[FakeBroker]) -> Iterator[Scene]:
    """A window on these brokers."""
    with ClientThread() as clients:
        cluster = FakeCluster(brokers)
        clients.call(cluster.__aenter__())
        watched = WatchedPages(qapp, home, Cluster(ATTACHED, cluster.name_server, title="Two"))
        try:
            watched.start()
            yield Scene(clients, cluster, watched)
        finally:
            watched.close(clients)
            clients.call(cluster.__aexit__())


def kept(watched: WatchedPages) -> int:
    """Messages of the topic that the window knows of; -1 before it knows the topic, or of a broker that is lost."""
    state = watched.source.state
    if state is None or "orders" not in state.catalog.topics:
        return -1
    return int(state.topic_kept_messages[state.catalog.topics.index("orders")])


def fits(widget: QWidget) -> bool:
    """Whether a page is not wider than the room it has: what is told of a fault must not push the rest out of sight."""
    room = widget.parentWidget()
    return room is None or widget.minimumSizeHint().width() <= room.width()


def test_the_part_of_a_broker_that_is_down_is_marked_everywhere_and_comes_back(scene: Scene) -> None:
    watched = scene.watched
    scene.clients.call(scene.cluster.brokers[1].stop())
    watched.until(
        lambda: scene.banner.startswith(f"A part of the cluster is missing. {B}: no answer for "), "the banner does not name it"
    )
    watched.until(lambda: kept(watched) == -1, "what it held is still counted")
    live = watched.window.tool_bar.live_button
    watched.until(lambda: live.text() == "In part", "all figures are said to be live")
    wrong = {}
    for place, patterns in LOST:
        wrong[place.page_id, str(place.arguments)] = scene.unsaid(place, patterns)
        assert fits(watched.window.area.current), place
        assert B in scene.banner
    assert {where: unsaid for where, unsaid in wrong.items() if unsaid} == {}
    first = age_of(scene.banner)
    watched.until(lambda: age_of(scene.banner) > first, "its age stands still")

    scene.clients.call(scene.cluster.brokers[1].start())
    watched.until(lambda: not scene.banner, "it is still missing")
    watched.until(lambda: kept(watched) == 12, "what it holds is not counted")
    watched.until(lambda: live.text() == "Live", "the figures are still said to be of a part")
    assert [place.page_id for place, _patterns in LOST if scene.is_marked(place)] == []
    assert scene.unsaid(LOST[3][0], (r"- g \| 8 \| .*", rf"- orders \| {B} 0 \| 3 \| 1 \| 2 \| .*")) == []
    messages = Place("messages", {"topic": "orders"})
    assert scene.unsaid(messages, ("12 messages, newest first", rf"- .* \| {B} orders \d \d \| .*")) == []
    assert watched.console.errors.count == 0


def age_of(banner: str) -> int:
    """For how many seconds something is missing."""
    found = re.search(r"(?:since|for) ([\d,]+) s", banner)
    return int(found[1].replace(",", "")) if found else -1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(refused, "No accessKey is configured"), (rubbish, "<html>500</html>"), (silent, "did not answer within 3,000 ms")],
    ids=["refuses", "answers nonsense", "is silent"],
)
def test_a_broker_that_does_not_answer_as_it_should_is_named_with_reason_and_age(
    scene: Scene, answer: Answer, reason: str
) -> None:
    watched, failing = scene.watched, scene.cluster.brokers[1]
    failing.answer_all(answer)
    watched.until(lambda: B in scene.banner and reason in scene.banner, "the banner does not name it")
    assert A not in scene.banner
    first = age_of(scene.banner)
    watched.until(lambda: age_of(scene.banner) > max(first, 0), "its age stands still")
    messages, _patterns = LOST[9]
    assert scene.unsaid(messages, (MISSING, HERE, "6 messages, newest first")) == []
    scene.cluster.brokers[0].held["orders"] = 5
    lag, _patterns = LOST[3]
    assert scene.unsaid(lag, (rf"- orders \| {A} 0 \| 5 \| 1 \| 4 \| .*",)) == [], "the other broker is not followed any more"
    failing.answers = {}
    watched.until(lambda: not scene.banner, "the banner still names it")
    assert scene.unsaid(messages, ("16 messages, newest first",)) == []
    assert watched.console.errors.count == 0


def test_without_its_name_server_a_window_shows_the_brokers_and_says_what_is_missing(scene: Scene) -> None:
    watched = scene.watched
    scene.clients.call(scene.cluster.stop_name_server())
    watched.until(
        lambda: re.search(r"name server: for \d+ s: cannot connect to .*$", scene.banner), "the banner does not name it"
    )
    first = age_of(scene.banner)
    watched.until(lambda: age_of(scene.banner) > first, "its age stands still")
    scene.cluster.brokers[1].held["orders"] = 7
    lag, _patterns = LOST[3]
    assert scene.unsaid(lag, (rf"- orders \| {B} 0 \| 7 \| 1 \| 6 \| .*",)) == []
    scene.clients.call(scene.cluster.start_name_server())
    watched.until(lambda: not scene.banner, "the banner still names it")
    assert watched.console.errors.count == 0


BLANK = (
    (
        Place("overview"),
        ("No broker has reported its topics.", "No broker has reported its groups.", r"\[picture: Dead letters: — *\]"),
    ),
    (Place("topics"), ("No broker has reported its topics.",)),
    (Place("consumers"), ("No broker has reported its groups.",)),
    (Place("messages"), ("No broker has reported its topics.",)),
)
"""What is said while the brokers let nobody in, and have not done so before."""


def test_brokers_that_never_let_anybody_in_are_not_said_to_have_nothing(qapp: QApplication, home: Path) -> None:
    brokers = [broker(A), broker(B)]
    for one in brokers:
        one.answer_all(refused)
    with scene_of(qapp, home, brokers) as scene:
        watched = scene.watched
        watched.until(lambda: {A, B} <= set(re.findall(r"broker-[ab]", scene.banner)), "the banner does not name them")
        for place, patterns in BLANK:
            said = watched.see(place, lambda _name, said, patterns=patterns: not missing(said, patterns))
            assert missing(said, patterns) == [], place
            assert [
                line for line in said if re.search(r"No topics yet|No group has|\b0 (topics|groups|yours|clients)", line)
            ] == [], place
        for one in brokers:
            one.answers = {}
        watched.until(lambda: not scene.banner, "the banner still names it")
        watched.until(lambda: kept(watched) == 12, "the messages are not known")
        assert watched.console.errors.count == 0

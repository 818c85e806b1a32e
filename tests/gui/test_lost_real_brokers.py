"""The real window on two brokers of RocketMQ, 4.9.4 and 5.3.3, of which one is killed, on one that refuses its key, without
a name server, and on a broker that is killed while dead letters are sent again.

Marked, as they need Java and Maven; `test_lost_brokers` looks at every page, over brokers in memory.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from broker_core.client.admin import AdminClient
from broker_core.client.instance import ClientSecurity
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.signature import Credentials
from gui.connections.cluster import ATTACHED, Cluster
from gui.connections.secret_file import FILE_NAME, SecretFile
from gui.views.action_dialog import ActionDialog
from gui.views.dead_letters.flow import LetterFlow
from gui.views.dead_letters.proof_sides import resent_rows
from gui.views.dead_letters.view import DeadLettersView
from gui.widgets.inputs import SegmentedControl
from monitoring.resending import ResendOutcome, ResendTarget
from tests.support.client_thread import ClientThread
from tests.support.real_accounts import ACCOUNTS, ANN, RealAccount
from tests.support.real_broker import RealBroker
from tests.support.real_dead_letters import copies, die
from tests.support.real_peer import running_peer
from tests.support.real_traffic import fill
from tests.support.watched_pages import Lines, Place, WatchedPages, WatchedScene

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(1_800)]

A, B = "broker-a", "broker-b"
SENT = 40
MESSAGES, QUEUES = Place("messages", {"topic": "T"}), Place("topic", {"topic": "T", "tab": "queues"})
SEARCH = Place("messages", {"filter": 'topic = "T"'})


class Scene(WatchedScene):
    """A window and what is started with it."""

    def unsaid(self, place: Place, patterns: Sequence[str]) -> list[str]:
        """What a page does not say, however long one waits."""

        def missing(said: Lines) -> list[str]:
            return [pattern for pattern in patterns if not any(re.fullmatch(pattern, line) for line in said)]

        return missing(self.watched.see(place, lambda _name, said: not missing(said)))


MakeScene = Callable[..., Scene]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def make_scene(qapp: QApplication, home: Path) -> Iterator[MakeScene]:
    opened: list[WatchedPages] = []
    with ClientThread() as clients:

        def make(name_server: str, keys: Credentials | None = None) -> Scene:
            signer = "" if keys is None else keys.access_key
            opened.append(WatchedPages(qapp, home, Cluster(ATTACHED, name_server, title="Real", access_key=signer)))
            if keys is not None:
                # As the dialog does, before the window asks for it.
                SecretFile(home / FILE_NAME).keep(name_server, {keys.access_key: keys.secret_key})
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
                scene.run(fill(first.name_server, "T", SENT, broker=broker, first=number * SENT))
            watched.until(lambda: kept(watched) == 2 * SENT, "the messages are not known")
            second.stop(kill=True)
            told = rf"A part of the cluster is missing\. {B}: no answer for [\d,]+ s: .+"
            watched.until(lambda: re.fullmatch(told, scene.banner), "it is not told")
            queues = (r"8 queues, — kept", rf"- {A} 0 \| 0 \| {SENT} \| {SENT} \| .*", rf"- {B} 0( \| —){{11}}")
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
        told = rf"A part of the cluster is missing\. {A}: for [\d,]+ s: .*asks for keys, and this connection has none: .*"
        scene.watched.until(lambda: re.fullmatch(told, scene.banner), "it is not told")
        row = rf"- {A} \| <address> \| — \| 0 \| .*for <age>: .*asks for keys, and this connection has none: .* \|"
        assert scene.unsaid(Place("store"), (row,)) == []
        assert scene.watched.console.errors.count == 0


async def started_producer(name_server: str, topic: str) -> Producer:
    """One that has been to the topic's broker."""
    producer = Producer(name_server)
    await producer.start()
    await producer.queues(topic)
    return producer


async def is_known(broker: RealBroker) -> bool:
    """Whether the name server knows the broker."""
    async with AdminClient(broker.name_server) as admin:
        return broker.address in (await admin.master_addresses()).values()


def age_of(banner: str) -> int:
    """For how many seconds something is missing."""
    found = re.search(r"(?:since|for) ([\d,]+) s", banner)
    return int(found[1].replace(",", "")) if found else -1


REFUSALS = {"4.9.4": "[Cc]heck signature failed", "5.3.3": "[Cc]heck signature failed"}
"""What a broker says of a key whose secret is wrong."""


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_a_wrong_key_is_told_and_the_window_is_let_in_as_soon_as_it_is_right(
    make_scene: MakeScene, home: Path, version: str
) -> None:
    account = RealAccount(version, home / "a")
    with running_peer(version, home / "a", **account.settings) as broker:
        broker.until_registered()
        scene = make_scene(broker.name_server, Credentials(ANN, "guessed-secret"))
        watched = scene.watched
        right = ClientSecurity(credentials=scene.run(account.give(broker, "right-secret")))
        scene.run(fill(broker.name_server, "T", SENT, security=right))
        watched.start()
        told = rf"A part of the cluster is missing\. {A}: for [\d,]+ s: .*{REFUSALS[version]}.*"
        watched.until(lambda: re.fullmatch(told, scene.banner), "it is not told")
        first = age_of(scene.banner)
        watched.until(lambda: age_of(scene.banner) > first, "its age stands still")
        assert scene.unsaid(Place("store"), (rf"- {A} \| .* \| .*for <age>: .*{REFUSALS[version]}.* \|.*",)) == []
        assert kept(watched) == -1
        scene.run(account.give(broker, "guessed-secret"))
        watched.until(lambda: not scene.banner, "it is still told")
        watched.until(lambda: kept(watched) == SENT, "what it holds is not counted")
        assert scene.unsaid(MESSAGES, (f"{SENT} messages, newest first",)) == []
        assert watched.console.errors.count == 0


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_a_name_server_that_goes_and_returns_is_marked_and_the_brokers_are_shown(
    make_scene: MakeScene, home: Path, version: str
) -> None:
    settings = {"autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"}
    with running_peer(version, home / "a", **settings) as broker:
        broker.until_registered()
        scene = make_scene(broker.name_server)
        watched = scene.watched
        scene.run(fill(broker.name_server, "T", SENT))
        watched.start()
        watched.until(lambda: kept(watched) == SENT, "the messages are not known")
        sender = scene.run(started_producer(broker.name_server, "T"))
        broker.stop_name_server()
        lost = r"A part of the cluster is missing\. name server: for [\d,]+ s: cannot connect to .*"
        watched.until(lambda: re.fullmatch(lost, scene.banner), "it is not told")
        first = age_of(scene.banner)
        watched.until(lambda: age_of(scene.banner) > first, "its age stands still")
        # Who knows its broker goes on, and so does the window.
        scene.run(sender.send_batch([Message("T", b"x")] * SENT, queue=MessageQueue("T", A, 0)))
        watched.until(lambda: kept(watched) == 2 * SENT, "the broker is not followed")
        assert scene.unsaid(QUEUES, (rf"4 queues, {2 * SENT} kept, .*",)) == []
        assert scene.unsaid(MESSAGES, (f"{2 * SENT} messages, newest first",)) == []
        broker.start_name_server()
        said: list[str] = []

        def nothing_is_told() -> bool:
            said.append(scene.banner)
            return not said[-1]

        watched.until(nothing_is_told, "it is still told")
        assert scene.run(is_known(broker)), "clients do not find it, and nobody says so"
        unknown = rf"A part of the cluster is missing\. {A}: unknown to the name server for [\d,]+ s: .*"
        assert [banner for banner in said[:-1] if not re.fullmatch(f"{lost}|{unknown}", banner)] == []
        assert scene.unsaid(SEARCH, (rf"{2 * SENT} of {2 * SENT} messages, {2 * SENT} hits",)) == []
        scene.run(fill(broker.name_server, "T", SENT))
        watched.until(lambda: kept(watched) == 3 * SENT, "what is sent anew is not counted")
        scene.run(sender.close())
        assert watched.console.errors.count == 0


LETTERS = 150


def sent_again(scene: Scene, view: DeadLettersView, chosen: set[str], meanwhile: Callable[[LetterFlow], None]) -> ResendOutcome:
    """What becomes of some dead letters that are sent to their topic again, as a person does it."""
    # The list is read anew when the broker is back.
    shown = lambda: {one.letter.offset_message_id for one in view.letters.rows}  # noqa: E731  what is waited for
    scene.watched.until(lambda: chosen <= shown(), "the dead letters are not shown")
    model = view.letter_grid.view.selectionModel()
    model.clearSelection()
    flags = model.SelectionFlag.Select | model.SelectionFlag.Rows
    for one in view.letters.rows:
        if one.letter.offset_message_id in chosen:
            model.select(view.letters.index(view.letters.position_of(one.letter.physical_offset), 0), flags)
    view.flow.resend.make().rate.setValue(50)
    dialog = view.ask_resend()
    assert dialog is not None
    target = dialog.findChild(SegmentedControl)
    assert target is not None
    target.choose(ResendTarget.TOPIC.value)
    target.chosen.emit(ResendTarget.TOPIC.value)
    before = view.flow.verify.make().outcome
    dialog.go.click()
    meanwhile(view.flow)
    scene.watched.until(lambda: view.flow.verify.make().outcome is not before, "the resend does not end")
    for left in view.findChildren(ActionDialog):
        left.reject()
    return view.flow.verify.make().outcome


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_a_resend_of_many_that_a_kill_interrupts_says_what_became_of_each(
    make_scene: MakeScene, home: Path, version: str
) -> None:
    with running_peer(version, home / "a", flushDiskType="SYNC_FLUSH") as broker:
        broker.until_registered()
        scene = make_scene(broker.name_server)
        watched = scene.watched
        scene.run(die(broker.name_server, "shop", "Orders", LETTERS))
        watched.start()
        watched.window.navigate("dead_letters", group="shop", show="letters")
        view = watched.window.area.current
        assert isinstance(view, DeadLettersView)
        watched.until(lambda: len(view.letters.rows) == LETTERS, "the dead letters are not shown")
        every = {one.letter.offset_message_id for one in view.letters.rows}
        killing = threading.Thread(target=lambda: broker.stop(kill=True))

        def kill_in_the_midst(_flow: LetterFlow) -> None:
            watched.until(lambda: len(resent_rows(view.letters.rows)) >= LETTERS // 5, "none is sent")
            killing.start()

        outcome = sent_again(scene, view, every, kill_in_the_midst)
        watched.until(lambda: not killing.is_alive(), "it is not killed")
        refused, doubtful = ({letter for letter, _reason in some} for some in (outcome.refused, outcome.doubtful))
        parts = [set(outcome.sent), refused, doubtful, set(outcome.left)]
        assert LETTERS // 5 <= len(outcome.sent) < LETTERS
        assert (set().union(*parts), sum(map(len, parts))) == (every, LETTERS)
        broker.start()
        watched.until(lambda: not watched.window.banner.isVisible(), "it is still missing")
        found = scene.run(copies(broker.name_server, "Orders"))
        assert set(found.values()) == {1}
        assert set(outcome.sent) <= set(found) <= set(outcome.sent) | doubtful
        rest = every - set(found)
        outcome = sent_again(scene, view, rest, lambda _flow: None)
        assert (set(outcome.sent), outcome.refused, outcome.doubtful, outcome.left) == (rest, (), (), ())
        assert scene.run(copies(broker.name_server, "Orders")) == Counter(every)
        assert watched.console.errors.count == 0

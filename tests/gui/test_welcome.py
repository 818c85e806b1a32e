"""The Welcome page: address, sample programs, check list, demo."""

from __future__ import annotations

import ast
import string
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QTabBar

from broker_core.api import WorkerLostError
from broker_core.worker.questions.administration import CreateTopic
from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.models.first_steps import first_steps
from gui.operations.actions import Action
from gui.operations.clusters import Clusters
from gui.operations.demo import demo_refusal, play_demo
from gui.operations.tasks import TaskList, TaskState
from gui.processes.demo import DemoController, DemoPace
from gui.views.topics import columns, detail, new_topic_dialog
from gui.views.topics import view as topics_view
from gui.views.welcome import demo_card
from gui.views.welcome.connect_card import GRPC, REMOTING
from gui.views.welcome.samples import SAMPLES, SDK_SAMPLES, TOPIC
from gui.views.welcome.view import LOGO_ROOM, WelcomeView, reach_text
from gui.widgets.containers import ScrolledPart
from gui.words.text import load_catalogue
from monitoring.sources.base import SourceStatus
from tests.support.fake_child import FakeChild
from tests.support.fake_source import READY, FakeSource, fake_state
from tests.support.languages import shown_in
from tests.support.shown_parts import button_with, segments_of, words_of
from tests.support.shown_texts import literal_texts

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]

PACKAGES = ("welcome", "overview", "topics")


@pytest.fixture
def child(qapp):
    return FakeChild()


@pytest.fixture
def make_view(show_page, child):
    return partial(show_page, WelcomeView, demo=DemoController(process=child))


def nothing_stored():
    state = fake_state()
    kept = np.where(state.catalog.topic_is_system, 12, 0)
    return replace(state, topic_kept_messages=kept, totals=state.totals | {"connections": 0.0})


def test_a_running_broker_says_its_address_and_start_time(make_view):
    view = make_view(FakeSource())
    assert view.headline.text() == "Your broker is running"
    assert "started in 0.8 s" in view.subtitle.text()
    assert view.address.address == "127.0.0.1:9876"
    assert not view.restart.isVisible()


def test_each_of_several_brokers_has_its_own_port(make_view):
    view = make_view(FakeSource())
    view.address.set_ready(replace(READY, broker_name="broker-a, broker-b", broker="10.0.0.1:10911, 10.0.0.2:10921"))
    assert "broker-a 10911, broker-b 10921 · reachable from the network" in words_of(view.address).splitlines()


def test_the_copy_button_and_enter_copy_the_name_server_address(make_view, qtbot):
    view = make_view(FakeSource())
    clipboard = QGuiApplication.clipboard()
    clipboard.clear()
    qtbot.mouseClick(view.address.copy_button, Qt.MouseButton.LeftButton)
    assert clipboard.text() == "127.0.0.1:9876"
    assert view.address.copy_button.text() == "Copied"
    clipboard.clear()
    view.open({})
    qtbot.waitUntil(view.address.copy_button.hasFocus)
    qtbot.keyClick(view.address.copy_button, Qt.Key.Key_Return)
    assert clipboard.text() == "127.0.0.1:9876"


@pytest.mark.parametrize("sample", [*SAMPLES, *SDK_SAMPLES], ids=lambda sample: f"{sample.title} {sample in SAMPLES}")
def test_every_program_holds_the_address_and_no_mark(sample):
    code = sample.code("10.1.2.3:19876")
    assert "10.1.2.3:19876" in code
    assert "@ADDRESS@" not in code


def test_the_python_program_compiles():
    python = next(sample for sample in SAMPLES if sample.title == "Python")
    program = ast.parse(python.code("127.0.0.1:9876"))
    assert "127.0.0.1:9876" in [node.value for node in ast.walk(program) if isinstance(node, ast.Constant)]


def shown_titles(card):
    tabs = card.findChild(QTabBar)
    return [tabs.tabText(place) for place in range(tabs.count())]


def choose_sample(card, title):
    card.findChild(QTabBar).setCurrentIndex(shown_titles(card).index(title))


def choose_family(card, family):
    segments_of(card.families)[(GRPC, REMOTING).index(family)].click()


def test_copy_code_copies_the_chosen_program(make_view, qtbot):
    card = make_view(FakeSource()).connect_card
    choose_sample(card, "Go")
    qtbot.mouseClick(card.copy_button, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("// go get github.com/apache/rocketmq-client-go")
    assert '"127.0.0.1:9876"' in copied
    assert card.code_view.toPlainText() == copied.rstrip()


def with_grpc(source):
    source.ready = replace(READY, grpc="127.0.0.1:8081")
    return source


def test_sdks_of_grpc_come_first_where_the_broker_has_a_port_for_them(make_view):
    card = make_view(with_grpc(FakeSource())).connect_card
    assert shown_titles(card) == ["Java", "Go", "Python", "Node", "Rust", "C#"]
    assert '"127.0.0.1:8081"' in card.code_view.toPlainText()
    choose_sample(card, "Python")
    choose_family(card, REMOTING)
    assert shown_titles(card) == ["Java", "Go", "Python", "Node", "C++", "Spring"]
    assert card.sample.title == "Python"
    assert card.accepts.fact == "127.0.0.1:9876"
    choose_family(card, GRPC)
    assert card.accepts.fact == "127.0.0.1:8081"
    choose_family(card, REMOTING)
    assert '"127.0.0.1:9876"' in card.code_view.toPlainText()


def test_a_chosen_family_stays_when_the_broker_starts_again(make_view):
    view = make_view(with_grpc(FakeSource()))
    choose_family(view.connect_card, REMOTING)
    view.connect_card.set_addresses("127.0.0.1:9876", "127.0.0.1:8082", "")
    assert view.connect_card.families.current == REMOTING
    choose_family(view.connect_card, GRPC)
    view.connect_card.set_addresses("127.0.0.1:9876", "", "It is off.")
    assert view.connect_card.families.current == REMOTING


def grpc_segment(card):
    (button,) = [button for button in card.families.findChildren(QPushButton) if button.text() == "gRPC SDKs"]
    return button


def test_without_a_port_of_grpc_its_programs_are_greyed_with_the_reason(make_view):
    card = make_view(FakeSource()).connect_card
    assert not grpc_segment(card).isEnabled()
    assert grpc_segment(card).toolTip() == "The broker has no port for gRPC: it is off, or another program has the port."
    assert card.sample in SAMPLES


def test_of_an_attached_cluster_the_programs_name_its_proxy_as_soon_as_one_is_known(make_view):
    source = FakeSource()
    source.name = "10.0.0.1:9876"
    view = make_view(source)
    card = view.connect_card
    assert grpc_segment(card).toolTip() == "No proxy of this cluster is known. SDKs of gRPC connect to a proxy."
    source.state = replace(source.state, catalog=replace(source.state.catalog, grpc=["10.0.0.2:8081"]))
    view.state_changed(source.state)
    assert grpc_segment(card).isEnabled()
    assert '"10.0.0.2:8081"' in card.code_view.toPlainText()
    choose_family(card, REMOTING)
    view.state_changed(source.state)
    assert '"127.0.0.1:9876"' in card.code_view.toPlainText()


def test_the_topic_of_the_programs_is_made_where_it_is_missing(make_view, window, qtbot):
    source = with_grpc(FakeSource())
    state = source.state
    catalog = replace(state.catalog, topics=[f"my-{name}" for name in state.catalog.topics])
    view = make_view(source)
    assert not view.connect_card.create_button.isVisible()  # there is one
    view.state_changed(replace(state, catalog=catalog))
    assert view.connect_card.create_button.isVisible()
    qtbot.mouseClick(view.connect_card.create_button, Qt.MouseButton.LeftButton)
    assert source.asked_for(CreateTopic) == [CreateTopic(TOPIC, 8, 8)]
    assert window.notices[-1][0] == "Topic orders created"
    choose_family(view.connect_card, REMOTING)
    assert not view.connect_card.create_button.isVisible()


def test_a_topic_that_the_broker_refuses_is_reported(make_view, window):
    source = with_grpc(FakeSource())
    view = make_view(source)
    source.fail_with = WorkerLostError("the worker is gone")
    view.connect_card.topic_missing.emit()
    assert window.notices[-1][0] == "The topic was not created: the worker is gone"


def test_while_starting_the_stage_is_said_and_the_demo_waits(make_view):
    view = make_view(FakeSource(status=SourceStatus.STARTING))
    view.stage_changed("Reading the commit log", 3, 10)
    assert view.headline.text() == "Your broker is starting"
    assert view.subtitle.text() == "Reading the commit log, 30 %"
    assert view.progress.isVisible()
    assert not view.demo_card.button.isEnabled()
    assert not view.connect_card.accepts.done


def test_a_recovery_is_said_with_its_share(make_view):
    view = make_view(FakeSource(status=SourceStatus.STARTING))
    view.stage_changed("recovering", 1, 4)
    assert view.subtitle.text() == "Recovering, 25 %"


def test_a_lost_broker_says_why_and_offers_a_restart(make_view, window, qtbot):
    source = FakeSource()
    view = make_view(source)
    source.set_status(SourceStatus.LOST, WorkerLostError("the worker was killed by signal 9"))
    view.status_changed(SourceStatus.LOST)
    assert view.headline.text() == "Your broker has stopped"
    assert view.subtitle.text() == "the worker was killed by signal 9"
    assert not view.connect_card.accepts.done
    assert view.connect_card.connects.fact == "not now"
    qtbot.mouseClick(view.restart, Qt.MouseButton.LeftButton)
    assert window.restarts == 1


def test_the_notice_of_another_port_is_shown(make_view):
    source = FakeSource()
    source.ready = replace(READY, name_server="127.0.0.1:9877", notice="9876 is in use by another program")
    view = make_view(source)
    assert view.notice.isVisible()
    assert view.notice.text() == "9876 is in use by another program"
    assert "127.0.0.1:9877" in view.connect_card.code_view.toPlainText()


def test_the_check_list_ticks_itself(make_view):
    source = FakeSource(nothing_stored())
    view = make_view(source)
    card = view.connect_card
    assert [line.done for line in (card.accepts, card.connects, card.stores)] == [True, False, False]
    view.state_changed(replace(source.state, totals=source.state.totals | {"connections": 1.0}))
    assert (card.connects.done, card.connects.fact) == (True, "1 connected")
    view.state_changed(fake_state())
    assert (card.stores.done, card.stores.fact) == (True, f"{sum(own_kept()):,} stored")


def own_kept():
    state = fake_state()
    return [
        int(kept) for kept, system in zip(state.topic_kept_messages, state.catalog.topic_is_system, strict=True) if not system
    ]


def test_messages_in_system_topics_are_not_the_first_message():
    assert first_steps(SourceStatus.READY, nothing_stored()).stored_messages == 0


def test_what_is_stored_on_brokers_that_do_not_answer_is_not_nothing(make_view):
    state = nothing_stored()
    unknown = np.where(state.catalog.topic_is_system, 12, -1)
    catalog = replace(state.catalog, brokers=["a", "b"], broker_version=["V5_3_3", "V5_3_3"])
    totals = {name: value for name, value in state.totals.items() if name != "connections"}
    view = make_view(FakeSource(replace(state, catalog=catalog, topic_kept_messages=unknown, totals=totals)))
    said = words_of(view.connect_card)
    assert "What is stored is not known" in said
    assert "not yet" not in said
    assert "Waiting for the first message" not in said


def test_show_it_opens_the_topic_that_holds_most(make_view, window):
    view = make_view(FakeSource())
    button_with(view.connect_card, "Show it").click()
    assert window.opened == [("messages", {"topic": "orders", "queue": -1})]


def test_play_starts_the_demo_at_the_chosen_pace_and_opens_the_overview(make_view, window, child, qtbot):
    view = make_view(FakeSource())
    pace = view.demo_card.findChild(QComboBox)
    pace.setCurrentIndex(pace.findData(DemoPace.FAST))
    qtbot.mouseClick(view.demo_card.button, Qt.MouseButton.LeftButton)
    assert child.started == [["demo", "--ns", "127.0.0.1:9876", "--rate", "10000", "--parent-pipe"]]
    assert window.opened == [("overview", {})]
    assert view.demo_card.button.text() == "Stop demo"


def test_stop_asks_the_demo_to_end_once_and_waits_for_it(make_view, child, qtbot):
    view = make_view(FakeSource())
    button = view.demo_card.button
    for _ in range(3):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert len(child.started) == 1
    assert child.cancels == 1
    assert not button.isEnabled()
    child.end(cancelled=True)
    assert (button.text(), button.isEnabled()) == ("Play a demo", True)


def test_the_demo_is_a_task_that_says_how_it_goes_and_why_it_failed(child):
    demo, tasks = DemoController(process=child), TaskList()
    play_demo(demo, tasks, FakeSource(), DemoPace.SLOW)
    child.line_read.emit("sent 50, 50/s")
    (task,) = tasks.running
    assert (task.title, task.text) == ("Demo traffic, 50/s", "sent 50, 50/s")
    child.end(4, error="orbit: 127.0.0.1:9876 refused the connection")
    assert (task.state, task.text) == (TaskState.FAILED, "127.0.0.1:9876 refused the connection")


def test_a_demo_stopped_from_the_task_list_is_cancelled_not_failed(child):
    demo, tasks = DemoController(process=child), TaskList()
    play_demo(demo, tasks, FakeSource(), DemoPace.SLOW)
    play_demo(demo, tasks, FakeSource(), DemoPace.FAST)
    (task,) = tasks.tasks
    task.cancel()
    assert child.cancels == 1
    child.end(143, cancelled=True)
    assert task.state is TaskState.CANCELLED


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:10911", "this machine only"),
        ("[::1]:10911", "this machine only"),
        ("localhost:10911", "this machine only"),
        ("0.0.0.0:10911", "reachable from the network"),
        ("192.168.1.4:10911", "reachable from the network"),
        ("build-7:10911", "reachable from the network"),
    ],
)
def test_reach_is_said_in_words(address, expected):
    assert reach_text(address) == expected


def test_the_page_speaks_chinese_after_a_switch(make_view, qapp, qtbot):
    view = make_view(FakeSource())
    with shown_in("zh"):
        qtbot.waitUntil(lambda: view.headline.text() == "Broker 已在运行")
        assert view.address.copy_button.text() == "复制"
        assert view.demo_card.button.text() == "播放演示"
    qtbot.waitUntil(lambda: view.headline.text() == "Your broker is running")


def test_the_language_button_asks_for_the_other_language(make_view, window):
    view = make_view(FakeSource())
    button_with(view, "简体中文").click()
    assert window.languages == ["zh"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_text_has_a_chinese_one(package):
    texts = literal_texts(f"views/{package}").keys()
    assert len(texts) > 10
    assert texts - load_catalogue("zh").keys() == set()


def test_every_listed_text_has_a_chinese_one():
    listed = {text for _, _, *texts in demo_card.DEMO_FACTS for text in texts}
    listed |= set(demo_card.PACE_NAMES.values()) | set(topics_view.FILTER_NAMES.values())
    listed |= set(detail.PERMISSION_WORDS.values()) | {text for _, text in new_topic_dialog.PERMISSIONS}
    listed |= set(new_topic_dialog.NAME_FAULTS.values()) | {columns.YOUR_TOPICS, columns.SYSTEM_TOPICS}
    assert listed - load_catalogue("zh").keys() == set()


def test_fields_of_a_text_are_the_same_in_both_languages():
    def fields(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert [text for text, shown in load_catalogue("zh").items() if fields(text) != fields(shown)] == []


def test_the_demo_is_not_played_on_what_runs_elsewhere_or_is_only_looked_at(make_view, child):
    elsewhere, looked_at = FakeSource(), FakeSource()
    elsewhere.name, elsewhere.ready = "p:9876", replace(READY, has_store=False)
    looked_at.read_only = True
    for source in (elsewhere, looked_at):
        play_demo(DemoController(process=child), TaskList(), source, DemoPace.FAST)
    assert child.started == []
    assert demo_refusal(FakeSource()) == ""
    view = make_view(elsewhere)
    assert view.headline.text() == "Connected to the cluster"
    assert "closing this window leaves it as it is" in view.subtitle.text()
    assert not view.demo_card.isVisibleTo(view)
    elsewhere.set_status(SourceStatus.LOST, WorkerLostError("it is gone"))
    view.status_changed(SourceStatus.LOST)
    assert (view.headline.text(), view.restart.text()) == ("The connection has ended", "Connect again")


# ---- something else than this broker -----------------------------------------------------------------------------------


STORES = [Cluster(EMBEDDED, f"/srv/{name}/store") for name in ("here", "shop")]
RECENT = [STORES[0], Cluster(ATTACHED, "10.0.0.7:9876", title="staging"), STORES[1], *(
    Cluster(ATTACHED, f"10.0.0.{number}:9876") for number in (8, 9))]  # fmt: skip


@pytest.fixture
def gone_to():
    return []


@pytest.fixture
def elsewhere(make_view, gone_to):
    def made(known):
        clusters = Clusters(
            known=lambda: known,
            switch=lambda cluster: gone_to.append(("here", cluster)),
            open_beside=lambda cluster, link: gone_to.append(("beside", cluster, link)),
        )
        return make_view(FakeSource(), clusters=clusters).elsewhere

    return made


def page_of(bar):
    """The page that has this bar."""
    view = bar.parentWidget()
    while not isinstance(view, WelcomeView):
        view = view.parentWidget()
    return view


def test_what_was_shown_before_is_one_click_away(elsewhere, gone_to, qtbot):
    bar = elsewhere(RECENT)
    assert [button.text() for button in bar.recent] == ["staging", "shop", "10.0.0.8:9876"]
    assert [button.accessibleName() for button in bar.recent][:2] == ["Cluster: staging", "Store: shop"]
    assert bar.more_button.text() == "and 1 more"
    qtbot.mouseClick(bar.recent[0], Qt.MouseButton.LeftButton)
    assert gone_to == [("here", RECENT[1])]


def test_the_first_start_offers_the_ways_in_and_nothing_that_was_before(elsewhere):
    bar = elsewhere(RECENT[:1])
    assert bar.isVisible()
    assert bar.recent == []
    assert "Shown before" not in [one.text() for one in bar.findChildren(QLabel) if one.isVisible()]
    assert [button.text() for button in (bar.connect_button, bar.open_button, bar.look_button)] == [
        "Connect to a cluster…", "Open another store…", "Open store, read-only…"
    ]  # fmt: skip


def test_a_window_that_has_one_cluster_only_offers_no_other(elsewhere):
    assert not elsewhere([]).isVisible()


@pytest.mark.parametrize(
    ("button", "action"),
    [("connect_button", "broker.connect"), ("open_button", "broker.open_store"), ("look_button", "file.look_at_store"),
     ("more_button", "broker.switch")],
)  # fmt: skip
def test_each_way_in_is_the_action_of_the_menus(elsewhere, qtbot, button, action):
    bar = elsewhere(RECENT)
    run = []
    for action_id in ("broker.connect", "broker.open_store", "file.look_at_store", "broker.switch"):
        page_of(bar).context.actions.add(Action(action_id, "…", partial(run.append, action_id), "Broker"))
    qtbot.mouseClick(getattr(bar, button), Qt.MouseButton.LeftButton)
    assert run == [action]


def test_a_connection_that_is_made_meanwhile_is_listed_when_the_page_is_shown_again(elsewhere):
    known = RECENT[:1]
    bar = elsewhere(known)
    view = page_of(bar)
    view.hide()
    known.append(RECENT[1])
    view.show()
    assert [button.text() for button in bar.recent] == ["staging"]


@pytest.mark.parametrize(("height", "logo", "code"), [(1_000, True, 268), (700, False, None)])
def test_in_a_low_window_the_program_and_the_logo_give_way_before_anything_is_scrolled(elsewhere, qtbot, height, logo, code):
    bar = elsewhere(RECENT)
    view = page_of(bar)
    view.resize(1_040, height)
    qtbot.waitUntil(lambda: view.findChild(ScrolledPart).verticalScrollBar().maximum() == 0)
    [picture] = [one for one in view.findChildren(QLabel) if one.maximumHeight() == LOGO_ROOM]
    assert (picture.pixmap().isNull(), picture.isVisible()) == (False, logo)
    assert 138 <= view.connect_card.code_height <= 268
    if code is not None:
        assert view.connect_card.code_height == code

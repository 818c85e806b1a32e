"""The frame beyond its tabs: links, windows of their own, search, layout, closing, notices of the desktop."""

from __future__ import annotations

import gc
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu
from shiboken6 import isValid

from broker_core.api import WorkerLostError
from broker_core.worker.questions.figures import Occurred
from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.main_window.close_question import CloseQuestion, LossQuestion, losses
from gui.main_window.detached import DetachedWindow
from gui.main_window.notices import Notices
from gui.main_window.page_area import TITLE_WIDTH_MAX
from gui.main_window.places import PagePlace
from gui.models.reports import RunState
from gui.operations.clusters import Clusters
from gui.operations.requests import BegunLater
from gui.operations.tasks import TaskList
from gui.settings.values import SYSTEM_NOTICES_KEY
from gui.theme.manager import ThemeManager, ThemeMode
from gui.theme.tokens import LIGHT, State
from gui.views.action_dialog import ActionDialog
from gui.views.connections.asking import ConnectDialog
from gui.views.settings.connection_rows import connection_rows
from monitoring.sources.base import SourceStatus
from tests.support.fake_frame import Frame
from tests.support.fake_source import FakeSource, fake_state


@pytest.fixture(scope="module")
def theme(qapp):
    manager = ThemeManager(qapp, ThemeMode.DARK)
    yield manager
    manager.deleteLater()


@pytest.fixture
def make_frame(qtbot, tmp_path, theme):
    def make(**given) -> Frame:
        made = Frame(tmp_path / "window.ini", theme, **given)
        qtbot.addWidget(made.window)
        made.window.show()
        made.window.restore_layout()
        return made

    yield make
    theme.set_mode(ThemeMode.DARK)


@pytest.fixture
def frame(make_frame):
    return make_frame()


# ---- links -------------------------------------------------------------------------------------------------------------


def test_a_pasted_link_opens_its_place(frame, qtbot):
    palette = frame.window.commands.palette
    frame.window.commands.show_palette("orbit://topic/orders")
    assert palette.shown_titles == ["Open orbit://topic/orders"]
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert frame.area.current.opened == [{"topic": "orders"}]


def test_the_link_to_what_is_shown_is_copied(frame):
    frame.window.navigate("topics", topic="%RETRY%billing", create=True)
    frame.window.actions_known.run("window.copy_link")
    assert QGuiApplication.clipboard().text() == "orbit://topics?topic=%25RETRY%25billing"


def test_a_link_that_leads_nowhere_is_told(frame):
    frame.window.open_link("orbit://moon")
    frame.window.open_link("orbit://topic")
    assert "there is no page “moon”" in frame.window.notices.toasts.shown_texts[0]
    assert "names one" in frame.window.notices.toasts.shown_texts[1]
    assert frame.ids() == ["overview"]


def test_a_link_given_at_the_start_is_followed_once_the_window_has_its_pages(qtbot, tmp_path, theme):
    made = Frame(tmp_path / "window.ini", theme, attached=False)
    qtbot.addWidget(made.window)
    made.window.open_link("orbit://topic/orders")
    made.window.attach(made.backend(made.source))
    made.window.restore_layout()
    assert made.area.current.opened == [{"topic": "orders"}]
    made.window.restore_layout()
    assert len([tab for tab in made.ids() if tab == "topics"]) == 1


# ---- windows of their own ----------------------------------------------------------------------------------------------


def test_a_page_gets_a_window_of_its_own_and_comes_back(frame):
    frame.window.navigate("topics")
    page = frame.area.current
    frame.window.actions_known.run("window.detach")
    (window,) = frame.navigation.windows
    assert window.page is page
    assert window.isVisible()
    assert frame.ids() == ["overview"]
    before = len(page.states)
    frame.source.push_later()
    frame.window.live.once()
    assert len(page.states) > before, "it goes on getting figures"
    window.back_button.click()
    assert frame.navigation.windows == []
    assert frame.area.current is page
    assert frame.ids() == ["overview", "topics"]


def test_a_tab_that_is_closed_leaves_no_button_in_python(frame):
    def known():
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        return sum(isinstance(one, QAbstractButton) for one in gc.get_objects())

    def open_and_close():
        for _ in range(10):
            frame.window.navigation.open(PagePlace("topics"), new_tab=True)
            frame.window.navigation.close_current()

    open_and_close()
    before = known()
    open_and_close()
    assert known() <= before


def test_the_last_tab_leaves_another_page_behind(frame):
    frame.window.actions_known.run("window.detach")
    assert len(frame.navigation.windows) == 1
    assert len(frame.area.places) == 1


def test_a_page_in_its_own_window_is_brought_to_the_front_instead_of_opened_twice(frame):
    frame.window.navigate("topics")
    page = frame.area.current
    frame.window.actions_known.run("window.detach")
    frame.window.navigate("topics", topic="orders")
    assert page.opened[-1] == {"topic": "orders"}
    assert frame.ids() == ["overview"]


def test_closing_its_window_closes_the_page_and_a_key_opens_it_again(frame, qtbot):
    frame.window.navigate("topics", topic="orders")
    frame.window.actions_known.run("window.detach")
    (window,) = frame.navigation.windows
    page = window.page
    window.close()
    qtbot.waitUntil(lambda: not isValid(page))
    assert frame.navigation.windows == []
    frame.window.actions_known.run("window.reopen_tab")
    assert frame.area.current.opened == [{"topic": "orders"}]


def test_a_tab_dropped_far_from_the_strip_is_torn_off(frame, qtbot):
    frame.window.navigate("topics")
    tabs = frame.area.tabs
    at = tabs.tabRect(1).center()
    qtbot.mousePress(tabs, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseRelease(tabs, Qt.MouseButton.LeftButton, pos=at + QPoint(0, 300))
    assert [window.page.page_id for window in frame.navigation.windows] == ["topics"]


def test_keys_work_in_a_window_of_its_own(frame, qtbot):
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    (window,) = frame.navigation.windows
    qtbot.waitUntil(lambda: QApplication.activeWindow() is window)
    qtbot.keyClick(window, Qt.Key.Key_F5)
    assert window.page.refreshes == 1
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert frame.window.live.paused
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert frame.window.commands.palette.window() is window


def test_a_window_of_its_own_is_dimmed_while_the_broker_is_gone_and_restyled(frame, theme, qtbot):
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    (window,) = frame.navigation.windows
    frame.source.set_status(SourceStatus.STOPPED)
    assert window.veil.isVisible()
    theme.set_mode(ThemeMode.LIGHT)
    qtbot.waitUntil(lambda: LIGHT.panel in window.page.styleSheet())


# ---- layout ------------------------------------------------------------------------------------------------------------


def test_windows_and_places_of_tabs_are_remembered(make_frame):
    first = make_frame()
    first.window.navigate("topics", topic="orders")
    first.navigation.open(PagePlace("welcome"), new_tab=True)
    first.window.navigate("topics")
    first.window.actions_known.run("window.detach")
    first.window.close()
    second = make_frame()
    assert second.ids() == ["overview", "welcome"]
    assert [window.page.page_id for window in second.navigation.windows] == ["topics"]


def test_a_tab_of_last_time_is_made_when_it_is_shown_and_stands_where_it_stood(make_frame):
    first = make_frame()
    first.window.navigate("topics", topic="orders")
    first.area.tabs.setCurrentIndex(0)
    first.window.close()
    second = make_frame()
    assert [page.page_id for page in second.area.pages] == ["overview"]
    second.area.tabs.setCurrentIndex(1)
    assert second.area.current.opened == [{"topic": "orders"}]


def test_the_layout_can_be_reset(make_frame):
    frame = make_frame()
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    frame.window.commands.toggle_side_bar()
    frame.window.save_layout()
    frame.window.actions_known.run("window.reset_layout")
    assert frame.ids() == ["overview"]
    assert frame.navigation.windows == []
    assert not frame.window.side_bar.collapsed
    frame.window.close()
    assert make_frame().ids() == ["overview"]


def test_a_layout_file_that_somebody_edited_does_no_harm(make_frame):
    first = make_frame()
    first.window.close()
    first.settings.setValue("layout/tabs", ["orbit://", "nonsense", "orbit://moon", "orbit://topics"])
    first.settings.setValue("layout/windows", ["orbit://mars"])
    first.settings.setValue("layout/current", "x")
    first.settings.sync()
    assert make_frame().ids() == ["topics"]


# ---- side bar, panes ---------------------------------------------------------------------------------------------------


def test_titles_of_many_tabs_are_whole_and_the_one_in_front_is_in_sight(frame):
    for number in range(15):
        frame.navigation.open(PagePlace("topics"), new_tab=True)
        frame.area.current.title_changed.emit(f"Messages: topic-{number}")
    tabs = frame.area.tabs
    for index in range(tabs.count()):
        words = tabs.fontMetrics().horizontalAdvance(tabs.tabText(index))
        assert tabs.tabRect(index).width() > words + tabs.iconSize().width(), tabs.tabText(index)
    assert tabs.rect().contains(tabs.tabRect(tabs.currentIndex()).center())


def test_a_very_long_title_is_cut_in_its_middle_and_told_whole_by_its_tip(frame):
    name = "order-events-of-the-whole-of-the-northern-region-v2"
    frame.area.current.title_changed.emit(name)
    tabs = frame.area.tabs
    index = tabs.currentIndex()
    shown = tabs.tabText(index)
    assert tabs.tabToolTip(index) == name
    assert tabs.fontMetrics().horizontalAdvance(shown) <= TITLE_WIDTH_MAX
    assert "…" in shown
    assert shown.startswith("order-ev")
    assert shown.endswith("region-v2")


def test_the_title_of_a_search_is_cut_at_its_end_and_has_room_for_what_is_left(frame):
    title = 'Messages: topic = "orders" and tag = "PAID" and body contains "杭州"'
    frame.area.current.title_changed.emit(title)
    tabs = frame.area.tabs
    index = tabs.currentIndex()
    shown = tabs.tabText(index)
    assert tabs.tabToolTip(index) == title
    assert shown.startswith("Messages: topic =")
    assert shown.endswith("…")
    words = tabs.fontMetrics().horizontalAdvance(shown)
    # Beside the words: the icon, the button that closes the tab, and the space around them.
    assert tabs.tabRect(index).width() >= words + tabs.iconSize().width() + 20


def test_the_side_bar_finds_a_page(frame, qtbot):
    frame.window.actions_known.run("file.find_page")
    search = frame.window.side_bar.search
    qtbot.keyClicks(search, "topi")
    assert [item.entry.page_id for item in frame.window.side_bar.found] == ["topics"]
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert frame.area.current.page_id == "topics"
    assert len(frame.window.side_bar.found) == 2, "all pages are there again"


def test_what_is_no_page_is_looked_for_in_the_palette(frame, qtbot):
    search = frame.window.side_bar.search
    qtbot.keyClicks(search, "payment-settle")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert frame.window.commands.palette.isVisible()
    assert "%DLQ%payment-settle" in frame.window.commands.palette.shown_titles


def test_f6_goes_round_the_parts_of_the_window(frame, qtbot):
    frame.window.activateWindow()
    qtbot.waitUntil(frame.window.isActiveWindow)
    parts = {"bar": frame.window.tool_bar, "side": frame.window.side_bar, "status": frame.window.status_bar}
    seen = []
    for _ in range(6):
        frame.window.actions_known.run("file.next_pane")
        focused = QApplication.focusWidget()
        seen += [name for name, part in parts.items() if part.isAncestorOf(focused)]
    assert {"bar", "side", "status"} <= set(seen)
    before = QApplication.focusWidget()
    frame.window.actions_known.run("file.next_pane")
    frame.window.actions_known.run("file.previous_pane")
    assert QApplication.focusWidget() is before


# ---- closing -----------------------------------------------------------------------------------------------------------


class ClickOnTheFrame(QCloseEvent):
    """The close event that the window system sends."""

    def spontaneous(self) -> bool:
        return True


def test_closing_asks_only_if_something_would_be_lost(frame, qtbot):
    event = ClickOnTheFrame()
    frame.window.closeEvent(event)
    assert not event.isAccepted(), "clients of the fake shop are connected"
    (question,) = frame.window.findChildren(CloseQuestion)
    assert "20 clients" in question.lost[0]
    question.stay.click()
    assert frame.window.isVisible()
    with qtbot.waitSignal(frame.window.closing):
        frame.window.closeEvent(ClickOnTheFrame())
        frame.window.findChildren(CloseQuestion)[-1].go.click()


def test_a_restart_asks_only_if_clients_would_lose_the_broker(frame):
    frame.window.actions_known.run("broker.restart")
    (question,) = frame.window.findChildren(LossQuestion)
    assert "20 clients" in question.lost[0]
    assert frame.restarts == 0
    question.stay.click()
    assert frame.restarts == 0
    frame.window.commands.closing.restart()
    frame.window.findChildren(LossQuestion)[-1].go.click()
    assert frame.restarts == 1
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("it is gone"))
    frame.window.commands.closing.restart()
    assert frame.restarts == 2


def test_nothing_is_asked_when_the_program_itself_closes(frame, qtbot):
    with qtbot.waitSignal(frame.window.closing):
        frame.window.close()


def test_what_is_lost_by_closing():
    tasks = TaskList()
    report, demo = tasks.start("Report"), tasks.start("Demo")
    demo.holds_window = False
    quiet = tasks.start("Warm-up", quiet=True)
    state = fake_state()
    assert losses(state, (report, demo, quiet), demo_plays=True, broker_runs=True) == [
        "“Report” is not finished and would be cancelled."
    ]
    assert losses(state, (), demo_plays=False, broker_runs=False) == []
    assert losses(None, (), demo_plays=False, broker_runs=True) == []


# ---- notices of the desktop --------------------------------------------------------------------------------------------


def test_the_desktop_tells_of_warnings_while_nobody_looks(frame, monkeypatch):
    told: list[str] = []
    notices = Notices(
        frame.window.services.theme,
        frame.window,
        frame.window.tool_bar,
        frame.settings,
        room=frame.window.toast_room,
        tell_system=lambda _title, text: told.append(text),
    )
    looking = Qt.ApplicationState.ApplicationActive
    monkeypatch.setattr(QApplication, "applicationState", lambda: looking)
    notices.show("seen here", state=State.WARNING)
    looking = Qt.ApplicationState.ApplicationInactive
    notices.show("only news")
    notices.show("the disk fills <img src=file:///x>", state=State.CRITICAL)
    frame.settings.setValue(SYSTEM_NOTICES_KEY, False)
    notices.show("unwanted", state=State.CRITICAL)
    assert told == ["the disk fills ‹img src=file:///x>"], "a desktop may show markup"


# ---- clusters ----------------------------------------------------------------------------------------------------------


def test_the_switcher_offers_what_is_known(make_frame, qtbot):
    went: list[Cluster] = []
    known = [Cluster(EMBEDDED, "/data/now"), Cluster(EMBEDDED, "/data/before")]
    frame = make_frame(clusters=Clusters(known=lambda: known, switch=went.append))
    frame.window.actions_known.run("broker.switch")
    (menu,) = [menu for menu in frame.window.findChildren(QMenu) if menu.isVisible()]
    texts = [action.text() for action in menu.actions()]
    assert texts[0].startswith("now")
    assert texts[1] == "before"
    menu.actions()[0].trigger()
    menu.actions()[1].trigger()
    assert went == [known[1]]
    menu.close()


class Desk(QObject):
    """Secrets that are kept at once."""

    file = "/s"
    kept = ()

    def find_key_store(self, _name_servers, tell):
        tell(("", False))

    def keep(self, cluster, typed, *, in_file, done, failed, **_before):
        if typed.get("secretKey") == "wrong":
            failed("The disk is full")
        else:
            self.kept = (cluster.access_key, typed, in_file)
            done(None)


def test_the_switcher_asks_for_a_cluster_that_runs_elsewhere(make_frame, qtbot):
    went: list[Cluster] = []
    frame = make_frame(clusters=Clusters(switch=went.append))
    frame.window.actions_known.run("broker.switch")
    (menu,) = [menu for menu in frame.window.findChildren(QMenu) if menu.isVisible()]
    (connect,) = [action for action in menu.actions() if action.text() == "Connect to a cluster…"]
    connect.trigger()
    menu.close()
    (dialog,) = frame.window.findChildren(ConnectDialog)
    assert not dialog.go.isEnabled()
    for wrong in ("orders", "host:", ":9876", "host:0", "host:70000", "a b:9876", "h:1;x"):
        dialog.fields.address.setText(wrong)
        assert not dialog.go.isEnabled(), wrong
        assert wrong.rpartition(";")[2] in dialog.fault.text()
    dialog.fields.address.setText(" h:9876 ; [::1]:9876;")
    assert dialog.fault.text() == ""
    dialog.go.click()
    assert went == [Cluster(ATTACHED, "h:9876;[::1]:9876", read_only=True)]


def test_a_connection_is_changed_where_it_is_shown(make_frame):
    went: list[Cluster] = []
    shown = Cluster(
        ATTACHED, "h:9876", title="Prod", colour="#c0273a", access_key="ann", tls=True, authority="/ca.pem",
        addresses=(("172.17.0.3:10911", "10.0.0.1:10911"),),
    )  # fmt: skip

    desk = Desk()
    frame = make_frame(clusters=Clusters(known=lambda: [shown], switch=went.append, secrets=desk))
    frame.window.actions_known.run("broker.switch")
    (menu,) = [menu for menu in frame.window.findChildren(QMenu) if menu.isVisible()]
    assert not menu.actions()[0].icon().isNull()
    (change,) = [action for action in menu.actions() if action.text() == "Change this connection…"]
    change.trigger()
    menu.close()
    (dialog,) = frame.window.findChildren(ConnectDialog)
    assert dialog.fields.cluster() == shown
    dialog.fields.access_key.clear()
    dialog.fields.secret_key.setText("wrong")
    assert dialog.fault.text() == "A secret key needs its access key."
    dialog.fields.access_key.setText("bob")
    for field, wrong in (
        (dialog.fields.addresses, "a:1"),
        (dialog.fields.addresses, "a=b:1"),
        (dialog.fields.authority, "ca.pem"),
    ):
        right = field.text()
        field.setText(wrong)
        assert not dialog.go.isEnabled(), wrong
        field.setText(right)
    dialog.go.click()
    assert (dialog.fault.text(), went) == ("The disk is full", [])
    dialog.fields.secret_key.setText("hidden")
    dialog.fields.unverified.setChecked(True)
    assert "pretend to be the cluster" in dialog.fault.text()
    dialog.go.click()
    assert desk.kept == ("bob", {"secretKey": "hidden"}, False)
    assert went == [replace(shown, access_key="bob", verify=False)]


def test_another_connection_is_forgotten_from_the_switcher(make_frame):
    gone: list[Cluster] = []
    known = [Cluster(EMBEDDED, "/data/now"), Cluster(ATTACHED, "h:9876", title="Old")]
    clusters = Clusters(known=lambda: known, forget=lambda one: BegunLater(lambda done, _failed: done(gone.append(one))))
    frame = make_frame(clusters=clusters)
    frame.window.actions_known.run("broker.switch")
    menu = next(menu for menu in frame.window.findChildren(QMenu) if menu.isVisible())
    (forget,) = [action.menu() for action in menu.actions() if action.text() == "Forget a connection"]
    assert [action.text() for action in forget.actions()] == ["Old…"]
    forget.actions()[0].trigger()
    menu.close()
    (dialog,) = frame.window.findChildren(ActionDialog)
    assert (gone, dialog.go.text()) == ([], "Delete 1 connection")
    dialog.go.click()
    assert gone == [known[1]]


def test_the_title_says_what_is_attached(make_frame):
    frame = make_frame(clusters=Clusters(known=lambda: [Cluster(ATTACHED, "h:9876", read_only=True)]))
    assert "h:9876" in frame.window.windowTitle()
    assert frame.window.tool_bar.cluster_button.accessibleName() == "Cluster: h:9876"
    frame.window.broker.status_changed(SourceStatus.LOST, None)
    assert frame.window.banner.text.startswith("The connection has ended.")


def test_a_missing_part_of_a_cluster_stands_over_all_pages_until_it_is_back(frame):
    fault = "no answer since 12 s: cannot connect to h:1"
    banner = frame.window.banner
    frame.source.push(replace(fake_state(), faults={"broker-b": fault}))
    frame.window.broker.refresh_figures()
    assert banner.text == f"A part of the cluster is missing. broker-b: {fault}"
    assert not banner.button.isVisibleTo(banner)
    frame.source.push_later(faults={})
    frame.window.broker.refresh_figures()
    assert not banner.isVisible()
    frame.source.push_later(faults={"broker-b": fault})
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("gone"))
    frame.window.broker.refresh_figures()
    assert "gone" in banner.text
    assert banner.button.isVisibleTo(banner)


def test_the_status_bar_says_how_much_of_a_cluster_answers(make_frame):
    frame = make_frame(clusters=Clusters(known=lambda: [Cluster(ATTACHED, "h:9876")]))
    bar, state = frame.window.status_bar, fake_state()
    state = replace(state, catalog=replace(state.catalog, brokers=["a", "b"], broker_version=["V5_3_3", "V5_3_3"]))
    told = []
    for faults in ({}, {"a": "no answer since 3 s: gone"}, dict.fromkeys("ab", "no answer since 3 s: gone"), {}):
        frame.source.push(replace(state, faults=faults))
        frame.window.broker.refresh_figures()
        told.append((bar.state_text, connection_rows(frame.source, frame.window.services.clusters)[0].word))
    assert told == [
        ("Connected", "Running"),
        ("Connected in part", "In part"),
        ("Nothing answers", "No answer"),
        ("Connected", "Running"),
    ]


def test_a_page_in_a_window_of_its_own_says_what_is_missing_too(frame):
    fault = "no answer since 12 s: cannot connect to h:1"
    frame.source.push(replace(fake_state(), faults={"broker-b": fault}))
    frame.window.broker.refresh_figures()
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    (torn_off,) = frame.navigation.windows
    assert torn_off.banner.text == frame.window.banner.text
    assert torn_off.banner.isVisible()
    frame.source.push_later(faults={"broker-b": "no answer since 13 s: cannot connect to h:1"})
    frame.window.broker.refresh_figures()
    assert "13 s" in torn_off.banner.text
    frame.source.push_later(faults={})
    frame.window.broker.refresh_figures()
    assert not torn_off.banner.isVisible()
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("gone"))
    assert "gone" in torn_off.banner.text
    assert not torn_off.banner.button.isVisibleTo(torn_off.banner), "the window of the tabs restarts it"
    frame.source.set_status(SourceStatus.READY, None)
    assert not torn_off.banner.isVisible()


def test_another_cluster_takes_the_window_over(frame, qtbot):
    frame.window.navigate("topics")
    old = frame.area.current
    other = FakeSource()
    frame.window.attach(frame.backend(other))
    frame.window.restore_layout()
    qtbot.waitUntil(lambda: not isValid(old))
    assert frame.source.listeners == []
    assert frame.window.broker in other.listeners
    other.push_later()
    frame.window.live.once()
    assert frame.area.current.states


def test_a_report_is_told_once_whatever_cluster_is_shown(frame):
    frame.window.attach(frame.backend(FakeSource()))
    spec = SimpleNamespace(name="throughput", title="Throughput over time", needs_samples=False)
    frame.reports.ended.emit(SimpleNamespace(state=RunState.COMPLETE, order=SimpleNamespace(spec=spec), rows=5))
    assert [notice.text for notice in frame.window.notices.toasts.kept] == ["Throughput over time: 5 messages read"]


def test_detached_windows_end_with_the_main_window(frame, qtbot):
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    (window,) = frame.navigation.windows
    assert isinstance(window, DetachedWindow)
    frame.window.close()
    qtbot.waitUntil(lambda: not isValid(window))


def test_a_range_of_ones_own_is_named_on_its_button(frame):
    frame.window.services.times.set_utc(True)
    frame.window.time_range.set_between(1_790_000_000_000, 1_790_003_600_000)
    assert frame.window.tool_bar.range_button.text() == "2026-09-21 14:13 – 15:13"
    dialog = frame.window.tool_bar.ask_range()
    assert dialog.isVisible()
    dialog.reject()


# ---- pinned tabs -------------------------------------------------------------------------------------------------------


def test_pins_of_tabs_are_kept_over_a_restart(make_frame):
    first = make_frame()
    first.window.navigate("topics", topic="orders")
    first.area.toggle_pinned(first.area.current)
    first.navigation.open(PagePlace("welcome"), new_tab=True)
    first.window.close()
    second = make_frame()
    assert second.area.pinned == [1]
    second.navigation.open(PagePlace("topics", {"topic": "pay"}))
    assert second.ids() == ["overview", "topics", "welcome", "topics"], "a link opens elsewhere"
    second.area.tabs.setCurrentIndex(1)
    assert second.page.opened == [{"topic": "orders"}]
    assert second.page.is_pinned
    second.area.toggle_pinned(second.page)
    second.window.close()
    assert make_frame().area.pinned == []


def test_pins_stay_with_their_tabs_where_a_tab_cannot_be_restored(make_frame):
    first = make_frame()
    first.window.close()
    first.settings.setValue("layout/tabs", ["orbit://moon", "orbit://welcome", "orbit://topics"])
    first.settings.setValue("layout/pinned", ["0", "2", "x"])
    first.settings.setValue("layout/current", 2)
    first.settings.sync()
    second = make_frame()
    assert second.ids() == ["welcome", "topics"]
    assert second.area.pinned == [1]
    assert second.page.page_id == "topics"


def test_a_pin_comes_back_from_a_window_of_its_own(frame):
    frame.window.navigate("topics")
    frame.area.toggle_pinned(frame.area.current)
    torn_off = frame.navigation.detach(frame.area.current)
    assert frame.area.pinned == []
    frame.navigation.put_back(torn_off)
    assert frame.area.pinned == [frame.area.tabs.currentIndex()]


def test_a_pinned_tab_says_that_its_subject_is_gone_and_is_closed(frame, qtbot):
    frame.window.navigate("topics", topic="orders")
    page, line = frame.page, frame.area.gone
    page.gone = lambda: "Topic orders is gone."
    frame.area.show_gone()
    assert line.isHidden(), "a tab that is not pinned shows another subject"
    frame.area.toggle_pinned(page)
    assert not line.isHidden()
    assert line.words.text() == "Topic orders is gone."
    frame.area.close_others(page)
    line.button.click()
    assert page not in frame.area.pages, "another page replaces the last tab"
    assert line.isHidden()
    assert len(frame.area.pages) == 1


def test_tabs_of_last_time_have_the_names_of_their_subjects():
    assert PagePlace("topic", {"topic": "orders"}).subject == "orders"
    assert PagePlace("consumers", {"group": "g"}).subject == "g"
    assert PagePlace("topics", {"topic": "orders"}).subject == ""
    assert PagePlace("topic").subject == ""


# ---- many notices of a kind --------------------------------------------------------------------------------------------


def occurred(kind: str, text: str, subject: str) -> Occurred:
    return Occurred(kind, text, 0, subject)


def test_many_notices_of_a_kind_are_one_line(frame):
    for number in range(9):
        frame.source.report(occurred("topic_created", f"Topic t{number} was created", f"t{number}"))
        frame.source.report(occurred("members_changed", f"Group g{number} has 1 member now: +c", f"g{number}"))
    shown = [notice.text for notice in frame.window.notices.toasts.kept]
    assert shown == [
        "Members of 9 groups changed: g8, g7, g6, g5, g4, g3, +3",
        "9 topics were created: t8, t7, t6, t5, t4, t3, +3",
    ]


def test_a_notice_of_its_kind_alone_keeps_its_words(frame):
    frame.source.report(occurred("topic_created", "Topic a was created", "a"))
    assert [notice.text for notice in frame.window.notices.toasts.kept] == ["Topic a was created"]

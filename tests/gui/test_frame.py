"""The frame beyond its tabs: links, windows of their own, search, layout, closing, notices of the desktop."""

from __future__ import annotations

import gc

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication
from shiboken6 import isValid

from broker_core.api import WorkerLostError
from broker_core.worker.questions.figures import Occurred
from gui.main_window.close_question import CloseQuestion, LossQuestion, losses
from gui.main_window.notices import Notices
from gui.main_window.page_area import TITLE_WIDTH_MAX
from gui.main_window.places import PagePlace
from gui.operations.tasks import TaskList
from gui.settings.values import SYSTEM_NOTICES_KEY
from gui.theme.manager import ThemeMode
from gui.theme.tokens import LIGHT, State
from monitoring.sources.base import SourceStatus
from tests.support.fake_frame import Frame
from tests.support.fake_source import fake_state

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

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QScrollArea, QTabBar, QToolButton

from broker_core.api import StoreLockedError, WorkerLostError
from broker_core.worker.questions.figures import Occurred
from gui.main_window.live import LiveFeed
from gui.main_window.page_area import PINNED_MAX, TABS_MAX
from gui.main_window.places import PagePlace
from gui.main_window.shortcut_sheet import ShortcutSheet
from gui.theme.manager import ThemeMode
from gui.theme.tokens import DARK, LIGHT, State
from gui.widgets.toast import TOAST_WIDTH_MAX, Toast
from gui.words.text import UNKNOWN, CatalogueTranslator, tr
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import FakeSource, fake_state
from tests.support.shown_parts import elapse, words_of

# ---- navigation --------------------------------------------------------------------------------------------------------


def test_the_first_start_shows_the_first_page(frame):
    assert frame.page.page_id == "overview"
    assert frame.window.side_bar.items["overview"].isChecked()


def test_a_click_in_the_side_bar_opens_the_page_and_reuses_its_tab(frame, qtbot):
    for _ in range(2):
        qtbot.mouseClick(frame.window.side_bar.items["topics"], Qt.MouseButton.LeftButton)
        qtbot.mouseClick(frame.window.side_bar.items["overview"], Qt.MouseButton.LeftButton)
    assert [page.page_id for page in frame.window.area.pages] == ["overview", "topics"]
    assert frame.page.page_id == "overview"


def test_the_first_figures_are_shown_once(make_frame):
    frame = make_frame(source=FakeSource(status=SourceStatus.STARTING))
    assert frame.page.states == []
    frame.source.push(fake_state())
    assert len(frame.page.states) == 1, "that the record begins with them is no reason to show them again"


def test_the_first_figures_are_shown_while_figures_are_held(make_frame):
    frame = make_frame(source=FakeSource(status=SourceStatus.STARTING))
    frame.window.live.pause()
    frame.source.push(fake_state())
    assert len(frame.page.states) == 1


def test_a_middle_click_opens_a_new_tab(frame, qtbot):
    qtbot.mouseClick(frame.window.side_bar.items["overview"], Qt.MouseButton.MiddleButton)
    assert [page.page_id for page in frame.window.area.pages] == ["overview", "overview"]


def test_arguments_reach_the_page(frame):
    frame.window.navigate("topics", topic="orders", queue=3)
    assert frame.page.opened == [{"topic": "orders", "queue": 3}]


def test_back_and_forward_bring_page_and_arguments_back(frame):
    window = frame.window
    window.navigate("topics", topic="orders")
    window.navigate("topics", topic="payments")
    window.navigation.back()
    assert (frame.page.page_id, frame.page.opened[-1]) == ("topics", {"topic": "orders"})
    window.navigation.back()
    assert frame.page.page_id == "overview"
    assert not window.tool_bar.back_button.isEnabled()
    window.navigation.forward()
    assert (frame.page.page_id, frame.page.opened[-1]) == ("topics", {"topic": "orders"})


def test_back_does_not_ask_for_a_dialog_again(frame):
    window = frame.window
    window.navigate("topics", topic="orders", create=True)
    assert frame.page.opened == [{"topic": "orders", "create": True}]
    window.navigate("overview")
    window.navigation.back()
    assert frame.page.opened[-1] == {"topic": "orders"}


def test_a_move_within_a_page_is_a_place_too(frame):
    frame.window.navigate("topics")
    frame.page.place_changed.emit({"topic": "orders"})
    frame.window.navigation.back()
    assert frame.page.opened[-1] == {}


def test_keys_walk_back_and_close_tabs(frame, qtbot):
    frame.window.navigate("topics")
    qtbot.keyClick(frame.window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert frame.page.page_id == "overview"
    qtbot.keyClick(frame.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert [page.page_id for page in frame.window.area.pages] == ["topics"]
    qtbot.keyClick(frame.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert [page.page_id for page in frame.window.area.pages] == ["topics"]


def test_tabs_side_bar_and_time_range_are_remembered(make_frame):
    first = make_frame()
    first.window.navigate("topics")
    first.window.commands.toggle_side_bar()
    first.window.time_range.set_length(5 * 60_000)
    first.window.close()
    second = make_frame()
    assert [place.page_id for place in second.window.area.places] == ["overview", "topics"]
    assert [page.page_id for page in second.window.area.pages] == ["topics"], "a tab behind is made when it is shown"
    assert second.page.page_id == "topics"
    assert second.window.side_bar.collapsed
    assert second.window.time_range.length_ms == 5 * 60_000


def test_a_layout_of_another_version_is_not_used(make_frame):
    first = make_frame()
    first.window.navigate("topics")
    first.window.close()
    first.settings.setValue("layout/version", 999)
    first.settings.sync()
    assert make_frame().page.page_id == "overview"


# ---- figures -----------------------------------------------------------------------------------------------------------


def test_the_status_bar_says_address_rates_and_lag(frame):
    frame.source.push()
    bar = frame.window.status_bar
    assert bar.state_text == "Embedded broker running"
    assert bar.address_button.text() == "127.0.0.1:9876"
    assert bar.figures == {"In": "1,284", "Delivered": "1,931", "Lag": "18,402"}


def test_unknown_lag_is_a_dash(frame):
    totals = dict(fake_state().totals, lag_messages=float("nan"))
    frame.source.push_later(totals=totals)
    frame.window.live.once()
    assert frame.window.status_bar.figures["Lag"] == "—"


def test_the_address_is_copied_by_a_click(frame, qtbot):
    qtbot.mouseClick(frame.window.status_bar.address_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "127.0.0.1:9876"
    assert frame.window.notices.toasts.shown_texts == ["127.0.0.1:9876 copied"]


def test_counts_stand_in_the_side_bar_and_lag_warns_above_its_limit(make_frame):
    frame = make_frame()
    frame.source.push()
    assert frame.window.side_bar.items["topics"].count == "9"


def test_where_no_broker_runs_that_could_be_watched_alerts_have_no_count(make_frame, monkeypatch):
    told: list[float] = []
    monkeypatch.setattr(
        "gui.main_window.broker_watch.show_counts", lambda *_of, alerts_firing, **_more: told.append(alerts_firing)
    )
    source = FakeSource()
    source.ready = replace(source.ready, name_server="", broker="", read_only=True)
    frame = make_frame(source=source)
    assert frame.window.broker.alerts is not None
    frame.window.broker.alerts.is_read = False
    frame.source.push()
    assert told[-1] == 0, "a dash would say that it is not known yet"


def test_only_the_page_in_front_gets_figures(frame):
    hidden = frame.page
    frame.window.navigate("topics")
    before = len(hidden.states)
    frame.source.push_later()
    frame.window.live.once()
    assert len(hidden.states) == before
    assert frame.page.states[-1] is frame.source.state


def test_a_pause_holds_the_figures_until_it_ends(frame, qtbot):
    frame.source.push()
    qtbot.keyClick(frame.window, Qt.Key.Key_Space)
    assert frame.window.live.paused
    held = len(frame.page.states)
    frame.source.push_later()
    assert len(frame.page.states) == held
    qtbot.keyClick(frame.window, Qt.Key.Key_Space)
    assert len(frame.page.states) == held + 1


def test_f5_refreshes_the_page(frame, qtbot):
    qtbot.keyClick(frame.window, Qt.Key.Key_F5)
    assert frame.page.refreshes == 1


# ---- broker gone -------------------------------------------------------------------------------------------------------


def test_a_lost_broker_is_told_with_its_reason_and_a_restart(frame, qtbot):
    frame.source.push()
    window = frame.window
    frame.source.set_status(SourceStatus.LOST, StoreLockedError("the store /data is in use by process 4242", pid=4242))
    assert window.banner.isVisible()
    assert "4242" in window.banner.text
    assert window.area.veil.isVisible()
    assert window.status_bar.state_text == "Embedded broker stopped"
    assert not window.status_bar.address_button.isVisible()
    assert frame.page.statuses[-1] is SourceStatus.LOST
    qtbot.mouseClick(window.banner.button, Qt.MouseButton.LeftButton)
    assert frame.restarts == 1
    frame.source.set_status(SourceStatus.STARTING)
    assert not window.banner.isVisible()
    assert window.progress.isVisible()
    frame.source.set_status(SourceStatus.READY)
    assert not window.progress.isVisible()
    assert not window.area.veil.isVisible()


def test_all_of_the_frame_follows_a_broker_that_is_gone(frame):
    frame.source.push()
    window = frame.window
    item = window.side_bar.items["topics"]
    item.set_count("33", State.CRITICAL, "33 topics")
    assert window.tool_bar.live_button.text() == "Live"
    assert item.shown_state is State.CRITICAL
    assert window.status_bar.figures["In"] != UNKNOWN
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("it is gone"))
    assert window.tool_bar.live_button.text() == "No data"
    assert window.tool_bar.live_button.property("role") == "ended"
    assert (window.status_bar.figures["In"], window.status_bar.figures["Delivered"]) == (UNKNOWN, UNKNOWN)
    assert "Broker process —" in words_of(window.status_bar)
    assert all(item.is_old for item in window.side_bar.items.values())
    assert item.shown_state is None
    assert item.toolTip() == "9 topics of yours, when the broker was last heard"
    window.broker.refresh_figures()  # as after a change of the time range
    assert window.status_bar.figures["In"] == UNKNOWN
    frame.source.set_status(SourceStatus.STARTING)
    assert window.tool_bar.live_button.text() == "Waiting"
    frame.source.set_status(SourceStatus.READY)
    frame.source.push_later()
    assert window.tool_bar.live_button.text() == "Live"
    assert window.status_bar.figures["In"] != UNKNOWN
    assert not item.is_old


def test_figures_that_come_no_more_are_late(frame, monkeypatch):
    frame.source.push()
    window = frame.window
    monkeypatch.setattr(LiveFeed, "age_ms", 31_000.0)
    elapse(window.broker)
    assert window.tool_bar.live_button.text() == "Stale"


def test_a_page_without_figures_is_not_dimmed(frame):
    frame.source.push()
    frame.window.navigate("welcome")
    frame.source.set_status(SourceStatus.LOST, StoreLockedError("in use"))
    assert not frame.window.area.veil.isVisible()
    frame.window.navigate("topics")
    assert frame.window.area.veil.isVisible()


def test_the_start_shows_its_stage(make_frame):
    frame = make_frame(source=FakeSource(status=SourceStatus.STARTING))
    frame.source.report_stage("Opening the store", 1, 4)
    assert frame.window.progress.isVisible()
    assert frame.window.status_bar.state_text == "Embedded broker starting: Opening the store"


def test_events_that_ask_for_nothing_go_under_the_bell_uncounted(frame):
    frame.source.report(Occurred("topic_created", "Topic orders was created", 0))
    assert [notice.text for notice in frame.window.tool_bar.notices] == ["Topic orders was created"]
    assert frame.window.notices.toasts.shown_texts == []
    assert frame.window.tool_bar.bell.unread == 0


def test_refused_writes_are_a_warning_and_their_end_is_told(frame):
    frame.source.report(Occurred("writes_refused", "the disk is 95 % full", 0))
    frame.source.report(Occurred("writes_accepted", "The broker takes messages again", 1))
    texts = ["The broker refuses messages: the disk is 95 % full", "The broker takes messages again"]
    assert frame.window.notices.toasts.shown_texts == texts
    assert [notice.state for notice in frame.window.notices.toasts.kept] == [State.HEALTHY, State.WARNING]
    assert frame.window.tool_bar.bell.unread == 2
    frame.window.tool_bar.notices_seen.emit()
    assert frame.window.tool_bar.bell.unread == 0


def test_events_and_stages_are_told_in_chinese(frame):
    frame.language.use("zh")
    frame.source.report(Occurred("members_changed", "Group sms has 2 members now: +c1@10.0.0.1, -c2", 0, "sms"))
    frame.source.report(Occurred("topic_created", "Topic orders was created", 0, "orders"))
    assert [notice.text for notice in frame.window.notices.toasts.kept] == [
        "主题 orders 已创建",
        "消费组 sms 现有 2 个成员：+c1@10.0.0.1, -c2",
    ]


def test_the_failure_of_a_task_nobody_asked_for_is_not_announced(frame):
    frame.tasks.start("Preparing", quiet=True).fail("no Java")
    assert frame.window.notices.toasts.shown_texts == []


def test_at_most_three_toasts_are_shown(frame):
    for number in range(5):
        frame.window.notify(f"notice {number}", state=State.WARNING)
    assert frame.window.notices.toasts.shown_texts == ["notice 2", "notice 3", "notice 4"]
    assert len(frame.window.notices.toasts.kept) == 5


def test_tabs_of_last_time_follow_the_language_before_they_are_shown(frame, qtbot):
    navigation, tabs = frame.window.navigation, frame.window.area.tabs
    count = tabs.count()
    navigation.restore([PagePlace("topics"), PagePlace("overview")], 1)
    assert frame.window.area.places[count] == PagePlace("topics")
    translator = CatalogueTranslator({"Topics": "主题", "Overview": "总览"})
    QCoreApplication.installTranslator(translator)
    try:
        qtbot.waitUntil(lambda: [tabs.tabText(count), tabs.tabToolTip(count)] == ["主题", "主题"])
        assert frame.window.area.places[count] == PagePlace("topics")
    finally:
        QCoreApplication.removeTranslator(translator)
    qtbot.waitUntil(lambda: tabs.tabText(count) == "Topics")


def test_a_notice_is_told_in_the_language_that_is_chosen(frame, qtbot):
    window = frame.window
    window.notify(lambda: tr("{count} files", count=1), action=lambda: tr("Show"), on_action=lambda: None)
    window.notices.keep(lambda: tr("Topics"), State.INFO)
    window.notify("as it came")
    translator = CatalogueTranslator({"{count} files": "{count} 个文件", "Show": "查看", "Topics": "主题", "Close": "关闭"})
    QCoreApplication.installTranslator(translator)
    try:
        qtbot.waitUntil(lambda: window.notices.toasts.shown_texts == ["1 个文件", "as it came"])
        toast = window.toast_room.findChildren(Toast)[0]
        assert "1 个文件" in words_of(toast).splitlines()
        assert (toast.action_button.text(), toast.close_button.toolTip()) == ("查看", "关闭")
        assert [one.text for one in window.notices.toasts.kept] == ["as it came", "主题", "1 个文件"]
    finally:
        QCoreApplication.removeTranslator(translator)
    qtbot.waitUntil(lambda: window.notices.toasts.shown_texts[0].startswith("1 file"))


def test_toasts_cover_nothing(frame, qtbot):
    window = frame.window
    window.resize(1_440, 900)
    whole = window.area.height()
    window.notify(
        "Throughput over time: 55,856 messages read", state=State.WARNING, action="Show", on_action=window.commands.refresh
    )
    toasts = window.notices.toasts

    def covered(part) -> bool:
        box = part.rect().translated(part.mapTo(window, QPoint()))
        return any(
            box.intersects(toast.rect().translated(toast.mapTo(window, QPoint())))
            for toast in window.toast_room.findChildren(Toast)
        )

    qtbot.waitUntil(lambda: window.area.height() < whole)
    assert not covered(window.area)
    assert not covered(window.status_bar)
    one_line = window.toast_room.findChild(Toast).height()
    window.notify("a reason " * 40, state=State.CRITICAL)
    longer = window.toast_room.findChildren(Toast)[1]
    qtbot.waitUntil(lambda: longer.width() == TOAST_WIDTH_MAX)
    assert longer.height() > one_line
    qtbot.waitUntil(lambda: not covered(window.area) and not covered(window.status_bar))
    toasts.close_all()
    qtbot.waitUntil(lambda: window.area.height() == whole)


def test_a_failed_task_is_told(frame):
    frame.tasks.start("Report").fail("no Java")
    assert frame.window.notices.toasts.shown_texts == ["Report: no Java"]
    assert frame.window.status_bar.tasks_button.text() == "No tasks"


# ---- palette and actions -----------------------------------------------------------------------------------------------


def test_the_palette_finds_topics_and_opens_them(frame, qtbot):
    window = frame.window
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert window.commands.palette.isVisible()
    qtbot.keyClicks(window.commands.palette.field, "#pay")
    assert window.commands.palette.shown_titles == ["payments", "pay-result", "%DLQ%payment-settle", "%RETRY%payment-settle"]
    qtbot.keyClick(window.commands.palette.field, Qt.Key.Key_Down)
    qtbot.keyClick(window.commands.palette.field, Qt.Key.Key_Return)
    assert not window.commands.palette.isVisible()
    assert (frame.page.page_id, frame.page.opened[-1]) == ("topics", {"topic": "pay-result"})


def test_the_palette_runs_commands(frame, qtbot):
    window = frame.window
    window.commands.palette.popup(">collapse")
    assert window.commands.palette.shown_titles == ["Collapse or expand the side bar"]
    qtbot.keyClick(window.commands.palette.field, Qt.Key.Key_Return)
    assert window.side_bar.collapsed


def test_a_blocked_action_is_listed_but_does_not_run(make_frame, qtbot):
    frame = make_frame(source=FakeSource(status=SourceStatus.STARTING))
    QGuiApplication.clipboard().setText("before")
    frame.window.commands.palette.popup(">copy the name")
    qtbot.keyClick(frame.window.commands.palette.field, Qt.Key.Key_Return)
    assert frame.window.commands.palette.isVisible()
    assert QGuiApplication.clipboard().text() == "before"
    assert not frame.window.actions_known.run("broker.copy_address")


def test_a_topic_is_made_from_the_palette_and_only_once(frame, qtbot):
    window = frame.window
    window.commands.palette.popup(">new topic")
    assert window.commands.palette.shown_titles[0] == "New topic"
    qtbot.keyClick(window.commands.palette.field, Qt.Key.Key_Return)
    assert (frame.page.page_id, frame.page.opened[-1]) == ("topics", {"create": True})


def test_the_demo_plays_and_stops_by_actions(frame):
    child, actions = frame.demo_child, frame.window.actions_known
    assert not actions.run("demo.stop")
    assert actions.run("demo.play")
    assert child.started[0][:3] == ["demo", "--ns", "127.0.0.1:9876"]
    assert [task.title for task in frame.tasks.running] == ["Demo traffic, 1,200/s"]
    child.line_read.emit("3 s: sent 3,600 (1,200/s); consumed a 10, b 20")
    frame.language.use("zh")
    child.line_read.emit("4 s: sent 4,800 (1,200/s); consumed a 10, b 20; failed 1 (broken (pipe))")
    assert frame.tasks.running[0].text == "4 秒：已发送 4,800（1,200/s）；已消费 a 10, b 20；失败 1（broken (pipe)）"
    assert not actions.run("demo.play")
    assert actions.run("demo.stop")
    child.end(cancelled=True)
    assert frame.tasks.running == ()


def test_escape_and_a_click_beside_it_close_the_palette(frame, qtbot):
    palette = frame.window.commands.palette
    palette.popup()
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    palette.popup()
    qtbot.mouseClick(palette, Qt.MouseButton.LeftButton, pos=QPoint(5, 400))
    assert not palette.isVisible()


def test_the_shortcut_sheet_opens_with_a_question_mark(frame, qtbot):
    qtbot.keyClick(frame.window, "?")
    sheets = frame.window.findChildren(ShortcutSheet)
    assert len(sheets) == 1
    wide = sheets[0].findChild(QScrollArea).widget().sizeHint().width()
    assert wide <= 1_440 - 100, "keys at the right would be cut in a window of 1,440 px"
    sheets[0].accept()


def test_shortcuts_are_given_once(frame):
    shortcuts = [action.shortcut for action in frame.window.actions_known.actions() if action.shortcut]
    assert len(shortcuts) == len(set(shortcuts))


# ---- theme, language, end ----------------------------------------------------------------------------------------------


def test_the_theme_changes_at_once_and_is_remembered(frame, qapp):
    frame.window.commands.set_theme_mode(ThemeMode.LIGHT)
    assert frame.theme.tokens is LIGHT
    assert LIGHT.panel in frame.window.tool_bar.styleSheet()
    assert qapp.palette().window().color().name().upper() == LIGHT.window
    assert frame.settings.value("theme") == "light"
    frame.window.commands.set_theme_mode(ThemeMode.DARK)
    assert DARK.panel in frame.window.tool_bar.styleSheet()


def test_the_language_changes_without_restart(frame, qtbot):
    with qtbot.waitSignal(frame.page.title_changed):
        frame.language.use("zh")
    assert frame.window.side_bar.items["topics"].text() == "主题"
    assert frame.window.area.tabs.tabText(0) == "总览"
    assert frame.page.header.title == "总览"
    assert frame.window.tool_bar.range_button.text() == "最近 15 分钟"
    assert frame.window.status_bar.state_text == "内置 Broker 运行中"
    assert frame.window.status_bar.language_button.text() == "中文"
    frame.language.use("en")
    QCoreApplication.sendPostedEvents()
    assert frame.window.side_bar.items["topics"].text() == "Topics"


def test_a_closed_window_leaves_no_timer_running(frame, qtbot):
    frame.window.notify("soon gone")
    with qtbot.waitSignal(frame.window.closing):
        frame.window.close()
    running = [timer for timer in frame.window.findChildren(QTimer) if timer.isActive() and not timer.isSingleShot()]
    assert running == []


def test_pages_closed_are_gone(frame, qtbot):
    frame.window.navigate("topics")
    gone: list[bool] = []
    frame.page.destroyed.connect(lambda: gone.append(True))
    frame.window.navigation.close_current()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert gone == [True]
    frame.source.push_later()
    frame.window.live.once()


def test_buttons_of_the_frame_are_named_in_the_language_of_the_window(make_frame, qtbot):
    frame = make_frame()
    frame.window.navigate("topics")
    tabs, bar = frame.window.area.tabs, frame.window.status_bar

    def words() -> list[str]:
        close = tabs.tabButton(tabs.count() - 1, QTabBar.ButtonPosition.RightSide)
        scroll = [tabs.findChild(QToolButton, name).accessibleName() for name in ("ScrollLeftButton", "ScrollRightButton")]
        return [close.toolTip(), *scroll, *(one.accessibleName() for one in (bar.zone_button, bar.language_button))]

    english = ["Close the tab", "Tabs to the left", "Tabs to the right", "Local time or UTC", "Language"]
    assert words() == english
    frame.language.use("zh")
    qtbot.waitUntil(lambda: words() == [tr(word) for word in english])
    assert not {*words()} & {*english}


def test_a_pinned_tab_keeps_its_page_and_stays(frame):
    window = frame.window
    window.navigate("topics")
    area, pinned = window.area, window.area.current
    assert window.navigation.open(PagePlace("topics")) is pinned, "one tab a kind of page"
    area.toggle_pinned(pinned)
    other = window.navigation.open(PagePlace("topics"))
    assert other is not pinned
    area.close_others(other)
    assert pinned in area.pages
    area.toggle_pinned(pinned)
    area.close_others(other)
    assert pinned not in area.pages


def test_no_pinned_tab_closes_for_another_page(frame):
    window = frame.window
    area = window.area
    while len(area.places) < TABS_MAX:
        window.navigation.open(PagePlace("topics"), new_tab=True)
    for page in area.pages:
        area.tabs.setCurrentIndex(area.pages.index(page))
        window.commands.toggle_pinned()
    assert len(area.pinned) == PINNED_MAX
    assert window.notices.toasts.shown_texts == [f"{PINNED_MAX} tabs are pinned. Release one first."]
    pinned = [area.pages[index] for index in area.pinned]
    window.navigation.open(PagePlace("overview"), new_tab=True)
    window.navigation.open(PagePlace("topics"), new_tab=True)
    assert set(pinned) <= set(area.pages)
    assert len(area.places) == TABS_MAX


def test_a_tab_that_an_edge_cuts_is_covered_until_it_is_in_front(frame, qtbot):
    window = frame.window
    tabs = window.area.tabs
    window.resize(1_440, 900)
    for _ in range(12):
        window.navigation.open(PagePlace("topics"), new_tab=True)

    def half_shown():
        """Tabs of which a part is seen and a part is not."""
        left, right = (cover.geometry() if cover.isVisible() else QRect() for cover in tabs.covers)
        seen = tabs.rect().adjusted(left.width(), 0, -right.width(), 0)
        rects = [tabs.tabRect(index) for index in range(tabs.count())]
        return [rect for rect in rects if rect.intersects(seen) and not seen.adjusted(-2, 0, 2, 0).contains(rect)]

    for index in (*range(tabs.count()), *reversed(range(tabs.count()))):
        tabs.setCurrentIndex(index)
        tabs.repaint()
        assert half_shown() == []
        assert tabs.rect().adjusted(0, 0, 1, 0).contains(tabs.tabRect(index))
    tabs.setCurrentIndex(tabs.count() - 1)
    tabs.repaint()
    assert tabs.tabRect(0).left() < 0


def test_all_tabs_are_listed_where_there_is_no_room_for_them(frame, qtbot):
    window = frame.window
    area = window.area
    window.resize(1_440, 900)
    assert area.list_button.isHidden()
    for _ in range(14):
        window.navigation.open(PagePlace("topics"), new_tab=True)
    qtbot.waitUntil(lambda: not area.list_button.isHidden())
    menu = area.open_list()
    assert len(menu.actions()) == len(area.places)
    menu.actions()[0].trigger()
    assert area.tabs.currentIndex() == 0
    arrows = [area.tabs.findChild(QToolButton, name) for name in ("ScrollLeftButton", "ScrollRightButton")]
    assert [arrow.width() for arrow in arrows if arrow.isVisible()] == [0] * sum(arrow.isVisible() for arrow in arrows)
    menu.close()

"""`MainWindow`: the frame around the pages. It connects its parts and holds no figures of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QMouseEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QMainWindow

from gui.event_loop.turns import next_turn
from gui.main_window import layout
from gui.main_window.broker_watch import BrokerWatch
from gui.main_window.commands import FrameCommands
from gui.main_window.frame_parts import FrameParts
from gui.main_window.key_bindings import KeyBindings
from gui.main_window.links import LinkError, cluster_of, link_to, on_cluster, place_of
from gui.main_window.live import LiveFeed
from gui.main_window.navigation import Navigation
from gui.main_window.notices import Notices, raise_window
from gui.main_window.page_area import PageArea
from gui.main_window.places import PagePlace
from gui.main_window.services import Backend, FrameServices, WindowServices
from gui.main_window.side_bar import SideBar
from gui.main_window.status_bar import StatusBar
from gui.main_window.tool_bar import ToolBar
from gui.main_window.tray import Tray
from gui.main_window.window_actions import backend_actions, window_actions
from gui.models.favourites import Pins
from gui.operations.actions import ActionRegistry
from gui.operations.key_choices import KeyChoices
from gui.settings.values import whole_number
from gui.settings.watch import SettingsWatch
from gui.theme.tokens import State
from gui.views.time_range import DEFAULT_RANGE_MS, TimeRangeChoice
from gui.widgets.notice import Banner
from gui.widgets.production_bar import ConnectionStripe, ProductionBar
from gui.widgets.progress_line import ProgressLine
from gui.widgets.toast import Repeats, ToastRoom
from gui.words.text import Words, tr
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from gui.main_window.detached import DetachedWindow
    from gui.operations.decoding import DecoderBook
    from gui.operations.query_memory import QueryRecorder
    from gui.operations.reports import ReportNotice
    from gui.views.page import PageContext, PageView


class MainWindow(QMainWindow):
    """The window: first the frame alone, complete after `attach`.

    Signals:
        first_painted: The frame is on screen for the first time; slow work may start.
        closing: The user closed the window; the owner of the worker is to stop it.
        settings_written: Some window wrote the shared settings; they have been read again.
    """

    first_painted = Signal()
    closing = Signal()
    settings_written = Signal()

    def __init__(self, services: WindowServices) -> None:
        super().__init__()
        self.services = services
        self.backend: Backend | None = None
        """What the window shows; None until it is attached."""
        self._language = services.language
        self._wanted_link = ""
        self._layout_group = ""
        """Settings group of the open pages; during a switch of clusters that of the previous one."""
        self._report_notice: ReportNotice | None = None
        self._query_recorder: QueryRecorder | None = None
        self._decoders: DecoderBook | None = None
        self._painted = False
        self._new_pages: set[PageView] = set()
        settings, theme = services.settings, services.theme
        self.live = LiveFeed(self, cadence_ms=whole_number(settings, "live/cadence_ms", 1_000))
        self.actions_known = ActionRegistry(self)
        self._key_choices = KeyChoices(self.actions_known, settings)
        self._key_choices.load()
        self.keys = KeyBindings(self.actions_known, self)
        self.time_range = TimeRangeChoice(whole_number(settings, "time_range_ms", DEFAULT_RANGE_MS), self)
        self.tool_bar = ToolBar(theme, self.live, self.time_range, services.times, services.clusters.title)
        self.pins = Pins(settings, self)
        self.side_bar = SideBar(theme, services.pages, self.pins)
        self.area = PageArea(theme)
        self.navigation = Navigation(self.area, services.pages, theme, plain_key=self.keys.plain_key, parent=self)
        self.toast_room = ToastRoom()
        self.status_bar = StatusBar(theme, services.tasks, services.times, files_only=services.store_folder is not None)
        self.banner = Banner(theme)
        self.production = ProductionBar()
        self.stripe = ConnectionStripe()
        self.progress = ProgressLine(theme)
        parts = self._parts = FrameParts(
            self.live, self.time_range, self.navigation, self.tool_bar, self.side_bar, self.area, self.status_bar,
            self.banner, self.production, self.stripe, self.progress, self.toast_room,
        )  # fmt: skip
        self.setCentralWidget(parts.laid_out())
        frame = self.frame = self._frame_services()
        self.broker = BrokerWatch(frame, parts)
        self.tray = Tray(frame, parts, self.broker)
        self.tray.staying.connect(self.save_layout)
        self.notices = self._make_notices()
        self.commands = FrameCommands(frame, parts, self.tray, self.restore_layout)
        self.tray.quit_asked.connect(self.commands.closing.ask)
        self.actions_known.add(*window_actions(frame, parts, self.commands))
        self.keys.serve(self)
        self._connect()
        self.broker.status_changed(SourceStatus.STARTING, None)
        self.show_clock()
        layout.restore_geometry(self, self.side_bar, settings, services.clusters.settings_group)
        for part in (self.tool_bar, self.side_bar, self.area.strip, self.status_bar):
            theme.dress(part)
        self.first_painted.connect(self._dress_unseen)

    # ---- construction ----------------------------------------------------------------------------------------------

    def _frame_services(self) -> FrameServices:
        """What the parts of the frame use of the window."""
        return FrameServices(
            self,
            self.services,
            self.actions_known,
            navigate=self.navigate,
            open_link=self.open_link,
            notify=self.notify,
            keep_notice=self._keep_notice,
            backend=lambda: self.backend,
        )

    def _make_notices(self) -> Notices:
        return Notices(
            self.services.theme,
            self,
            self.tool_bar,
            self.services.settings,
            room=self.toast_room,
            tell_tray=self.tray.tell,
            title=lambda: self.broker.short_title,
        )

    def attach(self, backend: Backend) -> None:
        """Set the backend before any page is opened. Another backend closes the pages of the previous one."""
        if self.backend is None:
            self.actions_known.add(*backend_actions(self.frame, backend.demo, backend.reports))
            # Keys chosen in another window apply here at once, too.
            watch = SettingsWatch(self.services.settings, self)
            watch.changed.connect(self._key_choices.load)
            watch.changed.connect(self.settings_written)
        else:
            self.navigation.close_all()
            self.live.forget()
            self.time_range.forget_begin()
            self.side_bar.forget_state()
            self.status_bar.show_figures(None)
        self.backend = backend
        self._layout_group = self.services.clusters.settings_group
        self.pins.use(self._layout_group)
        self.navigation.use(self._page_context(backend))
        self.broker.use(backend)
        from gui.operations.query_memory import QueryMemory, QueryRecorder
        from gui.operations.reports import ReportNotice

        if self._report_notice is not None:
            # Reports continue when another cluster is shown: each is reported once.
            self._report_notice.close()
        if self._query_recorder is not None:
            self._query_recorder.close()
        self._report_notice = ReportNotice(backend.reports, self.notify, self.navigate, self)
        self._query_recorder = QueryRecorder(backend.reports, QueryMemory(self.services.settings, self._layout_group), self)
        self.broker.status_changed(backend.source.status, None)
        self.show_clock()
        self.tray.follow_setting()

    def decoders(self) -> DecoderBook:
        """The rules that decode and mask bodies: one book for all pages and for the results of reports."""
        from gui.operations.decoding import DecoderBook, settings_folder

        if self._decoders is None:
            self._decoders = DecoderBook(settings_folder(self.services.settings), self)
        return self._decoders

    def _page_context(self, backend: Backend) -> PageContext:
        from gui.operations.alert_center import AlertCenter
        from gui.views.page import PageContext

        services = self.services
        if self.broker.alerts is not None:
            self.broker.alerts.close()
        alerts = self.broker.alerts = AlertCenter(backend.source, self.notify, self, show=lambda: self.navigate("alerts"))
        alerts.changed.connect(self.tray.write)
        return PageContext(
            source=backend.source,
            history=backend.history,
            theme=services.theme,
            navigate=self.navigate,
            notify=self.notify,
            tasks=services.tasks,
            actions=self.actions_known,
            settings=services.settings,
            times=services.times,
            time_range=self.time_range,
            demo=backend.demo,
            reports=backend.reports,
            restart_worker=self.commands.closing.restart,
            set_language=services.set_language,
            alerts=alerts,
            decoders=self.decoders(),
            pins=self.pins,
            clusters=services.clusters,
        )

    def _connect(self) -> None:
        services, bar, navigation = self.services, self.tool_bar, self.navigation
        bar.back_button.clicked.connect(navigation.back)
        bar.forward_button.clicked.connect(navigation.forward)
        bar.go_to.clicked.connect(lambda _checked=False: self.commands.show_palette())
        bar.refresh_button.clicked.connect(self.commands.refresh)
        bar.menu_asked.connect(self.commands.popup_menu)
        bar.cluster_asked.connect(self.commands.popup_cluster_menu)
        bar.theme_asked.connect(self.commands.set_theme_mode)
        self.side_bar.page_asked.connect(self._side_bar_asked)
        self.side_bar.more_asked.connect(self.commands.show_palette)
        self.side_bar.pinned.asked.connect(self._pinned_asked)
        self.area.plus.clicked.connect(lambda _checked=False: self.commands.show_palette())
        self.area.tear_off_asked.connect(navigation.detach)
        self.area.menu_asked.connect(self.commands.popup_tab_menu)
        self.area.closed.connect(lambda page: layout.remember_page(page, services.settings))
        navigation.shown.connect(self._page_shown)
        navigation.opened.connect(self._page_opened)
        navigation.travelled.connect(self._write_travel)
        navigation.detached.connect(self._page_detached)
        self.banner.button.clicked.connect(lambda _checked=False: self.commands.closing.restart())
        self.status_bar.language_asked.connect(services.set_language)
        self.status_bar.address_copied.connect(lambda address: self.notify(partial(tr, "{address} copied", address=address)))
        services.times.changed.connect(self._zone_changed)
        services.tasks.changed.connect(self._tasks_changed)
        services.tasks.ended.connect(self.notices.task_ended)
        self.time_range.changed.connect(self.broker.refresh_figures)

    # ---- pages -----------------------------------------------------------------------------------------------------

    def navigate(self, page_id: str, /, **arguments: object) -> None:
        self.navigation.open(PagePlace(page_id, arguments))

    def open_link(self, link: str) -> None:
        """Follow a link and come to the front; a link before `attach` is followed after it."""
        raise_window(self)
        if self.backend is None:
            self._wanted_link = link
        elif link:
            self._follow(link)

    def _follow(self, link: str) -> None:
        try:
            if self._belongs_elsewhere(link):
                return
            place = self.navigation.known(place_of(link))
            if not self.navigation.has(place.page_id):
                raise LinkError(f"there is no page “{place.page_id}”")
        except LinkError as error:
            self._not_followed(link, error)
        else:
            self.navigation.open(place)

    def _not_followed(self, link: str, error: LinkError) -> None:
        from gui.words.error_words import kept_line

        reason = kept_line(error)
        self.notify(lambda: tr("The link {link} was not followed: {reason}", link=link, reason=reason()), state=State.WARNING)

    def _belongs_elsewhere(self, link: str) -> bool:
        """Open a link about another cluster in the window of that cluster; returns whether it was one."""
        clusters, name_servers = self.services.clusters, cluster_of(link)
        shown = clusters.attached
        if not name_servers or (shown is not None and name_servers in (shown.address, shown.kept_under, shown.title)):
            return False
        other = clusters.at(name_servers)
        if other is None:
            raise LinkError(f"it is about the cluster at {name_servers}, to which there is no connection: connect to it first")
        # Written again: a raw link may not be valid on a command line, and nobody sees an error there.
        clusters.open_beside(other, on_cluster(link_to(place_of(link)), name_servers))
        return True

    def _page_opened(self, page: PageView) -> None:
        page.status_changed(self.frame.status)
        page.title_changed.connect(lambda _title: self._title_changed(page))
        layout.restore_page(page, self.services.settings, self.services.clusters.settings_group)
        self._new_pages.add(page)

    def _title_changed(self, page: PageView) -> None:
        # A background tab's title is not in the window's title, and a change of language changes all of them.
        if page is self.area.current or page not in self.area.pages:
            self.broker.write_title()

    def _page_shown(self, page: PageView) -> None:
        if page is self.area.current:
            self.side_bar.show_page(page.side_bar_id or page.page_id)
            self.broker.write_title()
        if page in self._new_pages:
            # Its figures follow one turn later: building, showing and filling a page in one turn would be noticeable.
            self._new_pages.discard(page)
            next_turn(page, lambda: self._show_figures_in(page))
        else:
            self._show_figures_in(page)

    def _show_figures_in(self, page: PageView) -> None:
        state = self.frame.state
        if state is not None:
            page.state_changed(state)
            self.area.show_gone()

    def _page_detached(self, window: DetachedWindow) -> None:
        self.keys.serve(window)
        window.closed.connect(lambda: layout.remember_page(window.page, self.services.settings))
        self.commands.palettes.forget_with(window)
        window.veil.set_wanted(self.broker.out_of_date)
        window.banner.show_like(self.banner)
        self.broker.mark(window)
        window.set_cluster(self.broker.short_title)

    def _side_bar_asked(self, page_id: str, new_tab: bool) -> None:
        self.navigation.open(PagePlace(page_id), new_tab=new_tab)

    def _pinned_asked(self, page_id: str, name: str, new_tab: bool) -> None:
        arguments = {"group" if page_id == "consumers" else "topic": name}
        self.navigation.open(self.navigation.known(PagePlace(page_id, arguments)), new_tab=new_tab)

    def _write_travel(self) -> None:
        places = self.navigation.places
        self.tool_bar.back_button.setEnabled(places.can_go_back)
        self.tool_bar.forward_button.setEnabled(places.can_go_forward)

    # ---- actions ---------------------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.keys.plain_key(event):
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.BackButton:
            self.navigation.back()
        elif event.button() == Qt.MouseButton.ForwardButton:
            self.navigation.forward()
        else:
            super().mousePressEvent(event)

    # ---- notices, language, zone, title ----------------------------------------------------------------------------

    def notify(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None:
        """Show a toast and keep it under the bell."""
        self.notices.show(words, state=state, action=action, on_action=on_action)

    def _keep_notice(self, words: Words, state: State, repeats: Repeats | None = None) -> None:
        self.notices.keep(words, state, repeats)

    def _tasks_changed(self) -> None:
        self.notices.tasks_changed(self.services.tasks.running)

    def show_language(self, language: str) -> None:
        """Show the language in the status bar; Qt informs the widgets."""
        self._language = language
        self.show_clock()

    def _zone_changed(self) -> None:
        self.services.settings.setValue("utc", self.services.times.utc)
        self.show_clock()
        self.broker.refresh_figures()

    def show_clock(self) -> None:
        state = self.frame.state
        self.status_bar.show_zone(state.taken_ms if state is not None else 0)
        self.status_bar.show_language(self._language)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.broker.retranslate()
            # It copies texts of the status bar, which changes its language after the window.
            next_turn(self.tray, self.tray.write)

    # ---- layout, end -----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # In the next turn of the loop the frame is on its way to the screen.
            next_turn(self, self.first_painted.emit)

    def _dress_unseen(self) -> None:
        """Apply the style sheet to the parts that the first frame does not show."""
        theme = self.services.theme
        for part in (self.production, self.progress, self.banner):
            theme.dress(part)
        self.area.room.dress(theme)

    def restore_layout(self) -> None:
        """Open the pages of the last session, the first time *Welcome*, and follow a pending link."""
        group = self.services.clusters.settings_group
        # A user who connects to a cluster does not need the first steps.
        first = "overview" if group and self.navigation.has("overview") else self.services.pages[0].page_id
        layout.restore_pages(self.navigation, self.services.settings, first, group)
        link, self._wanted_link = self._wanted_link, ""
        if link:
            self._follow(link)

    def save_layout(self) -> None:
        """Remember the layout; before the window has its pages the stored one is kept."""
        if self.backend is not None:
            layout.save(self, self._parts, self.services.settings, self._layout_group)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.tray.is_staying:
            self.tray.opened()

    def closeEvent(self, event: QCloseEvent) -> None:
        # A signal or the program itself closes without a question; a click on the frame is spontaneous.
        if event.spontaneous() and (self.tray.stay_if_wanted() or not self.commands.closing.may_close()):
            event.ignore()
            return
        self.save_layout()
        self.live.stop()
        self.broker.stop()
        event.accept()
        self.closing.emit()
        for window in list(self.navigation.windows):
            window.close()

"""`MainWindow`: the frame around the pages. It wires its parts and holds no figures of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QMouseEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QVBoxLayout, QWidget

from gui.event_loop.turns import next_turn
from gui.main_window import layout
from gui.main_window.broker_watch import BrokerWatch
from gui.main_window.closing import Closing
from gui.main_window.clusters import attached_cluster, cluster_at, settings_group
from gui.main_window.commands import FrameCommands
from gui.main_window.key_bindings import KeyBindings
from gui.main_window.key_choices import KeyChoices
from gui.main_window.links import LinkError, cluster_of, link_to, on_cluster, place_of
from gui.main_window.live import LiveFeed
from gui.main_window.navigation import Navigation
from gui.main_window.notices import Notices, raise_window
from gui.main_window.page_area import PageArea
from gui.main_window.palettes import Palettes
from gui.main_window.places import Place
from gui.main_window.services import Backend, WindowServices, whole_number
from gui.main_window.settings_watch import SettingsWatch
from gui.main_window.side_bar import SideBar
from gui.main_window.status_bar import StatusBar
from gui.main_window.tool_bar import ToolBar
from gui.main_window.tray import Tray
from gui.main_window.window_actions import backend_actions, window_actions
from gui.models.favourites import Pins
from gui.operations.actions import ActionRegistry
from gui.operations.tasks import TaskList
from gui.theme.tokens import State
from gui.views.registry import PageEntry
from gui.views.time_range import DEFAULT_RANGE_MS, TimeRangeChoice
from gui.widgets.connection_stripe import ConnectionStripe
from gui.widgets.notice import Banner
from gui.widgets.production_bar import ProductionBar
from gui.widgets.progress_line import ProgressLine
from gui.widgets.toast import ToastStack
from gui.words.text import Words, tr
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from gui.main_window.detached import DetachedWindow
    from gui.main_window.palette import CommandPalette
    from gui.operations.decoding import DecoderBook
    from gui.operations.report_notice import ReportNotice
    from gui.views.page import PageContext, PageView
    from monitoring.state import ClusterState

__all__ = ["Backend", "MainWindow", "WindowServices"]


class MainWindow(QMainWindow):
    """The window: first the frame alone, whole once `attach` was called.

    Signals:
        first_painted: The frame is on screen for the first time; heavier things may come.
        closing: The user closed the window; whoever runs the worker is to stop it.
        settings_written: The settings that all windows share were written, by whichever; they have been read anew.
    """

    first_painted = Signal()
    closing = Signal()
    settings_written = Signal()

    def __init__(self, services: WindowServices) -> None:
        super().__init__()
        self._services = services
        self._backend: Backend | None = None
        self._language = services.language
        self._wanted_link = ""
        self._layout_group = ""
        """Of the cluster whose pages are open; while the window goes to another one, that is the one before."""
        self._report_notice: ReportNotice | None = None
        self._decoders: DecoderBook | None = None
        self._painted = False
        self._new_pages: set[PageView] = set()
        self._palettes = Palettes(self)
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
        self.status_bar = StatusBar(theme, services.tasks, services.times, files_only=services.store_folder is not None)
        self.banner = Banner(theme)
        self.production = ProductionBar()
        self.stripe = ConnectionStripe()
        self.progress = ProgressLine(theme)
        self.setCentralWidget(frame_of(self))
        self.tray = Tray(self)
        self.notices = Notices(
            theme,
            self,
            self.tool_bar,
            settings,
            beside=self.status_bar.tasks_button,
            tell_tray=self.tray.tell,
            title=lambda: self.broker.short_title,
        )
        self.commands = FrameCommands(self)
        self.actions_known.add(*window_actions(self, self.commands))
        self.keys.serve(self)
        self.broker = BrokerWatch(self)
        self._closing = Closing(self)
        self._connect()
        self.broker.status_changed(SourceStatus.STARTING, None)
        self.show_clock()
        layout.restore_geometry(self, settings, self.settings_group)
        for part in (self.tool_bar, self.side_bar, self.area.strip, self.status_bar):
            theme.dress(part)
        self.first_painted.connect(self._dress_unseen)

    # ---- construction ----------------------------------------------------------------------------------------------

    def attach(self, backend: Backend) -> None:
        """Give the window what it shows, before any page is opened. Another backend closes the pages of the one before."""
        if self._backend is None:
            self.actions_known.add(*backend_actions(self, backend.demo, backend.reports))
            # Keys that are chosen in another window count here at once, too.
            watch = SettingsWatch(self._services.settings, self)
            watch.changed.connect(self._key_choices.load)
            watch.changed.connect(self.settings_written)
        else:
            self.navigation.close_all()
            self.live.forget()
            self.time_range.forget_begin()
            self.side_bar.forget_state()
            self.status_bar.show_figures(None)
        self._backend = backend
        self._layout_group = self.settings_group
        self.pins.use(self._layout_group)
        self.navigation.use(self._page_context(backend))
        self.broker.use(backend)
        from gui.operations.report_notice import ReportNotice  # noqa: PLC0415  the frame is on screen before

        if self._report_notice is not None:
            # Reports go on where another cluster is shown: each is told once.
            self._report_notice.close()
        self._report_notice = ReportNotice(backend.reports, self.notify, self.navigate, self)
        self.broker.status_changed(backend.source.status, None)
        self.show_clock()
        self.tray.follow_setting()

    def decoders(self) -> DecoderBook:
        """The rules by which bodies are read and masked: one book for all pages, and for the results of reports."""
        from gui.operations.decoding import DecoderBook, settings_folder  # noqa: PLC0415  brings numpy, as below

        if self._decoders is None:
            self._decoders = DecoderBook(settings_folder(self.services.settings), self)
        return self._decoders

    def _page_context(self, backend: Backend) -> PageContext:
        from gui.operations.alert_center import AlertCenter  # noqa: PLC0415  brings numpy: the frame is on screen before
        from gui.views.page import PageContext  # noqa: PLC0415  as above

        services = self._services
        if self.broker.alerts is not None:
            self.broker.alerts.close()
        alerts = self.broker.alerts = AlertCenter(
            backend.source, services.settings, self.notify, self, show=lambda: self.navigate("alerts")
        )
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
            restart_worker=self.restart_broker,
            set_language=services.set_language,
            alerts=alerts,
            decoders=self.decoders(),
            pins=self.pins,
            clusters=services.clusters,
        )

    def _connect(self) -> None:
        services, bar, navigation = self._services, self.tool_bar, self.navigation
        bar.back_asked.connect(navigation.back)
        bar.forward_asked.connect(navigation.forward)
        bar.go_to_asked.connect(self.show_palette)
        bar.refresh_asked.connect(self.commands.refresh)
        bar.menu_asked.connect(self.commands.popup_menu)
        bar.cluster_asked.connect(self.commands.popup_cluster_menu)
        bar.theme_asked.connect(self.commands.set_theme_mode)
        self.side_bar.page_asked.connect(self._side_bar_asked)
        self.side_bar.more_asked.connect(self.show_palette)
        self.side_bar.pinned.asked.connect(self._pinned_asked)
        self.area.new_tab_asked.connect(self.show_palette)
        self.area.tear_off_asked.connect(navigation.detach)
        self.area.menu_asked.connect(self.commands.popup_tab_menu)
        self.area.closed.connect(lambda page: layout.remember_page(page, services.settings))
        navigation.shown.connect(self._page_shown)
        navigation.opened.connect(self._page_opened)
        navigation.travelled.connect(self._write_travel)
        navigation.detached.connect(self._page_detached)
        self.banner.button.clicked.connect(lambda _checked=False: self.restart_broker())
        self.status_bar.language_asked.connect(services.set_language)
        self.status_bar.address_copied.connect(lambda address: self.notify(partial(tr, "{address} copied", address=address)))
        services.times.changed.connect(self._zone_changed)
        services.tasks.changed.connect(self._tasks_changed)
        services.tasks.ended.connect(self.notices.task_ended)
        self.time_range.changed.connect(self.broker.refresh_figures)

    # ---- pages -----------------------------------------------------------------------------------------------------

    @property
    def page_entries(self) -> Sequence[PageEntry]:
        return self._services.pages

    def navigate(self, page_id: str, /, **arguments: object) -> None:
        """Open a page in its tab, and go to a place in it."""
        self.navigation.open(Place(page_id, arguments))

    def open_in_new_tab(self, page_id: str, /, **arguments: object) -> None:
        """Open a page in a tab of its own."""
        self.navigation.open(Place(page_id, arguments), new_tab=True)

    def open_link(self, link: str) -> None:
        """Follow a link and come to the front; before the window has its pages, as soon as it has them."""
        raise_window(self)
        if self._backend is None:
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
        from gui.words.error_words import kept_line  # noqa: PLC0415  brings the errors of the broker: the frame is on screen before

        reason = kept_line(error)
        self.notify(lambda: tr("The link {link} was not followed: {reason}", link=link, reason=reason()), state=State.WARNING)

    def _belongs_elsewhere(self, link: str) -> bool:
        """Hand a link about another cluster to that one's window; returns whether it was one."""
        clusters, name_servers = self._services.clusters, cluster_of(link)
        shown = attached_cluster(clusters)
        if not name_servers or (shown is not None and name_servers in (shown.address, shown.kept_under)):
            return False
        other = cluster_at(clusters, name_servers)
        if other is None:
            raise LinkError(f"it is about the cluster at {name_servers}, to which there is no connection: connect to it first")
        # Written anew: as it came it may be none to a command line, and an error there is seen by nobody.
        clusters.open_beside(other, on_cluster(link_to(place_of(link)), name_servers))
        return True

    def _page_opened(self, page: PageView) -> None:
        page.status_changed(self.source_status)
        page.title_changed.connect(lambda _title: self._title_changed(page))
        layout.restore_page(page, self._services.settings, self.settings_group)
        self._new_pages.add(page)

    def _title_changed(self, page: PageView) -> None:
        # Of what lies behind no title stands in the window's, and in another language all change.
        if page is self.area.current or page not in self.area.pages:
            self.broker.write_title()

    def _page_shown(self, page: PageView) -> None:
        if page is self.area.current:
            self.side_bar.show_page(page.side_bar_id or page.page_id)
            self.broker.write_title()
        if page in self._new_pages:
            # Its figures come a turn later: building, showing and filling a page in one turn would be felt.
            self._new_pages.discard(page)
            next_turn(page, lambda: self._show_figures_in(page))
        else:
            self._show_figures_in(page)

    def _show_figures_in(self, page: PageView) -> None:
        state = self.newest_state
        if state is not None:
            page.state_changed(state)

    def _page_detached(self, window: DetachedWindow) -> None:
        self.keys.serve(window)
        window.closed.connect(lambda: layout.remember_page(window.page, self._services.settings))
        self._palettes.forget_with(window)
        window.veil.set_wanted(self.broker.out_of_date)
        window.banner.show_like(self.banner)
        self.broker.mark(window)
        window.set_cluster(self.broker.short_title)

    def _side_bar_asked(self, page_id: str, new_tab: bool) -> None:
        self.navigation.open(Place(page_id), new_tab=new_tab)

    def _pinned_asked(self, page_id: str, name: str, new_tab: bool) -> None:
        arguments = {"group" if page_id == "consumers" else "topic": name}
        self.navigation.open(self.navigation.known(Place(page_id, arguments)), new_tab=new_tab)

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

    @property
    def palette_view(self) -> CommandPalette:
        """The command palette of the window that is active."""
        return self._palettes.active

    def show_palette(self, text: str = "") -> None:
        """Open the command palette, with a text in its field."""
        self.palette_view.popup(text)

    def restart_broker(self) -> None:
        """Stop and start the embedded broker, with a question if clients are connected to it."""
        self._closing.restart()

    @property
    def services(self) -> WindowServices:
        """What the frame was made of."""
        return self._services

    @property
    def settings_group(self) -> str:
        """Where the settings keep what belongs to the shown cluster alone."""
        return settings_group(self._services.clusters)

    @property
    def backend(self) -> Backend | None:
        """What the window shows; None until it is attached."""
        return self._backend

    @property
    def tasks(self) -> TaskList:
        """Long work of the window."""
        return self._services.tasks

    @property
    def ready_address(self) -> str:
        """Name server address; empty while the broker does not run."""
        return self.broker.address

    @property
    def source_status(self) -> SourceStatus:
        """How the broker is; starting until the window is attached."""
        return self.broker.status

    @property
    def newest_state(self) -> ClusterState | None:
        """The newest figures, once known."""
        return self.broker.state

    # ---- notices, language, zone, title ----------------------------------------------------------------------------

    @property
    def toasts(self) -> ToastStack:
        """What was told."""
        return self.notices.toasts

    def notify(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None:
        """Show a toast and keep it under the bell."""
        self.notices.show(words, state=state, action=action, on_action=on_action)

    def _tasks_changed(self) -> None:
        self.notices.tasks_changed(self._services.tasks.running)

    def show_language(self, language: str) -> None:
        """The language has changed; Qt tells the widgets themselves."""
        self._language = language
        self.show_clock()

    def _zone_changed(self) -> None:
        self._services.settings.setValue("utc", self._services.times.utc)
        self.show_clock()
        self.broker.refresh_figures()

    def show_clock(self) -> None:
        """Show the time zone and the language."""
        state = self.newest_state
        self.status_bar.show_zone(state.taken_ms if state is not None else 0)
        self.status_bar.show_language(self._language)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.broker.retranslate()
            # Its words are those of the status bar, which is told of the language after the window.
            next_turn(self.tray, self.tray.write)

    # ---- layout, end -----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # The next turn of the loop: the frame is then on its way to the screen.
            next_turn(self, self.first_painted.emit)

    def _dress_unseen(self) -> None:
        """What the first frame does not show has its style sheet after it."""
        theme = self._services.theme
        for part in (self.production, self.progress, self.banner):
            theme.dress(part)
        self.area.room.dress(theme)

    def restore_layout(self) -> None:
        """Open the pages that were open last time, the first time *Welcome*, and where a link leads."""
        group = self.settings_group
        # Who connects to a cluster is past the first steps.
        first = "overview" if group and self.navigation.has("overview") else self.page_entries[0].page_id
        layout.restore_pages(self.navigation, self._services.settings, first, group)
        link, self._wanted_link = self._wanted_link, ""
        if link:
            self._follow(link)

    def save_layout(self) -> None:
        """Remember how the window looks; before it has its pages, what is remembered stays."""
        if self._backend is not None:
            layout.save(self, self._services.settings, self._layout_group)

    def ask_close(self) -> None:
        """Close the window, as its own close button does: with a question if something would be lost."""
        self._closing.ask()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.tray.is_staying:
            self.tray.opened()

    def closeEvent(self, event: QCloseEvent) -> None:
        # A signal or the program itself closes without a question; a click on the frame is spontaneous.
        if event.spontaneous() and (self.tray.stay_if_wanted() or not self._closing.may_close()):
            event.ignore()
            return
        self.save_layout()
        self.live.stop()
        self.broker.stop()
        event.accept()
        self.closing.emit()
        for window in list(self.navigation.windows):
            window.close()


def frame_of(window: MainWindow) -> QWidget:
    """The parts of a window in their places: bars above and below, the side bar left, the pages in the middle."""
    right = QWidget()
    lines = QVBoxLayout(right)
    lines.setContentsMargins(0, 0, 0, 0)
    lines.setSpacing(0)
    lines.addWidget(window.banner)
    lines.addWidget(window.area, 1)
    middle = QHBoxLayout()
    middle.setSpacing(0)
    middle.addWidget(window.side_bar)
    middle.addWidget(right, 1)
    central = QWidget()
    whole = QVBoxLayout(central)
    whole.setContentsMargins(0, 0, 0, 0)
    whole.setSpacing(0)
    whole.addWidget(window.stripe)
    whole.addWidget(window.production)
    whole.addWidget(window.tool_bar)
    whole.addWidget(window.progress)
    whole.addLayout(middle, 1)
    whole.addWidget(window.status_bar)
    return central

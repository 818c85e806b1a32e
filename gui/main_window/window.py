"""`MainWindow`: the frame around the pages. It wires its parts and holds no figures of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QPoint, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QMenu, QVBoxLayout, QWidget

from gui.broker_words import broker_text, event_state, event_text
from gui.main_window.live import LiveFeed
from gui.main_window.page_area import PageArea
from gui.main_window.palette import CommandPalette, PaletteEntry
from gui.main_window.palette_entries import palette_entries
from gui.main_window.places import Place, Places
from gui.main_window.shortcut_sheet import ShortcutSheet, key_text
from gui.main_window.side_bar import SideBar
from gui.main_window.status_bar import StatusBar
from gui.main_window.tool_bar import ToolBar
from gui.main_window.window_actions import MENUS, backend_actions, window_actions
from gui.operations.actions import Action, ActionRegistry
from gui.operations.tasks import Task, TaskList, TaskState
from gui.text import TimeZoneChoice, short_count_text, tr
from gui.theme.icons import icon
from gui.theme.manager import ThemeManager, ThemeMode
from gui.theme.tokens import State, mix
from gui.views.page import ONE_TIME_ARGUMENTS, PageContext, PageView
from gui.views.registry import PAGES, PageEntry
from gui.views.time_range import DEFAULT_RANGE_MS, TimeRangeChoice
from gui.widgets.notice import Banner
from gui.widgets.progress_line import ProgressLine
from gui.widgets.toast import ToastStack
from monitoring.sources.base import ClusterSource, SourceStatus

if TYPE_CHECKING:
    from broker_core.api import Occurred, OrbitError, Ready
    from gui.bridge.demo import DemoController
    from gui.operations.reports import ReportRunner
    from monitoring.series import History
    from monitoring.state import ClusterState

LAYOUT_VERSION = 1
LAG_WARNING_MESSAGES = 15_000
AGE_TICK_MS = 1_000
HISTORY_POINTS = 3_600


@dataclass(frozen=True, slots=True)
class WindowServices:
    """What the frame needs to be painted; made by `gui.app`."""

    theme: ThemeManager
    settings: QSettings
    tasks: TaskList
    times: TimeZoneChoice
    set_language: Callable[[str], None]
    language: str = "en"
    pages: Sequence[PageEntry] = PAGES
    cluster_name: str = "Embedded"


@dataclass(frozen=True, slots=True)
class Backend:
    """What the window shows and controls. It comes after the first paint, as its imports (numpy) take longer than the frame."""

    source: ClusterSource
    history: History
    demo: DemoController
    reports: ReportRunner
    restart_worker: Callable[[], None]


class MainWindow(QMainWindow):
    """The window: first the frame alone, whole once `attach` was called.

    It listens to the source (`monitoring.sources.base.ClusterListener`).

    Signals:
        first_painted: The frame is on screen for the first time; heavier things may come.
        closing: The user closed the window; whoever runs the worker is to stop it.
    """

    first_painted = Signal()
    closing = Signal()

    def __init__(self, services: WindowServices) -> None:
        super().__init__()
        self._services = services
        self._backend: Backend | None = None
        self._context: PageContext | None = None
        self._pages = {entry.page_id: entry for entry in services.pages}
        self._places = Places()
        self._travelling = False
        self._language = services.language
        self._qt_actions: list[QAction] = []
        settings, theme = services.settings, services.theme
        self.live = LiveFeed(self, cadence_ms=_setting(settings, "live/cadence_ms", 1_000))
        self.actions_known = ActionRegistry(self)
        self.time_range = TimeRangeChoice(_setting(settings, "time_range_ms", DEFAULT_RANGE_MS), self)
        self.tool_bar = ToolBar(theme, self.live, self.time_range, services.times, services.cluster_name)
        self.side_bar = SideBar(theme, services.pages)
        self.area = PageArea(theme)
        self.status_bar = StatusBar(theme, services.tasks, services.times)
        self.banner = Banner(theme)
        self.progress = ProgressLine(theme)
        self._build()
        self.toasts = ToastStack(theme, self)
        self._palette_view: CommandPalette | None = None
        self._add_actions()
        self._connect()
        self._age_timer = QTimer(self)
        self._age_timer.setInterval(AGE_TICK_MS)
        self._age_timer.timeout.connect(self._show_age)
        self._age_timer.start()
        self.status_changed(SourceStatus.STARTING, None)
        self._show_clock()
        self._painted = False
        self.setMinimumSize(960, 600)
        self._restore_geometry()

    # ---- construction ----------------------------------------------------------------------------------------------

    def attach(self, backend: Backend) -> None:
        """Give the window what it shows. Once, before any page is opened."""
        assert self._backend is None
        self._backend = backend
        self._context = self._page_context(backend)
        for action in backend_actions(self, backend.demo, backend.reports):
            self.actions_known.add(action)
        backend.source.add_listener(self)
        self.status_changed(backend.source.status, None)
        self._show_clock()

    def _page_context(self, backend: Backend) -> PageContext:
        services = self._services
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
            restart_worker=backend.restart_worker,
            set_language=services.set_language,
        )

    def _build(self) -> None:
        right = QWidget()
        lines = QVBoxLayout(right)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        lines.addWidget(self.banner)
        lines.addWidget(self.area, 1)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.side_bar)
        middle.addWidget(right, 1)
        central = QWidget()
        central.setProperty("role", "window")
        whole = QVBoxLayout(central)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.tool_bar)
        whole.addWidget(self.progress)
        whole.addLayout(middle, 1)
        whole.addWidget(self.status_bar)
        self.setCentralWidget(central)

    def _add_actions(self) -> None:
        for action in window_actions(self):
            self.actions_known.add(action)
        self.actions_known.changed.connect(self._bind_keys)
        self._bind_keys()

    def _connect(self) -> None:
        services, bar = self._services, self.tool_bar
        bar.back_asked.connect(self.go_back)
        bar.forward_asked.connect(self.go_forward)
        bar.go_to_asked.connect(self.show_palette)
        bar.menu_asked.connect(self._popup_menu)
        bar.cluster_asked.connect(self._popup_cluster_menu)
        bar.theme_asked.connect(self.set_theme_mode)
        bar.notices_seen.connect(self._notices_seen)
        self.side_bar.page_asked.connect(self._side_bar_asked)
        self.area.shown.connect(self._page_shown)
        self.area.new_tab_asked.connect(self.show_palette)
        self.live.due.connect(self._show_state)
        self.banner.button.clicked.connect(lambda _checked=False: self.restart_broker())
        self.status_bar.language_asked.connect(services.set_language)
        self.status_bar.address_copied.connect(lambda address: self.notify(tr("{address} copied", address=address)))
        services.times.changed.connect(self._zone_changed)
        services.tasks.ended.connect(self._task_ended)
        self.time_range.changed.connect(self._refresh_figures)

    # ---- pages -----------------------------------------------------------------------------------------------------

    @property
    def page_entries(self) -> Sequence[PageEntry]:
        return self._services.pages

    def navigate(self, page_id: str, /, **arguments: object) -> None:
        """Open a page in its tab, and go to a place in it."""
        self._open(Place(page_id, arguments), new_tab=False)

    def open_in_new_tab(self, page_id: str, /, **arguments: object) -> None:
        """Open a page in a tab of its own."""
        self._open(Place(page_id, arguments), new_tab=True)

    def _open(self, place: Place, *, new_tab: bool) -> None:
        page = None if new_tab else self.area.page_of(place.page_id)
        if page is None:
            page = self._make_page(self._pages[place.page_id])
        self._travelling = True
        self.area.show_page(page)
        self._travelling = False
        page.open(place.arguments)
        lasting = {name: value for name, value in place.arguments.items() if name not in ONE_TIME_ARGUMENTS}
        self._visit(Place(place.page_id, lasting))
        self._page_shown(page)

    def _make_page(self, entry: PageEntry) -> PageView:
        context = self._context
        assert context is not None, "a page was opened before the window was attached"
        page = self.area.add(lambda: entry.load()(context))
        page.place_changed.connect(lambda arguments: self._visit(Place(page.page_id, arguments)))
        page.status_changed(self.source_status)
        return page

    def _visit(self, place: Place) -> None:
        self._places.visit(place)
        self._write_travel()

    def _page_shown(self, page: PageView) -> None:
        self.side_bar.show_page(page.side_bar_id or page.page_id)
        current = self._places.current
        if not self._travelling and (current is None or current.page_id != page.page_id):
            self._visit(Place(page.page_id))
        state = self.newest_state
        if state is not None:
            page.state_changed(state)

    def _side_bar_asked(self, page_id: str, new_tab: bool) -> None:
        self._open(Place(page_id), new_tab=new_tab)

    def go_back(self) -> None:
        """Return to the place before."""
        self._travel(self._places.back())

    def go_forward(self) -> None:
        """Go to the place that Back left."""
        self._travel(self._places.forward())

    def _travel(self, place: Place | None) -> None:
        if place is not None:
            self._open(place, new_tab=False)
        self._write_travel()

    def _write_travel(self) -> None:
        self.tool_bar.back_button.setEnabled(self._places.can_go_back)
        self.tool_bar.forward_button.setEnabled(self._places.can_go_forward)

    # ---- what the source says --------------------------------------------------------------------------------------

    def status_changed(self, status: SourceStatus, reason: OrbitError | None) -> None:
        """The broker starts, runs, or is gone."""
        lost = status is SourceStatus.LOST
        ready = self._ready
        self.status_bar.show_status(status)
        self.status_bar.show_address(ready.name_server if ready is not None else "")
        self.progress.setVisible(status is SourceStatus.STARTING)
        self.progress.set_share(None)
        self.area.veil.set_wanted(status in (SourceStatus.LOST, SourceStatus.STOPPED) and self.newest_state is not None)
        if lost:
            text = reason.message if reason is not None else ""
            self.banner.set(tr("The embedded broker has stopped."), text, tr("Restart the broker"))
        else:
            self.banner.hide()
        self._write_title()
        if ready is not None and ready.notice:
            self.notify(broker_text(ready.notice), state=State.WARNING)
        for page in self.area.pages:
            page.status_changed(status)

    def stage_changed(self, text: str, done: int, total: int) -> None:
        """The broker reports a step of its start."""
        self.status_bar.show_status(self.source_status, text)
        self.progress.set_share(done / total if total > 0 else None)
        for page in self.area.pages:
            page.stage_changed(text, done, total)

    def state_changed(self, state: ClusterState) -> None:
        """New figures arrived; shown at the live cadence."""
        if self.live.age_ms is None and self._backend is not None:
            recorded_s, _ = self._backend.history.series("totals.put_rate").window(0, state.taken_ms, HISTORY_POINTS)
            self.time_range.set_begin(int(recorded_s[0] * 1_000) if len(recorded_s) else state.taken_ms)
            self._ask_record_begin(self._backend.source, state.taken_ms)
            self._show_clock()
        self.live.take(state)

    def _ask_record_begin(self, source: ClusterSource, now_ms: int) -> None:
        """Ask since when the worker records: its history is older than this window."""
        from gui.operations.history import RecordBegin  # noqa: PLC0415  brings numpy: the frame is on screen before

        begin = RecordBegin(source, self)
        begin.found.connect(self.time_range.set_begin)
        begin.ask(now_ms)

    def occurred(self, event: Occurred) -> None:
        """Something worth knowing happened. What asks for a look is a toast, the rest only goes under the bell."""
        text, state = event_text(event), event_state(event)
        if state is State.INFO:
            self.toasts.keep(text, state)
            self._notices_changed()
        else:
            self.notify(text, state=state)

    def _show_state(self, state: ClusterState) -> None:
        self.status_bar.show_figures(state)
        self._show_counts(state)
        self._show_age()
        page = self.area.current
        if page is not None and page.isVisible():
            page.state_changed(state)

    def _show_counts(self, state: ClusterState) -> None:
        lag = state.totals.get("lag_messages", float("nan"))
        over = lag > LAG_WARNING_MESSAGES
        self.side_bar.set_count("topics", short_count_text(len(state.catalog.topics)))
        self.side_bar.set_count("consumers", short_count_text(lag) if lag > 0 else "", State.WARNING if over else None)
        delayed = float(state.delays.pending.clip(0).sum()) + max(0.0, state.timers.get("pending", 0.0))
        halves = state.totals.get("transactions_pending", 0.0)
        self.side_bar.set_count("delay", short_count_text(delayed) if delayed > 0 else "")
        self.side_bar.set_count("transactions", short_count_text(halves) if halves > 0 else "")

    def _show_age(self) -> None:
        self.status_bar.show_age(self.live.age_ms, max(1_000, self.live.cadence_ms))

    def _refresh_figures(self) -> None:
        state = self.newest_state
        if state is not None:
            self._show_state(state)

    # ---- actions ---------------------------------------------------------------------------------------------------

    def _bind_keys(self) -> None:
        for old in self._qt_actions:
            self.removeAction(old)
            old.deleteLater()
        self._qt_actions = []
        for action in self.actions_known.actions():
            if action.shortcut and not _is_plain_key(action.shortcut):
                made = QAction(self)
                made.setShortcut(QKeySequence(action.shortcut))
                made.triggered.connect(lambda _checked=False, action=action: self.actions_known.run(action.action_id))
                self.addAction(made)
                self._qt_actions.append(made)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Keys without a modifier act only when the focused widget has no use for them, so they are no QActions.
        for action in self.actions_known.actions():
            if _is_plain_key(action.shortcut) and (
                event.text() == action.shortcut or QKeySequence(event.key()) == QKeySequence(action.shortcut)
            ):
                self.actions_known.run(action.action_id)
                return
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.BackButton:
            self.go_back()
        elif event.button() == Qt.MouseButton.ForwardButton:
            self.go_forward()
        else:
            super().mousePressEvent(event)

    def _popup_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        known = self.actions_known.actions()
        for section in dict.fromkeys([*MENUS, *(action.section for action in known)]):
            members = [action for action in known if action.section == section]
            if members:
                part = menu.addMenu(tr(section))
                for action in members:
                    self._add_to_menu(part, action)
        menu.popup(at)

    def _add_to_menu(self, menu: QMenu, action: Action) -> None:
        tokens = self._services.theme.tokens
        made = menu.addAction(action.text)
        if action.icon:
            made.setIcon(icon(action.icon, tokens.text_2, disabled=mix(tokens.text_3, tokens.panel, 60)))
        if action.shortcut:
            made.setText(f"{action.text}\t{key_text(action.shortcut)}")
        reason = action.blocked()
        made.setEnabled(not reason)
        made.setToolTip(reason)
        made.triggered.connect(lambda _checked=False: self.actions_known.run(action.action_id))

    def _popup_cluster_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        entry = menu.addAction(f"{tr(self._services.cluster_name)}  {self.ready_address}".strip())
        entry.setCheckable(True)
        entry.setChecked(True)
        menu.addSeparator()
        for action_id in ("broker.copy_address", "broker.restart"):
            action = self.actions_known.get(action_id)
            if action is not None:
                self._add_to_menu(menu, action)
        menu.popup(at)

    @property
    def palette_view(self) -> CommandPalette:
        """The command palette, made when first wanted."""
        if self._palette_view is None:
            self._palette_view = CommandPalette(self._services.theme, self, self._palette_entries)
        return self._palette_view

    def show_palette(self) -> None:
        """Open the command palette."""
        self.palette_view.popup()

    def _palette_entries(self, query: str) -> list[PaletteEntry]:
        return palette_entries(query, self)

    def ask_close(self) -> None:
        """Close the window, as its own close button does."""
        self.close()

    def show_shortcuts(self) -> None:
        """Open the shortcut sheet."""
        ShortcutSheet(self.actions_known.actions(), self).open()

    def refresh(self) -> None:
        """Read the current page anew."""
        self.live.once()
        page = self.area.current
        if page is not None:
            page.refresh()

    def focus_filter(self) -> None:
        """Put the focus into the filter of the current page."""
        page = self.area.current
        if page is not None:
            page.focus_filter()

    def close_tab(self) -> None:
        """Close the current tab."""
        self.area.close_page(self.area.tabs.currentIndex())

    def toggle_side_bar(self) -> None:
        """Show the side bar as icons, or whole."""
        self.side_bar.set_collapsed(not self.side_bar.collapsed)

    def toggle_full_screen(self) -> None:
        """Fill the screen, or not."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def copy_address(self) -> None:
        """Put the name server address on the clipboard."""
        address = self.ready_address
        if address:
            QGuiApplication.clipboard().setText(address)
            self.notify(tr("{address} copied", address=address))

    def restart_broker(self) -> None:
        """Stop and start the embedded broker."""
        if self._backend is not None:
            self._backend.restart_worker()

    def toggle_utc(self) -> None:
        """Show local time or UTC."""
        self._services.times.toggle()

    def set_theme_mode(self, mode: ThemeMode) -> None:
        """Change the theme and remember it."""
        self._services.theme.set_mode(mode)
        self._services.settings.setValue("theme", mode.value)
        self.tool_bar.write()

    def ask_language(self, language: str) -> None:
        """Change the language."""
        self._services.set_language(language)

    @property
    def tasks(self) -> TaskList:
        """Long work of the window."""
        return self._services.tasks

    @property
    def ready_address(self) -> str:
        """Name server address; empty while the broker does not run."""
        return self._ready.name_server if self._ready is not None else ""

    @property
    def _ready(self) -> Ready | None:
        return self._backend.source.ready if self._backend is not None else None

    @property
    def source_status(self) -> SourceStatus:
        """How the broker is; starting until the window is attached."""
        return self._backend.source.status if self._backend is not None else SourceStatus.STARTING

    @property
    def newest_state(self) -> ClusterState | None:
        """The newest figures, once known."""
        return self._backend.source.state if self._backend is not None else None

    # ---- notices ---------------------------------------------------------------------------------------------------

    def notify(
        self, text: str, *, state: State = State.INFO, action: str = "", on_action: Callable[[], None] | None = None
    ) -> None:
        """Show a toast and keep it under the bell."""
        self.toasts.show(text, state=state, action=action, on_action=on_action)
        self._notices_changed()

    def _notices_changed(self) -> None:
        self.tool_bar.notices = self.toasts.kept
        self.tool_bar.bell.set_unread(self.toasts.unread)

    def _notices_seen(self) -> None:
        self.toasts.mark_read()
        self.tool_bar.bell.set_unread(0)

    def _task_ended(self, task: Task) -> None:
        if task.state is TaskState.FAILED and not task.quiet:
            self.notify(f"{task.title}: {task.text}", state=State.CRITICAL)

    # ---- language, zone, title -------------------------------------------------------------------------------------

    def show_language(self, language: str) -> None:
        """The language has changed; Qt tells the widgets themselves."""
        self._language = language
        self._show_clock()

    def _zone_changed(self) -> None:
        self._services.settings.setValue("utc", self._services.times.utc)
        self._show_clock()
        self._refresh_figures()

    def _show_clock(self) -> None:
        state = self.newest_state
        now_ms = state.taken_ms if state is not None else 0
        self.status_bar.show_zone(now_ms)
        self.status_bar.show_language(self._language)

    def _write_title(self) -> None:
        state = {
            SourceStatus.STARTING: State.PENDING,
            SourceStatus.READY: State.HEALTHY,
            SourceStatus.LOST: State.CRITICAL,
            SourceStatus.STOPPED: State.IDLE,
        }[self.source_status]
        self.tool_bar.set_state(state, tr("this machine"))
        address = self.ready_address
        self.setWindowTitle(f"Orbit — {tr(self._services.cluster_name)}" + (f" · {address}" if address else ""))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.status_changed_texts()

    def status_changed_texts(self) -> None:
        """Write what the frame itself says anew."""
        self._write_title()
        self._refresh_figures()

    # ---- layout, end -----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            # The next turn of the loop: the frame is then on its way to the screen.
            QTimer.singleShot(0, self, self.first_painted.emit)

    def _restore_geometry(self) -> None:
        settings = self._services.settings
        self.resize(1440, 900)
        if _setting(settings, "layout/version", 0) != LAYOUT_VERSION:
            return
        geometry = settings.value("layout/geometry")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        self.side_bar.set_collapsed(bool(_setting(settings, "layout/side_bar_collapsed", 0)))

    def restore_layout(self) -> None:
        """Open the pages that were open last time; the first time *Welcome*."""
        settings = self._services.settings
        known = _setting(settings, "layout/version", 0) == LAYOUT_VERSION
        tabs = settings.value("layout/tabs", []) if known else []
        names = [tabs] if isinstance(tabs, str) else list(tabs) if isinstance(tabs, list) else []
        pages = [name for name in names if name in self._pages]
        first = next(iter(self._pages))
        current = str(settings.value("layout/current", ""))
        self.navigate(current if current in pages else pages[0] if pages else first)
        shown = self.area.current
        for name in pages:
            if self.area.page_of(name) is None:
                self._make_page(self._pages[name])
        if shown is not None:
            self.area.show_page(shown)

    def save_layout(self) -> None:
        """Remember how the window looks."""
        settings, current = self._services.settings, self.area.current
        settings.setValue("layout/version", LAYOUT_VERSION)
        settings.setValue("layout/geometry", self.saveGeometry())
        settings.setValue("layout/side_bar_collapsed", int(self.side_bar.collapsed))
        settings.setValue("layout/tabs", [page.page_id for page in self.area.pages])
        settings.setValue("layout/current", current.page_id if current is not None else "")
        settings.setValue("live/cadence_ms", self.live.cadence_ms)
        settings.setValue("time_range_ms", self.time_range.length_ms)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.save_layout()
        self.live.stop()
        self._age_timer.stop()
        event.accept()
        self.closing.emit()


def _is_plain_key(shortcut: str) -> bool:
    return bool(shortcut) and "+" not in shortcut and not (shortcut.startswith("F") and shortcut[1:].isdigit())


def _setting(settings: QSettings, key: str, default: int) -> int:
    """A whole number from the settings file, or the default where it is missing or none."""
    text = str(settings.value(key, default))
    return int(text) if text.lstrip("-").isdigit() else default

"""`BrokerWatch`: shows the broker's status and figures in the frame and the pages."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gui.connections.cluster import Cluster
from gui.main_window.frame_parts import FrameParts
from gui.main_window.live import Standing
from gui.main_window.services import Backend, FrameServices
from gui.main_window.side_bar import show_counts
from gui.theme.tokens import State
from gui.widgets.toast import Repeats
from gui.words.broker_words import broker_text, event_state, event_text, faults_text, repeated_words
from gui.words.plain_text import title_text
from gui.words.text import tr
from monitoring.reach import ClusterReach
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from broker_core.api import OrbitError
    from broker_core.worker.questions.figures import Occurred
    from gui.main_window.detached import DetachedWindow
    from gui.operations.alert_center import AlertCenter
    from monitoring.state import ClusterState

AGE_TICK_MS = 1_000
LATE_MS = 30_000
"""Older figures no longer describe the cluster."""
HISTORY_POINTS = 3_600

_STATUS_STATES = {
    SourceStatus.STARTING: State.PENDING,
    SourceStatus.READY: State.HEALTHY,
    SourceStatus.LOST: State.CRITICAL,
    SourceStatus.STOPPED: State.IDLE,
}


def repeats_of(event: Occurred) -> Repeats | None:
    """How an event is told together with others of its kind; None if it is always told alone."""
    words = repeated_words(event.kind)
    return None if words is None or not event.subject else Repeats(event.kind, event.subject, words)


class BrokerWatch(QObject):
    """Listens to the source of one window (`monitoring.sources.base.ClusterListener`); the broker starts until then.

    Signals:
        lost: The broker is gone; the banner says why.
        written: Title, health or age may have changed.
    """

    lost = Signal()
    written = Signal()

    def __init__(self, frame: FrameServices, parts: FrameParts) -> None:
        super().__init__(frame.host)
        self._frame = frame
        self._parts = parts
        self._backend: Backend | None = None
        self.alerts: AlertCenter | None = None
        """Its count is shown at the Alerts page in the side bar."""
        self._lost = ""
        """The broker's reason for its end."""
        self._feed_shows_next = False
        """Whether the first figures follow in a moment, so that a change of the time range need not show them."""
        self._shows_faults = False
        """Whether the banner lists missing parts."""
        self._age_timer = QTimer(self, interval=AGE_TICK_MS)
        self._age_timer.timeout.connect(self._tick)
        self._age_timer.start()
        parts.live.due.connect(self._show_state)

    @property
    def out_of_date(self) -> bool:
        """Whether the figures on screen are those of a broker that is gone."""
        return self._frame.status in (SourceStatus.LOST, SourceStatus.STOPPED) and self._frame.state is not None

    # ---- which source ----------------------------------------------------------------------------------------------

    def use(self, backend: Backend) -> None:
        """Listen to this source from now on."""
        if self._backend is not None:
            self._backend.source.remove_listener(self)
        self._backend = backend
        backend.source.add_listener(self)

    def stop(self) -> None:
        self._age_timer.stop()

    # ---- what the source says --------------------------------------------------------------------------------------

    def status_changed(self, status: SourceStatus, reason: OrbitError | None) -> None:
        parts, ready = self._parts, self._frame.ready
        parts.status_bar.is_attached = self._attached is not None
        parts.status_bar.show_status(status)
        parts.status_bar.show_address(self._frame.address)
        parts.progress.setVisible(status is SourceStatus.STARTING)
        parts.progress.set_share(None)
        for veil in (parts.area.veil, *(torn_off.veil for torn_off in parts.navigation.windows)):
            veil.set_wanted(self.out_of_date)
        if status is SourceStatus.LOST:
            self._lost = reason.message if reason is not None else ""
            self._show_banner()
            self.lost.emit()
        else:
            parts.banner.hide()
        self._shows_faults = False
        self._copy_banner()
        self._show_standing()
        parts.status_bar.show_figures(self._frame.state, ended=self.standing is Standing.ENDED)
        self.write_title()
        if ready is not None and ready.notice:
            self._frame.notify(partial(broker_text, ready.notice), state=State.WARNING)
        for page in parts.navigation.pages:
            page.status_changed(status)
        if status is SourceStatus.LOST and not parts.live.paused:
            # The last figures came after those that were shown; all parts of the window stop at the same.
            self.refresh_figures()

    def _show_banner(self) -> None:
        banner, text = self._parts.banner, broker_text(self._lost)
        if self._attached is not None:
            banner.set(tr("The connection has ended."), text, tr("Connect again"))
        elif self._frame.app.store_folder is None:
            banner.set(tr("The embedded broker has stopped."), text, tr("Restart the broker"))
        else:
            banner.set(tr("The store is not read any more"), text, tr("Open it again"))

    def _copy_banner(self) -> None:
        """Show the banner over torn-off pages too: they may be on another screen."""
        for torn_off in self._parts.navigation.windows:
            torn_off.banner.show_like(self._parts.banner)

    def stage_changed(self, text: str, done: int, total: int) -> None:
        self._parts.status_bar.show_status(self._frame.status, text)
        self._parts.progress.set_share(done / total if total > 0 else None)
        for page in self._parts.navigation.pages:
            page.stage_changed(text, done, total)

    def state_changed(self, state: ClusterState) -> None:
        """Show new figures at the live cadence."""
        parts = self._parts
        if parts.live.age_ms is None and self._backend is not None:
            recorded_s, _ = self._backend.history.series("totals.put_rate").window(0, state.taken_ms, HISTORY_POINTS)
            self._feed_shows_next = not parts.live.paused
            parts.time_range.set_begin(int(recorded_s[0] * 1_000) if len(recorded_s) else state.taken_ms)
            self._feed_shows_next = False
            self._ask_record_begin(self._backend, state.taken_ms)
            parts.status_bar.show_zone(state.taken_ms)
        parts.live.take(state)

    def _ask_record_begin(self, backend: Backend, now_ms: int) -> None:
        """Ask since when the worker records: its history is older than this window."""
        from gui.operations.history import RecordBegin

        begin = RecordBegin(backend.source, self)
        begin.found.connect(self._parts.time_range.set_begin)
        begin.ask(now_ms)

    def occurred(self, event: Occurred) -> None:
        """Report an event: a toast where the user should look, else only under the bell."""
        if event.kind in ("action", "alert", "unjudged", "note"):
            return  # the user did it, or the alert was reported when it fired
        words, state = partial(event_text, event), event_state(event)
        if state is State.INFO:
            self._frame.keep_notice(words, state, repeats_of(event))
        else:
            self._frame.notify(words, state=state)

    # ---- what is shown of it ---------------------------------------------------------------------------------------

    def _show_state(self, state: ClusterState) -> None:
        parts = self._parts
        self._show_standing()
        parts.status_bar.show_figures(state, ended=self.standing is Standing.ENDED)
        parts.status_bar.show_reach(state.reach)
        self._show_faults(state)
        alerts = self.alerts
        show_counts(
            parts.side_bar,
            state,
            alerts_firing=self._alerts_firing(),
            lag_is_over=alerts is not None and alerts.lag_limits.is_over(state),
            dead_are_alarming=alerts is not None and alerts.has_dead_letters,
        )
        if alerts is not None:
            parts.side_bar.pinned.show_state(state, alerts.lag_limits)
        self._show_age()
        for page in parts.navigation.visible_pages:
            page.state_changed(state)
        parts.area.show_gone()

    def _alerts_firing(self) -> float:
        """How many alerts fire; NaN while that is unknown, 0 where no broker runs that could be watched."""
        ready = self._frame.ready
        if ready is not None and not ready.runs_broker:
            return 0
        return self.alerts.firing if self.alerts is not None and self.alerts.is_read else math.nan

    def _show_faults(self, state: ClusterState) -> None:
        """Show missing parts of a cluster over all pages, with their times and reasons."""
        if self._frame.status is not SourceStatus.READY:
            return
        banner, was_shown = self._parts.banner, self._shows_faults
        self._shows_faults = bool(state.faults)
        if state.faults:
            banner.set(tr("A part of the cluster is missing."), faults_text(state.faults))
        elif was_shown:
            banner.hide()
        self._copy_banner()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.write_title()
        if self._frame.status is SourceStatus.LOST:
            self._show_banner()
            self._copy_banner()
        self.refresh_figures()

    def refresh_figures(self) -> None:
        """Write the figures again, e.g. for another time range or language."""
        state = self._frame.state
        if state is not None and not self._feed_shows_next:
            self._show_state(state)

    @property
    def health(self) -> State:
        """State of the cluster, without its alert rules."""
        state = self._frame.state
        if self._frame.status is not SourceStatus.READY or state is None:
            return _STATUS_STATES[self._frame.status]
        if state.reach is ClusterReach.NOTHING:
            return State.CRITICAL
        return State.WARNING if state.reach is ClusterReach.PART or self.is_late else State.HEALTHY

    @property
    def standing(self) -> Standing:
        """What the figures on screen are worth."""
        status, state = self._frame.status, self._frame.state
        if status is SourceStatus.STARTING:
            return Standing.WAITING
        if status is not SourceStatus.READY or (state is not None and state.reach is ClusterReach.NOTHING):
            return Standing.ENDED
        if state is None:
            return Standing.WAITING
        if self.is_late:
            return Standing.LATE
        return Standing.PART if state.reach is ClusterReach.PART else Standing.LIVE

    def _show_standing(self) -> None:
        standing = self.standing
        self._parts.tool_bar.show_standing(standing)
        self._parts.side_bar.set_old(standing is Standing.ENDED)

    @property
    def is_late(self) -> bool:
        """Whether the newest figures are older than `LATE_MS`."""
        age_ms = self._parts.live.age_ms
        is_live = self._frame.app.store_folder is None
        return is_live and age_ms is not None and age_ms > LATE_MS

    def _tick(self) -> None:
        self._show_age()
        self._show_standing()
        # The state must also be right while figures are paused or missing.
        self._parts.tool_bar.cluster_button.set_state(self.health, self._place)
        self.written.emit()

    def _show_age(self) -> None:
        live = self._parts.live
        self._parts.status_bar.show_age(live.age_ms, max(1_000, live.cadence_ms))

    def mark(self, window: FrameParts | DetachedWindow) -> None:
        """Mark a window with the colour of its connection, and as one of a production cluster."""
        attached = self._attached
        name = attached.name if attached is not None and attached.production else ""
        window.production.set_name(name, read_only=attached is not None and attached.read_only)
        window.stripe.set_colour("" if attached is None else attached.colour)

    @property
    def _attached(self) -> Cluster | None:
        return self._frame.app.clusters.attached

    @property
    def short_title(self) -> str:
        """Orbit, and the connection shown if there is one."""
        attached = self._attached
        return "Orbit" if attached is None else f"Orbit · {attached.name}"

    @property
    def title(self) -> str:
        attached = self._attached
        parts = [tr(self._frame.app.clusters.title), self._frame.address]
        if attached is not None:
            parts = [tr("PRODUCTION") if attached.production else "", attached.name]
        return "Orbit — " + " · ".join(part for part in parts if part)

    @property
    def _place(self) -> str:
        attached = self._attached
        if attached is not None:
            return tr("attached, read-only") if attached.read_only else tr("attached")
        return tr("this machine") if self._frame.app.store_folder is None else tr("read-only")

    def write_title(self) -> None:
        """Write cluster and page into the window's title, and the state into tool bar and tray."""
        parts, attached = self._parts, self._attached
        self.mark(parts)
        for torn_off in parts.navigation.windows:
            self.mark(torn_off)
            torn_off.set_cluster(self.short_title)
        name = attached.name if attached is not None else self._frame.app.clusters.title
        parts.tool_bar.cluster_button.set_name(name)
        parts.tool_bar.cluster_button.set_state(self.health, self._place)
        page = parts.area.current
        self._frame.host.setWindowTitle(title_text(self.title + (f" · {page.tab_title()}" if page is not None else "")))
        self.written.emit()

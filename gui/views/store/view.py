"""The Store page: files of the commit log, put and sync times, disk and cleaning, consume queues, index."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from broker_core.api import OrbitError, RequestCode
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, ReadStore, StorePicture
from gui.models.store import log_shapes
from gui.operations.history import ChartHistory
from gui.operations.queries import LatestQuery
from gui.plots.chart_series import ChartSeries
from gui.plots.log_bars import LogBar, LogBars
from gui.plots.time_chart import TimeChart
from gui.theme.tokens import State
from gui.views.acting import set_acting
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.chart_tools import RuleLine, join_charts, window_link
from gui.views.list_read import say_not_read
from gui.views.opened_store import opened_chip
from gui.views.page import PageContext, PageView
from gui.views.store.brokers_panel import BrokersPanel
from gui.views.store.cluster_part import ClusterPart
from gui.views.store.disk_panel import DiskPanel
from gui.views.store.files_part import FilesPart
from gui.views.store.log_strip import LogStrip
from gui.widgets.basic import fill, label
from gui.widgets.containers import BesideRow, LaterPart
from gui.widgets.notice import Notice
from gui.widgets.panel import TERM, Panel
from gui.widgets.popups import opened
from gui.widgets.said import on_language, said, said_button
from gui.words.error_words import error_line
from gui.words.plain_text import tip_text
from gui.words.text import UNKNOWN, bytes_text, count_text, duration_text, milliseconds_text, short_count_text, tr
from monitoring.admin.runtime_figures import BrokerRuntime, runtime_of, runtime_request
from monitoring.disk import disk_growth
from monitoring.lag import Forecast
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

ASK_MS = 2_000
"""Minimum interval of reads."""
GROWTH_SPAN_MS = 15 * 60_000
"""Span of the disk growth."""
AFTER_CLEANING_MS = 300
FILES_HEIGHT_MIN = 200
"""Reserved height until the files are made."""
_SERIES = {"p99": "totals.put_p99_ms", "p50": "totals.put_p50_ms", "flush": "totals.flush_max_ms"}

OUTSIDE_LINES = frozenset({"p99"})
"""Lines of the chart that an attached cluster reports."""


class StoreView(PageView):
    """Shows the store of Orbit's own broker, or the brokers of an attached cluster."""

    page_id = "store"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme, times = context.theme, context.times
        self._state: ClusterState | None = None
        self._picture: StorePicture | None = None
        self._runtime: BrokerRuntime | None = None
        self._fault: OrbitError | None = None
        self._runtime_fault: OrbitError | None = None
        self._asked_ms = self._read_ms = self._runtime_ms = -1
        self.cluster: ClusterPart | None = None
        """Only for an attached cluster."""
        self._store_query: LatestQuery[StorePicture] = LatestQuery(self)
        self._runtime_query: LatestQuery[BrokerAnswer] = LatestQuery(self)
        self.clean_button = said_button(theme, "trash", "Clean now…", on_click=self.ask_clean, name="Clean now…")
        self.header.add_action(self.clean_button)
        self.problem = Notice(theme)
        self.log_panel = Panel(" ")
        self.positions = label(role="caption")
        self.strip = LogStrip(theme, times)
        self.strip.setProperty(TERM, "Commit log")
        self.latency_panel = said(Panel(" "), title="Put latency", subtitle="ms, last full minute")
        self.latency_note = label(role="figure")
        self.latency = LogBars(theme)
        self.no_latency = label(role="caption", wrap=True)
        self.times_panel = said(Panel(" "), title="Put and sync times", subtitle="ms")
        lines = [
            ChartSeries("p50", "p50"),
            ChartSeries("p99", "p99", State.CHECKING),
            ChartSeries("flush", "Sync", State.COMMITTED),
        ]
        self.chart = TimeChart(theme, times, lines, value_text=milliseconds_text, tick_text=_tick_text)
        self.link = window_link(context, self)
        [tools] = join_charts(context, self.link, self.chart)
        self._rule = RuleLine(self.chart, context, tools)
        self._lines = ChartHistory(context.source, context.history, self)
        self._growth_lines = ChartHistory(context.source, context.history, self)
        self._lines.arrived.connect(self._draw)
        self.disk = said(DiskPanel(theme, times), title="Disk and cleaning")
        self.files = LaterPart(self._make_files, turns=4)
        self.files.setMinimumHeight(FILES_HEIGHT_MIN)
        self._build()
        context.time_range.changed.connect(self._draw)
        on_language(self, self._enable_clean, self._show_fault, self._show_picture, self._show_runtime, self._write_latency)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self._show_cluster(state)
        self._draw()
        if not 0 <= state.taken_ms - self._asked_ms < ASK_MS and not self._store_query.waiting:
            self.refresh()

    @property
    def brokers(self) -> BrokersPanel | None:
        """The table of brokers; only for an attached cluster."""
        return None if self.cluster is None else self.cluster.brokers

    def _show_cluster(self, state: ClusterState) -> None:
        """Show the brokers of an attached cluster, because their files are unknown from outside."""
        if self.cluster is None and state.is_from_outside:
            self.cluster = self._make_cluster()
            self._show_fault()
        if self.cluster is not None:
            self.cluster.show_state(state)

    def _make_cluster(self) -> ClusterPart:
        """Make the part that replaces the files, above the charts: brokers report put times too."""
        made = ClusterPart(self.context, self.refresh)
        for part in (self.problem, self.log_panel, self.files):
            part.hide()
        self._charts.leave_out(self.disk)
        self.content.insertWidget(self.content.indexOf(self._charts), made, 9)
        self.content.setStretchFactor(self._charts, 3)
        return made

    def status_changed(self, status: SourceStatus) -> None:
        self._enable_clean()
        if status is not SourceStatus.READY:
            self._asked_ms = -1

    def refresh(self) -> None:
        source = self.context.source
        if source.status is not SourceStatus.READY:
            return
        self._asked_ms = self._state.taken_ms if self._state is not None else -1
        self._store_query.ask(source.ask(ReadStore()), self._take_picture, self._failed)
        self._runtime_query.ask(source.ask(runtime_request()), self._take_runtime, self._no_runtime)

    def _enable_clean(self) -> None:
        source = self.context.source
        set_acting(self.clean_button, read_only_reason(source), able=source.status is SourceStatus.READY)

    # ---- actions -------------------------------------------------------------------------------------------------------

    def ask_clean(self) -> ActionDialog:
        """Ask whether to delete expired files now."""
        picture, ready = self._picture, self.context.source.ready
        facts = []
        if picture is not None:
            facts = [
                (tr("Past their time"), tr("{count} files", count=picture.overdue_files)),
                (tr("Kept for"), duration_text(picture.file_reserved_hours * 3_600_000)),
                (tr("Commit log"), bytes_text(picture.log_end - picture.log_min)),
            ]
        plan = ActionPlan(
            title=tr("Delete expired files now?"),
            facts=facts,
            effects=[
                tr("Commit log files that were last written before the time they are kept for are deleted, oldest first."),
                tr("Their messages are gone for everybody, also for groups that have not consumed them."),
                *([_early_text(picture)] if picture is not None else []),
            ],
            verb=tr("Delete {count} files", count=picture.overdue_files) if picture is not None else tr("Delete"),
            start=lambda: self.context.source.ask(AskBroker(RequestCode.DELETE_EXPIRED_COMMITLOG)),
            typed=ready.broker_name if ready is not None else tr("Delete"),
            is_destructive=True,
            refusal=read_only_reason(self.context.source),
        )
        dialog = ActionDialog(plan, self.context.theme, self)
        dialog.succeeded.connect(lambda _answer: self._cleaned())
        return opened(dialog)

    def _cleaned(self) -> None:
        self.context.notify(lambda: tr("Expired files were deleted"), state=State.HEALTHY)
        QTimer.singleShot(AFTER_CLEANING_MS, self, self.refresh)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.log_panel.add_action(self.positions)
        self.log_panel.content.addWidget(self.strip)
        self.latency_panel.add_action(self.latency_note)
        fill(self.latency_panel.content, (self.latency, 1), (self.no_latency, 1))
        self.times_panel.add_action(self.chart.legend)
        self.times_panel.content.addWidget(self.chart, 1)
        fill(self.content, self.problem, self.log_panel)
        self._charts = BesideRow((self.latency_panel, 5), (self.times_panel, 6), (self.disk, 5))
        fill(self.content, (self._charts, 5), (self.files, 6))

    def _make_files(self) -> FilesPart:
        made = FilesPart(self.context)
        self.files.setMinimumHeight(0)  # it would override the minimum heights of the tables
        if self._picture is not None:
            made.show_picture(self._picture)
        elif self._fault is not None:
            made.show_failure(tr("The store was not read."), self.refresh)
        made.show_runtime(self._runtime)
        return made

    # ---- answers -------------------------------------------------------------------------------------------------------

    def _take_picture(self, picture: StorePicture) -> None:
        self._picture, self._fault, self._read_ms = picture, None, self._asked_ms
        self._show_fault()
        self._show_picture()
        if self.files.made is not None:
            self.files.made.show_picture(picture)

    def _failed(self, error: OrbitError) -> None:
        self._fault = error
        self._show_fault()

    def _show_fault(self) -> None:
        """Show the fault in place of the figures or above them."""
        if self.cluster is not None:
            self.cluster.show_inside(self._fault)
            return
        if self._picture is not None:
            words = tr("The store was not read; what is shown is of {time}.", time=self._time_text(self._read_ms))
            self._say_fault(words)
            self.strip.set_empty(tr("No message was stored yet."))
            return
        self._say_fault(tr("The store was not read."))
        self.strip.set_empty(UNKNOWN if self._fault is not None else tr("Reading…"))
        if self._fault is not None and self.files.made is not None:
            self.files.made.show_failure(tr("The store was not read."), self.refresh)

    def _say_fault(self, title: str) -> None:
        if self._fault is None:
            self.problem.set("")
        else:
            say_not_read(self.problem, title, self._fault, self.refresh)

    def _take_runtime(self, answer: BrokerAnswer) -> None:
        try:
            self._runtime = runtime_of(answer)
        except OrbitError as error:
            self._no_runtime(error)
            return
        self._runtime_fault = None
        if self.cluster is not None:
            self.cluster.show_runtime(self._runtime, answer)
            self._runtime_ms = self._asked_ms
        self._show_runtime()

    def _no_runtime(self, error: OrbitError) -> None:
        self._runtime = None
        self._runtime_fault = error
        if self.cluster is not None:
            self.cluster.show_failure(error)
        self._show_runtime()

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show_picture(self) -> None:
        picture, ready = self._picture, self.context.source.ready
        if picture is None:
            self.log_panel.set_title(tr("Commit log"), "")
            return
        chip = (tr("Refuses messages"), State.CRITICAL) if picture.refusal else (tr("Healthy"), State.HEALTHY)
        self.header.set_chips([opened_chip(ready) or chip])
        facts = [] if ready is None else [*filter(None, (ready.broker_name, ready.broker, ready.store_directory))]
        facts.append(tr("read {time}", time=self._time_text(self._read_ms)))
        self.header.set_facts(", ".join(facts))
        self._show_log(picture)
        self.disk.show_picture(picture, self._growth())

    def _time_text(self, at_ms: int) -> str:
        return self.context.times.seconds(at_ms) if at_ms >= 0 else UNKNOWN

    def _show_log(self, picture: StorePicture) -> None:
        size = bytes_text(picture.log_file_bytes)
        words = tr("{count} files of {size}, first offset and first record of each", count=len(picture.log_base), size=size)
        self.log_panel.set_title(tr("Commit log"), words)
        self.strip.show_files(log_shapes(picture), picture.log_min, picture.log_end)
        parts = [
            tr("Written {size}", size=bytes_text(picture.log_end - picture.log_min)),
            tr("not flushed {size}", size=bytes_text(picture.log_end - picture.log_flushed)),
        ]
        if picture.indexed >= 0:
            parts.append(tr("not indexed {size}", size=bytes_text(picture.log_end - picture.indexed)))
        self.positions.setText(" · ".join(parts))
        positions = tr(
            "Written up to {written}, on disk up to {flushed}, indexed up to {indexed}; puts fill the queues themselves",
            written=count_text(picture.log_end),
            flushed=count_text(picture.log_flushed),
            indexed=count_text(picture.indexed),
        )
        self.positions.setToolTip(tip_text(positions))

    def _show_runtime(self) -> None:
        if self.cluster is not None and self._runtime_ms >= 0:
            self.header.set_facts(tr("read {time}", time=self._time_text(self._runtime_ms)))
        buckets = self._runtime.put_times if self._runtime is not None else ()
        self.latency.setVisible(bool(buckets))
        self.no_latency.setVisible(not buckets)
        if self._runtime_fault is not None:
            self.no_latency.setText(tr("The put times were not read: {reason}", reason=error_line(self._runtime_fault)))
        elif self._runtime is None:
            self.no_latency.setText(tr("Reading…"))
        else:
            self.no_latency.setText(tr("Counted by the minute; the first one is not over yet."))
        self.latency.set_bars([LogBar(_short_bucket(one.name), one.name, one.puts) for one in buckets])
        if self.files.made is not None:
            self.files.made.show_runtime(self._runtime)

    def _growth(self) -> Forecast:
        now_ms = self._state.taken_ms if self._state is not None else 0
        name = "totals.disk_used_bytes"
        return disk_growth(*self._growth_lines.lines([name], now_ms - GROWTH_SPAN_MS, now_ms)[name])

    def _draw(self) -> None:
        state = self._state
        if state is None:
            return
        from_ms, to_ms = self.context.time_range.window_ms(state.taken_ms)
        lines = self._lines.lines(list(_SERIES.values()), from_ms, to_ms)
        points = {key: lines[name] for key, name in _SERIES.items()}
        self.chart.show_points(points, from_ms / 1_000, to_ms / 1_000, self._lines.fault)
        self._rule.show(_SERIES["p99"])
        self.chart.legend.show_only(OUTSIDE_LINES if state.is_from_outside else _SERIES.keys())
        self._write_latency()
        self.latency_note.setVisible(not state.is_from_outside)

    def _write_latency(self) -> None:
        if self._state is not None:
            self.latency_note.setText(tr("max {time}", time=milliseconds_text(self._state.totals.get("put_max_ms"))))


def _early_text(picture: StorePicture) -> str:
    """Whether files are deleted before their time."""
    if picture.clean_forcibly:
        return tr("Above {percent} % of the disk, files go before their time.", percent=picture.clean_forcibly_percent)
    return tr("No file goes before its time.")


def _tick_text(value: float) -> str:
    """A tick of the axis in ms, with a fraction for small values."""
    return short_count_text(value) if value >= 10 else f"{value:g}"


def _short_bucket(name: str) -> str:
    """The upper end of a bucket: ``10~50ms`` → ``50``, ``2~3s`` → ``3k``, ``<=0ms`` → ``0``, ``10s~`` → ``…``."""
    end = name.removeprefix("<=").split("~")[-1]
    if not end:
        return "…"
    number, is_seconds = end.removesuffix("ms").removesuffix("s"), end.endswith("s") and not end.endswith("ms")
    return f"{number}k" if is_seconds else number

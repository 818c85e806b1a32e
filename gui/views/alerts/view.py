"""The Alerts page: rules and where they stand, one with its chart and its fields, what they told so far."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QSplitter, QWidget

from broker_core.api import EventPage, OrbitError, ReadEvents, UsageError
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.alert_center import AlertCenter, number_text, post_text
from gui.operations.history import HistoryLines
from gui.operations.queries import LatestQuery
from gui.plots.time_chart import ChartSeries, TimeChart
from gui.text import TimeZoneChoice, count_text, tr
from gui.theme.tokens import Size, State
from gui.views.action_dialog import ActionDialog, ActionPlan
from gui.views.alerts.rule_form import RuleForm
from gui.views.alerts.words import STATE_COLOURS, STATE_NAMES, condition_text, known_series
from gui.views.chart_tools import brush_time_range
from gui.views.events.words import text_of
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import IconButton, column, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from monitoring.admin.events import EventRow, event_rows
from monitoring.alert_rules import FOREVER, RULES_MAX, AlertRule, AlertState, Finding, readings, split_series
from monitoring.series import History
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState
from monitoring.webhook import WebhookResult

ASK_MS = 2_000
EVENTS_MAX = 500
HOUR_MS = 3_600_000
MUTE_TIMES = ((HOUR_MS, "Mute for 1 hour"), (8 * HOUR_MS, "Mute for 8 hours"), (24 * HOUR_MS, "Mute for a day"))
LIST_WIDTH = 620
LOWER_HEIGHT = 210


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule and where it stands."""

    rule: AlertRule
    state: AlertState
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> str:
        """The value that a list shows first."""
        if not self.findings:
            return ""
        first, more = self.findings[0], len(self.findings) - 1
        text = f"{first.subject} {number_text(first.value)}".strip()
        return f"{text} +{more}" if more else text


class AlertsView(PageView):
    """Shows the rules of an `AlertCenter`, which watches them whether the page is there or not."""

    page_id = "alerts"
    title = "Alerts"
    icon = "bell"

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self._state: ClusterState | None = None
        self._asked_ms = -1
        self._draft: AlertRule | None = None
        self._query: LatestQuery[EventPage] = LatestQuery(self)
        self._lines = HistoryLines(context.source, context.history, self)
        # Some series only the worker records: they are had from its history alone.
        self._recorded = HistoryLines(context.source, History(samples_max=1, series_max=0), self)
        for lines in (self._lines, self._recorded):
            lines.arrived.connect(self._draw)
        self.new_button = IconButton(theme, "plus", " ", role="primary", on_click=self.start_rule)
        self.header.add_action(self.new_button)
        self.problem = Notice(theme)
        self.problem.set("")
        self.search = SearchField(theme, " ", "funnel")
        self.rules: ColumnTableModel[RuleRow] = ColumnTableModel(rule_columns(), lambda one: one.rule.rule_id, parent=self)
        self.grid = DataGrid(self.rules, theme)
        self.chart_panel = Panel(" ")
        self.chart = TimeChart(theme, context.times, (ChartSeries("value", "Value", fill=True),), value_text=number_text)
        self.chart.legend.setParent(self.chart)  # one line with a title of its own needs none
        self.chart.legend.hide()
        brush_time_range(self.chart, context)
        self.form = RuleForm()
        self.mute_button = IconButton(theme, "bell", " ", role="small", caret=True, on_click=self._open_mute_menu)
        self.delete_button = IconButton(theme, "trash", " ", role="small", on_click=self._delete_clicked)
        self.webhook = QLineEdit()
        self.webhook_button = IconButton(theme, "paper-plane-tilt", " ", role="small", on_click=self._try_webhook)
        self.webhook_result = label(role="caption", wrap=True, selectable=True)
        self.webhook_panel = Panel(" ")
        self.told: ColumnTableModel[EventRow] = ColumnTableModel(told_columns(context.times), lambda one: one.key, parent=self)
        self.told_grid = DataGrid(self.told, theme)
        self.told_panel = Panel(" ", flush=True)
        self.told_grid.set_loading(True)
        self._build()
        self._connect()
        self.retranslate()

    @property
    def center(self) -> AlertCenter:
        """Who watches the rules."""
        return self.context.alerts

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        rule_id, threshold = arguments.get("rule"), arguments.get("threshold")
        if isinstance(rule_id, str) and rule_id:
            self.search.clear()
            self.rules.set_filter(None)
            self.grid.select_key(rule_id)
            if isinstance(threshold, int | float):
                self.form.set_threshold(threshold)
        series = arguments.get("series")
        if isinstance(series, str) and series:
            self.start_rule(series, float(threshold) if isinstance(threshold, int | float) else 0.0)

    def state_changed(self, state: ClusterState) -> None:
        before, self._state = self._state, state
        if before is None or before.catalog is not state.catalog:
            self.form.set_series(known_series(state))
        self._show_rules()
        self._draw()
        if not 0 <= state.taken_ms - self._asked_ms < ASK_MS and not self._query.waiting:
            self.refresh()

    def status_changed(self, status: SourceStatus) -> None:
        if status is not SourceStatus.READY:
            self._asked_ms = -1

    def refresh(self) -> None:
        state, source = self._state, self.context.source
        if state is None or source.status is not SourceStatus.READY:
            return
        self._asked_ms = state.taken_ms
        query = ReadEvents(0, state.taken_ms + 1, EVENTS_MAX, ["alert"])
        self._query.ask(source.read_events(query), self._take, self._not_told)

    def _not_told(self, error: OrbitError) -> None:
        self.told_grid.set_loading(False)
        self.told_grid.set_error(tr("What the rules told was not read."), error.message, tr("Retry"), self.refresh)

    def focus_filter(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def detail_pane(self) -> QWidget:
        return self.chart_panel

    def retranslate(self) -> None:
        self.new_button.setText(tr("New rule"))
        self.search.setPlaceholderText(tr("Filter by name or series"))
        self.search.setAccessibleName(tr("Filter by name or series"))
        self.grid.set_empty(tr("There is no rule."), tr("New rule"), self.start_rule)
        self.mute_button.setText(tr("Mute"))
        self.delete_button.setText(tr("Delete…"))
        self.webhook_panel.set_title(tr("Web hook"), tr("POST with JSON, also when an alert is over"))
        self.webhook.setPlaceholderText("https://hooks.example.org/orbit")
        self.webhook.setAccessibleName(tr("Address of the web hook"))
        self.webhook_button.setText(tr("Try it"))
        self.told_panel.set_title(tr("What was told"), "")
        self.told_grid.set_empty(tr("No rule has fired yet."))
        self.form.retranslate()
        for model in (self.rules, self.told):
            model.all_texts_changed()
        self._show_rules()
        self._show_webhook()

    # ---- rules ---------------------------------------------------------------------------------------------------------

    def start_rule(self, series: str = "totals.put_rate", threshold: float = 0.0) -> None:
        """Begin a new rule; it is there once it is saved."""
        if len(self.center.rules) >= RULES_MAX:
            self.context.notify(tr("There are {count} rules; delete some first", count=RULES_MAX), state=State.WARNING)
            return
        self._draft = AlertRule(uuid.uuid4().hex[:12], tr("New rule"), series, True, threshold, 60_000)
        self.grid.view.clearSelection()
        self._show_rules()
        self.grid.select_key(self._draft.rule_id)
        self._show_selected()
        self.form.name.setFocus()
        self.form.name.selectAll()

    def ask_delete(self) -> ActionDialog | None:
        """Ask whether the selected rule is to go."""
        chosen = self.grid.selected_row
        if chosen is None:
            return None
        rule = chosen.rule
        if self._draft is not None and rule.rule_id == self._draft.rule_id:
            self._draft = None
            self._show_rules()
            return None
        plan = ActionPlan(
            title=tr("Delete the rule {name}?", name=tr(rule.name)),
            facts=[(tr("Series"), rule.series), (tr("Fires"), condition_text(rule))],
            effects=[tr("It is not watched any more. What it told stays in the history.")],
            verb=tr("Delete 1 rule"),
            start=lambda: _Now(lambda: self.center.remove(rule.rule_id)),
            is_destructive=True,
        )
        dialog = ActionDialog(plan, self.context.theme, self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def mute(self, length_ms: int) -> None:
        """Mute the selected rule for a time; 0 unmutes it, `FOREVER`."""
        chosen = self.grid.selected_row
        if chosen is not None:
            now_ms = self._state.taken_ms if self._state is not None else self.center.now_ms
            self.center.mute(chosen.rule.rule_id, length_ms if length_ms in (0, FOREVER) else now_ms + length_ms)

    def _save(self, rule: object) -> None:
        assert isinstance(rule, AlertRule)
        draft, self._draft = self._draft, None
        try:
            self.center.put(rule)
        except UsageError as error:
            self._draft = draft
            self.context.notify(error.message, state=State.CRITICAL)
        self.grid.select_key(rule.rule_id)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        left = Panel(flush=True)
        left.content.setSpacing(0)
        left.content.addLayout(row(self.search, margins=(8, 8, 8, 8)))
        left.content.addWidget(self.grid, 1)
        self.chart_panel.add_action(self.mute_button)
        self.chart_panel.add_action(self.delete_button)
        self.chart_panel.content.addWidget(self.chart, 1)
        self.chart_panel.content.addWidget(self.form)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(self.chart_panel)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(Size.GAP)
        split.setStretchFactor(1, 1)
        split.setSizes([LIST_WIDTH, 1_200 - LIST_WIDTH])
        self.told_panel.content.addWidget(self.told_grid)
        self.webhook_panel.content.addLayout(column(self.webhook, self.webhook_result, 1))
        self.webhook_panel.add_action(self.webhook_button)
        below = QHBoxLayout()
        below.setSpacing(Size.GAP)
        below.addWidget(self.told_panel, 3)
        below.addWidget(self.webhook_panel, 2)
        self.told_panel.setFixedHeight(LOWER_HEIGHT)
        self.webhook_panel.setFixedHeight(LOWER_HEIGHT)
        self.content.addWidget(self.problem)
        self.content.addWidget(split, 1)
        self.content.addLayout(below)

    def _connect(self) -> None:
        self.search.searched.connect(self._filter)
        self.grid.selected.connect(lambda _one: self._show_selected())
        self.grid.menu_asked.connect(lambda _one, at: self._mute_menu().popup(at))
        self.form.saved.connect(self._save)
        self.form.threshold_changed.connect(self.chart.show_threshold)
        self.chart.threshold_moved.connect(self.form.set_threshold)
        self.webhook.editingFinished.connect(self._webhook_edited)
        self.center.changed.connect(self._show_rules)
        self.center.posted.connect(self._posted)
        self.context.time_range.changed.connect(self._draw)

    def _filter(self, text: str) -> None:
        words = text.casefold().split()

        def accepts(one: RuleRow) -> bool:
            shown = f"{one.rule.name} {tr(one.rule.name)} {one.rule.series}".casefold()
            return all(word in shown for word in words)

        self.rules.set_filter(accepts if words else None)

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show_rules(self) -> None:
        center, now_ms = self.center, self._state.taken_ms if self._state is not None else 0
        watch = center.watch
        rows = [RuleRow(rule, watch.state_of(rule, now_ms), tuple(watch.findings(rule.rule_id))) for rule in center.rules]
        if self._draft is not None:
            rows.append(RuleRow(self._draft, AlertState.OFF, ()))
        self.rules.set_rows(rows)
        self.grid.select_first()
        self.problem.set(center.problem)
        firing = sum(one.state is AlertState.FIRING for one in rows)
        pending = sum(one.state is AlertState.PENDING for one in rows)
        chips = [(tr("{count} firing", count=firing), State.CRITICAL)] if firing else []
        chips += [(tr("{count} pending", count=pending), State.PENDING)] if pending else []
        self.header.set_chips(chips)
        self.header.set_facts(tr("{count} rules, looked at once a second", count=count_text(len(center.rules))))
        self._show_selected()

    def _show_selected(self) -> None:
        chosen = self.grid.selected_row
        rule = chosen.rule if chosen is not None else None
        self.form.show_rule(rule)
        self.mute_button.setEnabled(rule is not None and rule is not self._draft)
        self.delete_button.setEnabled(rule is not None)
        subject = drawn_series(chosen, self._state) if chosen is not None and self._state is not None else ""
        self.chart_panel.set_title(tr(rule.name) if rule is not None else tr("No rule selected"), subject)
        self._draw()

    def _draw(self) -> None:
        chosen, state = self.grid.selected_row, self._state
        if chosen is None or state is None:
            self.chart.show_threshold(None)
            return
        from_ms, to_ms = self.context.time_range.window_ms(state.taken_ms)
        name = drawn_series(chosen, state)
        source = self._lines if name in self.context.history.names() else self._recorded
        lines = source.lines([name], from_ms, to_ms)
        self.chart.show_points({"value": lines[name]}, from_ms / 1_000, to_ms / 1_000)
        try:
            threshold = self.form.rule().threshold
        except UsageError:
            threshold = chosen.rule.threshold
        self.chart.show_threshold(threshold)

    def _take(self, page: EventPage) -> None:
        self.told_grid.set_loading(False)
        self.told_grid.set_error("")
        self.told.set_rows(event_rows(page))
        self.told_panel.set_subtitle(tr("{count} times, kept with the events", count=count_text(page.total)))

    # ---- muting --------------------------------------------------------------------------------------------------------

    def _mute_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for length_ms, name in MUTE_TIMES:
            menu.addAction(tr(name), partial(self.mute, length_ms))
        menu.addAction(tr("Mute until I unmute it"), lambda: self.mute(FOREVER))
        chosen = self.grid.selected_row
        unmute = menu.addAction(tr("Unmute"), lambda: self.mute(0))
        unmute.setEnabled(chosen is not None and chosen.rule.muted_until_ms != 0)
        return menu

    def _open_mute_menu(self) -> None:
        self._mute_menu().popup(self.mute_button.mapToGlobal(QPoint(0, self.mute_button.height())))

    def _delete_clicked(self) -> None:
        self.ask_delete()

    # ---- web hook ------------------------------------------------------------------------------------------------------

    def _webhook_edited(self) -> None:
        if self.webhook.text().strip() == self.center.webhook:
            return
        try:
            self.center.set_webhook(self.webhook.text())
        except UsageError as error:
            self.webhook_result.setText(error.message)
            self.webhook_button.setEnabled(False)
            return
        self._show_webhook()

    def _show_webhook(self) -> None:
        if not self.webhook.hasFocus():
            self.webhook.setText(self.center.webhook)
        self.webhook_button.setEnabled(bool(self.center.webhook))
        last = self.center.last_post
        if last is not None:
            self._posted(last)
        else:
            self.webhook_result.setText("" if self.center.webhook else tr("No address: nobody is told outside this machine."))

    def _try_webhook(self) -> None:
        self.webhook_result.setText(tr("Sending…"))
        self.center.try_webhook()

    def _posted(self, result: object) -> None:
        assert isinstance(result, WebhookResult)
        words = tr("Last time: {result}", result=post_text(result))
        self.webhook_result.setText(words if result.succeeded else tr("Failed: {result}", result=post_text(result)))


class _Now:
    """A `Pending` of something that is done at once."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work

    def then(self, done: Callable[[None], None], failed: Callable[[OrbitError], None]) -> None:  # noqa: ARG002  as `Pending`
        self._work()
        done(None)

    def cancel(self) -> None:
        """Nothing to give up."""


def drawn_series(one: RuleRow, state: ClusterState) -> str:
    """The series of a rule; of one over many subjects, that of the first that it found, else of the nearest to firing."""
    series = one.rule.series
    try:
        kind, pattern, figure = split_series(series)
        if "*" not in pattern:
            return series
        if one.findings:
            return f"{kind}:{one.findings[0].subject}.{figure}"
        names, values = readings(state, series)
    except UsageError:
        return series
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return series
    nearest = known[np.argmax(values[known]) if one.rule.above else np.argmin(values[known])]
    return f"{kind}:{names[nearest]}.{figure}"


def rule_columns() -> list[Column[RuleRow]]:
    """Columns of the table of rules."""
    return [
        Column("state", "State", lambda one: tr(STATE_NAMES[one.state]), sort=lambda one: one.state.value, kind=CellKind.CHIP,
               state=lambda one: STATE_COLOURS[one.state], width=86),
        Column("name", "Rule", lambda one: tr(one.rule.name), kind=CellKind.STRONG, tip=lambda one: one.rule.series),
        Column("condition", "Fires", lambda one: condition_text(one.rule), dim=True, width=158),
        Column("worst", "Found", lambda one: one.worst, tip=lambda one: one.worst, width=172),
    ]  # fmt: skip


def told_columns(times: TimeZoneChoice) -> list[Column[EventRow]]:
    """Columns of what was told."""
    return [
        Column("at", "Time", lambda one: times.full(one.at_ms), sort=lambda one: one.at_ms, dim=True, width=200),
        Column("text", "Alert", text_of),
    ]

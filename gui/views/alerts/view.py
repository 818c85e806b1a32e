"""The Alerts page: rules and their states, the selected one with chart and fields, and fired alerts."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QMenu

from broker_core.api import OrbitError, UsageError
from broker_core.worker.questions.history import EventPage, ReadEvents
from gui.models.row_filter import with_words
from gui.models.table import ColumnTableModel
from gui.operations.alert_center import AlertCenter, subject_text
from gui.operations.history import ChartHistory
from gui.operations.queries import LatestQuery
from gui.plots.chart_series import ChartSeries
from gui.plots.time_chart import TimeChart
from gui.theme.tokens import Size, State
from gui.views.action_dialog import ActionDialog, ActionPlan
from gui.views.alerts.mute_menu import add_mute_times
from gui.views.alerts.rule_form import RuleForm
from gui.views.alerts.rule_table import RuleRow, drawn_series, fired_columns, last_series, rule_columns
from gui.views.alerts.webhook_panel import WebhookPanel
from gui.views.alerts.words import condition_text, known_series, series_words
from gui.views.chart_tools import join_charts, window_link
from gui.views.list_read import shown_read
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.time_filter import TimeFilter
from gui.widgets.basic import ElidedLabel, fill, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.notice import Notice
from gui.widgets.pane_splitter import PaneSplitter
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened, popup_below
from gui.widgets.said import on_language, said, said_button
from gui.widgets.saved_menu import menu_text
from gui.words.amounts import value_text
from gui.words.error_words import kept_line
from gui.words.text import count_text, short_count_text, tr
from monitoring.admin.events import EventGroup, event_rows, kinds_of
from monitoring.alert_rules import RULES_MAX, AlertRule, unit_of
from monitoring.alert_watch import AlertState, number_text
from monitoring.series import History
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

ASK_MS = 2_000
EVENTS_MAX = 500
SUBJECTS_MUTED_SINGLY = 12
"""Subjects in the menu of mutes."""
UNITS_ON_AXIS = ("ms", "B")
"""Units shown on the axis; longer ones are in the title."""
LIST_WIDTH = 700
LOWER_HEIGHT = 210


class AlertsView(PageView):
    """Shows the rules of an `AlertCenter`, which evaluates them whether the page is open or not."""

    page_id = "alerts"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._asked_ms = -1
        self._draft: AlertRule | None = None
        self._drawn = ""
        """The series in the chart."""
        self._last_drawn: dict[str, str] = {}
        """Series of a rule → what was drawn for it last, for the time in which no subject has a value."""
        self._query: LatestQuery[EventPage] = LatestQuery(self)
        self._lines = ChartHistory(context.source, context.history, self)
        # Some series are recorded by the worker alone, and read from its history.
        self._recorded = ChartHistory(context.source, History(samples_max=1, series_max=0), self)
        for lines in (self._lines, self._recorded):
            lines.arrived.connect(self._draw)
        self.new_button = said_button(theme, "plus", "New rule", role="primary", on_click=self.start_rule)
        self.header.add_action(self.new_button)
        self.problem = Notice(theme)
        self.search = said(SearchField(theme, " ", "funnel"), hint="Filter by name or series")
        self.rules = ColumnTableModel(rule_columns(context.times), lambda one: one.rule.rule_id, parent=self)
        self.grid = DataGrid(self.rules, theme)
        self.grid.set_empty(partial(tr, "There is no rule."), partial(tr, "New rule"), self.start_rule)
        self.chart_panel = Panel(" ")
        self.chart = TimeChart(theme, context.times, (ChartSeries("value", "Value", fill=True),), value_text=number_text)
        self.chart.leave_out_legend()
        self.link = window_link(context, self)
        join_charts(context, self.link, self.chart)
        self.time_filter = TimeFilter(self.link, context, self)
        self.lack = ElidedLabel(role="caption")
        """Why the selected rule cannot be judged."""
        self.form = RuleForm()
        self.mute_button = said_button(theme, "bell", "Mute…", role="small", caret=True, on_click=self._open_mute_menu)
        self.delete_button = said_button(theme, "trash", "Delete…", role="small", on_click=self.ask_delete)
        self.webhook = WebhookPanel(context)
        self.fired = ColumnTableModel(fired_columns(context.times), lambda one: one.key, parent=self)
        self.fired_grid = said(DataGrid(self.fired, theme), empty="No rule has fired yet.")
        self.fired_panel = said(Panel(" ", flush=True), title="What was reported")
        self._fired_read = shown_read(context.times, "What the rules reported was not read.", self.refresh, self.fired_grid)
        self._fired_read.show()
        self.grid.set_loading(True)
        self._build()
        self.set_parts(grid=self.grid, find=self.search, detail=self.chart_panel)
        self._connect()
        self._fired_count = -1
        on_language(self, self._write_texts, self._write_fired)

    @property
    def center(self) -> AlertCenter:
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
        query = ReadEvents(0, state.taken_ms + 1, EVENTS_MAX, kinds_of(EventGroup.ALERT))
        self._query.ask(source.ask(query), self._take, self._not_read)

    def _not_read(self, error: OrbitError) -> None:
        self._fired_read.refused(error)
        self._fired_count = -1
        self._write_fired()

    def _write_texts(self) -> None:
        if self._state is not None:
            # Without figures there is nothing to write: the first ones show the rules.
            self._show_rules()

    # ---- rules ---------------------------------------------------------------------------------------------------------

    def start_rule(self, series: str = "totals.put_rate", threshold: float = 0.0) -> None:
        """Begin a new rule; it exists after Save."""
        if len(self.center.rules) >= RULES_MAX:
            words = partial(tr, "There are {count} rules; delete some first", count=RULES_MAX)
            self.context.notify(words, state=State.WARNING)
            return
        self._draft = AlertRule(uuid.uuid4().hex[:12], tr("New rule"), series, True, threshold, 60_000)
        self.grid.view.clearSelection()
        self._show_rules()
        self.grid.select_key(self._draft.rule_id)
        self._show_selected()
        self.form.name.setFocus()
        self.form.name.selectAll()

    def ask_delete(self) -> ActionDialog | None:
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
            effects=[tr("It is not watched any more. What it reported stays in the history.")],
            verb=tr("Delete 1 rule"),
            start=lambda: self.center.remove(rule.rule_id),
            is_destructive=True,
        )
        dialog = ActionDialog(plan, self.context.theme, self)
        return opened(dialog)

    def mute(self, length_ms: int, subject: str = "") -> None:
        """Mute the selected rule or one of its subjects; 0 unmutes, `FOREVER` has no end."""
        chosen = self.grid.selected_row
        if chosen is not None:
            self.center.mute(chosen.rule.rule_id, length_ms, subject)

    def _save(self, rule: object) -> None:
        assert isinstance(rule, AlertRule)
        try:
            self.center.put(rule)
        except UsageError as error:
            self.context.notify(kept_line(error), state=State.CRITICAL)
        self.grid.select_key(rule.rule_id)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        left = Panel(flush=True, spacing=0)
        fill(left.content, row(self.search, margins=(8, 8, 8, 8)), (self.grid, 1))
        self.chart_panel.add_action(self.mute_button, self.delete_button)
        fill(self.chart_panel.content, self.lack, (self.chart, 1), self.form)
        split = PaneSplitter((left, self.chart_panel), (LIST_WIDTH, 1_200 - LIST_WIDTH), grows=1)
        self.fired_panel.content.addWidget(self.fired_grid)
        self.fired_panel.add_action(self.time_filter.chip)
        below = row((self.fired_panel, 3), (self.webhook, 2), spacing=Size.GAP)
        self.fired_panel.setFixedHeight(LOWER_HEIGHT)
        self.webhook.setFixedHeight(LOWER_HEIGHT)
        fill(self.content, self.problem, (split, 1), below)

    def _connect(self) -> None:
        self.search.searched.connect(self._filter)
        self.grid.selected.connect(lambda _one: self._show_selected())
        self.grid.menu_asked.connect(lambda _one, at: self._mute_menu().popup(at))
        self.form.saved.connect(self._save)
        self.form.threshold_changed.connect(self.chart.show_threshold)
        self.chart.threshold_moved.connect(self.form.set_threshold)
        self.center.changed.connect(self._show_rules)
        self.context.time_range.changed.connect(self._draw)
        self.time_filter.changed.connect(self._filter_fired)

    def _filter(self, text: str) -> None:
        self.rules.set_filter(with_words(text, _searched_text))

    def _filter_fired(self) -> None:
        bounds = self.time_filter
        self.fired.set_filter((lambda one: bounds.accepts(one.at_ms)) if bounds.is_active else None)
        if bounds.is_active:
            self.fired_grid.set_empty(tr("No rule fired in the selected time."), tr("Show all"), self.link.unselect)
        else:
            self.fired_grid.set_empty(tr("No rule has fired yet."))

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show_rules(self) -> None:
        center = self.center
        rows = [
            RuleRow(rule, center.state_of(rule), tuple(center.findings(rule.rule_id)), center.lack(rule.rule_id))
            for rule in center.rules
        ]
        if self._draft is not None:
            if any(one.rule.rule_id == self._draft.rule_id for one in rows):
                self._draft = None  # it is saved
            else:
                rows.append(RuleRow(self._draft, AlertState.OFF, ()))
        is_unknown = bool(center.problem) and not center.is_read
        self.grid.set_loading(not center.is_read and not is_unknown)
        if is_unknown:
            self.grid.set_error(tr("The alert rules are not known."), center.problem, tr("Retry"), center.ask)
        else:
            self.grid.set_error("")
        self.rules.set_rows(rows)
        self.grid.select_first()
        self.problem.set("" if is_unknown else center.problem, state=State.WARNING)
        self.new_button.setEnabled(center.is_read)
        self.header.set_chips(_chips(rows, center.firing))
        count = count_text(len(center.rules))
        facts = tr("{count} rules, judged once a second, also without a window", count=count)
        if not center.judged_here:
            facts = tr("{count} rules, judged by the process that records this connection; when it ends, here", count=count)
        self.header.set_facts(facts if center.is_read else "")
        self._show_selected()

    def _show_selected(self) -> None:
        chosen = self.grid.selected_row
        rule = chosen.rule if chosen is not None else None
        self.form.show_rule(rule)
        self.mute_button.setEnabled(rule is not None and rule is not self._draft)
        self.delete_button.setEnabled(rule is not None)
        subject = self._series_of(chosen, self._state) if chosen is not None and self._state is not None else ""
        words = ", ".join(filter(None, (series_words(subject), unit_of(subject))))
        self.lack.setText(chosen.lack_words if chosen is not None else "")
        self.lack.setVisible(chosen is not None and bool(chosen.lack_words))
        self.chart_panel.set_title(tr(rule.name) if rule is not None else tr("No rule selected"), words)
        self._draw()

    def _series_of(self, chosen: RuleRow, state: ClusterState) -> str:
        rule, name = chosen.rule, drawn_series(chosen, state)
        if name != rule.series:
            self._last_drawn[rule.series] = name
        elif "*" in name:
            if name not in self._last_drawn:
                self._last_drawn[name] = last_series(rule, state, self.context.history)
            name = self._last_drawn[name]
        return name

    def _draw(self) -> None:
        chosen, state = self.grid.selected_row, self._state
        if chosen is None or state is None:
            self.chart.show_threshold(None)
            return
        from_ms, to_ms = self.context.time_range.window_ms(state.taken_ms)
        name = self._series_of(chosen, state)
        if name != self._drawn:
            self._drawn = name
            in_words, unit = partial(value_text, name), unit_of(name)
            ticks = in_words if unit in UNITS_ON_AXIS else short_count_text
            self.chart.set_value_text(in_words, ticks, binary=unit == "B")
        source = self._lines if name in self.context.history.names() else self._recorded
        lines = source.lines([name], from_ms, to_ms)
        self.chart.show_points({"value": lines[name]}, from_ms / 1_000, to_ms / 1_000, source.fault)
        try:
            threshold = self.form.rule().threshold
        except UsageError:
            threshold = chosen.rule.threshold
        self.chart.show_threshold(threshold)

    def _take(self, page: EventPage) -> None:
        self._fired_read.answered()
        self.fired.set_rows(event_rows(page))
        self._fired_count = page.total
        self._write_fired()

    def _write_fired(self) -> None:
        count = count_text(self._fired_count)
        self.fired_panel.set_subtitle(tr("{count} times, kept with the events", count=count) if self._fired_count >= 0 else "")

    # ---- muting --------------------------------------------------------------------------------------------------------

    def _mute_menu(self) -> QMenu:
        menu = new_menu(self)
        chosen = self.grid.selected_row
        if chosen is None:
            return menu
        rule, now_ms = chosen.rule, self.center.now_ms
        subjects = [one.subject for one in chosen.findings if one.subject]
        subjects += [subject for subject, _until_ms in rule.mutes if subject not in subjects and rule.is_muted(now_ms, subject)]
        add_mute_times(menu, self.mute, is_muted=rule.is_muted(now_ms) or bool(rule.mutes))
        if subjects:
            menu.addSeparator()
        for subject in subjects[:SUBJECTS_MUTED_SINGLY]:
            muted = rule.is_muted(now_ms, subject)
            about = subject_text(rule, subject)
            words = tr("{subject}, muted", subject=about) if muted else about
            add_mute_times(menu.addMenu(menu_text(words)), partial(self._mute_subject, subject), is_muted=muted)
        return menu

    def _mute_subject(self, subject: str, length_ms: int) -> None:
        self.mute(length_ms, subject)

    def _open_mute_menu(self) -> None:
        popup_below(self._mute_menu(), self.mute_button)


def _chips(rows: Sequence[RuleRow], firing: int) -> list[tuple[str, State]]:
    pending = sum(one.state is AlertState.PENDING for one in rows)
    unjudged = sum(one.state is AlertState.UNJUDGED for one in rows)
    chips = [(tr("{count} firing", count=firing), State.CRITICAL)] if firing else []
    chips += [(tr("{count} pending", count=pending), State.PENDING)] if pending else []
    return chips + ([(tr("{count} cannot be judged", count=unjudged), State.CHECKING)] if unjudged else [])


def _searched_text(one: RuleRow) -> str:
    return f"{one.rule.name} {tr(one.rule.name)} {one.rule.series} {series_words(one.rule.series)}"

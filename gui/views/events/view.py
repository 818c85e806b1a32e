"""The Events page: changes over the time range of the window; filtered, annotated, exported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLineEdit

from broker_core.api import OrbitError
from broker_core.worker.questions.history import EventPage, NoteEvent, ReadEvents
from gui.models.row_filter import with_words
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.background import write_file
from gui.operations.queries import LatestQuery
from gui.plots.stacked_bars import BarLayer, StackedBars
from gui.theme.tokens import Size, State
from gui.views.acting import set_acting
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.chart_tools import join_charts, window_link
from gui.views.events.words import GROUP_NAMES, GROUP_STATES, is_failure, text_of
from gui.views.list_read import shown_read
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.time_filter import TimeFilter
from gui.widgets.basic import fill, label, row
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.inputs import SearchField, SegmentedControl
from gui.widgets.panel import Panel
from gui.widgets.popups import ask_to_save, new_menu, opened, popup_below
from gui.widgets.said import on_language, said, said_button
from gui.widgets.saved_menu import menu_name
from gui.words.error_words import kept_line
from gui.words.text import UNKNOWN, TimeZoneChoice, bytes_text, count_text, tr
from monitoring.admin.events import EventGroup, EventRow, counts_by_part, event_rows, events_csv, events_json_lines, kinds_of
from monitoring.missing_figures import UNJUDGED_EVENT
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

ASK_MS = 2_000
EVENTS_MAX = 2_000
"""Maximum of shown events; the page says how many older ones are missing."""
EXPORT_MAX = 10_000
"""Maximum of exported events, which is also the limit of one answer of the worker."""
BARS = 60
CHART_HEIGHT = 128
ALL = "all"
_CHOICES = (
    EventGroup.REBALANCE, EventGroup.RESTART, EventGroup.RESET, EventGroup.TOPIC, EventGroup.DISK, EventGroup.ALERT,
    EventGroup.ACTION, EventGroup.NOTE,
)  # fmt: skip
_MAKERS: dict[str, Callable[[list[EventRow]], bytes]] = {"csv": events_csv, "jsonl": events_json_lines}


def event_columns(times: TimeZoneChoice, now_ms: Callable[[], int]) -> list[Column[EventRow]]:
    return [
        Column("at", "Time", lambda one: times.shown(one.at_ms, now_ms()), sort=lambda one: one.at_ms,
               tip=lambda one: times.full(one.at_ms), dim=True, width=178, whole=True),
        Column("kind", "What", lambda one: tr(GROUP_NAMES[one.group]), kind=CellKind.CHIP,
               state=lambda one: State.CHECKING if one.kind == UNJUDGED_EVENT else GROUP_STATES[one.group], width=118),
        Column("subject", "About", lambda one: one.subject or UNKNOWN, kind=CellKind.STRONG, width=200),
        Column("text", "Event", text_of, state=lambda one: State.WARNING if is_failure(one) else None),
    ]  # fmt: skip


class EventsView(PageView):
    """Reads the events of the time range while it is visible."""

    page_id = "events"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._query: LatestQuery[EventPage] = LatestQuery(self)
        self._export_query: LatestQuery[EventPage] = LatestQuery(self)
        self._asked_ms = -1
        self._range_ms = (0, 0)
        self._total = -1
        self._group: EventGroup | None = None
        self._has_words: Callable[[EventRow], bool] | None = None
        self.note_button = said_button(theme, "plus", "Add note…", on_click=self.ask_note)
        self.export_button = said_button(theme, "arrow-square-out", "Export", caret=True, on_click=self._export_clicked)
        self.header.add_action(self.note_button, self.export_button)
        self.chart_panel = said(Panel(" "), title="When")
        self.chart = said(StackedBars(theme, context.times), name="Events over time")
        self.link = window_link(context, self)
        join_charts(context, self.link, self.chart)
        self.time_filter = TimeFilter(self.link, context, self)
        self.search = said(SearchField(theme, " ", "funnel"), hint="Filter by text, topic or group")
        self.filters = SegmentedControl([(ALL, " "), *((group.value, " ") for group in _CHOICES)])
        self.model = ColumnTableModel(event_columns(context.times, self._now_ms), lambda one: one.key, parent=self)
        self.grid = DataGrid(self.model, theme, several=True)
        self.foot = label(role="caption")
        self._build()
        self.set_parts(grid=self.grid, find=self.search)
        self._list_read = shown_read(context.times, "The events were not read.", self.refresh, self.grid)
        self._list_read.show()
        self.search.searched.connect(self._search_changed)
        self.filters.chosen.connect(self._group_chosen)
        self.time_filter.changed.connect(self._apply_filter)
        self.grid.activated.connect(self._open_subject)
        self.grid.menu_asked.connect(self._open_menu)
        context.time_range.changed.connect(self._range_changed)
        context.times.changed.connect(self._zone_changed)
        on_language(self, self._show)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        show, subject = arguments.get("show"), arguments.get("subject")
        if isinstance(show, str) and show in {group.value for group in _CHOICES}:
            self.filters.choose(show)
            self._group_chosen(show)
        if isinstance(subject, str) and subject:
            self.search.setText(subject)
            self._search_changed(subject)

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        if not 0 <= state.taken_ms - self._asked_ms < ASK_MS and not self._query.waiting:
            self.refresh()

    def status_changed(self, status: SourceStatus) -> None:
        set_acting(self.note_button, read_only_reason(self.context.source), able=status is SourceStatus.READY)
        self._asked_ms = -1

    def refresh(self) -> None:
        state, source = self._state, self.context.source
        if state is None or source.status is not SourceStatus.READY:
            return
        self._asked_ms = state.taken_ms
        # From the begin of the range, also where no figures were recorded yet.
        from_ms, to_ms = self._range_ms = self.context.time_range.asked_ms(state.taken_ms)
        self._query.ask(source.ask(ReadEvents(from_ms, to_ms + 1, EVENTS_MAX)), self._take, self._failed)

    # ---- actions -------------------------------------------------------------------------------------------------------

    def ask_note(self) -> ActionDialog:
        """Ask for a note that is added to the history."""
        field = QLineEdit()
        field.setMaxLength(500)
        field.setPlaceholderText(tr("For example: deployed version 2.4"))
        field.setAccessibleName(tr("Note"))
        plan = ActionPlan(
            title=tr("Add a note to the history"),
            effects=[tr("It is stored with the current time and shown among the events.")],
            verb=tr("Add"),
            start=lambda: self.context.source.ask(NoteEvent("note", "", field.text().strip())),
            enter_starts=True,
            refusal=read_only_reason(self.context.source),
            is_local=True,
        )
        dialog = ActionDialog(plan, self.context.theme, self)
        dialog.extra.addWidget(field)

        def check() -> None:
            dialog.set_blocked("" if field.text().strip() else tr("The note is empty"))

        field.textChanged.connect(check)
        check()
        dialog.succeeded.connect(lambda _done: self._forget_asked())
        opened(dialog)
        field.setFocus()
        return dialog

    def export(self, path: Path) -> None:
        """Write the events of the time range that pass the filter as ``.jsonl`` or CSV."""
        from_ms, to_ms = self._range_ms
        kinds = kinds_of(self._group) if self._group is not None else []
        pending = self.context.source.ask(ReadEvents(from_ms, to_ms + 1, EXPORT_MAX, kinds))
        self._export_query.ask(pending, lambda page: self._write(path, page), lambda error: self._not_written(path, error))

    def _write(self, path: Path, page: EventPage) -> None:
        rows = [one for one in event_rows(page) if self._accepts(one)]
        make = _MAKERS["jsonl" if path.suffix == ".jsonl" else "csv"]
        count, more = count_text(len(rows)), page.total - len(page.at_ms)

        def done(size: int) -> None:
            self.context.notify(lambda: _written_text(count, path, size, more), state=State.WARNING if more else State.HEALTHY)

        write_file(self, path, lambda: make(rows), done, lambda error: self._not_written(path, error))

    def _not_written(self, path: Path, error: Exception) -> None:
        reason = kept_line(error)
        self.context.notify(
            lambda: tr("The events were not written to {path}: {reason}", path=str(path), reason=reason()), state=State.CRITICAL
        )

    def _export_clicked(self) -> None:
        menu = new_menu(self)
        count = count_text(len(self.model.shown_rows))
        menu.addAction(tr("{count} events as CSV…", count=count), lambda: self._ask_path("csv"))
        menu.addAction(tr("{count} events as JSON Lines…", count=count), lambda: self._ask_path("jsonl"))
        popup_below(menu, self.export_button)

    def _ask_path(self, suffix: str) -> None:
        ask_to_save(self, tr("Export"), f"events.{suffix}", self.export)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.chart_panel.content.addWidget(self.chart)
        self.chart_panel.setFixedHeight(CHART_HEIGHT + 36)
        self.content.addWidget(self.chart_panel)
        panel = Panel(flush=True, spacing=0)
        fill(
            panel.content,
            row((self.search, 1), self.time_filter.chip, self.filters, spacing=8, margins=(8, 8, 8, 8)),
            (self.grid, 1),
            row(self.foot, 1, margins=(12, 0, 12, 0)),
        )
        self.foot.setFixedHeight(Size.ROW)
        self.content.addWidget(panel, 1)

    def _now_ms(self) -> int:
        return self._state.taken_ms if self._state is not None else 0

    def _forget_asked(self) -> None:
        self._asked_ms = -1

    def _zone_changed(self) -> None:
        self.model.all_texts_changed()
        self._show()

    def _range_changed(self) -> None:
        if self.isVisible():
            self._list_read.begin()
            self.refresh()

    def _take(self, page: EventPage) -> None:
        self._total = page.total
        self._list_read.answered()
        self.model.set_rows(event_rows(page))
        self._show()

    def _failed(self, error: OrbitError) -> None:
        # The known events may be incomplete now: no counts and bars of them.
        self._total = -1
        self._list_read.refused(error)
        self._show()

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        rows = self.model.rows
        counts = Counter(one.group for one in rows)
        self.filters.set_text(ALL, tr("All {count}", count=count_text(len(rows)) if self._total >= 0 else UNKNOWN))
        for group in _CHOICES:
            name, count = tr(GROUP_NAMES[group]), counts[group]
            self.filters.set_text(group.value, f"{name} {count_text(count)}" if count else name)
        self.header.set_facts(
            tr("{range}: {count} events", count=count_text(self._total), range=tr(self.context.time_range.name)) if rows else ""
        )
        if rows:
            self.grid.set_empty(tr("No event matches this filter."), tr("Show all"), self._show_all)
        else:
            self.grid.set_empty(tr("Nothing happened in this time range."))
        left_out = self._total - len(rows)
        self.foot.setText(tr("{count} older events are not shown; choose a shorter time range", count=count_text(left_out)))
        self.foot.setVisible(left_out > 0)
        self._draw()

    def _draw(self) -> None:
        from_ms, to_ms = self._range_ms
        # With events outside the selected time, because the time is selected in these bars.
        rows = [one for one in self.model.rows if self._has_words_and_group(one)]
        width = max(1, (to_ms - from_ms) // BARS)
        clock = self.context.times.seconds if to_ms - from_ms <= 86_400_000 else self.context.times.minutes
        labels = [clock(from_ms + part * width) for part in range(BARS)] if to_ms else []
        self.chart.set_bars(
            labels,
            [
                BarLayer(tr(GROUP_NAMES[group]), counts_by_part(rows, group, from_ms, to_ms + 1, BARS), GROUP_STATES[group])
                for group in EventGroup
                if any(one.group is group for one in rows)
            ]
            if labels
            else [],
            (from_ms / 1_000, (from_ms + BARS * width) / 1_000),
        )

    # ---- filter --------------------------------------------------------------------------------------------------------

    def _search_changed(self, text: str) -> None:
        self._has_words = with_words(text, _searched_text)
        self._apply_filter()

    def _group_chosen(self, key: str) -> None:
        self._group = None if key == ALL else EventGroup(key)
        self._apply_filter()

    def _show_all(self) -> None:
        self.search.clear()
        self._has_words, self._group = None, None
        self.filters.choose(ALL)
        self.link.unselect()
        self._apply_filter()

    def _accepts(self, one: EventRow) -> bool:
        return self.time_filter.accepts(one.at_ms) and self._has_words_and_group(one)

    def _has_words_and_group(self, one: EventRow) -> bool:
        if self._group is not None and one.group is not self._group:
            return False
        return self._has_words is None or self._has_words(one)

    def _apply_filter(self) -> None:
        is_active = self._has_words is not None or self._group is not None or self.time_filter.is_active
        self.model.set_filter(self._accepts if is_active else None)
        self._show()

    # ---- places --------------------------------------------------------------------------------------------------------

    def _open_subject(self, one: EventRow) -> None:
        """Open the topic or group of an event, while it exists."""
        catalog = self._state.catalog if self._state is not None else None
        if catalog is None:
            return
        if one.subject in catalog.topics and one.group is not EventGroup.REBALANCE:
            self.context.navigate("topics", topic=one.subject)
        elif one.subject in catalog.groups:
            self.context.navigate("consumers", group=one.subject)

    def _open_menu(self, one: EventRow, at: QPoint) -> None:
        menu = new_menu(self)
        if one.subject:
            menu.addAction(tr("Open {subject}", subject=menu_name(one.subject)), lambda: self._open_subject(one))
            menu.addAction(
                tr("Only about {subject}", subject=menu_name(one.subject)), lambda: self.open({"subject": one.subject})
            )
            menu.addSeparator()
        menu.addAction(tr("Copy row"), lambda: self.grid.copy(CopyFormat.TSV))
        menu.addAction(tr("Copy row as JSON"), lambda: self.grid.copy(CopyFormat.JSON))
        menu.popup(at)


def _searched_text(one: EventRow) -> str:
    return f"{one.subject} {one.text} {text_of(one)}"


def _written_text(count: str, path: Path, size: int, more: int) -> str:
    """The result of an export; ``more``: older events that it lacks."""
    text = tr("{count} events written to {path}, {size}", count=count, path=path.name, size=bytes_text(size))
    return f"{text}; {tr('{count} older ones are not in it', count=count_text(more))}" if more else text

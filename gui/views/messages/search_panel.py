"""`SearchPanel`: a search over everything that is stored, or within a queue: filter, plan, progress, hits, result."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from broker_core.api import FilterError, Marks, OrbitError, marks_of, parse_filter
from broker_core.worker.questions.searches import SearchHits
from gui.models.consumption import Consumption
from gui.models.filter_text import quoted, with_brokers, within_times
from gui.models.hit_table import HitTableModel
from gui.models.messages import MessageRow
from gui.operations.decoding import ListMasks
from gui.operations.filter_memory import FilterMemory
from gui.operations.hit_reader import HitReader
from gui.operations.known_names import KnownNames
from gui.operations.message_job import Chosen
from gui.operations.search import SearchRun, SearchState
from gui.theme.tokens import Size
from gui.views.acting import add_acting
from gui.views.action_dialog import read_only_reason
from gui.views.messages.columns import CONSUMPTION, hit_columns
from gui.views.messages.export_dialog import ExportDialog
from gui.views.messages.filter_bar import FilterBar
from gui.views.messages.hand_dialog import Hand
from gui.views.messages.hit_fields import HitFields
from gui.views.messages.hit_times import HitTimes
from gui.views.messages.replay_dialog import ReplayDialog
from gui.views.messages.row_menu import add_row_copies, cell_conditions
from gui.views.messages.search_progress import SearchBound, SearchProgress, bound_words
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, column, fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import MissingNote
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.broker_words import broker_words
from gui.words.error_words import error_text, kept_line
from gui.words.plain_text import button_text
from gui.words.text import count_text, tr
from monitoring.state import ClusterState

SHOW_INTERVAL_MS = 100
"""Interval of showing hits."""
SELECTED_MAX = 1_000
"""More rows cannot be named in a filter: then the whole result is used."""


class SearchPanel(QWidget):
    """See the module. The panel itself goes above, ``table`` beside the read message.

    Signals:
        browse_wanted: Show the queue of a hit from it on; carries its row.
    """

    browse_wanted = Signal(object)

    def __init__(
        self,
        context: PageContext,
        names: KnownNames,
        masks: ListMasks,
        *,
        bar: FilterBar | None = None,
        within: Callable[[], str] = lambda: "",
    ) -> None:
        """Create it.

        Args:
            context: Of the page.
            names: Completions of filters; grows by found names.
            masks: Hide parts of messages.
            bar: External filter bar, whose owner calls `search`; None: the panel has its own.
            within: Returns a condition of every search besides its filter; empty for none.
        """
        super().__init__()
        theme = context.theme
        self._context, self._names, self._masks, self._within = context, names, masks, within
        self._waiting: list[SearchHits] = []
        self._has_own_bar = bar is None
        self.bar = bar or FilterBar(theme, FilterMemory(context.settings), context.queue_text)
        self.run = SearchRun(context.source, context.tasks, self)
        self.bound = SearchBound()
        self.bound_note = ElidedLabel(role="caption")
        self.progress = SearchProgress(theme, self.run)
        self.marks = Marks()
        """Matches of the shown search."""
        self._consumption = Consumption()
        self._columns = hit_columns(context.times, context.queue_text, self._now_ms, lambda: self.marks, self._consumption)
        self.model = HitTableModel(self._columns, masks.of, self)
        self.reader = HitReader(context.source, self.model, self)
        self.reader.own_orders[CONSUMPTION] = self._consumption.order
        self.grid = DataGrid(self.model, theme, several=True)
        self.hand = Hand(context, self)
        self.hit_times = HitTimes(theme, context.times)
        self.search_button = said_button(theme, "magnifying-glass", "Search", role="primary", on_click=self.bar.submit)
        self.export_button = said_button(theme, "arrow-down", "Export…", role="small", on_click=self.export)
        self.replay_button = said_button(theme, "repeat", "Replay…", role="small", on_click=self.replay)
        self.fields = HitFields(theme, context.settings, self.model, self.grid, self._columns)
        self.missing = MissingNote()
        self.foot = label(role="caption")
        self._hint = said_label("Right-click a cell to filter for or against it", "caption")
        self._state_ms = 0
        self._filter = ""
        """The last filter."""
        self._asked_ms = 0
        """Begin of the search, from which -2h counts."""
        self._show_timer = QTimer(self, singleShot=True, interval=SHOW_INTERVAL_MS)
        self._show_timer.timeout.connect(self._show_waiting)
        self.table = self._build()
        self._connect()
        self.fields.restore()
        said(self.fields.button, text="Columns")
        on_language(self, self._write_texts)

    # ---- what the page calls -------------------------------------------------------------------------------------------

    def show_time(self, state: ClusterState) -> None:
        """Use the broker's time, to leave out today's date, and the offsets of groups."""
        self._state_ms = state.taken_ms
        self._consumption.take_state(state)
        self.grid.view.viewport().update()

    def search(self, text: str, *, plan_only: bool = False) -> None:
        """Search with a filter, or show only the plan."""
        self._drop()
        self._masks.refresh()
        self.grid.set_error("")
        self._filter = text
        self.marks = self._marks_of(text)
        self.reader.around = self.marks.body.pattern if self.marks.body is not None else ""
        within = self._within()
        self._asked_ms = time.time_ns() // 1_000_000
        whole = f"({text}) and {within}" if within else text
        self.run.start(whole, hold=plan_only, count=self.bound.messages, oldest=self.bound.oldest)
        self._show_foot()

    def end(self) -> None:
        """Cancel the search and forget its hits."""
        self.run.forget()
        self._drop()

    def focus(self) -> None:
        self.bar.focus()

    def _write_texts(self) -> None:
        self._show_empty()
        self._show_foot()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> QWidget:
        lines = column(spacing=Size.GAP)
        self.setLayout(lines)
        if self._has_own_bar:
            fill(self.bar.line, self.bound, self.search_button)
            self.bar.use_names(self._names)
            lines.addWidget(self.bar)
        progress = row((self.progress, 1))
        if not self._has_own_bar:
            progress.addWidget(self.bound)
        lines.addLayout(column(self.bound_note, progress, spacing=4))
        panel = Panel(flush=True, spacing=0)
        fill(panel.content, (self.grid, 1), self.missing)
        foot = QWidget()
        foot.setFixedHeight(Size.ROW + 4)
        buttons = (self.export_button, self.replay_button, self.fields.button)
        foot.setLayout(row(self.foot, 1, self._hint, *buttons, margins=(12, 0, 6, 0)))
        panel.content.addWidget(foot)
        # The histogram is above the hits alone, so that the message beside them has the whole height.
        parts = column(self.hit_times, (panel, 1), spacing=Size.GAP)
        table = QWidget()
        table.setLayout(parts)
        return table

    def _connect(self) -> None:
        self.bound.activated.connect(lambda _place: self._bound_chosen())
        if self._has_own_bar:
            self.bar.submitted.connect(self._submitted)
            self.bar.plan_wanted.connect(partial(self._submitted, plan_only=True))
        self.hit_times.span_chosen.connect(self._narrow_time)
        self.fields.refused.connect(self._refused)
        self.run.found.connect(self._found)
        self.run.changed.connect(self._run_changed)
        self._masks.changed.connect(self.model.masks_changed)
        self.reader.sorting.connect(self._sorting)
        self.reader.failed.connect(self._not_read)
        self.reader.missing.connect(lambda notice: self.missing.say(broker_words(notice)))
        self.grid.menu_asked.connect(self._open_menu)
        header = self.grid.header
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(lambda _at: self.fields.open_columns())

    def _now_ms(self) -> int:
        return self._state_ms

    def _refused(self, why: str) -> None:
        self._context.notify(why)

    # ---- the search ----------------------------------------------------------------------------------------------------

    def _bound_chosen(self) -> None:
        """Search again, because other messages are searched."""
        if self._filter:
            self.search(self._filter)

    def _show_bound(self) -> None:
        found, run = self.run.bound, self.run
        self.bound_note.setText(bound_words(found, self._context.times, oldest=run.is_oldest) if found is not None else "")
        self.bound_note.setVisible(found is not None)

    def _submitted(self, text: str, *, plan_only: bool = False) -> None:
        if text:
            self.search(text, plan_only=plan_only)

    def _marks_of(self, text: str) -> Marks:
        try:
            return marks_of(parse_filter(text, now_ms=self._state_ms))
        except FilterError:
            return Marks()  # the search itself is refused and shows the reason

    def _narrow_time(self, start_ms: int, end_ms: int) -> None:
        self.bar.set_text(within_times(self.bar.text, start_ms, end_ms))
        self.bar.submit()

    def _drop(self) -> None:
        self.reader.stop()
        self._waiting.clear()
        self._show_timer.stop()
        self.grid.select_key(None)
        self.model.clear()
        self.hit_times.clear()

    def _found(self, hits: SearchHits) -> None:
        self._waiting.append(hits)
        if not self._show_timer.isActive():
            self._show_timer.start()

    def _show_waiting(self) -> None:
        is_first = self.model.rowCount() == 0
        waiting, self._waiting = self._waiting, []
        with self.grid.held_in_place():
            self.model.append(*waiting)
        self.hit_times.show_times(self.model.hits.numbers["store_ms"].values)
        self._names.add_tags(tag for hits in waiting for tag in self._masks.plain(hits.topic, hits.tag))
        if is_first and waiting:
            self.grid.select_first()
        self._show_foot()

    def _run_changed(self) -> None:
        if self.run.is_over and self.run.state is not SearchState.NONE:
            self._show_timer.stop()
            self._show_waiting()
            self.reader.sort(self.model.sort_key)  # with the hits that arrived last
        if isinstance(self.run.error, FilterError):
            self.bar.show_fault(self.run.error)
        self._show_bound()
        self._show_empty()
        self._show_foot()

    def _show_empty(self) -> None:
        state = self.run.state
        if state is SearchState.NONE:
            self.grid.set_empty(tr("Enter a filter: everything that is stored is searched."), tr("Filter"), self.bar.focus)
        elif state is SearchState.FAILED and self.run.error is not None:
            again = partial(self.search, self._filter)
            said = partial(error_text, self.run.error)
            self.grid.set_error(lambda: tr("The search was not carried out."), said, lambda: tr("Retry"), again)
        elif self.run.is_over:
            self.grid.set_empty(tr("No message passes the filter."), tr("Filter"), self.bar.focus)
        elif state is SearchState.PAUSED and not self.run.scanned:
            self.grid.set_empty(tr("This is the plan; nothing was read yet."), tr("Go on"), self.run.resume)
        else:
            self.grid.set_empty(tr("Nothing found so far."))

    def _show_foot(self) -> None:
        count = self.model.rowCount()
        for button in (self.export_button, self.replay_button):
            button.setEnabled(self._can_take)
        if self.run.is_over:
            self.foot.setText(tr("{count} hits", count=count_text(count)))
        else:
            self.foot.setText(tr("{count} hits so far", count=count_text(count)))

    def _sorting(self, share: float) -> None:
        self.grid.set_loading(share >= 0, share if 0 <= share < 1 else None)

    def _not_read(self, error: OrbitError) -> None:
        reason = kept_line(error)
        self._context.notify(lambda: tr("Fields of the hits were not read: {reason}", reason=reason()))

    # ---- the result as a whole ------------------------------------------------------------------------------------------

    def chosen(self) -> Chosen:
        """The selected rows if there are several; else the whole result."""
        ready = self._context.source.ready
        if 1 < self.grid.selected_count <= SELECTED_MAX and ready is not None:
            rows = self.grid.selected_rows
            # Places of an attached cluster carry the broker; its messages are found by their ids.
            by_id = not ready.has_store and all(hit.unique_key for hit in rows)
            names = [quoted(hit.unique_key) if by_id else str(hit.physical_offset) for hit in rows]
            return Chosen(f"{'id' if by_id else 'position'} in ({', '.join(names)})", len(rows))
        return Chosen(self.run.text, self.model.rowCount() if self.run.is_over else -1, self._asked_ms)

    def export(self) -> ExportDialog | None:
        """Open the dialog that writes messages to a file."""
        return opened(ExportDialog(self._context, self.chosen(), self)) if self._can_take else None

    def replay(self) -> ReplayDialog | None:
        """Open the dialog that sends messages again."""
        return opened(ReplayDialog(self._context, self.chosen(), self)) if self._can_take else None

    def give(self) -> None:
        """Give the selected messages to one consumer."""
        self.hand.ask([one.physical_offset for one in self.grid.selected_rows])

    @property
    def _can_take(self) -> bool:
        return self.run.state not in (SearchState.NONE, SearchState.FAILED)

    # ---- rows ----------------------------------------------------------------------------------------------------------

    def _open_menu(self, hit: MessageRow, at: QPoint) -> None:
        menu = new_menu(self)
        view = self.grid.view
        cell = view.indexAt(view.viewport().mapFromGlobal(at))
        for title, condition in self.conditions(hit, self.model.columns[cell.column()].key if cell.isValid() else ""):
            shown = with_brokers(condition, self._context.queue_text)
            menu.addAction(button_text(tr(title, condition=shown)), partial(self.bar.add_condition, condition))
        menu.addSeparator()
        several = self.grid.selected_count
        if 1 < several <= SELECTED_MAX:
            menu.addAction(tr("Resend {count} messages…", count=count_text(several)), self.replay)
            menu.addAction(tr("Export {count} messages…", count=count_text(several)), self.export)
            menu.addSeparator()
        add_acting(menu, tr("Give to one consumer…"), self.give, read_only_reason(self._context.source))
        queue = self._context.queue_text(hit.queue_id)
        menu.addAction(tr("Browse queue {queue} from here", queue=queue), lambda: self.browse_wanted.emit(hit))
        add_row_copies(menu, self.grid, hit)
        menu.popup(at)

    def conditions(self, hit: MessageRow, column: str) -> list[tuple[str, str]]:
        """Menu title and condition for and against what a cell shows."""
        field_value = self.model.field_of(hit, column) if column in self.model.fields else None
        return cell_conditions(hit, column, field_value)

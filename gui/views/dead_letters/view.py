"""The Dead letters page: groups, what died and why nobody knows, notes, resends with proof, and retries that wait."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget

from broker_core.api import OrbitError
from broker_core.api import names as reserved
from gui.connections.cluster import group_of_source
from gui.models.filter_text import quoted
from gui.models.row_filter import with_words
from gui.models.table import ColumnTableModel
from gui.operations.filter_memory import Cut
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, read_only_reason
from gui.views.dead_letters.columns import LetterRow, letter_columns, searched_text
from gui.views.dead_letters.flow import STEPS, LetterFlow
from gui.views.dead_letters.groups import CutsButton, GroupsPanel
from gui.views.dead_letters.notebook import NoteBook
from gui.views.dead_letters.origins import OriginReader
from gui.views.dead_letters.reader import LETTERS_MAX, DeadLetterReader
from gui.views.dead_letters.retries import WaitingRetries
from gui.views.dead_letters.side import SIDE_WIDTH
from gui.views.list_read import ListRead
from gui.views.messages.hand_dialog import Hand
from gui.views.messages.row_menu import Acting, add_grid_copies, popup_menu
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.basic import fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.pane_splitter import splitter
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, segments
from gui.words.error_words import error_text
from gui.words.text import count_text, tr
from monitoring.dead_letters import group_figures, group_positions, proof, top_origins
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

RETRIES_AGAIN_MS = 5_000
LETTERS, RETRIES = "letters", "retries"


class DeadLettersView(PageView):
    """Groups on top, the dead letters of the selected one below, one letter at the side."""

    page_id = "dead_letters"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._now_ms = 0
        self._words = ""
        self._dead_for: tuple[str, int, int] | None = None
        self._retries_read_ms = -RETRIES_AGAIN_MS
        self.notes = NoteBook(context.source, context.settings, self, group=group_of_source(context.source))
        self.reader = DeadLetterReader(context.source, context.decoders, self)
        self.origins = OriginReader(context.source, self)
        self.group_panel = GroupsPanel(theme, self.reader, self.origins, notes=self.notes, now_ms=self._now)
        self.groups, self.group_grid = self.group_panel.model, self.group_panel.grid
        self.letters = ColumnTableModel(
            letter_columns(context.times, self._now), lambda one: one.letter.physical_offset, parent=self
        )
        self.letter_grid = DataGrid(self.letters, theme, several=True)
        self._letter_read = ListRead(context.times)
        self.waiting = WaitingRetries(context, self.reader, self._now, self.refresh, self)
        self.retries, self.retry_grid, self.ladder = self.waiting.model, self.waiting.grid, self.waiting.ladder
        self.parts = segments({LETTERS: "Dead letters", RETRIES: "Waiting retries"})
        self.search = said(SearchField(theme, " ", "funnel"), hint="Filter by topic, key, tag, body, note or state")
        self.cuts = said(
            CutsButton(theme, context.settings, lambda: Cut(self.group_panel.group, self.search.text().strip())), text="Cuts"
        )
        self.all_button = said_button(theme, "magnifying-glass", "All in Messages", on_click=self._search_all)
        self.hand = Hand(context, self)
        self.sides = QStackedWidget()
        self.grids = QStackedWidget()
        self.foot = label(role="caption")
        self.flow = LetterFlow(context, self.notes, self)
        self.side = self.flow.inspect
        self._build()
        self.set_parts(grid=self.letter_grid, find=self.search, detail=self.sides)
        self._connect()
        self.letter_grid.sort_by("died", descending=True)
        on_language(self, self._show_groups, self._show_letters, self._show_side)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        group = arguments.get("group")
        if isinstance(group, str) and group:
            self.group_panel.ask_for(group)
            self._show_groups()
            self.group_grid.select_key(group)
        show = arguments.get("show")
        if show in (LETTERS, RETRIES):
            self._show_part(str(show))
        elif show in STEPS:
            self._show_part(LETTERS)
            self.flow.go_to(str(show))

    def state_changed(self, state: ClusterState) -> None:
        self._state, self._now_ms = state, state.taken_ms
        figures = group_figures(state)
        self.reader.read_ages(figures, state.taken_ms)
        self.origins.read(figures)
        if figures and state.taken_ms - self._retries_read_ms >= RETRIES_AGAIN_MS:
            self._retries_read_ms = state.taken_ms
            self.reader.read_retries(state)
            if self.notes.refusal:
                self.notes.read_again()
        self._show_groups()
        self.group_grid.select_first()
        self._read_group()
        self._show_letters()
        self.waiting.state_changed(state)

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self.refresh()

    def refresh(self) -> None:
        self._dead_for = None
        self._retries_read_ms = -RETRIES_AGAIN_MS
        self.reader.forget()
        self.waiting.attempts.forget()
        self.origins.forget()
        if self._state is not None:
            self.state_changed(self._state)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.reader.masks.refresh()
        if self._state is not None:
            self.notes.read_again()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def mark(self, mark: str) -> None:
        """Mark the selected dead letters."""
        self.notes.mark(self.letter_grid.selected_rows, mark)

    def ask_resend(self) -> ActionDialog | None:
        """Open the dialog that sends the selected dead letters again, as entered in the steps."""
        return self.flow.ask_resend()

    def _note_changed(self, text: str) -> None:
        one = self.letter_grid.selected_row
        if one is not None:
            self.notes.write([other.letter for other in self.letter_grid.selected_rows] or [one.letter], text)

    def _notes_changed(self) -> None:
        self.flow.show_note_refusal(self.notes.refusal)
        self._show_groups()
        self._show_letters()
        self._show_side()

    def _note_refused(self, error: OrbitError) -> None:
        self.context.notify(lambda: tr("The note was not kept: {reason}", reason=error_text(error)), state=State.CRITICAL)

    def _search_all(self) -> None:
        """Search all dead letters of the group; the search can also export them and send them again at a pace."""
        if self.group_panel.group:
            self.context.navigate("messages", filter=f"topic = {quoted(reserved.DLQ_PREFIX + self.group_panel.group)}")

    def _give_selected(self) -> None:
        self.hand.ask([one.letter.physical_offset for one in self.letter_grid.selected_rows])

    def _open_life(self, one: LetterRow) -> None:
        self.context.navigate("message", physical_offset=one.letter.physical_offset)

    def _open_menu(self, one: LetterRow, at: QPoint) -> None:
        letter, count = one.letter, count_text(self.letter_grid.selected_count)
        refusal = read_only_reason(self.context.source)
        actions = (
            Acting(tr("Resend {count}…", count=count), self.ask_resend, refusal),
            Acting(tr("Give to one consumer…"), self._give_selected, refusal),
            (tr("Life line"), lambda: self._open_life(one)),
            (tr("Open message"), lambda: self.context.navigate("messages", physical_offset=letter.physical_offset)),
        )
        popup_menu(self.letter_grid, actions, partial(add_grid_copies, grid=self.letter_grid), at)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.content.addWidget(self.group_panel)
        table = Panel(flush=True, spacing=0)
        fill(
            table.content,
            row(self.flow.bar, margins=(12, 8, 12, 0)),
            row(self.parts, 1, self.all_button, self.cuts, (self.search, 4), margins=(8, 8, 8, 8)),
        )
        self.search.setMinimumWidth(150)
        for grid in (self.letter_grid, self.retry_grid):
            self.grids.addWidget(grid)
        fill(table.content, (self.grids, 1), row(self.foot, 1, margins=(12, 5, 12, 5)))
        for side in (*self.flow.sides.values(), self.ladder):
            self.sides.addWidget(side)
        beside = splitter(Qt.Orientation.Horizontal, (table, 10 * SIDE_WIDTH, 1), (self.sides, SIDE_WIDTH, 0))
        self.content.addWidget(beside, 1)

    def _connect(self) -> None:
        self.group_grid.selected.connect(lambda _group: self._group_chosen())
        self.letter_grid.selected.connect(lambda _letter: self._show_side())
        self.letter_grid.view.selectionModel().selectionChanged.connect(self._show_selected)
        self.parts.chosen.connect(self._show_part)
        self.search.searched.connect(self._filter)
        self.cuts.chosen.connect(self._show_cut)
        self.cuts.refused.connect(self._not_kept)
        self.letter_grid.menu_asked.connect(self._open_menu)
        self.letter_grid.activated.connect(self._open_life)
        self.origins.changed.connect(self._show_groups)
        self.notes.changed.connect(self._notes_changed)
        self.notes.refused.connect(self._note_refused)
        self.side.noted.connect(self._note_changed)
        self.side.marked.connect(self.mark)
        self.flow.step_chosen.connect(self._show_step)
        self.reader.letters_changed.connect(self._letters_read)
        self.reader.retries_changed.connect(self._retries_read)
        self.reader.ages_changed.connect(self._show_groups)
        self.reader.letters_failed.connect(self._letters_failed)
        self.reader.retries_failed.connect(lambda _error: self._show_groups())
        self.reader.masks.changed.connect(self.refresh)

    # ---- reading -------------------------------------------------------------------------------------------------------

    def _group_chosen(self) -> None:
        self._read_group()
        self._show_letters()

    def _read_group(self) -> None:
        figures = self.group_panel.figures
        if figures is None:
            return
        wanted = (figures.group, figures.dead, figures.last_died_ms)
        # An open read goes on, because reads that restart with each new letter would never end.
        goes_on = self._dead_for is not None and self.reader.is_reading and figures.group == self.reader.group
        if wanted == self._dead_for or goes_on:
            return
        self._dead_for = wanted
        if figures.group != self.reader.group:
            self._letter_read.begin()
            self.flow.begin()
        if figures.dead:
            self.reader.read_letters(figures.group)
        else:
            self.reader.no_letters(figures.group)
            self.notes.read([])
            self._letter_read.answered()

    def _letters_read(self) -> None:
        self._letter_read.answered()
        self.notes.read(self.reader.letters)
        self._show_letters()
        self.letter_grid.select_first()
        self._show_side()
        self._read_group()  # letters may have died meanwhile

    def _retries_read(self) -> None:
        self.waiting.read()
        self._show_groups()
        self._show_letters()

    def _letters_failed(self, error: OrbitError) -> None:
        self._letter_read.refused(error)
        self.reader.letters = []
        self._show_letters()
        self._show_side()

    # ---- showing -------------------------------------------------------------------------------------------------------

    def _show_part(self, part: str) -> None:
        self.parts.choose(part)
        self.grids.setCurrentIndex(0 if part == LETTERS else 1)
        self._show_step(self.flow.bar.current)
        for widget in (self.search, self.cuts, self.all_button, self.flow.bar):
            widget.setVisible(part == LETTERS)
        self.waiting.show(is_shown=part == RETRIES)
        self._show_foot()

    def _show_step(self, step: str) -> None:
        self.sides.setCurrentWidget(self.flow.sides[step] if self.parts.current == LETTERS else self.ladder)

    def _now(self) -> int:
        return self._now_ms

    def _not_kept(self, why: str) -> None:
        self.context.notify(why)

    def _show_cut(self, cut: Cut) -> None:
        self._show_part(LETTERS)
        self.group_grid.select_key(cut.group)
        self.search.setText(cut.words)
        self._filter(cut.words)

    def _show_groups(self) -> None:
        if self._state is None:
            return
        figures = group_figures(self._state)
        waiting = self.reader.retries
        self.group_panel.show_groups(figures)
        is_unknown = any(one.dead < 0 for one in figures)
        dead = math.nan if is_unknown else sum(one.dead for one in figures)
        chips = [(tr("{count} dead", count=count_text(dead)), _dead_state(dead))]
        if waiting is not None:
            count = f"≥ {count_text(len(waiting))}" if self.reader.retries_are_partial else count_text(len(waiting))
            chips.append((tr("{count} waiting", count=count), State.RETRY if waiting else State.IDLE))
        self.header.set_chips(chips)

    def _show_letters(self) -> None:
        letters = self.reader.letters
        positions = group_positions(self._state, self.reader.group) if self._state is not None else {}
        retrying = {one.unique_key for one in self.reader.retries or () if one.group == self.reader.group and one.unique_key}
        rows = []
        for letter in letters:
            note = self.notes.of(letter)
            rows.append(LetterRow(letter, note, proof(note, letter, letters, positions, retrying)))
        self.letters.set_rows(rows)
        figures = self.group_panel.figures
        self.flow.show_rows(rows, figures.dead if figures is not None else 0)
        if self.group_panel.figures is not None:
            self._letter_read.show_in(self.letter_grid, lambda: tr("The dead letters could not be read."), self.refresh)
        nothing = tr("This group has no dead letters.") if self.reader.group else tr("No group is selected.")
        self.letter_grid.set_empty(nothing if not self._words else tr("None passes the filter."))
        self.letter_grid.view.viewport().update()
        self._show_foot()
        self._show_proof()

    def _show_foot(self) -> None:
        if self.parts.current == RETRIES:
            self.foot.setText(self.waiting.foot)
            return
        if self._letter_read.is_failed:
            self.foot.setText("")
            return
        origins = ", ".join(f"{topic} {count_text(count)}" for topic, count in top_origins(self.reader.letters))
        if self.reader.is_reading and not self.letters.rows:
            self.foot.setText("")  # nothing is known before the first letters are read
            return
        parts = [tr("{count} dead letters", count=count_text(len(self.letters.shown_rows)))]
        figures = self.group_panel.figures
        if figures is not None and figures.dead > LETTERS_MAX:
            parts.append(tr("the newest {count} of {total}", count=LETTERS_MAX, total=count_text(figures.dead)))
        if figures is not None and figures.dead < 0:
            parts.append(tr("of the brokers that answered"))
        elif figures is not None and figures.dead != len(self.reader.letters):
            # The list is newer than the figures above it.
            parts.append(tr("read {time}", time=self._letter_read.time_text))
        if origins:
            parts.append(tr("most from {origins}", origins=origins))
        self.foot.setText(" · ".join(parts))

    def _show_selected(self) -> None:
        self.side.show_selected(self.letter_grid.selected_count)
        self.flow.show_chosen(self.letter_grid.selected_rows)

    def _show_side(self) -> None:
        self.side.show_letter(self.letter_grid.selected_row, self.letter_grid.selected_count)
        self.flow.show_chosen(self.letter_grid.selected_rows)
        self._show_proof()

    def _show_proof(self) -> None:
        self.side.show_proof(self.letter_grid.selected_row, self._now_ms)

    def _filter(self, text: str) -> None:
        self._words = text.strip()
        self.letters.set_filter(with_words(text, searched_text))
        self._show_letters()


def _dead_state(dead: float) -> State:
    if math.isnan(dead):
        return State.IDLE
    return State.CRITICAL if dead else State.HEALTHY
